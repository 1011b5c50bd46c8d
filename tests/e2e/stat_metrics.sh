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
is "$(metric mem_bandwidth)" "$(by "$(count memory-lines) * 64 * 3400 / 1000 / $cycles")" "by the machine's line and clock" ||
	note "$(grep -n 'mhz' csv)"
is "$(metric intensity)" 0 "no floating point in a walk: a true 0"
is "$(kind branch_ratio)" exact "exact, of exact counts"
is "$(kind ipc)" modelled "modelled, of cycles"
is "$(awk -F, '$3 != ""' csv | sort -t, -k3,3 | cut -d, -f3 | uniq -d)" "" "each event is counted once"

# a stream: of each element 8 bytes of three arrays come, and 8 go back, for two operations
run "${stat[@]}" -x, -o csv -M mem_bytes,intensity,bytes_per_insn -e llc-writebacks,llc-prefetch-misses -- "$PROGRAMS/model_walk" triad 196608 4
want=$((196608 / 3 * 64 * 4 * 4))
is "$(awk -v got="$(metric mem_bytes)" -v want=$want 'BEGIN { print (got > 0.9 * want && got < 1.1 * want) }')" 1 \
	"bytes of memory: what misses, what is prefetched, what is written back" || note "$(metric mem_bytes) for $want"
is "$(awk -v got="$(metric intensity)" 'BEGIN { print (got > 0.9 / 16 && got < 1.1 / 16) }')" 1 "operations per byte" ||
	note "$(metric intensity)"
is "$(metric bytes_per_insn)" "$(by "64 * $(count memory-lines) / $(count instructions)")" "and bytes per instruction"
is "$(awk -v n="$(count llc-writebacks)" -v all=$((want / 64)) 'BEGIN { print (n > 0.2 * all && n < 0.26 * all) }')" 1 "a quarter goes back" ||
	note "$(count llc-writebacks) of $((want / 64))"

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
run "$ANYPERF" list -j metrics branches
is "$status $(python3 -c 'import json
o = json.load(open("out"))
m = {x["MetricName"]: x["MetricExpr"] for x in o if "MetricName" in x}
e = {x["EventName"]: (x["EventType"], x["Kind"], x["Encoding"]) for x in o if "EventName" in x}
print(m["ipc"], m["insn_per_cycle"], e["branches"])')" "0 instructions / cycles ipc ('Hardware event', 'exact', 'type=0 config=0x4')" \
	"list -j: metrics and events"
run "$ANYPERF" stat -M insn_per_cycle,ipc -x, -- "$PROGRAMS/and_loop"
is "$(grep -cE ',(insn_per_cycle|ipc),' err) $(grep -E ',(insn_per_cycle|ipc),' err | sed -E 's/(insn_per_cycle|ipc)//' | sort -u | wc -l)" "2 1" "perf's new names are the same metrics" || note "$(cat err)"
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

# a count that is made of another one's kinds is not that one: whichever stands first
for events in locked-instructions,L1-dcache-load-misses,L1-dcache-loads L1-dcache-loads,L1-dcache-load-misses,locked-instructions; do
	run timeout -k 5 60 "$ANYPERF" stat record --deterministic --machine skylake -x, -e $events -- "${work[@]}"
	is "$(awk -F, '$3 == "L1-dcache-load-misses" { print $6 }' err)" \
		"$(awk -F, '{ n[$3] = $1 } END { printf "%.3f", 100 * n["L1-dcache-load-misses"] / n["L1-dcache-loads"] }' err)" \
		"misses are of all loads: $events" || note "$(cat err)"
	mv err live
	run "$ANYPERF" stat report -x,
	same err live "and are when they are reported"
done
run "${stat[@]}" -x, -e L1-dcache-load-misses,locked-instructions -- "${work[@]}"
has_not err 'of all L1-dcache' "of locked ones there is no share"

