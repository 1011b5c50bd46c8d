#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Events of cgroups: `stat -G`, `stat --for-each-cgroup`, `record -G`, and stock perf's in a session.  gate_loop has
# 20,000 instructions; two cgroups below a third one have what it has, and nobody else does.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need python3 taskset
cd "$tmp" || exit 1

point=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
base=anyperf-test-$$
tap_cgroups()
{
	rmdir "$point/$base/x" "$point/$base/y" "$point/$base" 2>/dev/null
}
if [ -z "$point" ] || ! mkdir "$point/$base" "$point/$base/x" "$point/$base/y" 2>/dev/null; then
	tap_cgroups
	lack_all "no cgroup2 in which cgroups can be made"
fi
trap 'st=$?; tap_cgroups; (exit "$st"); tap_cleanup' EXIT

cp "$PROGRAMS/gate_loop" loop
# a child of each cgroup's shell runs it, too: it is made there, and nobody moves it
cat >work <<END
for cg in x y; do
	sh -c 'echo \$\$ >\$0/cgroup.procs; ./loop; exec ./loop' $point/$base/\$cg
done
END

# count EVENT CGROUP: of a CSV
count()
{
	awk -F, -v e="$1" -v c="$2" '$3 == e && $4 == c { print $1 }' csv
}
stat=("$ANYPERF" stat -a --deterministic "-x," -o csv)
run "${stat[@]}" -e instructions,branches,task-clock --for-each-cgroup "$base,$base/x,$base/y" sh work
is "$status $(wc -l <err)" "0 0" "--for-each-cgroup: status" || note "$(cat err)"
for e in instructions branches; do
	x=$(count $e "$base/x") y=$(count $e "$base/y")
	is "$((x > 15000))" 1 "$e are counted"
	is "$y" "$x" "$e: the same work, the same count"
	is "$(count $e "$base")" "$((x + y))" "$e: what is below is in it"
done
is "$(grep -c ",$base" csv)" 9 "a line for each event and cgroup"
once=$(count instructions "$base/x")
sed 's/; \.\/loop; /; .\/loop; .\/loop; /' work >'more'
is "$(cmp -s work more && echo same)" "" "the work is more"
run "${stat[@]}" -e instructions --for-each-cgroup "$base/x" sh ./more
twice=$(count instructions "$base/x")
is "$(((twice - once) / 20000))" 1 "and that is the loop, and its fork"

# --- -G, groups, one row per CPU, other formats
run "${stat[@]}" -e instructions,branches,loads -G "$base/x,,$base/y" sh work
is "$(count instructions "$base/x")" "$once" "-G: the first event's cgroup"
is "$(($(count branches "") > $(count loads "$base/y")))" 1 "-G: an empty name is everybody"
run "$ANYPERF" stat record -a --deterministic -x, -o r.data -e instructions,branches -G "$base/x,$base/y" sh work
is "$status $(awk -F, '{ for (i = 1; i <= NF; i++) if ($i ~ /^instr/) print $(i - 2) }' err)" "0 $once" "stat record -G: status and count" || note "$(cat err)"
awk -F, '{ for (i = 1; i <= NF; i++) if ($i ~ /^(instr|branch)/) print $(i - 2), $i }' err >live
run "$ANYPERF" stat report -x, -i r.data
awk -F, '{ for (i = 1; i <= NF; i++) if ($i ~ /^(instr|branch)/) print $(i - 2), $i }' err >reported
same reported live "stat report has the counts of cgroups, without their names, as perf's"
run "${stat[@]}" -e '{instructions,branches}' -G "$base/x" sh work
is "$(count instructions "$base/x")" "$once" "a group of a cgroup"
is "$((x > 0)) $(count branches "$base/x")" "1 $x" "and its member"
run "${stat[@]}" -A -e instructions -G "$base/x" sh work
is "$(awk -F, '$4 == "instructions" && $2 > 0 { s += $2 } END { print s }' csv)" "$once" "-A: the CPUs' sum"
run "$ANYPERF" stat -a -j -o json -e instructions -G "$base/x" sh work
is "$(python3 -c 'import json, sys
for line in open("json"):
    o = json.loads(line)
    if "event" in o: print(o["event"], o["cgroup"])')" "instructions $base/x" "-j has the cgroup"
run "$ANYPERF" stat -a -e instructions -G "$base/x" sh work
has err " $once +instructions +$base/x +# exact$" "the table, too"
run "$ANYPERF" stat -a -e instructions -G "$base/x" true
has err "<not counted> +instructions $base/x$" "where nobody ran nothing is counted"

# --- samples
run "$ANYPERF" record -q -a -e instructions:u -c 1000 -G "$base/y" -o data -- taskset -c 0 sh work
is "$status" 0 "record -G" || note "$(cat err)"
"$ANYPERF" script -F comm,ip,sym -i data >script
is "$(grep -c 'loop .*_start' script)" 40 "the loops' samples: 20,000 of each, by 1000"
is "$(grep -vc '^ *\(sh\|loop\) ' script)" 0 "who is moved there keeps his name"
"$ANYPERF" record -q -a -e instructions:u -c 1000 -o data -- taskset -c 0 sh work 2>/dev/null
is "$("$ANYPERF" script -F comm,ip,sym -i data | grep -c 'loop .*_start')" 80 "without a cgroup: all four"

# --- stock perf, in a session
if command -v perf >/dev/null; then
	run "$ANYPERF" run --deterministic -- perf stat -a -x, -o csv -e '{instructions:u,branches:u}' \
		--for-each-cgroup "$base/x,$base/y" sh work
	is "$status" 0 "perf stat --for-each-cgroup" || note "$(cat err)"
	for e in instructions:u branches:u; do
		is "$(($(count $e "$base/x") > 15000)) $(count $e "$base/y")" "1 $(count $e "$base/x")" "perf's $e"
	done
else
	skip "perf's cgroups" "no perf"
fi

# --- what is asked for wrongly
wrong()
{
	run "$ANYPERF" "$@" touch ran
	is "$status $([ -e ran ] && echo ran) $(grep -c . err)" "129  2" "129: $*"
}
wrong stat -G "$base/x"
has err 'need -a or -C' "says what is missing"
wrong record -G "$base/x"
wrong stat -a --for-each-cgroup "$base/z"
has err "no access to cgroup $point/$base/z: No such file" "says which"
wrong stat -a --for-each-cgroup "$base/x,"
wrong stat -a -e instructions -G "$base/x,$base/y"
has err 'more cgroups than events' "says so"
wrong stat -a -e '{instructions,branches}' -G "$base/x,$base/y"
wrong stat -a -G "$base/x" --for-each-cgroup "$base/y"
done_testing
