/* SPDX-License-Identifier: MIT */
/*
 * What calls on memory say of the pages of a perf descriptor, one line each: the same natively and
 * in a session, as long as the kernel's pages are of the kind that this one makes.
 *
 *	perf_pages args | protect | advise | others | grow | files
 *	perf_pages kind		status 0: they are
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE   4096UL
#define AREA   (3 * PAGE)
#define RW     (PROT_READ | PROT_WRITE)
#define SHARED MAP_SHARED

static int fd;

static void show(const char *what, long ret)
{
	/* an address is not the same twice */
	if (ret > 4096 || ret < -4096)
		ret = 1;
	printf("%s = %ld %s\n", what, ret, ret < 0 ? strerrorname_np(errno) : "");
	fflush(stdout);
}

#define SHOW(call) (errno = 0, show(#call, (long)(call)))

static int event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static char *area(unsigned long size, int prot)
{
	char *p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		printf("no area: %s\n", strerrorname_np(errno));
	return p;
}

/* --- what mmap takes */

static void map(const char *what, unsigned long size, int prot, int flags, long off)
{
	void *p;

	errno = 0;
	p = mmap(NULL, size, prot, flags, fd, off);
	show(what, p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED)
		munmap(p, size);
}

#define MAP(size, prot, flags, off) map(#size " " #prot " " #flags " " #off, size, prot, flags, off)

static void sizes(void)
{
	MAP(0, RW, SHARED, 0);
	MAP(1, RW, SHARED, 0);
	MAP(4097, RW, SHARED, 0);
	MAP(8192, RW, SHARED, 0);
	MAP(8193, RW, SHARED, 0);
	MAP(12288, RW, SHARED, 0);
	MAP(16384, RW, SHARED, 0);
	MAP(1UL << 32, RW, SHARED, 0);
	MAP((1UL << 40) + 4096, RW, SHARED, 0);
	MAP(1UL << 44, RW, SHARED, 0);
	MAP(1UL << 46, RW, SHARED, 0);
	MAP((1UL << 46) + 4096, RW, SHARED, 0);
	MAP(1UL << 47, RW, SHARED, 0);
	MAP(1UL << 48, RW, SHARED, 0);
	MAP((1UL << 48) + 4096, RW, SHARED, 0);
	MAP(1UL << 62, RW, SHARED, 0);
	MAP(~0UL, RW, SHARED, 0);
	MAP(~0UL - 4095, RW, SHARED, 0);
	MAP(1UL << 48, PROT_READ, MAP_PRIVATE, 0);
	MAP(1UL << 48, RW, SHARED, 4096);
	MAP(4096, RW, SHARED, 1);
	MAP(4096, RW, SHARED, 4096);
	MAP(4096, RW, SHARED, 8192);
	MAP(4096, RW, SHARED, 1L << 62);
	MAP(4096, RW, SHARED, -4096L);
}

static void flags(void)
{
	MAP(4096, PROT_NONE, SHARED, 0);
	MAP(4096, PROT_READ, SHARED, 0);
	MAP(4096, PROT_WRITE, SHARED, 0);
	MAP(4096, PROT_READ | PROT_EXEC, SHARED, 0);
	MAP(4096, PROT_EXEC, MAP_PRIVATE, 0);
	MAP(1UL << 48, PROT_EXEC, SHARED, 0);
	MAP(4096, PROT_READ | 0x100, SHARED, 0);
	MAP(4096, PROT_READ, MAP_PRIVATE, 0);
	MAP(4096, RW, MAP_PRIVATE, 0);
	MAP(4096, RW, 0, 0);
	MAP(4096, RW, MAP_SHARED_VALIDATE, 0);
	MAP(4096, RW, MAP_SHARED_VALIDATE | MAP_SYNC, 0);
	MAP(4096, RW, MAP_SHARED_VALIDATE | 0x08000000, 0);
	MAP(4096, RW, SHARED | MAP_LOCKED, 0);
	MAP(4096, RW, SHARED | MAP_POPULATE, 0);
	MAP(4096, RW, SHARED | MAP_POPULATE | MAP_NONBLOCK, 0);
	MAP(4096, RW, SHARED | MAP_NORESERVE, 0);
	MAP(4096, RW, SHARED | MAP_GROWSDOWN, 0);
	MAP(4096, RW, SHARED | MAP_STACK, 0);
	MAP(4096, RW, SHARED | MAP_DENYWRITE, 0);
	MAP(4096, RW, SHARED | MAP_HUGETLB, 0);
	MAP(4096, RW, SHARED | MAP_ANONYMOUS, 0);
	MAP(4096, RW, SHARED | MAP_32BIT, 0);
	MAP(4096, RW, 8, 0);
}