# --- nothing counted is no number
run "${stat[@]}" -x, -o csv -M flops_per_cycle,intensity -e task-clock:k -- "$PROGRAMS/and_loop"
is "$(metric flops_per_cycle)" 0 "no floating point"
printf 'none | | 1 / fp-ops-none | G | t\nzero | | loads / ( loads - loads ) | G | t\n' >mine
run "${stat[@]}" -x, -o csv --metric-file mine -M zero -- "${work[@]}"
is "$(metric zero)$(kind zero)" "" "divided by nothing: nothing"
run "${stat[@]}" -j --metric-file mine -M zero --metric-only -- "${work[@]}"
has err 'null' "-j: null"

# --- columns: one heading for all places and intervals, whatever they have counted
# json FILE: lines of objects, none of them with a key twice
json()
{
	python3 - "$1" <<-'END'
		import json, sys
		def once(pairs):
		    keys = [k for k, v in pairs]
		    assert len(keys) == len(set(keys)), keys
		    return dict(pairs)
		for line in open(sys.argv[1]):
		    o = json.loads(line, object_pairs_hook=once)
		    print(*sorted(k for k in o if isinstance(o[k], dict)), sep=",")
	END
}
# a part that sleeps, one that counts much, and one that counts little
uneven='sleep 0.15; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.15'
events=task-clock,instructions,page-faults,branch-misses,branches
run timeout -k 5 60 "$ANYPERF" stat -I 50 -x, --metric-only -e $events -- sh -c "$uneven"
is "$(sed -n 1p err)" ",CPUs utilized,% of all branches," "the heading does not depend on the first interval"
is "$(sed '1,2d; /^#/d' err | awk -F, 'NF != 4' | wc -l)" 0 "as many fields in each line"
is "$(grep -c CPUs err)" 1 "once"
run timeout -k 5 60 "$ANYPERF" stat -I 50 -j --metric-only -e $events,instructions,branches,branch-misses -- sh -c "$uneven"
json err >keys
is $? 0 "-j: each line is JSON, each key is there once" || note "$(cat err)"
is "$(grep -v '^$' keys | sort -u | wc -l)" 1 "the same keys in all"
has keys ' \(2\)' "of two alike"
run timeout -k 5 60 "$ANYPERF" stat -a -A -x, --metric-only -e task-clock,instructions,page-faults -- sh -c "$uneven"
is "$(sed -n 1p err)" ",CPUs utilized," "by CPU"
run timeout -k 5 60 "$ANYPERF" stat -a -A -j --metric-only -e task-clock,instructions,page-faults -- taskset -c 0 true
json err >keys
is "$? $(grep -v '^$' keys | sort -u)" "0 CPUs utilized" "-j of CPUs on which nothing ran" || note "$(cat err)"
run timeout -k 5 60 "$ANYPERF" stat -x, -e task-clock,page-faults -- "$PROGRAMS/and_loop"
is "$(awk -F, '$3 == "page-faults" { print ($7 ~ "^[KMG]?/sec$") }' err)" 1 "behind a row a rate is scaled on its own"
run timeout -k 5 60 "$ANYPERF" stat -x, -e task-clock,page-faults,branches,instructions -- "$PROGRAMS/and_loop"
has_not err '/sec' "where the engine runs there is none: seconds, faults and switches have its work in them"

printf 'q"x\\ | u"v | loads | G | t\ninterval | | stores | G | t\n' >mine
for form in "-I 50" "--metric-only" "-I 50 --metric-only"; do
	# shellcheck disable=SC2086 # options
	run "${stat[@]}" -j $form --metric-file mine -M G -- "${work[@]}"
	json err >keys
	is $? 0 "-j $form: names are escaped and no place's" || note "$(cat err)"
done

run "${stat[@]}" -j -I 20 -M ipc -- sh -c "$uneven"
is "$(python3 -c 'import json; print(sum(o.get("metric-unit") in ("ipc", "insn per cycle (modelled)", "insn per cycle (estimated)") and o["metric-value"] == 0 for o in map(json.loads, open("err"))))')" 0 \
	"a model that is read an interval later makes no ratio of 0" || note "$(cat err)"
