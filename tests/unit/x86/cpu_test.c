/* SPDX-License-Identifier: MIT */
/*
 * The decoder against the CPU: random instructions run for real, several times from states that
 * differ only in what the decoder says does not matter.  The comparison with Zydis inherits what
 * Zydis gets wrong about registers and flags; this does not.
 *
 *	- a register that changes is in gpr_write; memory that changes needs AP_INSN_MEM_WRITE
 *	- flags outside fl_read do not show in registers, nor in the flags of fl_write
 *	- registers outside gpr_read do not show in other registers, flags or memory
 *	- without AP_INSN_MEM_READ the contents of memory do not show anywhere
 *	- an access that ends where memory ends is fine, one byte further it faults; in memory that
 *	  cannot be written exactly those with AP_ACCESS_WRITE fault
 *
 * The code under test runs between two stubs on a page far from everything else, and whatever
 * faults is passed over: what faults again, as rarely something comes in between that is not the
 * instruction's.  Vector state is reset before each run and not compared.
 */
/* LIBS: -lZydis */
/* LONG: --exhaustive */
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "random.h"
#include "tap/tap.h"
#include "x86/access.h"
#include "x86/insn.h"

#define ARENA	     0x200000000000ull /* far from the heap, stacks and ASan's shadow */
#define DATA	     (ARENA + 0x1000)
#define SCRATCH	     (ARENA + 0x10000)
#define SCRATCH_SIZE 0x4000
#define SCRATCH_BITS 0x3fff
#define SLOT	     (ARENA + 0x200) /* where the instruction under test goes */
#define SHOWN	     20

struct regs {
	u64 gpr[16];
	u64 flags;
};

/* Lives at DATA; the stubs address it relative to rip. */
struct page {
	struct regs in, out;
	u64 host_rsp;
};

struct outcome {
	struct regs regs;
	u8 memory[SCRATCH_SIZE];
};

#define page ((struct page *)DATA)

static u8 fp_state[16384] __attribute__((aligned(64)));
static u8 alt_stack[65536];
static sigjmp_buf escape;
static int last_signal;
static u8 *emit_at;
static unsigned epilogue_size;
static u8 epilogue[512];
static struct outcome first, again;
static u64 ran, faulted, wrong;
static bool keep_scratch; /* it is filled, and cannot be written */

static void on_fault(int sig)
{
	last_signal = sig;
	siglongjmp(escape, sig);
}

static void emit(const char *bytes, unsigned count)
{
	memcpy(emit_at, bytes, count);
	emit_at += count;
}

/* opcode reg, [rip + ...] with REX.W */
static void emit_rip(u8 opcode, unsigned reg, const void *target, const u8 *origin)
{
	const u8 head[3] = { 0x48 | (reg >> 3) << 2, opcode, 5 | (reg & 7) << 3 };
	s32 disp;

	emit((const char *)head, 3);
	disp = (s32)((const u8 *)target - (origin + (emit_at - origin) + 4));
	emit((const char *)&disp, 4);
}

static void emit_prologue(void)
{
	unsigned n;
	s32 jump;

	emit_at = (u8 *)ARENA;
	emit("\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57", 10); /* push what the callee saves */
	emit_rip(0x89, 4, &page->host_rsp, emit_at);
	emit_rip(0x8d, 4, &page->in.flags, emit_at);
	emit("\x9d", 1);
	for (n = 0; n < 16; n++)
		if (n != 4)
			emit_rip(0x8b, n, &page->in.gpr[n], emit_at);
	emit_rip(0x8b, 4, &page->in.gpr[4], emit_at);
	emit("\xe9", 1);
	jump = (s32)(SLOT - (u64)emit_at - 4);
	emit((const char *)&jump, 4);
}

static void emit_epilogue(void)
{
	unsigned n;

	emit_at = (u8 *)SLOT + 0x100;
	for (n = 0; n < 16; n++)
		emit_rip(0x89, n, &page->out.gpr[n], emit_at);
	emit_rip(0x8d, 4, &page->out.flags + 1, emit_at);
	emit("\x9c", 1);
	emit_rip(0x8b, 4, &page->host_rsp, emit_at);
	emit("\xfc\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc3", 12);
	epilogue_size = emit_at - (u8 *)SLOT;
	memcpy(epilogue, (u8 *)SLOT, epilogue_size);
}

static void load_fp_state(void)
{
	__asm__ volatile("xrstor64 %0" : : "m"(fp_state), "a"(-1), "d"(-1) : "memory");
}

