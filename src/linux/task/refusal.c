/* SPDX-License-Identifier: MIT */
/*
 * Who refuses ptrace: the kernel gives the same EPERM for each, so what it was is concluded from
 * /proc.  Of other calls a filter is asked, by making them with arguments for which the kernel does
 * nothing: some of them must not fail later, when a command runs that would be waited for in vain.
 */
#include "linux/task/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/proc.h"

#define YAMA_ADMIN_ONLY 2
#define YAMA_NO_ATTACH	3

static int read_yama(void)
{
	char text[16];
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	return atoi(text);
}

static u64 status_value(pid_t pid, const char *name)
{
	char text[4096];
	const char *p;

	if (ap_proc_read(pid, "status", text, sizeof(text)) < 0)
		return 0;
	p = ap_status_find(text, name);
	return p ? ap_text_u64(&p, 10) : 0;
}

const char *ap_refusal_reason(int err, int yama, unsigned int seccomp)
{
	if (yama == YAMA_NO_ATTACH)
		return "Yama refuses ptrace (kernel.yama.ptrace_scope is 3); set it to 1 in "
		       "/etc/sysctl.d and reboot";
	if (yama == YAMA_ADMIN_ONLY && err == -EPERM)
		return "Yama refuses ptrace (kernel.yama.ptrace_scope is 2); run as root or "
		       "`sysctl kernel.yama.ptrace_scope=1`";
	if (seccomp)
		return "a seccomp filter refuses ptrace; let it through (docker: --cap-add SYS_PTRACE "
		       "or a seccomp profile that has ptrace)";
	return NULL;
}

void ap_refusal_text(int err, char *text, size_t size)
{
	const char *why = ap_refusal_reason(err, read_yama(),
					    (unsigned int)status_value(getpid(), "Seccomp"));

	if (why)
		snprintf(text, size, "%s", why);
	else
		snprintf(text, size,
			 "the kernel refuses ptrace (%s); a security module may have a say",
			 strerror(-err));
}

#define CLONE_THREAD_ALONE 0x00010000 /* without what it needs: EINVAL */

static bool is_refused(long nr, long a, long b, long c, long d)
{
	if (syscall(nr, a, b, c, d, 0, 0) != -1)
		return false;
	/* libraries do without clone3 */
	return errno == EPERM || errno == EACCES || (errno == ENOSYS && nr != SYS_clone3);
}

const char *ap_refused_call(void)
{
	static const struct {
		const char *name;
		long nr, a[4];
	} needed[] = {
		{ "memfd_create", SYS_memfd_create, { 0, -1 } },
		{ "prlimit64", SYS_prlimit64, { 0, -1, 0, 0 } },
		{ "ftruncate", SYS_ftruncate, { -1, 0 } },
		{ "fcntl", SYS_fcntl, { -1, F_GETFD } },
		{ "epoll_create1", SYS_epoll_create1, { -1 } },
		{ "epoll_ctl", SYS_epoll_ctl, { -1, 0, -1, 0 } },
		{ "epoll_wait", SYS_epoll_wait, { -1, 0, 0, 0 } },
		{ "signalfd4", SYS_signalfd4, { -1, 0, 0, -1 } },
		{ "eventfd2", SYS_eventfd2, { 0, -1 } },
		{ "poll", SYS_poll, { 0, 0, 0 } },
		{ "clone3", SYS_clone3, { 0, 0 } },
		{ "clone", SYS_clone, { CLONE_THREAD_ALONE, 0, 0, 0 } },
		{ "socketpair", SYS_socketpair, { -1, 0, 0, 0 } },
		{ "recvfrom", SYS_recvfrom, { -1, 0, 0, 0 } },
		{ "sendto", SYS_sendto, { -1, 0, 0, 0 } },
		{ "waitid", SYS_waitid, { P_ALL, 0, 0, 0 } },
		{ "wait4", SYS_wait4, { 0, 0, -1, 0 } },
	};

	if (!prctl(PR_GET_SECCOMP, 0, 0, 0, 0))
		return NULL;
	for (size_t i = 0; i < AP_ARRAY_SIZE(needed); i++)
		if (is_refused(needed[i].nr, needed[i].a[0], needed[i].a[1], needed[i].a[2],
			       needed[i].a[3]))
			return needed[i].name;
	return NULL;
}

pid_t ap_tracer_of(pid_t pid)
{
	return (pid_t)status_value(pid, "TracerPid");
}

bool ap_proc_is_ours(void)
{
	char text[32];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = 0;
	return atol(text) == (long)getpid();
}
