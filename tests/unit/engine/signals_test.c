/* SPDX-License-Identifier: MIT */
/*
 * What a handler finds: the registers, the memory and the counts that single steps have at the same instruction.
 *   - faults: the engine makes the program's frame of its own;
 *   - a signal at every place of translated code, and of the gate that leads into it and out: the test steps the
 *     engine's child there by ptrace, and sends the signal.  Wherever that is, the program's frame must show a state that
 *     the program has been in, of all instructions in turn, and none twice.
 *     At each seventh place, and at all with --exhaustive.
 */
/* LONG: --exhaustive */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "rig/rig.h"
#include "tap/tap.h"

/* clang-format off */
#define CAUGHT(name, sig, text) \
	RIG_SNIPPET(name, RIG_SIGACTION(sig) "mov $3, %esi; 1: inc %rdi; dec %esi; jnz 1b; xor %ebp, %ebp\n" text "\nud2; hlt")
/* 0x100000000000: nothing is there */
CAUGHT(load, 11, "inc %rdx; movabs $0x100000000000, %rcx; add %rcx, %rdx; mov 8(%rcx), %rax");
CAUGHT(store, 11, "movabs $0x100000000000, %rcx; cmp %rdx, %rcx; mov %rax, 16(%rcx); jb 1b");
CAUGHT(push_, 11, "movabs $0x100000000008, %rsp; push %rcx");
CAUGHT(call_push, 11, "movabs $0x100000000008, %rsp; call 1b");
CAUGHT(ret_pop, 11, "movabs $0x100000000000, %rsp; ret");
CAUGHT(indirect_load, 11, "movabs $0x100000000000, %rcx; jmp *(%rcx)");
CAUGHT(call_load, 11, "movabs $0x100000000000, %rdx; call *8(%rdx)");
CAUGHT(rip_relative, 11, "movb $5, 1b(%rip)");
CAUGHT(jump_to_nothing, 11, "movabs $0x100000000000, %rcx; jmp *%rcx");
CAUGHT(jump_to_data, 11, "jmp *%rbx");
CAUGHT(call_to_nothing, 11, "movabs $0x100000000000, %rcx; call *%rcx");
CAUGHT(ret_to_nothing, 11, "movabs $0x100000000000, %rcx; push %rcx; ret");
CAUGHT(jump_to_no_address, 11, "movabs $0x1000000000000000, %rcx; jmp *%rcx");
CAUGHT(call_to_no_address, 11, "movabs $0x1000000000000000, %rcx; call *%rcx");
CAUGHT(ret_to_no_address, 11, "movabs $0x1000000000000000, %rcx; push %rcx; ret $8");
CAUGHT(load_from_no_address, 11, "movabs $0x1000000000000000, %rcx; lea (%rbx,%rcx), %rdx; mov (%rdx), %rax");
CAUGHT(divide, 8, "xor %ecx, %ecx; xor %edx, %edx; div %rcx");
CAUGHT(undefined, 4, "inc %rax; ud2");
CAUGHT(breakpoint, 5, "inc %rax; int3");
CAUGHT(privileged, 11, "inc %rax; hlt");
CAUGHT(strings_to_the_edge, 11, "lea 0x3ff0(%rbx), %rdi; mov %rbx, %rsi; mov $100, %ecx; rep movsb");
CAUGHT(gs_load, 11, "mov $158, %eax; mov $0x1001, %edi; mov %rbx, %rsi; syscall; movabs $0x100000000000, %rcx; mov %gs:(%rcx), %rdx");
/* The second of three conditional branches leaves the block, behind which it faults. */
CAUGHT(behind_a_side_exit, 11, "movabs $0x100000000000, %rcx; mov $4, %edi; 3: dec %edi; js 1b; jz 2f; jmp 3b; 2: mov (%rcx), %rax");

static void a_handler_of_a_fault_finds_the_instruction(void)
{
	static const struct {
		const char *name;
		const struct rig_code *code;
		int dies; /* of this signal */
	} rows[] = {
#define DEADLY(name) { #name, &name, SIGSEGV }
#define FAULT(name) { #name, &name, 0 }
		FAULT(load), FAULT(store), DEADLY(push_), DEADLY(call_push), DEADLY(ret_pop), FAULT(indirect_load),
		FAULT(call_load), FAULT(rip_relative), FAULT(jump_to_nothing), FAULT(jump_to_data),
		FAULT(call_to_nothing), FAULT(ret_to_nothing), FAULT(jump_to_no_address), FAULT(call_to_no_address),
		FAULT(ret_to_no_address), FAULT(load_from_no_address), FAULT(divide), FAULT(undefined),
		FAULT(breakpoint), FAULT(privileged), FAULT(strings_to_the_edge), FAULT(gs_load),
		FAULT(behind_a_side_exit),
	};
	/* clang-format on */
	const struct rig_run *run;

	for (u32 k = 0; k < AP_ARRAY_SIZE(rows); k++) {
		rig_load(rows[k].code);
		tap_note("%s", rows[k].name);
		run = rig_compare();
		/* where the stack is bad there is no place for a frame */
		if (WIFEXITED(run->status))
			EXPECT_U64(run->result.by, 2);
		else
			EXPECT_U64(run->status, rows[k].dies);
	}
}

