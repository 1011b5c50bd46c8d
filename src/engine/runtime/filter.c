/* SPDX-License-Identifier: MIT */
/*
 * Seccomp filters: copied when they are installed, and executed here as the kernel would.  Classic BPF as
 * the kernel allows it in filters: loads of words of struct seccomp_data, arithmetic, jumps forward.
 */
#include "engine/runtime/filter.h"

#include "base/mem.h"
#include "engine/runtime/engine.h"
#include "sys/nr.h"

#define AUDIT_ARCH 0xc000003eU
#define MEMWORDS   16
#define PAUSE_NS   20 /* about */

#define KILL_PROCESS 0x80000000U /* SECCOMP_RET_* */
#define ACTION	     0x7fff0000U

/* linux/filter.h */
enum {
	LD = 0,
	LDX = 1,
	ST = 2,
	STX = 3,
	ALU = 4,
	JMP = 5,
	RET = 6,
	MISC = 7,
	IMM = 0,
	ABS = 0x20,
	MEM = 0x60,
	LEN = 0x80,
	JEQ = 0x10,
	JGT = 0x20,
	JGE = 0x30,
};

/* struct seccomp_data */
struct data {
	u32 nr, arch;
	u64 pc;
	u64 a[6];
};

bool ap_filter_any, ap_filter_by_address;

static const u16 strict_calls[] = { AP_NR_read, AP_NR_write, AP_NR_exit, AP_NR_rt_sigreturn };

/* What start.c and what it calls do in every image. */
static const u16 start_calls[] = {
	AP_NR_close,	      AP_NR_mmap,	  AP_NR_mprotect,    AP_NR_rt_sigaction,
	AP_NR_rt_sigprocmask, AP_NR_rt_sigreturn, AP_NR_sigaltstack, AP_NR_getpid,
	AP_NR_gettid,	      AP_NR_fcntl,	  AP_NR_newfstatat,  AP_NR_prctl,
	AP_NR_madvise,
};

/* What it does for most programs sooner or later, and nobody misses where it is refused. */
static const u16 usual_calls[] = {
	AP_NR_open,   AP_NR_read,  AP_NR_fstat,	     AP_NR_munmap,  AP_NR_personality,
	AP_NR_tgkill, AP_NR_futex, AP_NR_faccessat2, AP_NR_getppid,
};

static bool is_in(const u16 *list, u32 n, u64 nr)
{
	for (u32 i = 0; i < n; i++)
		if (list[i] == nr)
			return true;
	return false;
}

/* --- a filter's program */

static u32 compute(u32 op, u32 a, u32 b, bool *bad)
{
	switch (op) {
	case 0x00:
		return a + b;
	case 0x10:
		return a - b;
	case 0x20:
		return a * b;
	case 0x30:
		*bad = !b;
		return b ? a / b : 0;
	case 0x40:
		return a | b;
	case 0x50:
		return a & b;
	case 0x60:
		return a << (b & 31);
	case 0x70:
		return a >> (b & 31);
	case 0x80:
		return -a;
	case 0xa0:
		return a ^ b;
	default:
		*bad = true;
		return 0;
	}
}

static bool compare(u32 op, u32 a, u32 b)
{
	switch (op) {
	case JEQ:
		return a == b;
	case JGT:
		return a > b;
	case JGE:
		return a >= b;
	default:
		return a & b;
	}
}

static u32 load(const struct ap_filter_insn *i, const struct data *d, const u32 *mem)
{
	switch (i->code & 0xe0) {
	case ABS:
		return i->k <= sizeof(*d) - 4 ? ((const u32 *)d)[i->k / 4] : 0;
	case MEM:
		return mem[i->k % MEMWORDS];
	case LEN:
		return sizeof(*d);
	default:
		return i->k;
	}
}