static void set_up(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	stack_t stack = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) };
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER };
	int prot = PROT_READ | PROT_WRITE, map = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	unsigned n;

	REQUIRE(mmap((void *)ARENA, 0x1000, prot | PROT_EXEC, map, -1, 0) == (void *)ARENA);
	REQUIRE(mmap((void *)DATA, 0x1000, prot, map, -1, 0) == (void *)DATA);
	REQUIRE(mmap((void *)SCRATCH, SCRATCH_SIZE, prot, map, -1, 0) == (void *)SCRATCH);
	REQUIRE(!sigaltstack(&stack, NULL));
	for (n = 0; n < AP_ARRAY_SIZE(signals); n++)
		REQUIRE(!sigaction(signals[n], &act, NULL));
	emit_prologue();
	emit_epilogue();
	__asm__ volatile("xsave64 %0" : "+m"(fp_state) : "a"(-1), "d"(-1) : "memory");
}

static void fill_scratch(u64 seed)
{
	u64 *p = (u64 *)SCRATCH;
	unsigned n;

	for (n = 0; n < SCRATCH_SIZE / 8; n++)
		p[n] = (n * 0x9e3779b97f4a7c15ull + seed) ^ seed << 32;
}

static bool run_once(u64 memory_seed, struct outcome *outcome)
{
	void (*stub)(void);
	u64 entry = ARENA;

	memcpy(&stub, &entry, sizeof(stub));
	if (!keep_scratch)
		fill_scratch(memory_seed);
	load_fp_state();
	if (sigsetjmp(escape, 0)) {
		load_fp_state();
		return false;
	}
	stub();
	load_fp_state();
	outcome->regs = page->out;
	memcpy(outcome->memory, (void *)SCRATCH, SCRATCH_SIZE);
	return true;
}

/* Runs what is in the slot from page->in.  False if it faults. */
static bool run(u64 memory_seed, struct outcome *outcome)
{
	int signal;

	if (run_once(memory_seed, outcome))
		return true;
	signal = last_signal;
	if (!run_once(memory_seed, outcome))
		return false;
	tap_note("signal %d, which did not come again", signal);
	return true;
}

/* What must not run here: it would harm the test, or its result is not a function of the state. */
static bool is_harmful(const struct ap_insn *s)
{
	bool reg = s->modrm >= 0xc0;

	if (s->kind != AP_I_OTHER || s->seg)
		return true;
	if (s->flags & (AP_INSN_RFLAGS | AP_INSN_MOV_SEG | AP_INSN_GS_BASE))
		return true;
	if ((s->flags & AP_INSN_ADDR32) && /* cannot reach the arena, may reach other things */
	    (s->flags & (AP_INSN_MEM | AP_INSN_MEM_READ | AP_INSN_MEM_WRITE)))
		return true;
	if (s->flags & (AP_INSN_VEX | AP_INSN_EVEX))
		return false;
	if (s->map == 0)
		return s->opcode == 0x8e || s->opcode == 0xc6 || s->opcode == 0xc7 ||
		       (s->opcode >= 0xe4 && s->opcode <= 0xef) ||
		       (s->opcode >= 0x6c && s->opcode <= 0x6f);
	if (s->map != 1)
		return false;
	switch (s->opcode) {
	case 0x00: /* segment registers of the system, time, cpuid, random numbers */
	case 0x01:
	case 0x02:
	case 0x03: /* lsl of Linux's selector 7b is the CPU's number */
	case 0x31:
	case 0x33:
	case 0xa1:
	case 0xa2:
	case 0xb2:
	case 0xb4:
	case 0xb5:
		return true;
	case 0xa3: /* bt, bts, btr, btc: a bit offset reaches anywhere */
	case 0xab:
	case 0xb3:
	case 0xbb:
		return !reg;
	case 0xae: /* xsave, xrstor: what is in use changes with each task switch */
		return reg || (s->modrm >> 3 & 7) >= 4;
	case 0xc7:
		return reg || (s->modrm >> 3 & 7) != 1;
	default:
		return false;
	}
}

static void random_registers(void)
{
	u64 dice = random_bits();
	unsigned n;

	for (n = 0; n < 16; n++, dice >>= 2)
		page->in.gpr[n] = (dice & 1) || n == 4 ? SCRATCH + SCRATCH_SIZE / 2
				  : dice & 2	       ? random_bits()
						       : random_bits() & 63;
	page->in.flags = 2 | (random_bits() & AP_FL_ALL);
}

