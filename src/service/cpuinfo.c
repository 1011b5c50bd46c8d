/* SPDX-License-Identifier: MIT */
/*
 * /proc/cpuinfo of a session that names a CPU (docs/design/cpu-id.md): the program reads a copy of
 * the kernel's in which the lines that identify it are those of that CPU.  Flags, clocks, topology stay.
 */
#include "abi/cpuid.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/sys.h"
#include "service/tree.h"

#define COPY_MAX (8ULL << 20) /* thousands of CPUs */
#define LINE_MAX 128U

bool ap_cpuinfo_is(const char *path)
{
	return ap_hook_session()->cpu_id.signature && !strcmp(path, "/proc/cpuinfo");
}

/* Does the line begin with this name, a tab or more, and a colon? */
static bool is_of(const char *line, u64 len, const char *name)
{
	u64 n = strlen(name);

	if (len <= n || memcmp(line, name, n))
		return false;
	while (n < len && line[n] == '\t')
		n++;
	return n < len && line[n] == ':';
}

static void add_vendor(struct ap_str *s, const struct ap_cpu_id *id)
{
	static const u8 order[] = { 0, 2, 1 }; /* ebx, edx, ecx */

	for (u32 i = 0; i < 12; i++)
		ap_str_char(s, (char)(id->vendor[order[i / 4]] >> i % 4 * 8));
}

/* The value that takes the place of the line's; false: it stays. */
static bool add_value(struct ap_str *s, const char *line, u64 len, const struct ap_cpu_id *id)
{
	if (is_of(line, len, "vendor_id"))
		add_vendor(s, id);
	else if (is_of(line, len, "cpu family"))
		ap_str_u64(s, ap_cpu_family(id->signature));
	else if (is_of(line, len, "model"))
		ap_str_u64(s, ap_cpu_model(id->signature));
	else if (is_of(line, len, "stepping"))
		ap_str_u64(s, id->signature & 15);
	else if (is_of(line, len, "model name"))
		for (u32 i = 0; i < AP_CPU_BRAND && id->brand[i]; i++)
			ap_str_char(s, id->brand[i]);
	else
		return false;
	return true;
}

static u64 rewrite(const char *text, u64 len, char *out, u64 cap)
{
	const struct ap_cpu_id *id = &ap_hook_session()->cpu_id;
	u64 n = 0;

	for (u64 i = 0, end; i < len; i = end + 1) {
		char value[LINE_MAX];
		struct ap_str s;
		u64 keep;

		for (end = i; end < len && text[end] != '\n'; end++)
			;
		ap_str_init(&s, value, sizeof(value));
		keep = end - i;
		if (add_value(&s, text + i, keep, id)) {
			for (keep = 0; text[i + keep] != ':'; keep++)
				;
			keep++;
		}
		if (n + keep + s.len + 2 > cap)
			return 0;
		memcpy(out + n, text + i, keep);
		n += keep;
		if (s.len) {
			out[n++] = ' ';
			memcpy(out + n, value, s.len);
			n += s.len;
		}
		if (end < len)
			out[n++] = '\n';
	}
	return n;
}

void ap_cpuinfo_opened(s32 fd, u64 flags)
{
	char *text;
	u64 len;

	if (flags & AP_O_PATH)
		return;
	text = ap_hook_map(2 * COPY_MAX);
	if (!text)
		return;
	len = ap_copy_read(fd, text, COPY_MAX);
	len = len < COPY_MAX ? rewrite(text, len, text + COPY_MAX, COPY_MAX) : 0;
	if (len)
		ap_copy_put(fd, text + COPY_MAX, len, flags);
	ap_hook_unmap(text, 2 * COPY_MAX);
}
