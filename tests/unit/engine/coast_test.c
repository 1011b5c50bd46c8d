/* SPDX-License-Identifier: MIT */
/*
 * What the engine puts between instructions is done by a handler as the CPU does it: random sequences of what emit.h and
 * feed_emit.c write are run natively, with %gs on one record of a thread, and coasted on another.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/access/feed.h"
#include "engine/client.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "tap/tap.h"

#define ARCH_SET_GS 0x1001
#define ROUNDS	    400
#define LOG_WORDS   4096
#define CODE	    8192

static u8 *code, *end;
static u64 *log_at;

/* --- what the engine has elsewhere */

bool ap_cache_contains(u64 pc)
{
	return pc - (u64)code < CODE;
}

bool ap_cache_locate(u64 pc, struct ap_where *w)
{
	memset(w, 0, sizeof(*w));
	w->clean = pc == (u64)end;
	return ap_cache_contains(pc);
}

bool ap_clients_own_word(const struct ap_thread *t, u64 at)
{
	(void)t;
	return at - (u64)log_at < 8 * LOG_WORDS && !(at & 7);
}

/* The test's own order of registers. */
void ap_sig_uc_to_regs(struct ap_regs *r, const struct ap_sigcontext *mc)
{
	memcpy(r->gpr, mc->greg, sizeof(r->gpr));
	r->rip = mc->greg[16];
}

void ap_sig_regs_to_uc(struct ap_sigcontext *mc, const struct ap_regs *r)
{
	memcpy(mc->greg, r->gpr, sizeof(r->gpr));
	mc->greg[16] = r->rip;
}

/* --- the CPU: loads gpr[] but rsp, calls the code, stores them */

void cpu_run(u64 *gpr, const void *at);
__asm__(".globl cpu_run\n"
	"cpu_run:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	push %rdi\n	push %rsi\n"
	"	mov 0(%rdi), %rax\n	mov 8(%rdi), %rcx\n	mov 16(%rdi), %rdx\n"
	"	mov 24(%rdi), %rbx\n	mov 40(%rdi), %rbp\n	mov 48(%rdi), %rsi\n"
	"	mov 64(%rdi), %r8\n	mov 72(%rdi), %r9\n	mov 80(%rdi), %r10\n"
	"	mov 88(%rdi), %r11\n	mov 96(%rdi), %r12\n	mov 104(%rdi), %r13\n"
	"	mov 112(%rdi), %r14\n	mov 120(%rdi), %r15\n	mov 56(%rdi), %rdi\n"
	"	call *(%rsp)\n"
	"	push %rdi\n	mov 16(%rsp), %rdi\n"
	"	mov %rax, 0(%rdi)\n	mov %rcx, 8(%rdi)\n	mov %rdx, 16(%rdi)\n"
	"	mov %rbx, 24(%rdi)\n	mov %rbp, 40(%rdi)\n	mov %rsi, 48(%rdi)\n"
	"	mov %r8, 64(%rdi)\n	mov %r9, 72(%rdi)\n	mov %r10, 80(%rdi)\n"
	"	mov %r11, 88(%rdi)\n	mov %r12, 96(%rdi)\n	mov %r13, 104(%rdi)\n"
	"	mov %r14, 112(%rdi)\n	mov %r15, 120(%rdi)\n	pop 56(%rdi)\n"
	"	add $16, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
	"	ret\n");

static u64 word(void)
{
	return (u64)mrand48() << 32 ^ (u64)mrand48();
}

static void emit_group(struct ap_feed_group *g)
{
	u32 used = 1U << AP_RSP;

	g->n = (u32)lrand48() % 6;
	for (u32 k = 0; k < g->n; k++) {
		do
			g->reg[k] = (u8)(lrand48() & 15);
		while (used & 1U << g->reg[k]);
		used |= 1U << g->reg[k];
		g->word[k] = (u8)(lrand48() % 30);
	}
}

static void emit_random(struct ap_emit *e)
{
	static const u32 slots[] = { AP_T_SPILL_A, AP_T_SPILL_RCX };
	struct ap_feed_exit x = { .id = (u32)lrand48() };
	u8 low[] = { AP_RAX, AP_RCX, AP_RDX, AP_RBX, AP_RSI, AP_RDI };
	u8 reg = low[lrand48() % 6];

	switch (lrand48() % 6) {
	case 0:
		emit_group(&x.pending);
		ap_feed_emit_store(e, &x.pending);
		break;
	case 1:
		emit_group(&x.pending);
		x.way.nwords = (u16)(lrand48() % 40);
		ap_feed_emit_exit(e, &x);
		break;
	case 2:
		ap_emit_gs_store(e, reg, slots[lrand48() & 1]);
		break;
	case 3:
		ap_emit_gs_load(e, reg, slots[lrand48() & 1]);
		break;
	case 4:
		ap_emit_gs_add_flags(e, slots[lrand48() & 1], (u32)lrand48() % 300);
		break;
	default:
		ap_emit_lea_add(e, reg, (u32)lrand48() % 300);
		break;
	}
}

