/* SPDX-License-Identifier: MIT */
/*
 * perfctr's rules as a program of a session meets them, on each of the CPUs that a session can be given: what the CPU says that
 * it is, which controls are taken (abi_perfctr.h), and how a state of the caller's or another thread's counts, is read, lives
 * and ends.
 */
#include <anyperf/perfctr.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ptrace.h>

#include "../tests/programs/abi.h"

static long failed(int ret)
{
	return ret < 0 ? -errno : 0;
}

/* --- what it is */

enum { TYPE, FEATURES };

static long info(const struct abi_case *c)
{
	struct perfctr_info i;

	HOLDS(!sys_perfctr_info(&i, NULL, NULL));
	return c->a == TYPE ? i.cpu_type : i.cpu_features;
}

static long forbidden(const struct abi_case *c)
{
	uint32_t words[65] = { 64 }, sum = 0;

	(void)c;
	HOLDS(!sys_perfctr_info(NULL, NULL, (struct perfctr_cpu_mask *)words));
	for (uint32_t i = 1; i <= words[0]; i++)
		sum |= words[i];
	return sum;
}

/* a: a size or an offset that the documentation has */
static long constant(const struct abi_case *c)
{
	return c->a;
}

#define SIZE(type)	((long)sizeof(struct type))
#define AT(type, field) ((long)offsetof(struct type, field))
#define ELEMENTS(t, f)	((long)(sizeof(((struct t *)0)->f) / sizeof(((struct t *)0)->f[0])))

/* --- controls */

/* a: the CPU's part of it */
static long control(const struct abi_case *c)
{
	struct vperfctr_control v = { .cpu_control = *(const struct perfctr_cpu_control *)c->a };
	int fd = sys_vperfctr_open(0, 1);

	HOLDS(fd >= 0);
	return failed(sys_vperfctr_control(fd, &v));
}

/* a: a control that is taken, b: the bits of its first evntsel that are reserved.  Each bit alone: how many are refused so. */
static long reserved_bits(const struct abi_case *c)
{
	const struct perfctr_cpu_control *base = (const struct perfctr_cpu_control *)c->a;
	int fd = sys_vperfctr_open(0, 1);
	long n = 0;

	for (int i = 0; i < 32; i++) {
		struct vperfctr_control v = { .cpu_control = *base };
		long ret;

		v.cpu_control.evntsel[0] |= 1U << i;
		ret = failed(sys_vperfctr_control(fd, &v));
		HOLDS((ret == -EPERM) == (c->b >> i & 1));
		n += ret == -EPERM;
	}
	return n - __builtin_popcountl((unsigned long)c->b);
}

/* --- a state on a K8: instructions of user mode, and branches */

#define K8_INSTR    0x4100c0
#define K8_BRANCHES 0x4100c2
#define INT_BIT	    0x100000

static const struct vperfctr_control one = {
	.cpu_control = { .tsc_on = 1, .nractrs = 1, .pmc_map = { 2 }, .evntsel = { K8_INSTR } }
};
static const struct vperfctr_control two = { .cpu_control = {
						     .tsc_on = 1,
						     .nractrs = 2,
						     .pmc_map = { 3, 1 },
						     .evntsel = { K8_INSTR, K8_BRANCHES } } };
static const struct vperfctr_control off;

static int counting(const struct vperfctr_control *control)
{
	int fd = sys_vperfctr_open(0, 1);

	if (fd < 0 || sys_vperfctr_control(fd, control))
		_exit(1);
	return fd;
}

static struct perfctr_sum_ctrs sums_of(int fd)
{
	struct perfctr_sum_ctrs s;

	if (sys_vperfctr_read(fd, &s, NULL))
		_exit(1);
	return s;
}

static __attribute__((noinline)) uint64_t worked(int fd, int counter, uint64_t n)
{
	uint64_t from = sums_of(fd).pmc[counter];

	abi_work(n);
	return sums_of(fd).pmc[counter] - from;
}

/* a: counter of two; what 1000 rounds more add to its sum */
static long more(const struct abi_case *c)
{
	int fd = counting(&two);
	uint64_t few;

	worked(fd, (int)c->a, 1);
	few = worked(fd, (int)c->a, 1000);
	return (long)(worked(fd, (int)c->a, 2000) - few);
}

