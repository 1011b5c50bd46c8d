/* SPDX-License-Identifier: MIT */
/*
 * Samples: their fields, alone and together, how many there are, what switches them off, and how a program hears of them.
 * They are taken of two things.  Page faults of a store to new memory: a kernel without a PMU has them, at the address of the store,
 * with the address of the page.  And each 1000th instruction of a loop, which a session has.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "../tests/programs/sample.h"

#include "../tests/programs/abi.h"

enum { FAULTS, LOOP };

#define PERIOD	1000
#define ROUNDS	5400 /* 10 periods, and less than half of one */
#define SAMPLES 10

extern char touch_store[], spin_dec[], spin_jnz[];

/* Writes to each of n new pages; rdi is the page. */
__attribute__((noinline, noclone)) static void touch(char *page, uint64_t n)
{
	__asm__ volatile(".globl touch_store\n"
			 "1: touch_store: movb $1, (%0)\n"
			 "add $4096, %0\n"
			 "dec %1\n"
			 "jnz 1b"
			 : "+D"(page), "+r"(n)
			 :
			 : "cc", "memory");
}

__attribute__((noinline, noclone)) static void spin(uint64_t n)
{
	__asm__ volatile(".globl spin_dec, spin_jnz\n"
			 "spin_dec: dec %0\n"
			 "spin_jnz: jnz spin_dec"
			 : "+r"(n)
			 :
			 : "cc");
}

static char *new_pages(uint64_t n)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, n * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static struct perf_event_attr attr_of(long source, uint64_t sample_type)
{
	struct perf_event_attr attr =
		source == LOOP ? abi_instructions()
			       : abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = source == LOOP ? PERIOD : 1;
	attr.sample_type = sample_type;
	attr.disabled = 1;
	return attr;
}

static int opened(struct perf_event_attr *attr)
{
	long fd = abi_open(attr, -1);

	return (int)(attr->type == PERF_TYPE_SOFTWARE ? abi_or_lacks(fd) : fd);
}

/* What makes n overflows; where the first page is. */
static char *overflows(long source, uint64_t n)
{
	char *pages = new_pages(n);

	if (source == LOOP)
		spin(n * PERIOD / 2 + 4 * PERIOD / 10);
	else
		touch(pages, n);
	return pages;
}

/* --- one sample, taken apart in the order that the manual page gives */

#define REGS_MASK (1ULL << 5 | 1ULL << 8 | 1ULL << 7) /* di, ip, sp: in the order of their bits */

enum { DI, SP, IP, NREGS };

struct sample {
	uint64_t identifier, ip, time, addr, id, stream, period, read[8], nr, *chain, weight, src,
		transaction;
	uint32_t pid, tid, cpu, res, raw_size, raw;
	uint64_t abi, regs[NREGS], stack_size, dyn_size, intr_abi, intr[NREGS];
	const char *stack;
	uint64_t nbranches, *branches;
};

static const char *take(const char *at, void *to, size_t size)
{
	memcpy(to, at, size);
	return at + size;
}

static const char *take_read(const char *at, const struct perf_event_attr *attr, struct sample *s)
{
	size_t extra = 8 * (size_t)__builtin_popcountll(attr->read_format & 7), n = 1;

	if (attr->read_format & PERF_FORMAT_GROUP)
		memcpy(&n, at, 8);
	return attr->read_format & PERF_FORMAT_GROUP ? take(at, s->read, 8 + 8 * n)
						     : take(at, s->read, 8 + extra);
}

static const char *take_regs(const char *at, uint64_t *abi, uint64_t *regs)
{
	at = take(at, abi, 8);
	return *abi ? take(at, regs, 8 * NREGS) : at;
}

