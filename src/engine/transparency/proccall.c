/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/syscall: "number arguments sp pc" of a thread that waits in a call, "-1 sp pc" of one that waits elsewhere, else
 * "running".  Stack pointer and arguments are the program's, as its calls are made with them (gate.S); the address is put in
 * here.  A thread in the engine's own business is said to run.
 */
#include "engine/transparency/proccall.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/runtime/engine.h"

#define SYSCALL_LEN 2

static bool skip(const char **p, const char *word)
{
	u64 n = strlen(word);

	if (strncmp(*p, word, n))
		return false;
	*p += n;
	return true;
}

u32 ap_proccall_tid(const struct ap_thread *t, const char *p)
{
	u64 tid = t->pid;

	if (!skip(&p, "/proc/"))
		return 0;
	if (skip(&p, "thread-self/"))
		tid = t->tid;
	else if (!skip(&p, "self/") && (!ap_parse_u64(&p, &tid) || *p++ != '/'))
		return 0;
	if (skip(&p, "task/") && !ap_parse_u64(&p, &tid))
		return 0;
	return (u32)tid;
}

/* Who asks about itself is in the call by which it asks, which is the engine's for the kernel. */
static void own_call(struct ap_str *s, const struct ap_thread *t)
{
	static const u8 order[] = { 7, 6, 2, 10, 8, 9, 4 };

	ap_str_u64(s, (u32)t->regs.gpr[0]);
	for (u32 k = 0; k < sizeof(order); k++) {
		ap_str_add(s, " 0x");
		ap_str_hex(s, t->regs.gpr[order[k]], 0);
	}
	ap_str_add(s, " 0x");
	ap_str_hex(s, t->regs.rip + SYSCALL_LEN, 0);
	ap_str_char(s, '\n');
}

/* The program's pc where the thread is at ours; 0: at none of its. */
static u64 program_pc(u32 tid, u64 pc, bool in_call)
{
	const struct ap_thread *t = ap_proc.threads;
	struct ap_where w;

	while (t && t->tid != tid)
		t = t->next;
	if (!in_call)
		return ap_cache_locate(pc, &w) ? w.app_pc : 0;
	return t && pc == (u64)ap_syscall_insn + SYSCALL_LEN ? t->regs.rip + SYSCALL_LEN : 0;
}

u64 ap_proccall_line(u32 tid, const char *line, u64 len, char *to, u64 cap)
{
	const char *p = line + len, *at;
	struct ap_str s;
	u64 pc, ours;

	ap_str_init(&s, to, cap);
	if (tid == ap_self()->tid) {
		own_call(&s, ap_self());
		return s.len;
	}
	while (p > line && p[-1] != ' ')
		p--;
	at = p;
	if (p == line || !skip(&p, "0x") || !ap_parse_hex(&p, &ours) ||
	    !(ap_in_blob(ours) || ap_cache_contains(ours))) {
		ap_str_add_n(&s, line, len);
		return s.len;
	}
	pc = program_pc(tid, ours, line[0] != '-');
	if (!pc) {
		ap_str_add(&s, "running\n");
		return s.len;
	}
	ap_str_add_n(&s, line, (size_t)(at - line));
	ap_str_add(&s, "0x");
	ap_str_hex(&s, pc, 0);
	ap_str_char(&s, '\n');
	return s.len;
}
