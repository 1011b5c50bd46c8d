/* SPDX-License-Identifier: MIT */
/*
 * In a build for tests: everything about a failure of the engine that helps to find out why, into the log.
 *
 * Written when nothing of the engine can be trusted: no lock, no allocation, plain system calls,
 * memory of others through guarded copies only.
 */
#include "abi/switches.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/runtime/engine.h"

#define CODE_BYTES    32
#define BUFFER	      4096
#define LINE_MAX_SIZE 512 /* room that each step finds */

static const char names[16][4] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				   "r8",  "r9",	 "r10", "r11", "r12", "r13", "r14", "r15" };

/* The report in the making. */
struct debug_report {
	struct ap_str s;
	s32 fd;
	bool failed;
};

static AP_ROOMY char buffer[BUFFER]; /* there is one report */

static void flush(struct debug_report *o)
{
	const char *p = o->s.buf;
	u64 left = o->s.len;

	while (left && !o->failed) {
		s64 n = ap_sys3(AP_NR_write, (u64)o->fd, (u64)p, left);

		if (n == -AP_EINTR)
			continue;
		if (n <= 0) {
			o->failed = true;
			break;
		}
		p += n;
		left -= (u64)n;
	}
	ap_str_init(&o->s, buffer, sizeof(buffer));
}

static void make_room(struct debug_report *o)
{
	if (o->s.len + LINE_MAX_SIZE > BUFFER)
		flush(o);
}

/* A pc of the engine's is said as the blob's map file has it. */
static void add_pc(struct ap_str *s, u64 pc)
{
	if (ap_in_blob(pc)) {
		ap_str_add(s, "blob+0x");
		ap_str_hex(s, pc - ap_proc.blob_lo, 0);
		return;
	}
	ap_str_add(s, "0x");
	ap_str_hex(s, pc, 0);
}

/* The bytes at pc, as many as can be read. */
static void add_code(struct debug_report *o, const char *what, u64 pc)
{
	make_room(o);
	ap_str_add(&o->s, what);
	add_pc(&o->s, pc);
	ap_str_char(&o->s, ':');
	for (u32 i = 0; i < CODE_BYTES; i++) {
		u8 byte;

		if (ap_safe_copy(&byte, (const void *)(pc + i), 1))
			break;
		ap_str_char(&o->s, ' ');
		ap_str_hex(&o->s, byte, 2);
	}
	ap_str_char(&o->s, '\n');
}

static void add_regs(struct debug_report *o, const struct ap_regs *r)
{
	make_room(o);
	for (u32 i = 0; i < 16; i++) {
		ap_str_add(&o->s, i % 4 ? "  " : i ? "\n  " : "  ");
		ap_str_add(&o->s, names[i]);
		ap_str_char(&o->s, ' ');
		ap_str_hex(&o->s, r->gpr[i], 16);
	}
	ap_str_add(&o->s, "\n  flags ");
	ap_str_hex(&o->s, r->rflags, 0);
	ap_str_char(&o->s, '\n');
}

static void add_engine(struct debug_report *o, const struct ap_fault *f)
{
	add_code(o, "\nengine at ", f->regs.rip);
	add_regs(o, &f->regs);
	ap_str_add(&o->s, "engine stack\n");
	for (u32 i = 0; i < f->nstack; i++) {
		make_room(o);
		ap_str_add(&o->s, "  ");
		add_pc(&o->s, f->stack[i]);
		ap_str_char(&o->s, '\n');
	}
}

static void add_thread(struct debug_report *o, const struct ap_thread *t)
{
	const u32 n = AP_ARRAY_SIZE(t->last_pc);

	ap_str_add(&o->s, "\nthread ");
	ap_str_u64(&o->s, t->tid);
	ap_str_add(&o->s, ", blocks dispatched ");
	ap_str_u64(&o->s, t->last_block_n);
	ap_str_add(&o->s, ", epoch ");
	ap_str_u64(&o->s, ap_proc.epoch);
	ap_str_add(&o->s, ", stress ");
	ap_str_u64(&o->s, ap_proc.session->switches.stress);
	add_code(o, "\nprogram at ", t->regs.rip);
	add_regs(o, &t->regs);
	ap_str_add(&o->s, "dispatched, oldest first\n");
	/* the ring's next place is the oldest */
	for (u32 i = 0; i < n; i++)
		if (t->last_pc[(t->last_block_n + i) % n])
			add_code(o, "  ", t->last_pc[(t->last_block_n + i) % n]);
}

/* As the kernel has them: what the program is not shown matters here. */
static void add_maps(struct debug_report *o)
{
	s64 fd = ap_sys2(AP_NR_open, (u64) "/proc/self/maps", 02000000 /* O_CLOEXEC */);
	s64 n;

	ap_str_add(&o->s, "\nmaps\n");
	flush(o);
	if (fd < 0)
		return;
	while ((n = ap_sys3(AP_NR_read, (u64)fd, (u64)buffer, BUFFER - 1)) > 0) {
		o->s.len = (size_t)n;
		flush(o);
	}
	ap_sys1(AP_NR_close, (u64)fd);
}

bool ap_debug_write(const struct ap_thread *t, const char *headline, const struct ap_fault *fault)
{
	struct debug_report o = { .fd = (s32)ap_proc.session->switches.log };

	if (!ap_proc.seg || !ap_proc.session->switches.has_log)
		return false;
	ap_str_init(&o.s, buffer, sizeof(buffer));
	ap_str_add(&o.s, headline);
	ap_str_add(&o.s, "\nprocess ");
	ap_str_u64(&o.s, ap_proc.seg->ns_pid);
	ap_str_add(&o.s, ": ");
	ap_str_add_n(&o.s, ap_proc.seg->comm,
		     strnlen(ap_proc.seg->comm, sizeof(ap_proc.seg->comm)));
	add_thread(&o, t);
	if (fault)
		add_engine(&o, fault);
	add_maps(&o);
	return !o.failed;
}