static long has_both(const struct abi_case *c)
{
	int fd = counting(&one);
	struct perfctr_sum_ctrs a = sums_of(fd), b;

	abi_work(1000);
	b = sums_of(fd);
	HOLDS(b.tsc > a.tsc && b.pmc[0] >= a.pmc[0] + 2000 && !b.pmc[1]);
	(void)c;
	return 0;
}

static long comes_back(const struct abi_case *c)
{
	struct vperfctr_control v;
	int fd = counting(&two);

	HOLDS(!sys_vperfctr_read(fd, NULL, &v));
	(void)c;
	return memcmp(&v, &two, sizeof(v));
}

static long new_one(const struct abi_case *c)
{
	static const struct perfctr_sum_ctrs zero;
	struct perfctr_sum_ctrs s;
	struct vperfctr_control v;
	int fd = sys_vperfctr_open(0, 1);

	abi_work(1000);
	HOLDS(!sys_vperfctr_read(fd, &s, &v));
	HOLDS(!memcmp(&s, &zero, sizeof(s)) && !memcmp(&v, &off, sizeof(v)));
	if (!c->a)
		return 0;
	return sys_vperfctr_open(0, 1) < 0 ? -errno : 0;
}

/* A handle where there is no state. */
static long handle(const struct abi_case *c)
{
	struct perfctr_sum_ctrs s;
	int fd = sys_vperfctr_open(0, 0);

	HOLDS(fd >= 0);
	(void)c;
	return failed(sys_vperfctr_read(fd, &s, NULL));
}

/* --- sums under a new control */

enum { KEEP = 1, CLOCK_OFF = 2, EMPTY = 4 };

/* a: what is in the new control.  1: the sum went on from where it was; 2: that of the clock did */
static long next_control(const struct abi_case *c)
{
	struct vperfctr_control v = c->a & EMPTY ? off : one;
	int fd = counting(&one);
	struct perfctr_sum_ctrs was, now;

	abi_work(100000);
	v.preserve = c->a & KEEP ? 1 : 0;
	if (c->a & CLOCK_OFF)
		v.cpu_control.tsc_on = 0;
	was = sums_of(fd);
	HOLDS(!sys_vperfctr_control(fd, &v));
	now = sums_of(fd);
	if (c->a & EMPTY) {
		abi_work(1000);
		HOLDS(sums_of(fd).pmc[0] == now.pmc[0] && sums_of(fd).tsc == now.tsc);
	}
	return (now.pmc[0] >= was.pmc[0]) | (now.tsc >= was.tsc) << 1;
}

/* a: a call on a state that was unlinked: control, iresume, read, unlink */
enum { CONTROL, IRESUME, READ, UNLINK };

static long call(int fd, long which)
{
	struct perfctr_sum_ctrs s;

	switch (which) {
	case CONTROL:
		return failed(sys_vperfctr_control(fd, &one));
	case IRESUME:
		return failed(sys_vperfctr_iresume(fd));
	case READ:
		return failed(sys_vperfctr_read(fd, &s, NULL));
	default:
		return failed(sys_vperfctr_unlink(fd));
	}
}

static long unlinked(const struct abi_case *c)
{
	int fd = counting(&one);
	uint64_t was;

	abi_work(1000);
	HOLDS(!sys_vperfctr_unlink(fd));
	was = sums_of(fd).pmc[0];
	HOLDS(was >= 2000);
	abi_work(1000);
	HOLDS(sums_of(fd).pmc[0] == was);
	return call(fd, c->a);
}

static long attached(const struct abi_case *c)
{
	return call(counting(&one), c->a);
}

/* --- other threads and processes */

static void *busy(void *unused)
{
	abi_work(1000000);
	return unused;
}

/* A thread's work is not in the caller's sum. */
static long beside_a_thread(const struct abi_case *c)
{
	int fd = counting(&one);
	uint64_t from = sums_of(fd).pmc[0];
	pthread_t t;

	HOLDS(!pthread_create(&t, NULL, busy, NULL) && !pthread_join(t, NULL));
	(void)c;
	return sums_of(fd).pmc[0] - from < 1000000;
}

