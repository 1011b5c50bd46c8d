/* SPDX-License-Identifier: MIT */
/*
 * poll, select and epoll take POLLIN of a perf descriptor with them: each wakeup is told once.  The byte
 * in its pipe that says so is taken out by the supervisor when the kernel has given its answer.
 *
 * An event in the error state is POLLERR.  A pipe that is read from never is: ours is POLLHUP then, which wakes whoever
 * waits, and the answer is put right here.
 *
 * epoll's answers name what the program has given with a descriptor, not the descriptor: so what was
 * given is remembered (epoll_ctl), in this process.
 */
#include "abi/errno.h"
#include "abi/service.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/memo.h"
#include "service/request.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define POLLIN	  0x0001U
#define POLLERR	  0x0008U
#define POLLHUP	  0x0010U
#define FD_SETS	  16U /* words of a set of select that are looked at for POLLERR */
#define CHUNK	  32U
#define FDS_MAX	  65536U
#define ENTRIES	  4096U
#define EPOLL_ADD 1U
#define EPOLL_DEL 2U

struct pollfd {
	s32 fd;
	u16 events, revents;
};

struct epoll_event {
	u32 events;
	u64 data;
} __attribute__((packed));

struct poll_entry {
	u32 state, pad;
	u64 data, inode;
	s32 epfd, fd;
};

static struct ap_memo table;

static void polled(u64 inode)
{
	struct ap_request r;

	ap_request_begin_held(&r, AP_SVC_POLLED);
	r.svc->arg[0] = inode;
	ap_request_ask(&r);
}

/* What the kernel has answered, as it is. */
static u32 answer(u64 inode, u32 events)
{
	if (events & POLLIN)
		polled(inode);
	else if (events & POLLHUP && ap_svc_own_is_error(inode))
		return POLLERR;
	return events;
}

static void poll_done(const struct ap_service_call *c)
{
	struct pollfd fds[CHUNK];
	u64 n = (u32)c->a[1];

	for (u64 at = 0; at < n; at += CHUNK) {
		u64 some = n - at < CHUNK ? n - at : CHUNK, from = c->a[0] + at * sizeof(fds[0]);

		if (ap_hook_get(fds, from, some * sizeof(fds[0])))
			return;
		for (u64 i = 0; i < some; i++) {
			u64 inode =
				fds[i].revents & (POLLIN | POLLHUP) ? ap_fds_event(fds[i].fd) : 0;
			u16 now = inode ? (u16)answer(inode, fds[i].revents) : fds[i].revents;

			if (now != fds[i].revents)
				(void)!ap_hook_put(from + i * sizeof(fds[0]) +
							   offsetof(struct pollfd, revents),
						   &now, sizeof(now));
		}
	}
}

/* The answer has the set of those that can be read. */
static void select_done(const struct ap_service_call *c)
{
	u64 n = (s32)c->a[0] > 0 ? (u64)(s32)c->a[0] : 0, bits, inode;

	for (u64 at = 0; c->a[1] && at < n && at < FDS_MAX; at += 64) {
		if (ap_hook_get(&bits, c->a[1] + at / 8, sizeof(bits)))
			return;
		for (; bits; bits &= bits - 1) {
			inode = ap_fds_event((s32)(at + (u64)__builtin_ctzll(bits)));
			if (inode)
				polled(inode);
		}
	}
}

/* Of a set those descriptors whose event is in the error state. */
static u64 errors_of(u64 set, u64 word)
{
	u64 errors = 0, inode;

	for (; set; set &= set - 1) {
		u32 bit = (u32)__builtin_ctzll(set);

		inode = ap_fds_event((s32)(word * 64 + bit));
		if (inode && ap_svc_own_is_error(inode))
			errors |= 1ULL << bit;
	}
	return errors;
}

/* The sets that are given, and whether some event of those to be written to is in the error state. */
static bool get_sets(const struct ap_service_call *c, u64 set[3][FD_SETS], u64 errors[FD_SETS])
{
	u64 words = AP_ALIGN_UP((u64)(s32)c->a[0], 64) / 64;
	bool any = false;

	for (u32 k = 0; k < 3; k++)
		if (c->a[1 + k] && ap_hook_get(set[k], c->a[1 + k], words * 8))
			return false;
	for (u64 i = 0; i < words; i++) {
		errors[i] = errors_of(set[1][i], i);
		if (i + 1 == words && c->a[0] % 64)
			errors[i] &= (1ULL << c->a[0] % 64) - 1;
		any |= errors[i];
	}
	return any;
}

/*
 * POLLERR is an answer for a poll that wants to write as well, which no pipe's reader is.  With one such the call does not wait, so
 * it is made on sets of our own.
 */