static const char *take_long(const char *at, const struct perf_event_attr *attr, struct sample *s)
{
	const uint64_t t = attr->sample_type;

	if (t & PERF_SAMPLE_CALLCHAIN) {
		at = take(at, &s->nr, 8);
		s->chain = (uint64_t *)at;
		at += 8 * s->nr;
	}
	if (t & PERF_SAMPLE_RAW) {
		at = take(at, &s->raw_size, 4);
		memcpy(&s->raw, at, 4);
		at += s->raw_size;
	}
	if (t & PERF_SAMPLE_BRANCH_STACK) {
		at = take(at, &s->nbranches, 8);
		s->branches = (uint64_t *)at;
		at += 24 * s->nbranches;
	}
	if (t & PERF_SAMPLE_REGS_USER)
		at = take_regs(at, &s->abi, s->regs);
	if (t & PERF_SAMPLE_STACK_USER) {
		at = take(at, &s->stack_size, 8);
		s->stack = at;
		at += s->stack_size;
		if (s->stack_size)
			at = take(at, &s->dyn_size, 8);
	}
	if (t & PERF_SAMPLE_WEIGHT)
		at = take(at, &s->weight, 8);
	if (t & PERF_SAMPLE_DATA_SRC)
		at = take(at, &s->src, 8);
	if (t & PERF_SAMPLE_TRANSACTION)
		at = take(at, &s->transaction, 8);
	if (t & PERF_SAMPLE_REGS_INTR)
		at = take_regs(at, &s->intr_abi, s->intr);
	return at;
}

/* 1: its fields end where it ends. */
static int take_apart(const struct perf_event_header *h, const struct perf_event_attr *attr,
		      struct sample *s)
{
	const uint64_t t = attr->sample_type;
	const char *at = (const char *)(h + 1);

	memset(s, 0, sizeof(*s));
#define FIELD(bit, to)                                                                             \
	do {                                                                                       \
		if (t & (bit))                                                                     \
			at = take(at, &s->to, sizeof(s->to));                                      \
	} while (0)
	FIELD(PERF_SAMPLE_IDENTIFIER, identifier);
	FIELD(PERF_SAMPLE_IP, ip);
	FIELD(PERF_SAMPLE_TID, pid);
	FIELD(PERF_SAMPLE_TID, tid);
	FIELD(PERF_SAMPLE_TIME, time);
	FIELD(PERF_SAMPLE_ADDR, addr);
	FIELD(PERF_SAMPLE_ID, id);
	FIELD(PERF_SAMPLE_STREAM_ID, stream);
	FIELD(PERF_SAMPLE_CPU, cpu);
	FIELD(PERF_SAMPLE_CPU, res);
	FIELD(PERF_SAMPLE_PERIOD, period);
#undef FIELD
	if (t & PERF_SAMPLE_READ)
		at = take_read(at, attr, s);
	at = take_long(at, attr, s);
	return at == (const char *)h + h->size;
}

/* --- what each field must be */

struct taken {
	const struct perf_event_attr *attr;
	long source, fd;
	char *pages;
	uint64_t from, to; /* of the monotonic clock */
	uint64_t number;   /* of the sample, from 1 */
	uint32_t cpu;
	uint64_t mark; /* address of the word MARK on the stack, above where it was taken */
};

#define MARK 0x6d61726b6b72616dULL

