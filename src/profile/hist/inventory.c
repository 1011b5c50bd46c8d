/* SPDX-License-Identifier: MIT */
#include "profile/hist/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "print/print.h"

/* As perf calls the records, the kernel's and the tools'. */
static const char *const kernel_names[] = {
	[0] = "TOTAL",
	[AP_PERF_RECORD_MMAP] = "MMAP",
	[AP_PERF_RECORD_LOST] = "LOST",
	[AP_PERF_RECORD_COMM] = "COMM",
	[AP_PERF_RECORD_EXIT] = "EXIT",
	[AP_PERF_RECORD_THROTTLE] = "THROTTLE",
	[AP_PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[AP_PERF_RECORD_FORK] = "FORK",
	[AP_PERF_RECORD_READ] = "READ",
	[AP_PERF_RECORD_SAMPLE] = "SAMPLE",
	[AP_PERF_RECORD_MMAP2] = "MMAP2",
	[AP_PERF_RECORD_AUX] = "AUX",
	[AP_PERF_RECORD_ITRACE_START] = "ITRACE_START",
	[AP_PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[AP_PERF_RECORD_SWITCH] = "SWITCH",
	[AP_PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[AP_PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[AP_PERF_RECORD_KSYMBOL] = "KSYMBOL",
	[AP_PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
	[AP_PERF_RECORD_CGROUP] = "CGROUP",
	[AP_PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
	[AP_PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
};

static const char *const tool_names[] = {
	"ATTR",	     "EVENT_TYPE",    "TRACING_DATA", "BUILD_ID",	"FINISHED_ROUND",
	"ID_INDEX",  "AUXTRACE_INFO", "AUXTRACE",     "AUXTRACE_ERROR", "THREAD_MAP",
	"CPU_MAP",   "STAT_CONFIG",   "STAT",	      "STAT_ROUND",	"EVENT_UPDATE",
	"TIME_CONV", "FEATURE",	      "COMPRESSED",   "FINISHED_INIT",
};

const char *ap_record_name(u32 type)
{
	if (type < AP_ARRAY_SIZE(kernel_names))
		return kernel_names[type];
	if (type >= AP_RECORD_HEADER_ATTR &&
	    type - AP_RECORD_HEADER_ATTR < AP_ARRAY_SIZE(tool_names))
		return tool_names[type - AP_RECORD_HEADER_ATTR];
	return NULL;
}

static void print_stats(const struct ap_profile_session *s, const struct ap_data *d,
			const u64 *samples, FILE *out)
{
	u64 total = 0;
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(s->nr); i++)
		total += s->nr[i];
	ap_print(out, "\nAggregated stats:\n%16s events: %10llu\n", "TOTAL",
		 (unsigned long long)total);
	for (i = 1; i < AP_ARRAY_SIZE(s->nr); i++) {
		if (s->nr[i] && ap_record_name(i))
			ap_print(out, "%16s events: %10llu  (%4.1f%%)\n", ap_record_name(i),
				 (unsigned long long)s->nr[i],
				 100.0 * (double)s->nr[i] / (double)total);
	}
	for (i = 0; i < ap_data_nevents(d); i++) {
		if (samples[i])
			ap_print(out, "%s stats:\n%16s events: %10llu\n", ap_data_event(d, i)->name,
				 "SAMPLE", (unsigned long long)samples[i]);
	}
}

static void print_maps(const struct ap_profile_thread *t, int indent, FILE *out)
{
	u32 i;

	for (i = 0; i < t->maps->n; i++) {
		const struct ap_profile_map *m = &t->maps->v[i];

		ap_print(out, "%*s  %llx-%llx %c%c%c%c %08llx %llu %s\n", indent, "",
			 (unsigned long long)m->start, (unsigned long long)m->end,
			 m->prot & 1 ? 'r' : '-', m->prot & 2 ? 'w' : '-', m->prot & 4 ? 'x' : '-',
			 m->flags & 1 ? 's' : 'p', (unsigned long long)m->pgoff,
			 (unsigned long long)m->ino, m->dso->path);
	}
}

/* Who made it; AP_NOBODY: no record tells. */
static u32 parent_of(const struct ap_profile_thread *t)
{
	return t->ppid;
}

struct task_list {
	struct ap_profile_thread **v;
	bool *done; /* each is shown once, also where a file claims circles */
	u32 n;
	FILE *out;
	bool maps;
};

static bool has(const struct task_list *l, u32 tid)
{
	u32 i;

	for (i = 0; i < l->n; i++) {
		if (l->v[i]->tid == tid)
			return true;
	}
	return false;
}

static void print_task(const struct task_list *l, u32 at, u32 depth)
{
	struct ap_profile_thread *t = l->v[at];
	int indent;
	u32 i;

	l->done[at] = true;
	indent = ap_print(l->out, "  %8d %8d %8d |%*s", (int)t->pid, (int)t->tid,
			  depth ? (int)parent_of(t) : -1, (int)depth, ""); /* nobody is -1 */
	ap_print(l->out, "%s\n", t->comm);
	if (l->maps)
		print_maps(t, indent, l->out);
	for (i = 0; i < l->n && depth < 1000; i++) {
		if (!l->done[i] && parent_of(l->v[i]) == t->tid)
			print_task(l, i, depth + 1);
	}
}

/* As perf goes through its table of threads, which has 256 lists. */
static int by_list(const void *pa, const void *pb)
{
	u32 a = (*(struct ap_profile_thread *const *)pa)->tid,
	    b = (*(struct ap_profile_thread *const *)pb)->tid;

	if ((a & 255) != (b & 255))
		return (a & 255) < (b & 255) ? -1 : 1;
	return a < b ? -1 : a > b;
}

static u32 index_of(const struct task_list *l, u32 tid)
{
	u32 i = 0;

	while (i < l->n && l->v[i]->tid != tid)
		i++;
	return i;
}

/* Each comes with those above it, as far as they have not come yet. */
static void put_in_order(struct task_list *l)
{
	struct ap_profile_thread **to = ap_profile_realloc(NULL, l->n, sizeof(*to));
	bool *has_come = ap_profile_calloc(l->n, sizeof(*has_come));
	u32 i, k, n = 0;

	qsort(l->v, l->n, sizeof(*l->v), by_list);
	for (i = 0; i < l->n; i++) {
		for (k = i; k < l->n && !has_come[k]; k = index_of(l, parent_of(l->v[k]))) {
			has_come[k] = true;
			to[n++] = l->v[k];
		}
	}
	free(has_come);
	free(l->v);
	l->v = to;
}

static void print_tasks(struct ap_profile_session *s, bool maps, FILE *out)
{
	struct task_list l = { NULL, NULL, 0, out, maps };
	u32 i;

	ap_session_thread(s, 0, 0);
	l.v = ap_profile_realloc(NULL, s->threads.n, sizeof(struct ap_profile_thread *));
	for (i = 0; i < s->threads.room; i++) {
		if (s->threads.slot[i].item)
			l.v[l.n++] = ap_table_ptr(&s->threads.slot[i]);
	}
	l.done = ap_profile_calloc(l.n, sizeof(*l.done));
	put_in_order(&l);
	ap_print(out, "# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	for (i = 0; i < l.n; i++) {
		if (parent_of(l.v[i]) == l.v[i]->tid || !has(&l, parent_of(l.v[i])))
			print_task(&l, i, 0);
	}
	free(l.v);
	free(l.done);
}

void ap_inventory_print(struct ap_profile_session *s, struct ap_data *d, u32 what, FILE *out)
{
	struct ap_data_rec rec;
	u64 *samples = NULL;
	u32 n = 0;

	while (ap_data_next(d, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE) {
			ap_session_record(s, &rec);
			continue;
		}
		s->nr[AP_PERF_RECORD_SAMPLE]++;
		if (!rec.event)
			continue;
		for (; n <= rec.event->index; samples[n++] = 0)
			samples = ap_profile_realloc(samples, n + 1, sizeof(*samples));
		samples[rec.event->index]++;
	}
	s->nr[AP_RECORD_COMPRESSED] += ap_data_parcels(d);
	for (; n < ap_data_nevents(d); samples[n++] = 0)
		samples = ap_profile_realloc(samples, n + 1, sizeof(*samples));
	if (what & (AP_INVENTORY_TASKS | AP_INVENTORY_MAPS))
		print_tasks(s, what & AP_INVENTORY_MAPS, out);
	else
		print_stats(s, d, samples, out);
	free(samples);
}
