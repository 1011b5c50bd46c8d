/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/maps, line by line through a small buffer: a JIT's list can be megabytes long.
 */
#include <errno.h>
#include <fcntl.h>

#include "inject/kcall.h"
#include "inject/proc.h"

#define LINE_MAX_BYTES 8192 /* two path lengths: one escaped path and the numbers */

bool ap_map_parse(char *line, struct ap_proc_map *map)
{
	const char *p = line;

	map->start = ap_text_u64(&p, 16);
	if (p == line || *p++ != '-')
		return false;
	map->end = ap_text_u64(&p, 16);
	if (map->end <= map->start || *p++ != ' ')
		return false;
	for (unsigned int i = 0; i < 4; i++)
		if (!p[i])
			return false;
	map->flags = (p[0] == 'r' ? AP_MAP_R : 0) | (p[1] == 'w' ? AP_MAP_W : 0) |
		     (p[2] == 'x' ? AP_MAP_X : 0) | (p[3] == 's' ? AP_MAP_SHARE : 0);
	/* permissions, offset, device and inode, then the name */
	for (unsigned int field = 0; field < 4; field++) {
		while (*p && *p != ' ')
			p++;
		while (*p == ' ')
			p++;
	}
	map->name = p;
	return true;
}

/* Hands the complete lines in buf to fn; returns how many bytes remain, moved to the front. */
static u64 take_lines(char *buf, u64 len, ap_map_fn fn, void *arg)
{
	struct ap_proc_map map;
	u64 start = 0;

	for (u64 i = 0; i < len; i++) {
		if (buf[i] != '\n')
			continue;
		buf[i] = '\0';
		if (ap_map_parse(buf + start, &map))
			fn(arg, &map);
		start = i + 1;
	}
	for (u64 i = start; i < len; i++)
		buf[i - start] = buf[i];
	return len - start;
}

int ap_maps_each(pid_t pid, ap_map_fn fn, void *arg)
{
	char buf[LINE_MAX_BYTES], path[AP_PROC_PATH];
	s64 fd = ap_k_open(ap_proc_path(path, pid, "maps"), O_RDONLY | O_CLOEXEC), got;
	u64 len = 0;

	if (fd < 0)
		return (int)fd;
	for (;;) {
		got = ap_k_read((int)fd, buf + len, sizeof(buf) - len);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		len = take_lines(buf, len + (u64)got, fn, arg);
		if (len == sizeof(buf))
			len = 0; /* no line is that long */
	}
	ap_k_close((int)fd);
	return (int)got;
}
