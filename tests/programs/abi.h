/* SPDX-License-Identifier: MIT */
/*
 * For the abi_*.c programs: rules of docs/abi.md as tables.  A row has the rule's id, what is done in words, the function that
 * does it with real system calls, and the answer that Linux's manual page or source gives, written down here: it is never what
 * the machine at hand says.  So a session and, where a kernel without a PMU can show it, the kernel itself are held to the same.
 *
 * The first argument is a mode: "native" runs the rows that such a kernel shows, "session" those of a plain session, and
 * any other those of a session with options.  "modes" lists them with their options, and "asks ID", natively, prints "has" where the
 * kernel has the events that this row needs of it.  Each row runs in a process of its own.
 */
#ifndef ABI_H
#define ABI_H

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* Modes of a row. */
#define N (1u << 0) /* natively, by any user */
#define R (1u << 1) /* natively, where the caller is root */
#define S (1u << 2) /* in a session */
#define O (1u << 3) /* in a session with options of the program's own */
/* Natively from this version of Linux on. */
#define FROM(major, minor) (((major)*1000u + (minor)) << 8)

struct abi_case {
	const char *id;
	const char *what;
	long (*run)(const struct abi_case *c);
	unsigned int modes;
	long want;
	long a, b;	   /* the function's */
	const char *where; /* of modes of the program's own; NULL: in all of them */
};

/* Answers of functions beside those of calls (-errno, or what was counted). */
#define ABI_LACKS (-2000000L) /* this machine cannot show it */
#define ABI_HAS	  (-2000001L) /* the kernel has what this row asks it for */
#define ABI_DIED  (-3000000L)
#define ABI_LINE  (-1000000L) /* minus the line of what does not hold */

#define HOLDS(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return ABI_LINE - __LINE__;                                                \
	} while (0)

static inline struct perf_event_attr abi_attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = config;
	attr.exclude_kernel = attr.exclude_hv = 1;
	return attr;
}

static inline struct perf_event_attr abi_dummy(void)
{
	return abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
}

static inline struct perf_event_attr abi_instructions(void)
{
	return abi_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static inline long abi_call(void *attr, long pid, long cpu, long group, unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);

	return fd < 0 ? -errno : fd;
}

/* On the caller, wherever it is. */
static inline long abi_open(struct perf_event_attr *attr, long group)
{
	return abi_call(attr, 0, -1, group, 0);
}

/* 0 or -errno, and nothing stays open. */
static inline long abi_try(struct perf_event_attr *attr, long pid, long cpu, long group,
			   unsigned long flags)
{
	long fd = abi_call(attr, pid, cpu, group, flags);

	if (fd >= 0)
		close((int)fd);
	return fd < 0 ? fd : 0;
}

enum { ABI_EXIT_LACKS = 77, ABI_EXIT_HAS = 78 };
static int abi_asks; /* the kernel, whether it has what a session said that it lacks */

/*
 * A session has the kernel's own events where the kernel permits, else it says EOPNOTSUPP, or EACCES to others than its owner.  Whether
 * the kernel does not permit it is asked natively, of the same row ("asks"): a session that lacks what the kernel has is wrong.
 */
static inline long abi_or_lacks(long fd)
{
	if (abi_asks)
		_exit(fd < 0 ? ABI_EXIT_LACKS : ABI_EXIT_HAS);
	if (fd == -EOPNOTSUPP || fd == -EACCES)
		_exit(ABI_EXIT_LACKS);
	return fd;
}

/* Becomes a user without privileges. Where the kernel at hand does not let that one count, the case cannot be shown. */
static inline void abi_be_user(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int level = 2;

	if (f && fscanf(f, "%d", &level) == 1 && level > 2)
		_exit(ABI_EXIT_LACKS); /* as some distributions' kernels are */
	if (geteuid())
		return;
	if (setresgid(65533, 65533, 65533) || setresuid(65533, 65533, 65533))
		_exit(ABI_EXIT_LACKS);
}

