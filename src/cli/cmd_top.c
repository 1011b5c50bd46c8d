/* SPDX-License-Identifier: MIT */
/*
 * `anyperf top`: the table of a program that runs, again and again.  See docs/design/tui.md,
 * "Live".
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/show.h"
#include "cli/top.h"
#include "print/print.h"
#include "profile/hist/hist_opts.h"
#include "profile/hist/live.h"
#include "tui/term.h"

#define COMMAND "anyperf top"
#define NSEC	1000000000ULL

struct top_args {
	struct ap_show show;
	const char *sort, *fields, *objdump;
	double delay;
	bool zero, children, no_children, samples, period, no_demangle, verbose, order_set;
	bool has_target, taken;
	const char *taken_word;
	struct ap_sample_filter filter;
	struct ap_hist_opts hist;
	char **record; /* options for the recorder */
	int nrecord;
};

static void pass(struct top_args *a, const char *word)
{
	a->record = ap_xgrow(a->record, (size_t)a->nrecord + 1, sizeof(*a->record));
	a->record[a->nrecord++] = ap_xstrdup(word);
}

/* What the recorder knows how to read is read by it. */
#define PASS(name, option)                                                                         \
	static int name(void *args, const char *value, char *why)                                  \
	{                                                                                          \
		(void)why;                                                                         \
		pass(args, option);                                                                \
		if (value)                                                                         \
			pass(args, value);                                                         \
		return 0;                                                                          \
	}
PASS(pass_all, "-a")
PASS(pass_event, "-e")
PASS(pass_count, "-c")
PASS(pass_freq, "-F")
PASS(pass_graph, "-g")
PASS(pass_call_graph, "--call-graph")
PASS(pass_cpus, "-C")
PASS(pass_pages, "-m")
PASS(pass_no_inherit, "-i")
PASS(pass_user, "--all-user")
PASS(pass_kernel, "--all-kernel")
PASS(pass_priority, "-r")
PASS(pass_cgroups, "--all-cgroups")
PASS(pass_namespaces, "--namespaces")
PASS(pass_group, "--group")
PASS(pass_machine, "--machine")
PASS(pass_cpu_id, "--cpu-id")

static int pass_target(struct top_args *a, const char *option, const char *value)
{
	a->has_target = true;
	pass(a, option);
	if (value)
		pass(a, value);
	return 0;
}

static int opt_pid(void *args, const char *value, char *why)
{
	(void)why;
	return pass_target(args, "-p", value);
}

static int opt_tid(void *args, const char *value, char *why)
{
	(void)why;
	return pass_target(args, "-t", value);
}

static int opt_tui(void *args, const char *value, char *why)
{
	return ap_show_opt_tui(&((struct top_args *)args)->show, value, why);
}

static int number(const char *value, double least, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(value, &end);
	return errno || end == value || *end || !(*out >= least) ? -EINVAL : 0;
}

static int opt_delay(void *args, const char *value, char *why)
{
	struct top_args *a = args;

	if (!number(value, 0.1, &a->delay) && a->delay <= 1e6)
		return 0;
	snprintf(why, AP_OPT_WHY, "needs seconds, 0.1 to 1000000");
	return -EINVAL;
}

static int opt_limit(void *args, const char *value, char *why)
{
	struct top_args *a = args;

	if (!number(value, 0, &a->hist.percent_limit)) {
		a->hist.chain_percent = a->hist.percent_limit;
		return 0;
	}
	snprintf(why, AP_OPT_WHY, "needs a number of percent");
	return -EINVAL;
}

static int opt_widths(void *args, const char *value, char *why)
{
	struct top_args *a = args;

	if (!ap_hist_opts_widths(&a->hist, value))
		return 0;
	snprintf(why, AP_OPT_WHY, "needs widths of columns like 8,20,40");
	return -EINVAL;
}

