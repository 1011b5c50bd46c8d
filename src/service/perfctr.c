/* SPDX-License-Identifier: MIT */
/*
 * perfctr's device in the program: the path, the ioctls of perfctr 2.6, rdpmc, and the signal of an
 * overflow.  Its descriptors are marked pipes as those of perf events (docs/design/service.md); what
 * they stand for the supervisor knows (linux/host/host_perfctr.c), and also what the words mean that are
 * carried here.
 */
#include "abi/perfctr.h"
#include "abi/service.h"
#include "base/mem.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define WORDS_MAX (AP_SVC_DATA_MAX / 4)
#define S_IFCHR	  0020000U
#define O_ACCMODE 3
#define O_CREAT	  0100ULL
#define O_EXCL	  0200ULL
#define O_DIR	  0200000ULL
#define X_OK	  1

/* --- the path */

static bool is_device(u64 path)
{
	char text[sizeof(AP_PERFCTR_PATH)];

	/* most paths end before, or are something else from the first bytes on */
	if (ap_hook_get(text, path, 5) || memcmp(text, AP_PERFCTR_PATH, 5))
		return false;
	return !ap_hook_get(text, path, sizeof(text)) &&
	       !memcmp(text, AP_PERFCTR_PATH, sizeof(text));
}

static s64 ask_open(s32 fd, u64 inode)
{
	struct ap_request r;

	ap_request_begin_held(&r, AP_SVC_PERFCTR);
	memset(r.svc->arg, 0, sizeof(r.svc->arg));
	r.svc->arg[4] = (u64)fd;
	r.svc->arg[5] = inode;
	r.svc->in_size = 0;
	return ap_request_ask(&r);
}

static s64 open_device(u64 flags)
{
	struct ap_request r;
	u64 inode;
	s32 fd;
	s64 ret;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -AP_EEXIST;
	if (flags & O_DIR)
		return -AP_ENOTDIR;
	ap_request_use();
	ret = ap_request_begin(&r, AP_SVC_NOP);
	if (ret)
		return ret;
	ret = ap_svc_make_fd(flags & AP_O_CLOEXEC, &fd, &inode);
	if (!ret) {
		ret = ask_open(fd, inode);
		if (ret) {
			ap_svc_drop_fd(fd);
		} else {
			ret = fd;
			ap_fds_mark_perfctr(fd, inode);
		}
	}
	ap_request_end(&r);
	return ret;
}

static s64 stat_device(u64 buf)
{
	struct ap_kstat st;

	memset(&st, 0, sizeof(st));
	st.ino = 1;
	st.nlink = 1;
	st.mode = S_IFCHR | 0644;
	st.rdev = AP_PERFCTR_RDEV;
	return ap_hook_put(buf, &st, sizeof(st)) ? -AP_EFAULT : 0;
}

static s64 statx_device(u64 buf)
{
	const struct ap_kstatx x = {
		.mask = 0x7ff,
		.nlink = 1,
		.mode = S_IFCHR | 0644,
		.ino = 1,
		.rdev = { AP_PERFCTR_RDEV >> 8, AP_PERFCTR_RDEV & 0xff },
	};

	return ap_hook_put(buf, &x, sizeof(x)) ? -AP_EFAULT : 0;
}

static s64 access_device(u64 mode)
{
	return mode & X_OK ? -AP_EACCES : 0;
}

bool ap_svc_perfctr_path(struct ap_service_call *c)
{
	u64 path = c->nr == AP_NR_open || c->nr == AP_NR_stat || c->nr == AP_NR_lstat ||
				   c->nr == AP_NR_access
			   ? c->a[0]
			   : c->a[1];

	switch (c->nr) {
	case AP_NR_open:
	case AP_NR_openat:
	case AP_NR_stat:
	case AP_NR_lstat:
	case AP_NR_newfstatat:
	case AP_NR_statx:
	case AP_NR_access:
	case AP_NR_faccessat:
	case AP_NR_faccessat2:
		break;
	default:
		return false;
	}
	if (ap_svc_is_mute() || !is_device(path))
		return false;
	if (c->nr == AP_NR_open || c->nr == AP_NR_openat)
		c->ret = open_device(c->a[c->nr == AP_NR_open ? 1 : 2]);
	else if (c->nr == AP_NR_stat || c->nr == AP_NR_lstat)
		c->ret = stat_device(c->a[1]);
	else if (c->nr == AP_NR_newfstatat)
		c->ret = stat_device(c->a[2]);
	else if (c->nr == AP_NR_statx)
		c->ret = statx_device(c->a[4]);
	else
		c->ret = access_device(c->a[c->nr == AP_NR_access ? 1 : 2]);
	return true;
}

