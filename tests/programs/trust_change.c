/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * Root that becomes another user in the session, in all kinds of situations; then it says its pid and waits to be killed.
 *
 *	trust_change threads	it has others, one in a wait and one at work, and glibc has all of them change
 *	trust_change raw	likewise, but one thread alone changes
 *	trust_change vfork	its vfork child changes, and is trust_reach then; both pids are said
 *	trust_change alone	it has changed before, and has a child from then, trust_reach; both pids are said
 *	trust_change forks	it has changed before, and a thread forks while another one is in the call of its next change: if there is
 *				a child before that is made, it says so first
 *	trust_change vforks	likewise, by vfork
 *	trust_change traced	its parent, of the session, traces it
 *	trust_change tracer	it traces a child
 *	trust_change filter	it has a seccomp filter that lets nearly all pass
 *	trust_change narrow	it has one that lets no new descriptor come
 *	trust_change closed	it has one that lets nothing be mapped
 *	trust_change family	likewise, and it has a child from then; the child's pid is said first
 *	trust_change jailed	it has gone where there is no /proc
 *	trust_change full	it has all descriptors that it may have
 *	trust_change again	it has changed before, and has them then
 *	trust_change same	it asks for the groups and capabilities that it has
 *	trust_change shared	its child shares its descriptors and changes; all pids are said: that one's, and of a later child
 *	trust_change later	it says its pid first, and waits for something to read
 *	trust_change many	it has more threads than a segment has places, and one changes
 *	trust_change perf	it has mapped a perf event
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"

#define NOBODY 65534

static char *reach;

static int stays(void)
{
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}

static int changes(void)
{
	return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	       setresuid(NOBODY, NOBODY, NOBODY);
}

static int changes_and_stays(void)
{
	return changes() ? 2 : stays();
}

/* --- threads */

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *works(void *arg)
{
	for (volatile unsigned n = 0;; n++)
		;
	return arg;
}

static int threads(int is_raw)
{
	pthread_t t;

	if (pthread_create(&t, NULL, waits, NULL) || pthread_create(&t, NULL, works, NULL))
		return 2;
	if (!is_raw)
		return changes_and_stays();
	return syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) ? 2 : stays();
}

/* Those that are beyond the segment's count in others' (AP_SLOT_MAX). */
#define MANY 820

static int nwaiting;

static void *is_one_of_many(void *arg)
{
	__atomic_fetch_add(&nwaiting, 1, __ATOMIC_RELAXED);
	return waits(arg);
}

static int many(void)
{
	pthread_attr_t attr;
	pthread_t t;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 65536))
		return 2;
	for (int n = 0; n < MANY; n++)
		if (pthread_create(&t, &attr, is_one_of_many, NULL))
			return 2;
	while (__atomic_load_n(&nwaiting, __ATOMIC_RELAXED) < MANY)
		usleep(1000);
	return syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) ? 2 : stays();
}

/* --- children */

static pid_t spawn(int is_changed)
{
	pid_t pid = vfork();

	if (pid)
		return pid;
	if (is_changed && (syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) ||
			   syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY)))
		_exit(2);
	execl(reach, reach, "stays", (char *)NULL);
	_exit(2);
}

/* All but the saved user, and back: what it may do to its child and its child to it is not the same then. */
static int alone(void)
{
	if (setresuid(NOBODY, NOBODY, 0) || spawn(0) < 0)
		return 2;
	if (setresuid(-1, 0, -1))
		return 2;
	return stays();
}

/* --- a child that comes while another thread has decided how it changes, and has not changed yet */

static int listener = -1, asked[2], born[2];
static int is_vforked;

static void *is_held(void *arg)
{
	const int held[] = { SYS_setresuid, -1 };
	struct sock_filter code[SECCOMP_CODE];
	struct sock_fprog prog = {
		seccomp_code(code, held, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_ALLOW), code
	};
	int fd;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			  &prog);
	__atomic_store_n(&listener, fd < 0 ? -2 : fd, __ATOMIC_RELEASE);
	if (fd < 0 || syscall(SYS_setresuid, -1, 0, -1))
		exit(2);
	return arg;
}

static void *is_asked(void *arg)
{
	char byte;
	pid_t pid;

	if (read(asked[0], &byte, 1) != 1)
		exit(2);
	pid = is_vforked ? vfork() : fork();
	if (!pid && is_vforked)
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	while (!pid)
		pause();
	if (write(born[1], &pid, sizeof(pid)) != sizeof(pid))
		exit(2);
	return waits(arg);
}

