/* SPDX-License-Identifier: MIT */
/*
 * Records of what tasks do: MMAP, COMM, FORK, EXIT, READ, their trailers, and how a ring is filled, lost and read.  An event that
 * counts nothing carries them, so that a kernel without a PMU shows them as well.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "../tests/programs/sample.h"

#include "../tests/programs/abi.h"

#define FLAG(bit)  (1ULL << (bit))
#define MMAP_FLAG  8
#define COMM_FLAG  9
#define TASK_FLAG  13
#define DATA_FLAG  17
#define IDS_FLAG   18
#define MMAP2_FLAG 23

static struct perf_event_attr attr_of(uint64_t flags)
{
	struct perf_event_attr attr = abi_dummy();
	uint64_t word;

	memcpy(&word, (char *)&attr + 40, 8);
	word |= flags;
	memcpy((char *)&attr + 40, &word, 8);
	return attr;
}

static int stay(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return cpu;
}

/* What is inherited is mapped where it is one CPU's. */
static void carry(struct ring *r, struct perf_event_attr *attr, unsigned int pages, int prot)
{
	map_or_die(r, (int)abi_call(attr, 0, attr->inherit ? stay() : -1, -1, 0), pages, prot);
}

#define RW (PROT_READ | PROT_WRITE)

union record {
	struct perf_event_header h;
	uint64_t words[512];
	uint32_t pairs[1024];
	char bytes[4096];
};

/* The next record of a type; 0: there is none. */
static int next_of(struct ring *r, uint32_t type, union record *rec)
{
	while (sample_next(r, rec, sizeof(*rec)))
		if (rec->h.type == type)
			return 1;
	return 0;
}

static long count_of(struct ring *r, uint32_t type)
{
	union record rec;
	long n = 0;

	while (next_of(r, type, &rec))
		n++;
	return n;
}