bool ap_svc_select_errors(struct ap_service_call *c)
{
	u64 set[3][FD_SETS] = { 0 }, errors[FD_SETS] = { 0 };
	u64 a[6] = { c->a[0] }, words = AP_ALIGN_UP((u64)(s32)c->a[0], 64) / 64;
	struct ap_timespec none = { 0 };

	if ((s32)c->a[0] <= 0 || words > FD_SETS || !c->a[2] || !get_sets(c, set, errors))
		return false;
	for (u32 k = 0; k < 3; k++)
		a[1 + k] = c->a[1 + k] ? (u64)set[k] : 0;
	a[4] = (u64)&none;
	c->ret = ap_hook_sys(c->nr, a);
	if (c->ret < 0)
		return true;
	for (u64 i = 0; i < words; i++) {
		set[1][i] |= errors[i];
		for (u64 left = errors[i]; left; left &= left - 1)
			c->ret++;
	}
	for (u32 k = 0; k < 3; k++)
		if (c->a[1 + k] && ap_hook_put(c->a[1 + k], set[k], words * 8))
			c->ret = -AP_EFAULT;
	return true;
}

static void forget(s32 epfd, s32 fd)
{
	u32 n = ap_memo_used(&table);

	for (u32 i = 0; i < n; i++) {
		struct poll_entry *e = ap_memo_at(&table, i);

		if (e && e->epfd == epfd && e->fd == fd)
			(void)!ap_memo_free(e);
	}
}

static void remember(u64 inode, u64 data, s32 epfd, s32 fd)
{
	struct poll_entry *e = ap_memo_claim(&table, ENTRIES, sizeof(struct poll_entry));

	if (!e)
		return;
	e->data = data;
	e->inode = inode;
	e->epfd = epfd;
	e->fd = fd;
	ap_memo_publish(&table, e);
}

static void epoll_ctl_done(const struct ap_service_call *c)
{
	s32 epfd = (s32)c->a[0], fd = (s32)c->a[2];
	struct epoll_event ev;
	u64 inode;

	forget(epfd, fd);
	if (c->a[1] == EPOLL_DEL || ap_hook_get(&ev, c->a[3], sizeof(ev)))
		return;
	inode = ap_fds_event(fd);
	if (inode)
		remember(inode, ev.data, epfd, fd);
}

static void epoll_done(const struct ap_service_call *c)
{
	u32 n = ap_memo_used(&table);
	struct epoll_event ev;
	u32 was;

	for (u64 k = 0; n && k < (u64)c->ret; k++) {
		if (ap_hook_get(&ev, c->a[1] + k * sizeof(ev), sizeof(ev)))
			return;
		was = ev.events;
		for (u32 i = 0; was & (POLLIN | POLLHUP) && i < n; i++) {
			const struct poll_entry *e = ap_memo_at(&table, i);

			if (e && e->epfd == (s32)c->a[0] && e->data == ev.data)
				ev.events = answer(e->inode, was);
		}
		if (ev.events != was)
			(void)!ap_hook_put(c->a[1] + k * sizeof(ev), &ev.events, sizeof(was));
	}
}

bool ap_svc_polls(u64 nr)
{
	switch (nr) {
	case AP_NR_poll:
	case AP_NR_ppoll:
	case AP_NR_select:
	case AP_NR_pselect6:
	case AP_NR_epoll_ctl:
	case AP_NR_epoll_wait:
	case AP_NR_epoll_pwait:
	case AP_NR_epoll_pwait2:
		return true;
	default:
		return false;
	}
}

/* What this thread has written is to be seen by its own poll: the supervisor looks first. */
void ap_svc_poll_begins(u64 nr)
{
	const struct ap_session *s = ap_hook_session();
	struct ap_request r;

	if (nr == AP_NR_epoll_ctl ||
	    __atomic_load_n(&ap_board_of(s)->wakes, __ATOMIC_ACQUIRE) ==
		    __atomic_load_n(&s->wakes_seen[ap_hook_party()], __ATOMIC_ACQUIRE))
		return;
	ap_request_begin_held(&r, AP_SVC_NOP);
	ap_request_ask(&r);
}

void ap_svc_polled(const struct ap_service_call *c)
{
	if (c->nr == AP_NR_epoll_ctl && !c->ret)
		epoll_ctl_done(c);
	if (c->ret <= 0)
		return;
	switch (c->nr) {
	case AP_NR_poll:
	case AP_NR_ppoll:
		poll_done(c);
		break;
	case AP_NR_select:
	case AP_NR_pselect6:
		select_done(c);
		break;
	case AP_NR_epoll_wait:
	case AP_NR_epoll_pwait:
	case AP_NR_epoll_pwait2:
		epoll_done(c);
		break;
	default:
		break;
	}
}
