#!/bin/bash
# SPDX-License-Identifier: MIT
# stat -M, --metric-only, --topdown: each metric is what its counts say by awk, and says what it is made of.
. "$(dirname "$0")/lib.sh"
need awk python3

cd "$tmp" || exit 1
work=("$PROGRAMS/model_walk" walk 16384 5)
stat=(timeout -k 5 60 "$ANYPERF" stat --deterministic --machine skylake)

# count EVENT, metric NAME: of the CSV lines in csv
count() { awk -F, -v e="$1" '$3 == e { print $1 }' csv; }
metric() { awk -F, -v m="$1" '$3 == "" && ($7 == m || $7 ~ " " m "$") { print $6 }' csv; }
kind() { awk -F, -v m="$1" '$3 == "" && ($7 == m || $7 ~ " " m "$") { print $8 }' csv; }
# by AWK-EXPRESSION
by() { awk "BEGIN { printf \"%.6g\", $1 }"; }

run "${stat[@]}" -x, -o csv -M ipc,branch_ratio,l1d_mpki,branch_miss_ratio,intensity,mem_bandwidth,loads_per_insn -- "${work[@]}"
is "$status" 0 "-M" || note "$(cat err)"
insns=$(count instructions) cycles=$(count cycles) branches=$(count branches)
is "$(metric ipc)" "$(by "$insns / $cycles")" "ipc"
is "$(metric branch_ratio)" "$(by "100 * $branches / $insns")" "a ratio in percent"
is "$(metric l1d_mpki)" "$(by "1000 * ($(count l1d-load-misses) + $(count l1d-store-misses)) / $insns")" "misses of 1000"
is "$(metric branch_miss_ratio)" "$(by "100 * $(count branch-misses) / $branches")" "mispredicted"
is "$(metric mem_bandwidth)" "$(by "$(count cache-misses) * 64 * 3400 / 1000 / $cycles")" "by the machine's line and clock" ||
	note "$(grep -n 'mhz' csv)"
is "$(metric intensity)" 0 "no floating point in a walk: a true 0"
is "$(kind branch_ratio)" exact "exact, of exact counts"
is "$(kind ipc)" modelled "modelled, of cycles"
is "$(awk -F, '$3 != ""' csv | sort -t, -k3,3 | cut -d, -f3 | uniq -d)" "" "each event is counted once"

run "${stat[@]}" -x, -o csv -M loads_per_insn -e loads -- "${work[@]}"
is "$(metric loads_per_insn)" "$(by "$(count loads) / $(count instructions)")" "beside -e"
is "$(count loads | wc -l)" 1 "whose events it shares"

# --- groups and files
printf 'mine | x | 2 * loads - 1 | My,Other | what I want\n' >mine
run "${stat[@]}" -x, -o csv --metric-file mine -M my -- "${work[@]}"
is "$(metric mine)" "$(by "2 * $(count loads) - 1")" "a metric of one's own, by its group"
run "${stat[@]}" --metric-file mine -M none -- true
is "$status" 129 "an unknown metric"
has err "anyperf list metrics" "says where they are"
printf 'bad | x | loads + nosuchevent | G | t\n' >mine
run "${stat[@]}" --metric-file mine -M bad -- true
is "$status" 129 "a formula with an unknown event"
has err 'nosuchevent' "names it"
run "$ANYPERF" list -x'|' metrics
is "$status" 0 "list metrics"
for name in $(cut -d'|' -f1 out); do
	"${stat[@]}" -x, -o csv -M "$name" -- true || not_ok "-M $name"
	[ "$(awk -F, '$3 ~ /not supported/ || $1 ~ /not supported/' csv)" ] && not_ok "$name: its events are counted"
done
ok "all of them can be asked for"

# --- the forms
run "${stat[@]}" -M ipc,branch_ratio -- "${work[@]}"
has err '^ {50,}# +[0-9.]+ ipc +# modelled' "a line in the table"
has err '^ {50,}# +[0-9.]+% branch_ratio +# exact' "and in percent"
run "${stat[@]}" -M ipc,branch_ratio --metric-only -- "${work[@]}"
is "$(awk 'NF == 2 && !/[:=]/ { print $1, $2 }' err | head -n 2)" "ipc branch_ratio
modelled exact" "--metric-only: names, and what they are"
is "$(grep -c instructions err)" 0 "no counts"
run "${stat[@]}" -x, -M ipc,branch_ratio --metric-only -- "${work[@]}"
is "$(head -n 2 err)" "ipc,% branch_ratio,
# modelled,exact," "-x"
is "$(sed -n 3p err)" "$(by "$insns / $cycles"),$(by "100 * $branches / $insns")," "its values"
run "${stat[@]}" -j -M ipc,branch_ratio --metric-only -- "${work[@]}"
is "$(python3 -c 'import json; o = json.load(open("err")); print(o["ipc"]["kind"], o["branch_ratio"]["kind"], "%.6g" % o["ipc"]["value"])')" \
	"modelled exact $(by "$insns / $cycles")" "-j"
run "${stat[@]}" -j -M ipc -- "${work[@]}"
python3 -m json.tool --json-lines err >/dev/null
is $? 0 "-j with counts: lines of JSON"
run "${stat[@]}" --metric-only -e instructions,cycles -- "${work[@]}"
has err 'insn per cycle' "without -M: what stands behind the counts"

# --- nothing counted is no number
run "${stat[@]}" -x, -o csv -M flops_per_cycle,intensity -e task-clock:k -- "$PROGRAMS/and_loop"
is "$(metric flops_per_cycle)" 0 "no floating point"
printf 'none | | 1 / fp-ops-none | G | t\nzero | | loads / ( loads - loads ) | G | t\n' >mine
run "${stat[@]}" -x, -o csv --metric-file mine -M zero -- "${work[@]}"
is "$(metric zero)$(kind zero)" "" "divided by nothing: nothing"
run "${stat[@]}" -j --metric-file mine -M zero --metric-only -- "${work[@]}"
has err 'null' "-j: null"

# --- top-down
run "${stat[@]}" -x, --topdown --td-level 2 -- "${work[@]}"
is "$(sed -n 1p err | tr -d ' ')" "%tma_bad_speculation,%tma_frontend_bound,%tma_retiring,%tma_backend_bound,%tma_branch_mispredicts,%tma_fetch_latency,%tma_memory_bound,%tma_core_bound," \
	"--topdown: two levels"
is "$(sed -n 3p err | awk -F, '{ printf "%.3f", $1 + $2 + $3 + $4 }')" 100.000 "the first is 100 %"
is "$(sed -n 3p err | awk -F, '{ printf "%.3f", $7 + $8 - $4 }')" 0.000 "the second is the first's"
is "$(sed -n 3p err | awk -F, '{ print ($7 > 50) }')" 1 "a walk through more than L2 waits for memory"
run "${stat[@]}" -x, --topdown -- "$PROGRAMS/model_walk" branch 0xffffffffffffffff 60 20000
is "$(sed -n 3p err | awk -F, '{ print ($1 > 20 && $1 > $2) }')" 1 "a coin's branches are bad speculation"
run "${stat[@]}" --topdown --td-level 3 -- true
is "$status" 129 "there is no third level"

done_testing