static inline long abi_ioctl(long fd, unsigned long request, void *arg)
{
	return ioctl((int)fd, request, arg) < 0 ? -errno : 0;
}

#define ABI_WHOLE ((void *)(uintptr_t)PERF_IOC_FLAG_GROUP)

static inline uint64_t abi_count(long fd)
{
	uint64_t v[64];

	return read((int)fd, v, sizeof(v)) >= 8 ? v[0] : ~0ULL;
}

/* 2n instructions of which n are branches. */
static inline void abi_work(uint64_t n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

/* What more work adds to a count: the calls around it count the same each time. */
__attribute__((noinline, unused)) static uint64_t abi_counted(long fd, uint64_t n)
{
	uint64_t from = abi_count(fd);

	abi_work(n);
	return abi_count(fd) - from;
}

static inline long abi_more(long fd, uint64_t n)
{
	uint64_t few;

	abi_counted(fd, 1);
	few = abi_counted(fd, 1000);
	return (long)(abi_counted(fd, 1000 + n) - few);
}

/* The version of Linux that runs, as FROM has it. */
static inline unsigned int abi_version(void)
{
	struct utsname u;
	unsigned int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	return FROM(major, minor);
}

/* A word of a list, which has spaces between them. */
static inline int abi_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return 1;
	return 0;
}

static inline int abi_runs(const struct abi_case *c, const char *mode)
{
	if (!strcmp(mode, "native"))
		return ((c->modes & N) || ((c->modes & R) && !geteuid())) &&
		       abi_version() >= (c->modes & ~255u);
	if (!strcmp(mode, "session"))
		return !!(c->modes & S);
	if (abi_asks)
		return 1;
	return (c->modes & O) && (!c->where || abi_has_word(c->where, mode));
}

static inline long abi_run(const struct abi_case *c, long *answer)
{
	int status;
	pid_t pid;

	*answer = ABI_DIED;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		*answer = c->run(c);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == ABI_EXIT_LACKS)
		return ABI_LACKS;
	if (WIFEXITED(status) && WEXITSTATUS(status) == ABI_EXIT_HAS)
		return ABI_HAS;
	return WIFSIGNALED(status) ? ABI_DIED - WTERMSIG(status) : *answer;
}

static inline void abi_show(const struct abi_case *c, long got)
{
	int bad = got != c->want && got != ABI_LACKS;

	printf("%sok %s %s%s\n", bad ? "not " : "", c->id, c->what,
	       got == ABI_LACKS ? " # SKIP this machine cannot show it" : "");
	if (!bad)
		return;
	if (got < ABI_DIED)
		printf("# killed by signal %ld\n", ABI_DIED - got);
	else if (got < ABI_LINE && got > ABI_LINE - 10000)
		printf("# line %ld does not hold\n", ABI_LINE - got);
	else
		printf("# got %ld %s, want %ld\n", got,
		       got < 0 && got > -200 ? strerrorname_np((int)-got) : "", c->want);
}

static inline void abi_modes(const struct abi_case *c, const char *options)
{
	unsigned int modes = 0;

	for (; c->id; c++)
		modes |= c->modes;
	printf("%s%s%s", modes & (N | R) ? "native\n" : "", modes & S ? "session\n" : "", options);
}

/* The last row has no id.  options: a line for each mode of the program's own, its name and the options of the session. */
static inline int abi_main(const struct abi_case *c, const char *options, int argc, char **argv)
{
	long *answer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *mode = argc > 1 ? argv[1] : "session";
	unsigned int n = 0;

	if (!strcmp(mode, "modes")) {
		abi_modes(c, options);
		return 0;
	}
	abi_asks = !strcmp(mode, "asks");
	for (; c->id; c++) {
		if (!abi_runs(c, mode) || (argc > 2 && strcmp(argv[2], c->id)))
			continue;
		if (abi_asks)
			puts(abi_run(c, answer) == ABI_HAS ? "has" : "lacks");
		else
			abi_show(c, abi_run(c, answer));
		n++;
	}
	if (abi_asks)
		return n != 1;
	printf("1..%u\n", n);
	return 0;
}

#endif
