/* SPDX-License-Identifier: MIT */
/* Filters of system calls, and words that need no call but write. */
#ifndef TESTS_SECCOMP_H
#define TESTS_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(9);
}

static inline void say_number(const char *what, uint64_t v)
{
	char line[80] = { 0 }, *at = line + sizeof(line) - 2;

	*at = '\n';
	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	say(what);
	say(at);
}

#define SECCOMP_CODE 64

/* One action for the calls of a list, which ends with -1, another for all others.  Returns the length. */
static inline unsigned short seccomp_code(struct sock_filter code[SECCOMP_CODE], const int *calls,
					  unsigned int those, unsigned int others)
{
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (; *calls >= 0; calls++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)*calls, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, those);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	return n;
}

/* By seccomp(2): what it returns. */
static inline long seccomp_allow(const int *calls, unsigned int others, unsigned int flags)
{
	struct sock_filter code[SECCOMP_CODE];
	struct sock_fprog prog = { seccomp_code(code, calls, SECCOMP_RET_ALLOW, others), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

#endif
