#!/bin/bash
# SPDX-License-Identifier: MIT
# Events of what the modelled machine does not have: never 0.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# stat_of MACHINE EVENTS: lines of EVENT VALUE
stat_of()
{
	timeout -k 5 60 "$ANYPERF" stat -x, -o csv --machine "$1" -e "$2" -- "$PROGRAMS/loads_stores" >out 2>err </dev/null
	awk -F, '$3 { print $3, ($1 ~ /^[0-9]+$/ ? "counted" : $1) }' csv
}

tlb='dTLB-load-misses,dTLB-store-misses,iTLB-loads,iTLB-load-misses,dtlb-load-misses,itlb-walks'
l2='l2-references,l2-misses,l2-loads'
none='<not supported>'

is "$(stat_of cachegrind "$tlb,$l2,btb-misses,dTLB-loads,cache-misses" | sed "s/^[^ ]* //" | uniq -c | tr -s ' \n' ' ')" \
	" 10 $none 2 counted " "cachegrind has no TLB, no L2, no BTB" || note "$(cat csv)"
is "$(stat_of skylake "$tlb,$l2,btb-misses" | grep -c counted)" 10 "skylake has all of them" || note "$(cat csv)"
printf '%s\n' 'base = skylake' 'name = mine' 'l2.size = 0' >no-l2
is "$(stat_of ./no-l2 "$tlb,$l2" | grep -c "$none")" 3 "a file without L2" || note "$(cat csv err)"
printf '%s\n' 'base = skylake' 'name = mine' 'dtlb.entries = 0' 'dtlb-2m.entries = 0' >no-tlb
is "$(stat_of ./no-tlb "$tlb,$l2" | grep -c "$none")" 3 "a file without a TLB of data" || note "$(cat csv err)"

# half of the memory is another node's, whatever loads or stores it
node='node-loads,node-load-misses,node-stores,node-store-misses'
is "$(stat_of skylake "$node" | grep -c "$none")" 2 "one node has no misses of it" || note "$(cat csv)"
printf '%s\n' 'base = skylake' 'name = mine' 'nodes = 2' 'remote.latency = 900' >nodes
is "$(stat_of ./nodes "$node" | grep -c counted)" 4 "two have" || note "$(cat csv err)"
timeout -k 5 60 "$ANYPERF" stat -x, -o csv --machine ./nodes -e "$node" -- "$PROGRAMS/model_walk" walk 16384 1 >out 2>err
is "$(awk -F, '{ v[$3] = $1 } END { r = v["node-load-misses"] / (v["node-loads"] + 1)
	print (r > 0.4 && r < 0.6 ? "half" : "not half: " r) }' csv)" half "half of the loads are from the other" || note "$(cat csv err)"

# a machine as a file is that machine
for name in skylake icelake sapphirerapids zen3 zen4 cachegrind host; do
	"$ANYPERF" list --machine "$name" >"$name.machine"
	"$ANYPERF" list --machine "./$name.machine" >again
	same again "$name.machine" "$name, printed and read"
done
is "$(grep -c ' = ' zen4.machine)" "$(wc -l <zen4.machine)" "which has lines of keys alone"
run "$ANYPERF" list --machine nosuch
is "$status" 129 "an unknown one"

run "$ANYPERF" stat -v --machine cachegrind -e l2-misses -- true
has "$tmp/err" 'l2-misses: <not supported>: the modelled machine has no such thing' "stat -v says why"
run "$ANYPERF" record -o data --machine cachegrind -e l2-misses -- true
has "$tmp/err" 'l2-misses.*the modelled machine has no such thing' "and so does record"
run "$ANYPERF" run --machine cachegrind -- "$ANYPERF" stat -v -e l2-misses,instructions -- true
has "$tmp/err" 'not supported.*l2-misses' "so it is for who opens it in a session"
has "$tmp/err" '[1-9].*instructions' "which counts others"
done_testing