static long beside_a_child(const struct abi_case *c)
{
	int fd = counting(&one), status;
	uint64_t from = sums_of(fd).pmc[0];
	pid_t pid = fork();

	if (!pid) { /* which has no state: -EINVAL */
		abi_work(1000000);
		_exit(handle(c) == -EINVAL ? 7 : 8);
	}
	waitpid(pid, &status, 0);
	HOLDS(sums_of(fd).pmc[0] - from < 1000000);
	return WEXITSTATUS(status);
}

/* A child counts itself; a: it is traced and stopped, b: a call on its state. */
static long others(const struct abi_case *c)
{
	int said[2], status, fd;
	long ret;
	char byte;
	pid_t pid;

	HOLDS(!pipe(said));
	pid = fork();
	if (!pid) {
		counting(&one);
		abi_work(1000);
		if (c->a)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (write(said[1], "", 1) != 1)
			_exit(1);
		for (;;)
			raise(SIGSTOP);
	}
	HOLDS(read(said[0], &byte, 1) == 1);
	HOLDS(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	fd = sys_vperfctr_open(pid, 0);
	ret = fd < 0 ? -errno : call(fd, c->b);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return ret;
}

/* --- overflows */

static volatile int signals;
static int state_fd;

static void on_overflow(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	signals += si->si_code == SI_PMC_OVF && si_pmc_ovf_mask_of(si) == 1;
}

static int overflowing(void)
{
	struct vperfctr_control v = { .si_signo = SIGUSR1,
				      .cpu_control = { .tsc_on = 1,
						       .nrictrs = 1,
						       .evntsel = { K8_INSTR | INT_BIT },
						       .ireset = { -10000 } } };
	struct sigaction sa = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &sa, NULL);
	state_fd = counting(&v);
	abi_work(20000);
	return state_fd;
}

/* It stands after the first one, but for the clock, until it is resumed. */
static long suspended(const struct abi_case *c)
{
	int fd = overflowing();
	struct perfctr_sum_ctrs s = sums_of(fd), t;

	HOLDS(signals == 1);
	abi_work(20000);
	t = sums_of(fd);
	HOLDS(t.pmc[0] == s.pmc[0] && t.tsc > s.tsc);
	if (!c->a)
		return signals;
	HOLDS(!sys_vperfctr_iresume(fd));
	abi_work(20000);
	HOLDS(sums_of(fd).pmc[0] > t.pmc[0]);
	return signals;
}

/* --- the page */

static long cstatus(const struct abi_case *c)
{
	int fd = counting(&two);
	const volatile struct vperfctr_state *k = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	HOLDS(k != MAP_FAILED);
	HOLDS(k->cpu_state.pmc[0].map == 3 && k->cpu_state.pmc[1].map == 1);
	HOLDS(k->cpu_state.cstatus == perfctr_mk_cstatus(1, 2, 0));
	HOLDS(!sys_vperfctr_control(fd, &off) && !k->cpu_state.cstatus);
	(void)c;
	return 0;
}

/* a: cstatus, b: what is asked of it */
enum { ENABLED, HAS_TSC, NRACTRS, NRCTRS, HAS_ICTRS };

static long of_cstatus(const struct abi_case *c)
{
	unsigned int s = (unsigned int)c->a;

	switch (c->b) {
	case ENABLED:
		return !!perfctr_cstatus_enabled(s);
	case HAS_TSC:
		return !!perfctr_cstatus_has_tsc(s);
	case NRACTRS:
		return perfctr_cstatus_nractrs(s);
	case NRCTRS:
		return perfctr_cstatus_nrctrs(s);
	default:
		return !!perfctr_cstatus_has_ictrs(s);
	}
}

static long packed(const struct abi_case *c)
{
	return (long)perfctr_mk_cstatus((unsigned int)c->a & 1, (unsigned int)c->a >> 1,
					(unsigned int)c->b);
}

