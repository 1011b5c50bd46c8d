/* SPDX-License-Identifier: MIT */
/*
 * Who refuses ptrace: the kernel gives the same EPERM for each, so what it was is concluded from
 * /proc.
 */
#include "linux/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
