#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that scribbles over all of the session's file that its engine can write to: no hang, the others count
# on exactly, the report is printed.  ROUNDS and SEED may be set; session_scribble.long.sh runs many.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/wild.bash"
need python3
: "${ROUNDS:=2}" "${SEED:=1}"

cd "$tmp" || exit 1
cat >scribble.py <<'EOF'
import os, re, signal, subprocess, sys, time
import wild
anyperf, programs, seed, how = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
HEAD_END = 8192                      # what no task may write: struct ap_session,
SAMPLERS = range(4 << 20, 6 << 20)   # struct ap_sampler,
SAMPLINGS = range(6 << 20, 7 << 20) # struct ap_sampling
PUBS = range(1 << 20, 4 << 20)       # published events, the tree
bad = []

def areas(pid):
    found = []
    for begin, end, offset, line in wild.areas(pid):
        off = int(offset, 16)
        if off < HEAD_END or off in SAMPLERS or off in PUBS:
            bad.append('writable: ' + line)
        found.append('%s %s %s\n' % (begin, end, offset))
    return found

# the victims: nested tables of known counts, forks and execs and threads in them, and a recording
VICTIM = '''for i in 1 2 3 4; do
  %(a)s stat -x, -o count.$1.$i -e instructions -- %(p)s/fork_count >/dev/null || echo "stat: $?"
  %(a)s stat -x, -o count.$1.x$i -e instructions -- %(p)s/spawn_reuse >/dev/null || echo "stat: $?"
  %(a)s record -q -e instructions -c 500 -o data.$1 -- %(p)s/fork_count >/dev/null || echo "record: $?"
done''' % {'a': anyperf, 'p': programs}
# it is recorded itself, so that it has samplers and a ring to scribble over
SCRIPT = '''sh -c "$V" v 1 & v1=$!; sh -c "$V" v 2 & v2=$!
%s record -q -e instructions -c 20000 -o wild.data -- %s/scribbler %s %s areas >pid & s=$!
wait $v1; wait $v2; : >victims.end; wait $s; echo over''' % (anyperf, programs, seed, how)
os.mkfifo('areas'); os.mkfifo('pid')
p = subprocess.Popen([programs + '/limited', '120', anyperf, 'stat', '-x,', '-o', 'report', '-e', 'instructions,syscalls', '--',
                      'sh', '-c', SCRIPT], env=dict(os.environ, V=VICTIM), stdin=subprocess.DEVNULL,
                     stdout=open('out', 'w'), stderr=subprocess.STDOUT, start_new_session=True)
pid = int(open('pid').readline())
with open('areas', 'w') as f:
    found = areas(pid)
    f.writelines(found)
if not found:
    bad.append('nothing to scribble over')
while not os.path.exists('victims.end') and p.poll() is None:
    time.sleep(.01)
try:
    os.kill(pid, signal.SIGKILL)
except ProcessLookupError:
    pass # it has died of it
p.wait()
if how != 'none' and not any(int(a.split()[2], 16) in SAMPLINGS for a in found):
    bad.append('no samplers: ' + ''.join(found))
want = {'': '26125', 'x': '200000068'}
for v in '12':
    for i in '1234':
        for kind in want:
            name = 'count.%s.%s%s' % (v, kind, i)
            try:
                got = re.search(r'^([^#,\n]+),', open(name, errors='replace').read(), re.M)[1]
            except (OSError, TypeError):
                got = 'nothing'
            if got != want[kind]:
                bad.append('%s: %s' % (name, got))
bad += wild.complaints(p.returncode)
print('\n'.join(bad) or 'ok')
EOF
for ((i = SEED; i < SEED + ROUNDS; i++)); do
	for how in shared own; do
		mkdir "$i.$how"
		is "$(cd "$i.$how" && python3 ../scribble.py "$ANYPERF" "$PROGRAMS" "$i" "$how" 2>&1)" ok \
			"$how words, seed $i"
	done
done
done_testing
