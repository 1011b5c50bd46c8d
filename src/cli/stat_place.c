/* SPDX-License-Identifier: MIT */
/*
 * Places of `anyperf stat`: CPUs, threads, and the parts of the machine that CPUs are put together
 * by, as sysfs has them.  What stands before a row is as perf 6.1 has it, byte for byte.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/stat.h"
#include "files/in.h"
#include "print/print.h"

#define CPU_DIR "/sys/devices/system/cpu/cpu%d/"

/* --- the machine */

/* perf has -1 for what a machine does not say, too. */
static int topology(s32 cpu, const char *file)
{
	char path[96];
	int value = -1;
	FILE *in;

	snprintf(path, sizeof(path), CPU_DIR "topology/%s", cpu, file);
	in = ap_kernel_stream(path);
	if (!in)
		return -1;
	if (fscanf(in, "%d", &value) != 1)
		value = -1;
	fclose(in);
	return value;
}

/* A link to it is in the CPU's folder. */
static int node_of(s32 cpu)
{
	const struct dirent *entry;
	char path[64];
	int node = -1;
	DIR *dir;

	snprintf(path, sizeof(path), CPU_DIR, cpu);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (node < 0 && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "node%d", &node) != 1)
			node = -1;
	closedir(dir);
	return node;
}

/* Numbers from the outermost to the innermost part, as places are sorted. */
struct place_part {
	int id[3];
	unsigned int n;
};

static s32 of_this_machine(const void *arg, s32 cpu, enum ap_stat_split kind)
{
	(void)arg;
	switch (kind) {
	case AP_STAT_NODES:
		return node_of(cpu);
	case AP_STAT_SOCKETS:
		return topology(cpu, "physical_package_id");
	case AP_STAT_DIES:
		return topology(cpu, "die_id");
	default:
		return topology(cpu, "core_id");
	}
}

static struct place_part part_of(const struct ap_stat_machine *m, s32 cpu, enum ap_stat_split split)
{
	struct place_part p = { .id = { -1, -1, -1 }, .n = 1 };

	if (split == AP_STAT_NODES) {
		p.id[0] = m->part(m->arg, cpu, AP_STAT_NODES);
		return p;
	}
	p.id[0] = m->part(m->arg, cpu, AP_STAT_SOCKETS);
	if (split == AP_STAT_DIES || split == AP_STAT_CORES)
		p.id[p.n++] = m->part(m->arg, cpu, AP_STAT_DIES);
	if (split == AP_STAT_CORES)
		p.id[p.n++] = m->part(m->arg, cpu, AP_STAT_CORES);
	return p;
}

static int compare(const void *a, const void *b)
{
	const struct place_part *x = a, *y = b;

	for (unsigned int i = 0; i < x->n; i++)
		if (x->id[i] != y->id[i])
			return x->id[i] < y->id[i] ? -1 : 1;
	return 0;
}

static void name_part(struct ap_stat_place *place, const struct place_part *p,
		      enum ap_stat_split split)
{
	static const char letters[] = "SDC";
	size_t len = 0;

	for (unsigned int i = 0; i < p->n; i++)
		len += (size_t)snprintf(place->part + len, sizeof(place->part) - len, "%s%c%d",
					i ? "-" : "", split == AP_STAT_NODES ? 'N' : letters[i],
					p->id[i]);
}

u32 ap_stat_parts(const struct ap_stat_machine *machine, enum ap_stat_split split, const s32 *cpus,
		  u32 n, struct ap_stat_place *places, u32 *of)
{
	const struct ap_stat_machine this = { .part = of_this_machine };
	struct place_part *all = ap_xgrow(NULL, n, sizeof(*all));
	struct place_part *sorted = ap_xgrow(NULL, n, sizeof(*sorted));
	u32 k = 0;

	for (u32 i = 0; i < n; i++)
		all[i] = sorted[i] = part_of(machine ? machine : &this, cpus[i], split);
	qsort(sorted, n, sizeof(*sorted), compare);
	for (u32 i = 0; i < n; i++)
		if (!k || compare(&sorted[k - 1], &sorted[i]))
			sorted[k++] = sorted[i];
	for (u32 i = 0; i < k; i++) {
		places[i] = (struct ap_stat_place){ .cpu = -1 };
		name_part(&places[i], &sorted[i], split);
	}
	for (u32 i = 0; i < n; i++) {
		const struct place_part *found =
			bsearch(&all[i], sorted, k, sizeof(*sorted), compare);

		of[i] = (u32)(found - sorted);
		places[of[i]].ncpus++;
	}
	free(all);
	free(sorted);
	return k;
}

