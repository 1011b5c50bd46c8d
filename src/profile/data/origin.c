/* SPDX-License-Identifier: MIT */
/*
 * Each section is put together by one function; one that finds nothing to say leaves its section
 * out, because an empty one would be a claim.
 */
#include "profile/data/origin.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abi/record.h"
#include "files/in.h"
#include "profile/data/format.h"
#include "profile/data/record_buf.h"
#include "profile/data/topology.h"
#include "profile/symbols/buildid.h"

#define DEVICES "/sys/bus/event_source/devices"

static void put_string(struct ap_buf *to, const char *text)
{
	ap_buf_u32(to, (u32)AP_ALIGN_UP(strlen(text) + 1, AP_DATA_NAME_ALIGN));
	ap_buf_chars(to, text, AP_DATA_NAME_ALIGN);
}

static void hostname(struct ap_buf *to, const struct ap_origin *f)
{
	struct utsname u;

	(void)f;
	if (!uname(&u))
		put_string(to, u.nodename);
}

static void os_release(struct ap_buf *to, const struct ap_origin *f)
{
	struct utsname u;

	(void)f;
	if (!uname(&u))
		put_string(to, u.release);
}

static void version(struct ap_buf *to, const struct ap_origin *f)
{
	put_string(to, f->version);
}

static void arch(struct ap_buf *to, const struct ap_origin *f)
{
	struct utsname u;

	(void)f;
	if (!uname(&u))
		put_string(to, u.machine);
}

static void cpus(struct ap_buf *to, const struct ap_origin *f)
{
	(void)f;
	ap_buf_u32(to, (u32)get_nprocs_conf());
	ap_buf_u32(to, (u32)get_nprocs());
}

static void topology(struct ap_buf *to, const struct ap_origin *f)
{
	(void)f;
	ap_topology_put(to, (u32)get_nprocs_conf());
}

static void nodes(struct ap_buf *to, const struct ap_origin *f)
{
	(void)f;
	ap_topology_put_nodes(to);
}

/* The value behind "name\t: " of the first CPU, or false. */
static bool cpuinfo(const char *name, char *value, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "re");
	size_t len = strlen(name);
	bool found = false;
	char line[512], *at;

	while (info && !found && fgets(line, sizeof(line), info)) {
		if (strncmp(line, name, len))
			continue;
		at = line + len;
		at += strspn(at, "\t ");
		if (*at != ':')
			continue; /* "model name" is not "model" */
		at += strspn(at, ": \t");
		at[strcspn(at, "\n")] = '\0';
		snprintf(value, size, "%s", at);
		found = true;
	}
	if (info)
		fclose(info);
	return found;
}

bool ap_origin_cpu(char *name, size_t size)
{
	return cpuinfo("model name", name, size);
}

static void cpu_description(struct ap_buf *to, const struct ap_origin *f)
{
	char name[512];

	(void)f;
	if (ap_origin_cpu(name, sizeof(name)))
		put_string(to, name);
}

static void cpu_id(struct ap_buf *to, const struct ap_origin *f)
{
	char vendor[64], family[16], model[16], stepping[16], all[128];

	(void)f;
	if (!cpuinfo("vendor_id", vendor, sizeof(vendor)) ||
	    !cpuinfo("cpu family", family, sizeof(family)) ||
	    !cpuinfo("model", model, sizeof(model)) ||
	    !cpuinfo("stepping", stepping, sizeof(stepping)))
		return;
	snprintf(all, sizeof(all), "%s,%s,%s,%s", vendor, family, model, stepping);
	put_string(to, all);
}

static void memory(struct ap_buf *to, const struct ap_origin *f)
{
	struct sysinfo si;

	(void)f;
	if (!sysinfo(&si))
		ap_buf_u64(to, (u64)si.totalram * si.mem_unit / 1024);
}

static void command_line(struct ap_buf *to, const struct ap_origin *f)
{
	u32 n = 0;

	while (f->argv[n])
		n++;
	ap_buf_u32(to, n);
	for (u32 i = 0; i < n; i++)
		put_string(to, f->argv[i]);
}

static void event_descriptions(struct ap_buf *to, const struct ap_origin *f)
{
	u32 size = ap_write_attr_size(f->events, f->nevents);

	ap_buf_u32(to, (u32)f->nevents);
	ap_buf_u32(to, size);
	for (size_t i = 0; i < f->nevents; i++) {
		struct ap_perf_attr attr = f->events[i].attr;

		attr.size = size;
		ap_buf_put(to, &attr, size);
		ap_buf_u32(to, (u32)f->events[i].nids);
		put_string(to, f->events[i].name);
		ap_buf_put(to, f->events[i].ids, f->events[i].nids * sizeof(u64));
	}
}

static bool read_type(const char *name, u32 *type)
{
	char path[512];
	FILE *file;
	int n;

	snprintf(path, sizeof(path), DEVICES "/%s/type", name);
	file = ap_kernel_stream(path);
	if (!file)
		return false;
	n = fscanf(file, "%u", type);
	fclose(file);
	return n == 1;
}

