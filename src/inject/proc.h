/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about a task: mappings, auxiliary vector, a few numbers of stat and status.
 * Free of libc, like ptrace/.
 */
#ifndef AP_LINUX_PROC_PROC_H
#define AP_LINUX_PROC_PROC_H

#include <sys/types.h>

#include "base/types.h"

#define AP_PROC_PATH 64

/* Builds "/proc/PID/name" into buf (AP_PROC_PATH bytes) and returns it. */
const char *ap_proc_path(char *buf, pid_t pid, const char *name);
/* Reads at most size - 1 bytes of /proc/PID/name and ends them; the length or -errno. */
AP_MUST_CHECK s64 ap_proc_read(pid_t pid, const char *name, char *buf, u64 size);

#define AP_MAP_R     (1u << 0)
#define AP_MAP_W     (1u << 1)
#define AP_MAP_X     (1u << 2)
#define AP_MAP_SHARE (1u << 3)

struct ap_proc_map {
	u64 start, end;
	u32 flags;	  /* AP_MAP_* */
	const char *name; /* path, "[vdso]" or "" ; borrowed from the reader's buffer */
};

/* Parses one line of maps, which it may write to.  False for what is no such line. */
bool ap_map_parse(char *line, struct ap_proc_map *map);
typedef void (*ap_map_fn)(void *arg, const struct ap_proc_map *map);
AP_MUST_CHECK int ap_maps_each(pid_t pid, ap_map_fn fn, void *arg);

struct ap_auxv {
	u64 base;   /* AT_BASE: the interpreter, 0 for static programs */
	u64 vdso;   /* AT_SYSINFO_EHDR */
	u64 random; /* AT_RANDOM: address of 16 bytes */
	u64 hwcap2;
	u64 minsigstksz;
	u64 entry;
	u64 secure;
};

void ap_auxv_parse(const u64 *words, u64 n, struct ap_auxv *aux);
AP_MUST_CHECK int ap_auxv_read(pid_t pid, struct ap_auxv *aux);

struct ap_proc_stat {
	char state;
	pid_t ppid;
	u64 threads;	/* a leader that ended before its threads is in state Z too */
	u64 start_time; /* clock ticks since boot */
	u64 start_brk;	/* 0 when the kernel hides it */
	u64 ignored;	/* bits of signals 1 to 31 */
	u64 cpu;	/* where it ran last */
};

bool ap_stat_parse(const char *line, struct ap_proc_stat *st);
AP_MUST_CHECK int ap_stat_read(pid_t pid, struct ap_proc_stat *st);
/* The task is gone, or a zombie.  Not of one that cannot be looked at, for want of descriptors say. */
bool ap_has_ended(pid_t tid);

/* Value of a "Name:\t" line in a text like /proc/PID/status, NULL when absent. */
const char *ap_status_find(const char *text, const char *name);
u64 ap_text_u64(const char **s, unsigned int base);

#endif
