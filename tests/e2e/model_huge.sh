#!/bin/bash
# SPDX-License-Identifier: MIT
# TLBs of memory in pages of 2 MB, and of what was there before or is there behind.
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
pages=4096 # 16 MB: more than both TLBs have, in small pages

# walks WHAT ROUNDS: $walks of loads, and $status
walks()
{
	run timeout -k 5 120 env -i "$ANYPERF" stat --deterministic --machine skylake -x, -o csv -e dTLB-load-misses \
		-- "$PROGRAMS/model_huge" "$1" "$pages" "$2"
	walks=$(awk -F, '$3 == "dTLB-load-misses" { print $1 }' csv)
}

# is_walked WHAT EACH NAME: so many walks in each round behind the first
is_walked()
{
	local once
	walks "$1" 1
	once=$walks
	if [ "$status" = 77 ]; then
		lack "$3" "no huge pages here"
		return
	fi
	walks "$1" 5
	is "$((walks - once))" $((4 * $2)) "$3"
}

walks small 1
is "$status" 0 "it runs"
is_walked small $pages "a small page takes a walk"
is_walked huge 0 "huge pages take none"
is_walked moved 0 "nor those that were moved"
is_walked over $pages "what replaces them does"
is_walked gone $pages "and what comes when they are gone"

"$PROGRAMS/huge_over_code" >want 2>&1
run "$ANYPERF" stat -o table -e instructions -- "$PROGRAMS/huge_over_code"
same want out "a huge page over code that ran: all of it is gone, whatever the length says"

done_testing
