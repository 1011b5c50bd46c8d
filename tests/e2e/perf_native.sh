#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel as oracle: arguments, groups, RESET, software events and locked memory natively and in a session.
. "$(dirname "$0")/lib.sh"

exec 3>&- 4>&- 5>&- 6>&-
cp "$ANYPERF" "$PROGRAMS/perf_native" "$tmp"
if ! "$tmp/perf_native" reset >"$tmp/out" 2>&1; then
	lack_all 'the kernel does not let us open software events: no oracle'
fi
# both NAME COMMAND...: the same output natively and in a session, by whom $who says
who=()
both()
{
	local name=$1
	shift
	run "${who[@]+"${who[@]}"}" "$@"
	mv "$tmp/out" "$tmp/native"
	run timeout -k 5 60 "${who[@]+"${who[@]}"}" "$tmp/anyperf" run -- "$@"
	same "$tmp/out" "$tmp/native" "$name" || note "$(head -n 20 "$tmp/err")"
}

for t in samples groups reset; do
	both "$t" "$tmp/perf_native" "$t"
done
for t in args software; do
	if [ "$(id -u)" = 0 ]; then
		both "$t" "$tmp/perf_native" "$t"
	else # a session's owner may in it what natively only root may
		lack "$t" "needs root"
	fi
done

# --- locked memory: of a user, with and without a limit that is set in the session
# whose memory nobody else has locked meanwhile
user=$((61000 + $$ % 4000))
[ "$(id -u)" != 0 ] || who=(setpriv --reuid "$user" --regid "$user" --clear-groups)
if [ "$(id -u)" = 0 ]; then
	both "a task of another user, outside" "$tmp/perf_native" other $$
	has "$tmp/native" EACCES "may not be counted"
else
	lack "a task of another user, outside" "needs root"
fi
both "mlock: a limit of the session's" sh -c "ulimit -S -l 512 && '$tmp/perf_native' mlock"
for limit in 0 64 1024; do
	if ulimit -S -l "$limit" 2>/dev/null; then
		both "mlock: $limit KiB" "$tmp/perf_native" mlock
		has "$tmp/native" EPERM "mlock: $limit KiB are short"
	else
		lack "mlock: $limit KiB" "the hard limit is lower"
	fi
done
done_testing
