#!/bin/bash
# SPDX-License-Identifier: MIT
# Where ptrace is refused, and what cannot be followed: said by name, never silent, never wrong.
. "$(dirname "$0")/lib.sh"
need python3 strace

cd "$tmp" || exit 1
[ "$(id -u)" = 0 ] || lack_all "only root can make the programs of this test"

# deny.py NUMBER... -- COMMAND: EPERM for these system calls from here on
cat >deny.py <<'EOF'
import ctypes, os, struct, sys
sep = sys.argv.index('--')
libc = ctypes.CDLL(None, use_errno=True)
ld, jeq, ret = 0x20, 0x15, 0x06
code = [(ld, 0, 0, 0)]
nrs = [int(n) for n in sys.argv[1:sep]]
for i, nr in enumerate(nrs):
    code.append((jeq, len(nrs) - i, 0, nr))
code += [(ret, 0, 0, 0x7fff0000), (ret, 0, 0, 0x00050001)]
raw = b''.join(struct.pack('HBBI', *c) for c in code)
buf = ctypes.create_string_buffer(raw)
prog = struct.pack('HxxxxxxQ', len(code), ctypes.addressof(buf))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
    sys.exit(3)
os.execvp(sys.argv[sep + 1], sys.argv[sep + 1:])
EOF
ptrace=101 personality=135 vm_writev=311 vm_readv=310 perf_open=298 pidfd_open=434

run python3 deny.py $ptrace -- "$ANYPERF" stat -e instructions true
is "$status" 125 "ptrace refused by seccomp: 125"
is "$(wc -l <"$tmp/err")" 1 "one line"
has "$tmp/err" 'seccomp' "that names who refuses"
run python3 deny.py $ptrace -- "$ANYPERF" stat -e task-clock true
is "$status" 0 "kernel events need no ptrace"

# what a session cannot do without; some of it would be missed when a command runs already
for call in memfd_create:319 prlimit64:302 eventfd2:290 clone3:435 clone:56 waitid:247 wait4:61; do
	run timeout -k 5 60 python3 deny.py "${call#*:}" -- "$ANYPERF" stat -e instructions echo runs
	is "$status $(cat "$tmp/out")" "125 " "${call%:*} refused: 125, and nothing is run"
	is "$(wc -l <"$tmp/err")" 1 "one line"
	has "$tmp/err" "a seccomp filter refuses ${call%:*}; let it through" "that says what to change"
done

# what doctor finds is what happens above: its status is the worst line's
# doctor_says CALL STATUS LINE
doctor_says()
{
	run timeout -k 5 60 python3 deny.py "$1" -- "$ANYPERF" doctor
	is "$status" "$2" "doctor, call $1 refused: status" || note "$(cat "$tmp/out")"
	has "$tmp/out" "^ $3" "doctor, call $1 refused: its line"
	is "$(awk '/^ (less|NO) / { getline; if (!/to change that: ./) print }' "$tmp/out")" "" "doctor, call $1 refused: what to change"
}
doctor_says $ptrace 2 'NO +ptrace '
doctor_says 319 2 'NO +system calls +a seccomp filter refuses memfd_create'
doctor_says $personality 1 'less +fixed addresses '
doctor_says $perf_open 1 'less +perf_event_open '
run prlimit --nofile=100:100 "$ANYPERF" doctor -q
is "$status" 1 "doctor -q where few files may be open"
has "$tmp/out" '^ less +open files +only 100' "says so"
has_not "$tmp/out" '^ ok' "and nothing of what works"
run env TMPDIR=/nowhere "$ANYPERF" doctor
has "$tmp/out" '^ less +temporary files +/nowhere: No such file' "doctor: no folder for temporary files"
has "$tmp/out" "^ ok +counting +'anyperf version' retired [1-9][0-9]* instructions" "doctor: counts itself"

run python3 deny.py $personality -- "$ANYPERF" stat --deterministic -e instructions true
is "$status" 125 "personality refused: 125"
is "$(wc -l <"$tmp/err")" 1 "one line"
has "$tmp/err" 'deterministic' "that names the option"

run python3 deny.py $vm_writev $vm_readv $perf_open $pidfd_open -- \
	"$ANYPERF" stat -x, -o csv -e instructions,page-faults -- sh -c '/bin/true; /bin/true'