#define OPT_ARGS  struct top_args
#define AT(field) offsetof(OPT_ARGS, field)
/* clang-format off */
static const struct ap_opt top_opts[] = {
	GROUP("Events"),
	{ 'e', "event", AP_OPT_CALL, 0, pass_event, "event", "events to sample, separated by commas; see 'anyperf list'", false },
	{ 'c', "count", AP_OPT_CALL, 0, pass_count, "n", "one sample each n events", false },
	{ 'F', "freq", AP_OPT_CALL, 0, pass_freq, "freq", "samples per second, or max (default 4000)", false },
	{ 0, "group", AP_OPT_CALL, 0, pass_group, NULL, "all events are one group", false },
	{ 0, "all-user", AP_OPT_CALL, 0, pass_user, NULL, "user mode only", false },
	{ 0, "all-kernel", AP_OPT_CALL, 0, pass_kernel, NULL, "kernel mode only", false },
	GROUP("What is sampled"),
	{ 'p', "pid", AP_OPT_CALL, 0, opt_pid, "pid", "these running processes, separated by commas", false },
	{ 't', "tid", AP_OPT_CALL, 0, opt_tid, "tid", "these running threads, separated by commas", false },
	{ 'a', "all-cpus", AP_OPT_CALL, 0, pass_all, NULL, "all tasks of the session", false },
	{ 'C', "cpu", AP_OPT_CALL, 0, pass_cpus, "list", "only on these CPUs (0-2,5)", false },
	{ 'i', "no-inherit", AP_OPT_CALL, 0, pass_no_inherit, NULL, "the first process only, not its children", false },
	GROUP("What is in a sample"),
	{ 'g', "graph", AP_OPT_CALL, 0, pass_graph, NULL, "sample callchains, by frame pointers", false },
	{ 0, "call-graph", AP_OPT_CALL, 0, pass_call_graph, "mode", "callchains by fp, dwarf[,size] or lbr", false },
	{ 0, "max-stack", AP_OPT_UINT, AT(hist.max_stack), NULL, "n", "only so many frames of each callchain", false },
	{ 0, "all-cgroups", AP_OPT_CALL, 0, pass_cgroups, NULL, "record cgroups (for -s cgroup)", false },
	{ 0, "namespaces", AP_OPT_CALL, 0, pass_namespaces, NULL, "record namespaces", false },
	GROUP("What is shown"),
	{ 0, "comms", AP_OPT_STR, AT(filter.comms), NULL, "names", "only these commands", false },
	{ 0, "dsos", AP_OPT_STR, AT(filter.dsos), NULL, "files", "only code of these files", false },
	{ 0, "symbols", AP_OPT_STR, AT(filter.symbols), NULL, "names", "only these functions", false },
	{ 0, "percent-limit", AP_OPT_CALL, 0, opt_limit, "percent", "leave out entries below", false },
	{ 's', "sort", AP_OPT_STR, AT(sort), NULL, "keys", "tell entries apart by these (default dso,symbol)", false },
	{ 0, "fields", AP_OPT_STR, AT(fields), NULL, "columns", "show these columns", false },
	{ 0, "children", AP_OPT_FLAG, AT(children), NULL, NULL, "also add what a function calls to it (default with callchains)", false },
	{ 0, "no-children", AP_OPT_FLAG, AT(no_children), NULL, NULL, "count where samples were alone", false },
	{ 0, "no-demangle", AP_OPT_FLAG, AT(no_demangle), NULL, NULL, "show names as the linker knows them", false },
	{ 'n', "show-nr-samples", AP_OPT_FLAG, AT(samples), NULL, NULL, "show how many samples", false },
	{ 0, "show-total-period", AP_OPT_FLAG, AT(period), NULL, NULL, "show the sum of periods", false },
	{ 'w', "column-widths", AP_OPT_CALL, 0, opt_widths, "widths", "these widths of columns, from the left (8,20,40)", false },
	{ 'z', "zero", AP_OPT_FLAG, AT(zero), NULL, NULL, "forget at each refresh what was before", false },
	OBJDUMP,
	GROUP("Output"),
	{ 'd', "delay", AP_OPT_CALL, 0, opt_delay, "seconds", "between two refreshes (default 2)", false },
	{ 0, "stdio", AP_OPT_FLAG, AT(show.stdio), NULL, NULL, "print tables, one after the other", false },
	{ 0, "tui", AP_OPT_MAYBE, 0, opt_tui, "yes|no", "show on the screen (default where standard output is a terminal)", false },
	{ 'v', "verbose", AP_OPT_FLAG, AT(verbose), NULL, NULL, "show whole paths", false },
	{ 'm', "mmap-pages", AP_OPT_CALL, 0, pass_pages, "n", "pages of a ring, or a size with K, M or G", false },
	{ 'r', "realtime", AP_OPT_CALL, 0, pass_priority, "prio", "sample with this real-time priority (SCHED_FIFO)", false },
	GROUP("Engine and models"),
	CALL(0, "cpu-id", pass_cpu_id, "name", "raw events of this CPU: skylake, icelake, sapphirerapids, zen3, zen4 ..."),
	{ 0, "machine", AP_OPT_CALL, 0, pass_machine, "name", "model skylake, icelake, sapphirerapids, zen3, zen4, cachegrind, host or a file's", false },
	TAKEN_FLAG(0, "force"),
	TAKEN,
	TAKEN_CODE,
	TAKEN_FLAG(0, "no-bpf-event"),
	TAKEN_WORD("num-thread-synthesize"),
	TAKEN_WORD("proc-map-timeout"),
	{ 0 }
};
/* clang-format on */
#undef AT

