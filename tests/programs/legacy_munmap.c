/* SPDX-License-Identifier: MIT */
/*
 * A program of 2009 that records what is mapped and what is taken away: each case prints the records that came, with
 * addresses as pages behind the case's first one.  Where pages are is chosen by the program, so the lists are known.
 */
/* LIBS: -lpthread */
#define ANYPERF_LEGACY_NAMES
#include <anyperf/legacy.h>

#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>

#define PAGE	  4096UL
#define BASE	  0x200000000000UL
#define PAGES	  64 /* of the area that the cases use */
#define CODE	  (PROT_READ | PROT_EXEC)
#define ALL_RIGHT (PROT_READ | PROT_WRITE | PROT_EXEC)
#define HERE	  (MAP_PRIVATE | MAP_FIXED)
#define RING	  64

struct record {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 addr, len, pgoff;
	char filename[4096];
};

static struct perf_event_mmap_page *ring;
static unsigned at;
static int event, file;
static __u32 first_pid;
static __u64 origin = BASE; /* page 0 of what is shown */
static const char *file_name = "legacy_munmap";

static void die(const char *what)
{
	printf("FAILED: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *page(unsigned long n)
{
	return (void *)(BASE + n * PAGE);
}

static int one_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("affinity");
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("affinity");
	return cpu;
}

static void begin(int has_munmap, int inherit)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.config = (__u64)PERF_TYPE_SOFTWARE << 56 | PERF_COUNT_SW_TASK_CLOCK;
	attr.exclude_kernel = 1;
	attr.mmap = 1;
	attr.munmap = has_munmap;
	attr.inherit = inherit;
	/* what is inherited has a buffer for each CPU: all stay on one */
	event = sys_perf_event_open(&attr, 0, inherit ? one_cpu() : -1, -1, 0);
	if (event < 0)
		die("open");
	ring = mmap(NULL, (1 + RING) * PAGE, PROT_READ, MAP_SHARED, event, 0);
	if (ring == MAP_FAILED)
		die("mmap");
	first_pid = (__u32)getpid();
}

static int next(struct record *r)
{
	const char *data = (const char *)ring + PAGE;
	unsigned head = ring->data_head, mask = RING * PAGE - 1;

	if (head == at)
		return 0;
	for (unsigned i = 0; i < sizeof(r->header); i++)
		((char *)&r->header)[i] = data[(at + i) & mask];
	if (r->header.size > sizeof(*r) || r->header.size < 40)
		die("size of a record");
	for (unsigned i = 0; i < r->header.size; i++)
		((char *)r)[i] = data[(at + i) & mask];
	at += r->header.size;
	return 1;
}

static int is_of_area(const struct record *r)
{
	return r->addr >= origin && r->addr < origin + PAGES * PAGE;
}

/* Pages of a file from its beginning, of anonymous memory and the heap from the area's. */
static void show(const char *what)
{
	static struct record r;

	printf("%s:", what);
	while (next(&r)) {
		const char *slash = strrchr(r.filename, '/');
		const char *name = slash ? slash + 1 : r.filename;
		const char *wanted = origin == BASE ? "anon" : "[heap]";
		int is_anon = !strcmp(name, wanted);

		if (!is_of_area(&r))
			continue;
		printf(" %s%s %llu+%llu@%llu", r.pid == first_pid ? "" : "child ",
		       r.header.type == PERF_RECORD_MMAP     ? "map"
		       : r.header.type == PERF_RECORD_MUNMAP ? "unmap"
							     : "FAILED",
		       (r.addr - origin) / PAGE, r.len / PAGE,
		       (r.pgoff - (is_anon ? origin : 0)) / PAGE);
		if (r.header.misc != PERF_RECORD_MISC_USER || r.header.size & 7)
			printf(" FAILED header");
		if (strcmp(name, is_anon ? wanted : file_name) != 0)
			printf(" FAILED %s", name);
	}
	printf("\n");
}

static void put(unsigned long n, unsigned long pages, int prot, int anon)
{
	int flags = HERE | (anon ? MAP_ANONYMOUS : 0);

	if (mmap(page(n), pages * PAGE, prot, flags, anon ? -1 : file, 0) != page(n))
		die("mmap");
}

static void drop(unsigned long n, unsigned long pages)
{
	if (munmap(page(n), pages * PAGE))
		die("munmap");
}

/* Runs what is written there, so that whoever watches for changed code has looked at it. */
static void run(unsigned long n)
{
	unsigned char *code = page(n);

	code[0] = 0xc3;
	((void (*)(void))(unsigned long)code)();
}

static void whole_and_part(void)
{
	put(0, 4, CODE, 0);
	drop(0, 4);
	show("whole");
	put(0, 6, CODE, 0);
	drop(2, 2);
	drop(0, 6);
	show("middle, then the rest");
	put(0, 2, CODE, 0);
	put(2, 2, CODE, 0);
	put(4, 2, PROT_READ, 0);
	put(6, 2, CODE, 1);
	drop(1, 6);
	show("several at once");
	drop(0, 8);
	show("what is left of them");
	drop(0, 8);
	show("nothing there");
}

