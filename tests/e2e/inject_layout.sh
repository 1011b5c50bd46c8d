#!/bin/bash
# SPDX-License-Identifier: MIT
# What a program sees of itself when the engine was put into it: nothing.  Each part is run
# natively and counted, and must say the same.
. "$(dirname "$0")/lib.sh"
need cat sh python3 setarch

cd "$tmp" || exit 1

# both NAME COMMAND...: the same output and status, native and counted
both()
{
	local name=$1 want
	shift
	"$@" >native.out 2>native.err </dev/null
	want=$?
	"$ANYPERF" stat -o table -e instructions -- "$@" >out 2>err </dev/null
	is "$?" "$want" "$name: status"
	same native.out out "$name: output"
	same native.err err "$name: errors"
}

both "its executable" readlink /proc/self/exe
both "its arguments" cat /proc/self/cmdline
both "its name" cat /proc/self/comm
both "its environment" env -u _ cat /proc/self/environ
both "its descriptors" ls /proc/self/fd
both "its limits" sh -c 'ulimit -a'
both "its signals" grep -E '^(SigBlk|SigIgn|SigPnd|ShdPnd|Seccomp)' /proc/self/status
both "its tracer" grep TracerPid /proc/self/status
both "its personality" cat /proc/self/personality

# no ASLR: the kernel gives every mapping the address that it has natively
cat >layout.py <<'EOF'
import mmap
maps = [l.split() for l in open('/proc/self/maps')]
print([(l[0], l[1]) for l in maps if len(l) > 5])
m = mmap.mmap(-1, 1 << 24)
import ctypes
print(hex(ctypes.addressof(ctypes.c_char.from_buffer(m))))
print(open('/proc/self/auxv', 'rb').read()[:64].hex())
EOF
both "its mappings, and the addresses of later ones" setarch -R python3 -S -E layout.py

# --- --deterministic: no ASLR, and AT_RANDOM is the same sixteen bytes in every image
cat >random.py <<'EOF'
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
at = libc.getauxval(25)
print(hex(at), ctypes.string_at(at, 16).hex(), flush=True)
if len(sys.argv) < 2:
    os.execv(sys.executable, [sys.executable, '-S', sys.argv[0], 'again'])
EOF
python=$(python3 -c 'import sys; print(sys.executable)')
for i in 1 2; do
	run "$ANYPERF" stat --deterministic -x, -o "csv$i" -e instructions -- "$python" -S random.py
	cp "$tmp/out" "random$i"
done
is "$(cut -d' ' -f2 random1 | sort | uniq -c | tr -s ' ')" " 2 000102030405060708090a0b0c0d0e0f" \
	"AT_RANDOM is fixed in the first image and the next"
same random1 random2 "and where it lies does not change"
run "$ANYPERF" stat -e instructions -- "$python" -S random.py
has_not "$tmp/out" ' 000102030405060708090a0b0c0d0e0f' "without the option it is random"

# --- programs of every kind, limits of every kind
both "a static program" "$PROGRAMS/c_static"
both "a dynamic program" "$PROGRAMS/c_dynamic"
printf '#!/bin/cat\nhello from a script\n' >script
# shellcheck disable=SC2016 # the script expands them
printf 'echo "a shell script without a first line: $0 $*"\n' >bare
chmod +x script bare
both "a script" ./script
both "a script without #!" sh -c './bare a b'
run "$ANYPERF" stat -e instructions ./bare a b
is "$(cat "$tmp/out")" "a shell script without a first line: ./bare a b" "as execvp, a shell runs it"

# limit OPTION VALUE: works under it
limit()
{
	(ulimit "$1" "$2" && "$ANYPERF" stat -x, -o csv -e instructions -- sh -c 'echo ok; /bin/echo ok' \
		>out 2>err)
	is "$(cat out err | paste -sd' ')" "ok ok" "ulimit $1 $2"
	is "$(($(stat_value csv instructions) > 100000))" 1 "ulimit $1 $2: both programs are counted"
}
limit -v 600000
limit -Sv 300000
limit -d 200000
limit -n 20
limit -Sn 20
limit -s 256
limit -s unlimited
limit -Sf 100
limit -c 0
limit -l 0

