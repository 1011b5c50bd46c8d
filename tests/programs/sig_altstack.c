/* SPDX-License-Identifier: MIT */
/*
 * The alternate signal stack: what sigaltstack answers, where frames lie, nesting, SS_AUTODISARM,
 * and a handler that survives a stack overflow.
 */
#include "sig_test.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static char stack[65536] __attribute__((aligned(64)));
static char other[65536];

static int on(const void *p, const char *s)
{
	return (const char *)p > s && (const char *)p <= s + 65536;
}

static volatile stack_t seen;
static ucontext_t frame;
static const void *volatile frame_at, *volatile info_at;
static volatile int nested_ok, depth;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	stack_t ss = { .ss_sp = other, .ss_size = sizeof(other) };

	(void)sig;
	frame = *(ucontext_t *)context;
	frame_at = context;
	info_at = info;
	sigaltstack(NULL, (stack_t *)&seen);
	nested_ok = sigaltstack(&ss, NULL) == -1 && errno == EPERM;
}

static void answers(void)
{
	stack_t ss, old;

	CHECK(sigaltstack(NULL, &old) == 0);
	CHECK_EQ(old.ss_flags, SS_DISABLE);
	CHECK_EQ(old.ss_size, 0);
	ss = (stack_t){ .ss_sp = stack, .ss_size = 2047 };
	CHECK(sigaltstack(&ss, NULL) == -1 && errno == ENOMEM);
	ss = (stack_t){ .ss_sp = stack, .ss_size = sizeof(stack), .ss_flags = 4 };
	CHECK(sigaltstack(&ss, NULL) == -1 && errno == EINVAL);
	CHECK(sigaltstack((void *)8, NULL) == -1 && errno == EFAULT);
	ss.ss_flags = 0;
	CHECK(sigaltstack(&ss, &old) == 0);
	CHECK_EQ(old.ss_flags, SS_DISABLE);
	CHECK(sigaltstack(NULL, &old) == 0);
	CHECK_EQ(old.ss_flags, 0);
	CHECK_EQ(old.ss_sp, stack);
	CHECK_EQ(old.ss_size, sizeof(stack));
	CHECK(sigaltstack(NULL, (void *)8) == -1 && errno == EFAULT);
	done("answers");
}

static void frame_place(void)
{
	unsigned long fp, at, top;

	catch_with(SIGUSR1, on_signal, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(on(frame_at, stack));
	CHECK_EQ(seen.ss_flags, SS_ONSTACK);
	CHECK(nested_ok);
	CHECK_EQ(frame.uc_stack.ss_sp, stack);
	CHECK_EQ(frame.uc_stack.ss_size, sizeof(stack));
	CHECK_EQ(frame.uc_stack.ss_flags, 0);
	at = (unsigned long)frame_at - 8;
	fp = (unsigned long)frame.uc_mcontext.fpregs;
	top = (unsigned long)stack + sizeof(stack);
	CHECK_EQ(fp % 64, 0);
	CHECK_EQ((at + 8) % 16, 0);
	CHECK_EQ(at, ((fp - 440) & ~15UL) - 8);
	CHECK_EQ(info_at, at + 312);
	printf("extended state ends %lu below the top\n",
	       top - (fp + ((const unsigned *)fp)[464 / 4 + 1]) < 64 ? 0UL : 1UL);
	catch_with(SIGUSR2, on_signal, 0);
	raise(SIGUSR2);
	CHECK(!on(frame_at, stack));
	CHECK_EQ(seen.ss_flags, 0);
	done("place of the frame");
}

static void on_nested(int sig, siginfo_t *info, void *context)
{
	static const char *first;

	(void)sig;
	(void)info;
	CHECK(on(context, stack));
	if (depth++ == 0) {
		first = context;
		raise(SIGUSR2);
		CHECK_EQ(depth, 2);
	} else {
		CHECK((const char *)context < first);
	}
}

static void nesting(void)
{
	catch_with(SIGUSR1, on_nested, SA_ONSTACK);
	catch_with(SIGUSR2, on_nested, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK_EQ(depth, 2);
	done("nested on the same stack");
}

static void on_disarmed(int sig, siginfo_t *info, void *context)
{
	stack_t ss = { .ss_sp = other, .ss_size = sizeof(other) };

	(void)sig;
	(void)info;
	frame = *(ucontext_t *)context;
	frame_at = context;
	sigaltstack(NULL, (stack_t *)&seen);
	CHECK(sigaltstack(&ss, NULL) == 0);
}

static void autodisarm(void)
{
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack), .ss_flags = (int)SS_AUTODISARM };
	stack_t old;

	CHECK(sigaltstack(&ss, NULL) == 0);
	catch_with(SIGUSR1, on_disarmed, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(on(frame_at, stack));
	CHECK_EQ(seen.ss_flags, SS_DISABLE);
	CHECK_EQ((unsigned)frame.uc_stack.ss_flags, SS_AUTODISARM);
	CHECK(sigaltstack(NULL, &old) == 0);
	CHECK_EQ(old.ss_sp, stack); /* restored on return */
	CHECK_EQ((unsigned)old.ss_flags, SS_AUTODISARM);
	done("SS_AUTODISARM");
}

static sigjmp_buf back;
static volatile int overflows;
static char *limit;

static void on_overflow(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char *sp = (char *)uc->uc_mcontext.gregs[REG_RSP];

	(void)sig;
	CHECK(on(context, stack));
	CHECK((char *)info->si_addr > sp - 65536 && (char *)info->si_addr < sp + 65536);
	CHECK(sp < limit);
	overflows++;
	siglongjmp(back, 1);
}

static volatile int forever = 1;

static int sink(volatile char *p)
{
	volatile char room[4096];

	room[0] = p ? p[0] : 0;
	return (forever ? sink(room) : 0) + room[0];
}

static void overflow(void)
{
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	char here;

	limit = &here;
	CHECK(sigaltstack(&ss, NULL) == 0);
	catch_with(SIGSEGV, on_overflow, SA_ONSTACK);
	for (int i = 0; i < 3; i++)
		if (sigsetjmp(back, 1) == 0)
			sink(NULL);
	CHECK_EQ(overflows, 3);
	done("stack overflow");
}

static void disable(void)
{
	stack_t ss = { .ss_flags = SS_DISABLE }, old;

	CHECK(sigaltstack(&ss, &old) == 0);
	CHECK_EQ(old.ss_sp, stack);
	catch_with(SIGUSR1, on_signal, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(!on(frame_at, stack));
	CHECK_EQ(frame.uc_stack.ss_flags & 3, SS_DISABLE);
	done("disabled");
}

int main(void)
{
	answers();
	frame_place();
	nesting();
	autodisarm();
	overflow();
	disable();
	return verdict();
}
