/* SPDX-License-Identifier: MIT */
/*
 * The ABI of 2009 by its library calls: an attr of 56 bytes, by number, what is refused, and what its records look like.  Natively
 * the calls open events of today's kernel.
 */
#include <anyperf/legacy.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>

#include "../tests/programs/abi.h"

#define PAGE 4096L

/* Positions in the attr. */
enum {
	CONFIG = 0,
	IRQ_PERIOD = 8,
	RECORD_TYPE = 16,
	READ_FORMAT = 20,
	BITS = 24,
	EXTRA_LEN = 32,
	WAKEUP = 36,
	RESERVED_2 = 40,
	RESERVED_3 = 48,
	SIZE = 56,
};

#define EXCLUDE_KERNEL (1L << 5)
#define SOFTWARE(id)   (1L << 56 | (id))
#define RAW(code)      ((long)(1UL << 63 | (code)))

struct attr {
	unsigned char b[SIZE];
};

static void put(struct attr *a, int at, uint64_t v)
{
	memcpy(a->b + at, &v,
	       at >= RECORD_TYPE && at < BITS	 ? 4
	       : at == EXTRA_LEN || at == WAKEUP ? 4
						 : 8);
}

static struct attr attr_of(uint64_t config)
{
	struct attr a;

	memset(&a, 0, sizeof(a));
	put(&a, CONFIG, config);
	put(&a, BITS, EXCLUDE_KERNEL);
	return a;
}

static long opened(const struct attr *a, unsigned long flags)
{
	int fd = anyperf_legacy_open((const void *)a, 0, -1, -1, flags);

	return fd < 0 ? -errno : fd;
}

/* a: config */
static long event(const struct abi_case *c)
{
	struct attr a = attr_of((uint64_t)c->a);
	long fd = opened(&a, (unsigned long)c->b);

	return fd < 0 ? fd : 0;
}

/* a: position, b: what is put there */
static long field(const struct abi_case *c)
{
	struct attr a = attr_of(SOFTWARE(1));
	uint64_t v = (uint64_t)c->b;
	long fd;

	put(&a, (int)c->a, c->a == BITS ? v | EXCLUDE_KERNEL : v);
	fd = opened(&a, 0);
	return fd < 0 ? fd : 0;
}

static __attribute__((noinline)) uint64_t worked(long fd, uint64_t n)
{
	uint64_t from = abi_count(fd);

	abi_work(n);
	return abi_count(fd) - from;
}

/* a: config; what 1000 rounds more count */
static long more(const struct abi_case *c)
{
	struct attr a = attr_of((uint64_t)c->a);
	long fd = opened(&a, 0);
	uint64_t few;

	if (fd < 0)
		return fd;
	worked(fd, 1);
	few = worked(fd, 1000);
	return (long)(worked(fd, 2000) - few);
}

/* a: bit 0 of the word of bits is disabled: nothing is counted */
static long off(const struct abi_case *c)
{
	struct attr a = attr_of(SOFTWARE(1));
	long fd;

	put(&a, BITS, EXCLUDE_KERNEL | (uint64_t)c->a);
	fd = opened(&a, 0);
	abi_work(1000);
	return !!abi_count(fd);
}

/* --- records */

union record {
	struct anyperf_legacy_header h;
	uint64_t words[128];
	uint32_t pairs[256];
	uint16_t shorts[512];
	char bytes[1024];
};