bool ap_stat_is_of_parts(enum ap_stat_split split)
{
	return split >= AP_STAT_CORES;
}

/* --- what stands before a row */

/* The innermost number is padded, to 8 places below a die, to 5 of the machine's own parts. */
static int part_width(const struct ap_stat *st, const char *part)
{
	static const int last[] = {
		[AP_STAT_CORES] = 8, [AP_STAT_DIES] = 8, [AP_STAT_SOCKETS] = 5, [AP_STAT_NODES] = 5
	};

	size_t len = strlen(part);

	while (len && (part[len - 1] < 'A' || part[len - 1] > 'Z'))
		len--;
	return (int)len + last[st->split];
}

/* perf's widths: a CPU's number 7, a thread's name 16 and its tid 8, a number of CPUs 4. */
void ap_stat_print_place(const struct ap_stat *st, const struct ap_stat_place *place, FILE *out)
{
	const char *dash = strrchr(place->thread, '-');

	if (st->split == AP_STAT_CPUS)
		fprintf(out, "CPU%-*d ", 7, place->cpu);
	else if (st->split == AP_STAT_THREADS && dash)
		ap_print(out, "%16.*s-%-8s ", (int)(dash - place->thread), place->thread, dash + 1);
	else if (ap_stat_is_of_parts(st->split))
		ap_print(out, "%-*s %4" PRIu32 " ", part_width(st, place->part), place->part,
			 place->ncpus);
}

int ap_stat_place_width(const struct ap_stat *st)
{
	switch (st->split) {
	case AP_STAT_CPUS:
		return 11;
	case AP_STAT_THREADS:
		return 26;
	default:
		return ap_stat_is_of_parts(st->split) ? part_width(st, st->place[0].part) + 6 : 0;
	}
}

void ap_stat_print_csv_place(const struct ap_stat *st, const struct ap_stat_place *place,
			     const char *sep, FILE *out)
{
	if (st->split == AP_STAT_CPUS)
		ap_print_fields(out, sep, "CPU%d\t", place->cpu);
	else if (st->split == AP_STAT_THREADS)
		ap_print_fields(out, sep, "%s\t", place->thread);
	else if (ap_stat_is_of_parts(st->split))
		ap_print_fields(out, sep, "%s\t%" PRIu32 "\t", place->part, place->ncpus);
}

void ap_stat_print_json_place(const struct ap_stat *st, const struct ap_stat_place *place,
			      FILE *out)
{
	static const char *const key[] = { [AP_STAT_CORES] = "core",
					   [AP_STAT_DIES] = "die",
					   [AP_STAT_SOCKETS] = "socket",
					   [AP_STAT_NODES] = "node" };

	if (st->split == AP_STAT_CPUS)
		fprintf(out, "\"cpu\" : \"%d\", ", place->cpu);
	if (st->split == AP_STAT_THREADS) {
		fputs("\"thread\" : ", out);
		ap_print_json(out, place->thread);
		fputs(", ", out);
	}
	if (ap_stat_is_of_parts(st->split))
		ap_print(out, "\"%s\" : \"%s\", \"aggregate-number\" : %" PRIu32 ", ",
			 key[st->split], place->part, place->ncpus);
}

/* perf's heads of -I, whose columns are not quite above the numbers. */
void ap_stat_print_table_head(const struct ap_stat *st, FILE *out)
{
	static const char *const place[] = {
		[AP_STAT_ALL] = "",
		[AP_STAT_CPUS] = " CPU       ",
		[AP_STAT_THREADS] = "             comm-pid     ",
		[AP_STAT_CORES] = " core            cpus",
		[AP_STAT_DIES] = " die          cpus",
		[AP_STAT_SOCKETS] = " socket cpus",
		[AP_STAT_NODES] = " node   cpus",
	};

	ap_print(out, "#           time%s             counts unit events\n", place[st->split]);
}
