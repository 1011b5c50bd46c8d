#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What short programs take under anyperf: `true`, anyperf itself, and ten programs of 50 to 300 ms.  Medians of alternating
# runs of one program, as ratios to the native one; page faults of the whole tree.
#
#	bench/short.sh [-n RUNS] [program...]
#
# cpu: user and system time of the tree; wall: from start to end, which a loaded machine spoils first.

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=5
if [ "${1:-}" = -n ]; then
	runs=$2
	shift 2
fi

demo=$root/tests/programs/demo.py
small=$work/in/small
# each program's command, for the shell
declare -A line=(
	[true]="/bin/true"
	[demo.py]="/usr/bin/python3 $demo"
	[python3]="/usr/bin/python3 -c 'print(sum(i * i for i in range(600000)))'"
	[perl]="/usr/bin/perl -e 'my \$s = 0; \$s += \$_ * \$_ for 1 .. 3000000; print \$s'"
	[git]="/usr/bin/git -C $small/repo status"
	[gcc]="/usr/bin/gcc -O2 -c -o $work/out/small.o $small/small.c"
	[node]="/usr/bin/node -e 'let s = 0; for (let i = 0; i < 3e6; i++) s += i % 7; console.log(s)'"
	[sqlite3]="/usr/bin/sqlite3 :memory: '.read $small/small.sql'"
	[jq]="/usr/bin/jq -c 'map(.n) | add' $small/small.json"
	[tar]="/usr/bin/tar -C $small -czf $work/out/small.tar.gz repo"
	[awk]="/usr/bin/awk '{ n[\$1]++ } END { for (k in n) s += n[k]; print s }' $small/words"
)
order=(true demo.py python3 perl git gcc node sqlite3 jq tar awk)
[ $# = 0 ] || order=("$@")
tools=(native exact table valgrind qemu)

make_inputs()
{
	local i repo=$small/repo
	[ "$small/.made" -nt "$0" ] && return
	rm -rf "$small"
	mkdir -p "$repo"
	git init -q "$repo"
	for ((i = 0; i < 12000; i++)); do
		mkdir -p "$repo/$((i % 60))"
		printf 'file %d\n%0200d\n' "$i" "$i" >"$repo/$((i % 60))/$i"
	done
	git -C "$repo" add .
	git -C "$repo" -c user.name=b -c user.email=b@example.org commit -q -m files
	for ((i = 0; i < 60; i++)); do
		printf '#include <stdio.h>\nint f%d(int n) { int s = %d; for (int i = 0; i < n; i++) s += i * s; return s; }\n' "$i" "$i"
	done >"$small/small.c"
	{
		echo 'create table t (a integer primary key, b text);'
		echo 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) insert into t select i, hex(i * 7919) from n;'
		echo 'select count(*), sum(length(b)) from t where b like "%3%"; select b, count(*) from t group by substr(b, 1, 3) order by 2 desc limit 5;'
	} >"$small/small.sql"
	awk 'BEGIN { printf "["; for (i = 0; i < 60000; i++) printf "%s{\"n\":%d,\"s\":\"word%d\"}", i ? "," : "", i, i % 97; print "]" }' >"$small/small.json"
	awk 'BEGIN { for (i = 0; i < 500000; i++) print "w" (i * 7919) % 9973, i }' >"$small/words"
	touch "$small/.made"
}

# has TOOL
has()
{
	case $1 in
	valgrind) [ -x /usr/bin/valgrind ] ;;
	qemu) [ -x /usr/bin/qemu-x86_64 ] ;;
	*) true ;;
	esac
}

# words TOOL: fills tool
words()
{
	case $1 in
	native) tool=() ;;
	exact) tool=("$ANYPERF" stat --exact -o "$work/out/counts" --) ;;
	table) tool=("$ANYPERF" stat -o "$work/out/counts" --) ;;
	valgrind) tool=(/usr/bin/valgrind --tool=none -q) ;;
	qemu) tool=(/usr/bin/qemu-x86_64 -cpu max) ;;
	perf) tool=(/usr/bin/perf stat -o "$work/out/counts" --) ;;
	esac
}

# one TOOL PROGRAM: a run, whose figures join those of before
one()
{
	local k
	words "$1"
	eval "cmd=(${line[$2]})"
	measure 300 /dev/null "${tool[@]}" "${cmd[@]}"
	[ "$status" = 0 ] || {
		failed[$1]=1
		return 0
	}
	for k in cpu wall faults; do
		echo "${!k}" >>"$work/out/short.$1.$k"
	done
}

# figure TOOL WHAT
figure()
{
	median <"$work/out/short.$1.$2"
}

# ratio TOOL WHAT
ratio()
{
	if [ -n "${failed[$1]:-}" ] || ! [ -s "$work/out/short.$1.$2" ]; then
		echo -
	else
		awk -v t="$(figure "$1" "$2")" -v n="$(figure native "$2")" 'BEGIN { printf "%.1f", t / n }'
	fi
}

# runs_of PROGRAM TOOL...
runs_of()
{
	local n t program=$1
	shift
	rm -f "$work"/out/short.*
	declare -gA failed=()
	for ((n = 0; n < runs; n++)); do
		for t in "$@"; do
			one "$t" "$program"
		done
	done
}

row()
{
	local t present=()
	for t in "${tools[@]}"; do
		has "$t" && present+=("$t")
	done
	runs_of "$1" "${present[@]}"
	awk -v s="$(figure native cpu)" -v p="$1" 'BEGIN { printf "| %s | %.1f |", p, s * 1e3 }'
	for t in "${present[@]:1}"; do
		printf ' %s |' "$(ratio "$t" cpu)"
	done
	printf ' %s | %s | %s | %s | %s |\n' "$(ratio exact wall)" "$(ratio table wall)" \
		"$(figure native faults)" "$(figure exact faults)" "$(figure table faults)"
}

# What `true` takes beside perf's own: wall time.
beside_perf()
{
	[ -x /usr/bin/perf ] || return 0
	runs_of true perf exact table
	awk -v p="$(figure perf wall)" -v e="$(figure exact wall)" -v t="$(figure table wall)" 'BEGIN {
		printf "- wall time of `true` over that of `perf stat -- true` (%.1f ms): exact %.2f, table %.2f\n", p * 1e3, e / p, t / p }'
}

itself()
{
	local n
	rm -f "$work"/out/short.*
	for ((n = 0; n < runs; n++)); do
		measure 60 /dev/null "$ANYPERF" --version
		echo "$cpu" >>"$work/out/short.itself"
		measure 60 /dev/null /bin/true
		echo "$cpu" >>"$work/out/short.true"
	done
	awk -v a="$(median <"$work/out/short.itself")" -v t="$(median <"$work/out/short.true")" 'BEGIN {
		printf "- CPU time of `anyperf --version` over that of `true`: %.2f\n", a / t }'
}

prepare
make_inputs
echo "- commit: $(git -C "$root" rev-parse --short=12 HEAD); medians of $runs; load $(cut -d ' ' -f 1 /proc/loadavg) on $(nproc) CPUs ($(sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo))"
itself
beside_perf
echo
head='| program | native ms |' rule='|---|---:|'
for t in "${tools[@]:1}"; do
	has "$t" && head+=" $t |" && rule+='---:|'
done
echo "$head exact wall | table wall | faults | exact | table |"
echo "$rule---:|---:|---:|---:|---:|"
for program in "${order[@]}"; do
	row "$program"
done
