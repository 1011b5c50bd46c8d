/* SPDX-License-Identifier: MIT */
/*
 * Numbers of /proc/PID/stat and the auxiliary vector of /proc/PID/auxv.
 */
#include <elf.h>
#include <errno.h>

#include "inject/proc.h"

#define STAT_PPID	4
#define STAT_THREADS	20
#define STAT_START_TIME 22
#define STAT_IGNORED	33
#define STAT_CPU	39
#define STAT_START_BRK	47

bool ap_stat_parse(const char *line, struct ap_proc_stat *st)
{
	const char *p = line, *comm_end = NULL;
	unsigned int field = 3;

	*st = (struct ap_proc_stat){ 0 };
	/* the name may hold spaces and parentheses: it ends at the last one */
	for (; *p; p++)
		if (*p == ')')
			comm_end = p;
	if (!comm_end || comm_end[1] != ' ')
		return false;
	st->state = comm_end[2];
	for (p = comm_end + 2; *p && *p != '\n'; field++) {
		const char *value = p;
		u64 n = ap_text_u64(&value, 10);

		if (field == STAT_PPID)
			st->ppid = (pid_t)n;
		else if (field == STAT_THREADS)
			st->threads = n;
		else if (field == STAT_START_TIME)
			st->start_time = n;
		else if (field == STAT_IGNORED)
			st->ignored = n;
		else if (field == STAT_CPU)
			st->cpu = n;
		else if (field == STAT_START_BRK)
			st->start_brk = n;
		while (*p && *p != ' ')
			p++;
		while (*p == ' ')
			p++;
	}
	return field > STAT_START_TIME;
}

int ap_stat_read(pid_t pid, struct ap_proc_stat *st)
{
	char buf[1024];
	s64 got = ap_proc_read(pid, "stat", buf, sizeof(buf));

	if (got < 0)
		return (int)got;
	return ap_stat_parse(buf, st) ? 0 : -EINVAL;
}

bool ap_has_ended(pid_t tid)
{
	struct ap_proc_stat st;
	int ret = ap_stat_read(tid, &st);

	return ret ? ret == -ENOENT || ret == -ESRCH : st.state == 'Z' || st.state == 'X';
}

void ap_auxv_parse(const u64 *words, u64 n, struct ap_auxv *aux)
{
	*aux = (struct ap_auxv){ 0 };
	for (u64 i = 0; i + 1 < n && words[i] != AT_NULL; i += 2) {
		u64 value = words[i + 1];

		switch (words[i]) {
		case AT_BASE:
			aux->base = value;
			break;
		case AT_SYSINFO_EHDR:
			aux->vdso = value;
			break;
		case AT_RANDOM:
			aux->random = value;
			break;
		case AT_HWCAP2:
			aux->hwcap2 = value;
			break;
		case AT_MINSIGSTKSZ:
			aux->minsigstksz = value;
			break;
		case AT_ENTRY:
			aux->entry = value;
			break;
		case AT_SECURE:
			aux->secure = value;
			break;
		default:
			break;
		}
	}
}

int ap_auxv_read(pid_t pid, struct ap_auxv *aux)
{
	u64 words[128];
	s64 got = ap_proc_read(pid, "auxv", (char *)words, sizeof(words));

	if (got < 0)
		return (int)got;
	ap_auxv_parse(words, (u64)got / sizeof(words[0]), aux);
	return 0;
}
