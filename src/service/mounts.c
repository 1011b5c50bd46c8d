/* SPDX-License-Identifier: MIT */
/*
 * Lists of mounts: programs look there for tracefs and sysfs.  Where the kernel's list lacks one that
 * the tree has, the program reads a copy with the line that is missing.
 */
#include "base/mem.h"
#include "base/str.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/sys.h"

#define COPY_MAX (1ULL << 20)

static bool skip_word(const char **p, const char *word)
{
	u64 n = strlen(word);

	if (strncmp(*p, word, n))
		return false;
	*p += n;
	return true;
}

static bool skip_number(const char **p)
{
	const char *start = *p;

	while (**p >= '0' && **p <= '9')
		++*p;
	return *p > start;
}

/* The name in the process' folder; NULL where path is no such list. */
static const char *kind_of(const char *path)
{
	const char *p = path;

	if (!skip_word(&p, "/proc/"))
		return NULL;
	if (!strcmp(p, "mounts"))
		return p;
	if (!skip_word(&p, "self/") && !skip_word(&p, "thread-self/") &&
	    (!skip_number(&p) || !skip_word(&p, "/")))
		return NULL;
	if (skip_word(&p, "task/") && (!skip_number(&p) || !skip_word(&p, "/")))
		return NULL;
	return !strcmp(p, "mounts") || !strcmp(p, "mountinfo") ? p : NULL;
}

bool ap_mounts_is(const char *path)
{
	return kind_of(path) != NULL;
}

/* Arrays: pointers would have to be relocated. */
struct wanted_mount {
	char at[24], type[12]; /* " /sys ", " sysfs " */
	char line[88], info[128];
};

static const struct wanted_mount wanted[] = {
	{ " /proc ", " proc ", "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n",
	  "65000 1 0:65522 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n" },
	{ " /sys ", " sysfs ", "sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0\n",
	  "65001 1 0:65521 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro\n" },
	{ " /sys/kernel/tracing ", " tracefs ",
	  "tracefs /sys/kernel/tracing tracefs ro,nosuid,nodev,noexec,relatime 0 0\n",
	  "65002 65001 0:65520 / /sys/kernel/tracing ro,nosuid,nodev,noexec,relatime - tracefs "
	  "tracefs ro\n" },
};

static bool has(const char *text, u64 len, const char *word)
{
	u64 n = strlen(word);

	for (u64 i = 0; i + n <= len; i++)
		if (text[i] == word[0] && !memcmp(text + i, word, n))
			return true;
	return false;
}

/* Another file system may be mounted over it, as boxes do. */
static bool is_mounted(const char *text, u64 len, const struct wanted_mount *w)
{
	for (u64 i = 0, end; i < len; i = end + 1) {
		for (end = i; end < len && text[end] != '\n'; end++)
			;
		if (has(text + i, end - i, w->at) && has(text + i, end - i, w->type))
			return true;
	}
	return false;
}

/* What is missing; its length. */
static u64 missing(const char *text, u64 len, bool is_info, char *out, u64 cap)
{
	struct ap_str s;

	ap_str_init(&s, out, cap);
	for (u32 i = 0; i < AP_ARRAY_SIZE(wanted); i++)
		if (!is_mounted(text, len, &wanted[i]))
			ap_str_add(&s, is_info ? wanted[i].info : wanted[i].line);
	return s.len;
}

u64 ap_copy_read(s32 fd, char *buf, u64 cap)
{
	u64 len = 0;
	s64 n;

	do {
		n = ap_svc_sys(AP_NR_read, (u64)fd, (u64)buf + len, cap - len, 0);
		len += n > 0 ? (u64)n : 0;
	} while (n > 0 && len < cap);
	ap_svc_sys(AP_NR_lseek, (u64)fd, 0, 0, 0);
	return len;
}

void ap_copy_put(s32 fd, const char *text, u64 len, u64 flags)
{
	s64 to = ap_svc_sys(AP_NR_memfd_create, (u64) "copy", 1 /* MFD_CLOEXEC */, 0, 0);
	u64 limit[2];
	bool ok;

	if (to < 0)
		return;
	ok = ap_hook_file_begin(len, limit) &&
	     ap_svc_sys(AP_NR_pwrite64, (u64)to, (u64)text, len, 0) == (s64)len;
	ap_hook_file_end(limit);
	if (ok && !ap_svc_sys(AP_NR_fchmod, (u64)to, 0444, 0, 0))
		ap_tree_put((s32)to, fd, flags);
	else
		ap_svc_sys(AP_NR_close, (u64)to, 0, 0, 0);
}

void ap_mounts_opened(const char *path, s32 fd, u64 flags)
{
	const char *kind = kind_of(path);
	char lines[512], *text;
	u64 len, more;

	if (!kind || flags & AP_O_PATH)
		return;
	text = ap_hook_map(COPY_MAX + sizeof(lines));
	if (!text)
		return;
	len = ap_copy_read(fd, text, COPY_MAX);
	more = missing(text, len, !strcmp(kind, "mountinfo"), lines, sizeof(lines));
	if (more && len < COPY_MAX) {
		memcpy(text + len, lines, more);
		ap_copy_put(fd, text, len + more, flags);
	}
	ap_hook_unmap(text, COPY_MAX + sizeof(lines));
}