/* The work, below a word that is told by its value. */
static __attribute__((noinline)) void take_samples(struct taken *t)
{
	volatile uint64_t mark = MARK;

	t->mark = (uintptr_t)&mark;
	if (t->source == LOOP)
		spin(ROUNDS);
	else
		touch(t->pages, SAMPLES);
	mark = 0;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int in_place(const struct taken *t, uint64_t ip)
{
	return t->source == LOOP ? ip == (uintptr_t)spin_dec || ip == (uintptr_t)spin_jnz
				 : ip == (uintptr_t)touch_store;
}

static long simple_fields(const struct taken *t, const struct sample *s)
{
	const uint64_t has = t->attr->sample_type, id = sample_id((int)t->fd);
	const uint64_t page =
		t->source == FAULTS ? (uintptr_t)t->pages + (t->number - 1) * PAGE : 0;

	HOLDS(!(has & PERF_SAMPLE_IDENTIFIER) || s->identifier == id);
	HOLDS(!(has & PERF_SAMPLE_IP) || in_place(t, s->ip));
	HOLDS(!(has & PERF_SAMPLE_TID) ||
	      (s->pid == (uint32_t)getpid() && s->tid == (uint32_t)syscall(SYS_gettid)));
	HOLDS(!(has & PERF_SAMPLE_TIME) || (s->time >= t->from && s->time <= t->to));
	HOLDS(!(has & PERF_SAMPLE_ADDR) || s->addr == page);
	HOLDS(!(has & PERF_SAMPLE_ID) || s->id == id);
	HOLDS(!(has & PERF_SAMPLE_STREAM_ID) || s->stream == id);
	HOLDS(!(has & PERF_SAMPLE_CPU) || (s->cpu == t->cpu && !s->res));
	HOLDS(!(has & PERF_SAMPLE_PERIOD) || s->period == t->attr->sample_period);
	/* faults of code that runs for the first time are counted in a session, and not sampled (docs/limits.md) */
	HOLDS(!(has & PERF_SAMPLE_READ) || s->read[0] == t->number * t->attr->sample_period ||
	      (t->source == FAULTS && s->read[0] > t->number));
	HOLDS(!(has & PERF_SAMPLE_WEIGHT) || !s->weight);
	HOLDS(!(has & PERF_SAMPLE_TRANSACTION) || !s->transaction);
	return 0;
}

static int regs_fit(const struct taken *t, uint64_t abi, const uint64_t *regs)
{
	uint64_t sp = regs[SP];

	return abi == PERF_SAMPLE_REGS_ABI_64 && in_place(t, regs[IP]) && sp < t->mark &&
	       sp > t->mark - 512 &&
	       (t->source == LOOP || regs[DI] == (uintptr_t)t->pages + (t->number - 1) * PAGE);
}

static long long_fields(const struct taken *t, const struct sample *s)
{
	const uint64_t has = t->attr->sample_type;

	if (has & PERF_SAMPLE_CALLCHAIN)
		HOLDS(s->nr >= 2 && s->chain[0] == PERF_CONTEXT_USER && in_place(t, s->chain[1]));
	if (has & PERF_SAMPLE_RAW)
		HOLDS(s->raw_size == 4 && !s->raw);
	if (has & PERF_SAMPLE_BRANCH_STACK) /* the turns of the loop, the last one first */
		HOLDS(s->nbranches && s->branches[0] == (uintptr_t)spin_jnz &&
		      s->branches[1] == (uintptr_t)spin_dec);
	if (has & PERF_SAMPLE_REGS_USER)
		HOLDS(regs_fit(t, s->abi, s->regs));
	if (has & PERF_SAMPLE_REGS_INTR)
		HOLDS(regs_fit(t, s->intr_abi, s->intr));
	if (has & PERF_SAMPLE_STACK_USER) {
		uint64_t word, at = s->abi ? t->mark - s->regs[SP] : 0;

		HOLDS(s->stack_size == t->attr->sample_stack_user && s->dyn_size <= s->stack_size);
		do { /* the stack begins at sp, which is told where registers are */
			HOLDS(at + 8 <= s->dyn_size);
			memcpy(&word, s->stack + at, 8);
			at += 8;
		} while (word != MARK && !s->abi);
		HOLDS(word == MARK);
	}
	return 0;
}

/* Pins it, so that the CPU is known. */
static uint32_t stay(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return (uint32_t)cpu;
}

/* a: sample_type, b: source.  Number of samples, each with the fields that it must have. */
static long fields(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b, (uint64_t)c->a);
	struct taken t = { .attr = &attr, .source = c->b };
	uint64_t buf[2048];
	struct perf_event_header *h = (void *)buf;
	struct sample s;
	struct ring r;

	attr.sample_regs_user = attr.sample_regs_intr = REGS_MASK;
	attr.sample_stack_user = 1024;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	t.cpu = stay();
	t.fd = opened(&attr);
	map_or_die(&r, (int)t.fd, 64, PROT_READ | PROT_WRITE);
	for (int warm = 1; warm >= 0; warm--) { /* the first time other things happen, too */
		abi_ioctl(t.fd, PERF_EVENT_IOC_RESET, NULL);
		t.pages = new_pages(SAMPLES);
		t.from = now();
		t.number = 0;
		abi_ioctl(t.fd, PERF_EVENT_IOC_PERIOD, &attr.sample_period);
		abi_ioctl(t.fd, PERF_EVENT_IOC_ENABLE, NULL);
		take_samples(&t);
		abi_ioctl(t.fd, PERF_EVENT_IOC_DISABLE, NULL);
		t.to = now();
		while (sample_next(&r, buf, sizeof(buf))) {
			long ret;

			if (warm)
				continue;
			HOLDS(h->type == PERF_RECORD_SAMPLE && !(h->size % 8));
			HOLDS((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER);
			HOLDS(take_apart(h, &attr, &s));
			t.number++;
			ret = simple_fields(&t, &s);
			ret = ret ? ret : long_fields(&t, &s);
			if (ret)
				return ret;
		}
	}
	return (long)t.number;
}

/* a: precise_ip; how many of the samples say that their address is exact */
static long exact_ip(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(LOOP, PERF_SAMPLE_IP);
	uint64_t buf[64];
	struct perf_event_header *h = (void *)buf;
	struct ring r;
	long n = 0;

	attr.precise_ip = c->a & 3;
	map_or_die(&r, opened(&attr), 8, PROT_READ | PROT_WRITE);
	abi_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, NULL);
	spin(ROUNDS);
	abi_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, NULL);
	while (sample_next(&r, buf, sizeof(buf)))
		n += h->misc & PERF_RECORD_MISC_EXACT_IP ? 1 : 100;
	return n;
}

