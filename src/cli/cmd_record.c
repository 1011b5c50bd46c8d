/* SPDX-License-Identifier: MIT */
/*
 * `anyperf record`: options, and what happens when while the command runs.  cli/record.h says which
 * part is where.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cgroups.h"
#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/record.h"
#include "cli/record_opts.h"
#include "cli/record_profile.h"
#include "print/print.h"

#define DEFAULT_EVENT "instructions:u"
#define NSEC	      1000000000ULL

#define OPT_ARGS struct record_opts

/* clang-format off */
static const struct ap_opt record_table[] = {
	GROUP("Events"),
	CALL('e', "event", record_opt_event, "event", "events to sample, separated by commas; see 'anyperf list'"),
	CALL('c', "count", record_opt_count, "n", "one sample each n events"),
	CALL('F', "freq", record_opt_freq, "freq", "samples per second, or max (default 4000)"),
	FLAG(0, "strict-freq", strict_freq, "fail where -F asks for more than is allowed"),
	CALL(0, "filter", record_opt_trace_filter, "expression", "of the tracepoints of the -e before it only what matches"),
	FLAG(0, "group", grouped, "all events are one group"),
	FLAG(0, "all-user", user_only, "user mode only"),
	FLAG(0, "all-kernel", kernel_only, "kernel mode only"),
	GROUP("What is sampled"),
	CALL('p', "pid", record_opt_pid, "pid", "these running processes, separated by commas"),
	CALL('t', "tid", record_opt_tid, "tid", "these running threads, separated by commas"),
	FLAG('a', "all-cpus", system_wide, "all tasks of the session, and the CPU in each sample"),
	STR('C', "cpu", cpus, "list", "only on these CPUs (0-2,5)"),
	STR('G', "cgroup", cgroups, "names", "with -a: the cgroup of each event, or one for all"),
	FLAG('i', "no-inherit", no_inherit, "the first process only, not its children"),
	FLAG(0, "per-thread", no_inherit, "as --no-inherit: a ring per thread"),
	GROUP("What is in a sample"),
	CALL('g', "graph", record_opt_graph, NULL, "sample callchains, by frame pointers"),
	CALL(0, "call-graph", record_opt_chain, "mode", "callchains by fp, dwarf[,size] or lbr"),
	FLAG(0, "user-callchains", user_chains, "callchains of user mode only"),
	FLAG(0, "kernel-callchains", kernel_chains, "callchains of the kernel only"),
	FLAG('d', "data", data, "sample data addresses"),
	FLAG(0, "phys-data", with_phys, "sample physical data addresses"),
	FLAG(0, "data-page-size", with_data_page, "sample the page size of data"),
	FLAG(0, "code-page-size", with_code_page, "sample the page size of code"),
	FLAG('W', "weight", with_weight, "sample weights"),
	FLAG(0, "transaction", with_transaction, "sample transaction flags"),
	CALL('b', "branch-any", record_opt_any_branch, NULL, "sample the branches before each sample"),
	CALL('j', "branch-filter", record_opt_filter, "list", "branches of these kinds: any,any_call,any_ret,cond,ind_jmp,u ..."),
	MAYBE('I', "intr-regs", record_opt_intr_regs, "list", "sample these registers where the event happened (default all)"),
	MAYBE(0, "user-regs", record_opt_user_regs, "list", "sample these registers of user mode (default all)"),
	FLAG('P', "period", with_period, "write the period of each sample"),
	FLAG(0, "sample-cpu", with_cpu, "sample the CPU"),
	FLAG(0, "sample-identifier", with_identifier, "sample the identifier of the event"),
	FLAG('R', "raw-samples", raw, "sample raw records of tracepoints"),
	FLAG('T', "timestamp", timestamps, "(always: each sample has its time)"),
	CALL('k', "clockid", record_opt_clock, "clock", "time of this clock: monotonic, monotonic_raw, realtime ..."),
	FLAG('s', "stat", per_thread_counts, "write the count of each thread when it ends"),
	FLAG('n', "no-samples", no_samples, "no samples, only what else is recorded"),
	GROUP("What else is recorded"),
	FLAG(0, "switch-events", with_switches, "records of context switches"),
	FLAG(0, "namespaces", with_namespaces, "records of namespaces"),
	FLAG(0, "all-cgroups", with_cgroups, "records of cgroups, and the cgroup in each sample"),
	CALL(0, "synth", record_opt_synth, "what", "of what runs already record no, all, or of task,mmap,cgroup"),
	FLAG('B', "no-buildid", no_build_ids, "write no build ids"),
	FLAG(0, "buildid-mmap", mmap_build_ids, "build ids in records of mappings"),
	FLAG(0, "buildid-all", ignored, "(always: build ids of all files whose code was mapped)"),
	GROUP("The run"),
	CALL('D', "delay", record_opt_delay, "ms", "begin so many milliseconds after the start; -1: disabled"),
	STR(0, "control", control, "spec", "take commands: fd:<fd>[,<fd>] or fifo:<path>[,<path>]"),
	CALL(0, "env", ap_engine_opt_env, "name=value", "set this in the command's environment, not in ours"),
	CALL(0, "timeout", ap_engine_opt_timeout, "ms", "end the command after so many milliseconds (>= 10)"),
	FLAG(0, "wait-all", run.wait_all, "wait for every descendant, not only for the command"),
	FLAG(0, "dry-run", dry_run, "see whether the options are right, and do nothing"),
	GROUP("Output"),
	STR('o', "output", output, "file", "write this file (default perf.data); -: a stream to standard output"),
	MAYBE('z', "compression-level", record_opt_level, "n", "compress records with zstd (1 fast, 22 small)"),
	CALL(0, "max-size", record_opt_max_size, "size", "end when the file has this size"),
	MAYBE(0, "switch-output", record_opt_switch, "when", "begin a new file at SIGUSR2, or at a size (10M) or time (5s)"),
	{ 0, "switch-max-files", AP_OPT_UINT, offsetof(struct record_opts, switch_files), NULL, "n", "with --switch-output: keep the last n files", false },
	FLAG(0, "timestamp-filename", dated, "put the time into the file's name"),
	FLAG(0, "overwrite", overwrite, "keep the newest samples only: what a ring has at the end, or at --switch-output"),
	CALL('m', "mmap-pages", record_opt_pages, "n", "pages of a ring, or a size with K, M or G (default 512K)"),
	FLAG(0, "no-buffering", no_buffering, "write each record when it comes"),
	CALL('r', "realtime", record_opt_priority, "prio", "read rings with this real-time priority (SCHED_FIFO)"),
	FLAG('q', "quiet", quiet, "print nothing at the end but what was lost"),
	FLAG('v', "verbose", verbose, "say what was not recorded, and why"),
	GROUP("Engine and models"),
	CALL(0, "cache-limit", ap_engine_opt_cache_limit, "size", "translated code per process (default 64M)"),
	CODE_CACHE,
	CPU_ID,
	DETERMINISTIC,
	FIRST(0, "machine", ap_engine_opt_machine, "name", "model skylake, icelake, sapphirerapids, zen3, zen4, cachegrind, host or a file's"),
	CALL(0, "model-sample", ap_engine_opt_model_sample, "n", "have the models see one part in n of the run, and estimate the rest (default 24; with --deterministic, -d, -b and the like 1)"),
	FLAG(0, "model-thread", run.model_thread, "have idle CPUs read the models' logs, with a helper for each thread"),
	AP_TEST_OPTIONS
	GROUP("perf's, done in any case or of no effect"),
	FLAG('N', "no-buildid-cache", no_cache, "(always: no cache of build ids is written)"),
	MAYBE(0, "aio", record_opt_ignored, "n", "(the file is written while the command runs, in any case)"),
	CALL(0, "affinity", record_opt_affinity, "how", "(one thread reads all rings)"),
	FLAG(0, "exclude-perf", ignored, "(always: anyperf itself is not recorded)"),
	CALL(0, "mmap-flush", record_opt_any_number, "n", "(rings are read when half full, and ten times a second)"),
	FLAG(0, "no-bpf-event", ignored, "(always: the kernel's BPF programs are not recorded)"),
	CALL(0, "num-thread-synthesize", record_opt_any_number, "n", "(one thread looks at what runs already)"),
	CALL(0, "proc-map-timeout", record_opt_any_number, "ms", "(mappings of what runs already are read to their end)"),
	FLAG(0, "tail-synthesize", ignored, "(what runs already is told of at the beginning)"),
	FLAG(0, "timestamp-boundary", ignored, "(always: the times of the first sample and the last)"),
	{ 0, "tick", AP_OPT_UINT, offsetof(struct record_opts, tick_ms), NULL, "ms", "for anyperf top: write so often, and say nothing of a file", true },
	{ 'u', "uid", AP_OPT_CALL, 0, record_opt_uid, "user", "refused: says why", true },
	{ 'S', "snapshot", AP_OPT_MAYBE, 0, record_opt_snapshot, "size", "refused: says why", true },
	{ 0 }
};

