#!/bin/bash
# SPDX-License-Identifier: MIT
#
# stress-ng --verify: its stressors of the classes cpu, memory, vm, interrupt (signals, timers, faults) and scheduler check their own results, and find
# none wrong counted that they find right natively.  One operation or a second each.  By hand, some classes:
# stress_ng.long.sh CLASS...

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v stress-ng >/dev/null || skip_all "no stress-ng"

# verdicts FILE: of each stressor that failed, or could not run here, what it is called
verdicts()
{
	sed -nE 's/^stress-ng: (fail|error): *\[[0-9]+\] *([a-z0-9-]+):.*/\1 \2/p; s/^stress-ng: [a-z]+: *\[[0-9]+\] *(skipped|failed|passed): [0-9]+: *(.*)/\1 \2/p' "$1" |
		sed -E 's/ \([0-9]+\)//g' | sort -u
}

# one NAME: natively and counted
one()
{
	local name=$1 kind
	mkdir -p "$tmp/w"
	for kind in native counted; do
		counted=()
		[ $kind = native ] || counted=("$ANYPERF" stat -e instructions:u -o "$tmp/table" --)
		(cd "$tmp/w" && timeout -k 5 120 ${counted[@]+"${counted[@]}"} stress-ng "--$name" 1 "--$name-ops" 3 --timeout 1 --verify \
			--temp-path "$tmp/w" --oomable --no-rand-seed) >"$tmp/$kind" 2>&1 </dev/null
		echo $? >"$tmp/$kind.status"
	done
	if [ "$(cat "$tmp/native.status")" != 0 ]; then
		lack "$name" "natively status $(cat "$tmp/native.status")"
	elif [ "$(cat "$tmp/counted.status")" != 0 ]; then
		not_ok "$name" "status $(cat "$tmp/counted.status")" "$(grep -vE 'info:' "$tmp/counted" | head -n 10)"
	elif [ "$(verdicts "$tmp/native")" != "$(verdicts "$tmp/counted")" ]; then
		not_ok "$name" "$(diff <(verdicts "$tmp/native") <(verdicts "$tmp/counted"))"
	else
		ok "$name"
	fi
}

[ $# -gt 0 ] || set -- interrupt cpu memory vm scheduler
for class in "$@"; do
	stress-ng --class "$class?" 2>&1 | sed 's/^class.*stressors: *//' | tr -s ' ' '\n'
done | sed '/^$/d' | sort -u >"$tmp/names"
while read -r name; do
	one "$name"
done <"$tmp/names"
done_testing
