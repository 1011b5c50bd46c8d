#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What calls on perf descriptors cost under `anyperf run`, beside the kernel's own of software events
# (a kernel without a PMU has no others), natively, in the same run.  The fastest of some runs each.
# Then what the first event of a kind costs that nobody counted before.
#
#	bench/perf_calls.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-3}
software=(1 1) # task-clock
counted=(0 1)  # instructions

mkdir -p "$work/bin" "$work/out"
# shellcheck disable=SC2034 # build uses it
libs=()
build "$work/bin/perf_calls" "$bench/perf_calls.c" gcc -O2 -Wall
build "$work/bin/perf_kinds" "$bench/perf_kinds.c" gcc -O2 -Wall
: >"$work/out/native"
: >"$work/out/served"
: >"$work/out/kinds"
for ((n = 0; n < runs; n++)); do
	"$work/bin/perf_calls" "${software[@]}" >>"$work/out/native" ||
		die "the kernel does not let us open software events"
	"$ANYPERF" run -- "$work/bin/perf_calls" "${counted[@]}" >>"$work/out/served" ||
		die "anyperf run fails"
	"$ANYPERF" run -- "$work/bin/perf_kinds" >>"$work/out/kinds" || die "anyperf run fails"
done
awk -v runs="$runs" '
	!($1 in seen) { seen[$1] = 1; order[++n] = $1 }
	FNR == NR { if (!($1 in native) || $2 < native[$1]) native[$1] = $2; next }
	!($1 in served) || $2 < served[$1] { served[$1] = $2 }
	END {
		printf "| call | kernel, cycles | anyperf, cycles | ratio |\n|---|--:|--:|--:|\n"
		for (i = 1; i <= n; i++)
			printf "| %s | %.0f | %.0f | %.2f |\n", order[i], native[order[i]],
				served[order[i]], served[order[i]] / native[order[i]]
	}' "$work/out/native" "$work/out/served"

printf '\nThe first event of a kind, with the code that runs next translated again where it has to be (at most 5 ms):\n\n'
awk '
	!($1 in least) { order[++n] = $1 }
	!($1 in least) || $2 < least[$1] { least[$1] = $2 }
	END {
		printf "| kind | ms |\n|---|--:|\n"
		for (i = 1; i <= n; i++)
			printf "| %s | %.2f |\n", order[i], least[order[i]] / 1000
	}' "$work/out/kinds"