const struct ap_opt_spec ap_spec_record = {
	"anyperf record", "[options] [--] [command [args]]", record_table,
	{ { "-g -- ./program", "sample with callchains into perf.data; 'anyperf report' shows it" },
	  { "-e cache-misses -p 1234 --timeout 5000", "sample a running process for five seconds" } },
};
/* clang-format on */

/* --- the command runs */

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * NSEC + (u64)ts.tv_nsec;
}

/* Whether rings fill fast or slowly, what is not in the file yet is never older: what kill -9 costs. */
#define TICK_MS 100

static void set_timer(struct record *r)
{
	u64 tick_ms = r->opts->tick_ms ? r->opts->tick_ms : TICK_MS;
	u64 at = now_ns() + tick_ms * (NSEC / 1000);

	if (r->enable_at && r->enable_at < at)
		at = r->enable_at;
	if (r->switch_at && r->switch_at < at)
		at = r->switch_at;
	ap_client_timer(r->client, at);
}

static void find_tasks(struct record *r)
{
	const struct ap_client_task *task;
	u32 n;

	if (r->opts->system_wide) {
		r->task = ap_xgrow(NULL, 1, sizeof(*r->task));
		r->task[0] = -1;
		r->ntasks = 1;
		return;
	}
	task = ap_client_tasks(r->client, &n);
	r->task = ap_xgrow(NULL, n, sizeof(*r->task));
	for (u32 i = 0; i < n; i++)
		r->task[i] = task[i].tid;
	r->ntasks = n;
}