is "$status" 0 "other ways where process_vm_*, perf_event_open and pidfd_open are refused"
is "$(($(stat_value csv instructions) > 250000))" 1 "and all is counted"
run python3 deny.py $perf_open -- "$ANYPERF" stat -e page-faults,task-clock true
has "$tmp/err" 'page-faults.*# rusage$' "page faults come from rusage then"
for exact in "" "instructions,"; do
	run python3 deny.py $perf_open -- "$ANYPERF" stat -x, -o csv -e "${exact}page-faults:u,page-faults:k" true
	is "$status $(grep -c '^<not supported>,,page-faults:[uk],' csv)" "0 2" \
		"which knows no modes${exact:+, beside exact events}"
	run python3 deny.py $perf_open -- "$ANYPERF" stat -x, -o csv -e "${exact}dummy,dummy:u,dummy:k" true
	is "$status $(grep '^0,' csv | cut -d, -f3 | xargs)" "0 dummy dummy:u dummy:k" \
		"dummy has none of any${exact:+, beside exact events}"
done

# --- programs that cannot be followed
cp /bin/echo suid
cp /bin/echo sgid
cp /bin/echo hidden
chown 12345:12345 suid sgid
chmod 4755 suid
chmod 2755 sgid
chmod 711 hidden
findmnt -no OPTIONS -T . | grep -q nosuid && nosuid=1
if [ -z "${nosuid-}" ]; then
	for kind in suid:set-uid sgid:set-gid; do
		run "$ANYPERF" stat -e instructions "./${kind%:*}" hello
		is "$status $(cat "$tmp/out")" "0 hello" "${kind#*:}: runs"
		has "$tmp/err" "not counted: .*${kind%:*}: ${kind#*:}" "${kind#*:}: reported"
		run "$ANYPERF" stat -e instructions -- sh -c "./${kind%:*} hello; :"
		is "$status $(cat "$tmp/out")" "0 hello" "${kind#*:} as a child: runs"
		has "$tmp/err" "not counted: .*${kind%:*}: ${kind#*:}" "${kind#*:} as a child: reported"
	done
else
	lack "set-uid programs" "a nosuid file system"
fi
if command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	run setpriv --reuid 12346 --regid 12346 --clear-groups \
		"$ANYPERF" stat -e instructions ./hidden hello
	is "$status $(cat "$tmp/out")" "0 hello" "a program that may not be read: runs"
	has "$tmp/err" "not counted: .*hidden: not readable" "a program that may not be read: reported"
else
	skip "a program that may not be read" "no setpriv"
fi

# a 32-bit program: exit(7) by int 0x80
python3 - <<'EOF'
import struct
code = b'\xb8\x01\x00\x00\x00\xbb\x07\x00\x00\x00\xcd\x80'
size = 52 + 32 + len(code)
eh = b'\x7fELF\x01\x01\x01' + bytes(9) + struct.pack('<HHIIIIIHHHHHH', 2, 3, 1, 0x08048054, 52, 0,
                                                   0, 52, 32, 1, 40, 0, 0)
ph = struct.pack('<IIIIIIII', 1, 0, 0x08048000, 0x08048000, size, size, 5, 0x1000)
open('i386', 'wb').write(eh + ph + code)
EOF
chmod +x i386
./i386
if [ $? = 7 ]; then
	run "$ANYPERF" stat -e instructions ./i386
	is "$status" 7 "a 32-bit program: runs"
	has "$tmp/err" "not counted: .*i386: 32-bit" "a 32-bit program: reported"
	run "$ANYPERF" stat -e instructions -- sh -c './i386; exit $?'
	is "$status" 7 "a 32-bit child: runs"
	has "$tmp/err" "not counted: .*i386: 32-bit" "a 32-bit child: reported"
else
	lack "a 32-bit program" "the kernel runs none"
fi

# --- somebody else traces
run strace -f -o trace "$ANYPERF" stat -e instructions echo hello
is "$status $(cat "$tmp/out")" "0 hello" "under strace -f: runs"
has "$tmp/err" "not counted: .*echo: another program traces it" "under strace -f: reported"
run "$ANYPERF" stat -e instructions strace -o trace echo hello
is "$status $(cat "$tmp/out")" "0 hello" "strace as the command: works"
has trace 'write\(1, "hello' "and traces"
has_not "$tmp/err" "not counted" "what it traces is counted with it"

# --- a /proc that names other processes
if unshare -pf true 2>unshared; then
	for cmd in stat run; do
		run unshare -pf "$ANYPERF" $cmd -- echo hello
		is "$status $(cat "$tmp/out")" "125 " "$cmd, /proc of another pid namespace: refused"
		has "$tmp/err" "^anyperf: cannot count: /proc does not show" "$cmd: says why"
	done
else
	lack "/proc of another pid namespace" "unshare is refused: $(cat unshared)"
fi

done_testing
