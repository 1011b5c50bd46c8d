/* SPDX-License-Identifier: MIT */
/*
 * Reading the text files of /proc: names, whole small files, numbers and "Name: value" lines.
 */
#include <errno.h>
#include <fcntl.h>

#include "inject/kcall.h"
#include "inject/proc.h"

const char *ap_proc_path(char *buf, pid_t pid, const char *name)
{
	static const char prefix[] = "/proc/";
	char digits[12];
	unsigned int n = 0, value = (unsigned int)pid;
	char *out = buf;

	for (const char *p = prefix; *p; p++)
		*out++ = *p;
	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		*out++ = digits[--n];
	*out++ = '/';
	while (*name && out < buf + AP_PROC_PATH - 1)
		*out++ = *name++;
	*out = '\0';
	return buf;
}

s64 ap_proc_read(pid_t pid, const char *name, char *buf, u64 size)
{
	char path[AP_PROC_PATH];
	s64 fd = ap_k_open(ap_proc_path(path, pid, name), O_RDONLY | O_CLOEXEC), got = 0;
	u64 len = 0;

	if (fd < 0)
		return fd;
	while (len < size - 1) {
		got = ap_k_read((int)fd, buf + len, size - 1 - len);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		len += (u64)got;
	}
	ap_k_close((int)fd);
	buf[len] = '\0';
	return got < 0 ? got : (s64)len;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

u64 ap_text_u64(const char **s, unsigned int base)
{
	u64 value = 0;

	while ((unsigned int)digit_value(**s) < base)
		value = value * base + (u64)digit_value(*(*s)++);
	return value;
}

const char *ap_status_find(const char *text, const char *name)
{
	while (*text) {
		const char *p = text, *n = name;

		while (*n && *p == *n) {
			p++;
			n++;
		}
		if (!*n && *p == ':') {
			p++;
			while (*p == ' ' || *p == '\t')
				p++;
			return p;
		}
		while (*text && *text != '\n')
			text++;
		if (*text)
			text++;
	}
	return NULL;
}
