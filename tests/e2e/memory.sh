#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Memory as the program knows it: code behind several mappings, what /proc says, room to grow, and
# how much of it the engine takes.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
python=/usr/bin/python3
[ -x "$python" ] || python=$(python3 -c 'import sys; print(sys.executable)')
export TMPDIR=$tmp

# both NAME COMMAND...: the same output and status natively and counted, to the end
both()
{
	local name=$1 native
	shift
	run timeout -k 5 60 "$@"
	native=$status
	mv "$tmp/out" "$tmp/native"
	run timeout -k 5 120 "$ANYPERF" stat -e instructions -o "$tmp/table" -- "$@"
	is "$status" "$native" "$name: status"
	same "$tmp/out" "$tmp/native" "$name: output" || note "$(head -n 20 "$tmp/err")"
	has_not "$tmp/table" 'not counted|engine fault' "$name: all of it is counted"
}

both "code behind two mappings" "$PROGRAMS/code_alias"
both "mappings and limits" "$PROGRAMS/memory_calls"
both "a heap at low addresses" "$PROGRAMS/low_brk"

# resident COMMAND...: $rss in KiB of a program that prints its pid and waits for its input's end.  What it has for itself, and the
# session's part: how much of its files is mapped the kernel decides by what it has read ahead
resident()
{
	local pid
	rm -f "$tmp/hold" "$tmp/pid"
	mkfifo "$tmp/hold"
	"$@" <"$tmp/hold" >"$tmp/pid" 2>"$tmp/err" &
	exec 9>"$tmp/hold"
	wait_for 60 test -s "$tmp/pid"
	read -r pid <"$tmp/pid"
	rss=$(awk '/^[0-9a-f]+-/ { session = /memfd:anyperf/ } /^Rss:/ && session || /^Anonymous:/ && !session { sum += $2 }
		END { print sum + 0 }' "/proc/$pid/smaps")
	exec 9>&-
	wait
}

# extra COMMAND...: $extra, what it takes more counted than natively
extra()
{
	resident "$@"
	extra=-$rss
	resident "$ANYPERF" stat -e instructions,branches,calls -o "$tmp/table" -- "$@"
	extra=$((extra + rss))
	note "$extra KiB: $*"
}

extra "$PROGRAMS/idle_threads" 0
alone=$extra
extra "$PROGRAMS/idle_threads" 200
check "an idle thread owns at most 64 KiB of the engine" test $((extra - alone)) -le $((200 * 64))
check "and was there" test "$extra" -gt 0
extra "$PROGRAMS/idle_threads" 1000
check "a thousand that sleep take at most 150 MiB" test "$extra" -le $((150 * 1024))

cat >"$tmp/words.py" <<'END'
import collections, json, os, re, sys
text = json.dumps({str(i): 'word%d' % (i % 97) for i in range(5000)})
assert collections.Counter(re.findall(r'\w+', text))['word5'] == 52
print(os.getpid(), flush=True)
sys.stdin.readline()
END
extra "$python" -I -S "$tmp/words.py"
check "python3 needs less than 64 MiB of engine, code included" test "$extra" -lt 65536
check "and was counted" test "$extra" -gt 0
# What the kernel shows of us to others only, its first pages: each call answers as it does of a hole.
mkfifo "$tmp/lines"
"$ANYPERF" stat -e instructions -o "$tmp/table" -- "$PROGRAMS/task_ranges" <"$tmp/lines" >"$tmp/asked" 2>"$tmp/err" &
exec 3>"$tmp/lines"
wait_for 20 test -s "$tmp/asked"
pid=$(head -n 1 "$tmp/asked")
grep '/memfd:anyperf' "/proc/$pid/maps" >"$tmp/ours"
cat "$tmp/ours" >&3
exec 3>&-
wait $!
is "$?" 0 "calls on memory of ours: runs"
echo 10000- | "$PROGRAMS/task_ranges" | sed 1d >"$tmp/hole"
is "$(($(wc -l <"$tmp/ours") > 1)) $(wc -l <"$tmp/ours")" "1 $(sed 1d "$tmp/asked" | wc -l)" "and is asked for all"
is "$(sed 1d "$tmp/asked" | sort -u)" "$(cat "$tmp/hole")" "which are holes"
done_testing