static void args(void)
{
	sizes();
	flags();
	SHOW(mmap((void *)PAGE, 4096, RW, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0));
	SHOW(mmap((void *)100, 4096, RW, MAP_SHARED | MAP_FIXED, fd, 0));
	SHOW(mmap((void *)(1UL << 47), 4096, RW, MAP_SHARED | MAP_FIXED, fd, 0));
	SHOW(mmap((void *)(1UL << 48), 4096, RW, MAP_SHARED | MAP_FIXED, fd, 0));
}

/* --- protections */

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static const char *touch(volatile char *p, int write)
{
	int sig = sigsetjmp(back, 1);

	if (sig)
		return sig == SIGBUS ? "SIGBUS" : "SIGSEGV";
	if (write)
		p[2048] = 1;
	else
		(void)p[2048];
	return "works";
}

static void touches(const char *what, char *p)
{
	for (unsigned long at = 0; at < AREA; at += PAGE)
		printf("%s: page %lu: read %s\n", what, at / PAGE, touch(p + at, 0));
	printf("%s: write %s\n", what, touch(p, 1));
}

static void protect(void)
{
	char *p;

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	p = area(AREA, PROT_READ);
	touches("for reading", p);
	SHOW(mprotect(p, AREA, RW));
	touches("for reading, then both", p);
	SHOW(mprotect(p, PAGE, PROT_NONE));
	SHOW(mprotect(p + PAGE, PAGE, PROT_READ));
	touches("in parts", p);
	SHOW(mprotect(p, AREA, PROT_EXEC));
	SHOW(mprotect(p, AREA, PROT_READ | PROT_EXEC));
	SHOW(mprotect(p + PAGE, PAGE, RW | PROT_EXEC));
	SHOW(mprotect(p, PAGE, PROT_READ | PROT_GROWSDOWN));
	SHOW(mprotect(p + 1, PAGE, PROT_READ));
	SHOW(mprotect(p, 0, PROT_EXEC));
	SHOW(mprotect(p, AREA, RW));
	SHOW(syscall(SYS_pkey_mprotect, p, PAGE, PROT_EXEC, -1));
	touches("both", p);
	SHOW(munmap(p + PAGE, PAGE));
	SHOW(mprotect(p, AREA, PROT_READ));
	SHOW(munmap(p, AREA));
	/* the kernel has a personality that makes what is readable executable */
	p = area(PAGE, PROT_READ);
	SHOW(mprotect(p, PAGE, PROT_READ | PROT_EXEC));
	SHOW(munmap(p, PAGE));
}

/* --- advice and what else is said of pages */

static void in_child(char *p)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(syscall(SYS_mincore, p, PAGE, (char[1]){ 0 }) ? errno : 0);
	waitpid(pid, &status, 0);
	printf("in a child: %s\n",
	       WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "0");
}

