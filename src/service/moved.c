/* SPDX-License-Identifier: MIT */
/*
 * Records of the kernel's events in rings of ours (docs/design/kernel-events.md).  A ring that both shall write to is ours: the
 * kernel's is mapped where the program does not see it, and what comes there is moved by the program's own calls, before
 * it can look.
 *
 * No lock: of two threads that want to move one does, and the other goes on.  Only a thread that gives a ring of ours back waits
 * for it: the ring may be another's next.
 */
#include "abi/service.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/memo.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define ENTRIES	   4096U
#define PROT_RW	   3U
#define LOST_ROOM  64U	/* for a LOST record that may go before */
#define CHUNK_SIZE 256U /* bytes of a record that are copied at a time */
#define FD_PATH	   "/proc/self/fd"
#define NAME_AT	   19U /* in a linux_dirent64, behind its length at 16 */
#define AWAITED                                                                                    \
	1000U /* looks at the mover: it may have been killed in a vfork child, and never ends */

/* A kernel's ring that the program has mapped. */
struct seen_ring {
	u32 state, pad;
	u64 id, start, pages;
};

struct move {
	u32 state;
	s32 fd; /* of the kernel's event, while it is that event's */
	u64 id;
	u64 inode; /* of our event, whose ring it is */
	u64 host; /* not 0: it has no ring of its own, and writes to that of the event with this id */
	u32 forks; /* of the process before it began */
	const struct ap_perf_page *from;
	u64 size; /* of its data */
	struct ap_ring_map to;
};

static struct ap_memo seen, moves;
static u32 is_moving;
/* Children have the descriptors as well, and nobody knows when they close theirs. */
static u32 forks;

static u64 id_of(s32 fd)
{
	u64 id = 0;

	return ap_svc_sys(AP_NR_ioctl, (u64)fd, AP_PERF_IOC_ID, (u64)&id, 0) ? 0 : id;
}

static struct seen_ring *find_seen(u64 id)
{
	u32 n = ap_memo_used(&seen);

	for (u32 i = 0; i < n; i++) {
		struct seen_ring *s = ap_memo_at(&seen, i);

		if (s && s->id == id)
			return s;
	}
	return NULL;
}

static struct move *find_move(u64 id, u64 inode)
{
	u32 n = ap_memo_used(&moves);

	for (u32 i = 0; i < n; i++) {
		struct move *m = ap_memo_at(&moves, i);

		if (m && (id ? m->id == id : m->inode == inode))
			return m;
	}
	return NULL;
}

void ap_svc_kernel_mapped(const struct ap_service_call *c)
{
	struct seen_ring *s;
	u64 id;

	if (ap_is_err(c->ret) || c->a[5] || !ap_svc_is_kernels((s32)c->a[4]))
		return;
	id = id_of((s32)c->a[4]);
	s = id ? ap_memo_claim(&seen, ENTRIES, sizeof(*s)) : NULL;
	if (!s)
		return;
	s->id = id;
	s->start = (u64)c->ret;
	s->pages = AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE) / AP_PAGE_SIZE;
	ap_memo_publish(&seen, s);
}

void ap_svc_kernel_unmaps(u64 start, u64 size)
{
	u32 n = ap_memo_used(&seen);

	for (u32 i = 0; i < n; i++) {
		struct seen_ring *s = ap_memo_at(&seen, i);

		if (s && s->start < start + size && s->start + s->pages * AP_PAGE_SIZE > start)
			(void)ap_memo_free(s);
	}
}

void ap_svc_moves_before_fork(void)
{
	__atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
}

void ap_svc_moves_in_child(void)
{
	ap_memo_clear(&seen);
	ap_memo_clear(&moves);
	is_moving = 0;
}

