/* SPDX-License-Identifier: MIT */
/*
 * `anyperf stat report`: the report of `anyperf stat`, of counts that `stat record` has written.
 * Rows may be put together in another way than when they were recorded, as far as values are of
 * single CPUs or threads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/outfile.h"
#include "cli/profile.h"
#include "cli/stat.h"
#include "cli/stat_count.h"
#include "cli/stat_file.h"
#include "print/print.h"
#include "profile/data/topology.h"

#define COMMAND "anyperf stat report"

struct stat_report_args {
	const char *input, *output, *separator;
	struct ap_stat_format format;
	bool no_aggr, per_thread, per_core, per_die, per_socket, per_node;
	bool json, append, no_big_num, big_num, force;
};

static int opt_separator(void *args, const char *value, char *why)
{
	struct stat_report_args *a = args;

	(void)why;
	a->separator = strcmp(value, "\\t") ? value : "\t";
	return 0;
}

#define OPT_ARGS struct stat_report_args

/* clang-format off */
static const struct ap_opt report_opts[] = {
	GROUP("Input"),
	STR('i', "input", input, "file", "what to read (perf.data; - is standard input)"),
	FORCE,
	GROUP("Rows"),
	FLAG('A', "no-aggr", no_aggr, "a row for each CPU, of counts that were recorded with -a or -C"),
	FLAG(0, "per-core", per_core, "a row for each core, as -A"),
	FLAG(0, "per-socket", per_socket, "a row for each socket, as -A"),
	FLAG(0, "per-die", per_die, "a row for each die, as -A"),
	FLAG(0, "per-node", per_node, "a row for each NUMA node, as -A"),
	FLAG(0, "per-thread", per_thread, "a row for each thread, of counts that were recorded with -p, -t or --per-thread"),
	GROUP("Output"),
	STR('o', "output", output, "file", "write the report to this file"),
	FLAG(0, "append", append, "with -o: add to the file"),
	CALL('x', "field-separator", opt_separator, "sep", "print fields with this separator (CSV)"),
	FLAG('j', "json-output", json, "print lines of JSON"),
	FLAG('B', "big-num", big_num, "group digits as the locale does (the default)"),
	FLAG(0, "no-big-num", no_big_num, "do not group digits"),
	FLAG('v', "verbose", format.verbose, "say why events are not supported"),
	{ 0 }
};

const struct ap_opt_spec ap_spec_stat_report = {
	COMMAND, "[options]", report_opts,
	{ { "", "show what 'anyperf stat record' wrote" },
	  { "-x, -i other.data", "print another file as CSV" } },
};
/* clang-format on */

/* --- rows */

struct report {
	const struct stat_report_args *args;
	const struct ap_stat_file *file;
	struct ap_topology topology;
	struct ap_stat st;
	s64 *key; /* CPUs or threads that values are of, each once, in order */
	u32 nkeys;
	u32 *place_of; /* each key's */
	struct ap_stat_reading *now, *before;
};

static enum ap_stat_split split_of(const struct stat_report_args *a, const struct ap_stat_file *f)
{
	static const u8 recorded[] = {
		[AP_AGGR_NONE] = AP_STAT_CPUS,	    [AP_AGGR_SOCKET] = AP_STAT_SOCKETS,
		[AP_AGGR_DIE] = AP_STAT_DIES,	    [AP_AGGR_CORE] = AP_STAT_CORES,
		[AP_AGGR_THREAD] = AP_STAT_THREADS, [AP_AGGR_NODE] = AP_STAT_NODES,
		[AP_AGGR_GLOBAL] = AP_STAT_ALL,	    [AP_AGGR_UNSET] = AP_STAT_ALL,
		[AP_AGGR_CLUSTER] = AP_STAT_ALL,    [AP_AGGR_CACHE] = AP_STAT_ALL,
	};

	if (a->no_aggr)
		return AP_STAT_CPUS;
	if (a->per_thread)
		return AP_STAT_THREADS;
	if (a->per_core)
		return AP_STAT_CORES;
	if (a->per_die)
		return AP_STAT_DIES;
	if (a->per_socket)
		return AP_STAT_SOCKETS;
	if (a->per_node)
		return AP_STAT_NODES;
	return f->config.aggr < AP_ARRAY_SIZE(recorded)
		       ? (enum ap_stat_split)recorded[f->config.aggr]
		       : AP_STAT_ALL;
}

static s64 key_of(const struct ap_stat_value *v, enum ap_stat_split split)
{
	if (split == AP_STAT_ALL)
		return 0;
	return split == AP_STAT_THREADS ? (s64)v->thread : v->cpu;
}

