/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Filters that lack what an engine would like to call: code that runs for the first time in threads which
 * meet each other, code that is changed, new threads, memory that is had without what goes with it.  Each
 * filter kills for what the program does not call itself.  What this prints is the same natively and
 * counted.
 *
 *	seccomp_narrow meet | flood | change | threads | memory | limits | answers | codeless | forks |
 *			refused | failing | threads-of-children | segments
 *	seccomp_narrow image NUMBER	as one that is executed where this call kills
 *	seccomp_narrow without NUMBER	where this call kills, as others do not need it
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "seccomp.h"

#define KILL	SECCOMP_RET_KILL_PROCESS
#define TSYNC	SECCOMP_FILTER_FLAG_TSYNC
#define LEN	32
#define CHANGED 200

static unsigned char *code;

/*
 * n functions of their own: eax is edi * k + i by way of a branch that goes either way.
 *	imul k, %edi, %eax; test $1, %edi; je 1f; add $i, %eax; ret; 1: add $i, %eax; ret
 */
static void put_function(unsigned int i)
{
	unsigned char *p = code + (size_t)i * LEN, *start = p;
	uint32_t k = i * 2 + 3;

	memcpy(p, "\x69\xc7", 2);
	memcpy(p + 2, &k, 4);
	memcpy(p + 6, "\x40\xf6\xc7\x01\x74\x06", 6);
	p += 12;
	for (int n = 0; n < 2; n++) {
		*p = 0x05;
		memcpy(p + 1, &i, 4);
		p[5] = 0xc3;
		p += 6;
	}
	if (p - start > LEN)
		_exit(7);
}

static uint32_t call(unsigned int i, uint32_t x)
{
	uint32_t (*fn)(uint32_t) = (uint32_t(*)(uint32_t))(uintptr_t)(code + (size_t)i * LEN);

	return fn(x);
}

static void make_code(unsigned int n, int prot)
{
	code = mmap(NULL, (size_t)n * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		_exit(8);
	for (unsigned int i = 0; i < n; i++)
		put_function(i);
	if (mprotect(code, (size_t)n * LEN, prot))
		_exit(8);
}

/* --- threads that meet: write, and the end */

static unsigned int functions, arrived, left_, go;
static uint64_t sums[4];

/* Without a call: the filter lacks what barriers are made of. */
static void wait_for(const unsigned int *what, unsigned int n)
{
	while (__atomic_load_n(what, __ATOMIC_SEQ_CST) < n)
		;
}

/* Half of them forward, half of them backward: what one meets first the other has made, or makes. */
static void run_all(unsigned int which)
{
	uint64_t sum = 0;

	for (unsigned int k = 0; k < functions; k++)
		sum += call(which & 1 ? functions - 1 - k : k, k);
	sums[which] = sum;
}

static void *meets(void *arg)
{
	unsigned int which = (unsigned int)(uintptr_t)arg;

	__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
	wait_for(&go, 1);
	run_all(which);
	__atomic_fetch_add(&left_, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return NULL;
}

static void threads_meet(unsigned int n)
{
	static const int calls[] = { SYS_write, SYS_exit, SYS_exit_group, -1 };
	pthread_t t;

	functions = n;
	make_code(n, PROT_READ | PROT_EXEC);
	for (uintptr_t i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, meets, (void *)i))
			_exit(8);
	wait_for(&arrived, 4);
	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, TSYNC));
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	wait_for(&left_, 4);
	for (int i = 0; i < 4; i++)
		say_number("sum ", sums[i]);
	syscall(SYS_exit_group, 0);
}

/* --- code that is changed where pages can no longer be given back */

