#!/bin/sh
# SPDX-License-Identifier: MIT
# Scripts parse (and please shellcheck, where there is one); no file names a folder of somebody's
# machine; text files that are no data end their lines as lines end.
set -eu
bad=0
n=0
files=$(git ls-files -co --exclude-standard)

for file in $files; do
	[ -f "$file" ] || continue
	case $file in
	*.sh | .ci/run) ;;
	*) continue ;;
	esac
	n=$((n + 1))
	shell="sh"
	if head -n 5 "$file" | grep -qE '^#!.*bash|shellcheck shell=bash'; then
		shell="bash"
	fi
	if ! $shell -n "$file"; then
		echo "shell: $file does not parse"
		bad=1
	elif command -v shellcheck >/dev/null 2>&1 &&
		! shellcheck -s $shell -S warning -e SC1090,SC1091,SC2154 "$file"; then
		bad=1
	fi
done

# shellcheck disable=SC2086 # a list of names without blanks
paths=$(grep -nIE '(^|[^A-Za-z0-9_.])/(work|home/[a-z]|root/[A-Za-z.]|Users)(/|$)' $files 2>/dev/null |
	grep -v '^tools/check-shell\.sh:' || :)
if [ -n "$paths" ]; then
	echo "shell: a path of one machine:"
	echo "$paths"
	bad=1
fi
# data is as whoever wrote it has it: what a program must print (.want), and inputs that fuzzers found
# shellcheck disable=SC2086
ends=$(grep -lIE '[ 	]+$|'"$(printf '\r')" $files 2>/dev/null | grep -vE '\.(md|want)$|/gen/|^tests/fuzz/corpus/' || :)
if [ -n "$ends" ]; then
	echo "shell: blanks or carriage returns at the end of a line:"
	echo "$ends"
	bad=1
fi
[ $bad = 0 ] || exit 1
echo "shell: $n scripts, no path of one machine"