/* --- how many */

static long samples_in(struct ring *r)
{
	uint64_t buf[2048];
	struct perf_event_header *h = (void *)buf;
	long n = 0;

	while (sample_next(r, buf, sizeof(buf)))
		n += h->type == PERF_RECORD_SAMPLE;
	return n;
}

/* a: period; samples are the count over it, whatever the loop's length is */
static long count_by_period(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(LOOP, PERF_SAMPLE_IP);
	struct ring r;

	attr.sample_period = (uint64_t)c->a;
	map_or_die(&r, opened(&attr), 64, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 7; i++) {
		abi_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, NULL);
		spin(777 + 13 * (uint64_t)i);
		abi_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, NULL);
	}
	HOLDS(samples_in(&r) == (long)(sample_count(r.fd) / (uint64_t)c->a));
	return 0;
}

/* Nobody maps it: it counts the same, and a ring that it is sent to later has the samples from then on. */
static long without_mapping(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(LOOP, PERF_SAMPLE_IP), other = abi_dummy();
	struct ring r;
	int fd = opened(&attr);

	HOLDS(fd >= 0 && !abi_ioctl(fd, PERF_EVENT_IOC_ENABLE, NULL));
	HOLDS(abi_more(fd, 5000) == 10000);
	map_or_die(&r, sample_open(&other, 0, -1, -1), 8, PROT_READ | PROT_WRITE);
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(uintptr_t)r.fd));
	spin(ROUNDS);
	abi_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL);
	(void)c;
	return samples_in(&r) >= SAMPLES;
}

/*
 * A clock, a: with a frequency.  What its samples say that their period was: in a session a sample of a task that had lost
 * its CPU stands for several.
 */