static int watch(struct record *r, int fd)
{
	int ret = fd >= 0 ? ap_client_watch(r->client, fd) : 0;

	if (!ret)
		return 0;
	ap_print(stderr, "anyperf record: cannot wait for commands: %s\n", strerror(-ret));
	return AP_EXIT_FAILURE;
}

static int on_start(void *arg, struct ap_event_client *c)
{
	struct record *r = arg;
	int ret;

	r->client = c;
	find_tasks(r);
	ret = record_events_open(r);
	if (!ret)
		ret = watch(r, r->control.fd);
	if (!ret)
		ret = watch(r, r->signal_fd);
	return ret ? ret : record_file_begin(r);
}

static void enable(struct record *r, const char *name, bool on)
{
	int ret = record_events_enable(r, name, on);

	if (ret)
		ap_print(stderr, "anyperf record: cannot %s events: %s\n",
			 on ? "enable" : "disable", strerror(-ret));
}

/* After the command was made, which shall not have it. */
static void raise_priority(const struct record_opts *o)
{
	const struct sched_param param = { .sched_priority = (int)o->priority };

	if (o->priority && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		ap_print(stderr, "anyperf record: -r: no real-time priority: %s\n",
			 strerror(errno));
}

static void on_begin(void *arg, u64 now)
{
	struct record *r = arg;
	const struct record_opts *o = r->opts;

	raise_priority(o);
	if (record_events_track(r))
		fputs("anyperf record: cannot enable the event of side-band records\n", stderr);
	if (!o->delay_ms && !(r->event[0].attr.flags & AP_PERF_ENABLE_ON_EXEC))
		enable(r, NULL, true);
	if (o->delay_ms > 0)
		r->enable_at = now + (u64)o->delay_ms * 1000000;
	if (o->switch_ns)
		r->switch_at = now + o->switch_ns;
	set_timer(r);
}

/* What follows each reading of the rings. */
static void after_reading(struct record *r)
{
	const struct record_opts *o = r->opts;

	if (r->error && !r->was_told) {
		/* the command does not suffer for our disk: it goes on, and we say so at the end */
		r->was_told = true;
		ap_print(stderr, "anyperf record: cannot write %s: %s; recording ends\n",
			 r->path ? r->path : "the stream", strerror(-r->error));
		enable(r, NULL, false);
	}
	if (r->error || !r->writer)
		return;
	if (o->switch_size && ap_writer_size(r->writer) >= o->switch_size)
		record_file_switch(r);
	if (o->max_size && r->written + ap_writer_size(r->writer) >= o->max_size && !r->is_full) {
		r->is_full = true;
		fprintf(stderr, "[ anyperf record: file size limit reached, stopping ]\n");
		ap_client_stop(r->client);
	}
}

static void read_rings(struct record *r)
{
	record_rings_read(r);
	after_reading(r);
}

static void on_timer(void *arg, u64 now)
{
	struct record *r = arg;

	if (r->enable_at && now >= r->enable_at) {
		r->enable_at = 0;
		enable(r, NULL, true);
	}
	read_rings(r);
	if (r->switch_at && now >= r->switch_at) {
		r->switch_at += r->opts->switch_ns;
		record_file_switch(r);
	}
	set_timer(r);
}

static bool has_event(const struct record *r, const char *name)
{
	for (size_t i = 0; i < r->nevents; i++)
		if (!strcmp(r->event[i].name, name))
			return true;
	return false;
}

static void on_command(struct record *r, enum ap_control_command command, const char *name)
{
	bool enables = command == AP_CONTROL_ENABLE || command == AP_CONTROL_DISABLE;

	if (enables && *name && !has_event(r, name))
		ap_print(stderr, AP_CONTROL_NO_EVENT, name);
	else if (enables)
		enable(r, *name ? name : NULL, command == AP_CONTROL_ENABLE);
	else if (command == AP_CONTROL_EVLIST)
		record_events_list(r, stderr);
	else if (command == AP_CONTROL_STOP)
		ap_client_stop(r->client);
	ap_control_ack(&r->control);
}

static void on_ready(void *arg, int fd)
{
	struct record *r = arg;
	enum ap_control_command command;
	const char *name;
	char signals[64];

	if (fd == r->signal_fd) {
		if (read(fd, signals, sizeof(signals)) > 0)
			record_file_switch(r);
		return;
	}
	while ((command = ap_control_next(&r->control, &name)) != AP_CONTROL_NONE) {
		if (command == AP_CONTROL_CLOSED) {
			ap_client_unwatch(r->client, fd);
			return;
		}
		on_command(r, command, name);
	}
}

static void on_news(void *arg, struct ap_client_event *e)
{
	(void)e;
	read_rings(arg);
}

static void on_end(void *arg, u64 now)
{
	struct record *r = arg;

	(void)now;
	/* what happens from here on is of no task that was asked for */
	if (!r->error)
		record_events_enable(r, NULL, false);
	record_rings_dump(r);
	record_events_lost(r);
	after_reading(r);
	if (r->opts->run.profiles)
		record_profile_put(r);
	if (record_file_end(r) && !r->error)
		r->error = -EIO;
	record_events_close(r);
	r->client = NULL;
}

static void say_end(const struct record *r, const struct ap_run_result *res)
{
	const struct record_opts *o = r->opts;

	for (unsigned int i = 0; i < res->nnotes && !o->quiet; i++)
		ap_print(stderr, "anyperf: %s\n", res->notes[i].text);
	if (r->error)
		return;
	if (o->run.profiles) {
		record_profile_say(r);
		return;
	}
	/* --quiet does not ask for a file that lacks something */
	if (r->lost)
		fprintf(stderr,
			"[ anyperf record: %llu samples were lost: a larger ring (-m) or fewer "
			"samples (-F, -c) would help ]\n",
			(unsigned long long)r->lost);
	if (o->tick_ms || o->quiet)
		return;
	if (res->model_sample)
		fprintf(stderr,
			"[ anyperf record: estimated: the models saw one part in %u of the run; "
			"--model-sample 1 has them see all of it ]\n",
			res->model_sample);
	ap_print(stderr, "[ anyperf record: Captured and wrote %.3f MB %s (%llu samples) ]\n",
		 (double)r->written / 1048576, r->path ? r->path : "-",
		 (unsigned long long)r->samples);
}

static void fini(struct record *r)
{
	record_filters_end(r);
	for (size_t i = 0; i < r->nevents; i++)
		free(r->event[i].name);
	free(r->event);
	free(r->each.cpu);
	free(r->any.cpu);
	free(r->task);
	ap_control_close(&r->control);
	record_file_fini(r);
}

int record_run(struct record_opts *o)
{
	struct record r = { .opts = o, .control = { .fd = -1, .ack = -1 } };
	struct ap_run_client client = { .arg = &r,
					.start = on_start,
					.begin = on_begin,
					.timer = on_timer,
					.ready = on_ready,
					.news = on_news,
					.end = on_end };
	struct ap_run_result res = { 0 };
	int ret = record_prepare(&r);

	if (ret)
		goto out;
	o->run.client = &client;
	o->run.is_beside = o->run.ntargets && o->run.argv;
	ret = ap_run(&o->run, &res);
	if (!ret) {
		say_end(&r, &res);
		ret = o->run.argv ? ap_engine_exit_status(res.wait_status) : 0;
		ret = r.error ? AP_EXIT_FAILURE : ret;
		ap_run_result_fini(&res);
	}
out:
	fini(&r);
	return ret;
}

static int parse(struct record_opts *o, int argc, char **argv, int *status)
{
	char why[AP_OPT_WHY];
	int rest;

	if (!ap_opts_begin(&ap_spec_record, o, argc, argv, &rest, status))
		return -1;
	*status = AP_EXIT_USAGE;
	if (rest >= argc && !o->run.ntargets) {
		*status = ap_opts_wrong(&ap_spec_record, "no command to record", NULL);
		return -1;
	}
	if (o->user_only && o->kernel_only) {
		fputs("anyperf record: --all-user and --all-kernel exclude each other\n", stderr);
		return -1;
	}
	if (!o->events.n && ap_evlist_parse(&o->events, DEFAULT_EVENT, why, sizeof(why)))
		ap_die("%s", why);
	if (o->cgroups && !o->system_wide && !o->cpus)
		snprintf(why, sizeof(why), "-G needs -a or -C");
	else if (!o->cgroups || !ap_cgroups_assign(&o->events, o->cgroups, why, sizeof(why)))
		*why = 0;
	if (*why) {
		*status = ap_opts_wrong(&ap_spec_record, why, NULL);
		return -1;
	}
	o->run.argv = rest < argc ? argv + rest : NULL;
	*status = 0;
	return o->dry_run ? -1 : 0;
}

int ap_cmd_record(int argc, char **argv)
{
	struct record_opts o = { .run.err = stderr };
	char name[] = "anyperf";
	int status;

	o.argv = ap_xgrow(NULL, (size_t)argc + 2, sizeof(*o.argv));
	o.argv[0] = name;
	for (int i = 0; i <= argc; i++)
		o.argv[i + 1] = argv[i];
	if (!parse(&o, argc, argv, &status))
		status = record_run(&o);
	ap_evlist_fini(&o.events);
	free(o.argv);
	ap_targets_fini(&o.targets);
	return status;
}