/* Runs of it with jumps over holes of what must not be run. */
static void emit_all(void)
{
	struct ap_emit e = { code, code + CODE, false };

	memset(code, 0xcc, CODE);
	for (u32 n = 0; n < 6; n++) {
		emit_random(&e);
		if (lrand48() & 1) {
			u32 hole = (u32)lrand48() % 20;

			ap_emit8(&e, 0xe9);
			ap_emit32(&e, hole);
			e.p += hole;
		}
	}
	end = e.p;
	ap_emit8(&e, 0xc3);
	REQUIRE(!e.full);
}

static struct ap_thread *new_thread(void)
{
	struct ap_thread *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(t != MAP_FAILED);
	return t;
}

static void it_is_what_the_cpu_does(void)
{
	struct ap_thread *real = new_thread(), *own = new_thread();
	static u64 real_log[LOG_WORDS], own_log[LOG_WORDS];
	struct ap_where w;

	REQUIRE(!syscall(SYS_arch_prctl, ARCH_SET_GS, real));
	for (u32 round = 0; round < ROUNDS; round++) {
		struct ap_sigcontext mc = { 0 };
		u64 gpr[16];

		srand48(round);
		emit_all();
		memset(real_log, 0, sizeof(real_log));
		memset(own_log, 0, sizeof(own_log));
		for (u32 k = 0; k < 16; k++)
			gpr[k] = word();
		memcpy(mc.greg, gpr, sizeof(gpr));
		mc.greg[16] = (u64)code;
		real->feed_pos = (u64)real_log;
		own->feed_pos = (u64)own_log;
		own->spill_a = real->spill_a;
		own->spill_rcx = real->spill_rcx;
		own->feed_spill = real->feed_spill = 0;
		cpu_run(gpr, code);
		log_at = own_log;
		EXPECT(ap_coast(own, &mc, &w));
		EXPECT_U64(mc.greg[16], (u64)end);
		EXPECT(!memcmp(mc.greg, gpr, sizeof(gpr)));
		EXPECT(!memcmp(own_log, real_log, sizeof(own_log)));
		EXPECT_U64(own->feed_pos - (u64)own_log, real->feed_pos - (u64)real_log);
		EXPECT_U64(own->spill_a, real->spill_a);
		EXPECT_U64(own->spill_rcx, real->spill_rcx);
	}
}

/* Stores elsewhere, other instructions, ways out: it stops before them, and has done what came before. */
static void it_stops_before_what_it_does_not_know(void)
{
	static const struct {
		u8 bytes[8];
		const char *what;
	} rows[] = {
		{ { 0x48, 0x89, 0x43, 0x08 }, "mov [rbx+8], rax: no log" },
		{ { 0x48, 0xc7, 0x43, 0x08, 1 }, "mov qword [rbx+8], 1" },
		{ { 0x48, 0x8b, 0x43, 0x08 }, "mov rax, [rbx+8]" },
		{ { 0x89, 0x43, 0x08 }, "mov [rbx+8], eax" },
		{ { 0x48, 0x89, 0x44, 0x24, 0x08 }, "mov [rsp+8], rax: SIB" },
		{ { 0x48, 0x89, 0xc3 }, "mov rbx, rax" },
		{ { 0x48, 0x8d, 0x05 }, "lea rax, [rip]" },
		{ { 0xe9, 0, 0, 0, 0x40 }, "jmp out of the cache" },
		{ { 0xeb, 0x00 }, "jmp short" },
		{ { 0x65, 0x48, 0x83, 0x2c, 0x25 }, "sub gs:[0], imm" },
		{ { 0x65, 0x48, 0x03, 0x04, 0x25 }, "add rax, gs:[0]" },
		{ { 0x64, 0x48, 0x8b, 0x04, 0x25 }, "mov rax, fs:[0]" },
	};
	static u64 log[LOG_WORDS];
	struct ap_thread *t = new_thread();
	struct ap_where w;

	log_at = log;
	for (size_t k = 0; k < AP_ARRAY_SIZE(rows); k++) {
		struct ap_sigcontext mc = { 0 };
		struct ap_emit e = { code, code + CODE, false };

		ap_emit_lea_add(&e, AP_RCX, 5);
		memcpy(e.p, rows[k].bytes, sizeof(rows[k].bytes));
		end = e.p + 64;
		mc.greg[16] = (u64)code;
		t->spill_a = 0;
		if (!EXPECT(!ap_coast(t, &mc, &w) && mc.greg[16] == (u64)e.p))
			tap_note("%s", rows[k].what);
		EXPECT_U64(mc.greg[AP_RCX], 5);
	}
}

/* A circle of jumps is left after a while. */
static void it_ends(void)
{
	const u8 self[5] = { 0xe9, 0xfb, 0xff, 0xff, 0xff };
	struct ap_sigcontext mc = { 0 };
	struct ap_where w;

	memcpy(code, self, sizeof(self));
	end = code + 64;
	mc.greg[16] = (u64)code;
	EXPECT(!ap_coast(new_thread(), &mc, &w));
	EXPECT_U64(mc.greg[16], (u64)code);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(it_is_what_the_cpu_does),
						 TAP(it_stops_before_what_it_does_not_know),
						 TAP(it_ends),
						 { 0 } };

	code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	return code == MAP_FAILED ? 1 : tap_main(tests, argc, argv);
}
