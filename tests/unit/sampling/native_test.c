/* SPDX-License-Identifier: MIT */
/*
 * The kernel as judge: records that it writes for software events are taken apart field by field, looked
 * at for what must be in them, put together by our writer and must be the same bytes.
 */
/* LIBS: -lpthread */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "area.h"
#include "sampling/record.h"
#include "tap/tap.h"

#define SIZE  65536U
#define PAGES (SIZE / 4096)

static struct area A;
static struct ap_ring_map M;
static struct got G, native;

/* --- the kernel's side */

static int native_open(const struct ap_perf_attr *a, pid_t pid)
{
	long r = syscall(SYS_perf_event_open, a, pid, -1, -1, 0UL);

	return r < 0 ? -errno : (int)r;
}

struct natively {
	int fd;
	struct ap_perf_page *page;
	u64 id;
};

static bool natively_open(struct natively *n, const struct ap_perf_attr *a, pid_t pid)
{
	void *p;

	n->fd = native_open(a, pid);
	if (n->fd == -ENOSYS || n->fd == -EPERM || n->fd == -EACCES || n->fd == -ENOENT)
		tap_lack("the kernel has no perf events for us");
	if (n->fd < 0)
		return false;
	p = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, n->fd, 0);
	if (p == MAP_FAILED && errno == EPERM)
		tap_lack("no memory to lock");
	REQUIRE(p != MAP_FAILED);
	n->page = p;
	REQUIRE(!ioctl(n->fd, AP_PERF_IOC_ID, &n->id));
	return true;
}

static void natively_close(struct natively *n)
{
	munmap(n->page, SIZE + 4096);
	close(n->fd);
}

