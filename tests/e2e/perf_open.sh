#!/bin/bash
# SPDX-License-Identifier: MIT
# A perf descriptor in a session is to every system call what it is natively.
. "$(dirname "$0")/lib.sh"

exec 3>&- 4>&- 5>&- 6>&-
. "$root/tests/e2e/natively.bash"

for t in reads groups writes names waits maps opens copies limits; do
	both "$t" "$PROGRAMS/perf_fd" "$t"
done
for t in "perf_fd controls" "perf_pages args" "perf_pages files"; do
	if [ "$(id -u)" = 0 ]; then
		both "${t/perf_/}" "$PROGRAMS/${t% *}" "${t#* }"
	else # a session's owner may in it what natively only root may
		in_session "${t/perf_/}" "$PROGRAMS/${t% *}" "${t#* }"
		lack "${t/perf_/}: answers" "needs root"
	fi
done
for t in protect advise others grow; do
	if "$PROGRAMS/perf_pages" kind; then
		both "pages: $t" "$PROGRAMS/perf_pages" "$t"
	else
		lack "pages: $t: answers" "the kernel's pages can be dropped and split (before 6.14)"
	fi
done
cp "$ANYPERF" "$PROGRAMS/perf_fd" "$tmp"
if [ "$(id -u)" = 0 ] && [ -n "$native" ]; then
	other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	run "${other[@]}" "$tmp/perf_fd" names
	mv "$tmp/out" "$tmp/native"
	run timeout -k 5 60 "${other[@]}" "$tmp/anyperf" run -- "$tmp/perf_fd" names
	same "$tmp/out" "$tmp/native" "names, as another user: answers"
else
	lack "names, as another user: answers" "needs root, and a kernel that opens events"
fi
both "a filter that kills for what the program does not do" "$PROGRAMS/perf_seccomp" kill
both "the same after an exec" "$PROGRAMS/perf_seccomp" exec
both "a filter that refuses" "$PROGRAMS/perf_seccomp" errno

# kernels before 6.15 say EINVAL
run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/perf_fd" dead
is "$(cat "$tmp/out")" "group of a dead task = -1 ENODEV" "a group whose task is dead is known at once"

run timeout -k 5 100 "$ANYPERF" run -- "$PROGRAMS/perf_churn"
is "$status" 0 "threads open and close under signals" || note "$(head -n 20 "$tmp/err")"

run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/perf_orphan"
wait_for 20 grep -q '^read: EBADF' "$tmp/out"
cat >"$tmp/want" <<'END'
open: done
read: done
ioctl: ENODEV
read: ENODEV
mmap: ENODEV
open: ENODEV
child: 7
close: done
read: EBADF
END
same "$tmp/out" "$tmp/want" "without the supervisor programs run on, and perf calls give ENODEV"
done_testing