/* --- ioctls */

bool ap_svc_is_perfctr(u64 cmd)
{
	return ((u32)cmd >> 8 & 0xff) == AP_PERFCTR_IOC_MAGIC;
}

/* How a command's argument travels. */
enum shape { BY_VALUE, ONE_WORD, WORDS_IN, WORDS_OUT, WORDS_BOTH, MASK };

static enum shape shape_of(u32 cmd)
{
	switch (cmd) {
	case AP_PERFCTR_IOC_ABI:
		return ONE_WORD;
	case AP_VPERFCTR_CONTROL:
	case AP_GPERFCTR_CONTROL:
		return WORDS_IN;
	case AP_PERFCTR_IOC_INFO:
	case AP_VPERFCTR_READ_SUM:
	case AP_VPERFCTR_READ_CONTROL:
		return WORDS_OUT;
	case AP_GPERFCTR_READ:
		return WORDS_BOTH;
	case AP_PERFCTR_IOC_CPUS:
	case AP_PERFCTR_IOC_FORBIDDEN:
		return MASK;
	default:
		return BY_VALUE;
	}
}

/* The buffer's head and the words to read. */
static s64 get_in(struct ap_svc *svc, enum shape shape, u64 arg)
{
	u32 head[2] = { 0, 0 }, n = 0;

	svc->in_size = 0;
	if (shape == BY_VALUE || shape == ONE_WORD)
		return 0;
	if (ap_hook_get(head, arg, shape == MASK ? 4 : 8))
		return -AP_EFAULT;
	svc->arg[3] = shape == MASK ? head[0] : head[1];
	if (shape == WORDS_IN || shape == WORDS_BOTH)
		n = head[0];
	if (n > WORDS_MAX)
		return -AP_EPROTO; /* no structure has so many */
	if (ap_hook_get(svc->data, arg + 8, n * 4ULL))
		return -AP_EFAULT;
	svc->in_size = n * 4;
	return 0;
}

/* A mask's number of words is told even where it does not fit. */
static s64 put_out(const struct ap_svc *svc, enum shape shape, u64 arg, s64 ret)
{
	u32 n = svc->out_size / 4;

	if (svc->out_size > AP_SVC_DATA_MAX)
		return -AP_EINVAL;
	if (shape == MASK && (!ret || ret == -AP_EOVERFLOW))
		return ap_hook_put(arg, svc->data, svc->out_size) ? -AP_EFAULT : ret;
	if (ret < 0)
		return ret;
	if (shape == ONE_WORD)
		return ap_hook_put(arg, svc->data, 4) ? -AP_EFAULT : ret;
	if ((shape == WORDS_OUT || shape == WORDS_BOTH) &&
	    (ap_hook_put(arg + 8, svc->data, n * 4ULL) || ap_hook_put(arg, &n, 4)))
		return -AP_EFAULT;
	return ret;
}

struct made {
	s32 fd;
	u64 inode;
};

static s64 ask(struct ap_request *r, u64 inode, u32 cmd, u64 arg, const struct made *made)
{
	enum shape shape = shape_of(cmd);
	struct ap_svc *svc = r->svc;
	s64 ret;

	ap_request_begin_held(r, AP_SVC_PERFCTR);
	svc->arg[0] = inode;
	svc->arg[1] = cmd;
	svc->arg[2] = arg;
	svc->arg[3] = 0;
	svc->arg[4] = (u64)made->fd;
	svc->arg[5] = made->inode;
	ret = get_in(svc, shape, arg);
	if (ret)
		return ret;
	ret = ap_request_ask(r);
	return put_out(svc, shape, arg, ret);
}

