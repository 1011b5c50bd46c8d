#!/bin/bash
# SPDX-License-Identifier: MIT
# `anyperf stat --per-thread -- command`: a row for each thread that the command's tree has had.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
stat=("$ANYPERF" stat --per-thread "-x," -o csv)

# rows EVENT: how many threads have counted so many
rows()
{
	awk -F, -v event="$1" '$4 == event { print $2 }' csv | sort -n | uniq -c | xargs
}

# what tests/programs/threads_count.S says: the main thread's, and eight times a thread's
run "${stat[@]}" -e instructions,branches -- "$PROGRAMS/threads_count"
is "$status" 0 "threads: status"
is "$(rows instructions)" "1 129 8 4006" "threads: instructions of each" || note "$(cat csv)"
is "$(rows branches)" "1 26 8 1501" "threads: branches of each"
is "$(awk -F, '$4 == "branches" { print $1 }' csv | sort -u | wc -l)" 9 "threads: each has its number"
is "$(sed -n '/,instructions,/s/-[0-9]*,.*//p' csv | sort -u)" threads_count "threads: the name is inherited"
run "${stat[@]}" -e '{instructions,branches}' -- "$PROGRAMS/threads_count"
is "$(rows instructions) $(rows branches)" "1 129 8 4006 1 26 8 1501" "threads: of a group"
run "${stat[@]}" -e branches -e loads -i -- "$PROGRAMS/threads_count"
is "$(rows branches)" "1 26 8 1501" "threads: -i leaves out processes, not threads"

run "$ANYPERF" stat -x, -o whole -e instructions -- "$PROGRAMS/fork_count"
run "${stat[@]}" -e instructions -- "$PROGRAMS/fork_count"
is "$(awk -F, '{ n += $2 } END { print n }' csv)" "$(stat_value whole instructions)" \
	"processes: they add up to the whole" || note "$(cat csv)"
is "$(grep -c ,instructions, csv)" 6 "processes: a row for each"
run "${stat[@]}" -i -e instructions -- "$PROGRAMS/fork_count"
is "$(grep -c ,instructions, csv)" 1 "processes: not with -i"

run "${stat[@]}" -e instructions,page-faults -- "$PROGRAMS/thread_names"
is "$status" 0 "names: status"
is "$(sed -n '/,instructions,/s/-[0-9]*,.*//p' csv | sort | xargs)" \
	"exits is joined is killed thread_names thread_names waits" "names: the last that each had, however it ended" ||
	note "$(cat csv)"
is "$(grep -c ,page-faults, csv)" 6 "names: software events by thread, too"
run "$ANYPERF" stat --per-thread -j -o json -e instructions -- "$PROGRAMS/thread_names"
is "$(grep -c '"thread" : "is killed-[0-9]*", "counter-value" : "[0-9.]*"' json)" 1 "names: -j"
run "$ANYPERF" stat --per-thread -o table -e instructions -- "$PROGRAMS/threads_count"
is "$(grep -cE '^   threads_count-[0-9]+ +129      instructions ' table)" 1 "the table" || note "$(cat table)"

run "$ANYPERF" run "$ANYPERF" stat --per-thread -e instructions -- true
is "$status" 125 "a session in a session"
has err 'a session around this one does not tell its threads apart' "says why"
done_testing
