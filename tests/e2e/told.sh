#!/bin/bash
# SPDX-License-Identifier: MIT
# A signal that is sent to us is passed on to the command, once: not where the sender told the whole process group.
. "$(dirname "$0")/lib.sh"
need gcc setsid
cd "$tmp" || exit 1

cat >count.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

/* A second of its own after the last signal, so that what is passed on late counts. */
int main(void)
{
	struct sigaction a = { .sa_handler = handler };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
	puts("ready");
	fflush(stdout);
	for (int left = 20; left;) {
		struct timespec t = { n ? 1 : 5, 0 };

		if (!nanosleep(&t, NULL))
			break;
	}
	printf("%d\n", n);
	return 0;
}
END
gcc -O1 -o count count.c || exit 1

for sig in INT TERM HUP; do
	for command in "stat -e instructions" "record -q -o data" run; do
		for whom in group one; do
			: >out
			# shellcheck disable=SC2086 # words
			setsid "$ANYPERF" $command -- ./count >out 2>err </dev/null &
			pid=$!
			wait_for 20 grep -q ready out
			[ $whom = one ] && kill -$sig $pid || kill -$sig -- -$pid
			wait $pid
			is "$(tail -n 1 out)" 1 "$command: SIG$sig to $whom" || note "$(cat err)"
		done
	done
done
done_testing
