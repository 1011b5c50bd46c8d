/* SPDX-License-Identifier: MIT */
/*
 * The life of blocks, seen from outside: what runs often is linked, so the engine's cache is entered a few times only; what does not
 * fit is evicted; code that changes is made anew. Each row ends and counts as natively (rig/rig.h).
 */
#include <string.h>
#include <sys/mman.h>

#include "rig/rig.h"
#include "tap/tap.h"

#define FEW 60 /* ways into the cache where all is linked */

/* clang-format off */
RIG_SNIPPET(loop, "mov $2000, %ecx; xor %eax, %eax; 1: add %rcx, %rax; test $3, %cl; jz 2f; xor %rax, %rdx; 2: dec %ecx; jnz 1b");
RIG_SNIPPET(targets,
	"lea 2f(%rip), %rax; mov %rax, (%rbx); lea 3f(%rip), %rax; mov %rax, 8(%rbx); mov $1500, %ebp\n"
	"1: mov %ebp, %ecx; and $1, %ecx; call *(%rbx,%rcx,8); dec %ebp; jnz 1b; jmp 4f\n"
	"2: inc %rdx; ret; 3: inc %rsi; ret; 4:");
/* A system call in each round is the dispatcher's: one more way in. */
RIG_SNIPPET(calls, "mov $300, %ebp; 1: mov $102, %eax; syscall; dec %ebp; jnz 1b");

/* The immediate of the next instruction but one, of this block and of one that is linked. */
RIG_SNIPPET(changes_itself, "mov $40, %ebp; xor %edx, %edx\n1: mov %ebp, 2f+1(%rip); nop; 2: add $0x11223344, %eax; add %rax, %rdx; dec %ebp; jnz 1b");
RIG_SNIPPET(changes_callee, "mov $60, %ebp\n1: call 2f; test $7, %bpl; jnz 3f; mov %ebp, 2f+2(%rip); 3: dec %ebp; jnz 1b; jmp 4f\n2: add $0x11223344, %ecx; mov $0x7f, %esi; ret; 4:");
RIG_SNIPPET(changes_by_strings, "mov $12, %ebp\n1: lea 5f(%rip), %rsi; lea 2f(%rip), %rdi; test $1, %bpl; jz 3f; add $4, %rsi; 3: mov $4, %ecx; rep movsb\n"
	"2: add $1, %rdx; dec %ebp; jnz 1b; jmp 4f; 5: add $7, %rdx; sub $3, %rdx; 4:");
/* Never the page that it runs on. */
RIG_SNIPPET(protects,
	"movabs $0x200000008000, %r12; mov $12, %ebp\n"
	"1: mov $10, %eax; mov %r12, %rdi; mov $4096, %esi; mov $3, %edx; syscall\n" /* mprotect rw */
	"movl $0xc3c0ff48, (%r12); test $1, %bpl; jz 2f; movl $0xc3c8ff48, (%r12)\n" /* inc rax; ret or dec rax; ret */
	"2: mov $10, %eax; mov %r12, %rdi; mov $4096, %esi; mov $5, %edx; syscall\n"
	"mov $5, %r13d; 3: call *%r12; add %rax, %r14; dec %r13d; jnz 3b; dec %ebp; jnz 1b");
RIG_SNIPPET(unmaps,
	"movabs $0x200000008000, %r12; mov $8, %ebp\n"
	"1: mov $11, %eax; mov %r12, %rdi; mov $4096, %esi; syscall\n"
	"mov $9, %eax; mov %r12, %rdi; mov $4096, %esi; mov $7, %edx; mov $0x32, %r10d; mov $-1, %r8; xor %r9d, %r9d; syscall\n"
	"movl $0x00c38348, (%r12); mov %bpl, 3(%r12); movb $0xc3, 4(%r12)\n" /* add $bpl, rbx; ret */
	"mov $6, %r13d; 3: call *%r12; dec %r13d; jnz 3b; dec %ebp; jnz 1b");
/* clang-format on */

static const struct rig_run *run(void)
{
	const struct rig_run *r = rig_compare();

	EXPECT_U64(r->status, 0);
	EXPECT_U64(r->result.by, 1);
	return r;
}

static void what_runs_often_is_linked(void)
{
	rig_load(&loop);
	EXPECT(run()->entries < FEW);
}

static void indirect_branches_are_looked_up_without_the_dispatcher(void)
{
	rig_load(&targets);
	EXPECT(run()->entries < FEW);
}

static void a_system_call_leaves_the_cache_once(void)
{
	u32 n;

	rig_load(&calls);
	n = run()->entries;
	EXPECT(n >= 300 && n < 300 + FEW);
}

/* Blocks of a jump each, so many that the cache is too small for them, three times round. */
static void what_does_not_fit_is_evicted(void)
{
	enum { BLOCKS = 1500, SIZE = 24 };
	static u8 code[BLOCKS * SIZE + 32];
	/* inc rax; lea 8(rsp), rsp; cmp al, al; jne to the end, which is never taken; call the next one */
	static const u8 block[] = { 0x48, 0xff, 0xc0, 0x48, 0x8d, 0x64, 0x24, 0x08, 0x38, 0xc0 };
	u8 *p = code;
	u32 evicting;
	s32 rel;

	for (u32 k = 0; k < BLOCKS; k++, p = code + k * SIZE) {
		memcpy(p, block, sizeof(block));
		p[10] = 0x0f;
		p[11] = 0x85; /* jne */
		rel = (s32)(BLOCKS * SIZE - (p + 16 - code));
		memcpy(p + 12, &rel, sizeof(rel));
		p[16] = 0xe8; /* blocks end here */
		rel = SIZE - 21;
		memcpy(p + 17, &rel, sizeof(rel));
	}
	/* dec r15; jnz to the beginning */
	memcpy(p, "\x49\xff\xcf\x0f\x85", 5);
	rel = -(s32)(BLOCKS * SIZE + 9);
	memcpy(p + 5, &rel, sizeof(rel));
	p[9] = 0xe9;
	rel = (s32)((s64)(RIG_END - RIG_CODE) - (BLOCKS * SIZE + 14));
	memcpy(p + 10, &rel, sizeof(rel));
	rig_load(&loop);
	rig_put(RIG_CODE, code, sizeof(code));
	rig.regs.gpr[15] = 3;
	rig.cache_limit = AP_CACHE_LIMIT_MIN;
	evicting = run()->entries;
	rig.cache_limit = 16ULL << 20;
	/* in each round they were not there any more */
	EXPECT(evicting > run()->entries + BLOCKS / 2);
}

static void changed_code_runs_as_it_is(void)
{
	static const struct {
		const char *name;
		const struct rig_code *code;
	} rows[] = {
		{ "the instruction behind the store", &changes_itself },
		{ "a function", &changes_callee },
		{ "by rep movsb", &changes_by_strings },
		{ "by mprotect", &protects },
		{ "by munmap and mmap", &unmaps },
	};

	rig.is_writable = true;
	for (u32 k = 0; k < AP_ARRAY_SIZE(rows); k++) {
		rig_load(rows[k].code);
		tap_note("%s", rows[k].name);
		run();
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(what_runs_often_is_linked),
		TAP(indirect_branches_are_looked_up_without_the_dispatcher),
		TAP(a_system_call_leaves_the_cache_once),
		TAP(what_does_not_fit_is_evicted),
		TAP(changed_code_runs_as_it_is),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
