/* SPDX-License-Identifier: MIT */
/*
 * Puts the engine into a stopped task: finds a hole, maps the blob by remote system calls, writes
 * it and its struct ap_boot, and points the task at the blob's entry.  The same steps serve the
 * first command, every later exec, and a running process.
 *
 * Rule for editors: until the last step nothing that the program can see has changed, so every
 * failure can end in a native run; and but for the moments of a remote call so can our own death.
 */
#include "inject/inject.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "abi/boot.h"
#include "abi/session.h"
#include "inject/hole.h"
#include "inject/kcall.h"
#include "inject/proc.h"
#include "inject/task.h"

#define RANDOM_BYTES 16

struct injection {
	struct ap_inject *in;
	struct ap_blob_header header;
	struct ap_remote remote;
	struct ap_auxv aux;
	struct ap_layout lay;
	struct ap_proc_stat stat;
	struct ap_boot boot;
	u64 base;
	bool has_code; /* of the head's pages */
};

static int read_header(struct injection *j)
{
	const u8 *from = j->in->blob;
	u8 *to = (u8 *)&j->header;

	if (j->in->blob_bytes < sizeof(j->header))
		return -ENOEXEC;
	for (u64 i = 0; i < sizeof(j->header); i++)
		to[i] = from[i];
	if (j->header.magic != AP_BOOT_MAGIC || j->header.file_size > j->in->blob_bytes ||
	    j->header.image_size < j->header.file_size || j->header.entry >= j->header.file_size ||
	    j->header.image_size - j->header.boot < sizeof(struct ap_boot))
		return -ENOEXEC;
	return 0;
}

static pid_t proc_pid(const struct ap_inject *in)
{
	return in->proc_pid ? in->proc_pid : in->tid;
}

static int remote_mmap(struct injection *j, u64 addr, u64 size, u64 prot, u64 flags, s64 *ret)
{
	const u64 args[6] = { addr, size, prot, flags, (u64)-1, 0 };

	return ap_remote_call(&j->remote, __NR_mmap, args, ret);
}

static int remote_munmap(struct injection *j, u64 addr, u64 size)
{
	const u64 args[6] = { addr, size };
	s64 ret;

	return ap_remote_call(&j->remote, __NR_munmap, args, &ret);
}

/*
 * A static program has no interpreter, and older kernels put the vdso above the stack: then only
 * the kernel can say where it will map next.
 */
static int find_anchor(struct injection *j)
{
	s64 addr;
	int ret;

	j->lay.boot = &j->boot;
	j->lay.anchor = j->aux.base ? j->aux.base : j->aux.vdso;
	ret = ap_layout_read(proc_pid(j->in), &j->lay);
	if (ret)
		return ret;
	if (j->lay.anchor && (j->aux.base || !j->lay.stack || j->lay.anchor < j->lay.stack))
		return 0;
	ret = remote_mmap(j, 0, AP_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, &addr);
	if (ret)
		return ret;
	if (addr < 0 && addr >= -4095)
		return (int)addr;
	j->lay.anchor = j->lay.lowest = (u64)addr;
	return remote_munmap(j, (u64)addr, AP_PAGE_SIZE);
}

/* Raises a soft limit of the task by size where the hard limit allows. */
static bool raise_limit(pid_t pid, unsigned int resource, u64 size)
{
	struct rlimit64 lim;

	if (ap_rawsys(__NR_prlimit64, (u64)pid, resource, 0, (u64)(uintptr_t)&lim, 0, 0) < 0)
		return false;
	if (lim.rlim_cur == RLIM64_INFINITY || lim.rlim_max - lim.rlim_cur < size)
		return false;
	lim.rlim_cur += size;
	return !ap_rawsys(__NR_prlimit64, (u64)pid, resource, (u64)(uintptr_t)&lim, 0, 0, 0);
}

static u64 mapped_size(const struct injection *j)
{
	return j->header.image_size + j->in->extra;
}

