#!/bin/bash
# SPDX-License-Identifier: MIT
# Arguments, groups, RESET, software events and locked memory: as it is written down, and as the kernel at hand has it.
. "$(dirname "$0")/lib.sh"

exec 3>&- 4>&- 5>&- 6>&-
cp "$ANYPERF" "$PROGRAMS/perf_native" "$tmp"
. "$root/tests/e2e/natively.bash"
# shellcheck disable=SC2034 # for natively.bash
session=("$tmp/anyperf" run --)

for t in samples groups reset; do
	both "$t" "$tmp/perf_native" "$t"
done
for t in args software; do
	if [ "$(id -u)" = 0 ]; then
		both "$t" "$tmp/perf_native" "$t"
	else # a session's owner may in it what natively only root may
		in_session "$t" "$tmp/perf_native" "$t"
		lack "$t: answers" "needs root"
	fi
done

# --- locked memory: of a user, with and without a limit that is set in the session
# whose memory nobody else has locked meanwhile
user=$((61000 + $$ % 4000))
# shellcheck disable=SC2034
[ "$(id -u)" != 0 ] || who=(setpriv --reuid "$user" --regid "$user" --clear-groups)
if [ "$(id -u)" = 0 ]; then
	both "a task of another user, outside" "$tmp/perf_native" other $$
	has "$tmp/counted" 'EACCES|EPERM' "may not be counted"
else
	lack "a task of another user, outside" "needs root"
fi
both "mlock: a limit of the session's" sh -c "ulimit -S -l 512 && '$tmp/perf_native' mlock"
for limit in 0 64 1024; do
	if ulimit -S -l "$limit" 2>/dev/null; then
		both "mlock: $limit KiB" "$tmp/perf_native" mlock
		has "$tmp/counted" EPERM "mlock: $limit KiB are short"
	else
		lack "mlock: $limit KiB" "the hard limit is lower"
	fi
done
done_testing
