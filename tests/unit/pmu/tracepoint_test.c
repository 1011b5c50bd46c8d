/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints: their ids, the table of system calls against the kernel's header, formats against
 * themselves (offsets as C lays fields out) and, where tracefs may be mounted, against the kernel's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/describe.h"
#include "pmu/tracepoint.h"
#include "tap/tap.h"

#if defined(__x86_64__) && defined(__linux__)
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

static void mount_tracefs(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/mnt", "tracefs", 0, NULL))
		tap_lack("tracefs cannot be mounted");
}
#else
static void mount_tracefs(void)
{
	tap_lack("not the ABI that is compared");
}
#endif

static char text[4096];

static bool format(u32 id)
{
	struct ap_str s;

	ap_str_init(&s, text, sizeof(text));
	return ap_tracepoint_format(id, &s) && !s.cut;
}

static void every_tracepoint_has_one_id_and_one_name(void)
{
	static u8 seen[65536], counted[AP_TRACE_N];
	struct ap_tracepoint t;
	char name[96];
	u32 i;

	for (i = 0; ap_tracepoint_get(i, &t); i++) {
		int n = snprintf(name, sizeof(name), "%s:%s", t.system, t.name);

		REQUIRE(t.id && t.id < sizeof(seen));
		EXPECT(!seen[t.id]);
		seen[t.id] = 1;
		REQUIRE(ap_trace_index(t.id) < AP_TRACE_N - AP_TRACE_FILTERS);
		EXPECT(!counted[ap_trace_index(t.id)]++);
		EXPECT(strlen(t.name) < sizeof(t.name) - 1);
		EXPECT_U64(ap_tracepoint_find(name, (size_t)n), t.id);
		EXPECT(ap_tracepoint_exists(t.id));
		EXPECT_U64(ap_tracepoint_is_kernel(t.id), strcmp(t.system, "syscalls") != 0);
	}
	EXPECT(i > 700);
	for (i = 0; i < sizeof(seen); i++) {
		if (EXPECT_U64(ap_tracepoint_exists(i), seen[i]))
			EXPECT_U64(format(i), seen[i]);
	}
	EXPECT_U64(ap_tracepoint_find("syscalls", 8), 0);
	EXPECT_U64(ap_tracepoint_find("signal:signal_delive", 20), 0);
}

/* A line of a format: the field's name, and where it says that it is. */
static bool field_line(const char *line, char *name, struct ap_trace_field *at)
{
	unsigned int offset, size, is_signed;
	char decl[80], *p;

	if (sscanf(line, "\tfield:%79[^;];\toffset:%u;\tsize:%u;\tsigned:%u;", decl, &offset, &size,
		   &is_signed) != 4)
		return false;
	p = strchr(decl, '[');
	if (p && p[1] != ']')
		*p = '\0';
	p = strrchr(decl, ' ') + 1;
	strcpy(name, p + (*p == '*'));
	*at = (struct ap_trace_field){ offset, size, is_signed };
	return true;
}

static void fields_are_where_formats_say(void)
{
	struct ap_trace_field want, got;
	enum ap_trace_field_kind kind;
	struct ap_tracepoint t;
	u32 fields = 0, numbers = 0;
	char name[80];

	for (u32 i = 0; ap_tracepoint_get(i, &t); i++) {
		REQUIRE(format(t.id));
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			if (!field_line(line, name, &want))
				continue;
			kind = ap_tracepoint_field(t.id, name, strlen(name), &got);
			if (!EXPECT(kind != AP_TRACE_FIELD_NONE))
				tap_note("%s: %s", t.name, name);
			EXPECT_U64(got.offset, want.offset);
			EXPECT_U64(got.size, want.size);
			EXPECT_U64(got.is_signed, want.is_signed);
			EXPECT_U64(kind == AP_TRACE_FIELD_NUMBER,
				   !strchr(line, '[') && !strstr(line, "field:char * ") &&
					   !strstr(line, "field:const char * "));
			fields++;
			numbers += kind == AP_TRACE_FIELD_NUMBER;
		}
		EXPECT_U64(ap_tracepoint_field(t.id, "nobody", 6, &got), AP_TRACE_FIELD_NONE);
		EXPECT_U64(ap_tracepoint_field(t.id, "common_pi", 9, &got), AP_TRACE_FIELD_NONE);
	}
	EXPECT(fields > 4000 && numbers < fields);
	EXPECT_U64(ap_tracepoint_field(0, "count", 5, &got), AP_TRACE_FIELD_NONE);
}

/* The kernel's header names calls by what libc calls them; tracepoints by the function behind. */
static const char *function_of(const char *name)
{
	static const char *const other[][2] = {
		{ "stat", "newstat" },	 { "fstat", "newfstat" },      { "lstat", "newlstat" },
		{ "uname", "newuname" }, { "sendfile", "sendfile64" }, { "umount2", "umount" },
	};
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(other); i++) {
		if (!strcmp(other[i][0], name))
			return other[i][1];
	}
	return name;
}