/* clang-format off */
const struct ap_opt_spec ap_spec_top = {
	COMMAND, "[options] [--] [command [args]]", top_opts,
	{ { "-g -p 1234", "watch a running process, with call trees" },
	  { "-- ./program", "watch a command from its start" } },
};
/* clang-format on */

/* --- while it runs */

struct top {
	struct top_args *args;
	struct top_recorder recorder;
	struct ap_profile_session *session;
	struct ap_data *data;
	struct ap_annotate *notes;
	struct ap_live *live; /* NULL: no event is known yet */
	struct ap_tui_profile profile;
	struct ap_tui tui;
	struct ap_screen *screen; /* NULL: tables are printed */
	bool is_screen_tried, is_over, is_drawn;
	u64 next; /* refresh */
};

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * NSEC + (u64)ts.tv_nsec;
}

static u64 delay_ns(const struct top *t)
{
	return (u64)(t->args->delay * (double)NSEC);
}

static bool has_chains(const struct ap_data *d)
{
	for (u32 i = 0; i < ap_data_nevents(d); i++) {
		if (ap_data_event(d, i)->attr.sample_type & AP_PERF_SAMPLE_CALLCHAIN)
			return true;
	}
	return false;
}

/* 0, or a line was said. */
static int choose_columns(struct top_args *a, bool chains)
{
	struct ap_hist_opts *h = &a->hist;
	char why[AP_OPT_WHY];

	h->children = chains && !a->no_children;
	h->chain = chains ? h->chain : AP_CHAIN_NONE;
	h->order = h->children ? AP_CALLER : AP_CALLEE;
	h->full_paths = a->verbose;
	h->filter = &a->filter;
	if (!ap_hist_opts_columns(h, a->sort || a->fields ? a->sort : "dso,symbol", a->fields,
				  (a->samples ? AP_WANT_SAMPLES : 0) |
					  (a->period ? AP_WANT_PERIOD : 0),
				  why, sizeof(why)))
		return 0;
	ap_print(stderr, COMMAND ": %s\n", why);
	return AP_EXIT_USAGE;
}

/* Events and their names come with the first records, which may come in pieces. */
static void name_events(struct top *t)
{
	u32 n = ap_data_nevents(t->data);

	if (n > t->profile.nevents) {
		t->profile.event =
			ap_profile_realloc(t->profile.event, n, sizeof(*t->profile.event));
		for (u32 i = t->profile.nevents; i < n; i++)
			t->profile.event[i] = (struct ap_tui_event){ .index = i };
		t->profile.nevents = n;
	}
	for (u32 i = 0; i < n; i++)
		t->profile.event[i].name = ap_data_event(t->data, i)->name;
}

static void begin(struct top *t)
{
	name_events(t);
	/* columns were tried before anything was started */
	if (!t->live && !choose_columns(t->args, has_chains(t->data)))
		t->live = ap_live_new(t->session, &t->args->hist, t->notes);
}

static void refresh(struct top *t)
{
	if (!t->live)
		return;
	ap_live_refresh(t->live, t->profile.is_forgetful ? AP_LIVE_FORGET : AP_LIVE_FADE);
	for (u32 i = 0; i < t->profile.nevents; i++) {
		struct ap_tui_event *ev = &t->profile.event[i];

		ev->hist = ap_live_hist(t->live, i);
		ev->samples = ev->hist ? ap_hist_samples(ev->hist) : 0;
		ev->total = ev->hist ? ap_hist_total(ev->hist) : 0;
	}
	t->profile.lost = t->session->lost + t->session->lost_samples;
	t->profile.generation++;
	t->is_drawn = false;
}

