#!/bin/bash
# SPDX-License-Identifier: MIT
# Exec hand-over: by the supervisor, by the task's own helper, or not at all and then never
# silently.  task_inside says from within whether an engine runs it.
. "$(dirname "$0")/lib.sh"

inside=$PROGRAMS/task_inside
exec 3>&- 4>&- 5>&- 6>&-
# other users have to reach the programs
cp "$inside" "$tmp/inside"
chmod 755 "$tmp/inside"

counted()
{
	"$ANYPERF" stat -e instructions,syscalls -o "$tmp/table" -- "$@"
}

# follows NAME COMMAND...: both task_insides at its end are inside, and nothing is complained of
follows()
{
	local name=$1
	shift
	run "$@" "$tmp/inside" "$tmp/inside"
	is "$status $(tr '\n' ' ' <"$tmp/out")" "0 inside inside " "$name" ||
		note "$(cat "$tmp/err" "$tmp/table")"
	has_not "$tmp/table" 'not counted|engine fault' "$name: no complaints"
}

# refuses NAME REASON COMMAND...: the last task_inside is outside, and the table says why
refuses()
{
	local name=$1 reason=$2
	shift 2
	run "$@"
	is "$status $(tail -n 1 "$tmp/out")" "0 outside" "$name: runs natively" ||
		note "$(cat "$tmp/err" "$tmp/table")"
	has "$tmp/table" "^not counted: .*$reason" "$name: is reported"
}

follows "exec chain" counted
follows "env and nice" counted env X=1 nice

# Killed before the second exec: the helper takes over.
"$ANYPERF" stat -o "$tmp/table" -- sh -c "echo >'$tmp/started'
	until [ -e '$tmp/go' ]; do sleep 0.02; done
	env --block-signal=CHLD '$tmp/inside' '$tmp/inside' >'$tmp/out'; '$PROGRAMS/task_exec' >'$tmp/exec.out'
	echo \$? >'$tmp/ended'" 2>/dev/null &
wait_for 10 test -e "$tmp/started"
kill -9 $!
wait $! 2>/dev/null
echo >"$tmp/go"
wait_for 30 test -e "$tmp/ended"
is "$(tr '\n' ' ' <"$tmp/out")" "inside inside " "exec after the supervisor was killed"
is "$(cat "$tmp/ended")" 0 "and all other forms of exec"
has_not "$tmp/exec.out" FAILED "and their outcomes"

if unshare -Upf true 2>/dev/null; then
	follows "unshare -Upf" counted unshare -Upf
	run counted unshare -Upf "$PROGRAMS/task_exec"
	is "$status" 0 "all forms of exec in another pid namespace"
	has_not "$tmp/table" 'not counted|engine fault' "they are followed"
else
	lack "unshare -Upf" "no user namespaces"
fi

if [ "$(id -u)" = 0 ]; then
	drop=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace)
	user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	follows "another user" counted "${user[@]}"
	follows "another user without CAP_SYS_PTRACE" "${drop[@]}" "$ANYPERF" stat \
		-o "$tmp/table" -- "${user[@]}"
	run "${drop[@]}" "$ANYPERF" stat -o "$tmp/table" -- "$PROGRAMS/task_setuid"
	is "$status" 0 "a program that gives up its user"
	has_not "$tmp/table" 'not counted|engine fault' "and is followed"

	# A name that leads elsewhere once it was looked at.  What has gained rights has no mapping of ours, by the kernel.
	mkdir "$tmp/gain"
	cp "$PROGRAMS/task_gain" "$tmp/gain/plain"
	chmod 755 "$tmp" "$tmp/gain/plain"
	chown 65534:65534 "$tmp/gain"
	cd "$tmp/gain" || exit 1
	for kind in 4755:set-uid 2755:set-gid cap:capabilities; do
		cp plain gaining
		if [ "$kind" = cap:capabilities ]; then
			setcap cap_net_raw,cap_dac_override+ep gaining 2>/dev/null || { lack "$kind" "setcap is refused"; continue; }
		else
			chmod "${kind%:*}" gaining
		fi
		rm -f "$tmp/mapped" over
		(while [ ! -e over ]; do
			for seen in seen.*; do
				[ -e "$seen" ] || continue
				grep -c '/memfd:anyperf' "/proc/${seen#seen.}/maps" >>"$tmp/mapped"
				rm -f "$seen"
			done
			sleep 0.02
		done) &
		observer=$!
		run counted "${user[@]}" ./plain plain gaining 20
		: >over
		wait $observer
		is "$status" 0 "${kind#*:} behind a name that changes: runs"
		is "$(wc -l <"$tmp/mapped")" "$(cat "$tmp/out")" "each was looked at"
		is "$(sort -u "$tmp/mapped")" 0 "the engine is in none"
		has "$tmp/table" "not counted: .*/gain/gaining: .*${kind#*:}" "the supervisor says why"
		rm -f gaining
	done
	cd "$OLDPWD" || exit 1

	cp "$tmp/inside" "$tmp/suid"
	chmod 4755 "$tmp/suid"
	refuses "set-uid" 'suid: set-uid' counted "${user[@]}" "$tmp/suid"
	run counted "$tmp/suid"
	is "$(cat "$tmp/out")" "inside" "set-uid to oneself"
	cp /bin/sh "$tmp/sh"
	chmod 4755 "$tmp/sh"
	printf '#!%s\n%s\n' "$tmp/sh" "$tmp/inside" >"$tmp/script"
	chmod 755 "$tmp/script"
	refuses "script of a set-uid interpreter" 'set-uid' counted "${user[@]}" "$tmp/script"
	run counted "${user[@]}" --no-new-privs "$tmp/suid"
	is "$(cat "$tmp/out")" "inside" "set-uid under no_new_privs"
	chmod 2755 "$tmp/suid"
	refuses "set-gid" 'suid: set-gid' counted "${user[@]}" "$tmp/suid"
	chmod 755 "$tmp/suid"
	if setcap cap_net_raw+ep "$tmp/suid" 2>/dev/null; then
		refuses "file capabilities" 'suid: file capabilities' counted "${user[@]}" \
			"$tmp/suid"
	else
		lack "file capabilities" "setcap is refused"
	fi
else
	lack "other users" "not root"
fi

cat >"$tmp/i386.s" <<'END'
	.globl _start
_start:	mov $4, %eax
	mov $1, %ebx
	mov $text, %ecx
	mov $8, %edx
	int $0x80
	mov $1, %eax
	xor %ebx, %ebx
	int $0x80
text:	.ascii "outside\n"
END
if as --32 -o "$tmp/i386.o" "$tmp/i386.s" && ld -m elf_i386 -o "$tmp/i386" "$tmp/i386.o" &&
	"$tmp/i386" >/dev/null 2>&1; then
	refuses "32-bit program" 'i386: 32-bit program' counted sh -c "'$tmp/i386'"
else
	lack "32-bit program" "no 32-bit emulation"
fi

if command -v strace >/dev/null; then
	follows "a task that a program of the session traces" counted strace -o "$tmp/calls"
	has "$tmp/calls" '^write\(' "and its tracer sees its calls"
else
	skip "a traced task" "no strace"
fi

done_testing
