#!/bin/bash
# SPDX-License-Identifier: MIT
# Switches for tests are in the build for tests alone.  What is installed refuses the options, reads no variable for them, and
# its engine, in the program's process, never names a file.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1
for command in run stat record; do
	for switch in --stress=evict --stress=log=9,fault=1 --range=0-1; do
		run "$ANYPERF" $command $switch -- sh -c 'echo ran' 9>log
		is "$status $(cat out)" "129 " "$command $switch: refused, and nothing is run"
		has err "^anyperf $command: ${switch%%=*}.*: unknown option" "$command $switch: in a line"
	done
	run "$ANYPERF" $command --help
	has_not out '(stress|range)( |=|$)' "$command: its help names none"
done
is "$(stat -c %s log)" 0 "and nothing was written"

run "$ANYPERF_TEST" stat --stress log=9,sample=1000 -e instructions true 9>log
is "$status $(grep -cE '^[0-9]+ [0-9a-f]+$' log | sed 's/[1-9][0-9]*/some/')" "0 some" "the build for tests has them"
# what is written for one program is the same each time, and not for another event
emitted()
{
	run env -i PATH="$PATH" "$ANYPERF_TEST" stat --deterministic --stress emitted,log=9 -e "$1" "$PROGRAMS/c_static" 9>log
	cut -d' ' -f2- log
}
# a page of the program that is not in memory cuts a block short
for _ in 1 2 3 4 5; do
	emitted instructions >emitted.1
	emitted instructions >emitted.2
	! cmp -s emitted.1 emitted.2 || break
done
emitted loads >emitted.3
is "$(cmp emitted.1 emitted.2 && grep -c ' code ' emitted.1 | sed 's/[1-9][0-9]*/some/')" some "blocks are noted, each time the same"
is "$(cmp -s emitted.1 emitted.3; echo $?)" 1 "and others where more is counted"
rm emitted.*
run "$ANYPERF_TEST" stat --range 20-10 true
has err 'hexadecimal' "and looks at what it is given: --range"
run "$ANYPERF_TEST" stat --stress bogus true
has err 'evict' "--stress"
run "$ANYPERF_TEST" stat --help
has_not out 'stress|--range' "its help hides them"

# variables that once named a folder for reports, and others that might mean something
mkdir reports
for value in 1 "$tmp/reports" /proc "$tmp/none"; do
	run env -i ANYPERF_DEBUG="$value" "$ANYPERF" stat --deterministic -x, -o csv.got \
		-e instructions "$PROGRAMS/c_static"
	is "$status $(wc -l <err)" "0 0" "ANYPERF_DEBUG=$value does nothing"
	# an environment of the same length, which lies on the stack
	run env -i OTHERER_DEBUG="$value" "$ANYPERF" stat --deterministic -x, -o csv.want \
		-e instructions "$PROGRAMS/c_static"
	is "$(stat_value csv.got instructions)" "$(stat_value csv.want instructions)" "nor changes it a count"
done
is "$(ls reports) $(find . -newer log -type f ! -name 'csv.*' ! -name err ! -name out)" " " "and no file is made"

# Switches lie in the session's memory.  Another user's task that turned them on had root create files and append to them.
if [ "$(id -u)" = 0 ]; then
	for build in "$ANYPERF" "$ANYPERF_TEST"; do
		# shellcheck disable=SC2016 # the inner shell's
		run "$build" stat -x, -o csv -e instructions -- \
			sh -c 'setpriv --reuid 65534 --regid 65534 --clear-groups "$1" 9>&- && exec "$2"' \
			sh "$PROGRAMS/forge_switches" "$PROGRAMS/c_static" 9>log
		is "$status $(wc -c <log)" "0 0" "${build##*/}: switches that a task of another user has forged have root write nothing"
		has out '^refused$' "it cannot reach them"
		is "$(wc -l <err) $(grep -c 'not counted' csv)" "0 0" "and go for nothing else" || note "$(cat err csv)"
	done
else
	lack "switches that another user's task has forged" "only root has tasks of others"
fi

# what the program for tests knows and the one that is shipped has not even the words of
for word in no-fsgsbase '<engine>' 'unknown [0-9]' 'budget and counters differ' 'blocks dispatched'; do
	has_not <(strings -a "$ANYPERF") "$word" "not in what is shipped: $word"
done
is "$(grep -ac 'budget and counters differ' "$ANYPERF_TEST")" 1 "which are in the other"
run make -s -n -C "$root" install DESTDIR="$tmp/root" MISSING= BUILD="$(dirname "$(dirname "$ANYPERF")")"
has out 'install -D -m 755 .*/anyperf ' "make install takes what is shipped"
has_not out 'anyperf-test' "and make install takes that one along nowhere"
done_testing