static void print_table(const struct ap_tui_event *ev)
{
	u64 n = ev->samples;
	char unit;

	n = ap_hist_short(n, &unit);
	ap_print(stdout, "# Samples: %llu%c of event '%s'\n", (unsigned long long)n, unit,
		 ev->name);
	printf("# Event count (approx.): %llu\n#\n", (unsigned long long)ev->total);
	ap_hist_print(ev->hist, stdout);
	fputs("\n\n", stdout);
}

static void print_tables(const struct top *t)
{
	bool any = false;

	for (u32 i = 0; i < t->profile.nevents; i++)
		any |= t->profile.event[i].hist != NULL;
	if (any && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	if (any && t->profile.lost)
		printf("# Lost: %llu samples\n#\n", (unsigned long long)t->profile.lost);
	for (u32 i = 0; i < t->profile.nevents; i++) {
		if (t->profile.event[i].hist)
			print_table(&t->profile.event[i]);
	}
	fflush(stdout);
}

static void open_screen(struct top *t)
{
	char why[AP_OPT_WHY];

	if (t->is_screen_tried || !t->profile.is_live || !t->live)
		return;
	t->is_screen_tried = true;
	if (ap_term_open(&t->screen, why, sizeof(why)))
		ap_print(stderr, COMMAND ": %s: printing, as with --stdio\n", why);
	else
		ap_tui_show_profile(&t->tui, &t->profile);
}

static void on_time(struct top *t)
{
	u64 now = now_ns();

	if (now < t->next)
		return;
	t->next = now + delay_ns(t);
	refresh(t);
	if (!t->profile.is_live)
		print_tables(t);
}

static bool wait_printing(struct top *t, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	u64 now;
	int n;

	for (;;) {
		on_time(t);
		now = now_ns();
		n = poll(&p, 1, now < t->next ? (int)((t->next - now) / 1000000 % 1000000) + 1 : 0);
		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
	}
}

/* Between two reads of the stream: keys, the clock, the screen. */
static bool wait_shown(struct top *t, int fd)
{
	u32 what, key;

	for (;;) {
		on_time(t);
		if (!t->is_drawn)
			ap_tui_draw(&t->tui, t->screen);
		t->is_drawn = true;
		what = ap_term_wait(fd, t->next);
		while (!t->tui.is_over && ap_term_key(&key)) {
			ap_tui_key(&t->tui, key);
			t->is_drawn = false;
		}
		if (t->tui.is_over || what & AP_TERM_SIGNAL) {
			t->is_over = true;
			return false;
		}
		if (what & AP_TERM_FD)
			return true;
	}
}

static bool on_wait(void *arg, int fd)
{
	struct top *t = arg;

	if (ap_data_nevents(t->data)) {
		begin(t);
		open_screen(t);
	}
	return t->screen ? wait_shown(t, fd) : wait_printing(t, fd);
}

/* --- from the start to the end */

static pid_t told; /* the process that is told to end when we are */

static void on_signal(int sig)
{
	(void)sig;
	if (told > 0)
		kill(told, SIGTERM);
}

/* Printing, an interrupt ends the command, and what it did to the end is shown. */
static void take_signals(const struct top *t)
{
	struct sigaction act = { .sa_handler = SIG_IGN };

	told = t->recorder.pid;
	if (t->profile.is_live)
		return;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGQUIT, &act, NULL);
	act.sa_handler = on_signal;
	act.sa_flags = SA_RESTART;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

static void read_records(struct top *t)
{
	struct ap_data_rec rec;
	u64 damaged = 0;

	while (!t->is_over && ap_data_next(t->data, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE) {
			ap_session_record(t->session, &rec);
			continue;
		}
		if (!t->live)
			begin(t);
		damaged += !ap_live_sample(t->live, &rec);
	}
	if (damaged)
		fprintf(stderr, COMMAND ": %llu samples are damaged and were left out\n",
			(unsigned long long)damaged);
}

static void finish(struct top *t)
{
	if (t->live)
		ap_live_free(t->live);
	ap_tui_fini(&t->tui);
	ap_tui_profile_fini(&t->profile);
	free(t->profile.event);
	ap_annotate_free(t->notes);
	ap_session_fini(t->session);
	free(t->session);
}

static int watch(struct top *t)
{
	char why[AP_DATA_WHY];
	int status;

	/* nothing came: the recorder has said why */
	if (ap_data_open_fd(&t->data, t->recorder.fd, why))
		return top_recorder_wait(&t->recorder);
	t->next = now_ns() + (delay_ns(t) < NSEC / 2 ? delay_ns(t) : NSEC / 2);
	if (!t->profile.is_live)
		t->next = now_ns() + delay_ns(t);
	ap_data_on_wait(t->data, on_wait, t);
	read_records(t);
	ap_term_close();
	if (t->is_over)
		top_recorder_stop(&t->recorder);
	status = top_recorder_wait(&t->recorder);
	/* the screen is gone; what prints gets the rest */
	if (!t->screen) {
		name_events(t);
		refresh(t);
		print_tables(t);
	}
	finish(t);
	ap_data_close(t->data);
	return t->is_over ? 0 : status;
}

/* Are there columns of CPUs, or what they are in? */
static bool has_cpus(const struct top_args *a)
{
	return (a->sort && (strstr(a->sort, "cpu") || strstr(a->sort, "socket"))) ||
	       (a->fields && (strstr(a->fields, "cpu") || strstr(a->fields, "socket")));
}

/* The recorder's words, then the command's. */
static char **recorder_argv(struct top_args *a, char **argv, int argc, int *n)
{
	char **v, tick[32];
	int i;

	/* records are put in order within two rounds: what a refresh lacks is at most so old */
	snprintf(tick, sizeof(tick), "%d", a->delay < 1 ? (int)(a->delay * 250) : 250);
	v = ap_xgrow(NULL, (size_t)(a->nrecord + argc) + 9, sizeof(*v));
	*n = 0;
	v[(*n)++] = ap_xstrdup("record");
	for (i = 0; i < a->nrecord; i++)
		v[(*n)++] = a->record[i];
	v[(*n)++] = ap_xstrdup("-B");
	if (has_cpus(a))
		v[(*n)++] = ap_xstrdup("--sample-cpu");
	v[(*n)++] = ap_xstrdup("-o-");
	v[(*n)++] = ap_xstrdup("--tick");
	v[(*n)++] = ap_xstrdup(tick);
	v[(*n)++] = ap_xstrdup("--");
	for (i = 0; i < argc; i++)
		v[(*n)++] = argv[i];
	v[*n] = NULL;
	return v;
}

static int top(struct top_args *a, int argc, char **argv)
{
	struct ap_topology topology;
	struct top t = { .args = a };
	int n, err, status;
	char **words = recorder_argv(a, argv, argc, &n);

	t.profile.is_live = ap_show_on_screen(&a->show, COMMAND);
	t.profile.is_forgetful = a->zero;
	t.profile.full_paths = a->verbose;
	t.profile.objdump = a->objdump;
	err = top_recorder_start(&t.recorder, n, words, t.profile.is_live);
	if (err) {
		ap_print(stderr, COMMAND ": cannot start to record: %s\n", strerror(-err));
		return AP_EXIT_FAILURE;
	}
	take_signals(&t);
	ap_topology_ask(&topology, (u32)get_nprocs_conf());
	a->hist.topology = &topology;
	t.session = ap_profile_calloc(1, sizeof(*t.session));
	ap_session_init(t.session);
	t.session->symbols.no_demangle = a->no_demangle;
	t.session->symbols.params = a->verbose;
	t.notes = t.profile.notes = ap_annotate_new(t.session);
	status = watch(&t);
	top_recorder_show(&t.recorder);
	ap_topology_fini(&topology);
	for (int i = 0; i < n - argc; i++)
		free(words[i]);
	free(words);
	free(a->record);
	ap_term_raise();
	return status;
}

int ap_cmd_top(int argc, char **argv)
{
	struct top_args args = { .delay = 2 };
	int rest, status;

	ap_hist_opts_init(&args.hist);
	if (!ap_opts_begin(&ap_spec_top, &args, argc, argv, &rest, &status))
		return status;
	if (rest >= argc && !args.has_target)
		return ap_opts_wrong(&ap_spec_top,
				     "nothing to watch: name a command, or processes with -p or -t",
				     NULL);
	status = choose_columns(&args, true);
	return status ? status : top(&args, argc - rest, argv + rest);
}