#define CPU(cpu, type, features)                                                                   \
	{ "K-096", "features of a " cpu, info, O, features, FEATURES, 0, cpu },                    \
	{                                                                                          \
		"K-096", "type of a " cpu, info, O, type, TYPE, 0, cpu                             \
	}
#define RULE(id, cpu, answer, ...)                                                                 \
	{                                                                                          \
		id, #__VA_ARGS__, control, O, answer,                                              \
			(long)&(const struct perfctr_cpu_control){ __VA_ARGS__ }, 0, cpu           \
	}

#define SWEEP(id, cpu, reserved, ...)                                                              \
	{                                                                                          \
		id, "each bit of evntsel on a " cpu, reserved_bits, O, 0,                          \
			(long)&(const struct perfctr_cpu_control){ __VA_ARGS__ }, reserved, cpu    \
	}

/* clang-format off */
static const struct abi_case cases[] = {
#include "../tests/programs/abi_perfctr.h"
	SWEEP("K-051", "p5", 0xfffffe00L, .nractrs = 1, .evntsel = { 0x80 }),
	SWEEP("K-051", "p5mmx", 0xfffffe00L, .nractrs = 1, .evntsel = { 0x80 }),
	SWEEP("K-053", "mii", 0xfffffa00L, .nractrs = 1, .evntsel = { 0x80 }),
	SWEEP("K-054", "c6", 0xffffff00L, .nractrs = 1, .evntsel = { 0 }),
	SWEEP("K-054", "winchip2", 0xffffff00L, .nractrs = 1, .evntsel = { 0 }),
	SWEEP("K-062", "p6", 0x00280000L, .nractrs = 2, .pmc_map = { 0, 1 }, .evntsel = { USR_INSTR, USR_INSTR1 }),
	SWEEP("K-061", "p6", 0x00680000L, .nractrs = 2, .pmc_map = { 1, 0 }, .evntsel = { USR_INSTR1, USR_INSTR }),
	SWEEP("K-070", "k7", 0x00280000L, .nractrs = 1, .evntsel = { USR_INSTR }),
	SWEEP("K-070", "k8", 0x00280000L, .nractrs = 1, .pmc_map = { 1 }, .evntsel = { USR_INSTR }),
	SWEEP("K-076", "c3", 0xfffffe00L, .nractrs = 1, .pmc_map = { 1 }, .evntsel = { 0 }),
	SWEEP("K-083", "p4", 0xb8000fffL, A(12, CCCR_INSTR, INSTR)),
	SWEEP("K-083", "p4m2", 0xb80007ffL, A(12, CCCR_INSTR, INSTR)),
	SWEEP("K-083", "p4m3", 0xb8000fffL, A(13, CCCR_INSTR, INSTR)),
	CPU("p5", 1, 2),
	CPU("p5mmx", 2, 3),
	CPU("mii", 6, 3),
	CPU("c6", 7, 1),
	CPU("winchip2", 8, 1),
	CPU("p6", 3, 7),
	CPU("pii", 4, 7),
	CPU("pentium-m", 14, 7),
	CPU("k7", 9, 7),
	CPU("k8", 13, 7),
	CPU("k8c", 15, 7),
	CPU("p4", 11, 7),
	CPU("p4m2", 12, 7),
	CPU("p4m3", 16, 7),
	CPU("c3", 10, 3),
	CPU("generic", 0, 2),
	{ "K-001", "a P5 is of type 1", info, O, 1, TYPE, 0, "p5" },
	{ "K-001", "a P6 of 3", info, O, 3, TYPE, 0, "p6" },
	{ "K-001", "a P4 of 11", info, O, 11, TYPE, 0, "p4" },
	{ "K-002", "a K7 of 9", info, O, 9, TYPE, 0, "k7" },
	{ "K-002", "a K8 of 13", info, O, 13, TYPE, 0, "k8" },
	{ "K-003", "Cyrix's of 6", info, O, 6, TYPE, 0, "mii" },
	{ "K-004", "Centaur's of 7", info, O, 7, TYPE, 0, "c6" },
	{ "K-005", "a C3 of 10", info, O, 10, TYPE, 0, "c3" },
	{ "K-006", "any other of 0", info, O, 0, TYPE, 0, "generic" },
	{ "J-002", "a C6 has no clock for programs: feature 2", info, O, 1, FEATURES, 0, "c6" },
	{ "M-013", "no CPU is forbidden", forbidden, O, 0, 0, 0, "k8 p4m2" },
	{ "J-010", "struct perfctr_sum_ctrs: tsc, pmc[]", constant, O, 8, AT(perfctr_sum_ctrs, pmc), 0, "k8" },
	{ "J-020", "struct perfctr_cpu_control: evntsel[]", constant, O, 84, AT(perfctr_cpu_control, evntsel), 0, "k8" },
	{ "J-030", "struct perfctr_cpu_state: pmc[]", constant, O, 24, AT(perfctr_cpu_state, pmc), 0, "k8" },
	{ "K-010", "sums", constant, O, 152, SIZE(perfctr_sum_ctrs), 0, "k8" },
	{ "K-011", "controls", constant, O, 324, SIZE(perfctr_cpu_control), 0, "k8" },
	{ "K-012", "elements of sums", constant, O, 18, ELEMENTS(perfctr_sum_ctrs, pmc), 0, "k8" },
	{ "K-012", "of controls", constant, O, 18, ELEMENTS(perfctr_cpu_control, pmc_map), 0, "k8" },
	{ "K-015", "what is mapped", constant, O, 312, SIZE(perfctr_cpu_state), 0, "k8" },
	{ "K-016", "tsc_start is beside id", constant, O, 12, AT(perfctr_cpu_state, tsc_start), 0, "k8" },
	{ "K-017", "k1.isuspend_cpu", constant, O, 8, AT(perfctr_cpu_state, k1.isuspend_cpu), 0, "k8" },
	{ "J-001", "a clock and counters", has_both, O, 0, 0, 0, "k8" },
	{ "J-003", "counter 0 has its event", more, O, 2000, 0, 0, "k8" },
	{ "J-003", "counter 1 has its own", more, O, 1000, 1, 0, "k8" },
	{ "J-004", "sums are of what was done", more, O, 2000, 0, 0, "k8" },
	{ "J-025", "an evntsel for each counter", more, O, 1000, 1, 0, "k8" },
	{ "J-039", "the control says what they count", more, O, 1000, 1, 0, "k8" },
	{ "K-060", "evntsel is the register of its counter", more, O, 2000, 0, 0, "k8" },
	{ "J-021", "the control that was set is that which is read", comes_back, O, 0, 0, 0, "k8" },
	{ "N-059", "all its fields", comes_back, O, 0, 0, 0, "k8" },
	{ "N-057", "also those that are 0", comes_back, O, 0, 0, 0, "k8" },
	{ "J-038", "map of the state is pmc_map of the control", cstatus, O, 0, 0, 0, "k8" },
	{ "J-032", "cstatus in the page", cstatus, O, 0, 0, 0, "k8" },
	{ "J-032", "clock, two of each kind", packed, O, (long)0x80020402, 1 | 2 << 1, 2, "k8" },
	{ "J-033", "perfctr_mk_cstatus of nothing", packed, O, 0, 0, 0, "k8" },
	{ "J-033", "of three that interrupt", packed, O, 0x00030300, 0, 3, "k8" },
	{ "J-034", "enabled by any of it", of_cstatus, O, 1, 0x00010100, ENABLED, "k8" },
	{ "J-034", "not without", of_cstatus, O, 0, 0, ENABLED, "k8" },
	{ "J-035", "the clock is bit 31", of_cstatus, O, 1, (long)0x80000000, HAS_TSC, "k8" },
	{ "J-035", "no other", of_cstatus, O, 0, 0x7fffffff, HAS_TSC, "k8" },
	{ "J-036", "of both kinds", of_cstatus, O, 4, (long)0x80020402, NRCTRS, "k8" },
	{ "J-036", "of the first kind", of_cstatus, O, 2, (long)0x80020402, NRACTRS, "k8" },
	{ "J-037", "some interrupt", of_cstatus, O, 1, (long)0x80020402, HAS_ICTRS, "k8" },
	{ "J-037", "none does", of_cstatus, O, 0, (long)0x80000202, HAS_ICTRS, "k8" },
	{ "J-006", "after an overflow it stands", suspended, O, 1, 0, 0, "k8" },
	{ "J-060", "and begins anew when it is resumed", suspended, O, 2, 1, 0, "k8" },
	{ "N-042", "a new state is off and zero", new_one, O, 0, 0, 0, "k8" },
	{ "N-043", "there is one", new_one, O, -EEXIST, 1, 0, "k8" },
	{ "N-048", "a handle of nothing", handle, O, -EINVAL, 0, 0, "k8" },
	{ "N-001", "a thread's counters are its own", beside_a_thread, O, 1, 0, 0, "k8" },
	{ "N-012", "they count while it runs", beside_a_thread, O, 1, 0, 0, "k8" },
	{ "N-011", "a child has none", beside_a_child, O, 7, 0, 0, "k8" },
	{ "N-110", "nor is its work the parent's", beside_a_child, O, 7, 0, 0, "k8" },
	{ "N-051", "a new control begins at zero", next_control, O, 2, 0, 0, "k8" },
	{ "N-052", "but for what is to be preserved", next_control, O, 3, KEEP, 0, "k8" },
	{ "N-053", "the clock's, if it is off then", next_control, O, 0, CLOCK_OFF, 0, "k8" },
	{ "N-058", "an empty control stops, sums are kept", next_control, O, 3, EMPTY, 0, "k8" },
	{ "J-053", "what is stopped counts nothing", next_control, O, 3, EMPTY, 0, "k8" },
	{ "N-004", "who has unlinked it has no counters", unlinked, O, -ESRCH, CONTROL, 0, "k8" },
	{ "N-045", "its sums are read by the descriptor", unlinked, O, 0, READ, 0, "k8" },
	{ "N-050", "control of what is detached", unlinked, O, -ESRCH, CONTROL, 0, "k8" },
	{ "N-060", "unlink twice", unlinked, O, 0, UNLINK, 0, "k8" },
	{ "N-080", "iresume of what is detached", unlinked, O, -ESRCH, IRESUME, 0, "k8" },
	{ "N-082", "iresume of what is not suspended", attached, O, -EPERM, IRESUME, 0, "k8" },
	{ "N-081", "suspended but for the clock", suspended, O, 1, 0, 0, "k8" },
	{ "N-082", "iresume goes on", suspended, O, 2, 1, 0, "k8" },
	{ "N-055", "si_signo after an overflow", suspended, O, 1, 0, 0, "k8" },
	{ "N-070", "sums alone, and the control alone", comes_back, O, 0, 0, 0, "k8" },
	{ "N-071", "one's own is as of now", more, O, 2000, 0, 0, "k8" },
	{ "N-022", "another's: stopped but not traced", others, O, -ESRCH, 0, READ, "k8" },
	{ "N-022", "stopped and traced", others, O, 0, 1, READ, "k8" },
	{ "N-044", "another's is opened while it is traced", others, O, 0, 1, READ, "k8" },
	{ "N-056", "control by others", others, O, 0, 1, CONTROL, "k8" },
	{ "N-056", "of what is not traced", others, O, -ESRCH, 0, CONTROL, "k8" },
	{ "N-072", "read by others", others, O, 0, 1, READ, "k8" },
	{ "N-083", "iresume by others, of what is not suspended", others, O, -EPERM, 1, IRESUME, "k8" },
	{ 0 },
};
/* clang-format on */

#define CPU_MODE(cpu) cpu " --cpu=" cpu "\n"

int main(int argc, char **argv)
{
	return abi_main(
		cases,
		CPU_MODE("p5") CPU_MODE("p5mmx") CPU_MODE("mii") CPU_MODE("c6") CPU_MODE("winchip2")
			CPU_MODE("p6") CPU_MODE("pii") CPU_MODE("pentium-m") CPU_MODE("k7")
				CPU_MODE("k8") CPU_MODE("k8c") CPU_MODE("p4") CPU_MODE("p4m2")
					CPU_MODE("p4m3") CPU_MODE("c3") CPU_MODE("generic"),
		argc, argv);
}
