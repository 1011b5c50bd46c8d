/* SPDX-License-Identifier: MIT */
/*
 * The section begins with two lists of texts, CPUs that share a socket and those that share a core,
 * each once; then come core and socket of each CPU.  Where the machine tells of dies, there follow
 * the list of those, and the die of each CPU.
 */
#include "profile/data/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/in.h"
#include "profile/text/intern.h"

/* --- reading */

static bool skip_texts(const struct ap_data *d, const u8 **p, const u8 *end)
{
	u32 i, n, len;

	if (end - *p < 4)
		return false;
	n = ap_data_u32(d, *p);
	*p += 4;
	for (i = 0; i < n; i++) {
		if (end - *p < 4)
			return false;
		len = ap_data_u32(d, *p);
		if (len > (u64)(end - *p) - 4)
			return false;
		*p += 4 + len;
	}
	return true;
}

static void read_dies(struct ap_topology *t, const struct ap_data *d, const u8 *p, const u8 *end)
{
	if (!skip_texts(d, &p, end) || t->n > (u64)(end - p) / 4)
		return;
	for (u32 i = 0; i < t->n; i++, p += 4)
		t->cpu[i].die = (s32)ap_data_u32(d, p);
}

/* The CPUs of a list as sysfs has them, "0-1,3": each is on that node. */
static void set_node(struct ap_topology *t, const char *list, u32 node)
{
	unsigned long first, last;
	char *p = (char *)list;

	while (*p >= '0' && *p <= '9') {
		first = last = strtoul(p, &p, 10);
		if (*p == '-')
			last = strtoul(p + 1, &p, 10);
		for (; first <= last && first < t->n; first++)
			t->cpu[first].node = (s32)node;
		p += *p == ',';
	}
}

/* A node: its number, its memory and what is free of it, its CPUs. */
static void read_nodes(struct ap_topology *t, struct ap_data *d)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_NUMA_TOPOLOGY, &size), *end = p + size;
	u32 n, len, node;

	if (!p || size < 4)
		return;
	for (n = ap_data_u32(d, p), p += 4; n && end - p >= 24; n--, p += 24 + len) {
		node = ap_data_u32(d, p);
		len = ap_data_u32(d, p + 20);
		if (len > (u64)(end - p) - 24 || !memchr(p + 24, 0, len))
			return;
		set_node(t, (const char *)p + 24, node);
	}
}

void ap_topology_read(struct ap_topology *t, struct ap_data *d)
{
	u64 size, ncpus_size;
	const u8 *ncpus = ap_data_feature(d, AP_FEAT_NRCPUS, &ncpus_size), *end;
	const u8 *p = ap_data_feature(d, AP_FEAT_CPU_TOPOLOGY, &size);
	u32 n;

	*t = (struct ap_topology){ 0 };
	if (!p || !ncpus || ncpus_size < 8)
		return;
	end = p + size;
	n = ap_data_u32(d, ncpus);
	if (!skip_texts(d, &p, end) || !skip_texts(d, &p, end) || !n || n > (u64)(end - p) / 8)
		return;
	t->cpu = ap_profile_calloc(n, sizeof(*t->cpu));
	for (t->n = 0; t->n < n; t->n++, p += 8)
		t->cpu[t->n] = (struct ap_topology_cpu){ .core = (s32)ap_data_u32(d, p),
							 .socket = (s32)ap_data_u32(d, p + 4),
							 .node = -1 };
	read_dies(t, d, p, end);
	read_nodes(t, d);
}

void ap_topology_fini(struct ap_topology *t)
{
	free(t->cpu);
	*t = (struct ap_topology){ 0 };
}

struct ap_topology_cpu ap_topology_of(const struct ap_topology *t, u32 cpu)
{
	if (cpu < t->n)
		return t->cpu[cpu];
	return (struct ap_topology_cpu){ .socket = -1, .die = -1, .core = -1, .node = -1 };
}

s32 ap_topology_socket(const struct ap_topology *t, u32 cpu)
{
	return cpu < t->n ? t->cpu[cpu].socket : -1;
}

/* --- this machine, and writing */

#define LINE	  256
#define NODES_MAX 1024

/* A line of sysfs about a CPU, without its end. */
static bool about(u32 cpu, const char *what, char line[LINE])
{
	char path[100];
	FILE *in;
	bool is_read;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, what);
	in = ap_kernel_stream(path);
	is_read = in && fgets(line, LINE, in);
	if (in)
		fclose(in);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

void ap_topology_ask(struct ap_topology *t, u32 ncpus)
{
	char package[LINE];

	*t = (struct ap_topology){ .cpu = ap_profile_calloc(ncpus, sizeof(*t->cpu)) };
	for (; t->n < ncpus; t->n++) {
		bool is_told = about(t->n, "physical_package_id", package);

		t->cpu[t->n] =
			(struct ap_topology_cpu){ .socket = is_told ? (s32)atoi(package) : -1,
						  .die = -1,
						  .core = -1,
						  .node = -1 };
	}
}