static struct anyperf_legacy_page *mapped(long fd)
{
	void *p = anyperf_legacy_mmap(NULL, 9 * PAGE, PROT_READ, MAP_SHARED, (int)fd, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

/* The first one from a place on, which it leaves behind itself; 0: there is none. */
static int next(struct anyperf_legacy_page *page, uint32_t *at, union record *rec)
{
	const char *data = (const char *)page + PAGE;
	uint32_t head = anyperf_legacy_data_head(page);

	if (*at == head)
		return 0;
	memcpy(rec, data + *at % (8 * PAGE), sizeof(rec->h));
	memcpy(rec, data + *at % (8 * PAGE), rec->h.size);
	*at += rec->h.size;
	return 1;
}

/* a: record_type of an event that overflows each 1000 instructions; b: what of the record is asked for */
enum { TYPE, MISC, BYTES, NUMBER, CHAIN };

static long overflow(const struct abi_case *c)
{
	struct attr a = attr_of(1);
	struct anyperf_legacy_page *page;
	union record rec;
	uint32_t at = 0;
	long fd, n = 0;

	put(&a, IRQ_PERIOD, 1000);
	put(&a, RECORD_TYPE, (uint64_t)c->a);
	put(&a, BITS, EXCLUDE_KERNEL | 1);
	fd = opened(&a, 0);
	page = mapped(fd);
	ioctl((int)fd, ANYPERF_LEGACY_IOC_ENABLE, 0);
	abi_work(5400);
	ioctl((int)fd, ANYPERF_LEGACY_IOC_DISABLE, 0);
	while (next(page, &at, &rec)) {
		const uint16_t *chain = rec.shorts + 4; /* nr, hv, kernel, user */

		n++;
		if (c->b == TYPE)
			HOLDS(rec.h.type == (uint32_t)c->a);
		else if (c->b == MISC)
			HOLDS(rec.h.misc == (1 << 1 | 1 << 2));
		else if (c->b == CHAIN)
			HOLDS(chain[0] && chain[3] == chain[0] && !chain[1] && !chain[2] &&
			      rec.h.size == 16 + 8 * chain[0]);
		if (c->b == BYTES)
			return rec.h.size;
	}
	return c->b == NUMBER ? n : n >= 10 ? 0 : n;
}

/* Names have their number and layout of 2009. */
static long comm(const struct abi_case *c)
{
	struct attr a = attr_of(SOFTWARE(1));
	struct anyperf_legacy_page *page;
	union record rec;
	uint32_t at = 0;

	put(&a, BITS, EXCLUDE_KERNEL | 1 << 10);
	page = mapped(opened(&a, 0));
	prctl(PR_SET_NAME, "of2009", 0, 0, 0);
	HOLDS(next(page, &at, &rec));
	HOLDS(rec.pairs[2] == (uint32_t)getpid() && !strcmp(rec.bytes + 16, "of2009"));
	(void)c;
	return (long)rec.h.type;
}

static long mapping(const struct abi_case *c)
{
	struct attr a = attr_of(SOFTWARE(1));
	struct anyperf_legacy_page *page;
	union record rec;
	uint32_t at = 0;
	uint64_t code;
	int file = open("/proc/self/exe", O_RDONLY);

	put(&a, BITS, EXCLUDE_KERNEL | 1 << 8);
	page = mapped(opened(&a, 0));
	code = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	while (next(page, &at, &rec))
		if (rec.words[2] == code) {
			HOLDS(rec.words[3] == PAGE && !rec.words[4] && rec.bytes[40] == '/');
			return (long)rec.h.type;
		}
	(void)c;
	return 0;
}

/* a: wakeup_events; b: overflows.  Does poll say so? */
static long wakes(const struct abi_case *c)
{
	struct attr a = attr_of(1);
	struct pollfd p = { .events = POLLIN };
	long fd;

	put(&a, IRQ_PERIOD, 1000);
	put(&a, RECORD_TYPE, 1);
	put(&a, BITS, EXCLUDE_KERNEL | 1);
	put(&a, WAKEUP, (uint64_t)c->a);
	fd = opened(&a, 0);
	mapped(fd);
	ioctl((int)fd, ANYPERF_LEGACY_IOC_REFRESH, c->b);
	abi_work(500 * (uint64_t)c->b + 1000);
	p.fd = (int)fd;
	return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

static const struct abi_case cases[] = {
	{ "A-040", "flags of 1", event, N | S, -EINVAL, SOFTWARE(1), 1 },
	{ "A-050", "56 bytes, by number", event, N | S, 0, SOFTWARE(1), 0 },
	{ "A-050", "the word of bits is at 24: disabled", off, N | S, 0, 1, 0 },
	{ "A-050", "without it counts", off, N | S, 1, 0, 0 },
	{ "A-051", "bit 10 is comm", comm, N | S, 3, 0, 0 },
	{ "A-051", "bit 8 is mmap", mapping, N | S, 1, 0, 0 },
	{ "A-051", "bit 9 is munmap, which a kernel has not", field, N, -EOPNOTSUPP, BITS, 1 << 9 },
	{ "A-051", "a session has it", field, S, 0, BITS, 1 << 9 },
	{ "A-051", "bit 11 is none", field, N | S, -EINVAL, BITS, 1 << 11 },
	{ "A-051", "nor is bit 63", field, N | S, -EINVAL, BITS, (long)(1UL << 63) },
	{ "A-061", "there is no exclude_host", field, N | S, -EINVAL, BITS, 1 << 12 },
	{ "A-052", "type 0, id 1: instructions", more, S, 2000, 1, 0 },
	{ "A-052", "type 0, id 4: branches", more, S, 1000, 4, 0 },
	{ "A-052", "type 1, id 1: a clock", event, N | S, 0, SOFTWARE(1), 0 },
	{ "A-053", "bit 63: a code of the CPU's", more, S, 2000, RAW(0xc0), 0 },
	{ "A-055", "0x4064, raw", event, S, -EINVAL, RAW(0x4064), 0 },
	{ "I-011", "0x4064, raw", event, S, -EINVAL, RAW(0x4064), 0 },
	{ "B-002", "type 3", event, N | S, -EINVAL, 3L << 56, 0 },
	{ "B-022", "hardware event 7", event, N | S, -EINVAL, 7, 0 },
	{ "B-022", "6: bus cycles", event, S, 0, 6, 0 },
	{ "A-056", "irq_period: overflows", overflow, S, 10, 1, NUMBER },
	{ "A-057", "record_type 1: ip", overflow, S, 16, 1, BYTES },
	{ "A-057", "3: pid and tid as well", overflow, S, 24, 3, BYTES },
	{ "A-057", "15: time and address", overflow, S, 40, 15, BYTES },
	{ "A-057", "64 is none", field, N | S, -EINVAL, RECORD_TYPE, 64 },
	{ "A-058", "extra_config_len", field, N | S, -EINVAL, EXTRA_LEN, 8 },
	{ "A-059", "wakeup_events: five", wakes, S, 1, 5, 7 },
	{ "A-059", "not before", wakes, S, 0, 9, 7 },
	{ "A-059", "0: not before a page is filled", wakes, S, 0, 0, 200 },
	{ "A-059", "0: when it is, by 256 records of 16 bytes", wakes, S, 1, 0, 300 },
	{ "A-060", "the first reserved word", field, N | S, -EINVAL, RESERVED_2, 1 },
	{ "A-060", "the second", field, N | S, -EINVAL, RESERVED_3, 1 },
	{ "D-003", "record_type is the type of an overflow", overflow, S, 0, 3, TYPE },
	{ "E-003", "1 is MMAP", mapping, N | S, 1, 0, 0 },
	{ "E-003", "3 is COMM", comm, N | S, 3, 0, 0 },
	{ "E-012", "misc: USER 2 and OVERFLOW 4", overflow, S, 0, 1, MISC },
	{ "E-099", "a chain: how many of which mode", overflow, S, 0, 32, CHAIN },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
