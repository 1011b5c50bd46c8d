/* SPDX-License-Identifier: MIT */
/*
 * Each check does what a session would do, in a child where that could hurt, and says what came of
 * it.  Files under /proc are read only to say why.
 */
#include "linux/run/doctor.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/error.h"
#include "files/helper.h"
#include "files/in.h"
#include "files/out.h"
#include "linux/run/run.h"
#include "linux/task/refusal.h"

#define KERNEL_MAJOR	4 /* the oldest that the tests know: 4.19 */
#define KERNEL_MINOR	19
#define HWCAP2_FSGSBASE (1UL << 1)
#define FEW_FILES	256
#define LITTLE_SPACE	(64ULL << 20)
#define RING_KIB	516 /* what perf record maps for each CPU, unless told otherwise */

__attribute__((format(printf, 3, 4))) static void
say(struct ap_doctor_finding *f, enum ap_doctor_verdict verdict, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(f->found, sizeof(f->found), format, ap);
	va_end(ap);
	f->verdict = verdict;
}

__attribute__((format(printf, 2, 3))) static void advise(struct ap_doctor_finding *f,
							 const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(f->change, sizeof(f->change), format, ap);
	va_end(ap);
}

static long number_in(const char *path, long otherwise)
{
	FILE *in = ap_kernel_stream(path);
	long n = otherwise;

	if (!in)
		return otherwise;
	if (fscanf(in, "%ld", &n) != 1)
		n = otherwise;
	fclose(in);
	return n;
}

static void check_kernel(struct ap_doctor_finding *f)
{
	struct utsname u;
	int major = 0, minor = 0;

	f->what = "kernel";
	uname(&u);
	(void)!sscanf(u.release, "%d.%d", &major, &minor);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR)) {
		say(f, AP_DOCTOR_OK, "Linux %.60s, %.20s", u.release, u.machine);
		return;
	}
	say(f, AP_DOCTOR_LESS, "Linux %.60s is older than %d.%d, on which nothing was tried",
	    u.release, KERNEL_MAJOR, KERNEL_MINOR);
	advise(f, "use a kernel from %d.%d on", KERNEL_MAJOR, KERNEL_MINOR);
}

static void check_proc(struct ap_doctor_finding *f)
{
	f->what = "/proc";
	if (ap_proc_is_ours()) {
		say(f, AP_DOCTOR_OK, "shows this process by its own number");
		return;
	}
	say(f, AP_DOCTOR_NO,
	    "is missing, or has other numbers for processes than they have themselves");
	advise(f, "mount -t proc proc /proc in this pid namespace");
}

static void check_calls(struct ap_doctor_finding *f)
{
	const char *refused = ap_refused_call();

	f->what = "system calls";
	if (!refused) {
		say(f, AP_DOCTOR_OK, "those that a session needs are let through");
		return;
	}
	say(f, AP_DOCTOR_NO, "a seccomp filter refuses %.40s", refused);
	advise(f, "let it through (docker: another --security-opt seccomp=PROFILE)");
}

/*
 * A child that waits to be killed; with is_foreign it is init's, as programs are that others have
 * started.
 */
static pid_t begin_child(bool is_foreign)
{
	pid_t pid = -1, first;
	int ends[2];

	if (pipe(ends))
		return -1;
	first = fork();
	if (first)
		close(ends[1]);
	if (!first && (!is_foreign || !fork())) {
		pid = getpid();
		(void)!write(ends[1], &pid, sizeof(pid));
		for (;;)
			pause();
	}
	if (!first)
		_exit(0);
	if (is_foreign && first > 0)
		waitpid(first, NULL, 0);
	if (read(ends[0], &pid, sizeof(pid)) != sizeof(pid))
		pid = -1;
	close(ends[0]);
	return pid;
}

/* 0, or what PTRACE_SEIZE of such a child gave. */
static int try_ptrace(bool is_foreign)
{
	pid_t pid = begin_child(is_foreign);
	int ret = 0;

	if (pid < 0)
		return -errno;
	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		ret = -errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return ret;
}

static void check_ptrace(struct ap_doctor_finding *f)
{
	int err = try_ptrace(false);
	char why[AP_DOCTOR_TEXT - 40];

	f->what = "ptrace";
	if (!err) {
		say(f, AP_DOCTOR_OK, "programs that are started here can be counted");
		return;
	}
	ap_refusal_text(err, why, sizeof(why));
	say(f, AP_DOCTOR_NO, "programs run natively and are not counted");
	advise(f, "%s", why);
}

static void check_attach(struct ap_doctor_finding *f)
{
	int err = try_ptrace(true);

	f->what = "attaching";
	if (!err) {
		say(f, AP_DOCTOR_OK, "running programs of this user can be counted (-p, -t)");
		return;
	}
	say(f, AP_DOCTOR_LESS, "running programs cannot be counted (-p, -t): %s", strerror(-err));
	if (number_in("/proc/sys/kernel/yama/ptrace_scope", 0) > 0)
		advise(f, "sysctl kernel.yama.ptrace_scope=0, or run as root");
	else
		advise(f, "let CAP_SYS_PTRACE through (docker: --cap-add SYS_PTRACE)");
}

static void check_code(struct ap_doctor_finding *f)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	f->what = "memory for code";
	if (p != MAP_FAILED) {
		munmap(p, 4096);
		say(f, AP_DOCTOR_OK, "can be written and executed");
		return;
	}
	say(f, AP_DOCTOR_NO, "may not be both written and executed: %s", strerror(errno));
	advise(f, "have the security module permit it (SELinux: the boolean allow_execmem)");
}

