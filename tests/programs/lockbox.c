/* SPDX-License-Identifier: MIT */
/*
 * Runs a command in what Docker makes of a container by default: own mount, pid, net, ipc and uts
 * namespaces (and a user namespace when not started by root), /sys read-only and without tracefs,
 * /proc masked, Docker's fourteen capabilities, no_new_privs, and the system calls refused that its
 * seccomp profile refuses to a process with these capabilities. The command is process 1.
 *
 *	lockbox COMMAND [ARGUMENT...]
 *
 * Docker's profile lists what it allows; here is the complement for x86-64, shorter to read.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT	     99
#define CLONE_NEWALL 0x7e020000u /* the flags of clone that make namespaces */
#define NR_X32	     0x40000000u
#define NR_NEWEST    451u /* the profile is older than what lies above */

static const uint16_t refused[] = {
	SYS_acct,
	SYS_add_key,
	SYS_bpf,
	SYS_clock_adjtime,
	SYS_clock_settime,
	SYS_create_module,
	SYS_delete_module,
	SYS_fanotify_init,
	SYS_finit_module,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fsopen,
	SYS_fspick,
	SYS_get_kernel_syms,
	SYS_get_mempolicy,
	SYS_init_module,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_io_uring_setup,
	SYS_ioperm,
	SYS_iopl,
	SYS_kcmp,
	SYS_kexec_file_load,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_lookup_dcookie,
	SYS_mbind,
	SYS_migrate_pages,
	SYS_mount,
	SYS_mount_setattr,
	SYS_move_mount,
	SYS_move_pages,
	SYS_nfsservctl,
	SYS_open_by_handle_at,
	SYS_open_tree,
	SYS_perf_event_open,
	SYS_pidfd_getfd,
	SYS_pivot_root,
	SYS_process_madvise,
	SYS_query_module,
	SYS_quotactl,
	SYS_quotactl_fd,
	SYS_reboot,
	SYS_request_key,
	SYS_set_mempolicy,
	SYS_setdomainname,
	SYS_sethostname,
	SYS_setns,
	SYS_settimeofday,
	SYS_swapoff,
	SYS_swapon,
	SYS__sysctl,
	SYS_sysfs,
	SYS_syslog,
	SYS_umount2,
	SYS_unshare,
	SYS_uselib,
	SYS_userfaultfd,
	SYS_ustat,
	SYS_vhangup,
	SYS_vserver,
};

static const uint32_t personalities[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

static const uint8_t capabilities[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,	     CAP_FOWNER,
	CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,	     CAP_SETUID,
	CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
	CAP_KILL,    CAP_AUDIT_WRITE,
};

/* hidden from the container: by an empty folder, by /dev/null, or made read-only */
static const char *const folders[] = { "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware",
				       "/proc/acpi", "/proc/scsi" };
static const char *const files[] = { "/proc/kcore", "/proc/keys", "/proc/timer_list",
				     "/proc/sched_debug", "/proc/latency_stats" };
static const char *const readonly[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					"/proc/sysrq-trigger" };

static void __attribute__((noreturn)) cannot(const char *what)
{
	fprintf(stderr, "lockbox: %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		cannot(path);
	close(fd);
}

static void make_namespaces(void)
{
	int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
	unsigned int uid = geteuid(), gid = getegid();
	char map[64];

	if (uid)
		flags |= CLONE_NEWUSER;
	if (unshare(flags))
		cannot("unshare");
	if (!uid)
		return;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
}

static int mount_over(const char *from, const char *to)
{
	return mount(from, to, NULL, MS_BIND, NULL) && errno != ENOENT ? -1 : 0;
}

static void make_mounts(void)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cannot("private mounts");
	if (mount("sysfs", "/sys", "sysfs", flags | MS_RDONLY, NULL))
		cannot("/sys");
	if (mount("proc", "/proc", "proc", flags, NULL))
		cannot("/proc");
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (mount("tmpfs", folders[i], "tmpfs", flags | MS_RDONLY, NULL) && errno != ENOENT)
			cannot(folders[i]);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (mount_over("/dev/null", files[i]))
			cannot(files[i]);
	for (size_t i = 0; i < sizeof(readonly) / sizeof(*readonly); i++)
		if (mount_over(readonly[i], readonly[i]) ||
		    (mount(NULL, readonly[i], NULL, flags | MS_BIND | MS_REMOUNT | MS_RDONLY,
			   NULL) &&
		     errno != ENOENT && errno != EINVAL))
			cannot(readonly[i]);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint64_t keep = 0;

	for (size_t i = 0; i < sizeof(capabilities); i++)
		keep |= 1ull << capabilities[i];
	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL)
			cannot("PR_CAPBSET_DROP");
	for (int i = 0; i < 2; i++) {
		data[i].effective = data[i].permitted = (uint32_t)(keep >> 32 * i);
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, data))
		cannot("capset");
}

static struct sock_filter program[256];
static unsigned short length;

static void add(uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	program[length++] = (struct sock_filter){ code, jt, jf, k };
}

static void load(size_t offset)
{
	add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(uint32_t value)
{
	add(BPF_RET | BPF_K, value, 0, 0);
}

#define REFUSE(err) (SECCOMP_RET_ERRNO | (err))
#define ARG(n)	    offsetof(struct seccomp_data, args[n])

static void refuse_system_calls(void)
{
	const uint8_t n = sizeof(personalities) / sizeof(*personalities);
	struct sock_fprog fprog = { .filter = program };

	load(offsetof(struct seccomp_data, arch));
	add(BPF_JMP | BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
	answer(SECCOMP_RET_ALLOW); /* 32-bit programs: not what is tested here */
	load(offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		add(BPF_JMP | BPF_JEQ, refused[i], 0, 1);
		answer(REFUSE(EPERM));
	}
	add(BPF_JMP | BPF_JEQ, SYS_clone3, 0, 1);
	answer(REFUSE(ENOSYS)); /* its flags are in memory, so libc shall use clone */
	add(BPF_JMP | BPF_JGE, NR_X32, 2, 0);
	add(BPF_JMP | BPF_JGT, NR_NEWEST, 0, 1);
	answer(REFUSE(ENOSYS));

	add(BPF_JMP | BPF_JEQ, SYS_clone, 0, 4);
	load(ARG(0));
	add(BPF_JMP | BPF_JSET, CLONE_NEWALL, 0, 1);
	answer(REFUSE(EPERM));
	answer(SECCOMP_RET_ALLOW);

	add(BPF_JMP | BPF_JEQ, SYS_socket, 0, 4);
	load(ARG(0));
	add(BPF_JMP | BPF_JEQ, AF_VSOCK, 0, 1);
	answer(REFUSE(EPERM));
	answer(SECCOMP_RET_ALLOW);

	add(BPF_JMP | BPF_JEQ, SYS_personality, 0, (uint8_t)(n + 2));
	load(ARG(0));
	for (uint8_t i = 0; i < n; i++)
		add(BPF_JMP | BPF_JEQ, personalities[i], (uint8_t)(n - i), 0);
	answer(REFUSE(EPERM));
	answer(SECCOMP_RET_ALLOW);

	fprog.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		cannot("PR_SET_NO_NEW_PRIVS");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog))
		cannot("PR_SET_SECCOMP");
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: lockbox command [argument...]\n");
		return CANNOT;
	}
	make_namespaces();
	pid = fork();
	if (pid < 0)
		cannot("fork");
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL))
			cannot("PR_SET_PDEATHSIG");
		make_mounts();
		drop_capabilities();
		refuse_system_calls();
		execvp(argv[1], argv + 1);
		cannot(argv[1]);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			cannot("waitpid");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