static void take_name(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* A file with two pages of what could be code. */
static const char file_name[] = "/tmp/abi_records.code";

static int code_file(char *name)
{
	int fd;

	strcpy(name, "/tmp/abi_records.XXXXXX");
	fd = mkstemp(name);
	unlink(name);
	if (fd < 0 || ftruncate(fd, 2 * (long)PAGE))
		_exit(1);
	return fd;
}

/* --- mappings */

/* a: flags; b: protection.  Records of a mapping, its fields checked. */
static long mapping(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of((uint64_t)c->a);
	char name[sizeof(file_name) + 8];
	int file = code_file(name), two = attr.mmap2, at = two ? 72 : 40;
	union record rec;
	uint64_t addr;
	struct ring r;
	long n = 0;

	carry(&r, &attr, 4, RW);
	addr = (uintptr_t)mmap(NULL, PAGE, (int)c->b, MAP_PRIVATE, file, (long)PAGE);
	while (next_of(&r, two ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP, &rec)) {
		if (rec.words[2] != addr)
			continue;
		HOLDS(rec.pairs[2] == (uint32_t)getpid() && rec.pairs[3] == (uint32_t)getpid());
		HOLDS(rec.words[3] == PAGE && rec.words[4] == PAGE);
		HOLDS(!strncmp(rec.bytes + at, name, strlen(name)));
		HOLDS(!(rec.h.size % 8) && rec.h.size >= at + (int)strlen(name) + 1);
		HOLDS(!(rec.h.misc & PERF_RECORD_MISC_MMAP_DATA) == !!(c->b & PROT_EXEC));
		if (two) /* protection and flags behind device and inode */
			HOLDS(rec.pairs[16] == (uint32_t)c->b && rec.pairs[17] == MAP_PRIVATE);
		n++;
	}
	return n;
}

/* --- names */

/* The name and the zeros behind it, to 8 bytes; a: its length */
static long name_record(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	const char *name = &"abcdefghijklmno"[15 - c->a];
	union record rec;
	struct ring r;

	carry(&r, &attr, 4, RW);
	take_name(name);
	HOLDS(next_of(&r, PERF_RECORD_COMM, &rec));
	HOLDS(rec.pairs[2] == (uint32_t)getpid() && rec.pairs[3] == (uint32_t)getpid());
	HOLDS(!strcmp(rec.bytes + 16, name) && !(rec.h.misc & PERF_RECORD_MISC_COMM_EXEC));
	for (int i = 16 + (int)c->a; i < rec.h.size; i++)
		HOLDS(!rec.bytes[i]);
	HOLDS(!sample_next(&r, &rec, sizeof(rec)));
	return rec.h.size;
}

/* An exec has its name, and says that it was one. */
static long exec_record(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	union record rec;
	struct ring r;
	int go[2];
	pid_t pid;
	char byte;

	HOLDS(!pipe(go));
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	map_or_die(&r, (int)abi_call(&attr, pid, -1, -1, 0), 4, RW);
	HOLDS(write(go[1], "", 1) == 1 && waitpid(pid, NULL, 0) == pid);
	HOLDS(next_of(&r, PERF_RECORD_COMM, &rec));
	HOLDS(rec.h.misc & PERF_RECORD_MISC_COMM_EXEC);
	HOLDS(rec.pairs[2] == (uint32_t)pid && !strcmp(rec.bytes + 16, "true"));
	(void)c;
	return 0;
}

/* --- tasks */

static pid_t child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

struct task {
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

/* a: inherit; b: which record.  How many there are of a child. */
static long task_records(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(TASK_FLAG));
	union record rec;
	struct task t;
	struct ring r;
	pid_t pid;
	long n = 0;

	attr.inherit = !!c->a;
	carry(&r, &attr, 4, RW);
	pid = child();
	while (next_of(&r, (uint32_t)c->b, &rec)) {
		HOLDS(rec.h.size == sizeof(t));
		memcpy(&t, &rec, sizeof(t));
		if (t.pid != (uint32_t)pid)
			continue;
		HOLDS(t.tid == t.pid && t.ppid == (uint32_t)getpid());
		HOLDS(c->b == PERF_RECORD_EXIT || t.ptid == (uint32_t)getpid());
		HOLDS(t.time);
		n++;
	}
	return n;
}

/* What an inherited event has counted in a child is told at its end, a: with inherit_stat. */
static long read_record(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	union record rec;
	struct ring r;
	uint64_t id;
	pid_t pid;
	long n = 0;

	attr.inherit = 1;
	attr.inherit_stat = !!c->a;
	attr.read_format = PERF_FORMAT_ID;
	carry(&r, &attr, 4, RW);
	id = r.id;
	pid = child();
	while (next_of(&r, PERF_RECORD_READ, &rec)) {
		HOLDS(rec.pairs[2] == (uint32_t)pid && rec.pairs[3] == (uint32_t)pid);
		HOLDS(rec.words[2] && rec.words[3] == id);
		n++;
	}
	return n;
}

/*
 * Samples of a child: the id is that of the event which was opened, the stream its own.  a: instructions, else page faults.
 * How many tasks there were samples of.
 */
static long streams(const struct abi_case *c)
{
	struct perf_event_attr attr =
		c->a ? abi_instructions() : abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	volatile char *room = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long mine = 0, others = 0;
	union record rec;
	struct ring r;
	pid_t pid;
	long fd;

	attr.inherit = 1;
	attr.sample_period = c->a ? 10000 : 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
	fd = abi_call(&attr, 0, stay(), -1, 0);
	map_or_die(&r, (int)(c->a ? fd : abi_or_lacks(fd)), 64, RW);
	room[0] = 1;
	abi_work(10000);
	pid = fork();
	if (!pid) {
		room[PAGE] = 1;
		abi_work(10000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	while (next_of(&r, PERF_RECORD_SAMPLE, &rec)) {
		int is_mine = rec.pairs[2] == (uint32_t)getpid();

		HOLDS(is_mine || rec.pairs[2] == (uint32_t)pid);
		HOLDS(rec.words[2] == r.id && (rec.words[3] == r.id) == is_mine);
		mine += is_mine;
		others += !is_mine;
	}
	return !!mine + !!others;
}

/* --- ids behind each record */

#define ID_TYPES                                                                                   \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* a: sample_type with ids; the trailer of a COMM record behind its 8 bytes of name.  Bytes of the trailer. */
static long trailer(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG) | FLAG(IDS_FLAG));
	const uint64_t has = (uint64_t)c->a;
	uint64_t from, *at;
	union record rec;
	struct ring r;
	int cpu = stay();

	attr.sample_type = has | PERF_SAMPLE_IP; /* which no trailer has */
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	carry(&r, &attr, 4, RW);
	from = monotonic();
	take_name("seven__");
	HOLDS(next_of(&r, PERF_RECORD_COMM, &rec));
	at = rec.words + 3;
	if (has & PERF_SAMPLE_TID)
		HOLDS(*at++ == ((uint64_t)getpid() << 32 | (uint32_t)getpid()));
	if (has & PERF_SAMPLE_TIME) {
		HOLDS(*at >= from && *at <= monotonic());
		at++;
	}
	if (has & PERF_SAMPLE_ID)
		HOLDS(*at++ == r.id);
	if (has & PERF_SAMPLE_STREAM_ID)
		HOLDS(*at++ == r.id);
	if (has & PERF_SAMPLE_CPU)
		HOLDS(*at++ == (uint64_t)cpu);
	if (has & PERF_SAMPLE_IDENTIFIER)
		HOLDS(*at++ == r.id);
	HOLDS(rec.h.size == (char *)at - rec.bytes);
	return rec.h.size - 24;
}

/* --- rings */

#define NAMES 400 /* records of 24 bytes: more than a page has */

static void many_names(int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%06d", i);
		take_name(name);
	}
}

