/* SPDX-License-Identifier: MIT */
/*
 * The runner behind tap.h.  Why not a framework: those at hand catch SIGSEGV and its kin
 * themselves, which are the very signals that this project owns.  A test's output and its TAP
 * line share stdout, which is flushed around every fork.
 */
#include "tap/tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_FAILED    1
#define EXIT_SKIPPED   77 /* automake's */
#define EXIT_LACKING   78
#define FAILURES_SHOWN 20

static unsigned int failures; /* of the test that runs in this child */
static int reason_pipe[2];    /* from the child: why it skipped */
static char **options;	      /* NULL terminated: argv's own */

bool tap_option(const char *name)
{
	for (char **o = options; o && *o; o++) {
		if (!strcmp(*o, name))
			return true;
	}
	return false;
}

void tap_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

void tap_end_test(void)
{
	fflush(stdout);
	_exit(failures ? EXIT_FAILED : 0);
}

static void end_skipped(int status, const char *reason)
{
	if (failures)
		tap_end_test();
	fflush(stdout);
	if (write(reason_pipe[1], reason, strlen(reason)) < 0)
		_exit(EXIT_FAILED);
	_exit(status);
}

void tap_skip(const char *reason)
{
	end_skipped(EXIT_SKIPPED, reason);
	abort();
}

void tap_lack(const char *reason)
{
	end_skipped(EXIT_LACKING, reason);
	abort();
}

/* A loop that fails a million times says so, but not a million times. */
static bool fails_quietly(void)
{
	failures++;
	if (failures == FAILURES_SHOWN + 1)
		tap_note("... and more failures, not shown");
	return failures > FAILURES_SHOWN;
}

bool tap_expect(bool ok, const char *file, int line, const char *what)
{
	if (!ok && !fails_quietly())
		tap_note("%s:%d: failed: %s", file, line, what);
	return ok;
}

bool tap_expect_u64(uint64_t got, uint64_t want, const char *file, int line, const char *what)
{
	if (got == want)
		return true;
	if (!fails_quietly())
		tap_note("%s:%d: %s: got %llu (%#llx), want %llu (%#llx)", file, line, what,
			 (unsigned long long)got, (unsigned long long)got, (unsigned long long)want,
			 (unsigned long long)want);
	return false;
}

bool tap_expect_str(const char *got, const char *want, const char *file, int line, const char *what)
{
	if (got == want || (got && want && !strcmp(got, want)))
		return true;
	if (!fails_quietly())
		tap_note("%s:%d: %s: got \"%s\", want \"%s\"", file, line, what,
			 got ? got : "(null)", want ? want : "(null)");
	return false;
}

bool tap_expect_mem(const void *got, const void *want, uint64_t size, const char *file, int line,
		    const char *what)
{
	const unsigned char *g = got, *w = want;

	for (uint64_t i = 0; i < size; i++) {
		if (g[i] == w[i])
			continue;
		if (!fails_quietly())
			tap_note("%s:%d: %s: byte %llu is %#x, want %#x", file, line, what,
				 (unsigned long long)i, g[i], w[i]);
		return false;
	}
	return true;
}

static void print_line(bool ok, unsigned int number, const char *name)
{
	printf("%s %u - ", ok ? "ok" : "not ok", number);
	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
}

/* Gives true when the test did not fail. */
static bool report(const struct tap_test *test, unsigned int number, int status)
{
	bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED;
	bool lacking = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LACKING;
	const char *strict = getenv("AP_NO_SKIP");
	char reason[256];
	ssize_t n = read(reason_pipe[0], reason, sizeof(reason) - 1);
	bool ok = status == 0 || lacking || (skipped && !(strict && !strcmp(strict, "1")));

	reason[n > 0 ? n : 0] = 0;
	if (WIFSIGNALED(status))
		tap_note("ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!ok && skipped)
		tap_note("skipped where AP_NO_SKIP=1: %s", reason);
	else if (!ok && WEXITSTATUS(status) != EXIT_FAILED)
		tap_note("exit status %d", WEXITSTATUS(status));
	print_line(ok, number, test->name);
	if (ok && (skipped || lacking))
		printf(" # SKIP %s", reason);
	putchar('\n');
	fflush(stdout);
	return ok;
}

static bool run_one(const struct tap_test *test, unsigned int number)
{
	int status = 0;
	pid_t pid;
	bool ok;

	fflush(stdout);
	if (pipe(reason_pipe) || (pid = fork()) < 0) {
		perror("# tap: pipe or fork");
		exit(1);
	}
	if (!pid) {
		close(reason_pipe[0]);
		test->run();
		tap_end_test();
	}
	close(reason_pipe[1]);
	if (waitpid(pid, &status, 0) != pid)
		status = -1;
	ok = report(test, number, status);
	close(reason_pipe[0]);
	return ok;
}

static bool is_chosen(const struct tap_test *test, char **words)
{
	for (char **w = words; *w; w++) {
		if (strstr(test->name, *w))
			return true;
	}
	return !*words;
}

int tap_main(const struct tap_test *tests, int argc, char **argv)
{
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	unsigned int n = 0, failed = 0;

	options = calloc((size_t)argc + 1, sizeof(*options));
	if (!words || !options)
		return 1;
	for (int i = 1, w = 0, o = 0; i < argc; i++) {
		if (argv[i][0] == '-')
			options[o++] = argv[i];
		else
			words[w++] = argv[i];
	}
	for (const struct tap_test *t = tests; t->name; t++)
		n += is_chosen(t, words);
	printf("1..%u\n", n);
	n = 0;
	for (const struct tap_test *t = tests; t->name; t++) {
		if (is_chosen(t, words))
			failed += !run_one(t, ++n);
	}
	free(words);
	free(options);
	options = NULL;
	return failed ? 1 : 0;
}