/* Calls that were never there for 64 bits, or are gone. */
static bool is_gone(const char *name)
{
	static const char *const gone[] = { "uselib",	       "_sysctl",	  "create_module",
					    "get_kernel_syms", "query_module",	  "nfsservctl",
					    "getpmsg",	       "putpmsg",	  "afs_syscall",
					    "tuxcall",	       "security",	  "set_thread_area",
					    "vserver",	       "get_thread_area", "lookup_dcookie",
					    "epoll_ctl_old",   "epoll_wait_old" };
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(gone); i++) {
		if (!strcmp(gone[i], name))
			return true;
	}
	return false;
}

static void system_calls_have_their_numbers(void)
{
	FILE *file = fopen("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "r");
	char line[256], call[64], name[96];
	u32 nr, n = 0;

	if (!file)
		tap_lack("no <asm/unistd_64.h> of x86-64");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "#define __NR_%60s %u", call, &nr) != 2)
			continue;
		snprintf(name, sizeof(name), "syscalls:sys_enter_%s", function_of(call));
		if (!EXPECT_U64(ap_tracepoint_find(name, strlen(name)),
				is_gone(call) ? 0 : ap_trace_sys_enter(nr)))
			tap_note("%s", line);
		n++;
	}
	fclose(file);
	EXPECT(n > 300);
}

/* Fields follow each other: aligned, disjoint, the common ones first. */
static void formats_are_laid_out_by_c(void)
{
	struct ap_tracepoint t;
	u32 i;

	for (i = 0; ap_tracepoint_get(i, &t); i++) {
		unsigned int off, size, end = 0, fields = 0;
		char want[96];
		const char *p;

		REQUIRE(format(t.id));
		snprintf(want, sizeof(want), "name: %s\nID: %u\nformat:\n", t.name, t.id);
		EXPECT(!strncmp(text, want, strlen(want)));
		EXPECT(strstr(text, "\n\nprint fmt: \"") != NULL);
		for (p = strstr(text, "\toffset:"); p; p = strstr(p + 1, "\toffset:"), fields++) {
			REQUIRE(sscanf(p, "\toffset:%u;\tsize:%u;", &off, &size) == 2);
			if (!EXPECT(off >= end && off - end < 8 && size > 0))
				tap_note("%s", text);
			end = off + size;
		}
		EXPECT(fields >= 5);
	}
}

static bool read_native(const char *event, char *buf, size_t size)
{
	char path[128];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/mnt/events/%s/format", event);
	file = fopen(path, "r");
	if (!file)
		return false;
	n = fread(buf, 1, size - 1, file);
	buf[n] = '\0';
	fclose(file);
	return true;
}

static const char *after_id(const char *s)
{
	const char *id = strstr(s, "ID: ");

	return id ? strchr(id, '\n') : s;
}

/* Whose records have looked alike in all kernels for years. */
static void formats_are_the_kernels(void)
{
	static const char *const events[] = {
		"raw_syscalls/sys_enter",     "raw_syscalls/sys_exit",
		"signal/signal_generate",     "signal/signal_deliver",
		"syscalls/sys_enter_close",   "syscalls/sys_exit_close",
		"syscalls/sys_enter_getppid", "syscalls/sys_enter_lseek",
		"syscalls/sys_enter_dup3",    "syscalls/sys_exit_exit_group",
		"syscalls/sys_enter_kill"
	};
	static char native[8192];
	char name[64], *slash;
	u32 i, n = 0;

	mount_tracefs();
	for (i = 0; i < AP_ARRAY_SIZE(events); i++) {
		if (!read_native(events[i], native, sizeof(native)))
			continue;
		snprintf(name, sizeof(name), "%s", events[i]);
		slash = strchr(name, '/');
		*slash = ':';
		REQUIRE(format(ap_tracepoint_find(name, strlen(name))));
		EXPECT_STR(after_id(text), after_id(native));
		n++;
	}
	if (!n)
		tap_lack("this kernel has no such tracepoint");
	tap_note("%u formats compared", n);
}

static u32 files;
static int count(void *ctx, const char *path, const char *content)
{
	size_t n = strlen(content);

	(void)ctx;
	files++;
	EXPECT(!strncmp(path, "events/", 7) && n > 0 && content[n - 1] == '\n');
	return 0;
}

static void tracefs_has_four_files_for_each(void)
{
	struct ap_tracepoint t;
	u32 n = 0;

	while (ap_tracepoint_get(n, &t))
		n++;
	EXPECT_U64(ap_pmu_describe_tracefs(count, NULL), 0);
	EXPECT_U64(files, 4 * n);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(every_tracepoint_has_one_id_and_one_name),
						 TAP(fields_are_where_formats_say),
						 TAP(system_calls_have_their_numbers),
						 TAP(formats_are_laid_out_by_c),
						 TAP(formats_are_the_kernels),
						 TAP(tracefs_has_four_files_for_each),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
