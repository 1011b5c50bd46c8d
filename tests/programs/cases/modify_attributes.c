/* SPDX-License-Identifier: MIT */
/*
 * PERF_EVENT_IOC_MODIFY_ATTRIBUTES on a breakpoint.  The kernel copies the attr as it does at an open, takes sig_data
 * over, switches the event off, and then compares: all of the attr but bp_addr, bp_type, bp_len, disabled and sig_data
 * must be as the event has it, attr.size as well, else it is EINVAL.  Then the event is on if the attr that it has now
 * is not disabled.  Clones in children are changed as well.
 */
/* CASE: session -- */
#include "check.h"
static char big[8192];
static volatile long var, other;
static siginfo_t last;
static volatile int traps;

__attribute__((noinline, noclone)) static void target(void)
{
	other++;
}

__attribute__((noinline, noclone)) static void elsewhere(void)
{
	other--;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	traps++;
	last = *info;
}

static u64 trap_data(void)
{
	return *(u64 *)((char *)&last + 24);
}

/* The error that the call gives; 0: none. */
static int modify(int fd, void *attr)
{
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, attr) ? errno : 0;
}

static void *sized(struct perf_event_attr a, u32 size)
{
	memset(big, 0, sizeof(big));
	memcpy(big, &a, sizeof(a));
	a.size = size;
	memcpy(big, &a, 8);
	return big;
}

static void sizes(struct perf_event_attr a, const char *name)
{
	static const unsigned int size[] = { 72,  80,  96,  104, 112, 120,
					     128, 136, 144, 152, 160, 4096 };

	for (unsigned int i = 0; i < sizeof(size) / sizeof(*size); i++) {
		int fd = xo(sized(a, size[i]), 0, -1, -1, 0);
		int same = modify(fd, sized(a, size[i]));
		int differs = modify(fd, sized(a, size[i] == 112 ? 120 : 112));

		CHECK(same == 0 && differs == EINVAL,
		      "%s of %u bytes: %d with the same size, %d with another", name, size[i], same,
		      differs);
		close(fd);
	}
}

static void signal_data(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct perf_event_attr a = BPX(target);
	int fd, r;

	sigaction(SIGTRAP, &sa, NULL);
	a.sigtrap = a.remove_on_exec = 1;
	a.sample_period = 1;
	a.sig_data = 1;
	a.disabled = 0;
	fd = xo(&a, 0, -1, -1, 0);
	target();
	CHECK(traps == 1 && trap_data() == 1, "the signal has sig_data");
	a.sig_data = 7;
	r = modify(fd, &a);
	target();
	CHECK(r == 0 && traps == 2 && trap_data() == 7, "the next one has the new data");
	a.sig_data = 9;
	a.wakeup_events = 3;
	r = modify(fd, &a);
	target();
	CHECK(r == EINVAL && traps == 3 && trap_data() == 9, "of an attr that is refused, too");
	a.wakeup_events = 0;
	a.sig_data = 11;
	a.bp_addr = (u64)elsewhere;
	r = modify(fd, &a);
	target();
	elsewhere();
	CHECK(r == 0 && traps == 4 && trap_data() == 11, "and at a new place");
	close(fd);
}

static void on_and_off(void)
{
	struct perf_event_attr a = BPX(target);
	int fd = xo(&a, 0, -1, -1, 0);

	EN(fd);
	target();
	CHECK(rd(fd) == 1, "on by ioctl");
	a.read_format = 1;
	CHECK(modify(fd, &a) == EINVAL, "another read_format");
	target();
	CHECK(rd(fd) == 1, "what was opened disabled is off then");
	a.read_format = 0;
	a.disabled = 0;
	a.bp_addr = (u64)elsewhere;
	CHECK(modify(fd, &a) == 0, "moved, and on");
	target();
	elsewhere();
	CHECK(rd(fd) == 2, "it counts at its new place, and goes on from what it had: %llu",
	      (unsigned long long)rd(fd));
	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (u64)&var;
	CHECK(modify(fd, &a) == 0, "from code to data");
	elsewhere();
	var = 1;
	CHECK(rd(fd) == 3, "a write: %llu", (unsigned long long)rd(fd));
	a.bp_type = HW_BREAKPOINT_R;
	CHECK(modify(fd, &a) == EINVAL, "x86 has no breakpoint on reads alone");
	var = 2;
	CHECK(rd(fd) == 4, "all is as it was: %llu", (unsigned long long)rd(fd));
	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr++;
	CHECK(modify(fd, &a) == EINVAL, "not aligned");
	close(fd);
}

/* The memory of a period that was set by ioctl is in the attr. */
static void period(void)
{
	struct perf_event_attr a = BPX(target);
	u64 two = 2;
	int fd;

	a.sample_period = 1;
	fd = xo(&a, 0, -1, -1, 0);
	CHECK(!ioctl(fd, PERF_EVENT_IOC_PERIOD, &two), "period 2");
	CHECK(modify(fd, &a) == EINVAL, "the period that it had is another attr");
	a.sample_period = 2;
	CHECK(modify(fd, &a) == 0, "the period that it has is not");
	close(fd);
}

static void children(void)
{
	struct perf_event_attr a = BPX(target);
	int go[2], ready[2], fd, status;
	char c = 0;
	pid_t pid;

	a.inherit = 1;
	a.disabled = 0;
	fd = xo(&a, 0, -1, -1, 0);
	if (pipe(go) || pipe(ready))
		exit(3);
	pid = fork();
	if (!pid) {
		target();
		if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		target();
		elsewhere();
		elsewhere();
		_exit(0);
	}
	CHECK(read(ready[0], &c, 1) == 1, "the child has begun");
	a.bp_addr = (u64)elsewhere;
	CHECK(modify(fd, &a) == 0, "moved in both");
	CHECK(write(go[1], &c, 1) == 1 && waitpid(pid, &status, 0) == pid && !status, "its end");
	CHECK(rd(fd) == 3, "one there before, two here after: %llu", (unsigned long long)rd(fd));
	close(fd);
}

static void others(void)
{
	struct perf_event_attr a = SWD, clock = SWT, b = BPX(target);
	int fd = xo(&a, 0, -1, -1, 0), clock_fd = xo(&clock, 0, -1, -1, 0);

	CHECK(modify(fd, &a) == EOPNOTSUPP, "no other event can be changed");
	CHECK(modify(fd, &b) == EINVAL, "nor become a breakpoint");
	CHECK(modify(clock_fd, &b) == EINVAL, "nor can a clock");
	CHECK(modify(fd, NULL) == EFAULT, "no address");
	b.size = 20;
	CHECK(modify(fd, &b) == E2BIG && b.size >= 136, "too small: the size is told");
	close(fd);
	close(clock_fd);
}

int main(void)
{
	sizes(BPW((void *)&var, sizeof(var), HW_BREAKPOINT_W), "W");
	sizes(BPX(target), "X");
	signal_data();
	on_and_off();
	period();
	children();
	others();
	return done();
}
