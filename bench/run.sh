#!/bin/bash
# SPDX-License-Identifier: MIT
#
# CPU time (user and system, of the whole tree) of real programs: natively, under anyperf and
# under other tools, side by side.  Writes bench/RESULTS.md.
#
#	bench/run.sh [-n runs] [-w program,...] [-c column,...] [-o file] [--no-valgrind] [--no-qemu]
#
# Columns beside those of the default: predictors (branch prediction modelled), models (cycles, caches and
# TLBs as well), predictors24, models24 (the same, of which the models see one part in 24, or another number), helpers, helpers24 (models with a
# helper for each thread, --model-thread), cachesim (cachegrind with caches), profile (exact profiles), callgrind.
#
# A program's runs alternate between the columns; medians are compared.  Columns of slow tools
# are run once.  Each output must have the bytes of the native one.

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"

runs=5
slow_runs=1
limit=120
columns=(native none instructions all valgrind cachegrind qemu)
results=$bench/RESULTS.md
command="bench/run.sh${*:+ $*}"
failed=0

# tool_of COLUMN: fills tool, which goes before the command
tool_of()
{
	local stat=("$ANYPERF" stat -o "$work/out/table" -e)
	case $1 in
	native) tool=() ;;
	none) tool=("${stat[@]}" syscalls --) ;;
	instructions) tool=("${stat[@]}" instructions --) ;;
	all) tool=("${stat[@]}" "$all_events" --) ;;
	predictors) tool=("${stat[@]}" "instructions,branch-misses" --) ;;
	models) tool=("${stat[@]}" "$modelled_events" --) ;;
	predictors[1-9]*) tool=("${stat[@]}" "instructions,branch-misses" --model-sample "${1#predictors}" --) ;;
	models[1-9]*) tool=("${stat[@]}" "$modelled_events" --model-sample "${1#models}" --) ;;
	helpers) tool=("${stat[@]}" "$modelled_events" --model-thread --) ;;
	helpers[1-9]*) tool=("${stat[@]}" "$modelled_events" --model-thread --model-sample "${1#helpers}" --) ;;
	cachesim) tool=(/usr/bin/valgrind -q --tool=cachegrind --cache-sim=yes
		--cachegrind-out-file=/dev/null) ;;
	profile) tool=("$ANYPERF" profile -q -o "$work/out/profile" --) ;;
	callgrind) tool=(/usr/bin/valgrind -q --tool=callgrind --callgrind-out-file=/dev/null) ;;
	valgrind) tool=(/usr/bin/valgrind -q --tool=none) ;;
	cachegrind) tool=(/usr/bin/valgrind -q --tool=cachegrind --cache-sim=no
		--cachegrind-out-file=/dev/null) ;;
	qemu) tool=(/usr/bin/qemu-x86_64 -cpu max) ;;
	*) die "no column '$1'; there are: ${columns[*]}" ;;
	esac
}

is_slow()
{
	case $1 in
	valgrind | cachegrind | callgrind | cachesim | qemu | predictors* | models* | helpers*) ;;
	*) false ;;
	esac
}

is_ours()
{
	case $1 in
	none | instructions | all | profile | predictors* | models* | helpers*) ;;
	*) false ;;
	esac
}

# one_run PROGRAM COLUMN: a line for table.awk; what the tool cannot run is not tried again
one_run()
{
	local program=$1 column=$2 sum state=ok
	tool_of "$column"
	measure "$limit" "$in" "${tool[@]}" "${cmd[@]}"
	sum=$(md5sum <"$work/out/stdout")
	if [ "$column" = native ]; then
		[ "$status" = 0 ] || die "$program fails natively: $(head -n 3 "$work/out/stderr")"
		: "${native_sum:=$sum}"
		[ "$sum" = "$native_sum" ] || die "$program gives another output at each run"
	elif [ "$status" = 137 ] && [ "${wall%.*}" -ge "$limit" ]; then
		state=">${limit}_s"
	elif [ "$status" != 0 ]; then
		state="failed:$status"
	elif [ "$sum" != "$native_sum" ]; then
		state=differs
	fi
	echo "$program $column $state $cpu $wall" >>"$raw"
	[ "$state" != ok ] || return 0
	given_up[$column]=1
	echo "bench: $program under $column: $state" >&2
	if is_ours "$column"; then
		failed=1
		head -n 5 "$work/out/stderr" >&2
	fi
}