static bool place(const u8 *code, unsigned len)
{
	u8 *slot = (u8 *)SLOT;
	s32 jump = (s32)(0x100 - len - 5);

	memcpy(slot, code, len);
	slot[len] = 0xe9;
	memcpy(slot + len + 1, &jump, 4);
	return !memcmp(slot + 0x100, epilogue + 0x100, epilogue_size - 0x100);
}

static void show(const u8 *code, const struct ap_insn *s, const char *what)
{
	if (++wrong > SHOWN)
		return;
	tap_note("%02x %02x %02x %02x %02x %02x %02x %02x %02x %02x len %u: %s (r %x w %x fl %x/%x "
		 "flags %x)",
		 code[0], code[1], code[2], code[3], code[4], code[5], code[6], code[7], code[8],
		 code[9], s->len, what, s->gpr_read, s->gpr_write, s->fl_read, s->fl_write,
		 s->flags);
}

static bool same_results(u16 flags, u16 except)
{
	unsigned n;

	for (n = 0; n < 16; n++)
		if (!(except >> n & 1) && first.regs.gpr[n] != again.regs.gpr[n])
			return false;
	return !((first.regs.flags ^ again.regs.flags) & flags);
}

static const char *check_first(const struct ap_insn *s)
{
	unsigned n;

	for (n = 0; n < 16; n++)
		if (first.regs.gpr[n] != page->in.gpr[n] && !(s->gpr_write >> n & 1))
			return "writes another register";
	fill_scratch(1);
	if (!(s->flags & AP_INSN_MEM_WRITE) && memcmp(first.memory, (void *)SCRATCH, SCRATCH_SIZE))
		return "writes memory";
	return NULL;
}

static const char *check_flags(const struct ap_insn *s)
{
	u64 flip = AP_FL_ALL & ~s->fl_read;

	page->in.flags ^= flip;
	if (!run(1, &again))
		return "faults with other flags";
	page->in.flags ^= flip;
	if (!same_results(s->fl_write, 0))
		return "depends on a flag, or leaves one alone";
	return NULL;
}

static const char *check_registers(const struct ap_insn *s)
{
	struct regs in = page->in;
	u16 idle = 0;
	unsigned n;
	bool ok;

	for (n = 0; n < 16; n++) {
		if (s->gpr_read >> n & 1)
			continue;
		page->in.gpr[n] ^= random_bits();
		if (!(s->gpr_write >> n & 1))
			idle |= 1u << n;
	}
	ok = run(1, &again);
	page->in = in;
	if (!ok)
		return "faults with other registers";
	if (!same_results(AP_FL_ALL, idle))
		return "depends on another register";
	if (memcmp(first.memory, again.memory, SCRATCH_SIZE))
		return "stores another register";
	return NULL;
}

static const char *check_memory(const struct ap_insn *s)
{
	if (s->flags & AP_INSN_MEM_READ)
		return NULL;
	if (!run(0x123456789abcdef, &again))
		return "faults with other memory";
	return same_results(AP_FL_ALL, 0) ? NULL : "reads memory";
}

static void try_one(u8 *code)
{
	struct ap_insn s;
	const char *what;

	if (ap_insn_decode(&s, code, AP_INSN_MAX) || is_harmful(&s))
		return;
	if (s.disp_size == 4) { /* or hardly any memory operand would hit */
		u32 disp = s.flags & AP_INSN_RIP_REL ? SCRATCH + 0x2000 - SLOT : 0x40;

		memcpy(code + s.disp_off, &disp, 4);
		if (ap_insn_decode(&s, code, AP_INSN_MAX))
			return;
	}
	random_registers();
	if (!place(code, s.len) || !run(1, &first)) {
		faulted++;
		return;
	}
	ran++;
	what = check_first(&s);
	what = what ? what : check_flags(&s);
	what = what ? what : check_registers(&s);
	what = what ? what : check_memory(&s);
	if (what)
		show(code, &s, what);
}

static void agrees_with_the_cpu(void)
{
	u64 count = tap_option("--exhaustive") ? 20000000 : 200000;
	unsigned eax, ebx, ecx, edx;
	u8 code[16];

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
		tap_lack("no xsave");
	set_up();
	for (random_seed(0x853c49e6748fea9b); count; count--) {
		random_code(code);
		try_one(code);
	}
	tap_note("%llu ran, %llu faulted", (unsigned long long)ran, (unsigned long long)faulted);
	EXPECT_U64(wrong, 0);
	EXPECT(ran > 10000);
}

/* --- accesses */

#define SCRATCH_END (SCRATCH + SCRATCH_SIZE)

static const u64 no_seg[3];

