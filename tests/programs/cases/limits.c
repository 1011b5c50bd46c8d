/* SPDX-License-Identifier: MIT */
/* LIBS: -lrt */
/* CASE: counted -- rows */
/* CASE: counted -- queue */
/* CASE: counted --stress far -- queue */
/* CASE: counted -- signals */
/* CASE: counted -- files */
/* CASE: nobody counted -- rows */
/* CASE: nobody counted -- files */
/* CASE: counted -- tasks */
/* CASE: counted -- memory */
/* CASE: counted --machine skylake -- memory */
/* CASE: nobody counted --stress far -- memory */
/*
 * Resource limits mean the program: what it sets it reads back, and nothing of them is used up by somebody else.
 * rows: each of getrlimit(2)'s.  queue: signals that wait (RLIMIT_SIGPENDING) and messages (RLIMIT_MSGQUEUE).  files: a
 * task that may write no files reads those of its own in /proc.  tasks: RLIMIT_NPROC, RLIMIT_NICE, RLIMIT_RTPRIO.
 * memory: RLIMIT_AS and RLIMIT_DATA, in MiB.
 */
#include "check.h"
#include <mqueue.h>

#define MIB (1UL << 20)

static const char *const names[] = { "CPU",	 "FSIZE", "DATA",   "STACK",
				     "CORE",	 "RSS",	  "NPROC",  "NOFILE",
				     "MEMLOCK",	 "AS",	  "LOCKS",  "SIGPENDING",
				     "MSGQUEUE", "NICE",  "RTPRIO", "RTTIME" };

static struct rlimit get(int which)
{
	struct rlimit lim = { 0, 0 };

	getrlimit((__rlimit_resource_t)which, &lim);
	return lim;
}

/* The soft limit, or both. */
static int set(int which, rlim_t size, int hard)
{
	struct rlimit lim = get(which);

	lim.rlim_cur = size < lim.rlim_max ? size : lim.rlim_max;
	if (hard)
		lim.rlim_max = lim.rlim_cur;
	return setrlimit((__rlimit_resource_t)which, &lim) ? errno : 0;
}

static void show(const char *when, int which)
{
	struct rlimit lim = get(which);

	printf("%s %s %lld %lld\n", when, names[which], (long long)lim.rlim_cur,
	       (long long)lim.rlim_max);
}

static void rows(void)
{
	int status;

	for (int which = 0; which < 16; which++)
		show("before", which);
	for (int which = 0; which < 16; which++) {
		rlim_t soft = which == RLIMIT_AS || which == RLIMIT_DATA ? 3UL << 30 : 900;

		printf("set %s: %d\n", names[which], set(which, soft, 0));
		show("soft", which);
		printf("set %s: %d\n", names[which], set(which, soft - 100, 1));
		show("both", which);
		printf("raise %s: %d\n", names[which],
		       geteuid() ? set(which, RLIM_INFINITY, 0) : 0);
	}
	fflush(stdout);
	if (!fork()) {
		for (int which = 0; which < 16; which++)
			show("child", which);
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
}

/* What a user has queued counts, whoever did: so one that nobody else is. */
static void be_somebody(void)
{
	uid_t uid = 100000 + (uid_t)getpid();

	if (!geteuid() && (setgid(uid) || setuid(uid)))
		exit(3);
}

static volatile int handled, with_info, last_code;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	handled++;
	with_info += info->si_value.sival_int == 17;
	last_code = info->si_code;
}

static void catch (int sig)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(sig, &a, NULL);
}

static int fill_queue(int sig)
{
	union sigval v = { .sival_int = 17 };
	int n = 0;

	while (n < 1000 && !sigqueue(getpid(), sig, v))
		n++;
	return n;
}

static void queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 1024 };
	sigset_t all, old;
	char name[32];
	mqd_t q;

	be_somebody();
	catch (SIGRTMIN);
	catch (SIGRTMIN + 1);
	catch (SIGUSR1);
	set(RLIMIT_SIGPENDING, 25, 1);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	printf("queued %d, then %s\n", fill_queue(SIGRTMIN), strerror(errno));
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("handled %d, with what was sent %d\n", handled, with_info);
	handled = with_info = 0;
	printf("sent %d, ", fill_queue(SIGRTMIN + 1));
	printf("one by one %d, with what was sent %d\n", handled, with_info);
	set(RLIMIT_SIGPENDING, 0, 1);
	handled = 0;
	printf("none: sigqueue %d, raise %d\n", fill_queue(SIGRTMIN), raise(SIGRTMIN) ? errno : 0);
	printf("kill %d\n", kill(getpid(), SIGRTMIN) ? errno : 0);
	printf("handled %d, code %d\n", handled, last_code);
	handled = 0;
	raise(SIGUSR1);
	printf("SIGUSR1 %d, code %d\n", handled, last_code);
	snprintf(name, sizeof(name), "/case.%d", getpid());
	set(RLIMIT_MSGQUEUE, 4096, 1);
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	printf("queue of 2 KiB: %s\n", q == -1 ? strerror(errno) : "ok");
	mq_unlink(name);
	attr.mq_maxmsg = 8;
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	printf("queue of 8 KiB: %s\n", q == -1 ? strerror(errno) : "ok");
	mq_unlink(name);
}

/* SIGXFSZ comes where it would. */
static void signals(void)
{
	char path[] = "/tmp/case.XXXXXX", text[8192] = { 0 };
	int fd = mkstemp(path);

	unlink(path);
	catch (SIGXFSZ);
	set(RLIMIT_FSIZE, 5000, 1);
	printf("write %zd, ", write(fd, text, sizeof(text)));
	printf("then %zd: %s, signals %d\n", write(fd, text, 1), strerror(errno), handled);
	printf("ftruncate %d, signals %d\n", ftruncate(fd, 6000) ? errno : 0, handled);
}