static int map_blob(struct injection *j)
{
	const u64 prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	const u64 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	u64 size = mapped_size(j), addr;
	bool raised = false;
	s64 got = -ENOMEM;

	for (unsigned int try = 0; (addr = ap_hole_candidate(&j->lay, size, try)); try++) {
		int ret = remote_mmap(j, addr, size, prot, flags, &got);

		if (ret)
			return ret;
		if (got == (s64)addr) {
			j->base = addr;
			return 0;
		}
		/* a kernel before 4.17 takes the address as a hint */
		if (got > 0 || got < -4095)
			ret = remote_munmap(j, (u64)got, size);
		if (ret)
			return ret;
		if (got == -ENOMEM && !raised) {
			bool as = raise_limit(j->in->tid, RLIMIT_AS, size);
			bool data = raise_limit(j->in->tid, RLIMIT_DATA, size);

			raised = true;
			if (as || data)
				try--;
		} else if (got < 0 && got >= -4095 && got != -EEXIST) {
			break;
		}
	}
	return got < 0 ? (int)got : -ENOMEM;
}

/*
 * One page for code and data alike: one fault, and one entry of the TLB.  Where there are none the code's pages are those of
 * the session's head, which nobody can write: all processes have the same.  Where that is refused as well it is written into
 * pages of the process.
 */
static int choose_pages(struct injection *j)
{
	const u64 huge[6] = { j->base, AP_ALIGN_DOWN(j->header.image_size, AP_HOLE_HUGE),
			      MADV_HUGEPAGE };
	const u64 code[6] = { j->base,
			      j->in->image_bytes,
			      PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_FIXED,
			      (u64)j->in->head_fd,
			      AP_IMAGE_OFF };
	s64 got = -ENOMEM;
	int ret;

	if (j->in->image_bytes != j->header.boot)
		return huge[1] ? ap_remote_call(&j->remote, __NR_madvise, huge, &got) : 0;
	ret = ap_remote_call(&j->remote, __NR_mmap, code, &got);
	j->has_code = got == (s64)j->base;
	return ret;
}

static void fill_regs(struct ap_regs *to, const struct user_regs_struct *from)
{
	const u64 gpr[16] = { from->rax, from->rcx, from->rdx, from->rbx, from->rsp, from->rbp,
			      from->rsi, from->rdi, from->r8,  from->r9,  from->r10, from->r11,
			      from->r12, from->r13, from->r14, from->r15 };

	for (unsigned int i = 0; i < 16; i++)
		to->gpr[i] = gpr[i];
	to->rip = from->rip;
	to->rflags = from->eflags;
}

static void fill_boot(struct injection *j)
{
	struct ap_boot *boot = &j->boot;

	boot->magic = AP_BOOT_MAGIC;
	fill_regs(&boot->regs, &j->remote.saved);
	boot->gs_base = j->remote.saved.gs_base;
	boot->session_fd = j->in->session_fd;
	boot->head_fd = j->in->head_fd;
	boot->seg = j->in->seg;
	boot->flags = j->in->flags;
	boot->host_pid = j->in->host_pid;
	boot->blob_base = j->base;
	boot->blob_size = mapped_size(j);
	boot->nthreads = j->in->nthreads;
	boot->threads = j->in->nthreads ? j->base + j->header.image_size : 0;
	boot->hwcap2 = j->aux.hwcap2;
	boot->minsigstksz = j->aux.minsigstksz;
	boot->vdso = j->aux.vdso;
	boot->nofile_share = j->in->nofile_share;
	boot->limit_shares = j->in->limit_shares;
	boot->helper_pid = j->in->helper_pid;
	boot->ptracer = j->in->ptracer;
	boot->cwd = j->in->cwd;
	boot->random = j->in->random;
	boot->store_key[0] = j->in->store_key[0];
	boot->store_key[1] = j->in->store_key[1];
	boot->sigmask = j->in->has_sigmask ? j->in->sigmask : j->remote.mask;
	boot->brk_start = j->stat.start_brk;
}

/* What we hear of it from /proc is no condition: all calls are made in two stops then. */
static int begin_calls(struct injection *j)
{
	bool is_known = j->in->stat || !ap_stat_read(proc_pid(j->in), &j->stat);
	u32 cpu = 0;
	int ret;

	if (!is_known)
		j->stat = (struct ap_proc_stat){ 0 };
	else if (j->in->stat)
		j->stat = *j->in->stat;
	j->remote.is_apart = is_known &&
			     !ap_rawsys(__NR_getcpu, (u64)(uintptr_t)&cpu, 0, 0, 0, 0, 0) &&
			     j->stat.cpu != cpu;
	ret = ap_remote_begin(&j->remote, j->in->tid, j->aux.vdso);
	j->remote.can_step = !ret && is_known && j->remote.is_new && !j->in->is_watched &&
			     !(j->stat.ignored & 1ULL << (SIGTRAP - 1));
	return ret;
}

