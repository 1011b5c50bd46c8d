#!/bin/bash
# SPDX-License-Identifier: MIT
# A program of another user that writes what it likes to all of root's session that it can reach (tests/programs/hostile.c):
# the supervisor ends well, with its table; what root's own tasks count and sample is what they do without it; nothing
# happens to root's other processes.  LONG=1: half an hour of it (make check-long has the sanitizers in the supervisor).
. "$(dirname "$0")/lib.sh"
need python3 setpriv taskset
[ "$(id -u)" = 0 ] || lack_all "only root has other users' programs in its session"

cp "$PROGRAMS/hostile" "$tmp/" && chmod 755 "$tmp/hostile"
cd "$tmp" || exit 1
cat >beside.py <<'PY'
import os, re, signal, subprocess, sys, time
anyperf, programs, hostile, seed, rounds, kinds = sys.argv[1:6] + [sys.argv[6:]]
bad = []

def told(pid, victims):
    lines = ['victim %d\n' % v for v in victims]
    for line in open('/proc/%d/maps' % pid):
        m = re.match(r'(\w+)-(\w+) .w.. (\w+) \S+ \S+ +/memfd:anyperf', line)
        if m:
            lines.append('area %s %s %s\n' % m.groups())
    return lines

# root's: tables of known counts, of what is exact and of what makes all code be built anew, and a recording.  That is on one CPU:
# there is an event for each, and what is left of a period stays with its CPU, as the kernel has it
VICTIM = '''n=0; while :; do n=$((n+1))
  %(a)s stat -x, -o count.$n.a -e instructions -- %(p)s/fork_count >/dev/null || echo "stat: $?"
  %(a)s stat -x, -o count.$n.b -e instructions,mem:0x1000:x -- %(p)s/threads_count >/dev/null || echo "stat: $?"
  taskset -c %(c)d %(a)s record -q -e instructions -c 500 -o data.$n -- %(p)s/fork_count >/dev/null || echo "record: $?"
  [ ! -e stop ] || break; done; echo $n >rounds''' % {'a': anyperf, 'p': programs, 'c': min(os.sched_getaffinity(0))}
SCRIPT = '''sh -c "$V" & v=$!
setpriv --reuid 65534 --regid 65534 --clear-groups %s %s %s told %s >pid; echo "hostile: $?"; : >stop; wait $v; echo over
''' % (hostile, seed, rounds, ' '.join(kinds))

def count(name):
    try:
        text = open(name, errors='replace').read()
    except OSError:
        return 'nothing'
    return ' '.join(re.findall(r'^([^#,\n]+),[^\n]*instructions', text, re.M))

def samples(name):
    out = subprocess.run([anyperf, 'script', '-i', name, '-F', 'ip'], capture_output=True, text=True)
    return len(out.stdout.split()) if not out.returncode else out.stderr

# without it
quiet = {}
for n in 'a', 'b':
    e, p = {'a': ('instructions', 'fork_count'), 'b': ('instructions,mem:0x1000:x', 'threads_count')}[n]
    subprocess.run([anyperf, 'stat', '-x,', '-o', 'quiet', '-e', e, '--', programs + '/' + p], stdout=subprocess.DEVNULL)
    quiet[n] = count('quiet')
subprocess.run(['taskset', '-c', str(min(os.sched_getaffinity(0))), anyperf, 'record', '-q', '-e', 'instructions', '-c', '500',
                '-o', 'quiet.data', '--', programs + '/fork_count'], stdout=subprocess.DEVNULL)
quiet['data'] = samples('quiet.data')

# what it is to have killed: root's, outside and inside of the session
outside = [subprocess.Popen(['sleep', '3600']) for i in range(2)]
os.mkfifo('told'); os.mkfifo('pid'); os.chmod('told', 0o644); os.chmod('.', 0o755)
p = subprocess.Popen([programs + '/limited', '600', anyperf, 'stat', '-x,', '-o', 'report', '-e', 'instructions,syscalls', '--',
                      'sh', '-c', SCRIPT], env=dict(os.environ, V=VICTIM), stdin=subprocess.DEVNULL,
                     stdout=open('out', 'w'), stderr=subprocess.STDOUT, start_new_session=True)
pid = int(open('pid').readline())
inside = [int(x) for x in subprocess.run(['pgrep', '-s', str(p.pid)], capture_output=True, text=True).stdout.split()]
with open('told', 'w') as f:
    lines = told(pid, [o.pid for o in outside] + [i for i in inside if i != pid])
    f.writelines(lines)
if not any(l.startswith('area') for l in lines):
    bad.append('nothing to write to')
p.wait()
for o in outside:
    if o.poll() is not None:
        bad.append('a process of root\'s: %s' % o.returncode)
    else:
        o.kill()
        o.wait()
if p.returncode:
    bad.append('status %s' % p.returncode)
try:
    n = int(open('rounds').read())
except (OSError, ValueError):
    n = 0
if not n:
    bad.append('nothing was counted beside it')
for i in range(1, n + 1):
    for kind in 'a', 'b':
        if count('count.%d.%s' % (i, kind)) != quiet[kind]:
            bad.append('count.%d.%s: %s, not %s' % (i, kind, count('count.%d.%s' % (i, kind)), quiet[kind]))
    if samples('data.%d' % i) != quiet['data']:
        bad.append('data.%d: %s samples, not %s' % (i, samples('data.%d' % i), quiet['data']))
out = open('out', errors='replace').read()
if not out.endswith('over\n') or re.search('^(stat|record): |Sanitizer|runtime error', out, re.M):
    bad.append('output: ' + out)
try:
    report = open('report', errors='replace').read()
except OSError:
    report = ''
if not re.search(r'^\d+,.*instructions', report, re.M):
    bad.append('report: ' + report)
print('\n'.join(bad[:30]) or 'ok')
PY
# beside SEED ROUNDS KIND...
beside()
{
	mkdir "$1"
	is "$(cd "$1" && python3 ../beside.py "$ANYPERF" "$PROGRAMS" "$tmp/hostile" "$@" 2>&1)" ok "seed $*"
}
kinds=(names calls flips logs board notes exec perf)
if [ -n "${SEED:-}" ]; then
	beside "$SEED" "${ROUNDS:-10}" ${KINDS:-"${kinds[@]}"}
elif [ "${LONG:-0}" != 1 ]; then
	beside 1 10 names
	beside 2 10 calls perf
	beside 3 10 flips names exec
	beside 4 10 board logs notes
	beside 5 40 "${kinds[@]}"
else
	end=$((SECONDS + 1800))
	first=$((RANDOM * 32768 + RANDOM))
	for ((i = first; SECONDS < end; i++)); do
		beside "$i" 60 "${kinds[@]}"
		[ "$tap_failed" = 0 ] || break
		rm -rf "${tmp:?}/$i"
	done
fi
done_testing
