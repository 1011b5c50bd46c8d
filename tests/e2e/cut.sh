#!/bin/bash
# SPDX-License-Identifier: MIT
# A perf.data that lost its last bytes, one to all of them: each reader says so in a line and a status, and shows
# what there is; whole ones are read without a word.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1
"$ANYPERF" record -q -g -e instructions:u -c 10007 -o whole -- "$PROGRAMS/stat_work" 300 >/dev/null 2>&1
size=$(stat -c %s whole)
check "a file of $size bytes" test "$size" -gt 4000
for command in 'evlist' 'script' 'report --stdio'; do
	# shellcheck disable=SC2086 # words
	run "$ANYPERF" $command -i whole
	is "$status" 0 "$command: whole"
	is "$(cat err)" "" "$command: without a word"
	cp out "want.${command%% *}"
done

silent='' wrong=''
cuts=$(seq 1 3 200; seq 300 777 "$size"; seq $((size - 300)) 7 "$size")
for cut in $cuts; do
	head -c $((size - cut)) whole >part
	for command in 'evlist' 'script' 'report --stdio'; do
		# shellcheck disable=SC2086
		run timeout -k 5 60 "$ANYPERF" $command -i part
		[ "$status" = 125 ] || wrong="$wrong $command:$cut:$status"
		grep -q "cut off\|shorter than\|too short\|is empty\|ends in the middle of" err || silent="$silent $command:$cut"
		[ "$cut" -gt 200 ] || cmp -s out "want.${command%% *}" || wrong="$wrong $command:$cut"
	done
done
is "$silent" "" "what is cut off is told of"
is "$wrong" "" "with a status, and what was before it is shown"
done_testing
