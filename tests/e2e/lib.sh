# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For end-to-end tests: a temporary folder that is always removed, TAP, and a few verbs.
#
#	. "$(dirname "$0")/lib.sh"
#	plan 2				# or: done_testing at the end
#	run "$ANYPERF" stat -- true	# fills $status, $tmp/out, $tmp/err
#	is "$status" 0 "true succeeds"
#	has "$tmp/err" 'instructions' "the table names instructions"
#
# The environment gives ANYPERF (the program), ANYPERF_TEST (the same with switches for tests), PROGRAMS (folder of built tests/programs) and
# ORACLE (the single-stepper).  By hand: bash tests/e2e/x.sh, after `make`.
# Nothing here sleeps in order to wait: wait_for polls a condition until a deadline.

set -u
export LC_ALL=C TZ=UTC0

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${ANYPERF:=$root/build/anyperf}"
: "${ANYPERF_TEST:=$root/build/release/anyperf-test}"
: "${PROGRAMS:=$root/build/release/programs}"
: "${ORACLE:=$root/build/release/oracle}"
export ANYPERF ANYPERF_TEST PROGRAMS ORACLE

tap_count=0
tap_failed=0
tap_planned=
tap_pid=$BASHPID
tap_reaped=()
tmp=$(mktemp -d "${TMPDIR:-/tmp}/anyperf-e2e.XXXXXX") || exit 1
chmod 755 "$tmp"

tap_cleanup()
{
	local st=$? pid
	[ "$BASHPID" = "$tap_pid" ] || exit "$st"
	trap - EXIT
	for pid in "${tap_reaped[@]+"${tap_reaped[@]}"}"; do
		kill -9 "$pid" 2>/dev/null
	done
	cd / || :
	if [ "${AP_KEEP:-0}" = 1 ]; then
		echo "# kept: $tmp"
	else
		rm -rf "$tmp"
	fi
	if [ -n "$tap_planned" ] && [ "$tap_count" != "$tap_planned" ]; then
		echo "# planned $tap_planned tests, ran $tap_count"
		exit 1
	fi
	[ "$tap_failed" = 0 ] || exit 1
	exit "$st"
}
trap tap_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# plan N: how many tests follow
plan()
{
	tap_planned=$1
	echo "1..$1"
}

# done_testing: the plan at the end, for tests that loop
done_testing()
{
	tap_planned=$tap_count
	echo "1..$tap_count"
}

# skip_all REASON / lack_all REASON: nothing in this file can run here (see skip and lack)
skip_all()
{
	if [ "${AP_NO_SKIP:-0}" = 1 ]; then
		plan 1
		not_ok "skipped where AP_NO_SKIP=1: $1"
		exit 1
	fi
	tap_planned=0
	tap_count=0
	echo "1..0 # SKIP $1"
	exit 0
}
lack_all()
{
	tap_planned=0
	tap_count=0
	echo "1..0 # SKIP $1"
	exit 0
}

# perf_refused FILE: perf cannot record, and FILE has what it said.  The machine cannot have it where the kernel
# refuses its events
perf_refused()
{
	local said
	said=$(grep -m 1 . "$1")
	if grep -qE 'No permission|not permitted|not implemented' "$1"; then
		lack_all "the kernel refuses perf's events: $said"
	fi
	skip_all "perf cannot record here: $said"
}

# is_filtered: a seccomp filter holds for this test, as in containers: no process here can be attached to (docs/limits.md)
is_filtered()
{
	! grep -q '^Seccomp:.0' /proc/self/status
}