static long clock_period(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	uint64_t buf[64];
	const struct perf_event_header *h = (void *)buf;
	struct ring r;

	attr.sample_type = PERF_SAMPLE_PERIOD;
	attr.freq = !!c->a;
	attr.sample_freq = c->a ? (uint64_t)c->a : (uint64_t)c->b;
	map_or_die(&r, opened(&attr), 8, PROT_READ | PROT_WRITE);
	for (int n = 0; n < 3;) {
		abi_work(10000);
		while (sample_next(&r, buf, sizeof(buf)))
			if (h->type == PERF_RECORD_SAMPLE) {
				HOLDS(buf[1] && !(buf[1] % (uint64_t)c->b));
				n++;
			}
	}
	return 0;
}

/* Periods of a frequency: they change, and together they are no more than what was counted. */
static long frequency(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(LOOP, PERF_SAMPLE_PERIOD);
	uint64_t buf[64], first = 0, last = 0, sum = 0;
	const struct perf_event_header *h = (void *)buf;
	struct ring r;

	attr.freq = 1;
	attr.sample_freq = (uint64_t)c->a;
	map_or_die(&r, opened(&attr), 64, PROT_READ | PROT_WRITE);
	abi_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, NULL);
	for (int i = 0; i < 100000 && (!last || last == first); i++) {
		spin(10000);
		while (sample_next(&r, buf, sizeof(buf)))
			if (h->type == PERF_RECORD_SAMPLE) {
				last = buf[1];
				first = first ? first : last;
				sum += last;
			}
	}
	abi_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, NULL);
	HOLDS(last && last != first && sum <= sample_count(r.fd));
	return 0;
}

/* A new period begins at once: the old one, of which much was left, is over. */
static long new_period(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b, PERF_SAMPLE_IP);
	uint64_t shorter = attr.sample_period;
	struct ring r;

	attr.sample_period = 1000000000;
	map_or_die(&r, opened(&attr), 8, PROT_READ | PROT_WRITE);
	abi_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, NULL);
	overflows(c->b, SAMPLES);
	HOLDS(!samples_in(&r));
	HOLDS(!abi_ioctl(r.fd, PERF_EVENT_IOC_PERIOD, &shorter));
	overflows(c->b, SAMPLES);
	abi_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, NULL);
	return samples_in(&r) >= SAMPLES - 1;
}

/* a: what is said of the period; b: 1 of an event that only counts */
static long period_call(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FAULTS, 0);
	uint64_t period = (uint64_t)c->a;

	attr.sample_period = c->b ? 0 : 1000;
	return abi_ioctl(opened(&attr), PERF_EVENT_IOC_PERIOD, &period);
}

/* --- REFRESH, and how one hears */

static volatile int ins, hups;

static void heard(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	ins += info->si_code == POLL_IN;
	hups += info->si_code == POLL_HUP;
}

static void hear(int fd)
{
	struct sigaction sa = { .sa_sigaction = heard, .sa_flags = SA_SIGINFO };

	sigaction(SIGRTMIN, &sa, NULL);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, SIGRTMIN);
	fcntl(fd, F_SETFL, O_ASYNC);
}

/* a: of so many overflows; samples that there are of more than that */
static long refresh(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b, PERF_SAMPLE_IP);
	struct ring r;
	uint64_t stands;
	long n;

	map_or_die(&r, opened(&attr), 8, PROT_READ | PROT_WRITE);
	HOLDS(!abi_ioctl(r.fd, PERF_EVENT_IOC_REFRESH, (void *)c->a));
	for (int i = 0; i < 4; i++)
		overflows(c->b, SAMPLES);
	n = samples_in(&r);
	if (c->a) { /* it is off since */
		stands = sample_count(r.fd);
		overflows(c->b, SAMPLES);
		HOLDS(sample_count(r.fd) == stands);
		HOLDS(c->b == LOOP ? stands == PERIOD * (uint64_t)c->a : stands >= (uint64_t)c->a);
	}
	return n >= 4 * SAMPLES ? 1000 : n;
}

