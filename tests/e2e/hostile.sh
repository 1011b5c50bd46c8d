#!/bin/bash
# SPDX-License-Identifier: MIT
# A program of another user that writes what it likes to all of root's session that it can reach (tests/programs/hostile.c):
# the supervisor ends well, with its table; what root's own tasks count and sample is what they do without it; nothing
# happens to root's other processes.  LONG=1: half an hour of it (make check-long has the sanitizers in the supervisor).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/wild.bash"
need python3 setpriv taskset
[ "$(id -u)" = 0 ] || lack_all "only root has other users' programs in its session"

cp "$PROGRAMS/hostile" "$PROGRAMS/hostile_far" "$tmp/" && chmod 755 "$tmp"/hostile*
cp "$tmp/hostile" "$tmp/gains" && chmod 4755 "$tmp/gains"
cd "$tmp" || exit 1
cat >beside.py <<'PY'
import os, re, subprocess, sys
import wild
anyperf, programs, hostile, seed, rounds, kinds = sys.argv[1:6] + [sys.argv[6:]]
bad = []

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
os.symlink('../gains', 'gains')
os.mkfifo('told'); os.mkfifo('pid'); os.chmod('told', 0o644); os.chmod('.', 0o755)
p = subprocess.Popen([programs + '/limited', '600', anyperf, 'stat', '-x,', '-o', 'report', '-e', 'instructions,syscalls', '--',
                      'sh', '-c', SCRIPT], env=dict(os.environ, V=VICTIM), stdin=subprocess.DEVNULL,
                     stdout=open('out', 'w'), stderr=subprocess.STDOUT, start_new_session=True)
pid = int(open('pid').readline())
inside = [int(x) for x in subprocess.run(['pgrep', '-s', str(p.pid)], capture_output=True, text=True).stdout.split()]
with open('told', 'w') as f:
    areas = ['area %s %s %s\n' % a[:3] for a in wild.areas(pid)]
    f.writelines(['victim %d\n' % v for v in [o.pid for o in outside] + [i for i in inside if i != pid]] + areas)
if not areas:
    bad.append('nothing to write to')
victims = [str(o.pid) for o in outside] + [str(i) for i in inside]
far = subprocess.Popen(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', os.path.dirname(hostile) + '/hostile_far',
                        seed, str(pid)] + victims) if 'far' in kinds else None
p.wait()
if far and far.wait() not in (0, 77):
    bad.append('the accomplice: %s' % far.returncode)
for o in outside:
    if o.poll() is not None:
        bad.append('a process of root\'s: %s' % o.returncode)
    else:
        o.kill()
        o.wait()
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
bad += wild.complaints(p.returncode, '^hostile: 4$')
print('\n'.join(bad[:30]) or 'ok')
PY
# told to end twice, in the middle of all that: its table is there, and the command runs on
cat >told.py <<'PY'
import os, re, signal, subprocess, sys, time
import wild
anyperf, programs, hostile, seed, kinds = sys.argv[1:5] + [sys.argv[5:]]
nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
os.mkfifo('told'); os.mkfifo('pid'); os.chmod('told', 0o644); os.chmod('.', 0o755); os.symlink('../gains', 'gains')
p = subprocess.Popen([programs + '/limited', '120', 'sh', '-c', 'echo $$ >supervisor; exec "$@"', 'sh', anyperf, 'stat', '-x,', '-o',
                      'report', '-e', 'instructions,syscalls', '--', 'sh', '-c', 'trap "" TERM; "$@" >pid & exec sleep 3600', 'sh'] + nobody +
                     [hostile, seed, '100000', 'told'] + kinds,
                     stdin=subprocess.DEVNULL, stdout=open('out', 'w'), stderr=subprocess.STDOUT, start_new_session=True)
pid = int(open('pid').readline())
victims = subprocess.run(['pgrep', '-s', str(p.pid)], capture_output=True, text=True).stdout.split()
with open('told', 'w') as f:
    f.writelines(['victim %s\n' % v for v in victims if int(v) != pid] + ['area %s %s %s\n' % a[:3] for a in wild.areas(pid)])
far = subprocess.Popen(nobody + [os.path.dirname(hostile) + '/hostile_far', seed, str(pid)] + victims)
supervisor = int(open('supervisor').read())
for i in range(2):
    time.sleep(.5) # within a fifth of a second it would be one telling
    os.kill(supervisor, signal.SIGTERM)
status = p.wait()
for left in subprocess.run(['pgrep', '-s', str(p.pid)], capture_output=True, text=True).stdout.split():
    os.kill(int(left), signal.SIGKILL)
far.kill()
far.wait()
said = wild.text_of('out')
# a supervisor stays behind for tasks that run on; there are none, here and in the sessions of before, whatever their memory says
def left():
    return [p for p in os.listdir('/proc') if p.isdigit() and wild.text_of('/proc/%s/comm' % p) == 'anyperf\n' and
            hostile in wild.text_of('/proc/%s/cmdline' % p)]
while left():
    time.sleep(.2) # for as long as the test may take
print('ok' if status == 125 and 'told twice to end' in said and re.search(r'^\d+,.*instructions', wild.text_of('report'), re.M)
      else '%s: %s %s' % (status, said, wild.text_of('report')))
PY
# beside SEED ROUNDS KIND...
beside()
{
	mkdir "$1"
	is "$(cd "$1" && python3 ../beside.py "$ANYPERF" "$PROGRAMS" "$tmp/hostile" "$@" 2>&1)" ok "seed $*"
}
kinds=(names calls flips logs board notes exec perf words file remap gain far)
if [ -n "${SEED:-}" ]; then
	beside "$SEED" "${ROUNDS:-10}" ${KINDS:-"${kinds[@]}"}
elif [ "${LONG:-0}" != 1 ]; then
	beside 1 10 names
	beside 2 10 calls perf
	beside 3 10 flips names exec
	beside 4 10 board logs notes far
	beside 5 10 words file remap
	beside 6 10 gain exec
	beside 7 40 "${kinds[@]}"
	mkdir told
	is "$(cd told && python3 ../told.py "$ANYPERF" "$PROGRAMS" "$tmp/hostile" 8 "${kinds[@]}" 2>&1)" ok "it ends when it is told to"
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
