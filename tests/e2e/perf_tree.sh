#!/bin/bash
# SPDX-License-Identifier: MIT
# What programs of a session see of perf events in sysfs, procfs and tracefs: as the kernel shows
# what it has too, and a cpu PMU on every machine.
. "$(dirname "$0")/lib.sh"
need python3 find

session=(timeout -k 5 60 "$ANYPERF" run --)
pmus=/sys/bus/event_source/devices

# both NAME COMMAND...: the same output natively and in a session
both()
{
	local name=$1
	shift
	run "$@"
	mv "$tmp/out" "$tmp/native"
	run "${session[@]}" "$@"
	same "$tmp/out" "$tmp/native" "$name: as natively" || note "$(head -n 5 "$tmp/err")"
}

# says NAME TEXT COMMAND...: it prints that in a session
says()
{
	local name=$1 want=$2
	shift 2
	run "${session[@]}" "$@"
	is "$(cat "$tmp/out")" "$want" "$name" || note "$(head -n 5 "$tmp/err")"
}

# --- what the kernel has too
if [ -e /sys/devices/software/power/autosuspend_delay_ms ]; then
	for d in /sys/devices/software $pmus/software; do
		both "calls on $d" "$PROGRAMS/perf_tree" calls $d
		both "walk of $d" "$PROGRAMS/perf_tree" walk $d
		both "list of $d" "$PROGRAMS/perf_tree" list $d
	done
	both "tracepoint" "$PROGRAMS/perf_tree" walk /sys/devices/tracepoint
	both "breakpoint" "$PROGRAMS/perf_tree" calls /sys/devices/breakpoint
	for a in 'software type' 'breakpoint type' 'software power/control'; do
		# shellcheck disable=SC2086
		both "openat2: $a" "$PROGRAMS/perf_tree_how" event_source $a
	done
	both "contents" sh -c 'cd /sys/devices; grep -r . software tracepoint breakpoint 2>&1 | sort'
	both "limits" sh -c 'cd /proc/sys/kernel; ls -l perf* | cut -d" " -f1-5
		cat perf_event_mlock_kb perf_event_max_stack perf_event_max_contexts_per_stack'
else
	lack "files of the software PMU: as natively" "no sysfs with event sources here"
fi
for d in /sys /sys/bus /proc/sys/kernel /proc/sys; do
	[ -d $d ] && both "list of $d" "$PROGRAMS/perf_tree" list $d
done

# --- a directory above ours: the kernel's entries and ours, each once
run "$PROGRAMS/perf_tree" list /sys/devices
{
	cat "$tmp/out"
	printf '%s\n' cpu software breakpoint tracepoint
} | sort -u >"$tmp/want"
run "${session[@]}" "$PROGRAMS/perf_tree" list /sys/devices
sort "$tmp/out" >"$tmp/got"
same "$tmp/got" "$tmp/want" "/sys/devices has its entries and ours, once"

# --- the cpu PMU
pmu_names=$({
	ls $pmus 2>/dev/null
	printf '%s\n' breakpoint cpu software tracepoint
} | sort -u)
says "PMUs" "$(xargs <<<"$pmu_names")" sh -c "cd $pmus; echo *"
says "their types" "5 4 1 2" sh -c "cd $pmus; echo \$(cat breakpoint/type cpu/type software/type tracepoint/type)"
says "find" "$(printf '%s\n' caps events format perf_event_mux_interval_ms power rdpmc subsystem type uevent)" \
	sh -c "find $pmus/cpu/ -mindepth 1 -maxdepth 1 -printf '%f\n' | sort"
says "readlink" ../../../devices/cpu readlink $pmus/cpu
says "realpath" /sys/devices/cpu/format/event realpath $pmus/cpu/subsystem/devices/cpu/format/event
says "rdpmc" 1 cat /sys/devices/cpu/rdpmc
says "file systems" "sysfs sysfs tracefs tracefs proc" \
	sh -c "echo \$(stat -f -c %T $pmus $pmus/cpu/type /sys/kernel/tracing/events \
		/sys/kernel/debug/tracing /proc/sys/kernel/perf_event_paranoid)"