static bool natively_take(struct natively *n, struct got *got)
{
	const u8 *data = (const u8 *)n->page + 4096;
	u64 head = __atomic_load_n(&n->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = n->page->data_tail;

	if (head == tail)
		return false;
	for (u32 i = 0; i < 8; i++)
		((u8 *)&got->header)[i] = data[(tail + i) % SIZE];
	for (u32 i = 0; i < got->header.size; i++)
		got->bytes[i] = data[(tail + i) % SIZE];
	__atomic_store_n(&n->page->data_tail, tail + got->header.size, __ATOMIC_RELEASE);
	return true;
}

/* --- taking apart */

static const u8 *at;

static u64 next8(void)
{
	u64 v;

	memcpy(&v, at, 8);
	at += 8;
	return v;
}

static void next44(u32 *a, u32 *b)
{
	memcpy(a, at, 4);
	memcpy(b, at + 4, 4);
	at += 8;
}

static struct ap_record_format F;
static struct ap_sample_data D;
static u64 chain[256], regs_user[64], regs_intr[64], words[64];
static u64 stack_dyn;
static const u8 *stack;

static u64 from_record(void *arg, void *to, u64 from, u64 n)
{
	u64 can = from >= stack_dyn ? 0 : stack_dyn - from;

	(void)arg;
	can = can < n ? can : n;
	memcpy(to, stack + from, can);
	return can;
}

static void take_regs(u64 mask, u64 *abi, u64 *regs)
{
	*abi = next8();
	for (u32 i = 0; *abi && i < 64; i++)
		if (mask >> i & 1)
			regs[i] = next8();
}

static void take_stack(void)
{
	u64 size = next8();

	F.stack_user = (u32)size;
	D.copy = size ? from_record : NULL;
	stack = at;
	at += size;
	if (!size)
		return;
	stack_dyn = next8();
	/* behind what could be copied the kernel leaves what was there: ours are zeros */
	memset(native.bytes + (stack - native.bytes) + stack_dyn, 0, size - stack_dyn);
}

static void take_front(u64 type)
{
	u32 none;

	if (type & AP_PERF_SAMPLE_IDENTIFIER)
		F.id = next8();
	if (type & AP_PERF_SAMPLE_IP)
		D.ip = next8();
	if (type & AP_PERF_SAMPLE_TID)
		next44(&D.origin.pid, &D.origin.tid);
	if (type & AP_PERF_SAMPLE_TIME)
		D.origin.time = next8();
	if (type & AP_PERF_SAMPLE_ADDR)
		D.addr = next8();
	if (type & AP_PERF_SAMPLE_ID)
		F.id = next8();
	if (type & AP_PERF_SAMPLE_STREAM_ID)
		F.stream_id = next8();
	if (type & AP_PERF_SAMPLE_CPU)
		next44(&D.origin.cpu, &none);
	if (type & AP_PERF_SAMPLE_PERIOD)
		D.period = next8();
}

static void take_middle(u64 type)
{
	u32 size, zero;

	if (type & AP_PERF_SAMPLE_READ) {
		D.nr_read = 4; /* value, enabled, running, id */
		for (u32 i = 0; i < 4; i++)
			words[i] = next8();
		D.read = words;
	}
	if (type & AP_PERF_SAMPLE_CALLCHAIN) {
		D.nr_chain = (u32)next8();
		REQUIRE(D.nr_chain < AP_ARRAY_SIZE(chain));
		for (u32 i = 0; i < D.nr_chain; i++)
			chain[i] = next8();
		D.chain = chain;
	}
	if (type & AP_PERF_SAMPLE_RAW) {
		next44(&size, &zero);
		REQUIRE(size == 4 && zero == 0); /* a clock has none */
		D.raw = NULL;
	}
	if (type & AP_PERF_SAMPLE_REGS_USER)
		take_regs(F.regs_user, &D.regs_user_abi, regs_user);
	if (type & AP_PERF_SAMPLE_STACK_USER)
		take_stack();
}

static void take_end(u64 type)
{
	if (type & (AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT))
		D.weight = next8();
	if (type & AP_PERF_SAMPLE_DATA_SRC)
		D.data_src = next8();
	if (type & AP_PERF_SAMPLE_TRANSACTION)
		D.transaction = next8();
	if (type & AP_PERF_SAMPLE_REGS_INTR)
		take_regs(F.regs_intr, &D.regs_intr_abi, regs_intr);
	if (type & AP_PERF_SAMPLE_PHYS_ADDR)
		D.phys_addr = next8();
	if (type & AP_PERF_SAMPLE_CGROUP)
		D.cgroup = next8();
	if (type & AP_PERF_SAMPLE_DATA_PAGE_SIZE)
		D.data_page_size = next8();
	if (type & AP_PERF_SAMPLE_CODE_PAGE_SIZE)
		D.code_page_size = next8();
}

static void take_apart(const struct ap_perf_attr *a)
{
	memset(&D, 0, sizeof(D));
	F = (struct ap_record_format){ .sample_type = a->sample_type,
				       .flags = a->flags,
				       .regs_user = a->sample_regs_user,
				       .regs_intr = a->sample_regs_intr };
	D.misc = native.header.misc;
	D.regs_user = regs_user;
	D.regs_intr = regs_intr;
	at = native.bytes + 8;
	take_front(a->sample_type);
	take_middle(a->sample_type);
	take_end(a->sample_type);
	EXPECT_U64((u64)(at - native.bytes), native.header.size);
}

/* What is known of a sample of this thread, so that no two fields can be mixed up. */
static void look_at(const struct ap_perf_attr *a, const struct natively *n)
{
	static u64 last;
	u64 type = a->sample_type;

	if (type & (AP_PERF_SAMPLE_ID | AP_PERF_SAMPLE_IDENTIFIER))
		EXPECT_U64(F.id, n->id);
	if (type & AP_PERF_SAMPLE_STREAM_ID)
		EXPECT_U64(F.stream_id, n->id);
	if (type & AP_PERF_SAMPLE_TID) {
		EXPECT_U64(D.origin.pid, (u32)getpid());
		EXPECT_U64(D.origin.tid, (u32)syscall(SYS_gettid));
	}
	if (type & AP_PERF_SAMPLE_TIME) {
		EXPECT(D.origin.time > last);
		last = D.origin.time;
	}
	if (type & AP_PERF_SAMPLE_PERIOD)
		EXPECT_U64(D.period, a->sample_period);
	if (type & AP_PERF_SAMPLE_CPU)
		EXPECT(D.origin.cpu < 4096);
	if (type & AP_PERF_SAMPLE_READ)
		EXPECT_U64(words[3], n->id);
	if ((type & AP_PERF_SAMPLE_CALLCHAIN) && D.nr_chain > 1) {
		EXPECT_U64(chain[0], AP_PERF_CONTEXT_USER);
		EXPECT(!(type & AP_PERF_SAMPLE_IP) || chain[1] == D.ip);
	}
	if (type & AP_PERF_SAMPLE_REGS_USER)
		EXPECT_U64(D.regs_user_abi, AP_PERF_SAMPLE_REGS_ABI_64);
	if ((type & AP_PERF_SAMPLE_IP) && (type & AP_PERF_SAMPLE_REGS_INTR) && D.regs_intr_abi)
		EXPECT_U64(regs_intr[8], D.ip);
}

static void put_together(int line)
{
	bool wakes;

	REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
	REQUIRE(area_take(&A, SIZE, &G));
	if (!EXPECT_U64(G.header.size, native.header.size) ||
	    !EXPECT_MEM(G.bytes, native.bytes, native.header.size))
		tap_note("line %d, sample_type %llx", line, (unsigned long long)F.sample_type);
}

/* --- samples */

static void burn(void)
{
	for (u32 i = 0; i < 2000000; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
}

static struct ap_perf_attr attr_clock(u64 type)
{
	struct ap_perf_attr a = { .type = AP_PERF_TYPE_SOFTWARE,
				  .size = sizeof(a),
				  .config = AP_PERF_COUNT_SW_TASK_CLOCK,
				  .sample_period = 200000,
				  .sample_type = type,
				  .flags = AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV,
				  .read_format = AP_PERF_FORMAT_TOTAL_TIME_ENABLED |
						 AP_PERF_FORMAT_TOTAL_TIME_RUNNING |
						 AP_PERF_FORMAT_ID,
				  .sample_max_stack = 30 };

	if (type & AP_PERF_SAMPLE_REGS_USER)
		a.sample_regs_user = 0xff0fff;
	if (type & AP_PERF_SAMPLE_REGS_INTR)
		a.sample_regs_intr = 0x1c0;
	if (type & AP_PERF_SAMPLE_STACK_USER)
		a.sample_stack_user = 1024;
	return a;
}

/* Some bits need a newer kernel or more rights: those are left out.  How many samples were seen. */
static u32 sample_with(u64 type)
{
	struct ap_perf_attr a = attr_clock(type);
	struct natively n;
	u32 seen = 0;

	if (!natively_open(&n, &a, 0))
		return 0;
	area_init(&A, &M, SIZE, 0);
	for (u32 tries = 0; tries < 200 && seen < 3; tries++) {
		burn();
		while (natively_take(&n, &native)) {
			if (native.header.type != AP_PERF_RECORD_SAMPLE)
				continue;
			take_apart(&a);
			look_at(&a, &n);
			put_together(__LINE__);
			seen++;
		}
	}
	EXPECT(seen >= 3);
	natively_close(&n);
	return seen;
}

/* What software events have: no branches, no AUX area. */
#define SOFT_BITS ((AP_PERF_SAMPLE_MAX - 1) & ~(AP_PERF_SAMPLE_BRANCH_STACK | AP_PERF_SAMPLE_AUX))

static void each_field_is_as_the_kernel_writes_it(void)
{
	u32 known = 0;

	for (u32 bit = 0; bit < 25; bit++)
		if (SOFT_BITS >> bit & 1)
			known += sample_with(1ULL << bit) > 0;
	EXPECT(known >= 18);
	tap_note("%u fields", known);
}

static void fields_together_are_as_the_kernel_writes_them(void)
{
	srand(11);
	for (u32 n = 0; n < 25; n++) {
		u64 type = (u64)rand() & SOFT_BITS & ~AP_PERF_SAMPLE_PHYS_ADDR;

		type &= n % 2 ? ~AP_PERF_SAMPLE_WEIGHT : ~AP_PERF_SAMPLE_WEIGHT_STRUCT;
		sample_with(type);
	}
	EXPECT(sample_with((SOFT_BITS & 0x3ffff) & ~AP_PERF_SAMPLE_WEIGHT) >= 3);
}

/* --- side-band */

static pid_t watched;

static bool other_record(const struct ap_record_to *to)
{
	const u8 *b = native.bytes + 8;
	struct ap_perf_record_mmap2 v2;
	struct ap_record_mapping m = { 0 };
	struct ap_perf_record_task task;

	switch (native.header.type) {
	case AP_PERF_RECORD_MMAP:
	case AP_PERF_RECORD_MMAP2:
		memcpy(&v2, b, sizeof(v2));
		m = (struct ap_record_mapping){ .addr = v2.addr, .len = v2.len, .pgoff = v2.pgoff };
		m.maj = v2.maj;
		m.min = v2.min;
		m.ino = v2.ino;
		m.ino_generation = v2.ino_generation;
		m.prot = v2.prot;
		m.flags = v2.flags;
		m.filename = (const char *)b + sizeof(v2);
		if (native.header.type == AP_PERF_RECORD_MMAP) {
			m.prot = native.header.misc & AP_PERF_RECORD_MISC_MMAP_DATA ? 3 : 5;
			m.filename = (const char *)b + sizeof(struct ap_perf_record_mmap);
		}
		return !ap_record_mapping(to, &m);
	case AP_PERF_RECORD_COMM:
		return !ap_record_comm(to, (const char *)b + 8,
				       native.header.misc & AP_PERF_RECORD_MISC_COMM_EXEC);
	case AP_PERF_RECORD_FORK:
	case AP_PERF_RECORD_EXIT:
		memcpy(&task, b, sizeof(task));
		EXPECT_U64(native.header.type == AP_PERF_RECORD_FORK ? task.ppid : task.pid,
			   (u32)watched);
		EXPECT_U64(native.header.type == AP_PERF_RECORD_FORK ? task.ptid : task.tid,
			   (u32)watched);
		return !ap_record_task(to, native.header.type, task.pid, task.tid, task.ppid,
				       task.ptid);
	case AP_PERF_RECORD_READ:
		memcpy(words, b + 8, 32);
		return !ap_record_read(to, words, 4);
	case AP_PERF_RECORD_SWITCH:
		return !ap_record_switch(to, native.header.misc & AP_PERF_RECORD_MISC_SWITCH_OUT,
					 native.header.misc &
						 AP_PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	default:
		return false;
	}
}

/* The trailer of pid, tid, time, id, stream id, cpu, identifier, and pid of the record itself. */
static void same_record(void)
{
	bool wakes;
	struct ap_record_origin origin = { 0 };
	const struct ap_record_to to = { &M, &writer_1, &F, &origin, &wakes };
	u32 none, size = native.header.size;

	at = native.bytes + size - 48;
	next44(&origin.pid, &origin.tid);
	origin.time = next8();
	F.id = next8();
	F.stream_id = next8();
	next44(&origin.cpu, &none);
	EXPECT_U64(next8(), F.id);
	if (native.header.type == AP_PERF_RECORD_FORK ||
	    native.header.type == AP_PERF_RECORD_EXIT) {
		u64 time;

		memcpy(&time, native.bytes + 24, 8);
		EXPECT(time - origin.time < 1000000000ULL); /* asked for twice */
		memcpy(native.bytes + 24, &origin.time, 8);
	}
	if (native.header.type == AP_PERF_RECORD_EXIT ||
	    native.header.type == AP_PERF_RECORD_READ) {
		/* it is dying: the trailer has no names for it any more in some kernels */
		memcpy(&origin.pid, native.bytes + 8, 4);
		memcpy(&origin.tid,
		       native.bytes + (native.header.type == AP_PERF_RECORD_READ ? 12 : 16), 4);
		memcpy(native.bytes + size - 48, &origin.pid, 4);
		memcpy(native.bytes + size - 44, &origin.tid, 4);
	}
	REQUIRE(other_record(&to));
	REQUIRE(area_take(&A, SIZE, &G));
	if (!EXPECT_U64(G.header.size, size) || !EXPECT_MEM(G.bytes, native.bytes, size))
		tap_note("record type %u", native.header.type);
}

static void child(int go)
{
	char c;

	REQUIRE(read(go, &c, 1) == 1);
	prctl(PR_SET_NAME, "a-new-name");
	prctl(PR_SET_NAME, "seven77");
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
		_exit(1);
	if (!fork())
		_exit(0);
	wait(NULL);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static u32 sideband(u64 flags)
{
	struct ap_perf_attr a = attr_clock(AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME |
					   AP_PERF_SAMPLE_ID | AP_PERF_SAMPLE_STREAM_ID |
					   AP_PERF_SAMPLE_CPU | AP_PERF_SAMPLE_IDENTIFIER);
	struct natively n;
	int go[2], status;
	u32 kinds = 0;
	pid_t pid;

	a.config = AP_PERF_COUNT_SW_DUMMY;
	a.sample_period = 0;
	a.flags |= AP_PERF_SAMPLE_ID_ALL | flags;
	F = (struct ap_record_format){ .sample_type = a.sample_type, .flags = a.flags };
	area_init(&A, &M, SIZE, 0);
	REQUIRE(!pipe(go));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		child(go[0]);
	watched = pid;
	REQUIRE(natively_open(&n, &a, pid));
	REQUIRE(write(go[1], "", 1) == 1);
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	while (natively_take(&n, &native)) {
		same_record();
		kinds |= 1U << native.header.type;
	}
	natively_close(&n);
	close(go[0]);
	close(go[1]);
	return kinds;
}

static void side_band_is_as_the_kernel_writes_it(void)
{
	const u32 tasks =
		1U << AP_PERF_RECORD_COMM | 1U << AP_PERF_RECORD_FORK | 1U << AP_PERF_RECORD_EXIT;

	EXPECT_U64(sideband(AP_PERF_TASK | AP_PERF_COMM), tasks);
	EXPECT_U64(sideband(AP_PERF_MMAP | AP_PERF_MMAP_DATA | AP_PERF_COMM),
		   tasks | 1U << AP_PERF_RECORD_MMAP);
	EXPECT_U64(sideband(AP_PERF_MMAP | AP_PERF_MMAP2 | AP_PERF_MMAP_DATA | AP_PERF_COMM),
		   tasks | 1U << AP_PERF_RECORD_MMAP2);
	EXPECT(sideband(AP_PERF_CONTEXT_SWITCH) & 1U << AP_PERF_RECORD_SWITCH);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_field_is_as_the_kernel_writes_it),
		TAP(fields_together_are_as_the_kernel_writes_them),
		TAP(side_band_is_as_the_kernel_writes_it),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