static bool may_move(void)
{
	u32 is_free = 0;

	return __atomic_compare_exchange_n(&is_moving, &is_free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* All moves of a kernel's event; id 0: all that go to the event of ours. */
static void end_moves(u64 id, u64 inode)
{
	bool is_alone = false;
	struct move *m = find_move(id, inode);

	for (u32 n = 0; m && n < AWAITED && !(is_alone = may_move()); n++)
		ap_svc_sys(AP_NR_sched_yield, 0, 0, 0, 0);
	for (; m; m = find_move(id, inode)) {
		const struct ap_perf_page *from = m->from;
		u64 size = m->size + AP_PAGE_SIZE;

		if (ap_memo_free(m) && from)
			ap_hook_unmap((void *)(unsigned long)from, size);
	}
	if (is_alone)
		__atomic_store_n(&is_moving, 0, __ATOMIC_RELEASE);
}

void ap_svc_moves_end(u64 inode)
{
	end_moves(0, inode);
}

/* --- what has no descriptor any more */

/* Does any descriptor of the process stand for it?  If that cannot be told: yes. */
static bool is_open(u64 id)
{
	u8 buf[1024] __attribute__((aligned(8)));
	bool is_found = false;
	s64 dir = ap_svc_sys(AP_NR_open, (u64)FD_PATH, AP_O_CLOEXEC | AP_O_DIRECTORY, 0, 0), n;

	if (ap_is_err(dir))
		return true;
	while (!is_found &&
	       (n = ap_svc_sys(AP_NR_getdents64, (u64)dir, (u64)buf, sizeof(buf), 0)) > 0) {
		u16 size;

		for (s64 at = 0; at < n && !is_found; at += size) {
			const char *name = (const char *)buf + at + NAME_AT;
			u64 fd;

			memcpy(&size, buf + at + NAME_AT - 3, sizeof(size));
			is_found = ap_parse_u64(&name, &fd) && ap_svc_is_kernels((s32)fd) &&
				   id_of((s32)fd) == id;
		}
	}
	ap_svc_sys(AP_NR_close, (u64)dir, 0, 0, 0);
	return is_found || n < 0;
}

static bool is_host(u64 id)
{
	u32 n = ap_memo_used(&moves);

	for (u32 i = 0; i < n; i++) {
		const struct move *m = ap_memo_at(&moves, i);

		if (m && m->host == id)
			return true;
	}
	return false;
}

/* Nobody has it open, and writes to its ring. */
static bool is_left(const struct move *m)
{
	return id_of(m->fd) != m->id && m->forks == __atomic_load_n(&forks, __ATOMIC_RELAXED) &&
	       !is_host(m->id) && !is_open(m->id);
}

/*
 * A ring that the program does not see holds its event, which without it would be over with its last descriptor.  So what nobody
 * has open is ended before there is one more: guests first, as a ring stays while any writes to it.
 */
static void sweep(void)
{
	u32 n = ap_memo_used(&moves);

	for (u32 pass = 0; pass < 2; pass++) {
		for (u32 i = 0; i < n; i++) {
			const struct move *m = ap_memo_at(&moves, i);
			bool is_due = m && (pass ? !m->host : m->host != 0);

			if (is_due && is_left(m))
				end_moves(m->id, 0);
		}
	}
}

/* It writes to the ring of another one, of the same CPU. */
static void remember_guest(s32 fd, u64 id, u64 inode, u64 host)
{
	struct move *m = ap_memo_claim(&moves, ENTRIES, sizeof(*m));

	if (!m)
		return;
	m->fd = fd;
	m->id = id;
	m->inode = inode;
	m->host = host;
	m->forks = __atomic_load_n(&forks, __ATOMIC_RELAXED);
	m->from = NULL;
	m->size = 0;
	ap_memo_publish(&moves, m);
}

/* --- beginning */

/* The event's ring; an error is the kernel's: too much memory is locked, say. */
static s64 begin_move(s32 fd, u64 id, u64 inode, u64 off, u64 pages)
{
	struct ap_sampler ring = { .ring = off - AP_PAGE_SIZE, .ring_pages = (u32)pages };
	struct ap_ring_map to;
	struct move *m;
	u8 *at;
	s64 ret;

	sweep();
	if (pages < 2 || !ap_svc_ring(&ring, &to))
		return -AP_EINVAL;
	at = ap_hook_map(pages * AP_PAGE_SIZE);
	if (!at)
		return -AP_ENOMEM;
	ret = ap_hook_sys(AP_NR_mmap, (u64[6]){ (u64)at, pages * AP_PAGE_SIZE, PROT_RW,
						AP_MAP_SHARED | AP_MAP_FIXED, (u64)fd, 0 });
	m = ap_is_err(ret) ? NULL : ap_memo_claim(&moves, ENTRIES, sizeof(*m));
	if (!m) {
		ap_hook_unmap(at, pages * AP_PAGE_SIZE);
		return ap_is_err(ret) ? ret : -AP_ENOMEM;
	}
	m->fd = fd;
	m->id = id;
	m->inode = inode;
	m->host = 0;
	m->forks = __atomic_load_n(&forks, __ATOMIC_RELAXED);
	m->from = (const struct ap_perf_page *)at;
	m->size = (pages - 1) * AP_PAGE_SIZE;
	m->to = to;
	ap_memo_publish(&moves, m);
	return 0;
}

bool ap_svc_move_nowhere(s32 fd, s64 *ret)
{
	u64 id = id_of(fd);
	const struct move *m = id ? find_move(id, 0) : NULL;

	if (!m)
		return false;
	if (m->host) {
		end_moves(id, 0);
		return false;
	}
	*ret = is_host(id) ? -AP_EINVAL : 0;
	if (!*ret)
		end_moves(id, 0);
	return true;
}

/* One that has a ring of ours, and whose descriptor is still where it was. */
static const struct move *find_host(u64 inode)
{
	u32 n = ap_memo_used(&moves);

	for (u32 i = 0; i < n; i++) {
		const struct move *m = ap_memo_at(&moves, i);

		if (m && m->inode == inode && !m->host && id_of(m->fd) == m->id)
			return m;
	}
	return NULL;
}

s64 ap_svc_move_output(s32 fd, u64 inode)
{
	u64 id = id_of(fd), off, pages;
	const struct move *m;

	if (!id || find_seen(id) || !ap_svc_mapped_at(inode, &off, &pages))
		return -AP_EINVAL;
	m = find_move(id, 0);
	if (m && m->inode == inode)
		return 0;
	end_moves(id, 0); /* it went elsewhere */
	/* several events of a CPU have one ring */
	m = find_host(inode);
	if (m && !ap_svc_sys(AP_NR_ioctl, (u64)fd, AP_PERF_IOC_SET_OUTPUT, (u64)(s64)m->fd, 0)) {
		remember_guest(fd, id, inode, m->id);
		return 0;
	}
	return begin_move(fd, id, inode, off, pages);
}

/* Our ring in the place of the kernel's that the program has mapped. */
static s64 swap(s32 fd, u64 inode, const struct seen_ring *s)
{
	struct ap_service_call c = { .nr = AP_NR_mmap, .inode = inode };
	u64 a[6] = { s->start, s->pages * AP_PAGE_SIZE,
		     PROT_RW,  AP_MAP_SHARED | AP_MAP_FIXED,
		     (u64)fd,  0 };

	memcpy(c.a, a, sizeof(a));
	if (ap_svc_mmap(&c))
		return c.ret;
	c.ret = ap_hook_sys(AP_NR_mmap, c.a);
	ap_svc_mmap_done(&c);
	return ap_is_err(c.ret) ? c.ret : 0;
}

s64 ap_svc_take_ring(s32 fd, u64 inode, s32 output, u64 *to)
{
	u64 id = id_of(output), off, pages, head;
	struct move *m = id ? find_move(id, 0) : NULL;
	struct seen_ring *s = id ? find_seen(id) : NULL;
	s64 ret;

	*to = m ? m->inode : 0;
	if (m)
		return 0;
	/* what the program has read of it already is not to come again */
	if (!s || ap_hook_get(&head, s->start + offsetof(struct ap_perf_page, data_head), 8) ||
	    head)
		return -AP_EINVAL;
	ret = swap(fd, inode, s);
	if (ret)
		return ret;
	if (!ap_svc_mapped_at(inode, &off, &pages))
		return -AP_EINVAL;
	ret = begin_move(output, id, inode, off, pages);
	if (!ret)
		(void)ap_memo_free(s);
	return ret;
}

/* n bytes of the kernel's ring from pos on. */
static void copy_out(const struct move *m, u64 pos, void *to, u32 n)
{
	const u8 *data = (const u8 *)m->from + AP_PAGE_SIZE;
	u64 at = pos & (m->size - 1), first = m->size - at < n ? m->size - at : n;

	memcpy(to, data + at, first);
	memcpy((u8 *)to + first, data, n - first);
}

/* Is there room in ours?  Else it stays where it is, and is not lost yet. */
static bool has_room(const struct move *m, u32 size)
{
	u64 head = __atomic_load_n(&m->to.ring->head, __ATOMIC_ACQUIRE);
	u64 tail = __atomic_load_n(&m->to.page->data_tail, __ATOMIC_ACQUIRE);

	return head - tail + size + LOST_ROOM <= m->to.size;
}

/* One record; false: that was all. */
static bool move_one(const struct move *m, const struct ap_ring_writer *w, bool *wakes)
{
	u64 head = __atomic_load_n(&m->from->data_head, __ATOMIC_ACQUIRE);
	u64 tail = m->from->data_tail;
	const struct ap_ring_owner owner = { .id = m->id };
	struct {
		u32 type;
		u16 misc, size;
	} h;
	u8 bytes[CHUNK_SIZE];
	struct ap_ring_out out;

	if (head - tail < sizeof(h) || head - tail > m->size)
		return false;
	copy_out(m, tail, &h, sizeof(h));
	if (h.size < sizeof(h) || h.size & 7 || h.size > head - tail || !has_room(m, h.size) ||
	    ap_ring_begin(&out, &m->to, w, &owner, h.size))
		return false;
	for (u32 done = 0, n; done < h.size; done += n) {
		n = h.size - done < sizeof(bytes) ? h.size - done : sizeof(bytes);
		copy_out(m, tail + done, bytes, n);
		ap_ring_put(&out, bytes, n);
	}
	*wakes |= ap_ring_end(&out);
	__atomic_store_n((u64 *)(unsigned long)&m->from->data_tail, tail + h.size,
			 __ATOMIC_RELEASE);
	return true;
}

void ap_svc_move_all(void)
{
	u32 n = ap_memo_used(&moves);
	struct ap_hook_place place;
	struct ap_ring_writer w;
	bool wakes = false;

	if (!n || !may_move())
		return;
	ap_hook_place(&place);
	ap_svc_writer(&place, &w);
	for (u32 i = 0; i < n; i++) {
		struct move *m = ap_memo_at(&moves, i);

		if (!m || !m->from)
			continue;
		while (move_one(m, &w, &wakes))
			;
	}
	if (wakes)
		__atomic_fetch_add(&ap_board_of(ap_hook_session())->wakes, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&is_moving, 0, __ATOMIC_RELEASE);
}