static int write_image(struct injection *j)
{
	pid_t tid = j->in->tid;
	int ret = 0;

	if (!j->has_code)
		ret = ap_task_write(tid, j->base, j->in->blob, j->header.boot);
	if (!ret)
		ret = ap_task_write(tid, j->base + j->header.boot, &j->boot, sizeof(j->boot));
	if (!ret && (j->in->flags & AP_F_DETERMINISTIC) && j->aux.random) {
		u8 fixed[RANDOM_BYTES];

		for (u8 i = 0; i < RANDOM_BYTES; i++)
			fixed[i] = i;
		ret = ap_task_write(tid, j->aux.random, fixed, sizeof(fixed));
	}
	return ret;
}

static const char *mmap_reason(int err)
{
	switch (err) {
	case -ENOMEM:
		return "no memory for the engine (RLIMIT_AS?)";
	case -EACCES:
	case -EPERM:
		return "writable and executable memory is forbidden here";
	default:
		return "cannot map the engine";
	}
}

/* The task will run natively: it gets the mask of its own, and no descriptor of ours. */
static void give_up(struct injection *j)
{
	const u64 session[6] = { (u64)j->in->session_fd }, head[6] = { (u64)j->in->head_fd };
	s64 ret;

	if (j->base)
		(void)remote_munmap(j, j->base, mapped_size(j));
	(void)!ap_remote_call(&j->remote, __NR_close, session, &ret);
	(void)!ap_remote_call(&j->remote, __NR_close, head, &ret);
}

/* An exec has given it rights that the task did not have.  One that runs already was asked for by name. */
static const char *refusal(const struct injection *j)
{
	if (j->in->refused)
		return j->in->refused;
	return j->aux.secure && !j->in->prepare ? "set-uid, set-gid or file capabilities" : NULL;
}

static int inject(struct injection *j, const char **why)
{
	const char *refused = refusal(j);
	int ret;

	if (refused) {
		*why = refused;
		return -EPERM;
	}
	ret = find_anchor(j);
	if (ret)
		return ret;
	ret = map_blob(j);
	if (ret) {
		*why = mmap_reason(ret);
		return ret;
	}
	ret = choose_pages(j);
	if (ret)
		return ret;
	if (j->in->prepare) {
		*why = "cannot hand it the session";
		ret = j->in->prepare(j->in, &j->remote, j->base, j->base + j->header.image_size);
		if (ret)
			return ret;
	}
	*why = "cannot write the engine into it";
	fill_boot(j);
	ret = write_image(j);
	if (!ret) /* the engine starts with all signals blocked */
		ret = ap_task_set_sigmask(j->in->tid, ~0ULL);
	if (!ret)
		j->remote.saved.rip = j->base + j->header.entry;
	j->in->boot_at = j->base + j->header.boot;
	return ret;
}

int ap_inject(struct ap_inject *in, const char **why)
{
	struct injection j = { .in = in };
	int ret = read_header(&j);

	*why = "the engine's image is damaged";
	if (ret)
		goto native;
	*why = "32-bit program";
	ret = ap_task_check_64bit(in->tid);
	if (ret)
		goto native;
	*why = "cannot read its auxiliary vector";
	ret = ap_auxv_read(proc_pid(in), &j.aux);
	if (ret)
		goto native;
	*why = "cannot make system calls in it";
	ret = begin_calls(&j);
	if (ret)
		goto native;
	ret = inject(&j, why);
	if (ret)
		give_up(&j);
	ret = ap_remote_end(&j.remote) ?: ret;
	in->had_stop = j.remote.had_stop;
	in->had_trap = j.remote.had_trap;
native:
	if (ret == -EMFILE)
		*why = "no descriptor is left to reach it by (raise ulimit -n of anyperf)";
	if (ret && in->has_sigmask)
		(void)!ap_task_set_sigmask(in->tid, in->sigmask);
	return ret;
}

int ap_inject_release(const struct ap_inject *in)
{
	int ret = ap_task_detach(in->tid, 0);

	if (in->had_stop)
		ap_rawsys(__NR_tkill, (u64)in->tid, SIGSTOP, 0, 0, 0, 0);
	if (in->had_trap)
		ap_rawsys(__NR_tkill, (u64)in->tid, SIGTRAP, 0, 0, 0, 0);
	return ret;
}