/* 1 and 2 more are 3: two POLL_IN and, where it ends, POLL_HUP */
static long refresh_adds_up(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b, PERF_SAMPLE_IP);
	int fd = opened(&attr);

	hear(fd);
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_REFRESH, (void *)2));
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_REFRESH, (void *)1));
	overflows(c->b, SAMPLES);
	while (ins + hups < 3)
		abi_work(1000);
	return hups * 10 + ins;
}

enum { COUNTING = 1, INHERITED };

static long refused_refresh(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FAULTS, PERF_SAMPLE_IP);

	attr.inherit = c->a == INHERITED;
	attr.sample_period = c->a == COUNTING ? 0 : 1;
	return abi_ioctl(opened(&attr), PERF_EVENT_IOC_REFRESH, (void *)1);
}

/* a: wakeup_events, b: source.  How often poll has something to say of 10 samples. */
static long wakes(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b, PERF_SAMPLE_IP);
	struct ring r;
	long n = 0;

	attr.wakeup_events = (uint32_t)c->a;
	map_or_die(&r, opened(&attr), 8, PROT_READ | PROT_WRITE);
	/* what happens the first time, and the first sample, is not seen */
	abi_ioctl(r.fd, PERF_EVENT_IOC_REFRESH, (void *)(SAMPLES * 2));
	overflows(c->b, 2 * SAMPLES);
	HOLDS(samples_in(&r) == 2 * SAMPLES);
	n = !!(sample_polls(r.fd) & POLLIN);
	return n * 10 + !!(sample_polls(r.fd) & POLLIN);
}

/* a: bytes of the watermark, b: samples; is there a wake-up?  A sample with nothing but its address has 16 bytes. */
static long watermark(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FAULTS, PERF_SAMPLE_IP);
	struct ring r;

	attr.watermark = c->a >= 0;
	attr.wakeup_watermark = c->a >= 0 ? (uint32_t)c->a : 0;
	map_or_die(&r, opened(&attr), 1, PROT_READ | PROT_WRITE);
	abi_ioctl(r.fd, PERF_EVENT_IOC_REFRESH, (void *)c->b);
	for (long n = 0; n < c->b; n += SAMPLES)
		overflows(FAULTS, SAMPLES);
	HOLDS(r.page->data_head == 16 * (uint64_t)c->b);
	return !!(sample_polls(r.fd) & POLLIN);
}

/* A group whose leader samples: the ids of both, of the group read, are each event's own. */
static long ids_of_group(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FAULTS, PERF_SAMPLE_ID | PERF_SAMPLE_IP);
	uint64_t buf[64];
	long n[2] = { 0, 0 };
	struct ring r;
	int member;

	map_or_die(&r, opened(&attr), 8, PROT_READ | PROT_WRITE);
	attr.disabled = 0;
	member = sample_open(&attr, 0, -1, r.fd);
	HOLDS(!abi_ioctl(member, PERF_EVENT_IOC_SET_OUTPUT, (void *)(uintptr_t)r.fd));
	abi_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, NULL);
	overflows(FAULTS, SAMPLES);
	abi_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, NULL);
	while (sample_next(&r, buf, sizeof(buf)))
		for (int i = 0; i < 2; i++)
			n[i] += buf[2] == sample_id(i ? member : r.fd);
	HOLDS(n[0] >= SAMPLES && n[0] == n[1]);
	(void)c;
	return 0;
}

#define ID_FIELDS                                                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |             \
	 PERF_SAMPLE_PERIOD)
#define EVERYTHING                                                                                 \
	(long)(ID_FIELDS | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |            \
	       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |               \
	       PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR)
#define BOTH(id, what, type)                                                                       \
	{ id, what ", of page faults", fields, N | S, SAMPLES, (long)(type), FAULTS },             \
	{                                                                                          \
		id, what ", of a loop", fields, S, SAMPLES, (long)(type), LOOP                     \
	}

