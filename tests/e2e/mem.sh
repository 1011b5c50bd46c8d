#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf mem: samples of references with their data, sources and prices, and the table of them, which is perf's.
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
prog=$PROGRAMS/mem_data
walk=$PROGRAMS/model_walk

# samples FILE FIELD: of each event
samples() { timeout -k 5 60 "$ANYPERF" script -i "$1" -F "$2"; }
mem() { run timeout -k 5 60 "$ANYPERF" mem "$@"; }

# --- 1024 loads and 1024 stores whose addresses are known; cachegrind's machine has no prefetchers
mem record -c 1 --machine cachegrind --deterministic -o all.data -- "$prog"
is "$status" 0 "mem record" || note "$(tail -n 3 err)"
samples all.data event,addr,ip,sym >all
for what in loads stores; do
	name=read_from
	[ $what = stores ] && name=written_to
	start=$((16#$(nm "$prog" | awk -v n=$name '$3 == n { print $1 }')))
	for ((k = 0; k < 1024; k++)); do printf '%x\n' $((start + 64 * k)); done >want
	grep "mem-$what" all | awk '{ for (i = 1; i < NF; i++) if ($i ~ /^mem-|^cpu\//) { print $(i + 1); break } }' >got
	is "$(sort got)" "$(sort want)" "$what: each line's address, once"
done
is "$(awk '{ print $NF }' all | sort -u)" touch "all of them in touch"

mem report -i all.data -s mem,symbol,dso --stdio
is "$status" 0 "mem report" || note "$(cat err)"
is "$(awk '/^ .*touch/ { print $2, $NF }' out)" "1024 mem_data
1024 mem_data" "each event has one line of 1024 samples"
has out 'Local RAM or RAM hit' "from memory"
mem -t load report -i all.data -s symbol_daddr --stdio
is "$(grep -c ' \[\.\] read_from+0x' out)" 1024 "the datum has a name, told apart by its address"
has out ' read_from[+]0x40 ' "as name and offset"
mem report -i all.data -s dso_daddr --stdio
is "$(awk '/mem_data/ && $1 ~ /%/ { print $1, $2 }' out | sort -u)" "100.00% 1024" "and is in the program"
mem record -t store -c 4 --machine cachegrind -o stores.data -- "$prog"
is "$(timeout 60 "$ANYPERF" evlist -i stores.data)" "mem-stores:u" "-t store: stores alone"
mem report -t store -i stores.data --stdio
is "$(grep -c 'Local Weight' out)" 0 "of which the price is left out"

# --- what is faster than --ldlat is counted and not sampled
mem record -t load --deterministic --machine skylake -c 100 -o walk.data -- "$walk" walk 16384 5
mem -t load record --ldlat 100 --deterministic --machine skylake -c 100 -o slow.data -- "$walk" walk 16384 5
samples walk.data weight,addr | awk '$2 >= 100' >want
samples slow.data weight,addr >got
is "$(cat got)" "$(cat want)" "--ldlat 100: the same samples, but for the fast ones"
is "$(($(wc -l <got) > 100))" 1 "of which there are some"
is "$(($(samples walk.data weight | awk '$1 < 100' | wc -l) > 100))" 1 "and of the others"
weights=$(samples walk.data weight | awk '{ s += $1 } END { print s }')
mem report -i walk.data --stdio
has out "# Total weight : $weights" "the table's total is the sum of the weights"

if command -v perf >/dev/null; then
	for data in all walk slow stores; do
		perf mem -i $data.data report --stdio >perf.out 2>/dev/null
		mem report -i $data.data --stdio
		table='/^#/ && !/^# (Total|Samples|Overhead|[.])/ { next } { print }'
		is "$(awk "$table" out)" "$(awk "$table" perf.out)" "$data: the table is that of perf mem report"
	done
	perf script -i walk.data -F ip,addr,weight,data_src >perf.out 2>/dev/null
	is "$(awk '{ s += $(NF - 1) } END { print NR, s }' perf.out)" \
		"$(samples walk.data weight | awk '{ s += $1 } END { print NR, s }')" "perf script has the same totals"
	run timeout -k 5 60 "$ANYPERF" run --deterministic --machine skylake -- \
		perf record -q -o stock.data -e cpu/mem-loads,ldlat=100/u -c 100 -d -W -- "$walk" walk 16384 5
	is "$status" 0 "perf record -e cpu/mem-loads,ldlat=100/ in a session" || note "$(tail -n 3 err)"
	is "$(perf script -i stock.data -F weight 2>/dev/null | awk '$1 < 100' | wc -l)" 0 "has slow ones only"
	is "$(($(perf script -i stock.data -F weight 2>/dev/null | wc -l) > 100))" 1 "and of these some"
else
	lack "perf mem report" "no perf"
fi

# --- all references, whoever answers: those that miss are what mem-loads and mem-stores have
mem record -t load -c 1 --deterministic --machine skylake -o missed.data -- "$walk" walk 64 5
mem record -t load --hits -c 1 --deterministic --machine skylake -o hits.data -- "$walk" walk 64 5
is "$status" 0 "mem record --hits" || note "$(tail -n 3 err)"
samples missed.data ip,sym,addr,weight,data_src | grep -E ' walk *$' >want
samples hits.data ip,sym,addr,weight,data_src | grep -E ' walk *$' >all
grep -v 'LVL L1 ' all >got
is "$(cat got)" "$(cat want)" "--hits: of what misses the same samples, with the same level, TLB and latency"
is "$(wc -l <want)" 64 "which is each line once"
is "$(grep 'LVL L1 ' all | grep -c " $(awk '{ print $(NF - 1); exit }' want) walk")" 256 "and a hit for each of four rounds more"
mem record -t store --hits -c 1 --deterministic --machine cachegrind -o hits.data -- "$prog"
is "$(samples hits.data ip,sym,data_src | grep touch | grep -c 'OP STORE.*RAM')" 1024 "--hits -t store: 1024 that miss"
is "$(timeout 60 "$ANYPERF" evlist -i hits.data)" "cpu/stores/u" "of the exact event"

# --- what is wrong
mem record --hits --ldlat 10 -- "$prog"
is "$status" 129 "--hits and --ldlat"
has err 'any latency' "says why"
mem
is "$status" 129 "no word"
has err 'needs record or report' "says what it needs"
mem record -t loads -- "$prog"
is "$status" 129 "-t loads"
mem record --ldlat 70000 -- "$prog"
is "$status" 129 "--ldlat is 16 bits"
has err '0 to 65535' "and says so"
run timeout -k 5 60 "$ANYPERF" record -q -c 100 -o plain.data -- "$prog"
mem report -i plain.data --stdio
is "$status" 125 "a file whose samples say nothing of data"
has err 'anyperf mem record' "says how to make one"
run timeout -k 5 60 "$ANYPERF" report -i all.data -s mem
is "$status" 129 "such a key without --mem-mode"

done_testing