run bash -c 'ulimit -f 1; "$ANYPERF" stat -e instructions true'
is "$status" 125 "a file limit too small for the session: 125"
is "$(wc -l <"$tmp/err")" 1 "and one line"
has "$tmp/err" 'RLIMIT_FSIZE' "that names the limit"

# limited N COMMAND...: with N descriptors, of which what runs the tests has none
limited()
{
	bash -c 'for ((fd = 3; fd < 40; fd++)); do eval "exec $fd>&-"; done
		ulimit -n "$0" && exec "$@"' "$@"
}
run limited 6 "$ANYPERF" stat -e instructions true
is "$status" 125 "no descriptors: anyperf's own failure"
has "$tmp/err" 'raise ulimit -n' "that says what to do"
# one more each time, until it works: whatever it is that lacks one, the line is the same
for command in stat record run; do
	case $command in
	stat) args=(stat -e "instructions,task-clock") ;;
	record) args=(record -o limited.data -e instructions:u) ;;
	run) args=(run) ;;
	esac
	said="" works=""
	for ((n = 5; n <= 40 && !works; n++)); do
		run limited $n "$ANYPERF" "${args[@]}" /bin/true
		if [ "$status" = 0 ] && ! grep -q "not counted" "$tmp/err"; then
			works=1
		elif [ "$status $(grep -c . "$tmp/err") $(grep -c 'raise.*ulimit -n' "$tmp/err")" != "125 1 1" ] &&
			! grep -q "not counted: .*raise ulimit -n" "$tmp/err"; then
			said+="$n: $status $(cat "$tmp/err"); "
		fi
	done
	is "$said$works" 1 "$command with 5 descriptors, and one more each time"
done

# Without huge pages the engine's code is that of the session's head, in the first process and behind an exec, and nobody can
# write to it; with them, or where that is refused, it is the process' own.  Counts are the same.
cat >"$tmp/no_huge.py" <<'END'
import ctypes, os, sys
if ctypes.CDLL(None).prctl(41, int(sys.argv[1]), 0, 0, 0):
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
END
# code_of COMMAND...: which file the engine's code in a process that waits is of, and what it may
code_of()
{
	"$@" -- sh -c 'exec sleep 60' >/dev/null 2>&1 &
	local tool=$! pid
	wait_for 60 pgrep -P "$tool" -x sleep
	pid=$(pgrep -P $tool -x sleep)
	# what it sees of itself has no engine in it; we are outside
	awk '$2 ~ /x/ && /anyperf/ { print $2, $6 }' "/proc/$pid/maps" | sort -u
	kill "$pid"
	wait $tool
}
run python3 "$tmp/no_huge.py" 1 "$ANYPERF" stat --deterministic -x, -e instructions -- /bin/true
if [ "$status" = 77 ]; then
	lack "code without huge pages" "PR_SET_THP_DISABLE is refused here"
else
	is "$status" 0 "without huge pages: it runs"
	without=$(cut -d, -f1 "$tmp/err")
	run python3 "$tmp/no_huge.py" 0 "$ANYPERF" stat --deterministic -x, -e instructions -- /bin/true
	is "$without" "$(cut -d, -f1 "$tmp/err")" "and counts the same"
	is "$(code_of python3 "$tmp/no_huge.py" 1 "$ANYPERF" stat -e instructions)" "r-xp /memfd:anyperf" \
		"its code is the session's, to be read"
fi

# as containers of old do: glibc makes no thread then
cat >"$tmp/no_clone3.py" <<'END'
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
END
run python3 "$tmp/no_clone3.py" "$ANYPERF" stat -e instructions true
if [ "$status" = 77 ]; then
	lack "clone3 is refused: anyperf says so" "no seccomp filters here"
else
	is "$status" 125 "clone3 is refused: anyperf's own failure"
	has "$tmp/err" 'seccomp filter refuses clone3' "that says what to do"
fi

done_testing
