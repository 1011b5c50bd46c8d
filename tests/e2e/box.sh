#!/bin/bash
# SPDX-License-Identifier: MIT
# The locked box: the main job inside what Docker's default profile is (programs/lockbox.c), as
# root and as a user with a user namespace.  The same counts as outside, nothing refused but what
# cannot be had there, and that in one line.
. "$(dirname "$0")/lib.sh"
need python3 setpriv setarch

cd "$tmp" || exit 1
python=/usr/bin/python3 # for every user, unlike one in a home folder
[ -x "$python" ] || python=$(python3 -c 'import sys; print(sys.executable)')
cp "$ANYPERF" anyperf
cp "$PROGRAMS"/{lockbox,c_static,c_dynamic,nested_calls,vfork_exec,threads_count} . || exit 1
cat >script.py <<'END'
import hashlib, os, subprocess, threading
def work(n):
    return sum(i * i for i in range(n))
ts = [threading.Thread(target=work, args=(5000 * i,)) for i in range(3)]
for t in ts: t.start()
for t in ts: t.join()
print(work(20000), hashlib.md5(b'box').hexdigest())
print(subprocess.run(['sh', '-c', 'echo child; exit 4']).returncode, flush=True)
END
cat >script.sh <<'END'
for i in 1 2 3 4; do ./nested_calls; done
(./nested_calls; ls -d / | cat) | sort
exec ./nested_calls
END
cat >probe.py <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.personality.argtypes = [ctypes.c_ulong]
def says(name, ret):
    print(name, 'refused' if ret == -1 else 'allowed')
says('perf_event_open', libc.syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))
says('personality: no ASLR', libc.personality(0x40000))
says('personality: now', libc.personality(0xffffffff))
says('bpf', libc.syscall(321, 0, ctypes.create_string_buffer(128), 128))
says('mount', libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0))
says('unshare', libc.unshare(0x10000000))
status = dict(l.split(':', 1) for l in open('/proc/self/status'))
for name in 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp':
    print(name, status[name].strip())
print(os.getpid(), os.listdir('/sys/kernel/tracing') if os.path.exists('/sys/kernel/tracing') else [],
      os.statvfs('/sys').f_flag & os.ST_RDONLY)
END
cat >probe.want <<'END'
perf_event_open refused
personality: no ASLR refused
personality: now allowed
bpf refused
mount refused
unshare refused
CapEff 00000000a80425fb
CapBnd 00000000a80425fb
NoNewPrivs 1
Seccomp 2
1 [] 1
END

# counts FILE: the exact events of a report, by name
counts()
{
	awk -F, '$NF == "exact" { print $3, $1 }' "$1"
}

events=instructions,branches,cond-branches,taken-branches,calls,returns,indirect-branches,syscalls

# as_outside PROGRAM [OPTION...]: runs and counts in the box as it does outside
as_outside()
{
	local program=$1 want_status
	shift

	env -i ./anyperf stat -x, -o outside.csv -e $events "$@" -- "./$program" >native 2>&1
	want_status=$?
	run "${inside[@]}" env -i ./anyperf stat -x, -e $events "$@" -- "./$program"
	is "$status" $want_status "$name: $program: status"
	same native out "$name: $program: output"
	counts outside.csv >want
	counts err >got
	is "$(wc -l <got)" 8 "$name: $program: all events are exact"
	same want got "$name: $program: the same counts as outside"
}

# box NAME LAUNCHER...: every test in the box that the launcher makes
box()
{
	local name=$1 program event inside
	shift
	inside=("$@")

	if ! "${inside[@]}" true 2>err; then
		lack "$name" "$(head -n 1 err)"
		return
	fi
	run "${inside[@]}" "$python" -S probe.py
	same probe.want out "$name: is locked"

	run "${inside[@]}" "$python" script.py
	cp out want
	run "${inside[@]}" ./anyperf stat -e instructions,branches -- "$python" script.py
	is "$status" 0 "$name: the main job runs"
	same want out "$name: and prints what it prints"
	has err '^ *[0-9]{8,} +instructions .*# exact$' "$name: its instructions are exact"
	has err '^ *[0-9]{7,} +branches .*# exact$' "$name: its branches are exact"
	has_not err 'not (counted|supported)|short' "$name: nothing is left out"

	run "${inside[@]}" ./anyperf stat -- ./c_dynamic
	is "$status" 0 "$name: the default events"
	for event in task-clock context-switches page-faults; do
		has err "^ *[0-9,.]+ .*$event.*# rusage$" "$name: $event come from rusage"
	done
	has err 'instructions.*# exact$' "$name: and instructions from the engine"

	for program in nested_calls vfork_exec threads_count; do
		as_outside "$program"
	done
	# the paths through libc depend on addresses; a personality from before the box is kept
	inside=(setarch -R "$@")
	as_outside c_static --deterministic
	inside=("$@")

	run "${inside[@]}" ./anyperf stat -x, -e calls,instructions -- sh script.sh
	is "$status" 0 "$name: a shell script with children"
	cp out got
	sh script.sh >want
	same want got "$name: a shell script: output"
	has_not err 'not (counted|supported)' "$name: a shell script: every child is counted"
	is "$(($(stat_value err instructions) > 6 * $(awk '/^instructions/ { print $2 }' nested)))" \
		1 "$name: a shell script: and their instructions are in the sum"

	run "${inside[@]}" ./anyperf stat --deterministic -e instructions -- ./c_static
	is "$status" 125 "$name: --deterministic: 125"
	is "$(wc -l <err)" 1 "$name: --deterministic: one line"
	has err 'deterministic: personality\(\) is refused here' "$name: --deterministic: that says why"
	is "$(wc -c <out)" 0 "$name: --deterministic: nothing was run"
}

env -i ./anyperf stat -x, -o nested.csv -e $events -- ./nested_calls >/dev/null
counts nested.csv >nested
if [ "$(id -u)" = 0 ]; then
	box "root" ./lockbox
	box "user" setpriv --reuid 12345 --regid 12345 --clear-groups ./lockbox
else
	box "user" ./lockbox
fi
done_testing