static void change(void)
{
	static const int calls[] = { SYS_write, SYS_exit, SYS_exit_group, -1 };
	uint64_t sum = 0;

	make_code(CHANGED, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (unsigned int i = 0; i < CHANGED; i++)
		sum += call(i, i);
	say_number("before ", sum);
	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	for (unsigned int round = 1; round <= 5; round++)
		for (unsigned int i = 0; i < CHANGED; i++) {
			code[(size_t)i * LEN + 2] += (unsigned char)round;
			sum += call(i, round);
		}
	say_number("after ", sum);
	syscall(SYS_exit_group, 0);
}

/* --- threads without memory: clone, write, exit */

static _Alignas(16) char stacks[8][16384];
static int tids[8];

static int works(void *arg)
{
	unsigned int which = (unsigned int)(uintptr_t)arg;

	run_all(which % 4);
	__atomic_fetch_add(&left_, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

static void new_threads(void)
{
	static const int calls[] = { SYS_write, SYS_clone, SYS_exit, SYS_exit_group, -1 };
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PARENT_SETTID;
	int ret = 0;

	functions = 2000;
	make_code(functions, PROT_READ | PROT_EXEC);
	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	for (unsigned int i = 0; i < 8; i++) {
		/* every other one does not ask for its number */
		ret = clone(works, stacks[i] + sizeof(stacks[i]),
			    i & 1 ? flags : flags & ~CLONE_PARENT_SETTID, (void *)(uintptr_t)i,
			    &tids[i]);
		if (ret < 0)
			break;
	}
	say(ret > 0 ? "cloned\n" : "not cloned\n");
	wait_for(&left_, 8);
	for (int i = 0; i < 4; i++)
		say_number("sum ", sums[i]);
	syscall(SYS_exit_group, 0);
}

/* --- a process without memory: fork, write, exit and the wait for it; its children fork, too, and have a thread */

static int works_in_child(void *arg)
{
	say_number("thread ", call(450, (uint32_t)(uintptr_t)arg));
	__atomic_fetch_add(&left_, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

static void be_forked(unsigned int i, bool with_threads)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PARENT_SETTID;
	int status = 0;
	long pid;

	say_number("child ", call(400 + i, i));
	if (i == 1) {
		pid = syscall(SYS_fork);
		if (!pid) {
			say_number("grandchild ", call(480, i));
			syscall(SYS_exit_group, 9);
		}
		syscall(SYS_wait4, pid, &status, 0, NULL);
		say_number("its status ", (uint64_t)status);
	}
	if (with_threads) {
		if (clone(works_in_child, stacks[0] + sizeof(stacks[0]), flags,
			  (void *)(uintptr_t)i, &tids[0]) < 0)
			say("not cloned\n");
		else
			wait_for(&left_, 1);
	}
	syscall(SYS_exit_group, 3 + i);
}

static void fork_some(unsigned int n, bool with_threads)
{
	static const int calls[] = { SYS_write, SYS_fork,	SYS_clone, SYS_exit,
				     SYS_wait4, SYS_exit_group, -1 };
	int status = 0;
	long pid;

	make_code(500, PROT_READ | PROT_EXEC);
	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	for (unsigned int i = 0; i < n; i++) {
		pid = syscall(SYS_fork);
		if (!pid)
			be_forked(i, with_threads);
		syscall(SYS_wait4, pid, &status, 0, NULL);
		say_number("status ", (uint64_t)status);
	}
	syscall(SYS_exit_group, 0);
}

static void forks(void)
{
	fork_some(40, false);
}

static void threads_of_children(void)
{
	fork_some(4, true);
}

/* --- memory: mmap and munmap, and nothing that looks at what they do */

static void memory(void)
{
	static const int calls[] = { SYS_write,	   SYS_mmap,	   SYS_munmap,
				     SYS_mprotect, SYS_exit_group, -1 };
	uint64_t sum = 0;
	char *p;

	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	for (int i = 0; i < 20; i++) {
		p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			_exit(8);
		p[4096 * i] = (char)i;
		mprotect(p, 1 << 20, PROT_READ);
		sum += (uint64_t)p[4096 * i];
		munmap(p, 1 << 20);
	}
	make_code(500, PROT_READ | PROT_EXEC);
	for (unsigned int i = 0; i < 500; i++)
		sum += call(i, i);
	say_number("sum ", sum);
	syscall(SYS_exit_group, 0);
}

/* --- limits by the old calls */

static void limits(void)
{
	static const int calls[] = { SYS_write, SYS_getrlimit, SYS_setrlimit, SYS_exit_group, -1 };
	unsigned long lim[2] = { 0 };

	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	for (int what = RLIMIT_CPU; what <= RLIMIT_AS; what++) {
		say_number("get ", (uint64_t)syscall(SYS_getrlimit, what, lim));
		say_number("set ", (uint64_t)syscall(SYS_setrlimit, what, lim));
	}
	syscall(SYS_exit_group, 0);
}

/* --- calls that never reach the kernel where nothing asks for them */

static void answers(void)
{
	static const int calls[] = { SYS_sigaltstack, SYS_arch_prctl, SYS_rseq, SYS_rt_sigaction,
				     -1 };
	struct sock_filter insns[SECCOMP_CODE];
	struct sock_fprog prog = {
		seccomp_code(insns, calls, SECCOMP_RET_ERRNO | ENOANO, SECCOMP_RET_ALLOW), insns
	};
	unsigned long word, act[4];
	stack_t ss = { .ss_flags = SS_DISABLE };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say_number("filter ", (uint64_t)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	say_number("altstack ", (uint64_t)(syscall(SYS_sigaltstack, &ss, NULL) + errno));
	say_number("gs ", (uint64_t)(syscall(SYS_arch_prctl, ARCH_GET_GS, &word) + errno));
	say_number("rseq ", (uint64_t)(syscall(SYS_rseq, NULL, 0, 0, 0) + errno));
	say_number("action ", (uint64_t)(syscall(SYS_rt_sigaction, SIGUSR1, NULL, act, 8) + errno));
}

/* --- as services are kept from making code: no mapping that can be executed, no page that becomes so */

static void *fresh(void *arg)
{
	run_all((unsigned int)(uintptr_t)arg);
	return NULL;
}

static void codeless(void)
{
	static const struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(insns) / sizeof(insns[0]), (struct sock_filter *)insns };
	pthread_t t[2];

	functions = 30000;
	make_code(functions, PROT_READ | PROT_WRITE | PROT_EXEC);
	(void)call(1, 1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say_number("filter ", (uint64_t)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	for (uintptr_t i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, fresh, (void *)i))
			_exit(8);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		say_number("sum ", sums[i]);
	}
}

/* --- a filter for all that is refused, as one of them has a narrow one of its own */

static void *narrow(void *arg)
{
	static const int calls[] = { SYS_write, SYS_exit, SYS_exit_group, -1 };

	say_number("own filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	return meets(arg);
}

static void refused(void)
{
	static const int calls[] = { SYS_exit_group, -1 };
	struct sock_filter insns[SECCOMP_CODE];
	struct sock_fprog prog = { seccomp_code(insns, calls, SECCOMP_RET_ALLOW, KILL), insns };
	pthread_t t;
	long ret;

	functions = 30000;
	make_code(functions, PROT_READ | PROT_EXEC);
	if (pthread_create(&t, NULL, narrow, NULL))
		_exit(8);
	wait_for(&arrived, 1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, TSYNC, &prog);
	say(ret > 0 ? "refused\n" : "not refused\n");
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	wait_for(&left_, 1);
	say_number("sum ", sums[0]);
}

/* --- filters that the kernel does not take: nothing is kept of them */

static long pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long n = 0;

	if (!f || fscanf(f, "%ld", &n) != 1)
		_exit(8);
	fclose(f);
	return n;
}

static void failing(void)
{
	struct sock_filter insns[200] = { 0 };
	struct sock_fprog prog = { 200, insns };
	long before = 0, ret, taken = 0;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (uint32_t i = 0; i < 3000; i++) {
		if (i == 10)
			before = pages();
		for (int n = 0; n < 200; n++)
			insns[n] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, i & 1 ? i : 0);
		prog.len = (unsigned short)(100 + i % 100);
		ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, i & 1 ? 0 : TSYNC, &prog);
		taken += ret >= 0 || errno != EINVAL;
	}
	say_number("taken ", (uint64_t)taken);
	/* two megabytes are room for what an engine makes of this loop */
	say(pages() - before > 512 ? "grown\n" : "not grown\n");
}

/* --- what has become of mappings the kernel cannot be asked: there is no open */

static void segments(void)
{
	static const int calls[] = { SYS_write, SYS_shmdt, SYS_mprotect, SYS_exit_group, -1 };
	const size_t size = 65536;
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0700);
	unsigned char *hole = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *at[2] = { hole, hole + size };

	if (id < 0 || hole == MAP_FAILED || munmap(hole, 3 * size))
		_exit(8);
	for (int i = 0; i < 2; i++)
		if (shmat(id, at[i], SHM_EXEC) != at[i])
			_exit(8);
	shmctl(id, IPC_RMID, NULL);
	code = at[1];
	for (unsigned int i = 0; i < 100; i++)
		put_function(i);
	say_number("both ", call(3, 5));
	say_number("filter ", (uint64_t)seccomp_allow(calls, KILL, 0));
	say_number("shmdt ", (uint64_t)shmdt(at[0]));
	say_number("the other ", call(3, 5) + call(50, 1));
	code[2]++;
	say_number("changed ", call(0, 3));
	/* what fails in the beginning, and what does so behind it */
	say_number("mprotect ", (uint64_t)mprotect(code, 4096, 0x7000) + (uint64_t)errno);
	say_number("as it was ", call(3, 7) + call(51, 1));
	say_number("mprotect ",
		   (uint64_t)mprotect(code, 2 * size, PROT_READ | PROT_EXEC) + (uint64_t)errno);
	say_number("as it was ", call(3, 9) + call(52, 1));
	syscall(SYS_exit_group, 0);
}

/* --- one call kills */

static void kill_for(int nr)
{
	const int calls[] = { nr, -1 };
	struct sock_filter insns[SECCOMP_CODE];
	struct sock_fprog prog = { seccomp_code(insns, calls, KILL, SECCOMP_RET_ALLOW), insns };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		_exit(8);
}

static void *starts(void *arg)
{
	return arg;
}

/* A thread, and a program found by PATH. */
static void be_image(void)
{
	int status = 0;
	pthread_t t;
	pid_t pid;

	if (pthread_create(&t, NULL, starts, NULL) || pthread_join(t, NULL))
		_exit(8);
	say("image\n");
	pid = fork();
	if (!pid) {
		execlp("true", "true", (char *)NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	say_number("status ", (uint64_t)status);
}

static uint64_t change_often(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 50; i++) {
		sum += call(0, 3) + call(1, i);
		code[2]++;
	}
	return sum;
}

static void without(int nr)
{
	int fd, pages = 0;
	char text[512];

	make_code(CHANGED, PROT_READ | PROT_WRITE | PROT_EXEC);
	say_number("before ", call(0, 3) + call(0, 4));
	kill_for(nr);
	say_number("changed ", change_often());
	make_code(CHANGED, PROT_READ | PROT_WRITE | PROT_EXEC);
	say_number("new ", change_often());
	fd = open("/proc/self/maps", O_RDONLY);
	while (read(fd, text, sizeof(text)) > 0)
		pages++;
	say(pages ? "maps are read\n" : "no maps\n");
}

static void meet_few(void)
{
	threads_meet(2000);
}

/* More code than there was room for when the filter came. */
static void flood(void)
{
	threads_meet(30000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "meet", meet_few },    { "flood", flood },
		      { "change", change },    { "threads", new_threads },
		      { "memory", memory },    { "limits", limits },
		      { "answers", answers },  { "codeless", codeless },
		      { "forks", forks },      { "refused", refused },
		      { "failing", failing },  { "threads-of-children", threads_of_children },
		      { "segments", segments } };

	for (unsigned int i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	if (argc == 3 && !strcmp(argv[1], "image")) {
		kill_for(atoi(argv[2]));
		execl("/proc/self/exe", argv[0], "image", (char *)NULL);
	}
	if (argc == 3 && !strcmp(argv[1], "without")) {
		without(atoi(argv[2]));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "image")) {
		be_image();
		return 0;
	}
	return 2;
}