ok()
{
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

# not_ok NAME [DETAIL...]: details become "# " lines
not_ok()
{
	local name=$1 line
	shift
	for line in "$@"; do
		printf '%s\n' "$line" | sed 's/^/#   /'
	done
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $name"
	return 1
}

note()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# skip NAME REASON: a package or a better test could cure it, so AP_NO_SKIP=1 makes it fail
skip()
{
	if [ "${AP_NO_SKIP:-0}" = 1 ]; then
		not_ok "$1" "skipped where AP_NO_SKIP=1: $2"
		return
	fi
	lack "$1" "$2"
}

# lack NAME REASON: this machine cannot have it (a CPU feature, a kernel option, root)
lack()
{
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# options of a session whose CPU PAPI and libpfm4 know, and have presets for, whatever the host's is
# shellcheck disable=SC2034
papi_cpu=(--cpu-id zen3)

# is GOT WANT NAME
is()
{
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		not_ok "$3" "got:  $1" "want: $2"
	fi
}

# has FILE REGEX NAME / has_not FILE REGEX NAME: extended regular expressions, by line
has()
{
	if grep -qE -e "$2" -- "$1"; then
		ok "$3"
	else
		not_ok "$3" "no line matches: $2" "$(head -n 40 -- "$1")"
	fi
}
has_not()
{
	if grep -qE -e "$2" -- "$1"; then
		not_ok "$3" "a line matches: $2" "$(grep -E -e "$2" -- "$1" | head -n 10)"
	else
		ok "$3"
	fi
}

# no_word FILE NAME: nothing in it is of anyperf's, whatever the folders of the programs are called
no_word()
{
	is "$(sed "s,$PROGRAMS/,,g" "$1" | grep -m 10 anyperf)" "" "$2"
}

# same FILE FILE NAME: equal bytes
same()
{
	if cmp -s -- "$1" "$2"; then
		ok "$3"
	else
		not_ok "$3" "$(diff -a -u -- "$1" "$2" | head -n 40)"
	fi
}

# check NAME COMMAND...: ok when the command succeeds
check()
{
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		ok "$name"
	else
		not_ok "$name" "failed: $*" "$out"
	fi
}

# run COMMAND...: $status, and the outputs in $tmp/out and $tmp/err
run()
{
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	# shellcheck disable=SC2034 # for the test
	status=$?
}

# anyperf_for OPTION...: the program that is shipped; the build for tests where an option is a switch of that one
anyperf_for()
{
	case " $* " in
	*" --stress"* | *" --range"*) echo "$ANYPERF_TEST" ;;
	*) echo "$ANYPERF" ;;
	esac
}

# timeout [-k SECONDS] SECONDS COMMAND...: by CPU time and by what goes on, not by the clock (limited.c).  Where a shell's function
# cannot stand, behind env and in the background, tests say "$limited"
limited=$PROGRAMS/limited
timeout()
{
	"$limited" "$@"
}

# start COMMAND...: in the background, pid in $pid; killed at the end should it still live
start()
{
	if [ "$1" = timeout ]; then
		shift
		set -- "$limited" "$@"
	fi
	"$@" >"$tmp/bg.out" 2>"$tmp/bg.err" </dev/null &
	pid=$!
	tap_reaped+=("$pid")
}

# wait_for SECONDS COMMAND...: until the command succeeds; 1 after so many seconds' looks on an idle machine, a minute's at least.
# On a busy one a look takes longer, as does what it waits for
wait_for()
{
	local looks=$((($1 < 60 ? 60 : $1) * 40))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $((looks--)) -gt 0 ] || return 1
		sleep 0.02
	done
}

# a command, for who attaches to a process: it ends when PID has had so many ticks of CPU more
# shellcheck disable=SC2034 # for tests
until_ran=$root/tests/e2e/until_ran.bash

# stat_value FILE EVENT: the count of an event in the output of `stat -x,`
stat_value()
{
	awk -F, -v event="$2" '{ e = $3; sub(/:u$/, "", e) } e == event { print $1; exit }' "$1"
}

# need COMMAND...: every test of this file needs these
need()
{
	local c
	for c in "$@"; do
		command -v "$c" >/dev/null 2>&1 || skip_all "no $c"
	done
}
