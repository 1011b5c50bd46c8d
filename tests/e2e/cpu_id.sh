#!/bin/bash
# SPDX-License-Identifier: MIT
# --cpu-id: who the CPU is, to CPUID, /proc/cpuinfo, sysfs and raw codes; what it can do stays the host's.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
branches=$PROGRAMS/branches
"$ORACLE" -o oracle -- "$branches" >/dev/null
of() { awk -v e="$1" '$1 == e { print $2 }' oracle; }
# stat_raw NAME WANT OPTION...: the counts of r5101c4 and r5100c4, BR_INST_RETIRED.CONDITIONAL and ALL_BRANCHES of Skylake
stat_raw()
{
	local name=$1 want=$2
	shift 2
	run timeout -k 5 60 "$ANYPERF" "$@"
	is "$(awk -F, '/c4/ { print $1 }' csv | xargs)" "$want" "$name" || note "$(cat err csv)"
	rm -f csv
}
who='^(vendor_id|cpu family|model|model name|stepping)[[:space:]]*:'

# id CPU VENDOR FAMILY MODEL STEPPING SIGNATURE PMU
id()
{
	local leaf
	run timeout -k 5 60 "$ANYPERF" run --cpu-id "$1" -- cat /proc/cpuinfo
	is "$(grep -E "$who" out | sed 's/.*: //' | head -n 5 | sed 4d | xargs)" "$2 $3 $4 $5" "$1: /proc/cpuinfo"
	is "$(grep -cE '^vendor_id.*: '"$2" out)" "$(grep -c ^processor /proc/cpuinfo)" "$1: of each CPU"
	grep -vE "$who|MHz" out >rest
	grep -vE "$who|MHz" /proc/cpuinfo >kernel
	same rest kernel "$1: the rest of it is the kernel's"
	run timeout -k 5 60 "$ANYPERF" run --cpu-id "$1" -- "$PROGRAMS/perf_rdpmc" cpuid
	is "$(sed -n 's/^1: \([^ ]*\).*/\1/p' out)" "$6" "$1: CPUID's signature"
	for leaf in 1 7 d; do
		is "$(sed -n "s/^$leaf: [^ ]* //p" out)" "$(sed -n "s/^$leaf: [^ ]* //p" natively)" "$1: CPUID's features, leaf $leaf"
	done
	run timeout -k 5 60 "$ANYPERF" run --cpu-id "$1" -- sh -c 'cat /sys/bus/event_source/devices/cpu/caps/pmu_name
		getconf LEVEL1_DCACHE_SIZE; getconf LEVEL2_CACHE_SIZE; exec perf --version'
	is "$(head -n 3 out | xargs) $status" "$7 $(getconf LEVEL1_DCACHE_SIZE) $(getconf LEVEL2_CACHE_SIZE) 0" \
		"$1: sysfs has its PMU; caches as they are, to glibc" || note "$(cat out err)"
}
"$PROGRAMS/perf_rdpmc" cpuid >natively
id zen3 AuthenticAMD 25 1 1 a00f11 zen
id skylake GenuineIntel 6 94 3 506e3 skylake
id sapphirerapids GenuineIntel 6 143 8 806f8 icelake
id HygonGenuine-24-1-2 HygonGenuine 24 1 2 900f12 zen
run timeout -k 5 60 "$ANYPERF" run -- cat /proc/cpuinfo
grep -v MHz out >rest
grep -v MHz /proc/cpuinfo >kernel
same rest kernel "without it, the host's"

# --- raw codes
both=-er5101c4,r5100c4
want="$(of cond-branches) $(of branches)"
stat_raw "stat: codes are of that CPU" "$want" stat -x, -o csv --cpu-id skylake $both -- "$branches"
stat_raw "wherever the option stands" "$want" stat $both -x, -o csv --cpu-id=skylake -- "$branches"
stat_raw "of the machine that is named" "$want" stat $both -x, -o csv --machine skylake -- "$branches"
stat_raw "--cpu-id before it" "$want" stat $both -x, -o csv --cpu-id skylake --machine zen3 -- "$branches"
stat_raw "another CPU's codes mean what that CPU means" "<not supported> $(of taken-branches)" \
	stat $both -x, -o csv --cpu-id zen3 --machine skylake -- "$branches"
