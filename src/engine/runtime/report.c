/* SPDX-License-Identifier: MIT */
/*
 * Reports: notes for the supervisor in the session's ring, one line on the program's stderr where
 * the engine itself failed.  A build for tests writes more of it to its log (debug_switch.c); the little
 * that is printed here is for where that cannot be written.
 */
#include "abi/switches.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/runtime/engine.h"
#include "sys/nr.h"

#define CODE_BYTES 32

static void print(const struct ap_str *s)
{
	ap_sys3(AP_NR_write, 2, (u64)s->buf, s->len);
}

static void post(u32 kind, const char *text)
{
	struct ap_note *note = ap_proc.session ? ap_note_new(ap_proc.session) : NULL;
	struct ap_str s;

	if (!note)
		return;
	note->kind = kind;
	if (ap_proc.seg) {
		note->pid = ap_proc.seg->pid ? ap_proc.seg->pid : ap_proc.seg->ns_pid;
		note->root = ap_proc.seg->root;
	}
	ap_str_init(&s, note->text, sizeof(note->text));
	ap_str_add(&s, text);
	__atomic_store_n(&note->ready, AP_NOTE_READY, __ATOMIC_RELEASE);
}

#ifdef AP_TEST_SWITCHES
/* The bytes at pc, as many as can be read. */
static void add_code(struct ap_str *s, u64 pc)
{
	for (u32 i = 0; i < CODE_BYTES; i++) {
		u8 byte;

		if (ap_safe_copy(&byte, (const void *)(pc + i), 1))
			break;
		ap_str_char(s, ' ');
		ap_str_hex(s, byte, 2);
	}
}

static void print_thread(const struct ap_thread *t)
{
	char buf[1024];
	struct ap_str s;
	u32 n = AP_ARRAY_SIZE(t->last_pc);

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, "anyperf:   thread ");
	ap_str_u64(&s, t->tid);
	ap_str_add(&s, " at ");
	ap_str_hex(&s, t->regs.rip, 0);
	ap_str_char(&s, ':');
	add_code(&s, t->regs.rip);
	for (u32 i = 0; i < 16; i++) {
		ap_str_add(&s, i % 8 ? " " : "\nanyperf:   registers ");
		ap_str_hex(&s, t->regs.gpr[i], 0);
	}
	ap_str_add(&s, " flags ");
	ap_str_hex(&s, t->regs.rflags, 0);
	/* Oldest first; the ring's next place is the oldest. */
	for (u32 i = 0; i < n; i++) {
		ap_str_add(&s, i % 8 ? " " : "\nanyperf:   dispatched ");
		ap_str_hex(&s, t->last_pc[(t->last_block_n + i) % n], 0);
	}
	ap_str_char(&s, '\n');
	print(&s);
}
#endif

static void say(const char *text)
{
	char buf[640];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf) - 1);
	ap_str_add(&s, "anyperf: ");
	ap_str_add(&s, text);
	buf[s.len++] = '\n';
	print(&s);
}

/* One line, and in a build for tests all that is known: of the process's first failure, which the next follow from. */
static void report(const struct ap_thread *t, const char *text, const struct ap_fault *fault)
{
#ifdef AP_TEST_SWITCHES
	static bool reported;

	if (t && ap_proc.session->switches.has_log &&
	    !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED)) {
		say(text);
		if (!ap_debug_write(t, text, fault))
			print_thread(t);
		return;
	}
#endif
	(void)t;
	(void)fault;
	say(text);
}

void ap_note(u32 kind, const char *text)
{
	post(kind, text);
	/* before the first thread is linked there is no %gs to find it by */
	if (kind == AP_NOTE_ENGINE)
		report(ap_proc.threads ? ap_self() : NULL, text, NULL);
}

void ap_note2(u32 kind, const char *a, const char *b, const char *c)
{
	char buf[sizeof(((struct ap_note *)0)->text)];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, a);
	ap_str_add(&s, b);
	ap_str_add(&s, c);
	ap_note(kind, buf);
}

void ap_report_fault(struct ap_thread *t)
{
	char buf[sizeof(((struct ap_note *)0)->text)];
	u64 pc = t->fault.regs.rip;
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, "engine fault: signal ");
	ap_str_u64(&s, t->fault.sig);
	ap_str_add(&s, " at ");
	ap_str_add(&s, ap_in_blob(pc) ? "blob+0x" : "0x");
	ap_str_hex(&s, ap_in_blob(pc) ? pc - ap_proc.blob_lo : pc, 0);
	ap_str_add(&s, ", address 0x");
	ap_str_hex(&s, t->fault.addr, 0);
	ap_str_add(&s, ", program at 0x");
	ap_str_hex(&s, t->regs.rip, 0);
	post(AP_NOTE_ENGINE, buf);
	report(t, buf, &t->fault);
}

void ap_supervisor_wake(void)
{
	struct ap_board *board = ap_proc.board;

	__atomic_fetch_add(&board->looks, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&board->doorbell, 1, __ATOMIC_RELEASE);
	ap_sys3(AP_NR_futex, (u64)&board->doorbell, AP_FUTEX_WAKE, INT32_MAX);
}
