#!/bin/bash
# SPDX-License-Identifier: MIT
# Tracers that people use, in a session with what they trace: strace and gdb see what they see natively, and what they trace is
# counted.  What the kernel's rules are in detail: tests/programs/cases/traced_*.c.
. "$(dirname "$0")/lib.sh"

need strace gdb

loop=$PROGRAMS/cases/traced_exec # with a number: so many turns, status 7
how=([0]="$ANYPERF run --" [1]="$ANYPERF stat -e instructions -o $tmp/table --")

# calls FILE: the names of what strace has written, in order
calls()
{
	sed -n 's/^\([a-z_0-9]*\)(.*/\1/p; s/^+++ \(.*\) +++$/\1/p' "$1"
}

# tasks FILE: what all of them executed and how they ended, in any order
tasks()
{
	sed -n 's/^[0-9]* *\(execve([^,]*\),.* = \(.*\)$/\1 \2/p; s/^[0-9]* *+++ \(.*\) +++$/\1/p' "$1" | sort
}

strace -o "$tmp/calls" "$loop" 1000 >/dev/null
calls "$tmp/calls" >"$tmp/calls.native"
filter=(strace --seccomp-bpf -f -e "trace=execve,mmap,openat" -o)
"${filter[@]}" "$tmp/calls" "$loop" 1000 >/dev/null 2>&1
sed 's/^[0-9]* *//' "$tmp/calls" >"$tmp/filtered"
calls "$tmp/filtered" >"$tmp/filtered.native"
family=(strace -f -e trace=execve -o)
"${family[@]}" "$tmp/tasks" sh -c "/bin/true; '$loop' 1000; '$loop' 10 & wait; exit 4"
tasks "$tmp/tasks" >"$tmp/tasks.native"

for session in "${how[@]}"; do
	name=${session#"$ANYPERF "}
	# shellcheck disable=SC2086
	run $session strace -o "$tmp/calls" "$loop" 1000
	is "$status" 7 "${name%% *}: strace ends as what it traces"
	calls "$tmp/calls" >"$tmp/calls.session"
	same "$tmp/calls.session" "$tmp/calls.native" "${name%% *}: and sees its calls, no other"
	# shellcheck disable=SC2086
	run $session "${filter[@]}" "$tmp/calls" "$loop" 1000
	sed 's/^[0-9]* *//' "$tmp/calls" >"$tmp/filtered"
	calls "$tmp/filtered" >"$tmp/filtered.session"
	same "$tmp/filtered.session" "$tmp/filtered.native" "${name%% *}: by a seccomp filter, too"
	# shellcheck disable=SC2086
	run $session "${family[@]}" "$tmp/tasks" sh -c "/bin/true; '$loop' 1000; '$loop' 10 & wait; exit 4"
	is "$status" 4 "${name%% *}: strace -f ends as what it traces"
	tasks "$tmp/tasks" >"$tmp/tasks.session"
	same "$tmp/tasks.session" "$tmp/tasks.native" "${name%% *}: and sees all its tasks, no other"
done
has_not "$tmp/table" 'not counted' "they are counted"

inner=(unshare -Urpf --mount-proc)
if "${inner[@]}" true 2>/dev/null; then
	run "$ANYPERF" run -- "${inner[@]}" "$loop"
	is "$status" 0 "another pid namespace: tracees are counted from the exec on" || note "$(grep FAIL "$tmp/out")"
	run "$ANYPERF" stat -x, -o "$tmp/csv" -e instructions -- "${inner[@]}" strace -o "$tmp/calls" "$loop" 10000000
	is "$status" 7 "another pid namespace: strace ends as what it traces"
	is "$(awk -F, '$3 ~ /^instructions/ { print ($1 > 20000000) }' "$tmp/csv")" 1 "another pid namespace: that is counted" || note "$(cat "$tmp/csv")"
else
	lack "another pid namespace" "no user namespaces"
fi

# breaks COMMAND...: in a debugger; what differs from run to run is left out
breaks()
{
	run "$@" gdb -nx -q -batch -ex 'break main' -ex run -ex 'info registers rip rdi' -ex stepi -ex stepi -ex 'info registers rip' \
		-ex bt -ex delete -ex continue --args "$loop" 1000
	sed -i 's/process [0-9]*/process/; s/0x7f[0-9a-f]*/STACK/g' "$tmp/out"
}

breaks
mv "$tmp/out" "$tmp/gdb.native"
has "$tmp/gdb.native" 'exited with code 07' "gdb runs it natively"
for session in "${how[@]}"; do
	# shellcheck disable=SC2086
	breaks $session
	same "$tmp/out" "$tmp/gdb.native" "gdb: breakpoint, steps, registers and end are as natively"
done
has_not "$tmp/table" 'not counted' "it is counted in the debugger"
done_testing
