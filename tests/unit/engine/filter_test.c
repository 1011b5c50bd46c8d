/* SPDX-License-Identifier: MIT */
/*
 * What a seccomp filter says of a call, as the engine finds out, beside what the kernel says of the very
 * same call: random filters of all instructions that the kernel takes, in a child for each.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "tap/tap.h"

struct ap_proc ap_proc;

static u64 state = 88172645463325252ULL;

static u32 below(u32 n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (u32)(state >> 33) % n;
}

#define LEN 24

static const u32 answers[] = { SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | 7, SECCOMP_RET_ERRNO | 99,
			       SECCOMP_RET_KILL_PROCESS };

static u32 some_k(void)
{
	return below(2) ? below(40) : (u32)state;
}

static struct sock_filter some_insn(u32 left)
{
	static const u16 alu[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_XOR };
	static const u16 jmp[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	u16 src = below(2) ? BPF_X : BPF_K, op;

	switch (below(12)) {
	case 0:
	case 1:
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, below(16) * 4);
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, some_k());
	case 4:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, some_k());
	case 5:
		return (struct sock_filter)BPF_STMT(below(2) ? BPF_ST : BPF_STX, below(4));
	case 6:
		return (struct sock_filter)BPF_STMT((below(2) ? BPF_LD : BPF_LDX) | BPF_MEM,
						    below(4));
	case 7:
		return (struct sock_filter)BPF_STMT(
			below(2) ? BPF_MISC | (below(2) ? BPF_TAX : BPF_TXA)
				 : (below(2) ? BPF_LD : BPF_LDX) | BPF_W | BPF_LEN,
			0);
	case 8:
		op = below(2) ? BPF_LSH : BPF_RSH;
		return (struct sock_filter)BPF_STMT(BPF_ALU | op | src,
						    src == BPF_K ? below(32) : 0);
	case 9:
		if (!below(4))
			return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_NEG, 0);
		op = alu[below(7)];
		return (struct sock_filter)BPF_STMT(BPF_ALU | op | src,
						    src == BPF_K ? some_k() | 1 : 0);
	default:
		if (!below(8))
			return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, below(left));
		return (struct sock_filter)BPF_JUMP(BPF_JMP | jmp[below(4)] | src, some_k(),
						    (u8)below(left), (u8)below(left));
	}
}

/* The last four are answers; all memory is written first, as the kernel wants it. */
static void make(struct ap_filter *f)
{
	struct sock_filter code[LEN];
	u32 n = 0;

	for (; n < 4; n++)
		code[n] = (struct sock_filter)BPF_STMT(BPF_ST, n);
	for (; n < LEN - 4; n++)
		code[n] = some_insn(LEN - 1 - n);
	for (; n < LEN; n++)
		code[n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answers[below(4)]);
	f->n = LEN;
	_Static_assert(sizeof(code[0]) == sizeof(f->insn[0]), "struct sock_filter");
	memcpy(f->insn, code, sizeof(code));
}

#define NR 9999 /* no call: ENOSYS where it is allowed */

/* The call's outcome in a child under f and a filter that lets the child end. */
static int in_kernel(const struct ap_filter *f, const u64 a[6])
{
	struct sock_filter code[LEN + 4] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_IMM, 0), /* as at the beginning */
	};
	struct sock_fprog prog = { LEN + 4, code };
	int status;
	pid_t pid;

	memcpy(code + 4, f->insn, sizeof(f->insn[0]) * LEN);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
			_exit(250);
		(void)!syscall(NR, a[0], a[1], a[2], a[3], a[4], a[5]);
		_exit(errno);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int expected(u32 action)
{
	return action == AP_FILTER_ALLOW ? ENOSYS : action == AP_FILTER_KILL ? -SIGSYS : 0;
}

static void random_filters_say_what_the_kernel_says(void)
{
	struct ap_filter *f = calloc(1, sizeof(*f) + LEN * sizeof(f->insn[0]));
	u32 seen[3] = { 0 };

	for (int round = 0; round < 400; round++) {
		u64 a[6];
		u32 action;
		int want;

		make(f);
		for (int i = 0; i < 6; i++)
			a[i] = below(2) ? below(40) : state;
		/* no filter of these asks for the place */
		for (int i = 0; i < LEN; i++)
			if (f->insn[i].code == (BPF_LD | BPF_W | BPF_ABS) &&
			    (f->insn[i].k == 8 || f->insn[i].k == 12))
				f->insn[i].k = 0;
		want = in_kernel(f, a);
		if (want == 250)
			continue;
		action = ap_filter_judge(f, NR, a, 0);
		if (action == AP_FILTER_ERRNO)
			EXPECT(want == 7 || want == 99);
		else
			EXPECT_U64((u64)want, (u64)expected(action));
		seen[action == AP_FILTER_ERRNO ? 2 : action == AP_FILTER_ALLOW]++;
	}
	EXPECT(seen[0] > 20);
	EXPECT(seen[1] > 20);
	EXPECT(seen[2] > 20);
	free(f);
}

static bool is_passed(u32 action)
{
	return action > AP_FILTER_ERRNO;
}

