/* SPDX-License-Identifier: MIT */
/*
 * What of the program's address space is executable: what the injector read from /proc/PID/maps,
 * kept up by the system calls that change it.  Process lock held throughout; a fork's child has
 * its copy by nature.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "engine/ranges.h"

#define INITIAL 1024

static struct ap_range initial[INITIAL];
static struct ap_ranges regions;
static u32 last; /* where the last search ended */

static void init(void)
{
	const struct ap_boot *boot = ap_proc.boot;

	regions.v = initial;
	regions.cap = INITIAL;
	for (u32 i = 0; i < boot->nranges && i < AP_BOOT_RANGES; i++)
		ap_ranges_set(&regions, boot->ranges[i].start, boot->ranges[i].end,
			      boot->ranges[i].flags | AP_RANGE_X);
}

/* Room for the two entries that a change may add. */
static bool make_room(void)
{
	u64 size = 2ULL * regions.cap * sizeof(*regions.v);
	struct ap_range *v, *old;

	if (regions.n + 2 <= regions.cap)
		return true;
	v = ap_mem_map(0, size);
	if (!v) {
		ap_note(AP_NOTE_ENGINE, "no memory for the table of executable mappings");
		return false;
	}
	memcpy(v, regions.v, regions.n * sizeof(*v));
	old = regions.v;
	__atomic_store_n(&regions.v, v, __ATOMIC_RELEASE);
	regions.cap *= 2;
	if (old != initial)
		ap_mem_unmap(old, regions.cap / 2 * sizeof(*v));
	return true;
}

struct ap_range *ap_region_find(u64 pc)
{
	struct ap_range *r;

	if (!regions.v)
		init();
	r = &regions.v[last];
	if (last < regions.n && pc >= r->start && pc < r->end)
		return r;
	last = ap_ranges_at(&regions, pc);
	r = &regions.v[last];
	return last < regions.n && pc >= r->start ? r : NULL;
}

bool ap_region_next(u64 start, u64 end, u64 *lo, u64 *hi)
{
	const struct ap_range *r;
	u32 k;

	if (!regions.v)
		init();
	k = ap_ranges_at(&regions, start);
	r = &regions.v[k];
	if (start >= end || k == regions.n || r->start >= end)
		return false;
	*lo = r->start > start ? r->start : start;
	*hi = r->end < end ? r->end : end;
	return true;
}

void ap_region_set(u64 start, u64 end, u32 range_flags, bool executable)
{
	if (!regions.v)
		init();
	if (!make_room())
		return;
	if (executable)
		ap_ranges_set(&regions, start, end, range_flags | AP_RANGE_X);
	else
		ap_ranges_clear(&regions, start, end);
}

/* A file read by characters. */
static struct {
	char buf[1024];
	u32 at, len;
} in; /* guarded by the lock */

static bool next_char(s32 fd, char *c)
{

	if (in.at == in.len) {
		s64 n = ap_sys3(AP_NR_read, (u64)fd, (u64)in.buf, sizeof(in.buf));

		in.at = 0;
		in.len = n > 0 ? (u32)n : 0;
		if (in.len == 0)
			return false;
	}
	*c = in.buf[in.at++];
	return true;
}

/* A line of /proc/self/maps into *r; false where it is of a mapping that cannot be executed. */
static bool parse_line(const char *s, struct ap_range *r)
{
	if (!ap_parse_hex(&s, &r->start) || *s++ != '-' || !ap_parse_hex(&s, &r->end) ||
	    *s++ != ' ')
		return false;
	if (strlen(s) < 4 || s[0] != 'r' || s[2] != 'x')
		return false;
	r->flags = (s[1] == 'w' ? AP_RANGE_W : 0) | (s[3] == 's' ? AP_RANGE_SHARED : 0);
	return true;
}

/*
 * Hands each executable mapping to fn until it says true; false where none did or nothing can be
 * read.
 */
static bool each_mapping(bool (*fn)(const struct ap_range *r, u64 arg), u64 arg)
{
	static char line[128]; /* the beginning of each line is enough; guarded by the lock */
	static const char path[] = "/proc/self/maps";
	struct ap_range r;
	bool found = false;
	u32 n = 0;
	char c;
	s64 fd = ap_sys3(AP_NR_open, (u64)path, 0x80000 /* O_CLOEXEC */, 0);

	if (ap_is_err(fd))
		return false;
	in.at = in.len = 0;
	while (!found && next_char((s32)fd, &c)) {
		if (c != '\n') {
			if (n < sizeof(line) - 1)
				line[n++] = c;
			continue;
		}
		line[n] = 0;
		n = 0;
		found = parse_line(line, &r) && fn(&r, arg);
	}
	ap_sys1(AP_NR_close, (u64)fd);
	return found;
}

static bool add_if_at(const struct ap_range *r, u64 pc)
{
	if (pc < r->start || pc >= r->end)
		return false;
	ap_region_set(r->start, r->end, (u32)r->flags, true);
	return true;
}

bool ap_region_discover(u64 pc)
{
	if (ap_region_find(pc) || ap_mem_is_ours(pc, pc + 1))
		return false;
	return each_mapping(add_if_at, pc);
}

static bool is_any(const struct ap_range *r, u64 arg)
{
	(void)r;
	(void)arg;
	return true;
}

static bool add(const struct ap_range *r, u64 arg)
{
	(void)arg;
	ap_region_set(r->start, r->end, (u32)r->flags, true);
	return false;
}

static void leave_out(u64 start, u64 end, void *arg)
{
	(void)arg;
	ap_region_set(start, end, 0, false);
}

void ap_region_mend(void)
{
	if (!regions.v || !each_mapping(is_any, 0))
		return; /* without /proc what there is must do */
	regions.n = last = 0;
	(void)each_mapping(add, 0);
	ap_mem_for_each(leave_out, NULL);
}
