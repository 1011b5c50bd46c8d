#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that read a perf.data with parsers of their own: hotspot's perfparser, and autofdo, which makes compilers' profiles.  Each
# finds as many samples as there are, and makes of them what this program does.
. "$(dirname "$0")/lib.sh"
need gcc python3

cd "$tmp" || exit 1
cat >work.c <<'END'
static volatile unsigned long sink;
__attribute__((noipa)) unsigned long hot(unsigned long n)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < n; i++)
		sum += i % 3 ? i : 2 * i;
	return sum;
}
__attribute__((noipa)) unsigned long cold(unsigned long n)
{
	return 3 * n;
}
int main(void)
{
	for (int i = 0; i < 500; i++)
		sink += hot(1000);
	sink += cold(sink);
	return 0;
}
END
# autofdo 0.19 reads DWARF 4
gcc -gdwarf-4 -O1 -fno-omit-frame-pointer -no-pie -o work work.c || skip_all "no compiler"

# samples FILE: how many it has, by anyperf script
samples()
{
	"$ANYPERF" script -i "$1" -F comm 2>/dev/null | grep -c .
}

# --- hotspot
parser=$(for p in /usr/lib/*/libexec/hotspot-perfparser /usr/libexec/hotspot-perfparser; do [ -x "$p" ] && echo "$p"; done | head -n 1)
# parsed FILE: records of samples in what the parser writes (a size and a kind each), and which names of ours it has
cat >parsed.py <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
assert data.startswith(b"QPERFSTREAM\0")
at, samples = 16, 0
while at < len(data):
    size = struct.unpack_from("<I", data, at)[0]
    samples += data[at + 4] == 13
    at += 4 + size
assert at == len(data)
print(samples, *[name for name in sys.argv[2:]
                 if struct.pack(">I", len(name)) + name.encode() in data
                 or struct.pack("<I", len(name)) + name.encode() in data])
END
# parse NAME WANT OPTIONS...: a recording, and the names that the parser is to find in it
parse()
{
	local name=$1 want=$2 n
	shift 2
	run timeout -k 5 120 "$ANYPERF" record -q -o r.data "$@" -- ./work
	is "$status" 0 "$name: recorded" || note "$(cat err)"
	n=$(samples r.data)
	run timeout -k 5 120 "$parser" --input r.data --output r.out
	# shellcheck disable=SC2086
	is "$status $(python3 parsed.py r.out $want)" "0 $n $want" "hotspot: $name: each sample is found" || note "$(tail -n 5 err)"
}
if [ -n "$parser" ]; then
	parse "callchains" "hot main instructions:u" -e instructions:u -c 5000 -g
	parse "no callchains" "hot instructions:u" -e instructions:u -c 5000
	parse "copied stacks" "hot main instructions:u" -e instructions:u -c 50000 --call-graph dwarf
	parse "two events" "hot main instructions:u branches:u" -e instructions:u,branches:u -c 5000 -g
	# Debian's parser is built without zstd
	parse "-a" "hot main instructions:u" -a -e instructions:u -c 5000 -g
	if command -v hotspot >/dev/null; then
		# the program itself, without a screen: it has a file open and is there until it is ended
		start env QT_QPA_PLATFORM=offscreen HOME="$tmp" XDG_RUNTIME_DIR="$tmp" hotspot r.data
		is_reading()
		{
			pgrep -P "$pid" -f hotspot-perfparser >/dev/null
		}
		check "hotspot has its parser read the file" wait_for 60 is_reading
		kill "$pid"
	fi
else
	skip "hotspot" "no hotspot-perfparser"
fi

# --- autofdo
if command -v create_llvm_prof >/dev/null && command -v create_gcov >/dev/null; then
	run timeout -k 5 120 "$ANYPERF" record -q -b -e branches:u -c 997 -o b.data -- ./work
	n=$(samples b.data)
	for tool in "create_llvm_prof --format=text --out=llvm.prof" "create_gcov --gcov=gcc.afdo --gcov_version=2"; do
		# shellcheck disable=SC2086
		run timeout -k 5 120 $tool --binary=./work --profile=b.data -logtostderr
		is "$status $(grep -o "[0-9]* SAMPLE events, [0-9]* of these were mapped" err)" \
			"0 $n SAMPLE events, $n of these were mapped" "${tool%% *}: each sample is found, and has its place" ||
			note "$(tail -n 5 err)"
	done
	# lines count from the function's own: the loop is in 3 and 4, and takes all but some thousandths
	is "$(sed -n 's/^\([a-z_]*\):.*/\1/p' llvm.prof | sort | paste -sd' ')" "hot main" "create_llvm_prof: the functions that have weight"
	is "$(awk -F: '/^hot:/ { on = 1; next } /^[a-z]/ { on = 0 } on { gsub(/ /, "", $1); split($1, l, "."); n[l[1]] += $2 }
		END { print (n[3] > n[2] && n[4] > n[2] && n[3] > 0) }' llvm.prof)" 1 "and which of their lines" || note "$(cat llvm.prof)"
	run dump_gcov gcc.afdo --gcov_version=2
	is "$(sed -n 's/^\([a-z_]*\) total:.*/\1/p' out | sort | paste -sd' ')" "hot main" "create_gcov: the same functions"
else
	skip "autofdo" "no create_llvm_prof and create_gcov"
fi

done_testing
