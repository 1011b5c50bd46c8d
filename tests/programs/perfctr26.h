/* SPDX-License-Identifier: MIT */
/*
 * perfctr 2.6's interface as its programs had it, written down for the tests: numbers, layouts, the
 * encoding of buffers.  Owes nothing to the service's own headers.
 */
#ifndef PERFCTR26_H
#define PERFCTR26_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PERFCTR_ABI	      0x8004D000
#define PERFCTR_INFO	      0x800CD001
#define PERFCTR_CPUS	      0xC008D002
#define PERFCTR_FORBIDDEN     0xC008D003
#define VPERFCTR_CREAT	      0xD006
#define VPERFCTR_OPEN	      0xD007
#define VPERFCTR_READ_SUM     0x800CD008
#define VPERFCTR_UNLINK	      0xD009
#define VPERFCTR_CONTROL      0x400CD00A
#define VPERFCTR_IRESUME      0xD00B
#define VPERFCTR_READ_CONTROL 0x800CD00C
#define GPERFCTR_CONTROL      0xC00CD010
#define GPERFCTR_READ	      0xC00CD011
#define GPERFCTR_STOP	      0xD012
#define GPERFCTR_START	      0xD013

struct buf {
	uint32_t rdsize, wrsize, words[256];
};

struct cpu_control {
	uint32_t tsc_on, nractrs, nrictrs, pmc_map[18], evntsel[18];
	uint32_t escr[18], pebs_enable, pebs_matrix_vert;
	int32_t ireset[18];
	uint32_t reserved[4];
};

struct control {
	int32_t si_signo;
	struct cpu_control cpu;
	uint32_t preserve, flags, reserved[3];
};

struct sum {
	uint64_t tsc, pmc[18];
};

struct info {
	uint32_t abi;
	char version[32];
	uint32_t type, features, khz, mult;
};

struct vperfctr_state {
	struct {
		uint32_t cstatus, id;
		int32_t isuspend_cpu;
		uint32_t tsc_start;
		uint64_t tsc_sum;
		struct {
			uint32_t map, start;
			uint64_t sum;
		} pmc[18];
	} cpu_state;
};

#define rdpmcl(ctr, low) __asm__ volatile("rdpmc" : "=a"(low) : "c"(ctr) : "edx")

static inline uint64_t rdtsc(void)
{
	return __builtin_ia32_rdtsc();
}

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Of a program's parts, that which its argument names. */
struct named {
	const char *name;
	void (*run)(void);
};

static inline int run_named(int argc, char **argv, const struct named *parts, unsigned n)
{
	for (unsigned i = 0; argc > 1 && i < n; i++) {
		if (strcmp(argv[1], parts[i].name))
			continue;
		parts[i].run();
		return 0;
	}
	return 2;
}