static void advise(void)
{
	char *p = area(AREA, RW), name[40];

	for (int i = 0; i < 28; i++) {
		if (i == 12 || i == 14) /* KSM and huge pages may not be built in */
			continue;
		snprintf(name, sizeof(name), "advice %d", i);
		errno = 0;
		show(name, madvise(p, AREA, i));
	}
	errno = 0;
	show("advice 100", madvise(p, AREA, 100));
	errno = 0;
	show("advice 101", madvise(p, AREA, 101));
	in_child(p);
	SHOW(madvise(p, AREA, MADV_DOFORK));
	in_child(p);
	SHOW(madvise(p, AREA, MADV_DONTFORK));
	in_child(p);
	SHOW(madvise(p, PAGE, MADV_DONTNEED));
	SHOW(madvise(p + PAGE, PAGE, MADV_DONTNEED));
	SHOW(madvise(p + 1, PAGE, MADV_DONTNEED));
	printf("version %u\n", ((struct perf_event_mmap_page *)p)->version + 1);
	munmap(p, AREA);
}

static void say_data(const char *what, const char *p)
{
	const struct perf_event_mmap_page *page = (const void *)p;

	printf("%s: size %llu, data at %llu\n", what, (unsigned long long)page->data_size,
	       (unsigned long long)page->data_offset);
}

static void others(void)
{
	char *p = area(AREA, RW);
	int ends[2];

	(void)!pipe(ends);
	SHOW(msync(p, AREA, MS_SYNC));
	SHOW(msync(p, AREA, MS_ASYNC));
	SHOW(msync(p, AREA, MS_INVALIDATE));
	SHOW(msync(p, AREA, MS_ASYNC | MS_SYNC));
	SHOW(msync(p + 1, AREA, MS_SYNC));
	SHOW(msync(p, AREA, 8));
	SHOW(mlock(p, AREA));
	SHOW(msync(p, AREA, MS_INVALIDATE));
	SHOW(munlock(p, AREA));
	SHOW(mlock2(p, AREA, MLOCK_ONFAULT));
	SHOW(munlock(p, AREA));
	SHOW(write(ends[1], p, 16));
	SHOW(syscall(SYS_futex, p + PAGE, 129 /* WAKE_PRIVATE */, 1, NULL, NULL, 0));
	SHOW(syscall(SYS_remap_file_pages, p, PAGE, 0, 0, 0));
	SHOW(prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, PAGE, "x"));
	say_data("page", p);
	SHOW(munmap(p, AREA));
}