static void pmus(struct ap_buf *to, const struct ap_origin *f)
{
	DIR *dir = opendir(DEVICES);
	struct dirent *entry;
	struct ap_buf list = { 0 };
	u32 n = 0, type;
	bool has_cpu = false;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !read_type(entry->d_name, &type))
			continue;
		has_cpu |= !strcmp(entry->d_name, "cpu");
		ap_buf_u32(&list, type);
		put_string(&list, entry->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	if (f->has_cpu_pmu && !has_cpu) {
		ap_buf_u32(&list, AP_PERF_TYPE_RAW);
		put_string(&list, "cpu");
		n++;
	}
	if (n) {
		ap_buf_u32(to, n);
		ap_buf_put(to, list.data, list.size);
	}
	to->failed |= list.failed;
	ap_buf_fini(&list);
}

static u32 members(const struct ap_origin *f, size_t leader)
{
	u32 n = 0;

	for (size_t i = 0; i < f->nevents; i++)
		n += f->events[i].leader == leader;
	return n;
}

static void groups(struct ap_buf *to, const struct ap_origin *f)
{
	u32 n = 0;

	for (size_t i = 0; i < f->nevents; i++)
		n += members(f, i) > 1;
	if (!n)
		return;
	ap_buf_u32(to, n);
	for (size_t i = 0; i < f->nevents; i++) {
		if (members(f, i) < 2)
			continue;
		put_string(to, "{anon_group}");
		ap_buf_u32(to, (u32)i);
		ap_buf_u32(to, members(f, i));
	}
}

static void clock_id(struct ap_buf *to, const struct ap_origin *f)
{
	if (f->nevents && f->events[0].attr.flags & AP_PERF_USE_CLOCKID)
		ap_buf_u64(to, 1); /* ns: all clocks that a sample can have count so */
}

static void tracing(struct ap_buf *to, const struct ap_origin *f)
{
	if (f->ntracing)
		ap_tracing_put(to, f->header_page, f->header_event, f->tracing, f->ntracing);
}

static const struct {
	enum ap_feature feature;
	void (*put)(struct ap_buf *to, const struct ap_origin *f);
} sections[] = {
	{ AP_FEAT_HOSTNAME, hostname },	    { AP_FEAT_OSRELEASE, os_release },
	{ AP_FEAT_VERSION, version },	    { AP_FEAT_ARCH, arch },
	{ AP_FEAT_NRCPUS, cpus },	    { AP_FEAT_CPUDESC, cpu_description },
	{ AP_FEAT_CPUID, cpu_id },	    { AP_FEAT_TOTAL_MEM, memory },
	{ AP_FEAT_CMDLINE, command_line },  { AP_FEAT_EVENT_DESC, event_descriptions },
	{ AP_FEAT_PMU_MAPPINGS, pmus },	    { AP_FEAT_GROUP_DESC, groups },
	{ AP_FEAT_CPU_TOPOLOGY, topology }, { AP_FEAT_NUMA_TOPOLOGY, nodes },
	{ AP_FEAT_CLOCKID, clock_id },	    { AP_FEAT_TRACING_DATA, tracing },
};

int ap_origin_put(struct ap_writer *w, const struct ap_origin *f)
{
	struct ap_buf buf = { 0 };
	int ret = 0;

	for (size_t i = 0; i < AP_ARRAY_SIZE(sections) && !ret; i++) {
		buf.size = 0;
		sections[i].put(&buf, f);
		if (buf.failed)
			ret = -ENOMEM;
		else if (buf.size)
			ret = ap_writer_feature(w, sections[i].feature, buf.data, buf.size);
	}
	if (!ret && f->nevents && ap_attr_has_branches(&f->events[0].attr))
		ret = ap_writer_feature(w, AP_FEAT_BRANCH_STACK, "", 0);
	ap_buf_fini(&buf);
	return ret;
}

int ap_origin_put_times(struct ap_writer *w, const struct ap_origin *f)
{
	u64 times[2] = { f->first_time, f->last_time };

	if (!f->first_time)
		return 0;
	return ap_writer_feature(w, AP_FEAT_SAMPLE_TIME, times, sizeof(times));
}

void ap_feature_build_id(struct ap_buf *to, u16 cpumode, const u8 *id, size_t size,
			 const char *path)
{
	size_t start = ap_buf_begin(to, AP_RECORD_BUILD_ID, cpumode | AP_MISC_BUILD_ID_SIZE);
	u8 field[24] = { 0 };

	memcpy(field, id, size);
	field[20] = (u8)size;
	ap_buf_u32(to, (u32)-1); /* of this machine, not of a guest */
	ap_buf_put(to, field, sizeof(field));
	ap_buf_chars(to, path, AP_DATA_NAME_ALIGN);
	ap_buf_end(to, start);
}
