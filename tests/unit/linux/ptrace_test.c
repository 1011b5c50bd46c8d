/* SPDX-License-Identifier: MIT */
/*
 * Working on a stopped task: calls in its name, its memory, and where the blob would go.
 */
#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/hole.h"
#include "inject/task.h"
#include "linux/run/launch.h"
#include "linux/task/refusal.h"
#include "tap/tap.h"

static volatile u64 shared_word = 1;

/* A child that counts in a loop, seized and stopped in user code. */
static pid_t new_stopped_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			shared_word++;
	}
	REQUIRE(pid > 0);
	if (ap_task_seize(pid)) {
		kill(pid, SIGKILL);
		tap_lack("ptrace is refused here");
	}
	EXPECT(ap_task_poll(pid, &status) == -EAGAIN);
	REQUIRE(ap_task_interrupt(pid) == 0);
	REQUIRE(ap_task_wait(pid, &status) == 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

static void check_calls(u64 vdso, bool can_step)
{
	const u64 none[6] = { 0 },
		  map[6] = { 0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, (u64)-1 };
	pid_t pid = new_stopped_child();
	struct user_regs_struct before, after;
	struct ap_remote r = { 0 };
	s64 ret;

	REQUIRE(ap_task_get_regs(pid, &before) == 0);
	REQUIRE(ap_remote_begin(&r, pid, vdso) == 0);
	EXPECT(r.is_patched == !vdso);
	EXPECT(!r.can_step && !r.is_new);
	r.can_step = r.is_apart = can_step;
	REQUIRE(ap_remote_call(&r, SYS_getpid, none, &ret) == 0);
	EXPECT_U64(ret, pid);
	REQUIRE(ap_remote_call(&r, SYS_mmap, map, &ret) == 0);
	EXPECT(ret > 0 && !(ret & 4095));
	REQUIRE(ap_remote_call(&r, SYS_close, map, &ret) == 0);
	REQUIRE(ap_remote_call(&r, 9999, none, &ret) == 0);
	EXPECT(ret == -ENOSYS);
	REQUIRE(ap_remote_end(&r) == 0);
	REQUIRE(ap_task_get_regs(pid, &after) == 0);
	before.orig_rax = after.orig_rax;
	EXPECT_MEM(&after, &before, sizeof(before));
	/* and it runs on */
	REQUIRE(ap_task_detach(pid, 0) == 0);
	EXPECT(waitpid(pid, NULL, WNOHANG) == 0);
	end_child(pid);
}

static void makes_calls_through_the_vdso(void)
{
	u64 vdso = getauxval(AT_SYSINFO_EHDR);

	if (!vdso)
		tap_lack("a kernel without a vdso");
	check_calls(vdso, false);
	check_calls(vdso, true);
}

static void makes_calls_without_a_vdso(void)
{
	check_calls(0, false);
	check_calls(0, true);
}

static void holds_a_stop_signal_back(void)
{
	const u64 none[6] = { 0 };
	pid_t pid = new_stopped_child();
	struct ap_remote r = { 0 };
	s64 ret;

	REQUIRE(ap_remote_begin(&r, pid, getauxval(AT_SYSINFO_EHDR)) == 0);
	kill(pid, SIGSTOP);
	REQUIRE(ap_remote_call(&r, SYS_getpid, none, &ret) == 0);
	EXPECT_U64(ret, pid);
	EXPECT(r.had_stop);
	r.had_stop = false;
	r.can_step = true;
	kill(pid, SIGSTOP);
	REQUIRE(ap_remote_call(&r, SYS_getpid, none, &ret) == 0);
	EXPECT_U64(ret, pid);
	EXPECT(r.had_stop && !r.had_trap);
	REQUIRE(ap_remote_end(&r) == 0);
	end_child(pid);
}

/* One that the thread was sent stands where the step's would be. */
static void holds_a_trap_back(void)
{
	const u64 none[6] = { 0 };
	pid_t pid = new_stopped_child();
	struct ap_remote r = { 0 };
	s64 ret;

	REQUIRE(ap_remote_begin(&r, pid, getauxval(AT_SYSINFO_EHDR)) == 0);
	REQUIRE(ap_task_set_sigmask(pid, ~0ULL) == 0);
	r.mask = ~0ULL;
	r.can_step = true;
	REQUIRE(ap_remote_call(&r, SYS_getpid, none, &ret) == 0);
	EXPECT_U64(ret, pid);
	EXPECT(!r.had_trap);
	syscall(SYS_tkill, pid, SIGTRAP);
	REQUIRE(ap_remote_call(&r, SYS_getpid, none, &ret) == 0);
	EXPECT_U64(ret, pid);
	EXPECT(r.had_trap);
	r.had_trap = false;
	REQUIRE(ap_remote_call(&r, SYS_getpid, none, &ret) == 0);
	EXPECT(!r.had_trap);
	REQUIRE(ap_remote_end(&r) == 0);
	end_child(pid);
}

static void reads_and_writes_memory(void)
{
	static const char text[] = "written from outside";
	static char place[8192];
	pid_t pid = new_stopped_child();
	char got[sizeof(text)];
	u64 at = (u64)(uintptr_t)place + 4090;

	EXPECT_U64(ap_task_write(pid, at, text, sizeof(text)), 0);
	EXPECT_U64(ap_task_read(pid, at, got, sizeof(got)), 0);
	EXPECT_STR(got, text);
	EXPECT(!place[4090]);
	/* read-only pages can be written, pages that are none cannot */
	at = (u64)(uintptr_t)text + 1;
	EXPECT_U64(ap_task_write(pid, at, "RITTEN", 6), 0);
	EXPECT_U64(ap_task_read(pid, at - 1, got, 8), 0);
	EXPECT_MEM(got, "wRITTEN ", 8);
	EXPECT_STR(text, "written from outside");
	EXPECT(ap_task_write(pid, 8, "x", 1) < 0);
	EXPECT(ap_task_read(pid, 8, got, 1) < 0);
	end_child(pid);
}

static void knows_a_64_bit_task_and_its_mask(void)
{
	pid_t pid = new_stopped_child();
	u64 mask = 0;

	EXPECT_U64(ap_task_check_64bit(pid), 0);
	EXPECT_U64(ap_task_set_sigmask(pid, 0x1234), 0);
	EXPECT_U64(ap_task_get_sigmask(pid, &mask), 0);
	EXPECT_U64(mask, 0x1234);
	EXPECT_U64(ap_tracer_of(pid), getpid());
	end_child(pid);
}

static void add(struct ap_layout *lay, u64 start, u64 end, u32 flags, const char *name)
{
	const struct ap_proc_map map = { .start = start, .end = end, .flags = flags, .name = name };

	ap_layout_add(lay, &map);
}

static void finds_a_hole_below_the_cluster(void)
{
	struct ap_boot boot = { 0 };
	struct ap_layout lay = { .anchor = 0x7ffff7fcb000, .boot = &boot };
	u64 first;

	add(&lay, 0x400000, 0x401000, AP_MAP_R | AP_MAP_X, "/bin/a");
	add(&lay, 0x7ffff7fc2000, 0x7ffff7fc6000, AP_MAP_R, "[vvar]");
	add(&lay, 0x7ffff7fc8000, 0x7ffff7fca000, AP_MAP_R | AP_MAP_X, "[vdso]");
	add(&lay, 0x7ffff7fcb000, 0x7ffff7ff1000, AP_MAP_R | AP_MAP_X, "/lib/ld.so");
	add(&lay, 0x7ffffffde000, 0x7ffffffff000, AP_MAP_R | AP_MAP_W, "[stack]");
	add(&lay, 0xffffffffff600000, 0xffffffffff601000, AP_MAP_X, "[vsyscall]");
	EXPECT_U64(lay.lowest, 0x7ffff7fc2000);
	EXPECT_U64(lay.stack, 0x7ffffffde000);
	EXPECT_U64(boot.nranges, 3);
	EXPECT_U64(boot.ranges[0].start, 0x400000);
	EXPECT_U64(boot.ranges[2].end, 0x7ffff7ff1000);
	first = ap_hole_candidate(&lay, 0x12000, 0);
	EXPECT_U64(first, 0x7ffff7fc2000 - AP_HOLE_DISTANCE - 0x12000);
	EXPECT_U64(ap_hole_candidate(&lay, 0x12000, 2), first - 2 * AP_HOLE_STEP);
	EXPECT_U64(ap_hole_candidate(&lay, 0x12000, AP_HOLE_TRIES), 0);
	lay.lowest = lay.anchor = 0x10000000;
	EXPECT_U64(ap_hole_candidate(&lay, 0x12000, 0), 0);
}

static void names_who_refuses(void)
{
	EXPECT(strstr(ap_refusal_reason(-EPERM, 3, 0), "ptrace_scope is 3") != NULL);
	EXPECT(strstr(ap_refusal_reason(-EPERM, 2, 2), "ptrace_scope is 2") != NULL);
	EXPECT(strstr(ap_refusal_reason(-EPERM, 1, 2), "seccomp") != NULL);
	EXPECT(strstr(ap_refusal_reason(-ENOSYS, 2, 2), "seccomp") != NULL);
	EXPECT(ap_refusal_reason(-EPERM, -1, 0) == NULL);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(makes_calls_through_the_vdso),
						 TAP(makes_calls_without_a_vdso),
						 TAP(holds_a_stop_signal_back),
						 TAP(holds_a_trap_back),
						 TAP(reads_and_writes_memory),
						 TAP(knows_a_64_bit_task_and_its_mask),
						 TAP(finds_a_hole_below_the_cluster),
						 TAP(names_who_refuses),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
