/* SPDX-License-Identifier: MIT */
/*
 * The traced threads, and the few ptrace requests the stepper makes of them.
 *
 * Every request may fail with -ESRCH at any time because the thread was killed; the callers then
 * simply wait for its exit to be reported.
 */
#ifndef ORACLE_THREAD_H
#define ORACLE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "insn.h"

/* The instruction that the next step of a thread is going to execute. */
struct pending {
	bool valid;
	bool is_restart;  /* a system call that the kernel starts anew by itself */
	bool with_signal; /* the step delivers a signal: a handler may come first */
	uint64_t pc;
	struct insn insn;
	struct insn_flags flags;
	bool has_shadowed; /* the step may execute a second instruction, as after mov ss */
	uint64_t shadowed_pc;
	struct insn shadowed;
};

struct thread {
	pid_t tid;
	struct pending pending;
	/* The next system call would not have been interrupted without a tracer: not counted. */
	bool is_quiet_restart;
	bool is_new_image; /* once the execve has retired */
};

struct thread_table {
	struct thread *threads; /* owned */
	size_t n;
	size_t capacity;
};

struct thread *thread_find(struct thread_table *table, pid_t tid);
struct thread *thread_find_or_add(struct thread_table *table, pid_t tid);
void thread_remove(struct thread_table *table, pid_t tid);

/* Reads up to @n bytes of code and returns how many were readable. */
size_t thread_read_code(pid_t tid, uint64_t pc, uint8_t *bytes, size_t n);
int thread_read_word(pid_t tid, uint64_t addr, uint64_t *word);
int thread_write_word(pid_t tid, uint64_t addr, uint64_t word);
int thread_get_regs(pid_t tid, struct user_regs_struct *regs);

void thread_unblock_signal(pid_t tid, int sig);
/* True if the process ignores @sig: by its own choice, or by default. */
bool thread_ignores_signal(pid_t tid, int sig);
/* Gives the new image the 16 bytes 00..0f as its AT_RANDOM. */
int thread_fix_at_random(pid_t tid);

#endif /* ORACLE_THREAD_H */