all_runs()
{
	local program column n
	for program in "${programs[@]}"; do
		local native_sum="" cmd=() in=
		local -A given_up=()
		command_of "$program"
		echo "bench: $program" >&2
		for ((n = 1; n <= runs; n++)); do
			for column in "${columns[@]}"; do
				[ -z "${given_up[$column]:-}" ] || continue
				! is_slow "$column" || [ "$n" -le "$slow_runs" ] || continue
				one_run "$program" "$column"
			done
		done
	done
}

explain()
{
	cat <<-END
	CPU seconds (user and system, whole tree) natively, and how many times as much each tool
	takes: ratios of medians of $runs alternating runs; of what is slow $slow_runs.

	- none: \`anyperf stat -e syscalls\`: the program is translated, nothing is counted in its code
	- instructions: \`anyperf stat -e instructions\`
	- all: \`anyperf stat -e $all_events\`
	- valgrind: \`valgrind --tool=none\`; cachegrind: \`valgrind --tool=cachegrind --cache-sim=no\`
	  (it counts otherwise than the CPU: 600,006 for a loop that retires 400,006, see docs/ci.md)
	- qemu: \`qemu-x86_64 -cpu max\`, which counts nothing
	- predictors: \`anyperf stat -e instructions,branch-misses\`; models: \`-e $modelled_events\`;
	  predictors24, models24: with \`--model-sample 24\`, as tables that nobody named events for are made;
	  helpers, helpers24: models, models24 with \`--model-thread\`;
	  cachesim: \`valgrind --tool=cachegrind --cache-sim=yes\`

	Every output had the bytes of the native one; "failed" and "differs" name what a tool could
	not run, ">" what it did not end in.
	END
}

machine()
{
	local commit dirty=
	commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
	git -C "$root" diff --quiet HEAD -- src mk Makefile 2>/dev/null ||
		dirty=" with uncommitted changes"
	echo "- machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
		"$(nproc) CPUs, Linux $(uname -r)"
	echo "- commit: $commit$dirty"
	echo "- command: \`$command\`"
}

# Where models run in threads of their own CPU time says little.
wall_table()
{
	local modelled=(native) c
	for c in "${columns[@]}"; do
		[[ $c != models* && $c != helpers* ]] || modelled+=("$c")
	done
	[[ " ${modelled[*]}" = *" helpers"* ]] || return 0
	printf '\n## Wall time\n\nOf the same runs.\n\n'
	awk -v columns="${modelled[*]}" -v time=5 -f "$bench/table.awk" "$raw"
}

report()
{
	printf '# Speed\n\n'
	machine
	printf '\n## CPU time\n\n'
	explain
	echo
	awk -v columns="${columns[*]}" -f "$bench/table.awk" "$raw"
	wall_table
	printf '\n## Start-up\n\n'
	"$bench/startup.sh"
	printf '\n## Threads\n\n'
	"$bench/threads.sh" "$runs"
	printf '\n## Calls on perf descriptors\n\n'
	"$bench/perf_calls.sh" "$runs"
	printf "\n## perfctr's calls\n\n"
	"$bench/perfctr_calls.sh" "$runs"
	printf '\n## Sampling\n\n'
	"$bench/sampling.sh" "$runs"
}

# drop COLUMN...: from the columns
drop()
{
	local keep=() c
	for c in "${columns[@]}"; do
		[[ " $* " = *" $c "* ]] || keep+=("$c")
	done
	columns=("${keep[@]}")
}

while [ $# -gt 0 ]; do
	case $1 in
	-n) runs=$2 && shift ;;
	-w) IFS=, read -ra programs <<<"$2" && shift ;;
	-c) IFS=, read -ra columns <<<"$2" && shift ;;
	-o) results=$2 && shift ;;
	--no-valgrind) drop valgrind cachegrind ;;
	--no-qemu) drop qemu ;;
	*) die "usage: bench/run.sh [-n runs] [-w program,...] [-c column,...] [-o file]" \
		"[--no-valgrind] [--no-qemu]" ;;
	esac
	shift
done
drop native
columns=(native "${columns[@]}")
for c in "${columns[@]}"; do
	tool_of "$c"
	if is_slow "$c" && ! [ -x "${tool[0]}" ]; then
		echo "bench: no ${tool[0]}, column $c left out" >&2
		drop "$c"
	fi
done
prepare
raw=$work/out/raw
: >"$raw"
all_runs
report >"$work/out/report"
cp "$work/out/report" "$results"
cat "$results"
exit "$failed"
