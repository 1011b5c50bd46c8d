/* SPDX-License-Identifier: MIT */
/*
 * RLIMIT_AS and RLIMIT_DATA to the page.  What a program sets is set higher in the kernel, so that the engine has room
 * (limits.c): that alone would let the program have that much more.  So where there is such a limit what a call would add to the
 * program's own mappings is looked at first.  As long as all mappings of the process keep to the limit one short
 * file says so; only near it they are summed up without the engine's.
 */
#include "base/str.h"
#include "engine/runtime/selfmaps.h"
#include "engine/transparency/transparency.h"

#define STATM_DATA 5		/* field, of data and stacks */
#define USER_END   (1ULL << 63) /* the vsyscall page is above */

struct growth {
	u64 bytes;	/* that the call adds */
	u64 start, end; /* what is there now goes */
	u64 like;	/* data if what is here is, 0: as is_data says */
	bool is_data;
};

struct sizes {
	u64 all, data;
	bool is_data; /* what grows */
	const struct growth *growth;
};

static u64 whole_pages(u64 bytes)
{
	return AP_ALIGN_UP(bytes, AP_PAGE_SIZE);
}

static struct growth growth_of(const struct ap_call *c)
{
	struct growth g = { 0 };
	u64 type = c->a[3] & AP_MAP_TYPE, now;

	switch (c->nr) {
	case AP_NR_mmap:
		g.bytes = whole_pages(c->a[1]);
		g.is_data = c->a[2] & AP_PROT_W && type == AP_MAP_PRIVATE;
		if (c->a[3] & AP_MAP_FIXED) {
			g.start = c->a[0];
			g.end = g.start + g.bytes;
		}
		break;
	case AP_NR_brk:
		now = whole_pages((u64)ap_sys1(AP_NR_brk, 0));
		if (c->a[0] > now)
			g.bytes = whole_pages(c->a[0]) - now;
		g.is_data = true;
		break;
	case AP_NR_mremap:
		if (c->a[2] > c->a[1] && c->a[1])
			g.bytes = whole_pages(c->a[2]) - whole_pages(c->a[1]);
		g.like = c->a[0];
		break;
	}
	return g;
}

/* All of the process, in pages; false where it cannot be known. */
static bool read_statm(u64 *all, u64 *data)
{
	char text[128];
	const char *p = text;
	s64 fd = ap_sys3(AP_NR_open, (u64) "/proc/self/statm", AP_O_CLOEXEC, 0), n;
	u64 v;

	if (ap_is_err(fd))
		return false;
	n = ap_sys3(AP_NR_read, (u64)fd, (u64)text, sizeof(text) - 1);
	ap_sys1(AP_NR_close, (u64)fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	for (u32 field = 0; field <= STATM_DATA; field++) {
		if (!ap_parse_u64(&p, &v))
			return false;
		if (!field)
			*all = v;
		while (*p == ' ')
			p++;
	}
	*data = v;
	return true;
}

static bool add(const struct ap_map *m, void *arg)
{
	struct sizes *s = arg;
	const struct growth *g = s->growth;
	u64 sp = ap_proc.boot->regs.gpr[4], size = m->end - m->start, lo, hi;
	bool is_data = m->w && !m->shared && !(sp >= m->start && sp < m->end);

	if (m->start >= USER_END || ap_mem_is_ours(m->start, m->end))
		return true;
	lo = m->start > g->start ? m->start : g->start;
	hi = m->end < g->end ? m->end : g->end;
	size -= lo < hi ? hi - lo : 0;
	s->all += size;
	if (is_data)
		s->data += size;
	if (g->like >= m->start && g->like < m->end)
		s->is_data = is_data;
	return true;
}

static bool keeps_to(u64 bytes, u64 limit)
{
	return bytes / AP_PAGE_SIZE <= limit / AP_PAGE_SIZE;
}

bool ap_vm_limit_refuses(struct ap_thread *t, const struct ap_call *c)
{
	const struct growth g = growth_of(c);
	struct sizes s = { .growth = &g, .is_data = g.is_data };
	u64 as, data, pages, data_pages;
	bool ok;

	if (!g.bytes || !ap_limits_memory(t, &as, &data))
		return false;
	if (!g.is_data && !g.like)
		data = UINT64_MAX;
	if (read_statm(&pages, &data_pages) && keeps_to(pages * AP_PAGE_SIZE + g.bytes, as) &&
	    keeps_to(data_pages * AP_PAGE_SIZE + g.bytes, data))
		return false;
	ap_lock_take(&ap_proc.lock);
	ok = ap_selfmaps_read(add, &s);
	ap_lock_drop(&ap_proc.lock);
	if (!ok)
		return false;
	return !keeps_to(s.all + g.bytes, as) || (s.is_data && !keeps_to(s.data + g.bytes, data));
}