says "paranoid" 2 cat /proc/sys/kernel/perf_event_paranoid
run timeout -k 5 60 "$ANYPERF" run --paranoid 3 -- cat /proc/sys/kernel/perf_event_paranoid
is "$(cat "$tmp/out")" 3 "paranoid, as asked for"
run "${session[@]}" ls -lR $pmus/ /sys/devices/cpu /sys/kernel/tracing/events/raw_syscalls
is "$status" 0 "ls -lR" || note "$(head -n 5 "$tmp/err")"
says "access" r-- sh -c "for x in r w x; do [ -\$x $pmus/cpu/type ] && printf \$x || printf -; done"
run "${session[@]}" sh -c "echo 5 >$pmus/cpu/type; cat $pmus/cpu/type"
is "$(cat "$tmp/out")" 4 "nothing is written"

cat >"$tmp/walk.py" <<'END'
import os, sys
def tree(top):
    for d, dirs, files in os.walk(top):
        for f in files:
            p = os.path.join(d, f)
            if not os.path.islink(p) and os.stat(p).st_mode & 0o400:
                try:
                    with open(p) as o: o.read()
                except OSError as e:
                    if not p.endswith('autosuspend_delay_ms'): print(p, e)
                yield os.path.relpath(p, top)
new, old = (sorted(tree('/sys/kernel' + x)) for x in ('/tracing', '/debug/tracing'))
print(new == old)
points = {l.strip() for l in open('/sys/kernel/tracing/available_events')}
print(points == {':'.join(p.split('/')[1:3]) for p in new if p.endswith('/id')}, len(points) > 700)
for p in points:
    d = '/sys/kernel/tracing/events/' + p.replace(':', '/')
    n = open(d + '/id').read().strip()
    text = open(d + '/format').read()
    if 'ID: %s\n' % n not in text or 'name: %s\n' % p.split(':')[1] not in text: print(p)
fd = os.open('/sys/devices', os.O_RDONLY)
print(os.open('cpu/type', os.O_RDONLY, dir_fd=fd) > 0, 'cpu' in os.listdir(fd), os.listdir(fd).count('software'))
root = os.open('/', os.O_RDONLY)
print(open(os.open('sys/devices/cpu/type', os.O_RDONLY, dir_fd=root)).read().strip())
os.chdir('/sys/bus')
print(open('event_source/devices/cpu/type').read().strip())
END
# of another user's session: root has the kernel's tracefs as well
cp "$ANYPERF" "$tmp/anyperf"
nobody=()
[ "$(id -u)" != 0 ] || nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
run "${nobody[@]}" timeout -k 5 60 "$tmp/anyperf" run -- python3 "$tmp/walk.py"
is "$(cat "$tmp/out")" "$(printf '%s\n' True 'True True' 'True True 1' 4 4)" "python's os.walk, and relative names"

# --- being there
cat >"$tmp/there.sh" <<'END'
cd /sys/bus/event_source/devices && /bin/pwd && ls && cat cpu/type ./software/../cpu/type
cd cpu && /bin/pwd && cat type ../breakpoint/type && sh -c '/bin/pwd; cat type'
cd /sys/kernel/tracing/events/raw_syscalls && /bin/pwd && cat sys_enter/id && find . -name id | sort
(cd .. && /bin/pwd && ls -d sched && cd / && /bin/pwd)
/bin/pwd
cd /sys/bus/event_source/devices/cpu/type 2>/dev/null || echo no
cd /sys/bus/event_source/none 2>/dev/null || echo no
cd ../../../../../tmp && /bin/pwd
END
says "a working directory that only the session has" "$(
	printf '%s\n' /sys/bus/event_source/devices $pmu_names 4 4 \
		/sys/devices/cpu 4 5 /sys/devices/cpu 4 /sys/kernel/tracing/events/raw_syscalls 61441 \
		./sys_enter/id ./sys_exit/id /sys/kernel/tracing/events sched / \
		/sys/kernel/tracing/events/raw_syscalls no no /tmp
)" sh "$tmp/there.sh"
cat >"$tmp/there.py" <<'END'
import ctypes, errno, os, subprocess
devices = '/sys/bus/event_source/devices'
def said(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, **more).stdout.strip()
os.chdir(devices)
print(os.getcwd(), os.path.realpath('cpu'), open('cpu/type').read().strip())
os.fchdir(os.open('cpu', os.O_RDONLY))
print(os.getcwd(), os.stat('.').st_ino == os.stat(devices + '/cpu').st_ino)
print(said('pwd', cwd='../software'), said('pwd', cwd='/tmp'), said('pwd'), os.getcwd())
print(said('cat', 'type'), said('cat', 'type', close_fds=False))
os.waitpid(os.posix_spawn('/bin/cat', ['cat', 'type'], {}), 0)
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(100)
for n in 0, 5, 16, 17:
    print(libc.syscall(79, buf, n), errno.errorcode.get(ctypes.get_errno()))
    ctypes.set_errno(0)