static u64 address(const struct ap_access *a, const struct ap_insn *s)
{
	return ap_access_address(a, page->in.gpr, SLOT + s->len, no_seg);
}

/* Can the test move it by its base alone, and know its extent? */
static bool is_movable(const struct ap_access *a)
{
	return a->base < 16 && a->base != a->index && a->base != a->bits &&
	       !(a->flags & (AP_ACCESS_MASKED | AP_ACCESS_VSIB | AP_ACCESS_OPEN | AP_ACCESS_LINE |
			     AP_ACCESS_ADDR32));
}

/* Moves one access so that it ends at end; false where another one leaves the scratch by that. */
static bool move(const struct ap_insn *s, const struct ap_access *list, u32 count,
		 const struct ap_access *a, u64 end)
{
	page->in.gpr[a->base] += end - a->size - address(a, s);
	for (u32 n = 0; n < count; n++) {
		u64 at = address(&list[n], s);

		if (&list[n] != a && (at < SCRATCH || at + list[n].size > SCRATCH_END))
			return false;
	}
	return true;
}

static bool is_any_write(const struct ap_access *list, u32 count)
{
	u32 flags = 0;

	while (count--)
		flags |= list[count].flags;
	return flags & AP_ACCESS_WRITE;
}

static const char *check_write(const struct ap_access *list, u32 count)
{
	bool ok;

	fill_scratch(1);
	REQUIRE(!mprotect((void *)SCRATCH, SCRATCH_SIZE, PROT_READ));
	keep_scratch = true;
	ok = run(1, &again);
	keep_scratch = false;
	REQUIRE(!mprotect((void *)SCRATCH, SCRATCH_SIZE, PROT_READ | PROT_WRITE));
	if (ok == is_any_write(list, count))
		return ok ? "access: does not write" : "access: writes";
	return NULL;
}

static const char *check_access(const struct ap_insn *s, const struct ap_access *list, u32 count,
				const struct ap_access *a)
{
	const char *what;

	if (!move(s, list, count, a, SCRATCH + SCRATCH_SIZE / 2) || !run(1, &first))
		return NULL;
	ran++;
	what = check_write(list, count);
	if (what || !move(s, list, count, a, SCRATCH_END))
		return what;
	if (!run(1, &again)) /* other contents may overflow a division */
		return last_signal == SIGFPE ? NULL : "access: is longer";
	if (!move(s, list, count, a, SCRATCH_END + 1) || !run(1, &again))
		return NULL;
	return "access: is shorter";
}

/* What the general test leaves out for where it might reach, and this one sends to the right place. */
static bool is_bit_string(const struct ap_insn *s)
{
	return s->map == 1 && !(s->flags & (AP_INSN_VEX | AP_INSN_EVEX)) && s->kind == AP_I_OTHER &&
	       !s->seg && s->modrm < 0xc0 &&
	       (s->opcode == 0xa3 || s->opcode == 0xab || s->opcode == 0xb3 || s->opcode == 0xbb);
}

/* enter tries whether it could write where its new frame ends: which may be on another page. */
static bool is_wide_enter(const struct ap_insn *s)
{
	return s->map == 0 && s->opcode == 0xc8 && (u16)s->imm > 0x1000;
}

static void try_accesses(const u8 *code)
{
	struct ap_access list[AP_ACCESS_MAX];
	struct ap_insn s;
	u32 n, count;

	if (ap_insn_decode(&s, code, AP_INSN_MAX) || (is_harmful(&s) && !is_bit_string(&s)) ||
	    s.flags & AP_INSN_REP || is_wide_enter(&s))
		return;
	count = ap_insn_accesses(&s, code, list);
	for (n = 0; n < count; n++) {
		const char *what;

		if (!is_movable(&list[n]))
			continue;
		random_registers();
		if (!place(code, s.len))
			return;
		what = check_access(&s, list, count, &list[n]);
		if (what)
			show(code, &s, what);
	}
}

static void accesses_are_the_cpus(void)
{
	u64 count = tap_option("--exhaustive") ? 20000000 : 200000;
	unsigned eax, ebx, ecx, edx;
	u8 code[16];

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
		tap_lack("no xsave");
	set_up();
	ran = 0;
	for (random_seed(0xd1342543de82ef95); count; count--) {
		random_code(code);
		try_accesses(code);
	}
	tap_note("%llu ran", (unsigned long long)ran);
	EXPECT_U64(wrong, 0);
	EXPECT(ran > 10000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(agrees_with_the_cpu),
						 TAP(accesses_are_the_cpus),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
