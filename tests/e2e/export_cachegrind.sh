#!/bin/bash
# SPDX-License-Identifier: MIT
# export -f cachegrind: cg_annotate finds the counts of stat, at the lines where they are.
. "$(dirname "$0")/lib.sh"
need awk
command -v gcc >/dev/null || skip_all "no gcc"

cd "$tmp" || exit 1
cat >work.c <<'END'
static char area[1024 * 64] __attribute__((aligned(4096)));
__attribute__((noinline)) static int reads(void)
{
	int sum = 0;
	for (int i = 0; i < 1024; i++)
		sum += *(volatile char *)&area[i * 64];
	return sum;
}
__attribute__((noinline)) static void writes(void)
{
	for (int i = 0; i < 1024; i++)
		*(volatile char *)&area[i * 64] = 1;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 10; i++)
		sum += reads();
	writes();
	return sum;
}
END
gcc -O1 -g -static -o work work.c || exit 1
events=instructions,L1-icache-load-misses,llc-code-misses,loads,L1-dcache-load-misses,LLC-load-misses,stores,L1-dcache-store-misses,LLC-store-misses,cond-branches,cond-branch-misses,indirect-branches,indirect-branch-misses
columns="Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim"

run timeout -k 5 100 "$ANYPERF" record -q --deterministic --machine cachegrind -m 64M -c 1 -o data -e $events -- ./work
is "$status" 0 "recorded" || note "$(tail -n 3 err)"
run timeout -k 5 60 "$ANYPERF" export -i data -f cachegrind -o cg.out
is "$status" 0 "exported" || note "$(tail -n 3 err)"
is "$(grep '^events:' cg.out)" "events: $columns" "all of cachegrind's columns, in its order"
timeout -k 5 60 "$ANYPERF" stat --deterministic --machine cachegrind -x, -o csv -e $events -- ./work
is "$(awk '/^summary:/ { $1 = ""; print }' cg.out)" "$(awk -F, '$3 { printf " %s", $1 }' csv)" "each is the count of stat"
# cost LINE COLUMN: of work.c
cost()
{
	awk -v l="$1" -v c="$2" '/^events:/ { for (i = 2; i <= NF; i++) if ($i == c) at = i }
		/^fl=/ { here = /work[.]c$/ } here && $1 == l { sum += $at } END { print sum + 0 }' cg.out
}
is "$(cost 6 Dr)" 10240 "1024 loads a round at their line"
is "$(cost 12 Dw)" 1024 "and as many stores, once"
is "$(($(cost 6 D1mr) >= 10230 && $(cost 6 D1mr) <= 10240))" 1 "64 KB miss 32 KB by LRU each time" || note "$(cost 6 D1mr)"
is "$(cost 6 DLmr)" 1024 "and the last level the first time"
is "$(cost 12 DLmw)" 0 "which then has it for the stores"
is "$(cost 12 Dr)" 0 "that do not read"

if command -v cg_annotate >/dev/null; then
	cg_annotate --threshold=0 cg.out >annotated 2>&1
	is $? 0 "cg_annotate reads it" || note "$(head -n 5 annotated)"
	is "$(awk '/PROGRAM TOTALS/ { gsub(/\([^)]*\)|,/, ""); print $1, $4 }' annotated)" \
		"$(awk '/^summary:/ { print $2, $5 }' cg.out)" "with the same totals"
	is "$(awk '/sum \+= \*\(volatile/ { gsub(/\([^)]*\)|,/, ""); print $4 }' annotated)" 10240 "shows the source with its costs"
	cg_diff cg.out cg.out >diffed 2>&1
	is "$(awk '/^summary:/ { for (i = 2; i <= NF; i++) sum += $i; print NF - 1, sum }' diffed)" "13 0" "cg_diff: no difference to itself"
else
	lack "cg_annotate" "no valgrind"
fi

# --- what was not recorded has no column
run timeout -k 5 60 "$ANYPERF" record -q -c 100 -o two -e stores,instructions,branches -- ./work
run timeout -k 5 60 "$ANYPERF" export -i two -f cachegrind -o cg.two
is "$(grep '^events:' cg.two)" "events: Ir Dw" "no column of zeros"
run timeout -k 5 60 "$ANYPERF" record -q -c 100 -o none -e branches -- ./work
run timeout -k 5 60 "$ANYPERF" export -i none -f cachegrind -o cg.none
is "$status" 125 "none at all"
has err 'man anyperf-export' "says where they are"
is "$(ls cg.none 2>/dev/null)" "" "and leaves no file"

# --- what ends a line in the command or the title ends none in the file
run timeout -k 5 60 "$ANYPERF" record -q -g -c 100 -o lines -e instructions -- ./work $'import json\nfn=3\nx=1'
is "$status" 0 "a command of three lines" || note "$(tail -n 3 err)"
for format in cachegrind callgrind; do
	for title in "" $'a\nfn=3\r\tb\177c'; do
		args=() && want='cmd: anyperf record -q -g -c 100 -o lines -e instructions -- ./work import json\x0afn=3\x0ax=1'
		[ -z "$title" ] || args=(--title "$title") want='cmd: a\x0afn=3\x0d\x09b\x7fc'
		run timeout -k 5 60 "$ANYPERF" export -i lines -f $format "${args[@]}" -o out.lines
		is "$status" 0 "$format ${title:+with a title}" || note "$(tail -n 3 err)"
		is "$(grep '^cmd: ' out.lines)" "$want" "has it in one line"
		is "$(grep -c '^fn=3' out.lines)" 0 "and no function by it"
		reader=${format/cachegrind/cg}_annotate
		if command -v $reader >/dev/null; then
			$reader out.lines >annotated 2>&1
			is $? 0 "$reader reads it" || note "$(head -n 5 annotated)"
		else
			lack "$reader" "no valgrind"
		fi
	done
done

# --- numbers of samples have names of their own, and what may be modelled is said to be
run timeout -k 5 60 "$ANYPERF" record -q -c 100 -o two -e instructions,L1-dcache-load-misses -- ./work
run timeout -k 5 60 "$ANYPERF" export -i two -f cachegrind -o out.two
is "$(grep -E '^(events|desc: Mod)' out.two | xargs)" "desc: Modelled, where anyperf recorded: D1mr events: Ir D1mr" \
	"modelled columns are named"
run timeout -k 5 60 "$ANYPERF" export -i two -f cachegrind --weight samples -o out.two
is "$(grep '^events' out.two)" "events: Ir_samples D1mr_samples" "--weight samples: in the columns' names"
done_testing