/* Where it says no, no arguments pass; where no argument is looked at it is exact. */
static void what_may_pass_does_for_some_arguments(void)
{
	struct ap_filter *f = calloc(1, sizeof(*f) + LEN * sizeof(f->insn[0]));
	u32 never = 0, plain = 0, wrong = 0;

	for (int round = 0; round < 20000; round++) {
		bool may, looks = round % 2, any = false;

		make(f);
		for (int i = 0; !looks && i < LEN; i++) {
			if (f->insn[i].code == (BPF_LD | BPF_W | BPF_ABS))
				f->insn[i].k = 4 * below(2);
			if ((f->insn[i].code & ~1) == (BPF_LD | BPF_MEM))
				f->insn[i].code ^= BPF_MEM ^ BPF_LEN;
		}
		may = ap_filter_may_pass(f, NR);
		for (int n = 0; n < 50; n++) {
			u64 a[6];

			for (int i = 0; i < 6; i++)
				a[i] = below(2) ? below(40) : state;
			any |= is_passed(ap_filter_judge(f, NR, a, below(2) ? below(40) : state));
		}
		wrong += any && !may;
		never += !may;
		if (looks)
			continue;
		plain++;
		wrong += may != any;
	}
	EXPECT_U64(wrong, 0);
	EXPECT(never > 1000);
	EXPECT(plain > 1000);
	free(f);
}

/* Filters as sandboxes write them: on flags, and handing the call to somebody else. */
static void who_asks_for_flags_may_pass(void)
{
	struct ap_filter *f = calloc(1, sizeof(*f) + LEN * sizeof(f->insn[0]));
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x3d0f00, 2, 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG),
	};
	const struct ap_filter strict = { .is_strict = true };

	f->n = AP_ARRAY_SIZE(code);
	memcpy(f->insn, code, sizeof(code));
	EXPECT(ap_filter_may_pass(f, SYS_clone));
	EXPECT(ap_filter_may_pass(f, SYS_vfork));
	EXPECT(!ap_filter_may_pass(f, SYS_clone3));
	EXPECT(!ap_filter_may_pass(f, SYS_fork));
	f->before = &strict;
	EXPECT(!ap_filter_may_pass(f, SYS_clone));
	EXPECT(!ap_filter_may_pass(&strict, SYS_clone));
	EXPECT(ap_filter_may_pass(&strict, SYS_write));
	free(f);
}

/* The blob is somewhere else in each run, now and then across a boundary of 4 GiB. */
static void the_range_alone_passes(void)
{
	static const u64 ranges[][2] = {
		{ 0x7f1200001000, 0x7f1200302000 },
		{ 0x7f12fff00000, 0x7f1300000000 },
		{ 0x7f12fff00000, 0x7f1300200000 },
		{ 0x7f1300000000, 0x7f1300200000 },
		{ 0x10000, 0x20000 },
		{ 0x7f12ffffffff, 0x7f1300000001 },
	};
	struct ap_filter *f = calloc(1, sizeof(*f) + 16 * sizeof(f->insn[0]));
	const u64 a[6] = { 0 };

	for (u32 i = 0; i < AP_ARRAY_SIZE(ranges); i++) {
		u64 lo = ranges[i][0], hi = ranges[i][1];

		f->n = ap_filter_let_pass(f->insn, lo, hi);
		REQUIRE(f->n <= 2 * AP_FILTER_PART);
		f->insn[f->n++] =
			(struct ap_filter_insn){ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS };
		for (int k = 0; k < 20000; k++) {
			u64 near = k % 2 ? lo : hi;
			u64 pc = near - 8 + below(16) + (k % 5 ? 0 : (u64)(below(3) - 1) << 32);

			if (k % 3 == 0)
				pc = lo + below((u32)(hi - lo));
			EXPECT_U64(ap_filter_judge(f, NR, a, pc),
				   pc >= lo && pc < hi ? AP_FILTER_ALLOW : AP_FILTER_KILL);
		}
	}
	free(f);
}

static void the_strictest_holds(void)
{
	struct ap_filter *one = calloc(1, sizeof(*one) + 8), *two = calloc(1, sizeof(*two) + 8);
	const struct ap_filter strict = { .is_strict = true };
	const u64 a[6] = { 0 };

	one->n = two->n = 1;
	two->before = one;
	one->insn[0].code = two->insn[0].code = BPF_RET | BPF_K;
	one->insn[0].k = SECCOMP_RET_ERRNO | 5;
	two->insn[0].k = SECCOMP_RET_ALLOW;
	EXPECT_U64(ap_filter_judge(two, 1, a, 0), AP_FILTER_ERRNO);
	EXPECT(ap_filter_refuses(two, 1, a, 0));
	two->insn[0].k = SECCOMP_RET_KILL_PROCESS;
	EXPECT_U64(ap_filter_judge(two, 1, a, 0), AP_FILTER_KILL);
	/* somebody else decides: not ours to make, nor refused yet */
	two->before = NULL;
	two->insn[0].k = SECCOMP_RET_USER_NOTIF;
	EXPECT(ap_filter_judge(two, 1, a, 0) != AP_FILTER_ALLOW);
	EXPECT(!ap_filter_refuses(two, 1, a, 0));
	EXPECT_U64(ap_filter_judge(&strict, SYS_write, a, 0), AP_FILTER_ALLOW);
	EXPECT_U64(ap_filter_judge(&strict, SYS_futex, a, 0), AP_FILTER_KILL);
	EXPECT_U64(ap_filter_judge(NULL, SYS_futex, a, 0), AP_FILTER_ALLOW);
	free(one);
	free(two);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(random_filters_say_what_the_kernel_says),
						 TAP(what_may_pass_does_for_some_arguments),
						 TAP(who_asks_for_flags_may_pass),
						 TAP(the_range_alone_passes),
						 TAP(the_strictest_holds),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
