/* SPDX-License-Identifier: MIT */
/*
 * Symbols that are lists of text: what a JIT compiler wrote into /tmp/perf-PID.map, and the kernel's
 * own /proc/kallsyms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "profile/symbol_internal.h"

static char *hex(char *p, u64 *v)
{
	char *end;

	errno = 0;
	*v = strtoull(p, &end, 16);
	return end == p || errno ? NULL : end;
}

/* "START SIZE NAME", the numbers in hex. */
void ap_jit_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	int fd = ap_open_regular(dso->path);
	struct stat st;
	char *line = NULL, *p;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	/* anybody may write into that folder: a stranger's file tells nothing */
	if (fd >= 0 && (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()))) {
		close(fd);
		return;
	}
	f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f)
		return;
	dso->symfile = dso->path;
	while ((n = getline(&line, &cap, f)) > 0) {
		struct ap_symbol s = { .type = STT_FUNC, .bind = STB_GLOBAL };
		u64 size;

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		p = hex(line, &s.start);
		p = p && *p == ' ' ? hex(p, &size) : NULL;
		if (!p || *p++ != ' ' || !*p || !size)
			continue;
		s.end = s.start + size;
		s.name = ap_symbol_name(dso->symbols, p);
		ap_symvec_add(vec, &s);
	}
	free(line);
	fclose(f);
}

/* Whether the kernel of the profile is the one that runs. */
static bool kernel_runs(const struct ap_dso *dso)
{
	u8 notes[4096];
	FILE *f = fopen("/sys/kernel/notes", "re");
	size_t n, i;

	if (!dso->build_id_size)
		return true;
	if (!f)
		return false;
	n = fread(notes, 1, sizeof(notes), f);
	fclose(f);
	for (i = 0; i + dso->build_id_size <= n; i++) {
		if (!memcmp(notes + i, dso->build_id, dso->build_id_size))
			return true;
	}
	return false;
}

/* "ADDRESS TYPE NAME [MODULE]"; addresses are 0 for who may not see them. */
void ap_kernel_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	const char *path = dso->symbols->kallsyms;
	char *line = NULL, *p;
	size_t cap = 0;
	FILE *f;

	if (!path && !kernel_runs(dso))
		return;
	f = fopen(path ? path : "/proc/kallsyms", "re");
	while (f && getline(&line, &cap, f) > 0) {
		struct ap_symbol s = { .type = STT_FUNC, .bind = STB_GLOBAL };

		p = hex(line, &s.start);
		if (!p || !s.start || *p++ != ' ' || !*p || !strchr("tTwW", *p) || p[1] != ' ')
			continue;
		p += 2;
		p[strcspn(p, "\n\t")] = 0;
		s.end = s.start;
		s.name = ap_intern_str(&dso->symbols->text, p);
		ap_symvec_add(vec, &s);
	}
	free(line);
	if (f)
		fclose(f);
}
