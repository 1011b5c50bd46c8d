/* SPDX-License-Identifier: MIT */
/*
 * Stores into another process: process_vm_writev and ptrace.  Its engine may have taken the permission to write
 * from a page of code, and the kernel refuses the call where it would not natively.  Where that is so, as the other
 * engine's table says, the piece is written by /proc/PID/mem, for which no permission is needed; its blocks
 * are dropped at its next serializing instruction.
 */
#include "base/str.h"
#include "engine/cache/smc.h"
#include "engine/task/task.h"

#define PTRACE_POKETEXT 4
#define PTRACE_POKEDATA 5
#define PATH		32

struct iov_piece {
	u64 at, size;
};

/* A place in an array of pieces that the program has given. */
struct iov_cursor {
	u64 v, n; /* where the array is, and how many of it are left */
	struct iov_piece now;
};

static bool load(struct iov_cursor *c)
{
	while (c->n) {
		if (ap_safe_copy(&c->now, (const void *)c->v, sizeof(c->now)))
			return false;
		if (c->now.size)
			return true;
		c->v += sizeof(c->now);
		c->n--;
	}
	return false;
}

static bool advance(struct iov_cursor *c, u64 size)
{
	while (size >= c->now.size) {
		size -= c->now.size;
		c->v += sizeof(c->now);
		c->n--;
		if (!load(c))
			return false;
	}
	c->now.at += size;
	c->now.size -= size;
	return true;
}

/* Where the engine of a process of the session has its table of pages; 0: it is none. */
static u64 find_table(u32 pid)
{
	const u32 party = AP_PARTY_OF(ap_proc.seg_index);
	struct ap_seg head;

	for (u32 i = ap_segs_end(ap_proc.session, party); i-- > party << AP_PARTY_SHIFT;) {
		if (ap_sys4(AP_NR_pread64, (u64)ap_fd(ap_self()), (u64)&head, sizeof(head),
			    AP_SEG_OFF(i)) != sizeof(head))
			return 0;
		if (head.state == AP_SEG_LIVE && head.ns_pid == pid && head.smc_at &&
		    head.pidns == ap_proc.seg->pidns)
			return head.smc_at;
	}
	return 0;
}

static s64 open_mem(u32 pid)
{
	char path[PATH];
	struct ap_str s;

	ap_str_init(&s, path, sizeof(path));
	ap_str_add(&s, "/proc/");
	ap_str_u64(&s, pid);
	ap_str_add(&s, "/mem");
	return ap_sys3(AP_NR_open, (u64)path, 1 | AP_O_CLOEXEC, 0);
}

/* One piece of one page.  Process lock not held. */
static s64 store(u32 pid, u64 table, s64 mem, const struct iov_piece *from,
		 const struct iov_piece *to)
{
	if (ap_smc_hides_write_in(pid, table, to->at))
		return ap_sys4(AP_NR_pwrite64, (u64)mem, from->at, to->size, to->at);
	return ap_sys6(AP_NR_process_vm_writev, pid, (u64)from, 1, (u64)to, 1, 0);
}

/* What the kernel has not written of the call; returns what is written now. */
static s64 write_rest(const struct ap_call *c, s64 done)
{
	struct iov_cursor from = { .v = c->a[1], .n = c->a[2] },
			  to = { .v = c->a[3], .n = c->a[4] };
	struct iov_piece a, b;
	u32 pid = (u32)c->a[0];
	u64 table = find_table(pid), left;
	s64 mem, ret = done < 0 ? 0 : done, n;

	if (!table || !load(&from) || !load(&to) || !advance(&from, (u64)ret) ||
	    !advance(&to, (u64)ret) || !ap_smc_hides_write_in(pid, table, to.now.at))
		return done;
	mem = open_mem(pid);
	if (ap_is_err(mem))
		return done;
	do {
		left = AP_PAGE_SIZE - to.now.at % AP_PAGE_SIZE;
		left = left < to.now.size ? left : to.now.size;
		left = left < from.now.size ? left : from.now.size;
		a = (struct iov_piece){ from.now.at, left };
		b = (struct iov_piece){ to.now.at, left };
		n = store(pid, table, mem, &a, &b);
		ret += n > 0 ? n : 0;
	} while (n == (s64)left && advance(&from, left) && advance(&to, left));
	ap_sys1(AP_NR_close, (u64)mem);
	return ret ? ret : done;
}

static u64 total(u64 v, u64 n)
{
	struct iov_cursor c = { .v = v, .n = n };
	u64 sum = 0;

	for (bool ok = load(&c); ok; ok = advance(&c, c.now.size))
		sum += c.now.size;
	return sum;
}

static void note_poked(const struct ap_call *c)
{
	struct iov_cursor to = { .v = c->a[3], .n = c->a[4] };

	if (c->nr == AP_NR_ptrace)
		ap_smc_poked(c->a[2], c->a[2] + sizeof(u64));
	else
		for (bool ok = load(&to); ok; ok = advance(&to, to.now.size))
			ap_smc_poked(to.now.at, to.now.at + to.now.size);
}

s64 ap_call_poke(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = c->nr == AP_NR_ptrace ? ap_call_ptrace(t, c) : ap_call_pass(t, c);

	if (c->nr == AP_NR_process_vm_writev && (u32)c->a[0] != t->pid &&
	    (ret == -AP_EFAULT || (ret >= 0 && (u64)ret < total(c->a[1], c->a[2]))))
		ret = write_rest(c, ret);
	if (!ret && c->nr == AP_NR_ptrace)
		ap_peek_registers(c);
	if (ret >= 0 && (c->nr == AP_NR_process_vm_writev || c->a[0] == PTRACE_POKETEXT ||
			 c->a[0] == PTRACE_POKEDATA))
		note_poked(c);
	return ret;
}