/* What CPUs say, each text once.  false: one says nothing, or more than there is room for. */
static bool put_texts(struct ap_buf *to, u32 ncpus, const char *what)
{
	struct ap_buf texts = { 0 };
	u32 cpu, i, n = 0;
	char line[LINE];
	bool is_whole = true;

	for (cpu = 0; cpu < ncpus && is_whole; cpu++) {
		is_whole = about(cpu, what, line) && strlen(line) < LINE - 2;
		for (i = 0; i < n && strcmp(texts.data + (size_t)i * LINE, line) != 0; i++)
			;
		if (i == n) {
			memset(line + strlen(line), 0, LINE - strlen(line));
			ap_buf_put(&texts, line, LINE);
			n += !texts.failed;
		}
	}
	ap_buf_u32(to, n);
	for (i = 0; i < n; i++) {
		const char *text = texts.data + (size_t)i * LINE;

		ap_buf_u32(to, (u32)AP_ALIGN_UP(strlen(text) + 1, AP_DATA_NAME_ALIGN));
		ap_buf_chars(to, text, AP_DATA_NAME_ALIGN);
	}
	to->failed |= texts.failed;
	ap_buf_fini(&texts);
	return is_whole;
}

/* Kernels before 5.3 do not tell, and such files end without. */
static void put_dies(struct ap_buf *to, u32 ncpus)
{
	size_t start = to->size;
	char die[LINE];
	bool is_whole = put_texts(to, ncpus, "die_cpus_list");

	for (u32 cpu = 0; cpu < ncpus && is_whole; cpu++) {
		is_whole = about(cpu, "die_id", die);
		ap_buf_u32(to, (u32)atoi(die));
	}
	if (!is_whole)
		to->size = start;
}

void ap_topology_put(struct ap_buf *to, u32 ncpus)
{
	size_t start = to->size;
	char core[LINE], package[LINE];
	bool is_whole;

	is_whole =
		put_texts(to, ncpus, "package_cpus_list") && put_texts(to, ncpus, "core_cpus_list");
	for (u32 cpu = 0; cpu < ncpus && is_whole; cpu++) {
		is_whole =
			about(cpu, "core_id", core) && about(cpu, "physical_package_id", package);
		ap_buf_u32(to, (u32)atoi(core));
		ap_buf_u32(to, (u32)atoi(package));
	}
	if (!is_whole || !ncpus)
		to->size = start;
	else
		put_dies(to, ncpus);
}

/* --- nodes of memory */

/* The number behind "name:", kB; 0: there is none. */
static u64 of_node(u32 node, const char *name)
{
	char path[100], line[LINE], *at;
	u64 value = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", node);
	in = ap_kernel_stream(path);
	while (in && !value && fgets(line, sizeof(line), in)) {
		at = strstr(line, name);
		if (at)
			value = strtoull(at + strlen(name), NULL, 10);
	}
	if (in)
		fclose(in);
	return value;
}

static bool line_of(const char *path, char line[LINE])
{
	FILE *in = ap_kernel_stream(path);
	bool is_read = in && fgets(line, LINE, in);

	if (in)
		fclose(in);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

static bool put_node(struct ap_buf *to, u32 node)
{
	char path[100], cpus[LINE];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
	if (!line_of(path, cpus))
		return false;
	ap_buf_u32(to, node);
	ap_buf_u64(to, of_node(node, "MemTotal:"));
	ap_buf_u64(to, of_node(node, "MemFree:"));
	ap_buf_u32(to, (u32)AP_ALIGN_UP(strlen(cpus) + 1, AP_DATA_NAME_ALIGN));
	ap_buf_chars(to, cpus, AP_DATA_NAME_ALIGN);
	return true;
}

/* "0-1,3", as sysfs has lists. */
void ap_topology_put_nodes(struct ap_buf *to)
{
	struct ap_buf nodes = { 0 };
	char online[LINE], *p = online;
	unsigned long first, last;
	u32 n = 0;

	if (!line_of("/sys/devices/system/node/online", online))
		return;
	while (*p >= '0' && *p <= '9') {
		first = last = strtoul(p, &p, 10);
		if (*p == '-')
			last = strtoul(p + 1, &p, 10);
		for (; first <= last && n < NODES_MAX; first++)
			n += put_node(&nodes, (u32)first);
		p += *p == ',';
	}
	if (n) {
		ap_buf_u32(to, n);
		ap_buf_put(to, nodes.data, nodes.size);
	}
	to->failed |= nodes.failed;
	ap_buf_fini(&nodes);
}
