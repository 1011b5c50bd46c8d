#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf annotate`: the same share for the same address as perf's, in the same number of samples.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

command -v perf >/dev/null || skip_all "no perf"
command -v objdump >/dev/null || skip_all "no objdump"
HOME=$tmp/home
export HOME
mkdir "$HOME"
cat >"$tmp/work.c" <<'END'
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n; i++)
		s += i * i;
}
__attribute__((noinline)) void other(int n) { while (n--) s ^= n; }
int main(void) { for (int i = 0; i < 900; i++) { leaf(100000); other(100000); } return 0; }
END
gcc -O1 -g -o "$tmp/work" "$tmp/work.c" || exit 1
perf record -q -e cpu-clock:u -o "$tmp/data" -- "$tmp/work" 2>"$tmp/why" ||
	skip_all "perf cannot record here: $(head -n 1 "$tmp/why")"

# shares FILE: "percent address" of each instruction
shares()
{
	sed -nE 's/^ +([0-9.]+) : +([0-9a-f]+): .*/\1 \2/p' "$1"
}

for fn in leaf other; do
	perf annotate --stdio -i "$tmp/data" "$fn" >"$tmp/theirs" 2>/dev/null </dev/null
	run "$ANYPERF" annotate -i "$tmp/data" "$fn"
	is "$status" 0 "$fn: status 0"
	is "$(shares "$tmp/out")" "$(shares "$tmp/theirs")" "$fn: shares of all addresses"
	is "$(shares "$tmp/out" | awk 'END { print (NR > 5) }')" 1 "$fn: has instructions"
	is "$(head -n 2 "$tmp/out")" "$(head -n 2 "$tmp/theirs")" "$fn: the title"
done
run "$ANYPERF" annotate -i "$tmp/data" leaf
has "$tmp/out" ' : 5 +.*s \+= i \* i;' "the source line is there"
run "$ANYPERF" annotate -i "$tmp/data" --no-source leaf
has_not "$tmp/out" 'i \* i' "--no-source: it is not"
n=$("$ANYPERF" report --stdio -n -i "$tmp/data" -s sym | awk '$NF == "leaf" { print $2 }')
run "$ANYPERF" annotate -n -i "$tmp/data" leaf
is "$(shares "$tmp/out" | awk '{ n += $1 } END { print n }')" "$n" "-n: all samples of the function"
run "$ANYPERF" annotate -M intel -i "$tmp/data" leaf
has "$tmp/out" 'imul e.., e' "-M intel: destination first"
run "$ANYPERF" annotate -i "$tmp/data" nosuch
is "$status" 125 "a function without samples: status 125"
has "$tmp/err" 'no sample was in nosuch' "a function without samples: says so"
run "$ANYPERF" annotate -M odd -i "$tmp/data"
is "$status" 129 "an unknown style: status 129"
done_testing