/* A child of afterwards is that of a process whose memory the other user can write, and not looked at. */
static int forks(void)
{
	struct seccomp_notif asks = { .id = 0 };
	struct seccomp_notif_resp says = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	struct pollfd comes = { .events = POLLIN };
	pthread_t changer, forker;
	pid_t pid = 0;

	if (setresuid(NOBODY, NOBODY, 0) || pipe(asked) || pipe(born) ||
	    pthread_create(&forker, NULL, is_asked, NULL) ||
	    pthread_create(&changer, NULL, is_held, NULL))
		return 2;
	while (__atomic_load_n(&listener, __ATOMIC_ACQUIRE) == -1)
		usleep(1000);
	if (listener < 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asks) ||
	    write(asked[1], "x", 1) != 1)
		return 2;
	comes.fd = born[0];
	if (poll(&comes, 1, 500) == 1) {
		if (read(born[0], &pid, sizeof(pid)) != sizeof(pid) || pid < 0)
			return 2;
		printf("before %d\n", (int)pid);
	}
	says.id = asks.id;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &says) || pthread_join(changer, NULL))
		return 2;
	/* who ends it ends its children first: they are there */
	if (!pid && read(born[0], &pid, sizeof(pid)) != sizeof(pid))
		return 2;
	return stays();
}

/* Under the same numbers its child may put what it likes, so its next child is not made by what stands there. */
static int shared(void)
{
	int changed[2];
	char byte;
	pid_t pid;

	if (pipe(changed))
		return 2;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid && (changes() || write(changed[1], "x", 1) != 1))
		_exit(2);
	if (!pid)
		_exit(stays());
	if (pid < 0 || read(changed[0], &byte, 1) != 1)
		return 2;
	pid = fork();
	return pid < 0 ? 2 : stays();
}

static int traces(int is_child_to_change)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP))
			_exit(2);
		_exit(is_child_to_change ? changes_and_stays() : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 2;
	if (!is_child_to_change)
		return changes_and_stays();
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		return 2;
	return waitpid(pid, &status, 0) != pid;
}

/* --- what may be in the way */

static int full(void)
{
	struct rlimit lim = { 64, 64 };
	int n;

	if (setrlimit(RLIMIT_NOFILE, &lim))
		return 2;
	for (n = 0; dup(0) >= 0; n++)
		;
	return errno == EMFILE && n ? changes_and_stays() : 2;
}

/* Its child, which has what it has of that change. */
static int again(void)
{
	pid_t pid;
	int status;

	if (setresgid(NOBODY, NOBODY, NOBODY))
		return 2;
	pid = fork();
	if (!pid)
		_exit(full());
	return waitpid(pid, &status, 0) != pid;
}

static int same(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	gid_t groups[64];
	int n = getgroups(64, groups);

	if (n < 0 || syscall(SYS_capget, &head, caps) || syscall(SYS_capset, &head, caps))
		return 2;
	return setgroups((size_t)n, groups) ? 2 : stays();
}

static int later(void)
{
	char byte;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	return read(0, &byte, 1) < 0 ? 2 : changes_and_stays();
}

static int perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.size = sizeof(attr),
					.exclude_kernel = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0 || mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		return 2;
	return changes_and_stays();
}

static int filtered(const int *calls, int has_child)
{
	pid_t child;
	struct sock_filter code[SECCOMP_CODE];
	struct sock_fprog prog = {
		seccomp_code(code, calls, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW), code
	};

	/* from then on nothing is to be mapped */
	if (printf("%s", "") || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		return 2;
	child = has_child ? fork() : -1;
	while (!child)
		pause();
	if (has_child)
		printf("%d\n", (int)child);
	return changes_and_stays();
}

int main(int argc, char **argv)
{
	static const int none[] = { SYS_getcpu, -1 }, narrow[] = { SYS_memfd_create, -1 };
	static const int closed[] = { SYS_memfd_create, SYS_mmap,   SYS_mremap,
				      SYS_open,		SYS_openat, -1 };
	const char *mode = argc == 2 ? argv[1] : "";
	static char path[4096], room[BUFSIZ];

	setvbuf(stdout, room, _IOLBF, sizeof(room));
	snprintf(path, sizeof(path), "%.*strust_reach",
		 (int)(strlen(argv[0]) - strlen("trust_change")), argv[0]);
	reach = path;
	if (!strcmp(mode, "threads"))
		return threads(0);
	if (!strcmp(mode, "raw"))
		return threads(1);
	if (!strcmp(mode, "vfork"))
		return spawn(1) < 0 ? 2 : stays();
	if (!strcmp(mode, "alone"))
		return alone();
	if (!strcmp(mode, "forks"))
		return forks();
	if (!strcmp(mode, "vforks"))
		return is_vforked = 1, forks();
	if (!strcmp(mode, "shared"))
		return shared();
	if (!strcmp(mode, "traced"))
		return traces(1);
	if (!strcmp(mode, "tracer"))
		return traces(0);
	if (!strcmp(mode, "filter"))
		return filtered(none, 0);
	if (!strcmp(mode, "narrow"))
		return filtered(narrow, 0);
	if (!strcmp(mode, "closed"))
		return filtered(closed, 0);
	if (!strcmp(mode, "family"))
		return filtered(closed, 1);
	if (!strcmp(mode, "jailed"))
		return chroot(".") || chdir("/") ? 2 : threads(0);
	if (!strcmp(mode, "full"))
		return full();
	if (!strcmp(mode, "again"))
		return again();
	if (!strcmp(mode, "same"))
		return same();
	if (!strcmp(mode, "later"))
		return later();
	if (!strcmp(mode, "many"))
		return many();
	if (!strcmp(mode, "perf"))
		return perf();
	return 2;
}