/* Jumps go forward, as the kernel has checked: it ends. */
static u32 execute(const struct ap_filter *f, const struct data *d)
{
	u32 a = 0, x = 0, mem[MEMWORDS] = { 0 };
	bool bad = false;

	for (u32 pc = 0; pc < f->n && !bad; pc++) {
		const struct ap_filter_insn *i = &f->insn[pc];
		u32 b = i->code & 8 ? x : i->k;

		switch (i->code & 7) {
		case LD:
			a = load(i, d, mem);
			break;
		case LDX:
			x = load(i, d, mem);
			break;
		case ST:
			mem[i->k % MEMWORDS] = a;
			break;
		case STX:
			mem[i->k % MEMWORDS] = x;
			break;
		case ALU:
			a = compute(i->code & 0xf0, a, b, &bad);
			break;
		case JMP:
			if (i->code & 0xf0)
				pc += compare(i->code & 0xf0, a, b) ? i->jt : i->jf;
			else
				pc += i->k;
			break;
		case RET:
			return i->code & 0x10 ? a : i->k;
		default: /* MISC: txa, tax */
			if (i->code & 0x80)
				a = x;
			else
				x = a;
		}
	}
	return AP_FILTER_KILL;
}

static u32 judge_one(const struct ap_filter *f, const struct data *d)
{
	u32 ret;

	if (f->is_strict)
		return is_in(strict_calls, AP_ARRAY_SIZE(strict_calls), d->nr) ? AP_FILTER_ALLOW
									       : AP_FILTER_KILL;
	ret = execute(f, d);
	return ret & KILL_PROCESS ? AP_FILTER_KILL : ret & ACTION;
}

static struct data data_of(u64 nr, const u64 a[6], u64 pc)
{
	return (struct data){ .nr = (u32)nr,
			      .arch = AUDIT_ARCH,
			      .pc = pc,
			      .a = { a[0], a[1], a[2], a[3], a[4], a[5] } };
}

u32 ap_filter_judge(const struct ap_filter *f, u64 nr, const u64 a[6], u64 pc)
{
	const struct data d = data_of(nr, a, pc);
	u32 worst = AP_FILTER_ALLOW, ret;

	for (; f; f = f->before) {
		if (f->by_address && ap_in_blob(pc))
			continue;
		ret = judge_one(f, &d);
		if (ret < worst)
			worst = ret;
	}
	return worst;
}

/* In the kernel's order, in which killing a process comes before killing a thread. */
static bool is_stricter(u32 a, u32 b)
{
	return (s32)(a & AP_FILTER_ACTION) < (s32)(b & AP_FILTER_ACTION);
}

u32 ap_filter_at_address(const struct ap_filter *filters, u64 nr, const u64 a[6], u64 pc)
{
	const struct data d = data_of(nr, a, pc);
	u32 worst = AP_FILTER_ALLOW, ret;

	for (const struct ap_filter *f = filters; f; f = f->before) {
		ret = f->by_address ? execute(f, &d) : AP_FILTER_ALLOW;
		if (is_stricter(ret, worst))
			worst = ret;
	}
	for (const struct ap_filter *f = filters; f; f = f->before)
		if (!f->by_address && judge_one(f, &d) <= (worst & ACTION))
			return AP_FILTER_ALLOW;
	return worst;
}

/* A filter loads 32 bits at a time, and the blob is wherever the kernel puts it, so also across a boundary of 4 GiB. */
u32 ap_filter_let_pass(struct ap_filter_insn *to, u64 lo, u64 hi)
{
	u32 n = 0;

	for (u64 high = lo >> 32; high <= (hi - 1) >> 32; high++) {
		u32 first = high == lo >> 32 ? (u32)lo : 0;
		u32 last = high == (hi - 1) >> 32 ? (u32)(hi - 1) : (u32)-1;
		const struct ap_filter_insn part[AP_FILTER_PART] = {
			{ LD | ABS, 0, 0, offsetof(struct data, pc) + 4 },
			{ JMP | JEQ, 0, 4, (u32)high },
			{ LD | ABS, 0, 0, offsetof(struct data, pc) },
			{ JMP | JGE, 0, 2, first },
			{ JMP | JGT, 1, 0, last },
			{ RET, 0, 0, AP_FILTER_ALLOW },
		};

		memcpy(to + n, part, sizeof(part));
		n += AP_FILTER_PART;
	}
	return n;
}

