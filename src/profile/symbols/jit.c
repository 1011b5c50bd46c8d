/* SPDX-License-Identifier: MIT */
/*
 * Symbols that are lists of text: what a JIT compiler wrote into /tmp/perf-PID.map, and the
 * kernel's own /proc/kallsyms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/plant.h"
#include "files/error.h"
#include "files/in.h"
#include "profile/symbols/symbol_internal.h"

static char *hex(char *p, u64 *v)
{
	char *end;

	errno = 0;
	*v = strtoull(p, &end, 16);
	return end == p || errno ? NULL : end;
}

/*
 * Is it the file of the user whose process it describes?  A pid that has been used again tells of
 * another process: what such a file can do then is give that user's names to code that nothing else
 * has a name for.
 */
static bool is_of_task(const char *map, const struct stat *file)
{
	char path[32];
	struct stat st;
	int pid;

	if (sscanf(map, "/tmp/perf-%d.map", &pid) != 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &st) && st.st_uid == file->st_uid;
}

int ap_jit_open(struct ap_dso *dso, const char *path)
{
	const struct ap_symbols *s = dso->symbols;
	int fd = ap_open_regular(path);
	struct stat st;

	/* anybody may write into /tmp: a stranger's file tells nothing */
	if (fd < 0 || s->force ||
	    (!fstat(fd, &st) &&
	     (!st.st_uid || st.st_uid == geteuid() || is_of_task(dso->path, &st))))
		return fd;
	close(fd);
	if (s->complain && !dso->is_refused)
		s->complain(path, -AP_FILE_OWNER);
	dso->is_refused = true;
	return -1;
}

/* "START SIZE NAME", the numbers in hex. */
void ap_jit_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	int fd = ap_jit_open(dso, dso->path);
	char *line = NULL, *p;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

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
		if (!p || *p++ != ' ' || !*p || !size || size > ~s.start)
			continue;
		AP_PLANT("perf_map", size < 16 && *p == '_' && s.start >> 60);
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

/* "ADDRESS TYPE NAME [MODULE]"; addresses are 0 for users that may not see them. */
void ap_kernel_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	const char *path = dso->symbols->kallsyms;
	int error;
	char *line = NULL, *p;
	size_t cap = 0;
	FILE *f;

	if (!path && !kernel_runs(dso))
		return;
	f = path ? ap_in_stream(path, 0, &error) : fopen("/proc/kallsyms", "re");
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