s64 ap_svc_perfctr_abi(u64 to)
{
	const u32 abi = AP_PERFCTR_ABI;

	return ap_hook_put(to, &abi, sizeof(abi)) ? -AP_EFAULT : 0;
}

static bool makes_fd(u32 cmd)
{
	return cmd == AP_VPERFCTR_CREAT || cmd == AP_VPERFCTR_OPEN;
}

s64 ap_svc_perfctr_ioctl(u64 inode, u32 cmd, u64 arg)
{
	struct made made = { .fd = -1 };
	struct ap_request r;
	s64 ret = ap_request_begin(&r, AP_SVC_NOP);

	if (ret)
		return ret;
	if (makes_fd(cmd))
		ret = ap_svc_make_fd(false, &made.fd, &made.inode);
	if (!ret)
		ret = ask(&r, inode, cmd, arg, &made);
	if (makes_fd(cmd) && made.inode && ret < 0) {
		ap_svc_drop_fd(made.fd);
	} else if (makes_fd(cmd) && made.inode) {
		ret = made.fd;
		ap_fds_mark_perfctr(made.fd, made.inode);
	}
	/* what an overflow needs: behind a filter of system calls it could not be had any more */
	if (cmd == AP_VPERFCTR_CREAT && ret >= 0)
		(void)ap_svc_samplers();
	if (cmd == AP_VPERFCTR_CONTROL || cmd == AP_VPERFCTR_UNLINK || cmd == AP_VPERFCTR_IRESUME)
		ap_hook_pmc_changed();
	ap_request_end(&r);
	return ret;
}

/* --- passing descriptors */

/* struct msghdr, and struct cmsghdr with a descriptor. */
struct msg {
	u64 name, namelen, iov, iovlen, control, controllen;
};
struct cmsg {
	u64 len;
	s32 level, type, fd;
};
#define SOL_SOCKET 1
#define SCM_RIGHTS 1
#define ONE_LEN	   20 /* CMSG_LEN(sizeof(int)) */
#define ONE_SPACE  24 /* CMSG_SPACE(sizeof(int)) */

static bool is_of_perfctr(u64 inode)
{
	struct ap_request r;
	/* false: they are held off for a signal that has come, and stay so */
	bool was_held = !ap_request_begin(&r, AP_SVC_PERFCTR);
	s64 ret;

	if (!was_held)
		ap_request_begin_held(&r, AP_SVC_PERFCTR);
	memset(r.svc->arg, 0, sizeof(r.svc->arg));
	r.svc->arg[0] = inode;
	r.svc->arg[1] = AP_PERFCTR_IOC_ABI;
	r.svc->in_size = 0;
	ret = ap_request_ask(&r);
	if (was_held)
		ap_request_end(&r);
	return !ret;
}

bool ap_svc_perfctr_receives(const struct ap_service_call *c)
{
	struct msg msg;

	return !ap_hook_get(&msg, c->a[1], sizeof(msg)) && msg.controllen == ONE_LEN;
}

/*
 * perfex gives room for a descriptor without the padding behind it, and wants to hear that the padding was
 * written: as the kernels said for which it was made.
 */
void ap_svc_perfctr_received(const struct ap_service_call *c)
{
	const u64 space = ONE_SPACE;
	struct msg msg;
	struct cmsg got;
	u64 inode;

	if (c->ret < 0 || ap_hook_get(&msg, c->a[1], sizeof(msg)) || msg.controllen != ONE_LEN ||
	    ap_hook_get(&got, msg.control, ONE_LEN))
		return;
	if (got.len != ONE_LEN || got.level != SOL_SOCKET || got.type != SCM_RIGHTS)
		return;
	inode = ap_fds_event(got.fd);
	if (inode && is_of_perfctr(inode))
		(void)!ap_hook_put(c->a[1] + offsetof(struct msg, controllen), &space,
				   sizeof(space));
}

/* --- counters */