/* --- whatever the arguments */

#define WAYS  64
#define STEPS 100000

/* Registers as far as they follow from the call's number. */
struct filter_way {
	u32 pc, a, x;
	bool knows_a, knows_x;
};

static bool load_known(const struct ap_filter_insn *i, u32 nr, u32 *to)
{
	const struct data d = { .nr = nr, .arch = AUDIT_ARCH };
	u32 mode = i->code & 0xe0;

	if (mode == MEM || (mode == ABS && i->k > 4))
		return false;
	*to = load(i, &d, NULL);
	return true;
}

/* One that ends neither a program nor a way; false: it does, by dividing by 0. */
static bool step(const struct ap_filter_insn *i, struct filter_way *w, u32 nr)
{
	bool knows_b = !(i->code & 8) || w->knows_x, bad = false;

	switch (i->code & 7) {
	case LD:
		w->knows_a = load_known(i, nr, &w->a);
		break;
	case LDX:
		w->knows_x = load_known(i, nr, &w->x);
		break;
	case ALU:
		w->knows_a &= knows_b;
		if (w->knows_a)
			w->a = compute(i->code & 0xf0, w->a, i->code & 8 ? w->x : i->k, &bad);
		break;
	case MISC:
		if (i->code & 0x80) {
			w->a = w->x;
			w->knows_a = w->knows_x;
		} else {
			w->x = w->a;
			w->knows_x = w->knows_a;
		}
		break;
	default: /* what memory has is not followed */
		break;
	}
	return !bad;
}

/* Where w goes; true: and other, which differs in that alone. */
static bool branch(const struct ap_filter_insn *i, struct filter_way *w, struct filter_way *other)
{
	*other = *w;
	if (!(i->code & 0xf0)) {
		w->pc += i->k;
		return false;
	}
	if (w->knows_a && (!(i->code & 8) || w->knows_x)) {
		w->pc += compare(i->code & 0xf0, w->a, i->code & 8 ? w->x : i->k) ? i->jt : i->jf;
		return false;
	}
	w->pc += i->jt;
	other->pc += i->jf;
	return i->jt != i->jf;
}

/* A value of a filter: may the call be made, by the kernel or by what decides in its place? */
static bool passes(u32 ret)
{
	return !(ret & KILL_PROCESS) && (ret & ACTION) > AP_FILTER_ERRNO;
}

/* Both ways of what depends on arguments are gone.  Too many: it may. */
static bool may_pass(const struct ap_filter *f, u32 nr)
{
	struct filter_way ways[WAYS] = { { .knows_a = true, .knows_x = true } }, *w;
	u32 n = 1;

	for (u32 steps = 0; n; steps++) {
		const struct ap_filter_insn *i;

		w = &ways[n - 1];
		if (steps == STEPS || n == WAYS)
			return true;
		if (w->pc >= f->n) { /* the kernel does not take it */
			n--;
			continue;
		}
		i = &f->insn[w->pc++];
		if ((i->code & 7) == RET) {
			if (i->code & 0x10 ? !w->knows_a || passes(w->a) : passes(i->k))
				return true;
			n--;
		} else if ((i->code & 7) == JMP) {
			n += branch(i, w, w + 1);
		} else if (!step(i, w, nr)) {
			n--;
		}
	}
	return false;
}

bool ap_filter_may_pass(const struct ap_filter *f, u64 nr)
{
	for (; f; f = f->before)
		if (f->is_strict ? !is_in(strict_calls, AP_ARRAY_SIZE(strict_calls), nr)
				 : !may_pass(f, (u32)nr))
			return false;
	return true;
}

/* --- the engine's own calls */

extern const u8 ap_own_syscall_end[] __attribute__((visibility("hidden")));

static const struct ap_filter *own(void)
{
	return ap_likely(!ap_filter_any) || !ap_proc.threads ? NULL : ap_self()->filters;
}