static void written_to(void)
{
	put(0, 6, ALL_RIGHT, 1);
	for (unsigned long n = 0; n < 6; n++)
		run(n);
	drop(1, 4);
	show("pages of executed code");
	drop(0, 6);
	show("both ends");
}

static void no_code(void)
{
	put(0, 4, PROT_READ | PROT_WRITE, 1);
	drop(0, 4);
	put(0, 4, PROT_READ, 0);
	drop(0, 4);
	show("data");
	put(0, 4, CODE, 0);
	if (mprotect(page(1), 2 * PAGE, PROT_READ))
		die("mprotect");
	drop(0, 4);
	show("code that became data in the middle");
}

static void refused(void)
{
	put(0, 4, CODE, 0);
	if (!munmap((char *)page(0) + 1, PAGE) || !munmap(page(0), 0))
		die("munmap of nonsense is done");
	if (mmap(page(0), PAGE, CODE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0) != MAP_FAILED)
		die("a mapping is replaced");
	if (mmap(page(0), PAGE, CODE, HERE, -1, 0) != MAP_FAILED)
		die("a mapping of no file");
	show("calls that fail");
	/* older kernels take the target away before they see that there is nothing to move */
	if (mremap(page(32), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page(1)) != MAP_FAILED)
		die("nothing is moved");
	if (!msync(page(1), PAGE, MS_ASYNC))
		drop(1, 1);
	show("and one that may do half of its work");
	drop(0, 4);
	show("what it left");
}

static void replaced(void)
{
	put(0, 4, CODE, 0);
	put(1, 2, CODE, 1);
	show("mapped over");
	put(0, 1, PROT_READ, 1);
	show("by data");
	drop(0, 4);
	show("all of it");
}

static void moved(void)
{
	put(0, 4, CODE, 0);
	if (mremap(page(0), 4 * PAGE, PAGE, 0) != page(0))
		die("mremap");
	show("shrunk");
	put(8, 3, CODE, 1);
	if (mremap(page(0), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page(9)) != page(9))
		die("mremap");
	show("moved");
	if (mremap(page(9), PAGE, PAGE, MREMAP_MAYMOVE) != page(9))
		die("mremap");
	show("stays");
	drop(8, 3);
	show("all three");
}

/* The break itself: malloc takes none meanwhile.  Returns what the kernel says, which is the old one if it fails. */
static __u64 set_break(__u64 to)
{
	return (__u64)syscall(SYS_brk, to);
}

/* The heap's end is code; the break need not be a page's. */
static void by_brk(void)
{
	origin = (set_break(0) + PAGE - 1) & -PAGE;
	if (set_break(origin + 6 * PAGE) != origin + 6 * PAGE)
		die("brk");
	if (mprotect((void *)origin, 6 * PAGE, ALL_RIGHT))
		die("mprotect");
	show("it becomes code");
	if (set_break(origin + 4 * PAGE) != origin + 4 * PAGE)
		die("brk");
	show("two pages");
	if (set_break(origin + 2 * PAGE + 1) != origin + 2 * PAGE + 1)
		die("brk");
	show("a part of one stays");
	if (set_break(1) != origin + 2 * PAGE + 1)
		die("brk of nonsense");
	if (set_break(origin + 3 * PAGE) != origin + 3 * PAGE)
		die("brk");
	show("fails, and grows");
	if (set_break(origin) != origin)
		die("brk");
	show("the rest");
}

/* System V shared memory goes as it was attached, whatever else is there; how long it is no call says. */
static void shared(void)
{
	int id = shmget(IPC_PRIVATE, 4 * PAGE, 0700 | IPC_CREAT);

	file_name = "SYSV00000000 (deleted)";
	if (id < 0)
		die("shmget");
	if (shmat(id, page(0), SHM_EXEC) != page(0) || shmat(id, page(4), SHM_EXEC) != page(4) ||
	    shmat(id, page(8), 0) != page(8) || shmctl(id, IPC_RMID, NULL))
		die("shmat");
	run(2);
	run(7);
	show("twice, and as data");
	if (mprotect(page(1), PAGE, PROT_READ) || munmap(page(6), PAGE))
		die("mprotect");
	show("a part becomes data, and one goes");
	if (!shmdt(page(1)))
		die("shmdt in the middle is done");
	if (shmdt(page(0)) || shmdt(page(8)))
		die("shmdt");
	show("the first and the data");
	if (shmdt(page(4)))
		die("shmdt");
	show("the second");
}

