#!/bin/bash
# SPDX-License-Identifier: MIT
# Who answers loads, instruction by instruction: the parts are all of the loads, as those that retire are exact.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

parts=(load-l1-hits load-l2-hits load-llc-hits load-memory)

# count MACHINE PROGRAM...: the events by name in $of
declare -A of
count()
{
	local machine=$1 events value name
	shift
	of=()
	events=$(printf '%s,' loads l1d-load-misses "${parts[@]}")
	run timeout -k 5 120 "$ANYPERF" stat -x, -o csv --model-sample 1 --machine "$machine" -e "${events%,}" -- "$@"
	while IFS=, read -r value _ name _; do
		[ -z "$name" ] || of[$name]=$value
	done <csv
}

for machine in skylake sapphirerapids zen4; do
	for program in "$PROGRAMS/loads_stores" "$PROGRAMS/string_loads" "$PROGRAMS/model_walk walk 16384 2"; do
		# shellcheck disable=SC2086 # words
		count $machine $program
		is "$((of[load-l1-hits] + of[load-l2-hits] + of[load-llc-hits] + of[load-memory]))" "${of[loads]}" \
			"$machine, ${program##*/}: each load has one answer" || note "$(cat csv err)"
	done
	count $machine "$PROGRAMS/string_loads"
	is "${of[load-l1-hits]} ${of[loads]} $((of[l1d-load-misses] > 256))" "0 256 1" \
		"$machine: string instructions are one load each, that missed where their first line did" || note "$(cat csv err)"
done

count cachegrind "$PROGRAMS/string_loads"
is "${of[load-l2-hits]}" "<not supported>" "no hits of an L2 that is not there" || note "$(cat csv err)"

run timeout -k 5 60 "$ANYPERF" record -o data -e load-l1-hits -c 1000 -- "$PROGRAMS/loads_stores"
is "$((status != 0))" 1 "a difference has no samples"
has err 'load-l1-hits' "and says which event it is"
done_testing