/* clang-format off */
/* Four times round: learned, translated, linked, and out of it. */
#define ROUNDS(name, begin, text) RIG_SNIPPET(name, RIG_SIGACTION(10) begin "mov $4, %ebp; xor %eax, %eax\n" RIG_SET_MARK "1:\n" text "\ndec %ebp; jnz 1b")
ROUNDS(plain, "", "add %rbp, %rax; mov %rax, (%rbx); lea 3(%rax,%rbp,2), %rcx; push %rcx; pop %rdx; addq $7, 8(%rbx); xchg %rdx, 16(%rbx)");
ROUNDS(relative, "", "add %rbp, %rax; mov 1b(%rip), %rcx; cmpb $0, 1b(%rip); lea 1b(%rip), %rdx; push 1b(%rip); pop %rsi; add 1b(%rip), %rdi");
ROUNDS(branches, "", "test $1, %bpl; jz 2f; add $5, %rax; jmp 3f\n2: sub $3, %rax; cmp $2, %ebp; ja 3f; inc %rcx\n3: setb %dl; add %rdx, %rcx");
ROUNDS(flags, "", "cmp %rbp, %rax; mov (%rbx), %rcx; jb 2f; adc $1, %rax\n2: mov 8(%rbx), %rdx; pushf; pop %rsi; sbb $0, %rdi; inc %rax");
/* The callee's first instructions overwrite the flags, so the engine may count there with what changes them. */
ROUNDS(functions, "", "mov %rbp, %rdi; call 2f; add %rax, %rcx; jmp 4f\n2: inc %rax; cmp $3, %rdi; je 3f; push %rdi; lea 5f(%rip), %rsi; call *%rsi; pop %rdi\n3: ret $0\n5: add $11, %rax; ret\n4:");
ROUNDS(tables, "lea 2f(%rip), %rax; mov %rax, (%rbx); lea 3f(%rip), %rax; mov %rax, 8(%rbx);", "mov %ebp, %ecx; and $1, %ecx; jmp *(%rbx,%rcx,8)\n2: add $3, %rax; jmp 4f\n3: add $4, %rax\n4: inc %rdx");
ROUNDS(strings, "", "mov %rbx, %rsi; lea 64(%rbx), %rdi; mov $3, %ecx; rep movsb; add %rbp, %rax; mov $2, %ecx; rep stosq");
ROUNDS(segments, "mov $158, %eax; mov $0x1001, %edi; mov %rbx, %rsi; syscall;", "mov %gs:8, %rcx; add %rbp, %rax; add %rax, %gs:16; push %gs:24; pop %rdx; mov $4, %ecx; mov %gs:(%rcx), %rcx");
ROUNDS(calls_of_the_kernel, "", "mov $10000, %eax; syscall; add %rax, %rdx; mov $102, %eax; syscall; add %rbp, %rdx");
/* clang-format on */

static void check_place(const struct rig_trace *trace, const struct rig_run *run, u32 n, u32 *from)
{
	u64 want[RIG_KINDS];
	u32 at = rig_find(trace, *from, run);

	if (!EXPECT(run->result.by == 2 && at < trace->n)) {
		tap_note("place %u, rip %#llx by %u status %x: no state of the program's", n,
			 (unsigned long long)run->result.regs.rip, (u32)run->result.by,
			 run->status);
		return;
	}
	for (u32 k = 0; k < RIG_KINDS; k++)
		want[k] = trace->step[at].sum[k];
	want[AP_KIND_INSTR] += RIG_HANDLER_INSNS;
	want[AP_KIND_SYSCALL]++;
	if (!rig_same_counts(run->counts, want))
		tap_note("place %u, rip %#llx", n, (unsigned long long)run->result.regs.rip);
	*from = at;
}

/*
 * Each place of the engine's is behind or at the last one's of the program.  In the gate behind the last block the process is about
 * to end by its own call: the signal is late then.
 */
static void at_each_place(const struct rig_code *code)
{
	static struct rig_run run;
	struct rig_trace trace;
	u32 n, from = 0, seen = 0, last = 0;
	const u32 by = tap_option("--exhaustive") ? 1 : 7;
	bool is_late = false;

	rig_load(code);
	rig_trace(&trace);
	for (n = 0; rig_engine_signal(&run, SIGUSR1, n); n += by) {
		is_late |= run.result.by == 1 && from + 2 + by >= trace.n;
		if (is_late && EXPECT_U64(run.result.by, 1)) {
			rig_same_counts(run.counts, trace.run.counts);
			continue;
		}
		check_place(&trace, &run, n, &from);
		seen += from != last;
		last = from;
	}
	EXPECT_U64(run.status, 0);
	EXPECT_U64(run.result.by, 1);
	rig_same_counts(run.counts, trace.run.counts);
	/* all of the program's states behind the mark but those of jumps that the translator leaves out */
	EXPECT(n > trace.n / 2 && seen > trace.n / 3 / by);
	free(trace.step);
}

/* clang-format off */
#define ROW(name) static void a_signal_at_every_place_of_##name(void) { at_each_place(&name); }
/* clang-format on */
ROW(plain)
ROW(relative)
ROW(branches)
ROW(flags)
/* All but the status flags, which the program does not read there. */
static void a_signal_at_every_place_of_functions(void)
{
	rig.hidden_flags = 0x8d5;
	at_each_place(&functions);
}

ROW(tables)
ROW(strings)
ROW(segments)
ROW(calls_of_the_kernel)

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_handler_of_a_fault_finds_the_instruction),
		TAP(a_signal_at_every_place_of_plain),
		TAP(a_signal_at_every_place_of_relative),
		TAP(a_signal_at_every_place_of_branches),
		TAP(a_signal_at_every_place_of_flags),
		TAP(a_signal_at_every_place_of_functions),
		TAP(a_signal_at_every_place_of_tables),
		TAP(a_signal_at_every_place_of_strings),
		TAP(a_signal_at_every_place_of_segments),
		TAP(a_signal_at_every_place_of_calls_of_the_kernel),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
