#!/bin/bash
# SPDX-License-Identifier: MIT
# kill -9 at random anywhere in a tree that forks and execs: no hang, no lost report, nothing that
# stays behind.  ROUNDS and SEED may be set; session_kill.long.sh runs many.
. "$(dirname "$0")/lib.sh"
need bash python3
: "${ROUNDS:=6}" "${SEED:=1}"

cd "$tmp" || exit 1
cat >kill.py <<'EOF'
import os, random, signal, subprocess, sys, time
anyperf, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
SCRIPT = 'for i in {1..20}; do (for j in 1 2 3; do /bin/true; ls / | sort | head -3; done) & done; wait'

def stat(pid):
    try:
        f = open('/proc/%s/stat' % pid).read().rsplit(')', 1)[1].split()
    except (OSError, IndexError):
        return None
    return {'state': f[0], 'parent': int(f[1]), 'session': int(f[3])}

def tasks(session):
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        s = stat(pid)
        if s and s['session'] == session and s['state'] not in 'ZX':
            found.append(int(pid))
    return found

def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1

p = subprocess.Popen([anyperf, 'stat', '-e', 'instructions', '--', 'bash', '-c', SCRIPT],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                     start_new_session=True, text=True)
kills, spare = random.randrange(1, 30), random.random() < .7
looks = 20000 # four minutes of an idle machine
while p.poll() is None and looks:
    looks -= 1
    time.sleep(random.random() * .02)
    victims = [pid for pid in tasks(p.pid) if pid != p.pid]
    if kills and victims:
        kills -= kill(random.choice(victims))
    elif not spare:
        p.kill()
bad = []
if p.poll() is None:
    bad.append('hang')
    p.kill()
looks += 200
while tasks(p.pid) and looks:
    looks -= 1
    time.sleep(.05)
left = tasks(p.pid)
for pid in left:
    bad.append('left: %d %r' % (pid, stat(pid)))
    kill(pid)
report = p.stderr.read()
if spare and ' instructions' not in report:
    bad.append('no report: %d %r' % (p.returncode, report))
if 'engine fault' in report:
    bad.append(report)
print('\n'.join(bad) or 'ok')
EOF
for ((i = SEED; i < SEED + ROUNDS; i++)); do
	is "$(python3 kill.py "$ANYPERF" "$i" 2>&1)" ok "round $i"
done
done_testing
