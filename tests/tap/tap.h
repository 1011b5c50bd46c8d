/* SPDX-License-Identifier: MIT */
/*
 * A small TAP producer.  Each test runs in a child of its own, so that a crash, a signal handler
 * or a leaked mapping is that test's failure and nobody else's.  Tests are listed by hand: their
 * order is kept, and no linker trick decides whether they run.
 *
 *	static void adds_two_numbers(void) { EXPECT_U64(1 + 1, 2); }
 *
 *	int main(int argc, char **argv)
 *	{
 *		static const struct tap_test tests[] = { TAP(adds_two_numbers), { 0 } };
 *		return tap_main(tests, argc, argv);
 *	}
 *
 * Arguments: names or parts of names choose tests; options (-x, --x) are left to the tests, see
 * tap_option().  An EXPECT that fails is reported and the test goes on; REQUIRE ends it.
 */
#ifndef AP_TESTS_TAP_H
#define AP_TESTS_TAP_H

#include <stdbool.h>
#include <stdint.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

/* clang-format off */
#define TAP(fn) { #fn, fn }
/* clang-format on */

int tap_main(const struct tap_test *tests, int argc, char **argv);

/* True when the program was started with this option, e.g. "--exhaustive". */
bool tap_option(const char *name);

/* Say something on a "# " line; the line's end is added. */
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * End this test as skipped.  tap_skip is for what an installed package or a better test could
 * cure: it fails where AP_NO_SKIP=1.  tap_lack is for what this machine cannot have (a CPU
 * feature, a kernel without user namespaces) and is a skip everywhere.
 */
void tap_skip(const char *reason) __attribute__((noreturn));
void tap_lack(const char *reason) __attribute__((noreturn));

bool tap_expect(bool ok, const char *file, int line, const char *what);
bool tap_expect_u64(uint64_t got, uint64_t want, const char *file, int line, const char *what);
bool tap_expect_str(const char *got, const char *want, const char *file, int line,
		    const char *what);
bool tap_expect_mem(const void *got, const void *want, uint64_t size, const char *file, int line,
		    const char *what);
void tap_end_test(void) __attribute__((noreturn));

/* Each gives true when it held. */
#define EXPECT(cond) tap_expect((cond), __FILE__, __LINE__, #cond)
#define EXPECT_U64(got, want)                                                                      \
	tap_expect_u64((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define EXPECT_STR(got, want)	    tap_expect_str((got), (want), __FILE__, __LINE__, #got)
#define EXPECT_MEM(got, want, size) tap_expect_mem((got), (want), (size), __FILE__, __LINE__, #got)
#define REQUIRE(cond)		    (EXPECT(cond) ? (void)0 : tap_end_test())

#endif