stat_raw "in a session" "$want" run --cpu-id skylake -- perf stat -x, -o csv $both -- "$branches"
stat_raw "--machine: its programs see that CPU" "$want" run --machine skylake -- perf stat -x, -o csv $both -- "$branches"
stat_raw "an anyperf inside: names and numbers" "$want" run --cpu-id skylake -- \
	"$ANYPERF" stat -x, -o csv -e r5101c4,cpu/config=0x5100c4,name=c4/ -- "$branches"
stat_raw "also of a session that serves nobody" "$want" stat -x, -o none --cpu-id skylake -- \
	"$ANYPERF" stat -x, -o csv $both -- "$branches"
run timeout -k 5 60 "$ANYPERF" stat -x, -o none --cpu-id skylake -- "$ANYPERF" stat --cpu-id zen3 -e rc0,rc2 true
has err '^anyperf: the session around us has the raw events of another CPU: give --cpu-id' "not another one than the session's"
run timeout -k 5 60 "$ANYPERF" record -q -e r5101c4 -c 1000 -o data --cpu-id skylake -- "$branches"
is "$status" 0 "record" || note "$(cat err)"
run "$ANYPERF" list --cpu-id skylake
has out 'BR_INST_RETIRED\.CONDITIONAL' "list names its events"
run "$ANYPERF" list --cpu-id zen3
has out 'RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS' "and another's"
run "$ANYPERF" run --cpu-id nosuch -- true
is "$status" 129 "no such CPU: status 129"
has err "^anyperf run: --cpu-id: is none of zen .* sapphirerapids, nor VENDOR-FAMILY-MODEL as in GenuineIntel-6-55" "and which there are"
for wrong in GenuineIntel GenuineIntel-6 Genuine-6-55 GenuineIntel-6-55-4-1 GenuineIntel-6-155 GenuineIntel-6-55- GenuineIntel-6-55,4 GenuineIntel-6-55-y AuthenticAMD-271-1; do
	run "$ANYPERF" stat --cpu-id $wrong -- true
	is "$status" 129 "$wrong is none"
done

# --- libpfm4 and PAPI
if [ -e /usr/lib/x86_64-linux-gnu/libpfm.so.4 ]; then
	run timeout -k 5 60 "$ANYPERF" run --cpu-id AuthenticAMD-255-1 -- "$ANYPERF" run -v -- true
	has err '^anyperf: the installed libpfm4 does not know this CPU .AuthenticAMD-255-1.: .*; --cpu-id zen[0-9] ' "-v: a CPU that libpfm4 does not know, and what to do"
	run timeout -k 5 60 "$ANYPERF" run --cpu-id AuthenticAMD-255-1 -- "$ANYPERF" run -- true
	has_not err 'libpfm4' "nothing without -v"
	run timeout -k 5 60 "$ANYPERF" run --cpu-id zen3 -- "$ANYPERF" run -v -- true
	has_not err 'libpfm4' "nor of one that it knows"
	run timeout -k 5 60 "$ANYPERF" run -v --cpu-id zen3 -- true
	has_not err 'libpfm4' "nor where the option is given"
else
	lack "-v: a CPU that libpfm4 does not know" "no libpfm4"
fi
for cpu in zen zen2 zen3 haswell broadwell skylake skylakex cascadelake icelakex; do
	run timeout -k 5 60 "$ANYPERF" run --cpu-id $cpu -- papi_avail -a
	has out '^PAPI_TOT_INS +0x[0-9a-f]+ +No' "$cpu: PAPI has its presets"
done
# a program that asks for CPUID to fault, and is refused
for id in "skylake GenuineIntel" "zen4 AuthenticAMD"; do
	run timeout -k 5 60 "$ANYPERF" run --cpu-id "${id% *}" -- "$PROGRAMS/cpuid_refused"
	if [ "$status" = 2 ]; then
		lack "${id% *}: CPUID that cannot fault stays the session's" "this CPU's can"
	else
		is "$(xargs <out) $status" "before: ${id#* } after: ${id#* } 0" "${id% *}: CPUID that cannot fault stays the session's"
	fi
done
done_testing