bool ap_svc_perfctr_pmc(u32 counter, struct ap_service_pmc *pmc)
{
	struct ap_hook_place p;
	const struct ap_pmcs *all;
	u32 i;

	ap_hook_place(&p);
	all = &p.slot->pmcs;
	i = counter & ~all->flags;
	if (all->nfixed && counter >= AP_PMC_FIXED_FROM)
		i = all->n - all->nfixed + (counter - AP_PMC_FIXED_FROM);
	else if (i >= all->n - all->nfixed)
		return false;
	if (i >= all->n || i >= AP_PMCS_MAX)
		return false;
	pmc->kinds = all->of[i].kinds & AP_KINDS_ALL;
	pmc->value = all->of[i].base + ap_svc_own_raw(&p, pmc->kinds);
	/* the instruction was counted on the way here, and does not count itself */
	if (pmc->kinds & AP_KIND_BIT(AP_KIND_INSTR))
		pmc->value--;
	if (all->bits < 64)
		pmc->value &= (1ULL << all->bits) - 1;
	if (counter & all->flags) {
		pmc->value &= 0xffffffff;
		pmc->kinds = 0; /* the short way has all bits */
	}
	pmc->seq_at = &all->seq;
	pmc->seq = all->seq;
	return true;
}

/* --- overflow */

struct info {
	s32 signo, err, code, pad;
	u32 words[28];
};
_Static_assert(sizeof(struct info) == 128, "a siginfo");

/*
 * Only the thread itself may say where it is from: si_code is the kernel's.  It is queued as any other
 * signal, and comes before the next instruction unless it is blocked.  Where the thread may make no call the
 * supervisor has sent it, and what it could not say is put right on the way to the handler.
 */
void ap_svc_perfctr_signal(const struct ap_svc_overflow *o)
{
	struct info info;

	if (o->is_sent) {
		ap_hook_await_signal((u32)o->signo);
		return;
	}
	memset(&info, 0, sizeof(info));
	info.signo = o->signo;
	info.code = 'P';
	info.words[0] = o->mask;
	ap_svc_sys(AP_NR_rt_tgsigqueueinfo, (u64)ap_svc_sys(AP_NR_getpid, 0, 0, 0, 0),
		   (u64)ap_svc_sys(AP_NR_gettid, 0, 0, 0, 0), (u64)o->signo, (u64)&info);
}

bool ap_svc_perfctr_siginfo(void *info)
{
	struct ap_svc_sent sent;
	u32 mask;

	memcpy(&sent, info, sizeof(sent));
	if (sent.code != AP_SVC_SENT_CODE || sent.magic != AP_SESSION_MAGIC)
		return false;
	mask = sent.mask;
	sent = (struct ap_svc_sent){ .signo = sent.signo, .code = 'P', .mask = mask };
	memcpy(info, &sent, sizeof(sent));
	return true;
}

/* struct signalfd_siginfo */
struct read_info {
	u32 signo;
	s32 err, code;
	u32 pid, uid;
	u32 words[6];
	s32 value;
	u64 ptr;
	u64 more[9];
};
_Static_assert(sizeof(struct read_info) == 128, "a signalfd_siginfo");

/* What fd has read, if it is a signalfd: what is ours cannot be anything else. */
static void put_right_read(u64 at, u64 size)
{
	struct read_info info;

	for (u64 end = at + size; at < end; at += sizeof(info)) {
		if (ap_hook_get(&info, at, sizeof(info)) || info.signo - 1 > 63)
			return; /* another file's */
		if (info.code != AP_SVC_SENT_CODE || info.ptr != AP_SESSION_MAGIC)
			continue;
		/* the mask is where a sender's number is */
		info.code = 'P';
		info.uid = 0;
		info.value = 0;
		info.ptr = 0;
		(void)!ap_hook_put(at, &info, sizeof(info));
	}
}

void ap_svc_perfctr_took(const struct ap_service_call *c)
{
	struct ap_svc_sent sent;

	if (c->ret <= 0)
		return;
	if (c->nr != AP_NR_rt_sigtimedwait) {
		if (!((u64)c->ret % sizeof(struct read_info)))
			put_right_read(c->a[1], (u64)c->ret);
		return;
	}
	if (c->a[1] && !ap_hook_get(&sent, c->a[1], sizeof(sent)) && ap_svc_perfctr_siginfo(&sent))
		(void)!ap_hook_put(c->a[1], &sent, sizeof(sent));
}
