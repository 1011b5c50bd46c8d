/* SPDX-License-Identifier: MIT */
/*
 * objdump, asked about bytes and not about a file: so the code of JIT compilers and of the vdso is
 * shown like any other, and a large file's symbols are not read for each function.  Names are put
 * in by the caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/helper.h"
#include "profile/symbols/disasm_internal.h"

bool ap_objdump_find(const char *named, char *path, size_t size)
{
	if (!named)
		return ap_helper_find("objdump", path, size);
	return !faccessat(AT_FDCWD, named, X_OK, AT_EACCESS) &&
	       (size_t)snprintf(path, size, "%s", named) < size;
}

/* The bytes as a file that the tool reads as its standard input. */
static int file_of(const u8 *code, size_t size)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < size) {
		ssize_t n = write(fd, code + done, size - done);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	return fd;
}

static int start(const char *tool, bool intel, int code, u64 vaddr, int *out, pid_t *pid)
{
	char adjust[48], style[8];
	const char *argv[] = { "objdump",
			       "-D",
			       "-z",
			       "-b",
			       "binary",
			       "-m",
			       "i386:x86-64",
			       "-M",
			       style,
			       adjust,
			       "--no-show-raw-insn",
			       "/proc/self/fd/0",
			       NULL };
	posix_spawn_file_actions_t files;
	int fd[2], ret;

	snprintf(adjust, sizeof(adjust), "--adjust-vma=0x%llx", (unsigned long long)vaddr);
	snprintf(style, sizeof(style), "%s", intel ? "intel" : "att");
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	ret = posix_spawn_file_actions_init(&files);
	if (!ret) {
		ret = posix_spawn_file_actions_adddup2(&files, code, 0);
		if (!ret)
			ret = posix_spawn_file_actions_adddup2(&files, fd[1], 1);
		if (!ret)
			ret = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
		if (!ret)
			ret = posix_spawn(pid, tool, &files, NULL, (char **)argv, environ);
		posix_spawn_file_actions_destroy(&files);
	}
	close(fd[1]);
	if (ret)
		close(fd[0]);
	*out = fd[0];
	return -ret;
}

/* "    1182:\tpush   %r12" */
static void take_line(struct ap_objdump *o, char *line)
{
	struct ap_objdump_line *new;
	char *end, *text;
	u64 vaddr;

	line[strcspn(line, "\n")] = 0;
	if (line[0] != ' ' && !(line[0] >= '0' && line[0] <= '9') &&
	    !(line[0] >= 'a' && line[0] <= 'f'))
		return;
	vaddr = strtoull(line, &end, 16);
	if (end == line || end[0] != ':' || end[1] != '\t')
		return;
	end += 2;
	if (!(o->n & (o->n - 1)))
		o->line = ap_profile_realloc(o->line, o->n ? 2 * o->n : 1, sizeof(*o->line));
	text = ap_arena_get(&o->texts, strlen(end) + 1);
	strcpy(text, end);
	new = &o->line[o->n++];
	new->vaddr = vaddr;
	new->text = text;
}

bool ap_objdump_run(struct ap_objdump *o, const char *tool, bool intel, const u8 *code, size_t size,
		    u64 vaddr)
{
	int fd = file_of(code, size), out = -1, status = -1;
	char *line = NULL;
	size_t cap = 0;
	pid_t pid;
	FILE *f;

	memset(o, 0, sizeof(*o));
	if (fd < 0)
		return false;
	if (start(tool, intel, fd, vaddr, &out, &pid)) {
		close(fd);
		return false;
	}
	close(fd);
	f = fdopen(out, "r");
	while (f && getline(&line, &cap, f) >= 0)
		take_line(o, line);
	free(line);
	if (f)
		fclose(f);
	else
		close(out);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status && o->n)
		return true;
	ap_objdump_fini(o);
	return false;
}

void ap_objdump_fini(struct ap_objdump *o)
{
	ap_arena_fini(&o->texts);
	free(o->line);
	memset(o, 0, sizeof(*o));
}
