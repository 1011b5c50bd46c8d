/* SPDX-License-Identifier: MIT */
/*
 * Random ioctls on perfctr's device and on states: numbers, sizes, tags, indexes, pointers.  Whatever is
 * answered must be an answer that perfctr has, and a fresh state counts exactly all the while.
 *	perfctr_fuzz SEED OPERATIONS
 */
#include "perfctr26.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define FDS 8

static uint32_t seed;
static int dev, fds[FDS], nstrange, nwrong;
static char *room; /* of two pages, behind which there is none */

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return n ? seed % n : seed;
}

static void strange(const char *what, unsigned long cmd)
{
	if (nstrange++ < 5)
		fprintf(stderr, "%s %lx: %s\n", what, cmd, strerror(errno));
}

static void note_answer(int ret, unsigned long cmd)
{
	static const int known[] = { EINVAL, EPROTO, EFAULT, EOVERFLOW, EPERM,
				     ESRCH,  EEXIST, EBUSY,  ENOTTY,	EBADF };

	if (ret != -1)
		return;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (errno == known[i])
			return;
	strange("ioctl", cmd);
}

static void random_words(struct buf *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		b->words[i] = rnd(3) ? (rnd(52) << 16 | rnd(20) << 1 | !rnd(3)) : rnd(0);
}

static void good_words(struct buf *b)
{
	struct control c;

	two_counters(&c);
	c.si_signo = (int)rnd(3) ? 0 : SIGUSR1;
	if (!rnd(3)) {
		c.cpu.nrictrs = c.cpu.nractrs;
		c.cpu.nractrs = 0;
		c.cpu.evntsel[0] |= 0x100000;
		c.cpu.ireset[0] = c.cpu.ireset[1] = -(int)rnd(100000) - 1000;
	}
	add(b, 9, 0, (uint32_t)c.si_signo);
	add_cpu_control(b, &c.cpu);
	add(b, 10, 0, rnd(4));
}

/* A buffer for any of the calls: good, nearly good, or noise. */
static struct buf *fill(void)
{
	static struct buf b;
	struct buf *at = &b;

	memset(&b, 0, sizeof(b));
	if (rnd(3)) {
		good_words(&b);
		if (!rnd(2))
			b.words[rnd(b.rdsize)] ^= 1U << rnd(32);
	} else {
		b.rdsize = rnd(40);
		random_words(&b, b.rdsize);
	}
	b.wrsize = rnd(3) ? 256 : rnd(300);
	if (!rnd(6)) /* the words end where the memory does, or say that there are more */
		at = memcpy(room + 8192 - 8 - b.rdsize * 4UL, &b, 8 + b.rdsize * 4UL);
	if (!rnd(12))
		at->rdsize = rnd(2) ? rnd(0) : rnd(2000);
	return rnd(30) ? at : (struct buf *)(uintptr_t)(rnd(2) ? 0 : rnd(0));
}

static unsigned long any_cmd(void)
{
	static const unsigned long known[] = {
		PERFCTR_ABI,	   PERFCTR_INFO,	  PERFCTR_CPUS,	    PERFCTR_FORBIDDEN,
		VPERFCTR_READ_SUM, VPERFCTR_UNLINK,	  VPERFCTR_CONTROL, VPERFCTR_CONTROL,
		VPERFCTR_IRESUME,  VPERFCTR_READ_CONTROL, GPERFCTR_CONTROL, GPERFCTR_READ,
		GPERFCTR_STOP,
	};

	if (!rnd(20))
		return 0xd000UL | rnd(256) | (unsigned long)rnd(4) << 30 | rnd(64) << 16;
	return known[rnd(sizeof(known) / sizeof(known[0]))];
}

static int any_fd(void)
{
	return rnd(4) ? fds[rnd(FDS)] : dev;
}

static void keep(int fd)
{
	int *at = &fds[rnd(FDS)];

	if (fd < 0)
		return;
	if (*at >= 0)
		close(*at);
	*at = fd;
}

static void any_mapping(void)
{
	size_t size = rnd(4) ? 4096 : rnd(20000);
	void *p = mmap(NULL, size, rnd(4) ? PROT_READ : PROT_READ | PROT_WRITE,
		       rnd(4) ? MAP_SHARED : MAP_PRIVATE, any_fd(), rnd(4) ? 0 : 4096);

	if (p == MAP_FAILED)
		return;
	if (*(volatile uint32_t *)p == 0xffffffff)
		strange("a page", 0);
	munmap(p, size);
}

static void in_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		note_answer(ioctl(any_fd(), any_cmd(), fill()), 0);
		_exit(nstrange != 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		strange("a child", (unsigned long)status);
}

static void operation(void)
{
	unsigned long cmd = any_cmd();

	switch (rnd(16)) {
	case 0:
		keep(ioctl(dev, VPERFCTR_CREAT, rnd(8) ? 0 : (int)rnd(100000)));
		break;
	case 1:
		keep(ioctl(any_fd(), VPERFCTR_OPEN, rnd(8) ? 0 : (int)rnd(0)));
		break;
	case 2:
		any_mapping();
		break;
	case 3:
		keep(dup(any_fd()));
		break;
	case 4:
		cmd = GPERFCTR_START;
		note_answer(ioctl(any_fd(), cmd, rnd(2) ? 0 : rnd(30000)), cmd);
		break;
	case 5:
		if (!rnd(8))
			in_child();
		break;
	default:
		note_answer(ioctl(any_fd(), cmd, fill()), cmd);
	}
}

/* The thread's state is there or is made; what it counts of so many more is known. */
static void check(void)
{
	static const uint64_t n[] = { 1000, 1000, 21000, 1 };
	struct control c;
	struct sum s[4];
	int fd = ioctl(dev, VPERFCTR_OPEN, 0);

	if (fd < 0)
		fail("VPERFCTR_OPEN");
	if (ioctl(fd, VPERFCTR_UNLINK, 0) && errno != EINVAL)
		fail("VPERFCTR_UNLINK");
	close(fd);
	fd = creat_state(dev);
	two_counters(&c);
	if (set_control(fd, &c))
		fail("VPERFCTR_CONTROL");
	for (int i = 0; i < 4; i++) {
		if (read_sum(fd, &s[i]))
			fail("VPERFCTR_READ_SUM");
		work(n[i]);
	}
	for (int i = 0; i < 2; i++)
		nwrong += s[3].pmc[i] - s[2].pmc[i] - (s[2].pmc[i] - s[1].pmc[i]) !=
			  (i ? 20000U : 40000U);
	if (ioctl(fd, VPERFCTR_UNLINK, 0))
		fail("VPERFCTR_UNLINK");
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;

	if (!n)
		return 2;
	seed = ((uint32_t)strtoul(argv[1], NULL, 0) + 1) * 2654435761U | 1;
	/* a state may ask for any of them; SIGCHLD is left, which a wait needs */
	for (int i = 1; i < 65; i++)
		if (i != SIGCHLD)
			signal(i, SIG_IGN);
	room = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED || mprotect(room + 8192, 4096, PROT_NONE))
		fail("mmap");
	memset(fds, -1, sizeof(fds));
	dev = device();
	for (unsigned i = 0; i < n; i++) {
		operation();
		if (i % 500 == 499)
			check();
	}
	printf("%u operations, %d strange answers, %d wrong counts\n", n, nstrange, nwrong);
	return nstrange || nwrong;
}
