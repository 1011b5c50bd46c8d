#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Engine == oracle for real programs, some 10 million steps of them.
#
# Chosen to do the same twice: one process, or processes that never run at the same time, because
# whether a parent finds its child still alive decides what it executes. None reads the clock: the
# vdso reads it again when the kernel updates it meanwhile, which stepping makes likely (so no
# bash); none prints its process id, whose digits differ.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"

mkdir "$tmp/dir"
for i in {1..50}; do
	echo "line $i of $((i * 7919 % 101))" >"$tmp/dir/$i"
done
cat "$tmp"/dir/* >"$tmp/lines"

for name in backtrace_check cxx_throw; do
	compare_with_oracle "$name" "$PROGRAMS/$name"
done
compare_with_oracle ls ls -s --sort=size "$tmp/dir"
compare_with_oracle sort sort -k4n "$tmp/lines"
compare_with_oracle cat cat "$tmp/lines"
compare_with_oracle sed sed -n 's/line \([0-9]*\) of \(.*\)/\2 \1/p' "$tmp/lines"
compare_with_oracle grep grep -E '^line .*[13] of 5' "$tmp/lines"
compare_with_oracle awk awk '{ s += $4 } END { print s }' "$tmp/lines"
compare_with_oracle md5sum md5sum "$tmp/lines"
compare_with_oracle false false
# shellcheck disable=SC2016 # for the inner shell and for perl
{
	compare_with_oracle env env -i A=b /bin/sh -c 'echo $A'
	compare_with_oracle dash sh -c 'x=$(echo inner); (exit 3); echo "$x $?"'
	compare_with_oracle perl perl -e \
		'my %h; $h{$_ % 7} .= $_ for 1..100; print map { "$_ $h{$_}\n" } sort keys %h'
	compare_with_oracle killed_shell sh -c 'perl -e "kill TERM => \$\$; die"; exit 3'
}
compare_with_oracle gzip gzip -nkc "$tmp/lines"
done_testing
