/* SPDX-License-Identifier: MIT */
#include "profile/symbols/running.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/record.h"
#include "files/in.h"
#include "profile/data/format.h"
#include "profile/symbols/buildid.h"

#define COMM_SIZE 16
#define LINE_SIZE 8192

size_t ap_trailer_size(const struct ap_perf_attr *attr)
{
	static const u64 each[] = { AP_PERF_SAMPLE_TID, AP_PERF_SAMPLE_TIME,
				    AP_PERF_SAMPLE_ID,	AP_PERF_SAMPLE_STREAM_ID,
				    AP_PERF_SAMPLE_CPU, AP_PERF_SAMPLE_IDENTIFIER };
	size_t size = 0;

	if (!(attr->flags & AP_PERF_SAMPLE_ID_ALL))
		return 0;
	for (size_t i = 0; i < AP_ARRAY_SIZE(each); i++)
		size += attr->sample_type & each[i] ? 8 : 0;
	return size;
}

static void end_record(const struct ap_running *r, size_t start)
{
	ap_buf_zero(r->to, r->trailer);
	ap_buf_end(r->to, start); /* a name longer than a record: its mapping is left out */
}

void ap_running_comm(const struct ap_running *r, pid_t pid, pid_t tid, const char *comm)
{
	size_t start = ap_buf_begin(r->to, AP_PERF_RECORD_COMM, 0);

	ap_buf_u32(r->to, (u32)pid);
	ap_buf_u32(r->to, (u32)tid);
	ap_buf_chars(r->to, comm, 8);
	end_record(r, start);
}

static void put_fork(const struct ap_running *r, pid_t pid, pid_t tid, pid_t parent)
{
	/* the mappings follow: do not copy the parent's */
	size_t start = ap_buf_begin(r->to, AP_PERF_RECORD_FORK, AP_PERF_RECORD_MISC_FORK_EXEC);

	ap_buf_u32(r->to, (u32)pid);
	ap_buf_u32(r->to, (u32)parent);
	ap_buf_u32(r->to, (u32)tid);
	ap_buf_u32(r->to, (u32)parent);
	ap_buf_u64(r->to, 0);
	end_record(r, start);
}

/* --- mappings */

struct running_mapping {
	u64 start, end, pgoff, inode;
	u32 major, minor, prot, flags;
	const char *name;
};

static bool parse_mapping(char *line, struct running_mapping *m)
{
	char perm[5];
	int at = 0;

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m->start, &m->end, perm, &m->pgoff,
		   &m->major, &m->minor, &m->inode, &at) < 7)
		return false;
	line[strcspn(line, "\n")] = '\0';
	m->prot = (perm[0] == 'r' ? PROT_READ : 0) | (perm[1] == 'w' ? PROT_WRITE : 0) |
		  (perm[2] == 'x' ? PROT_EXEC : 0);
	m->flags = perm[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	ap_str_unmangle(line + at);
	m->name = line[at] ? line + at : "//anon";
	return true;
}

/* In the place of device and inode.  False: the file has none, or is not there any more. */
static bool put_build_id(const struct ap_running *r, pid_t pid, const struct running_mapping *m)
{
	u8 id[AP_BUILD_ID_MAX] = { 0 };
	u8 head[4] = { 0 };
	size_t size;

	size = ap_build_id_of_mapping(pid, m->name, id);
	if (!size)
		return false;
	head[0] = (u8)size;
	ap_buf_put(r->to, head, sizeof(head));
	ap_buf_put(r->to, id, sizeof(id));
	return true;
}

static void put_mapping(const struct ap_running *r, pid_t pid, const struct running_mapping *m)
{
	u16 misc = AP_PERF_RECORD_MISC_USER |
		   (m->prot & PROT_EXEC ? 0 : AP_PERF_RECORD_MISC_MMAP_DATA);
	size_t start = ap_buf_begin(r->to, AP_PERF_RECORD_MMAP2, misc);

	ap_buf_u32(r->to, (u32)pid);
	ap_buf_u32(r->to, (u32)pid);
	ap_buf_u64(r->to, m->start);
	ap_buf_u64(r->to, m->end - m->start);
	ap_buf_u64(r->to, m->pgoff);
	if (r->build_id && put_build_id(r, pid, m)) {
		misc |= AP_PERF_RECORD_MISC_MMAP_BUILD_ID;
		memcpy(r->to->data + start + 4, &misc, sizeof(misc));
	} else {
		ap_buf_u32(r->to, m->major);
		ap_buf_u32(r->to, m->minor);
		ap_buf_u64(r->to, m->inode);
		ap_buf_u64(r->to, 0);
	}
	ap_buf_u32(r->to, m->prot);
	ap_buf_u32(r->to, m->flags);
	ap_buf_chars(r->to, m->name, 8);
	end_record(r, start);
}

static void put_mappings(const struct ap_running *r, pid_t pid)
{
	char path[64], line[LINE_SIZE];
	struct running_mapping m;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = ap_kernel_stream(path);
	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps))
		if (parse_mapping(line, &m) && (r->data || m.prot & PROT_EXEC))
			put_mapping(r, pid, &m);
	fclose(maps);
}