static int number_of(const union record *rec)
{
	return atoi(rec->bytes + 17);
}

/* A ring that is written at its reader's pace has all of them, in order, over its end many times. */
static long read_as_written(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	union record rec;
	struct ring r;
	char name[16];

	carry(&r, &attr, 1, RW);
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "n%06d", i);
		take_name(name);
		HOLDS(sample_next(&r, &rec, sizeof(rec)) && rec.h.type == PERF_RECORD_COMM);
		HOLDS(rec.h.size == 24 && number_of(&rec) == i);
	}
	(void)c;
	return (long)r.page->data_head;
}

/* Nobody reads: the first ones stay, and LOST before the next one that fits says how many are missing. */
static long lost(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	union record rec;
	struct ring r;
	int kept = 0, next = NAMES;

	carry(&r, &attr, 1, RW);
	many_names(NAMES);
	while (sample_next(&r, &rec, sizeof(rec))) {
		HOLDS(rec.h.type == PERF_RECORD_COMM && number_of(&rec) == kept);
		kept++;
	}
	HOLDS(kept > 100 && kept <= (int)PAGE / 24);
	take_name("n000400");
	HOLDS(sample_next(&r, &rec, sizeof(rec)) && rec.h.type == PERF_RECORD_LOST);
	HOLDS(rec.h.size == 24 && rec.words[1] == r.id);
	HOLDS(rec.words[2] == (uint64_t)(NAMES - kept));
	HOLDS(sample_next(&r, &rec, sizeof(rec)) && number_of(&rec) == next);
	(void)c;
	return 0;
}

/* What was lost is in the event's own number as well. */
static long lost_is_read(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	uint64_t v[2];
	struct ring r;
	long kept;

	attr.read_format = PERF_FORMAT_LOST;
	carry(&r, &attr, 1, RW);
	many_names(NAMES);
	kept = count_of(&r, PERF_RECORD_COMM);
	HOLDS(read(r.fd, v, sizeof(v)) == sizeof(v));
	(void)c;
	return (long)v[1] + kept;
}

/* A ring that is mapped to be read alone has the newest. */
static long overwritten(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	union record rec;
	struct ring r;
	int n = 0;

	carry(&r, &attr, 1, PROT_READ);
	many_names(NAMES);
	HOLDS(r.page->data_head == 24 * NAMES);
	r.tail = r.page->data_head - 24 * 100;
	while (sample_next(&r, &rec, sizeof(rec))) {
		HOLDS(rec.h.type == PERF_RECORD_COMM && number_of(&rec) == NAMES - 100 + n);
		n++;
	}
	(void)c;
	return n;
}

static long head_grows(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	uint64_t was = 0;
	struct ring r;

	carry(&r, &attr, 1, PROT_READ);
	for (int i = 0; i < NAMES; i++) {
		many_names(1);
		HOLDS(r.page->data_head == was + 24);
		was = r.page->data_head;
	}
	HOLDS(was > PAGE);
	(void)c;
	return 0;
}

/* Two events, one ring; a: it is detached again */
static long output(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(0), names = attr_of(FLAG(COMM_FLAG));
	struct ring r;
	long fd;

	carry(&r, &attr, 4, RW);
	fd = c->b ? abi_call(&names, 0, -1, r.fd, PERF_FLAG_FD_OUTPUT) : abi_open(&names, -1);
	if (!c->b)
		HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(uintptr_t)r.fd));
	many_names(3);
	if (c->a) {
		HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)-1L));
		many_names(5);
	}
	return count_of(&r, PERF_RECORD_COMM);
}