static void pages_of_a_file(void)
{
	file_name = "zero (deleted)"; /* what can be written to may be mapped in another order */
	if (mmap(page(0), 4 * PAGE, CODE, MAP_SHARED | MAP_FIXED | MAP_ANONYMOUS, -1, 0) != page(0))
		die("mmap");
	if (syscall(SYS_remap_file_pages, page(1), PAGE + 1, 0, 3, 0))
		die("remap_file_pages");
	show("another page in the second's place");
	if (!syscall(SYS_remap_file_pages, page(1), PAGE, PROT_READ, 3, 0))
		die("remap_file_pages with a protection is done");
	drop(0, 4);
	show("all of it");
}

/* Who makes any other call is killed: the recording makes none in this process.  getpid is the reader's. */
static void narrow(void)
{
	static const int calls[] = {
		SYS_mmap,   SYS_munmap,	    SYS_mremap,	    SYS_brk,	      SYS_mprotect,
		SYS_write,  SYS_fstat,	    SYS_newfstatat, SYS_ioctl,	      SYS_rt_sigprocmask,
		SYS_exit,   SYS_exit_group, SYS_msync,	    SYS_rt_sigreturn, SYS_getpid,
		SYS_shmget, SYS_shmat,	    SYS_shmdt,	    SYS_shmctl,	      SYS_remap_file_pages,
		-1
	};

	if (seccomp_allow(calls, SECCOMP_RET_KILL_PROCESS, 0))
		die("seccomp");
}

static void alone(const char *what, int has_munmap)
{
	begin(has_munmap, 0);
	if (ioctl(event, PERF_EVENT_IOC_DISABLE, 0))
		die("ioctl");
	put(0, 4, CODE, 0);
	drop(0, 4);
	show("off");
	ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
	put(0, 4, CODE, 0);
	drop(0, 4);
	show(what);
}

static void inherited(int is_filtered)
{
	int status;
	pid_t pid;

	begin(1, 1);
	put(0, 4, CODE, 0);
	pid = fork();
	if (!pid) {
		if (is_filtered)
			narrow();
		drop(1, 1);
		put(8, 1, CODE, 0);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("child");
	show("a child's own");
	drop(0, 4);
	show("and its parent's");
}

/* --- many threads */

#define THREADS 4
#define TURNS	100

static void *worker(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		/* wherever there is room: what one has left another one takes */
		char *p = mmap(NULL, 2 * PAGE, CODE, MAP_PRIVATE, file, 0);

		if (p == MAP_FAILED || munmap(p, 2 * PAGE))
			die("a thread's mapping");
	}
	return arg;
}

/* Each record must fit what those before it have left: nothing is mapped twice, or goes twice. */
static void threads(void)
{
	static struct record r;
	static __u64 there[THREADS];
	unsigned maps = 0, unmaps = 0, wrong = 0;
	pthread_t thread[THREADS];

	begin(1, 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, worker, NULL))
			die("thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	while (next(&r)) {
		int is_map = r.header.type == PERF_RECORD_MMAP, found = -1, room = -1;

		if (r.len != 2 * PAGE || !strstr(r.filename, "/legacy_munmap"))
			continue;
		for (int i = 0; i < THREADS; i++) {
			if (there[i] == r.addr)
				found = i;
			if (!there[i])
				room = i;
		}
		maps += (unsigned)is_map;
		unmaps += !is_map;
		if (is_map ? found >= 0 || room < 0 : found < 0)
			wrong++;
		else
			there[is_map ? room : found] = is_map ? r.addr : 0;
	}
	printf("%u maps, %u unmaps, %u wrong, %llu lost\n", maps, unmaps, wrong,
	       (unsigned long long)anyperf_legacy_lost(ring));
}

int main(int argc, char **argv)
{
	static char line[4096]; /* malloc may not take the break, nor ask what stdout is */
	const char *name = argc > 1 ? argv[1] : "";

	setvbuf(stdout, line, _IOLBF, sizeof(line));
	file = open("/proc/self/exe", O_RDONLY);
	if (!strcmp(name, "alone")) {
		alone("with", 1);
		return 0;
	}
	if (!strcmp(name, "without")) {
		alone("without", 0);
		return 0;
	}
	if (!strcmp(name, "inherited")) {
		inherited(argc > 2);
		return 0;
	}
	if (!strcmp(name, "threads")) {
		threads();
		return 0;
	}
	begin(1, 0);
	if (argc > 2)
		narrow();
	if (!strcmp(name, "parts"))
		whole_and_part();
	else if (!strcmp(name, "written"))
		written_to();
	else if (!strcmp(name, "data"))
		no_code();
	else if (!strcmp(name, "refused"))
		refused();
	else if (!strcmp(name, "replaced"))
		replaced();
	else if (!strcmp(name, "moved"))
		moved();
	else if (!strcmp(name, "brk"))
		by_brk();
	else if (!strcmp(name, "shared"))
		shared();
	else if (!strcmp(name, "pages"))
		pages_of_a_file();
	else
		return 2;
	return 0;
}