/* --- tasks */

struct task {
	pid_t tgid, parent;
	char comm[COMM_SIZE + 1];
};

static bool read_comm(pid_t tid, struct task *task)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	fd = ap_kernel_open(path, O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, task->comm, COMM_SIZE);
	close(fd);
	if (n < 1)
		return false;
	task->comm[task->comm[n - 1] == '\n' ? n - 1 : n] = '\0';
	return true;
}

static bool read_task(pid_t tid, struct task *task)
{
	char path[64], line[256];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status = ap_kernel_stream(path);
	if (!status)
		return false;
	task->tgid = 0;
	while (fgets(line, sizeof(line), status)) {
		if (!strncmp(line, "Tgid:", 5))
			task->tgid = atoi(line + 5);
		else if (!strncmp(line, "PPid:", 5))
			task->parent = atoi(line + 5);
	}
	fclose(status);
	return task->tgid > 0 && read_comm(tid, task);
}

static void put_task(const struct ap_running *r, pid_t tid)
{
	struct task task;

	if (!read_task(tid, &task))
		return;
	if (!r->no_tasks) {
		put_fork(r, task.tgid, tid, tid == task.tgid ? task.parent : task.tgid);
		ap_running_comm(r, task.tgid, tid, task.comm);
	}
	if (tid == task.tgid && !r->no_mappings)
		put_mappings(r, tid);
}

/* Calls one for each entry of the folder that is a number. */
static void each_number(const char *path, void (*one)(const struct ap_running *, pid_t),
			const struct ap_running *r)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			one(r, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

void ap_running_process(const struct ap_running *r, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	each_number(path, put_task, r);
}

/* --- the kernel */

static void put_kernel_map(const struct ap_running *r, u64 start, u64 size, u64 pgoff,
			   const char *name)
{
	size_t at = ap_buf_begin(r->to, AP_PERF_RECORD_MMAP, AP_PERF_RECORD_MISC_KERNEL);

	ap_buf_u32(r->to, (u32)-1);
	ap_buf_u32(r->to, 0);
	ap_buf_u64(r->to, start);
	ap_buf_u64(r->to, size);
	ap_buf_u64(r->to, pgoff);
	ap_buf_chars(r->to, name, 8);
	end_record(r, at);
}

static void put_text(const struct ap_running *r)
{
	FILE *syms = fopen("/proc/kallsyms", "re");
	u64 text = 0, end = 0, at;
	char line[512], name[256];

	while (syms && !end && fgets(line, sizeof(line), syms)) {
		if (sscanf(line, "%lx %*c %255s", &at, name) != 2)
			continue;
		if (!text && !strcmp(name, "_text"))
			text = at;
		else if (!strcmp(name, "_etext"))
			end = at;
	}
	if (syms)
		fclose(syms);
	if (text && end > text)
		put_kernel_map(r, text, end - text, text, "[kernel.kallsyms]_text");
}

static void put_modules(const struct ap_running *r)
{
	FILE *modules = fopen("/proc/modules", "re");
	char line[4096], name[256], quoted[258];
	u64 size, start;

	while (modules && fgets(line, sizeof(line), modules)) {
		if (sscanf(line, "%255s %lu %*s %*s %*s %lx", name, &size, &start) != 3 || !start)
			continue;
		snprintf(quoted, sizeof(quoted), "[%s]", name);
		put_kernel_map(r, start, size, 0, quoted);
	}
	if (modules)
		fclose(modules);
}

void ap_running_kernel(const struct ap_running *r)
{
	put_text(r);
	put_modules(r);
}

/* --- cgroups */

static void put_cgroup(const struct ap_running *r, u64 id, const char *path)
{
	size_t at = ap_buf_begin(r->to, AP_PERF_RECORD_CGROUP, 0);

	ap_buf_u64(r->to, id);
	ap_buf_chars(r->to, path, 8);
	end_record(r, at);
}

/* The folder and all below it; from mount on path is what the kernel calls it. */
static void put_cgroups(const struct ap_running *r, char *path, size_t mount, size_t size)
{
	size_t len = strlen(path);
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (stat(path, &st))
		return;
	put_cgroup(r, st.st_ino, path[mount] ? path + mount : "/");
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    snprintf(path + len, size - len, "/%s", entry->d_name) >= (int)(size - len))
			continue;
		put_cgroups(r, path, mount, size);
	}
	path[len] = '\0';
	if (dir)
		closedir(dir);
}

void ap_running_cgroups(const struct ap_running *r)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[LINE_SIZE], path[4096], type[64];
	bool done = false;

	while (mounts && !done && fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%*s %2047s %63s", path, type) != 2 || strcmp(type, "cgroup2"))
			continue;
		put_cgroups(r, path, strlen(path), sizeof(path));
		done = true;
	}
	if (mounts)
		fclose(mounts);
}