static int compare(const void *a, const void *b)
{
	const s64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void find_keys(struct report *r, enum ap_stat_split split)
{
	const struct ap_stat_file *f = r->file;

	r->key = ap_xgrow(NULL, f->nvalues + 1, sizeof(*r->key));
	r->key[0] = 0;
	for (size_t i = 0; i < f->nvalues; i++)
		r->key[i] = key_of(&f->value[i].v, split);
	qsort(r->key, f->nvalues, sizeof(*r->key), compare);
	r->nkeys = 1;
	for (size_t i = 1; i < f->nvalues; i++)
		if (r->key[i] != r->key[r->nkeys - 1])
			r->key[r->nkeys++] = r->key[i];
}

static s32 of_recorded_machine(const void *arg, s32 cpu, enum ap_stat_split kind)
{
	struct ap_topology_cpu at = ap_topology_of(arg, (u32)cpu);

	switch (kind) {
	case AP_STAT_NODES:
		return at.node;
	case AP_STAT_SOCKETS:
		return at.socket;
	case AP_STAT_DIES:
		return at.die;
	default:
		return at.core;
	}
}

static void name_thread(const struct ap_stat_file *f, s64 nth, struct ap_stat_place *place)
{
	const struct ap_stat_file_thread *t = nth < f->nthreads ? &f->thread[nth] : NULL;

	if (t)
		snprintf(place->thread, sizeof(place->thread), "%s-%" PRId32, t->comm, t->tid);
	else
		snprintf(place->thread, sizeof(place->thread), "-%" PRId64, nth);
}

/* Places of the keys. */
static u32 find_places(struct report *r, enum ap_stat_split split, struct ap_stat_place *places)
{
	const struct ap_stat_machine machine = { .part = of_recorded_machine, .arg = &r->topology };
	s32 *cpus;
	u32 n;

	if (!ap_stat_is_of_parts(split)) {
		for (u32 i = 0; i < r->nkeys; i++) {
			places[i] = (struct ap_stat_place){ .cpu = -1 };
			if (split == AP_STAT_CPUS)
				places[i].cpu = (s32)r->key[i];
			else if (split == AP_STAT_THREADS)
				name_thread(r->file, r->key[i], &places[i]);
			r->place_of[i] = i;
		}
		return r->nkeys;
	}
	cpus = ap_xgrow(NULL, r->nkeys, sizeof(*cpus));
	for (u32 i = 0; i < r->nkeys; i++)
		cpus[i] = (s32)r->key[i];
	n = ap_stat_parts(&machine, split, cpus, r->nkeys, places, r->place_of);
	free(cpus);
	return n;
}

/* 0, or the exit status after a line. */
static int set_places(struct report *r)
{
	enum ap_stat_split split = split_of(r->args, r->file);
	struct ap_stat_place *places;
	u32 n;

	find_keys(r, split);
	if (split != AP_STAT_ALL && split != AP_STAT_THREADS && r->key[0] < 0) {
		fprintf(stderr, COMMAND
			": the counts are of no CPU in particular: record them with -a or -C\n");
		return AP_EXIT_FAILURE;
	}
	places = ap_xgrow(NULL, r->nkeys, sizeof(*places));
	r->place_of = ap_xgrow(NULL, r->nkeys, sizeof(*r->place_of));
	n = find_places(r, split, places);
	ap_stat_set_places(&r->st, &r->file->events, split, places, n);
	free(places);
	return 0;
}

static void set_sources(struct report *r)
{
	const struct ap_stat_file *f = r->file;

	for (size_t i = 0; i < r->st.nrows; i++) {
		size_t event = i / r->st.nplaces;

		r->now[i].source = AP_SRC_KERNEL;
		if (event >= f->remarks.nevents)
			continue;
		r->now[i].source = f->remarks.event[event].source;
		r->now[i].why = f->remarks.event[event].why;
	}
}

/* --- rounds */

static void add_values(struct report *r, size_t from, size_t end)
{
	for (size_t i = 0; i < r->st.nrows; i++)
		r->now[i].count = r->now[i].enabled = r->now[i].running = 0;
	for (size_t i = from; i < end; i++) {
		const struct ap_stat_file_value *value = &r->file->value[i];
		s64 key = key_of(&value->v, r->st.split);
		const s64 *at = bsearch(&key, r->key, r->nkeys, sizeof(key), compare);
		struct ap_stat_reading *to =
			&r->now[value->event * r->st.nplaces + r->place_of[at - r->key]];

		to->is_open = true;
		to->count += value->v.count;
		to->enabled += value->v.enabled;
		to->running += value->v.running;
	}
}

/* Of a round of -I: what was counted since the one before it. */
static void print_interval(struct report *r, size_t nth, const struct ap_stat_file_round *round,
			   u64 last, FILE *out)
{
	struct ap_stat_reading *part = ap_xgrow(NULL, r->st.nrows + 1, sizeof(*part));
	struct ap_stat_times times = { .wall_ns = round->r.time - last };

	for (size_t i = 0; i < r->st.nrows; i++)
		part[i] = ap_stat_interval_part(&r->now[i], &r->before[i], round->r.is_final);
	ap_stat_restart(&r->st);
	ap_stat_add(&r->st, part, &times);
	ap_stat_print_interval(&r->st, &r->args->format, round->r.time, (unsigned int)nth, out);
	free(part);
}

static void print_rounds(struct report *r, FILE *out)
{
	const struct ap_stat_file *f = r->file;
	size_t from = 0;
	u64 last = 0;

	for (size_t i = 0; i < f->nrounds; i++) {
		const struct ap_stat_file_round *round = &f->round[i];

		add_values(r, from, round->end);
		from = round->end;
		if (f->config.interval) {
			print_interval(r, i, round, last, out);
			last = round->r.time;
			continue;
		}
		ap_stat_restart(&r->st);
		ap_stat_add(&r->st, r->now,
			    &(struct ap_stat_times){ .wall_ns = round->r.time,
						     .user_ns = f->remarks.user_ns,
						     .sys_ns = f->remarks.sys_ns,
						     .has_user_sys = f->remarks.has_times });
		ap_stat_print(&r->st, &r->args->format, out);
	}
	if (f->config.interval)
		ap_stat_print_notes(&r->st, &r->args->format, out);
}

/* They are of all that was counted: what rows are split by has none. */
static void set_errors(struct ap_stat *st, const struct ap_stat_file *f)
{
	if (st->split != AP_STAT_ALL || st->of_intervals)
		return;
	for (size_t i = 0; i < st->nrows && i < f->remarks.nevents; i++)
		st->row[i].error = f->remarks.event[i].error;
}

static void set_remarks(struct ap_stat *st, const struct ap_stat_file *f)
{
	st->has_engine = f->remarks.has_engine;
	st->has_times = f->remarks.has_times;
	st->is_unscaled = !f->config.scale || f->remarks.is_unscaled;
	st->of_intervals = f->config.interval != 0;
	if (f->remarks.model_sample)
		ap_stat_set_estimated(st, f->remarks.model_sample);
	set_errors(st, f);
	for (size_t i = 0; i < f->remarks.nnotes; i++)
		ap_stat_add_note(st, f->remarks.note[i]);
}

static int show(struct report *r)
{
	const struct stat_report_args *a = r->args;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		ap_die("out of memory");
	print_rounds(r, out);
	if (fclose(out))
		ap_die("out of memory");
	if (!a->output)
		ret = ap_outfile_print(stderr, text, size, stderr);
	else if (a->append)
		ret = ap_outfile_append(a->output, text, size, stderr);
	else
		ret = ap_outfile_write(a->output, text, size, stderr);
	free(text);
	return ret ? AP_EXIT_FAILURE : 0;
}

static int report(const struct stat_report_args *a, const struct ap_stat_file *f, struct ap_data *d)
{
	struct report r = { .args = a, .file = f };
	int status;

	ap_topology_read(&r.topology, d);
	ap_stat_init(&r.st, &f->events, ap_stat_file_title(f, d));
	status = set_places(&r);
	if (!status) {
		set_remarks(&r.st, f);
		r.now = ap_xgrow(NULL, r.st.nrows + 1, sizeof(*r.now));
		r.before = ap_xgrow(NULL, r.st.nrows + 1, sizeof(*r.before));
		memset(r.now, 0, (r.st.nrows + 1) * sizeof(*r.now));
		memset(r.before, 0, (r.st.nrows + 1) * sizeof(*r.before));
		set_sources(&r);
		status = show(&r);
	}
	free(r.now);
	free(r.before);
	free(r.key);
	free(r.place_of);
	ap_stat_fini(&r.st);
	ap_topology_fini(&r.topology);
	return status;
}

/* --- what was asked for */

static int check(struct stat_report_args *a)
{
	unsigned int n = (unsigned int)a->no_aggr + a->per_thread + a->per_core + a->per_die +
			 a->per_socket + a->per_node;

	if (n > 1)
		return ap_opts_wrong(
			&ap_spec_stat_report,
			"rows are of one kind: -A, --per-thread, --per-core, --per-die, --per-socket or --per-node",
			NULL);
	if (a->json && a->separator)
		return ap_opts_wrong(&ap_spec_stat_report, "-j and -x do not go together", NULL);
	if (a->output && !strcmp(a->output, "-")) /* standard error, as in perf */
		a->output = NULL;
	a->format.style = a->json ? AP_STAT_JSON : a->separator ? AP_STAT_CSV : AP_STAT_TABLE;
	a->format.separator = a->separator;
	if (a->format.style == AP_STAT_TABLE && !a->no_big_num)
		ap_stat_group_digits();
	return 0;
}

int ap_cmd_stat_report(int argc, char **argv)
{
	struct stat_report_args args = { 0 };
	struct ap_stat_file file;
	struct ap_data *d;
	int rest, status, damage;

	if (!ap_opts_begin(&ap_spec_stat_report, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&ap_spec_stat_report, "takes no argument", argv[rest]);
	status = check(&args);
	if (status)
		return status;
	d = ap_profile_open(COMMAND, args.input, args.force);
	if (!d)
		return AP_EXIT_FAILURE;
	ap_stat_file_read(&file, d);
	if (file.nrounds) {
		status = report(&args, &file, d);
	} else {
		ap_print(
			stderr, COMMAND ": %s: %s\n", ap_profile_path(args.input),
			file.has_config
				? "its recorder ended before it had counted anything"
				: "has no counts: 'anyperf stat record' writes them, and 'anyperf report' shows samples");
		status = AP_EXIT_FAILURE;
	}
	ap_stat_file_fini(&file);
	damage = ap_profile_close(COMMAND, args.input, d);
	return status ? status : damage;
}