# each line by what was counted exactly, whatever the time was
run "${stat[@]}" -j -I 20 --model-sample 1 -e instructions,cycles,branches,branch-misses -- sh -c "$uneven"
is "$(python3 -c '
import json
at = {}
for o in map(json.loads, open("err")):
    at.setdefault(o["interval"], {})[o["event"]] = o
for rows in at.values():
    count = {e: float(o["counter-value"].replace("<not counted>", "0")) for e, o in rows.items()}
    is_short = max(count["instructions"], 4 * count["branches"]) < 1 << 20
    for e in "instructions", "branch-misses":
        unit = rows[e].get("metric-unit", "")
        if is_short and unit.lstrip("% ") in ("insn per cycle (modelled)", "insn per cycle (estimated)", "of all branches"):
            print(count, rows[e])
')" "" "a short interval makes no ratio of an exact and a modelled count" || note "$(cat err)"

# --- nothing to show
for what in "-M ipc" --topdown --metric-only; do
	# shellcheck disable=SC2086 # options
	run "${stat[@]}" -n $what -- true
	is "$status" 129 "-n $what"
	has err '-n counts nothing' "says why"
done
for form in "" "-x," -j "-I 50" "-a -A"; do
	# shellcheck disable=SC2086 # options
	run "${stat[@]}" $form --metric-only -e instructions -- true
	is "$status $(grep -c 'no metric is made of these events' err)" "0 1" "no metric $form"
done
run "${stat[@]}" -x, --metric-only -e instructions -- true
is "$(wc -l <err)" 1 "in one line"
printf 'a | | 1 + b | G | t\nb | | 2 * c | G | t\nc | | max(b, 1) | G | t\n' >mine
run "${stat[@]}" --metric-file mine -M a -- true
is "$status" 129 "metrics that need each other"
has err 'b -> c -> b' "names them"

# --- top-down
run "${stat[@]}" -x, --topdown --td-level 2 -- "${work[@]}"
is "$(sed -n 1p err | tr -d ' ')" "%tma_bad_speculation,%tma_frontend_bound,%tma_retiring,%tma_backend_bound,%tma_branch_mispredicts,%tma_fetch_latency,%tma_memory_bound,%tma_core_bound," \
	"--topdown: two levels"
is "$(sed -n 3p err | awk -F, '{ printf "%.3f", $1 + $2 + $3 + $4 }')" 100.000 "the first is 100 %"
is "$(sed -n 3p err | awk -F, '{ printf "%.3f", $7 + $8 - $4 }')" 0.000 "the second is the first's"
is "$(sed -n 3p err | awk -F, '{ print ($7 > 50) }')" 1 "a walk through more than L2 waits for memory"
for machine in skylake icelake sapphirerapids zen3 zen4 cachegrind host; do
	run "${stat[@]}" --machine $machine -x, --topdown --td-level 2 -- "$PROGRAMS/model_walk" branch 0xffffffffffffffff 60 5000
	is "$(sed -n 3p err | awk -F, '{ printf "%.2f %.2f %d", $1 + $2 + $3 + $4, $3 + $5 + $6 + $7 + $8,
			$1 < 0 || $2 < 0 || $3 <= 0 || $4 < 0 || $7 < 0 || $8 < 0 }')" "100.00 100.00 0" \
		"--topdown: $machine: level 1 is 100 %, level 2 with what retires too" || note "$(cat err)"
done
run "${stat[@]}" -x, --topdown -- "$PROGRAMS/model_walk" branch 0xffffffffffffffff 60 20000
is "$(sed -n 3p err | awk -F, '{ print ($1 > 20 && $1 > $2) }')" 1 "a coin's branches are bad speculation"
run "${stat[@]}" --topdown --td-level 3 -- true
is "$status" 129 "there is no third level"

done_testing