static int try_perf(u32 type, u64 config)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };
	long fd;

	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static void check_perf(struct ap_doctor_finding *f)
{
	int err = try_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	const long paranoid = number_in("/proc/sys/kernel/perf_event_paranoid", -9);

	f->what = "perf_event_open";
	if (!err) {
		say(f, AP_DOCTOR_OK, "faults, switches and migrations are the kernel's own counts");
		return;
	}
	say(f, AP_DOCTOR_LESS,
	    "%s: of faults and switches there is what getrusage knows; migrations and clock samples "
	    "are not supported",
	    strerror(-err));
	if (paranoid > 2)
		advise(f, "sysctl kernel.perf_event_paranoid=2 (it is %ld)", paranoid);
	else
		advise(f, "let perf_event_open through (docker: --cap-add PERFMON, and a seccomp "
			  "profile that has it)");
}

static void check_pmu(struct ap_doctor_finding *f)
{
	int err = try_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	f->what = "hardware counters";
	if (err)
		say(f, AP_DOCTOR_OK, "none here (%s): anyperf counts without them", strerror(-err));
	else
		say(f, AP_DOCTOR_OK, "there are some, perf can count here, too; anyperf uses none");
}

static void check_layout(struct ap_doctor_finding *f)
{
	int status = -1;
	pid_t pid = fork();

	f->what = "fixed addresses";
	if (!pid)
		_exit(personality(ADDR_NO_RANDOMIZE) < 0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (!status) {
		say(f, AP_DOCTOR_OK, "--deterministic and gate work");
		return;
	}
	say(f, AP_DOCTOR_LESS, "personality() is refused: --deterministic and gate do not work");
	advise(f,
	       "let personality(0x40000) through (docker: --security-opt seccomp=unconfined), or use gate "
	       "--no-deterministic with a wider limit");
}

static void check_locked(struct ap_doctor_finding *f)
{
	const long kib = number_in("/proc/sys/kernel/perf_event_mlock_kb", RING_KIB);
	struct rlimit lim;

	f->what = "locked memory";
	if (kib >= RING_KIB || getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur == RLIM_INFINITY ||
	    lim.rlim_cur / 1024 + (rlim_t)kib >= RING_KIB || !geteuid()) {
		say(f, AP_DOCTOR_OK, "is enough for perf's ring buffers");
		return;
	}
	say(f, AP_DOCTOR_LESS, "%lu KiB and %ld for each CPU: perf record needs -m with less",
	    (unsigned long)lim.rlim_cur / 1024, kib);
	advise(f, "ulimit -l %d, or sysctl kernel.perf_event_mlock_kb=%d", RING_KIB, RING_KIB);
}

static void check_files(struct ap_doctor_finding *f)
{
	struct rlimit lim = { 0 };

	f->what = "open files";
	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_max >= FEW_FILES) {
		say(f, AP_DOCTOR_OK, "up to %lu in a process", (unsigned long)lim.rlim_max);
		return;
	}
	say(f, AP_DOCTOR_LESS, "only %lu in a process: sessions of many processes do not fit",
	    (unsigned long)lim.rlim_max);
	advise(f, "ulimit -n 1024");
}

static void check_fsgsbase(struct ap_doctor_finding *f)
{
	f->what = "FSGSBASE";
	if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) {
		say(f, AP_DOCTOR_OK, "is there");
		return;
	}
	say(f, AP_DOCTOR_LESS,
	    "is missing: threads cost more, and programs that install a seccomp "
	    "filter without arch_prctl go on uncounted");
	advise(f, "a kernel from 5.9 on, and a CPU or hypervisor that has it");
}

static void check_cpu(struct ap_doctor_finding *f)
{
	char text[AP_DOCTOR_TEXT];

	f->what = "CPU";
	if (!ap_cpu_is_unknown_to_pfm(text, sizeof(text))) {
		say(f, AP_DOCTOR_OK, "PAPI and libpfm4 know it, or are not installed");
		return;
	}
	say(f, AP_DOCTOR_LESS, "%.200s", text);
	advise(f, "anyperf run --cpu-id NAME ('anyperf help run')");
}

static void check_temporary(struct ap_doctor_finding *f)
{
	const char *folder = ap_folder_of_variable("TMPDIR", "/tmp");
	struct statvfs fs;
	int fd;
	u64 left;

	f->what = "temporary files";
	fd = ap_out_temporary("anyperf-doctor");
	if (fd < 0) {
		say(f, AP_DOCTOR_LESS, "%.120s: %s: gate --functions does not work", folder,
		    ap_file_error(fd));
		advise(f, "set TMPDIR to a folder that you can write, and others not");
		return;
	}
	close(fd);
	left = statvfs(folder, &fs) ? LITTLE_SPACE : (u64)fs.f_bavail * fs.f_frsize;
	if (left >= LITTLE_SPACE) {
		say(f, AP_DOCTOR_OK, "in %.120s", folder);
		return;
	}
	say(f, AP_DOCTOR_LESS, "%.120s has %lu MiB left", folder, (unsigned long)(left >> 20));
	advise(f, "set TMPDIR to a folder with more room");
}

static void (*const checks[])(struct ap_doctor_finding *f) = {
	check_kernel, check_proc,     check_calls, check_ptrace,   check_attach,
	check_code,   check_perf,     check_pmu,   check_layout,   check_locked,
	check_files,  check_fsgsbase, check_cpu,   check_temporary
};

bool ap_doctor_check(unsigned int nth, struct ap_doctor_finding *f)
{
	*f = (struct ap_doctor_finding){ 0 };
	if (nth >= AP_ARRAY_SIZE(checks))
		return false;
	checks[nth](f);
	return true;
}
