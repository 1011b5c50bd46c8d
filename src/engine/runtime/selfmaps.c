/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/maps piecewise: the beginning of each line is enough for most. */
#include "engine/runtime/selfmaps.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/runtime/engine.h"

#define O_CLOEXEC 0x80000

/* A file read by characters; guarded by the lock. */
static struct {
	char buf[1024];
	u32 at, len;
	bool failed; /* what was read is not all */
} in;

static bool next_char(s32 fd, char *c)
{
	if (in.at == in.len) {
		s64 n = ap_sys3(AP_NR_read, (u64)fd, (u64)in.buf, sizeof(in.buf));

		in.at = 0;
		in.len = n > 0 ? (u32)n : 0;
		in.failed = n < 0;
		if (in.len == 0)
			return false;
	}
	*c = in.buf[in.at++];
	return true;
}

/* "start-end perms offset major:minor inode ..." */
static bool parse_line(const char *s, struct ap_map *m)
{
	u64 minor;

	if (!ap_parse_hex(&s, &m->start) || *s++ != '-' || !ap_parse_hex(&s, &m->end) ||
	    *s++ != ' ' || strnlen(s, 5) < 5)
		return false;
	m->r = s[0] == 'r';
	m->w = s[1] == 'w';
	m->x = s[2] == 'x';
	m->shared = s[3] == 's';
	s += 5;
	if (!ap_parse_hex(&s, &m->off) || *s++ != ' ' || !ap_parse_hex(&s, &m->dev) ||
	    *s++ != ':' || !ap_parse_hex(&s, &minor) || *s++ != ' ')
		return false;
	m->dev = m->dev << 20 | minor;
	if (!ap_parse_u64(&s, &m->ino))
		return false;
	while (*s == ' ')
		s++;
	m->path = s;
	return true;
}

bool ap_selfmaps_read(bool (*fn)(const struct ap_map *m, void *arg), void *arg)
{
	static char line[1024]; /* guarded by the lock */
	static const char path[] = "/proc/self/maps";
	s64 fd = ap_sys3(AP_NR_open, (u64)path, O_CLOEXEC, 0);
	struct ap_map m;
	bool more = true;
	u32 n = 0;
	char c;

	if (ap_is_err(fd))
		return false;
	in.at = in.len = 0;
	in.failed = false;
	while (more && next_char((s32)fd, &c)) {
		if (c != '\n') {
			if (n < sizeof(line) - 1)
				line[n++] = c;
			continue;
		}
		line[n] = 0;
		n = 0;
		more = !parse_line(line, &m) || fn(&m, arg);
	}
	ap_sys1(AP_NR_close, (u64)fd);
	return !in.failed;
}