if not os.fork():
    os.chdir('/')
    os._exit(len(os.getcwd()))
print(os.WEXITSTATUS(os.wait()[1]), os.getcwd())
os.chdir('/sys/bus')
print(os.getcwd())
END
says "the same of children" "$(
	printf '%s\n' '/sys/bus/event_source/devices /sys/devices/cpu 4' '/sys/devices/cpu True' \
		'/sys/devices/software /tmp /sys/devices/cpu /sys/devices/cpu' '4 4' 4 \
		'-1 ERANGE' '-1 ERANGE' '-1 ERANGE' '17 None' '1 /sys/devices/cpu' /sys/bus
)" python3 -u "$tmp/there.py"

# --- lists of mounts
for f in /proc/mounts /proc/self/mounts /proc/self/mountinfo /proc/thread-self/mounts; do
	run "${session[@]}" cat $f
	is "$(grep -c ' /sys/kernel/tracing ' "$tmp/out")" 1 "$f has tracefs, once"
	grep -v ' /sys/kernel/tracing ' "$tmp/out" >"$tmp/got"
	grep -v ' /sys/kernel/tracing ' $f >"$tmp/want"
	same "$tmp/got" "$tmp/want" "$f has what the kernel has"
done

# --- other users, other boxes
cat >"$tmp/look.sh" <<'END'
cd /sys/bus/event_source/devices
cat breakpoint/type cpu/type software/type tracepoint/type /sys/kernel/tracing/events/raw_syscalls/sys_enter/id \
	/proc/sys/kernel/perf_event_paranoid
ls | grep -xE 'breakpoint|cpu|software|tracepoint'
ls /sys/kernel/debug/tracing/events | grep -xE 'enable|ftrace|raw_syscalls|sched|signal|syscalls'
stat -f -c %T /sys/bus/event_source/devices
grep -c ' /sys/kernel/tracing tracefs' /proc/mounts
cd /sys/kernel/tracing/events/raw_syscalls && /bin/pwd && cat sys_enter/id
END
run "${session[@]}" sh "$tmp/look.sh"
mv "$tmp/out" "$tmp/want"
if [ "$(id -u)" = 0 ]; then
	run timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/anyperf" run -- sh "$tmp/look.sh"
	same "$tmp/out" "$tmp/want" "another user sees the same"
	# an empty /sys, and none
	run timeout -k 5 60 unshare -m sh -c "mount -t tmpfs none /sys && exec '$tmp/anyperf' run -- sh '$tmp/look.sh'"
	if [ "$status" = 0 ]; then
		same "$tmp/out" "$tmp/want" "in an empty /sys it is the same"
	else
		lack "in an empty /sys it is the same" "may not mount here"
	fi
else
	lack "another user sees the same" "needs root"
fi
cp "$PROGRAMS/lockbox" "$tmp"
run timeout -k 5 60 "$tmp/lockbox" "$tmp/anyperf" run -- sh "$tmp/look.sh"
if [ "$status" = 99 ]; then
	lack "a locked box has the same" "no namespaces here"
else
	same "$tmp/out" "$tmp/want" "a locked box has the same" || note "$(head -n 5 "$tmp/err")"
fi

# --- stock clients
if command -v perf >/dev/null; then
	run "${session[@]}" perf list
	for e in instructions 'cpu/branch-instructions/' 'cpu/loads/' 'syscalls:sys_enter_openat' \
		'raw_syscalls:sys_exit' page-faults; do
		has "$tmp/out" "$e" "perf list has $e"
	done
	run "${session[@]}" perf stat -x, -e cpu/instructions/u,instructions:u,branches:u,cpu/branch-instructions/u true
	awk -F, '/u/ { print $1 }' "$tmp/err" >"$tmp/counts"
	is "$(awk '{ print ($1 > 1000) }' "$tmp/counts" | tr -d '\n')" 1111 "perf stat counts by name and by PMU"
	is "$(uniq "$tmp/counts" | wc -l)" 2 "and alike"
else
	lack "perf list has our events" "no perf"
fi
if command -v papi_component_avail >/dev/null; then
	run "${session[@]:0:6}" "${papi_cpu[@]}" -- papi_component_avail
	has "$tmp/out" "PMUs supported:.*perf" "PAPI finds perf events"
	has "$tmp/out" 'Fast counter read .rdpmc.: *yes' "and that rdpmc may be used"
else
	lack "PAPI finds perf events" "no papi-tools"
fi
done_testing