static void grow(void)
{
	char *p = area(AREA, RW), *q;

	SHOW(mremap(p, AREA, AREA + PAGE, 0));
	SHOW(mremap(p, AREA, AREA + PAGE, MREMAP_MAYMOVE));
	SHOW(mremap(p, 0, PAGE, MREMAP_MAYMOVE));
	SHOW(mremap(p, 0, AREA, MREMAP_MAYMOVE));
	SHOW(mremap(p, AREA, AREA, 0));
	SHOW(mremap(p, AREA, AREA, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	SHOW(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	SHOW(mremap(p, PAGE, PAGE * 2, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	SHOW(mremap(p + 1, PAGE, PAGE, 0));
	SHOW(mremap(p, AREA, 0, 0));
	SHOW(mremap(p, AREA, PAGE, 0x10));
	q = mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SHOW(mremap(p, AREA, AREA, MREMAP_MAYMOVE | MREMAP_FIXED, q));
	SHOW(mremap(q, AREA, PAGE, 0));
	SHOW(mremap(q, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	SHOW(munmap(q, AREA));
	SHOW(munmap(q + 1, AREA));
	SHOW(munmap(q, 0));
	p = area(AREA, RW);
	q = area(AREA, RW);
	SHOW(q != MAP_FAILED);
	SHOW(area(2 * PAGE, RW) != MAP_FAILED);
	SHOW(area(PAGE, RW) != MAP_FAILED);
	SHOW(mmap(p, AREA, RW, MAP_SHARED | MAP_FIXED, fd, 0) == p);
	SHOW(mmap(p + PAGE, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + PAGE);
	SHOW(mmap(p, AREA, RW, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0));
}

/* --- the descriptor */

static void files(void)
{
	struct flock64 lock = { .l_type = F_RDLCK };
	struct {
		int type, pid;
	} owner = { 1, getpid() };
	struct {
		struct {
			unsigned int bytes;
			int type;
		} h;
		char room[128];
	} handle = { { 128, 0 }, { 0 } };
	uint64_t hint = 2;
	int id;

	SHOW(fcntl(fd, F_GET_SEALS));
	SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	SHOW(fcntl(fd, F_ADD_SEALS, 0));
	SHOW(fcntl(fd, F_ADD_SEALS, 0x1000));
	SHOW(fcntl(fd, F_GETLEASE));
	SHOW(fcntl(fd, F_SETLEASE, F_RDLCK));
	SHOW(fcntl(fd, F_SETLEASE, F_WRLCK));
	SHOW(fcntl(fd, F_SETLEASE, F_UNLCK));
	SHOW(fcntl(fd, F_NOTIFY, 0));
	SHOW(fcntl(fd, F_NOTIFY, 1));
	SHOW(fcntl(fd, F_GETLK, &lock));
	SHOW(fcntl(fd, F_SETLK, &lock));
	lock.l_type = F_UNLCK;
	SHOW(fcntl(fd, F_SETLK, &lock));
	lock.l_type = F_RDLCK;
	SHOW(fcntl(fd, F_OFD_SETLK, &lock));
	SHOW(fcntl(fd, F_OFD_GETLK, &lock));
	SHOW(flock(fd, LOCK_EX | LOCK_NB));
	SHOW(flock(fd, LOCK_UN));
	SHOW(fcntl(fd, F_GETOWN_EX, &owner));
	SHOW(fcntl(fd, F_SETOWN_EX, &owner));
	SHOW(fcntl(fd, F_SETSIG, 65));
	SHOW(fcntl(fd, F_GET_RW_HINT, &hint));
	SHOW(fcntl(fd, F_SET_RW_HINT, &hint));
	SHOW(fcntl(fd, 1037 /* F_GET_FILE_RW_HINT */, &hint));
	SHOW(fcntl(fd, 1038 /* F_SET_FILE_RW_HINT */, &hint));
	SHOW(fcntl(fd, 1027 /* F_DUPFD_QUERY */, fd));
	SHOW(fcntl(fd, 1028 /* F_CREATED_QUERY */));
	SHOW(fcntl(fd, 999));
	SHOW(fcntl(fd, F_SETFL, O_NOATIME));
	SHOW(fcntl(fd, F_SETFL, O_APPEND));
	SHOW(fcntl(fd, F_GETFL));
	SHOW(fcntl(fd, F_SETFL, 0));
	SHOW(sync_file_range(fd, 0, 4096, 0));
	SHOW(syncfs(fd));
	SHOW(syscall(SYS_name_to_handle_at, fd, "", &handle, &id, AT_EMPTY_PATH));
	SHOW(linkat(fd, "", AT_FDCWD, "/tmp/no-such", AT_EMPTY_PATH));
	SHOW(syscall(SYS_fgetxattr, fd, "user.x", NULL, 0));
	SHOW(syscall(SYS_fsetxattr, fd, "user.x", "y", 1, 0));
	SHOW(syscall(SYS_flistxattr, fd, NULL, 0));
	SHOW(syscall(SYS_fremovexattr, fd, "user.x"));
	SHOW(syscall(SYS_fchmodat, fd, "x", 0));
	SHOW(syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH));
	SHOW(syscall(SYS_faccessat2, fd, "", X_OK, AT_EMPTY_PATH));
	SHOW(syscall(SYS_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH));
	SHOW(syscall(SYS_fsopen, "", 0));
}

static void kind(void)
{
	exit(!madvise(area(PAGE, RW), PAGE, MADV_DONTNEED));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "args", args },	    { "protect", protect }, { "advise", advise },
		      { "others", others }, { "grow", grow },	    { "kind", kind },
		      { "files", files } };

	fd = event();
	if (fd < 0)
		return 1;
	for (unsigned int i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	return 2;
}
