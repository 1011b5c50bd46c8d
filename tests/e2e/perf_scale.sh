#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Many threads, many events on few counters, sessions side by side.  LONG=1: 500 events for 30 s.
. "$(dirname "$0")/lib.sh"

run timeout -k 5 300 "$ANYPERF" run -- "$PROGRAMS/perf_scale" inherit 1000
is "$status" 0 "a thousand threads inherit one event, exactly" || note "$(cat "$tmp/out" "$tmp/err")"

if [ "${LONG:-0}" = 1 ]; then
	run timeout -k 5 600 "$ANYPERF" run --counters 4 -- "$PROGRAMS/perf_scale" rotate 500 30000
	is "$status" 0 "500 events on 4 counters for 30 s" || note "$(cat "$tmp/out" "$tmp/err")"
fi
run timeout -k 5 300 "$ANYPERF" run --counters 4 -- "$PROGRAMS/perf_scale" rotate 20 2000
is "$status" 0 "20 events on 4 counters" || note "$(cat "$tmp/out" "$tmp/err")"

# --- as many events as a process may have: the supervisor may have no more descriptors than that, and needs some itself
at_most()
{
	(
		ulimit -n "$1"
		shift
		timeout -k 5 300 "$ANYPERF" run "$@"
	)
}

for most in 100 512; do
	run at_most $most -- "$PROGRAMS/perf_scale" limit
	is "$status" 0 "as many events as $most descriptors are" || note "$(cat "$tmp/out" "$tmp/err")"
done

# --- two sessions at once: neither sees the other
start timeout -k 5 300 "$ANYPERF" run --deterministic -- "$PROGRAMS/perf_run_tasks"
other=$pid
run timeout -k 5 300 "$ANYPERF" run --deterministic --counters 2 -- "$PROGRAMS/perf_run_tasks"
is "$status" 0 "two sessions at once: one" || note "$(cat "$tmp/err")"
wait "$other"
is "$?" 0 "and the other" || note "$(cat "$tmp/bg.err")"
done_testing