/* Output of an event of another CPU; or to one without a ring */
static long output_refused(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(0);
	struct ring r;

	carry(&r, &attr, 1, RW);
	if (c->a)
		return abi_ioctl(abi_call(&attr, 0, 0, -1, 0), PERF_EVENT_IOC_SET_OUTPUT,
				 (void *)(uintptr_t)r.fd);
	return abi_ioctl(abi_open(&attr, -1), PERF_EVENT_IOC_SET_OUTPUT,
			 (void *)(uintptr_t)abi_open(&attr, -1));
}

/* a: bytes of a watermark; is there a wake-up of two records of 24 bytes? */
static long wakes(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(FLAG(COMM_FLAG));
	struct ring r;

	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)c->a;
	carry(&r, &attr, 1, RW);
	many_names(2);
	return !!(sample_polls(r.fd) & POLLIN);
}

/* A filter on what is no tracepoint; a period of what does not sample; numbers that are none */
static long refused_ioctl(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(0);
	static char filter[] = "common_pid == 1";

	return abi_ioctl(abi_open(&attr, -1), (unsigned long)c->a, filter);
}

#define CODE (PROT_READ | PROT_EXEC)

static const struct abi_case cases[] = {
	{ "A-118", "mmap: code", mapping, N | S, 1, FLAG(MMAP_FLAG), CODE },
	{ "A-118", "no data", mapping, N | S, 0, FLAG(MMAP_FLAG), PROT_READ },
	{ "A-118", "none without the bit", mapping, N | S, 0, FLAG(COMM_FLAG), CODE },
	{ "A-120", "mmap_data: data", mapping, N | S, 1, FLAG(DATA_FLAG), PROT_READ },
	{ "A-120", "beside code", mapping, N | S, 1, FLAG(DATA_FLAG) | FLAG(MMAP_FLAG), CODE },
	{ "X-22", "mmap_data: data mappings", mapping, N | S, 1, FLAG(DATA_FLAG), PROT_READ },
	{ "E-030", "MMAP: pid, tid, addr, len, pgoff, name", mapping, N | S, 1, FLAG(MMAP_FLAG),
	  CODE },
	{ "E-030", "MMAP2: protection and flags as well", mapping, N | S, 1,
	  FLAG(MMAP_FLAG) | FLAG(MMAP2_FLAG), CODE },
	{ "A-121", "comm: a name of its own", name_record, N | S, 24, 7, 0 },
	{ "E-033", "COMM: a name of 3 has 8 bytes", name_record, N | S, 24, 3, 0 },
	{ "E-033", "one of 8 has 16", name_record, N | S, 32, 8, 0 },
	{ "E-033", "COMM_EXEC at an exec", exec_record, N | S, 0, 0, 0 },
	{ "E-004", "15 letters and a zero", name_record, N | S, 32, 15, 0 },
	{ "E-004", "2 letters and six zeros", name_record, N | S, 24, 2, 0 },
	{ "E-002", "types 3 and 4, 7 and 8: COMM", name_record, N | S, 24, 1, 0 },
	{ "E-002", "7: FORK", task_records, N | S, 1, 0, 7 },
	{ "A-122", "task: a fork", task_records, N | S, 1, 1, PERF_RECORD_FORK },
	{ "A-122", "and its end", task_records, N | S, 1, 1, PERF_RECORD_EXIT },
	{ "E-036", "FORK: pid, ppid, tid, ptid, time", task_records, N | S, 1, 0,
	  PERF_RECORD_FORK },
	{ "E-034", "EXIT", task_records, N | S, 1, 1, PERF_RECORD_EXIT },
	{ "E-039", "without inherit no EXIT of a child", task_records, N | S, 0, 0,
	  PERF_RECORD_EXIT },
	/* Linux 6.18 writes none: it looks for the task where it has just been taken away */
	{ "A-109", "inherit_stat: READ at a child's end", read_record, S, 1, 1, 0 },
	{ "A-109", "not without", read_record, N | S, 0, 0, 0 },
	{ "E-037", "READ: pid, tid, value, id", read_record, S, 1, 1, 0 },
	{ "Y-14", "inherit_stat: READ at a child's end", read_record, S, 1, 1, 0 },
	{ "Y-15", "READ records", read_record, S, 1, 1, 0 },
	/* the kernel may exchange the clones of two tasks when it switches from one to the other */
	{ "X-18", "a stream of each task, one id", streams, S, 2, 0, 0 },
	{ "X-18", "of instructions", streams, S, 2, 1, 0 },
	{ "D-016", "ID of a clone: its parent's", streams, S, 2, 1, 0 },
	{ "D-017", "STREAM_ID of a clone: its own", streams, S, 2, 1, 0 },
	{ "A-127", "ids behind a record", trailer, N | S, 48, ID_TYPES, 0 },
	{ "E-020", "ids behind a record", trailer, N | S, 16, PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	  0 },
	{ "E-021", "TID alone", trailer, N | S, 8, PERF_SAMPLE_TID, 0 },
	{ "E-021", "TIME alone", trailer, N | S, 8, PERF_SAMPLE_TIME, 0 },
	{ "E-021", "ID alone", trailer, N | S, 8, PERF_SAMPLE_ID, 0 },
	{ "E-021", "STREAM_ID alone", trailer, N | S, 8, PERF_SAMPLE_STREAM_ID, 0 },
	{ "E-021", "CPU alone", trailer, N | S, 8, PERF_SAMPLE_CPU, 0 },
	{ "E-021", "IDENTIFIER comes last", trailer, N | S, 16,
	  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, 0 },
	{ "E-022", "behind the record's own fields", trailer, N | S, 48, ID_TYPES, 0 },
	{ "D-060", "data_head only grows", head_grows, N | S, 0, 0, 0 },
	{ "X-24", "data_head goes beyond the area", head_grows, N | S, 0, 0, 0 },
	{ "D-062", "nothing that is unread is overwritten", lost, N | S, 0, 0, 0 },
	{ "D-063", "read-only: the newest are there", overwritten, N | S, 100, 0, 0 },
	{ "D-064", "LOST comes before the next that fits", lost, N | S, 0, 0, 0 },
	{ "D-064", "FORMAT_LOST has them", lost_is_read, N | S | FROM(6, 0), NAMES, 0, 0 },
	{ "E-032", "LOST: id and number", lost, N | S, 0, 0, 0 },
	{ "X-23", "record 2 is LOST", lost, N | S, 0, 0, 0 },
	{ "D-066", "records wrap", read_as_written, N | S, 24 * NAMES, 0, 0 },
	{ "D-061", "each is whole when the head says so", read_as_written, N | S, 24 * NAMES, 0,
	  0 },
	{ "A-042", "FD_OUTPUT: records go to group_fd's ring", output, N | S, 3, 0, 1 },
	{ "F-034", "SET_OUTPUT: the same by a call", output, N | S, 3, 0, 0 },
	{ "F-034", "-1 detaches", output, N | S, 3, 1, 0 },
	{ "F-034", "an event of a CPU to a task's ring", output_refused, N | S, -EINVAL, 1, 0 },
	{ "A-124", "a watermark of 40 bytes: two names wake", wakes, N | S, 1, 40, 0 },
	{ "A-124", "of 100 bytes do not", wakes, N | S, 0, 100, 0 },
	{ "F-035", "SET_FILTER of no tracepoint", refused_ioctl, N | S, -EINVAL,
	  PERF_EVENT_IOC_SET_FILTER, 0 },
	{ "F-003", "ioctl $ 100", refused_ioctl, N | S, -ENOTTY, _IO('$', 100), 0 },
	{ "F-001", "$ 0 is ENABLE", refused_ioctl, N | S, 0, 0x2400, 0 },
	{ "F-001", "$ 1 is DISABLE", refused_ioctl, N | S, 0, 0x2401, 0 },
	{ "F-001", "$ 2 is REFRESH, of what does not sample", refused_ioctl, N | S, -EINVAL, 0x2402,
	  0 },
	{ "F-001", "$ 3 is RESET", refused_ioctl, N | S, 0, 0x2403, 0 },
	{ "F-001", "$ 4 is PERIOD", refused_ioctl, N | S, -EINVAL, 0x40082404, 0 },
	{ "F-001", "$ 6 is SET_FILTER", refused_ioctl, N | S, -EINVAL, 0x40082406, 0 },
	{ "F-001", "$ 7 is ID", refused_ioctl, N | S, 0, 0x80082407, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
