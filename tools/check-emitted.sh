#!/bin/bash
# SPDX-License-Identifier: MIT
# Are the blocks that this build of the engine writes the same as those of another revision?  For changes that move code
# and are to change nothing.
#
#	tools/check-emitted.sh BUILD BASE	BASE: a revision, whose build is kept in BUILD/emitted/base
#	tools/check-emitted.sh --dump TEST PROGRAMS TO	what the program for tests TEST writes, into a new folder TO
#
# Both builds run the same programs, on this machine, so the CPU does not matter.  Where the blocks are to differ, take the
# commit that says so as the base from then on.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."

# of one task each, for tasks take turns as they like
programs="c_static c_dynamic branches loads_stores rep_iter rep_stosb nested_calls fp_ops fp_wide flags_live smc_store undefined
	odd_prefixes string_loads plt_entries mid_insn shadow locked redzone"

# Each way in which code is translated: NAME COMMAND WORDS...
flavours()
{
	cat <<-'END'
	bare stat -e instructions
	more stat -e instructions,branches,loads,stores,rep-iterations,flops,calls
	models stat -e cycles,cache-misses,branch-misses,dTLB-load-misses
	cycles stat -e cycles
	sample record -q -o /dev/null -c 997 -e instructions:u
	behind record -q -o /dev/null -c 499 -e branches:u
	stack record -q -o /dev/null -b -c 1999 -e branches:u
	missed record -q -o /dev/null -c 101 -e cache-misses:u
	locked stat -e locked-instructions,instructions
	traced stat -e raw_syscalls:sys_enter,instructions
	checks --checks stat -e instructions,loads
	END
}

# dump TEST PROGRAMS TO
dump()
{
	local name command stress program
	mkdir -p "$3"
	for program in $programs; do
		cat "$2/$program" >/dev/null # a page that is not in memory cuts a block short
	done
	flavours | while read -r name command; do
		stress=emitted
		case $command in --checks*) stress=emitted,checks command=${command#--checks } ;; esac
		for program in $programs; do
			# shellcheck disable=SC2086 # words
			env -i PATH="$PATH" setarch -R "$1" ${command%% *} --deterministic --stress "$stress,log=9" ${command#* } \
				-- "$2/$program" 9>"$3/log" >/dev/null 2>"$3/err" </dev/null || :
			[ -s "$3/log" ] || {
				echo "emitted: $name: $program: nothing was written" >&2
				cat "$3/err" >&2
				exit 1
			}
			cut -d' ' -f2- "$3/log" >"$3/$name.$program"
		done
	done
	rm -f "$3/log" "$3/err"
}

# first_difference A B: the block
first_difference()
{
	diff "$1" "$2" | grep -m 2 '^[<>]' | cut -c 1-1000
}

if [ "$1" = --dump ]; then
	dump "$2" "$3" "$4"
	exit 0
fi

build=$1 base=$2 at=$1/emitted
tree=$at/tree bad=0
revision=$(git rev-parse --verify "$base^{commit}")
mkdir -p "$at"
if [ ! -x "$at/base/$revision/anyperf-test" ]; then
	rm -rf "$tree" "$at/base"
	mkdir -p "$tree" "$at/base/$revision"
	git archive "$revision" | tar -x -C "$tree"
	make -s -C "$tree" BUILD="$PWD/$at/build" "$PWD/$at/build/release/anyperf-test" >"$at/log" 2>&1 || {
		tail "$at/log"
		exit 1
	}
	cp "$at/build/release/anyperf-test" "$at/base/$revision/"
fi
rm -rf "$at/old" "$at/new"
dump "$at/base/$revision/anyperf-test" "$build/programs" "$at/old" &
dump "$build/anyperf-test" "$build/programs" "$at/new"
wait $!
for file in "$at"/new/*; do
	cmp -s "$file" "$at/old/${file##*/}" && continue
	echo "emitted: ${file##*/}: other blocks than at $base:"
	first_difference "$at/old/${file##*/}" "$file"
	bad=1
done
[ $bad = 0 ] || exit 1
echo "emitted: $(cat "$at"/new/* | wc -l) blocks of $(find "$at/new" -type f | wc -l) runs are as at $(git log -1 --format='%h %s' "$revision")"
