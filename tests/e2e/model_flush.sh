#!/bin/bash
# SPDX-License-Identifier: MIT
# What clflush, clflushopt and clwb do to the modelled caches: misses and lines written back that follow from the program.
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
machine=skylake # and how the models are read: options
also=           # events that want more of the models

# count WHAT TIMES: $misses and $written of it, and $status
count()
{
	# shellcheck disable=SC2086 # options without blanks in them
	run timeout -k 5 120 env -i "$ANYPERF" stat --deterministic --machine $machine -x, -o csv \
		-e "L1-dcache-load-misses,LLC-load-misses,llc-writebacks,loads,stores$also" -- "$PROGRAMS/model_flush" "$1" "$2"
	read -r misses beyond written loads stores _ < <(awk -F, '$3 { printf "%s ", $1 } END { print "" }' csv)
}

# each WHAT MISSES WRITTEN LOADS STORES NAME: so many of 1000 more times; numbers of one length, as arguments lie on the stack
each()
{
	local was
	count "$1" 1000
	if [ "$status" = 77 ]; then
		lack "$6" "no such instruction here"
		return
	fi
	was="$misses $beyond $written $loads $stores"
	count "$1" 2000
	# shellcheck disable=SC2086
	set -- "$@" $was
	is "$((misses - $7)) $((beyond - $8)) $((written - $9)) $((loads - ${10})) $((stores - ${11}))" \
		"$2 $2 $3 $4 $5" "$6"
}

all()
{
	each load 0 0 1000 0 "$machine$also: a line that is loaded stays"
	each flush 1000 0 1000 0 "$machine$also: clflush: each load is a miss of all levels"
	each opt 1000 0 1000 0 "$machine$also: clflushopt likewise"
	each written 1000 1000 1000 1000 "$machine$also: what was modified is written back"
	each clean 0 0 1000 0 "$machine$also: clwb of a line that is not modified: nothing"
	each kept 0 1000 1000 1000 "$machine$also: of one that is: written back, and it stays"
}

for machine in skylake zen4 "skylake --model-thread"; do
	all
done
machine=skylake
also=,cycles
all

done_testing
