/* SPDX-License-Identifier: MIT */
/*
 * Memory of a stopped task.  Three ways, because each is refused somewhere: process_vm_* (seccomp
 * of older container runtimes, pages without permission), /proc/PID/mem (no proc mounted), and
 * PEEK/POKE, which always works for a tracer and is slow.
 */
#include "inject/task.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <sys/uio.h>

#include "inject/kcall.h"
#include "inject/proc.h"

static bool vm_copy(long nr, pid_t tid, u64 addr, void *buf, u64 size)
{
	struct iovec local = { .iov_base = buf, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = size };

	return ap_rawsys((u64)nr, (u64)tid, (u64)(uintptr_t)&local, 1, (u64)(uintptr_t)&remote, 1,
			 0) == (s64)size;
}

int ap_task_read(pid_t tid, u64 addr, void *buf, u64 size)
{
	u8 *out = buf;

	if (vm_copy(__NR_process_vm_readv, tid, addr, buf, size))
		return 0;
	while (size) {
		u64 word, n = 8 - (addr & 7);
		s64 ret = ap_k_ptrace(PTRACE_PEEKDATA, tid, addr & ~7ULL, (u64)(uintptr_t)&word);

		if (ret < 0)
			return (int)ret;
		if (n > size)
			n = size;
		for (u64 i = 0; i < n; i++)
			*out++ = (u8)(word >> (8 * ((addr & 7) + i)));
		addr += n;
		size -= n;
	}
	return 0;
}

static int poke(pid_t tid, u64 addr, const u8 *in, u64 size)
{
	while (size) {
		u64 base = addr & ~7ULL, n = 8 - (addr & 7), word;
		s64 ret = ap_k_ptrace(PTRACE_PEEKDATA, tid, base, (u64)(uintptr_t)&word);

		if (ret < 0)
			return (int)ret;
		if (n > size)
			n = size;
		for (u64 i = 0; i < n; i++) {
			u64 shift = 8 * ((addr & 7) + i);

			word = (word & ~(0xffULL << shift)) | (u64)*in++ << shift;
		}
		ret = ap_k_ptrace(PTRACE_POKEDATA, tid, base, word);
		if (ret < 0)
			return (int)ret;
		addr += n;
		size -= n;
	}
	return 0;
}

int ap_task_write(pid_t tid, u64 addr, const void *buf, u64 size)
{
	char path[AP_PROC_PATH];
	s64 fd, ret;

	/* the kernel's call only reads from the local buffer */
	if (vm_copy(__NR_process_vm_writev, tid, addr, (void *)(uintptr_t)buf, size))
		return 0;
	fd = ap_k_open(ap_proc_path(path, tid, "mem"), O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		ret = ap_k_pwrite((int)fd, buf, size, addr);
		ap_k_close((int)fd);
		if (ret == (s64)size)
			return 0;
	}
	return poke(tid, addr, buf, size);
}