/* Lines of a file of ours, read in pieces of so many bytes. */
static void read_file(const char *path, size_t piece)
{
	static char text[1 << 18];
	int fd = open(path, O_RDONLY | O_CLOEXEC), lines = 0;
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, piece)) > 0)
		len += (size_t)n;
	for (size_t k = 0; k < len; k++)
		lines += text[k] == '\n';
	printf("%s: %d, ends with a newline %d, stack %d, 0 at its end %d\n", path, lines > 10,
	       len && text[len - 1] == '\n',
	       !strcmp(path, "/proc/self/status") || !!memmem(text, len, "[stack]", 7),
	       n == 0 && read(fd, text, 1) == 0);
	printf("anyperf %d\n", !!memmem(text, len, "anyperf", 7));
	printf("cloexec %d, close %d\n", fcntl(fd, F_GETFD), close(fd));
}

static void files(void)
{
	static const char *const paths[] = { "/proc/self/maps", "/proc/self/smaps",
					     "/proc/self/status", "/proc/thread-self/maps" };
	static const rlim_t sizes[] = { 100000, 1000, 0 };
	int status;

	catch (SIGXFSZ);
	for (int hard = 0; hard < 2; hard++) {
		for (unsigned int s = 0; s < 3; s++) {
			set(RLIMIT_FSIZE, sizes[s], hard);
			for (unsigned int k = 0; k < 4; k++)
				read_file(paths[k], k & 1 ? 100 : 4096);
			show("still", RLIMIT_FSIZE);
		}
	}
	fflush(stdout);
	if (!fork()) {
		read_file(paths[0], 4096);
		fflush(stdout);
		execlp("cat", "cat", "/proc/self/comm", NULL);
	}
	wait(&status);
	printf("signals %d, child %d\n", handled, status);
}

static void tasks(void)
{
	struct sched_param param = { .sched_priority = 1 };
	int n = 0, status;
	pid_t pid;

	be_somebody();
	set(RLIMIT_NPROC, 5, 1);
	while (n < 20) {
		pid = fork();
		if (!pid) {
			pause();
			_exit(0);
		}
		if (pid < 0)
			break;
		n++;
	}
	printf("forks %d, then %s\n", n, strerror(errno));
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(&status) > 0)
		n--;
	printf("left %d\n", n);
	set(RLIMIT_RTPRIO, 0, 1);
	printf("real time: %s\n",
	       sched_setscheduler(0, SCHED_FIFO, &param) ? strerror(errno) : "ok");
	set(RLIMIT_NICE, 20, 1);
	errno = 0;
	printf("nice: %d %s\n", nice(-1), strerror(errno));
}

/* The most of it that can be had at once, in MiB. */
static int most(int prot, int flags, int fixed)
{
	static char *at;
	int n = 0;

	if (!at)
		at = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int step = 512; step; step /= 2) {
		size_t size = (size_t)(n + step) * MIB;
		void *p = mmap(fixed ? at - size : NULL, size, prot,
			       flags | MAP_ANONYMOUS | (fixed ? MAP_FIXED_NOREPLACE : 0), -1, 0);

		if (p == MAP_FAILED)
			continue;
		munmap(p, size);
		n += step;
	}
	return n;
}

static int most_heap(void)
{
	char *old = sbrk(0);
	int n = 0;

	while (n < 1000 && sbrk(MIB) != (void *)-1)
		n++;
	brk(old);
	return n;
}

static int most_growth(void)
{
	char *p = mmap(NULL, MIB, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int n = 1;

	for (int step = 512; step; step /= 2) {
		void *q = mremap(p, (size_t)n * MIB, (size_t)(n + step) * MIB, MREMAP_MAYMOVE);

		if (q == MAP_FAILED)
			continue;
		p = q;
		n += step;
	}
	munmap(p, (size_t)n * MIB);
	return n;
}

/* Over what is there already. */
static int replaced(void)
{
	char *p = mmap(NULL, 60 * MIB, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	if (p == MAP_FAILED)
		return errno;
	q = mmap(p, 60 * MIB, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	munmap(p, 60 * MIB);
	return q == p ? 0 : errno;
}

static void show_most(const char *what)
{
	int status;

	for (int round = 0; round < 2; round++) {
		printf("%s: private %d, ", what, most(RW, MAP_PRIVATE, 0));
		printf("read only %d, ", most(PROT_READ, MAP_PRIVATE, 0));
		printf("shared %d, ", most(RW, MAP_SHARED, 0));
		printf("fixed %d, ", most(RW, MAP_PRIVATE, 1));
		printf("heap %d, ", most_heap());
		printf("grown %d, over what is there %d\n", most_growth(), replaced());
		fflush(stdout);
		if (!round && fork()) {
			wait(&status);
			return;
		}
	}
	_exit(0);
}

static void memory(void)
{
	set(RLIMIT_DATA, 100 * MIB + MIB / 2, 0);
	show_most("data");
	set(RLIMIT_DATA, RLIM_INFINITY, 0);
	set(RLIMIT_AS, 90 * MIB + MIB / 2, 0);
	show_most("all");
	set(RLIMIT_AS, 80 * MIB + MIB / 2, 1);
	show_most("hard");
	set(RLIMIT_DATA, 40 * MIB + MIB / 2, 1);
	show_most("both");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "rows";

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (!strcmp(what, "queue"))
		queue();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "files"))
		files();
	else if (!strcmp(what, "tasks"))
		setpgid(0, 0), tasks();
	else if (!strcmp(what, "memory"))
		memory();
	else
		rows();
	return 0;
}