bool ap_filter_allows(u64 nr, const u64 a[6])
{
	const struct ap_filter *f = own();

	return !f || ap_filter_judge(f, nr, a, (u64)ap_own_syscall_end) == AP_FILTER_ALLOW;
}

bool ap_filter_all_allow(u64 nr, const u64 a[6])
{
	const struct ap_filter *done = NULL;

	if (ap_likely(!ap_filter_any))
		return true;
	for (const struct ap_thread *t = ap_proc.threads; t; t = t->next) {
		if (t->filters == done)
			continue;
		done = t->filters;
		if (ap_filter_judge(done, nr, a, (u64)ap_own_syscall_end) != AP_FILTER_ALLOW)
			return false;
	}
	return true;
}

bool ap_filter_allows_nr(u64 nr)
{
	const u64 a[6] = { 0 };

	return ap_filter_allows(nr, a);
}

bool ap_filter_allows_map(bool exec)
{
	const u64 a[6] = { ap_proc.blob_lo,
			   AP_PAGE_SIZE,
			   AP_PROT_R | AP_PROT_W | (exec ? AP_PROT_X : 0),
			   AP_MAP_PRIVATE | AP_MAP_ANON | AP_MAP_NORESERVE | AP_MAP_FIXED_NOREPLACE,
			   (u64)-1,
			   0 };

	return ap_filter_allows(AP_NR_mmap, a);
}

bool ap_filter_allows_share(void)
{
	const u64 a[6] = { ap_proc.blob_lo,	    AP_PAGE_SIZE,
			   AP_PROT_R | AP_PROT_W,   AP_MAP_SHARED | AP_MAP_FIXED,
			   (u64)ap_proc.session_fd, 0 };

	return ap_filter_allows(AP_NR_mmap, a);
}

bool ap_filter_allows_start(void)
{
	const u64 a[6] = { 0 }, pc = ap_proc.blob_hi; /* it will be elsewhere */

	for (u32 i = 0; own() && i < AP_ARRAY_SIZE(start_calls); i++)
		if (ap_filter_judge(own(), start_calls[i], a, pc) != AP_FILTER_ALLOW)
			return false;
	for (u32 i = 0; own() && i < AP_ARRAY_SIZE(usual_calls); i++)
		if (ap_filter_judge(own(), usual_calls[i], a, pc) < AP_FILTER_ERRNO)
			return false;
	return (ap_proc.has_fsgsbase || ap_filter_allows_nr(AP_NR_arch_prctl)) &&
	       ap_filter_allows_map(true);
}

/* The only place in the engine for calls that it makes for itself, so that it has one address. */
AP_ONE_COPY s64 ap_own_sys(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	register u64 r10 __asm__("r10");
	register u64 r8 __asm__("r8");
	register u64 r9 __asm__("r9");
	s64 ret;

	if (ap_unlikely(ap_filter_any)) {
		const u64 args[6] = { a, b, c, d, e, f };

		if (!ap_filter_allows(nr, args))
			return -AP_EPERM;
	}
	r10 = d;
	r8 = e;
	r9 = f;
	__asm__ volatile("syscall\n"
			 "	.hidden ap_own_syscall_end\n"
			 "	.globl ap_own_syscall_end\n"
			 "ap_own_syscall_end:"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

void ap_own_wait(const u32 *word, u32 is, u64 ns)
{
	const struct ap_timespec limit = { .sec = (s64)(ns / 1000000000),
					   .nsec = (s64)(ns % 1000000000) };

	if (ap_sys4(AP_NR_futex, (u64)word, AP_FUTEX_WAIT, is, (u64)&limit) != -AP_EPERM)
		return;
	for (u64 n = ns / PAUSE_NS; n && __atomic_load_n(word, __ATOMIC_RELAXED) == is; n--)
		__builtin_ia32_pause();
}

/* --- the program's calls */

bool ap_filter_refuses(const struct ap_filter *f, u64 nr, const u64 a[6], u64 pc)
{
	const struct data d = data_of(nr, a, pc);

	for (; f; f = f->before)
		if (!f->by_address && judge_one(f, &d) <= AP_FILTER_ERRNO)
			return true;
	return false;
}
