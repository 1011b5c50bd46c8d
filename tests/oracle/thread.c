// SPDX-License-Identifier: MIT
/* Traced threads: the table of them, their memory, and what /proc says about them. */
#include "thread.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

struct thread *thread_find(struct thread_table *table, pid_t tid)
{
	for (size_t i = 0; i < table->n; i++) {
		if (table->threads[i].tid == tid)
			return &table->threads[i];
	}
	return NULL;
}

struct thread *thread_find_or_add(struct thread_table *table, pid_t tid)
{
	struct thread *thread = thread_find(table, tid);

	if (thread != NULL)
		return thread;
	if (table->n == table->capacity) {
		table->capacity = table->capacity * 2 + 16;
		table->threads = realloc(table->threads, table->capacity * sizeof(*thread));
		if (table->threads == NULL) {
			fprintf(stderr, "oracle: no memory for the threads\n");
			exit(125);
		}
	}
	thread = &table->threads[table->n++];
	*thread = (struct thread){ .tid = tid };
	return thread;
}

void thread_remove(struct thread_table *table, pid_t tid)
{
	struct thread *thread = thread_find(table, tid);

	if (thread != NULL)
		*thread = table->threads[--table->n];
}

/* For pages that are executable but not readable, which only ptrace may read. */
static size_t peek_code(pid_t tid, uint64_t pc, uint8_t *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		uint64_t at = (pc + done) & ~7ull;
		size_t skip = (pc + done) - at;
		size_t take = 8 - skip < n - done ? 8 - skip : n - done;
		uint64_t word;

		if (thread_read_word(tid, at, &word) < 0)
			break;
		memcpy(bytes + done, (uint8_t *)&word + skip, take);
		done += take;
	}
	return done;
}

size_t thread_read_code(pid_t tid, uint64_t pc, uint8_t *bytes, size_t n)
{
	size_t to_page_end = PAGE_SIZE - (pc & (PAGE_SIZE - 1));
	size_t first = n < to_page_end ? n : to_page_end;
	struct iovec local = { .iov_base = bytes, .iov_len = n };
	struct iovec remote[2] = {
		{ .iov_base = (void *)pc, .iov_len = first },
		{ .iov_base = (void *)(pc + first), .iov_len = n - first },
	};
	ssize_t got = process_vm_readv(tid, &local, 1, remote, first < n ? 2 : 1, 0);

	return got > 0 ? (size_t)got : peek_code(tid, pc, bytes, n);
}

int thread_read_word(pid_t tid, uint64_t addr, uint64_t *word)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKDATA, tid, (void *)addr, NULL);
	if (errno != 0)
		return -errno;
	*word = (uint64_t)value;
	return 0;
}

int thread_write_word(pid_t tid, uint64_t addr, uint64_t word)
{
	return ptrace(PTRACE_POKEDATA, tid, (void *)addr, (void *)word) < 0 ? -errno : 0;
}

int thread_get_regs(pid_t tid, struct user_regs_struct *regs)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, regs) < 0 ? -errno : 0;
}

void thread_unblock_signal(pid_t tid, int sig)
{
	uint64_t mask, bit = 1ull << (sig - 1);

	if (ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(mask), &mask) < 0 || !(mask & bit))
		return;
	mask &= ~bit;
	ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(mask), &mask);
}

static bool is_ignored_by_default(int sig)
{
	return sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH;
}

bool thread_ignores_signal(pid_t tid, int sig)
{
	char path[64], line[256];
	uint64_t ignored = 0, caught = 0, bit = 1ull << (sig - 1);
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status = fopen(path, "re");
	if (status == NULL)
		return false;
	while (fgets(line, sizeof(line), status) != NULL) {
		sscanf(line, "SigIgn: %" SCNx64, &ignored);
		sscanf(line, "SigCgt: %" SCNx64, &caught);
	}
	fclose(status);
	return (ignored & bit) || (is_ignored_by_default(sig) && !(caught & bit));
}

int thread_fix_at_random(pid_t tid)
{
	char path[64];
	Elf64_auxv_t entry;
	int ret = -ENOENT;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (read(fd, &entry, sizeof(entry)) == sizeof(entry)) {
		if (entry.a_type != AT_RANDOM)
			continue;
		ret = thread_write_word(tid, entry.a_un.a_val, 0x0706050403020100);
		if (ret == 0)
			ret = thread_write_word(tid, entry.a_un.a_val + 8, 0x0f0e0d0c0b0a0908);
		break;
	}
	close(fd);
	return ret;
}