/* 2n instructions of which n are branches, and some that do not depend on n. */
static inline void work(uint64_t n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

static inline int device(void)
{
	int fd = open("/dev/perfctr", O_RDONLY);

	if (fd < 0)
		fail("/dev/perfctr");
	return fd;
}

static inline int creat_state(int dev)
{
	int fd = ioctl(dev, VPERFCTR_CREAT, 0);

	if (fd < 0)
		fail("VPERFCTR_CREAT");
	return fd;
}

static inline void add(struct buf *b, unsigned tag, unsigned index, uint32_t val)
{
	if (!val)
		return;
	b->words[b->rdsize++] = tag << 16 | index << 1;
	b->words[b->rdsize++] = val;
}

static inline void add_cpu_control(struct buf *b, const struct cpu_control *c)
{
	add(b, 32, 0, c->tsc_on);
	add(b, 33, 0, c->nractrs);
	add(b, 34, 0, c->nrictrs);
	for (unsigned i = 0; i < 18; i++)
		add(b, 35, i, c->pmc_map[i]);
	for (unsigned i = 0; i < 18; i++)
		add(b, 36, i, c->evntsel[i]);
	for (unsigned i = 0; i < 18; i++)
		add(b, 37, i, (uint32_t)c->ireset[i]);
	for (unsigned i = 0; i < 18; i++)
		add(b, 38, i, c->escr[i]);
	add(b, 39, 0, c->pebs_enable);
	add(b, 40, 0, c->pebs_matrix_vert);
}

static inline int set_control(int fd, const struct control *c)
{
	struct buf b = { 0 };

	add(&b, 9, 0, (uint32_t)c->si_signo);
	add_cpu_control(&b, &c->cpu);
	add(&b, 10, 0, c->preserve);
	add(&b, 11, 0, c->flags);
	return ioctl(fd, VPERFCTR_CONTROL, &b);
}

static inline int raw_control(int fd, uint32_t head, uint32_t val)
{
	struct buf b = { .rdsize = 2, .words = { head, val } };

	return ioctl(fd, VPERFCTR_CONTROL, &b);
}

/* Where a field of the control is; NULL: there is none. */
static inline uint32_t *control_field(struct control *c, unsigned tag, unsigned i)
{
	switch (tag) {
	case 9:
		return (uint32_t *)&c->si_signo;
	case 10:
		return &c->preserve;
	case 11:
		return &c->flags;
	case 32:
		return &c->cpu.tsc_on;
	case 33:
		return &c->cpu.nractrs;
	case 34:
		return &c->cpu.nrictrs;
	case 35:
		return &c->cpu.pmc_map[i];
	case 36:
		return &c->cpu.evntsel[i];
	case 37:
		return (uint32_t *)&c->cpu.ireset[i];
	case 38:
		return &c->cpu.escr[i];
	default:
		return NULL;
	}
}

static inline int read_control(int fd, struct control *c)
{
	struct buf b = { .wrsize = 256 };

	memset(c, 0, sizeof(*c));
	if (ioctl(fd, VPERFCTR_READ_CONTROL, &b))
		return -1;
	for (unsigned at = 0; at < b.rdsize; at += 2) {
		uint32_t *field = control_field(c, b.words[at] >> 16, b.words[at] >> 1 & 0x7fff);

		if (!field || b.words[at] & 1)
			fail("a control that is none");
		*field = b.words[at + 1];
	}
	return 0;
}

static inline int read_sum(int fd, struct sum *s)
{
	struct buf b = { .wrsize = 256 };

	memset(s, 0, sizeof(*s));
	if (ioctl(fd, VPERFCTR_READ_SUM, &b))
		return -1;
	for (unsigned at = 0; at < b.rdsize; at += 3) {
		unsigned i = b.words[at] >> 1 & 0x7fff;
		uint64_t v = b.words[at + 1] | (uint64_t)b.words[at + 2] << 32;

		if (b.words[at] == (48 << 16 | 1))
			s->tsc = v;
		else if (b.words[at] >> 16 == 49 && b.words[at] & 1 && i < 18)
			s->pmc[i] = v;
		else
			fail("a sum that is none");
	}
	return 0;
}

/* As perfctr's documentation has it, line by line. */
static inline uint64_t read_pmc(const volatile struct vperfctr_state *kstate, unsigned i)
{
	uint32_t tsc0 = kstate->cpu_state.tsc_start, tsc1, now, start;
	uint64_t sum;

	for (;;) {
		rdpmcl(kstate->cpu_state.pmc[i].map, now);
		start = kstate->cpu_state.pmc[i].start;
		sum = kstate->cpu_state.pmc[i].sum;
		tsc1 = kstate->cpu_state.tsc_start;
		if (tsc1 == tsc0)
			break;
		tsc0 = tsc1;
	}
	return sum + (now - start);
}

static inline int get_info(int fd, struct info *info)
{
	struct buf b = { .wrsize = 256 };
	uint32_t *version = (uint32_t *)info->version;

	memset(info, 0, sizeof(*info));
	if (ioctl(fd, PERFCTR_INFO, &b))
		return -1;
	for (unsigned at = 0; at < b.rdsize; at += 2) {
		uint32_t v = b.words[at + 1];

		switch (b.words[at] >> 16) {
		case 0:
			info->abi = v;
			break;
		case 1:
			version[b.words[at] >> 1 & 7] = v;
			break;
		case 2:
			info->type = v;
			break;
		case 3:
			info->features = v;
			break;
		case 4:
			info->khz = v;
			break;
		case 5:
			info->mult = v;
			break;
		default:
			fail("an info that is none");
		}
	}
	return 0;
}

/* Of the virtual CPU: retired instructions, and branches, in user mode. */
struct cpu_events {
	unsigned type;
	unsigned tsc;
	uint32_t instr, branch; /* evntsel; 0: it has no such event, or no second counter */
	uint32_t instr_escr, branch_escr;
	uint32_t map[2];
	uint32_t irq; /* bits that make it interrupt */
};

static inline const struct cpu_events *cpu_events(unsigned type)
{
	static const struct cpu_events rows[] = {
		{ 1, 1, 0x0096, 0x0092, 0, 0, { 0, 1 }, 0 },		/* P5 */
		{ 2, 1, 0x0096, 0x0092, 0, 0, { 0, 1 }, 0 },		/* P5MMX */
		{ 3, 1, 0x4100c0, 0x0100c4, 0, 0, { 0, 1 }, 0x100000 }, /* P6, PII, PIII */
		{ 4, 1, 0x4100c0, 0x0100c4, 0, 0, { 0, 1 }, 0x100000 },
		{ 5, 1, 0x4100c0, 0x0100c4, 0, 0, { 0, 1 }, 0x100000 },
		{ 6, 1, 0x0096, 0x0092, 0, 0, { 0, 1 }, 0 }, /* Cyrix MII */
		{ 7, 0, 0x02, 0, 0, 0, { 0, 1 }, 0 },	     /* WinChip C6, 2 */
		{ 8, 0, 0x02, 0, 0, 0, { 0, 1 }, 0 },
		{ 9, 1, 0x4100c0, 0x4100c2, 0, 0, { 0, 1 }, 0x100000 }, /* K7 */
		{ 10, 1, 0xc0, 0, 0, 0, { 1, 1 }, 0 },			/* C3 */
		{ 11, 1, 0x39000, 0x3b000, 0x04000204, 0x0c001e04, { 12, 13 }, 0x04000000 },
		{ 12, 1, 0x39000, 0x3b000, 0x04000204, 0x0c001e04, { 12, 13 }, 0x04000000 },
		{ 13, 1, 0x4100c0, 0x4100c2, 0, 0, { 0, 1 }, 0x100000 }, /* K8 */
		{ 14, 1, 0x4100c0, 0x0100c4, 0, 0, { 0, 1 }, 0x100000 }, /* Pentium M */
		{ 15, 1, 0x4100c0, 0x4100c2, 0, 0, { 0, 1 }, 0x100000 },
		{ 18, 1, 0x410000, 0x4100c4, 0, 0, { 0x40000000, 1 }, 0x100000 }, /* Core 2 */
		{ 21, 1, 0x4100c0, 0x4100c4, 0, 0, { 3, 0 }, 0x100000 },	  /* Nehalem */
		{ 22, 1, 0x410000, 0x4104c4, 0, 0, { 0x40000000, 0 }, 0x100000 }, /* Westmere */
		{ 16, 1, 0x39000, 0x3b000, 0x04000204, 0x0c001e04, { 12, 13 }, 0x04000000 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static inline const struct cpu_events *this_cpu(struct info *info)
{
	int dev = device();
	const struct cpu_events *e;

	if (get_info(dev, info))
		fail("PERFCTR_INFO");
	close(dev);
	e = cpu_events(info->type);
	if (!e) {
		printf("CPU type %u has no events\n", info->type);
		exit(0);
	}
	return e;
}

/* Instructions, and the clock; every `period` one interrupts. */
static inline void one_counter(struct control *c, int period)
{
	struct info info;
	const struct cpu_events *e = this_cpu(&info);

	memset(c, 0, sizeof(*c));
	c->cpu.tsc_on = e->tsc;
	c->cpu.pmc_map[0] = e->map[0];
	c->cpu.evntsel[0] = e->instr;
	c->cpu.escr[0] = e->instr_escr;
	c->cpu.nractrs = !period;
	c->cpu.nrictrs = !!period;
	if (!period)
		return;
	c->cpu.evntsel[0] |= e->irq;
	c->cpu.ireset[0] = -period;
}

/* Instructions and branches; false: one after the other. */
static inline int two_counters(struct control *c)
{
	struct info info;
	const struct cpu_events *e = this_cpu(&info);

	one_counter(c, 0);
	if (!e->branch)
		return 0;
	c->cpu.nractrs = 2;
	c->cpu.pmc_map[1] = e->map[1];
	c->cpu.evntsel[1] = e->branch;
	c->cpu.escr[1] = e->branch_escr;
	return 1;
}

#endif