static const struct abi_case cases[] = {
	BOTH("D-010", "IP", PERF_SAMPLE_IP),
	BOTH("D-011", "TID", PERF_SAMPLE_TID),
	BOTH("D-012", "TIME", PERF_SAMPLE_TIME),
	BOTH("D-013", "ADDR", PERF_SAMPLE_ADDR),
	BOTH("D-014", "READ", PERF_SAMPLE_READ),
	BOTH("D-015", "CALLCHAIN", PERF_SAMPLE_CALLCHAIN),
	BOTH("D-016", "ID", PERF_SAMPLE_ID),
	BOTH("D-017", "STREAM_ID", PERF_SAMPLE_STREAM_ID),
	BOTH("D-018", "CPU", PERF_SAMPLE_CPU),
	BOTH("D-019", "PERIOD", PERF_SAMPLE_PERIOD),
	BOTH("X-20", "the period", PERF_SAMPLE_PERIOD),
	BOTH("Y-09", "the period, no count", PERF_SAMPLE_PERIOD),
	BOTH("D-020", "RAW of what has none", PERF_SAMPLE_RAW),
	BOTH("E-093", "RAW: 4 bytes and a size of 4", PERF_SAMPLE_RAW | PERF_SAMPLE_IP),
	{ "D-021", "BRANCH_STACK", fields, S, SAMPLES, PERF_SAMPLE_BRANCH_STACK, LOOP },
	{ "E-092", "branches behind their number", fields, S, SAMPLES,
	  PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER, LOOP },
	{ "X-26", "a branch stack has a number", fields, S, SAMPLES, PERF_SAMPLE_BRANCH_STACK,
	  LOOP },
	BOTH("D-022", "REGS_USER", PERF_SAMPLE_REGS_USER),
	BOTH("D-023", "registers have an ABI word of 2", PERF_SAMPLE_REGS_USER),
	BOTH("E-091", "three registers", PERF_SAMPLE_REGS_USER | PERF_SAMPLE_IP),
	BOTH("H-009", "registers and their word", PERF_SAMPLE_REGS_USER),
	BOTH("D-024", "STACK_USER", PERF_SAMPLE_STACK_USER),
	BOTH("D-001", "REGS_INTR and what came later", PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_WEIGHT),
	BOTH("D-001", "IP, TID and TIME", PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME),
	BOTH("D-002", "fields of all years", EVERYTHING),
	BOTH("D-004", "all in the order of the record", EVERYTHING),
	BOTH("E-038", "samples", ID_FIELDS),
	BOTH("E-090", "each field in its place", EVERYTHING),
	BOTH("E-095", "a chain: its number, a marker, the address", PERF_SAMPLE_CALLCHAIN),
	BOTH("E-096", "the marker of user mode", PERF_SAMPLE_CALLCHAIN),
	BOTH("E-100", "pid and tid, CPU and 0: pairs of 32 bits",
	     PERF_SAMPLE_TID | PERF_SAMPLE_CPU),
	BOTH("E-001", "type, misc and the size of all", EVERYTHING),
	BOTH("E-010", "misc is USER", PERF_SAMPLE_IP),
	BOTH("Y-05", "misc: the mode of the CPU", PERF_SAMPLE_IP),
	BOTH("D-025", "in a ring", PERF_SAMPLE_IP | PERF_SAMPLE_READ),
	BOTH("D-041", "in the data area", PERF_SAMPLE_IP),
	BOTH("A-138", "what sample_type names", ID_FIELDS),
	{ "E-011", "EXACT_IP where it was asked for", exact_ip, S, SAMPLES, 2, 0 },
	{ "E-011", "not where it was not", exact_ip, S, 100 * SAMPLES, 0, 0 },
	{ "E-013", "a mode and a flag", exact_ip, S, SAMPLES, 3, 0 },
	{ "A-103", "overflows are the count over 97", count_by_period, S, 0, 97, 0 },
	{ "D-030", "each 7", count_by_period, S, 0, 7, 0 },
	{ "D-030", "each 10007", count_by_period, S, 0, 10007, 0 },
	{ "D-034", "no mapping is needed", without_mapping, S, 1, 0, 0 },
	{ "A-042", "records go where they are sent", without_mapping, S, 1, 0, 0 },
	{ "D-035", "a clock, each ms", clock_period, N | S, 0, 0, 1000000 },
	{ "B-050", "timers sample clocks", clock_period, N | S, 0, 0, 2000000 },
	{ "A-105", "of a clock with 500 Hz a period is made", clock_period, N | S, 0, 500,
	  2000000 },
	{ "A-104", "a frequency adapts its period", frequency, S, 0, 1000, 0 },
	{ "D-031", "a frequency adapts its period", frequency, S, 0, 4000, 0 },
	{ "X-21", "a frequency adapts", frequency, S, 0, 1000, 0 },
	{ "Y-07", "a frequency adapts while it runs", frequency, S, 0, 2000, 0 },
	{ "F-032", "PERIOD begins at once", new_period, S, 1, 0, LOOP },
	{ "F-032", "of faults", new_period, N | S, 1, 0, FAULTS },
	{ "X-12", "at once", new_period, S, 1, 0, LOOP },
	{ "F-033", "a period of 0", period_call, N | S, -EINVAL, 0, 0 },
	{ "F-033", "of bit 63", period_call, N | S, -EINVAL, (long)(1UL << 63), 0 },
	{ "F-033", "of what only counts", period_call, N | S, -EINVAL, 1000, 1 },
	{ "F-033", "of 5", period_call, N | S, 0, 5, 0 },
	{ "F-020", "REFRESH 3: on for three overflows", refresh, S, 3, 3, LOOP },
	{ "F-020", "of faults", refresh, N | S, 3, 3, FAULTS },
	{ "F-022", "enables for n overflows", refresh, N | S, 7, 7, FAULTS },
	{ "Y-04", "enables for n overflows", refresh, S, 5, 5, LOOP },
	{ "F-023", "REFRESH 0: no limit", refresh, S, 1000, 0, LOOP },
	{ "X-13", "REFRESH 0: no limit", refresh, N | S, 1000, 0, FAULTS },
	{ "F-024", "they add up; POLL_IN, the last POLL_HUP", refresh_adds_up, S, 12, 0, LOOP },
	{ "F-024", "of faults", refresh_adds_up, N | S, 12, 0, FAULTS },
	{ "F-021", "REFRESH of what only counts", refused_refresh, N | S, -EINVAL, COUNTING, 0 },
	{ "F-021", "of what is inherited", refused_refresh, N | S, -EINVAL, INHERITED, 0 },
	{ "F-004", "REFRESH takes a number", refused_refresh, N | S, -EINVAL, COUNTING, 0 },
	{ "D-081", "wakeup_events: each 5, told once", wakes, N | S, 10, 5, FAULTS },
	{ "D-081", "of a loop", wakes, S, 10, 5, LOOP },
	{ "D-081", "not before the 21st", wakes, N | S, 0, 21, FAULTS },
	{ "F-051", "at n events", wakes, S, 10, 20, LOOP },
	{ "D-084", "0: at half of the area alone, not before", wakes, N | S, 0, 0, FAULTS },
	{ "A-124", "a watermark of 160 bytes", watermark, N | S, 1, 159, 10 },
	{ "A-124", "not at fewer", watermark, N | S, 0, 200, 10 },
	{ "A-125", "the word is one of bytes with the bit", watermark, N | S, 0, 200, 12 },
	{ "D-082", "wakeup_watermark", watermark, N | S, 1, 100, 10 },
	{ "D-083", "it is not ignored", watermark, N | S, 1, 20, 2 },
	{ "D-080", "half of the area", watermark, N | S, 1, -1, 140 },
	{ "D-080", "less than half", watermark, N | S, 0, -1, 120 },
	{ "X-28", "half of the area", watermark, N | S, 1, -1, 140 },
	/* Linux 6.18 writes one id for all software events of a moment */
	{ "X-17", "SAMPLE_ID is each event's own", ids_of_group, S, 0, 0, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
