/* SPDX-License-Identifier: MIT */
/*
 * What is decided before the command is started: which events, where they are opened, where the
 * records go and what may interrupt.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/raw.h"
#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "cli/record.h"
#include "cli/record_opts.h"
#include "files/in.h"
#include "print/print.h"

#define DEFAULT_PATH "perf.data"
#define MAX_RATE     "/proc/sys/kernel/perf_event_max_sample_rate"
#define ONLINE_CPUS  "/sys/devices/system/cpu/online"

static u64 max_rate(void)
{
	FILE *file = ap_kernel_stream(MAX_RATE);
	u64 rate = 0;

	if (file && fscanf(file, "%lu", &rate) != 1)
		rate = 0;
	if (file)
		fclose(file);
	return rate;
}

/* A frequency above what the kernel allows is an error there; perf takes what is allowed. */
static bool choose_rate(struct record_opts *o)
{
	u64 max = max_rate();

	if (o->is_freq_max)
		o->freq = max ? max : 100000;
	if (!max || o->freq <= max)
		return true;
	if (o->strict_freq) {
		ap_print(stderr,
			 "anyperf record: --strict-freq: %llu samples per second are more than "
			 "the %llu that are allowed (%s)\n",
			 (unsigned long long)o->freq, (unsigned long long)max, MAX_RATE);
		return false;
	}
	if (!o->quiet)
		ap_print(stderr,
			 "anyperf record: at most %llu samples per second are allowed (%s)\n",
			 (unsigned long long)max, MAX_RATE);
	o->freq = max;
	return true;
}

static void choose_samples(struct record_opts *o)
{
	static const struct {
		size_t offset;
		u64 bit;
	} each[] = {
		{ offsetof(struct record_opts, with_period), AP_PERF_SAMPLE_PERIOD },
		{ offsetof(struct record_opts, with_cpu), AP_PERF_SAMPLE_CPU },
		{ offsetof(struct record_opts, with_identifier), AP_PERF_SAMPLE_IDENTIFIER },
		{ offsetof(struct record_opts, with_weight), AP_PERF_SAMPLE_WEIGHT },
		{ offsetof(struct record_opts, with_phys), AP_PERF_SAMPLE_PHYS_ADDR },
		{ offsetof(struct record_opts, with_data_page), AP_PERF_SAMPLE_DATA_PAGE_SIZE },
		{ offsetof(struct record_opts, with_code_page), AP_PERF_SAMPLE_CODE_PAGE_SIZE },
		{ offsetof(struct record_opts, with_transaction), AP_PERF_SAMPLE_TRANSACTION },
		{ offsetof(struct record_opts, with_cgroups), AP_PERF_SAMPLE_CGROUP },
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(each); i++)
		if (*(bool *)((char *)o + each[i].offset))
			o->sample |= each[i].bit;
	if (o->with_phys || o->with_data_page)
		o->data = true;
	o->tracking |= o->with_switches ? AP_PERF_CONTEXT_SWITCH : 0;
	o->tracking |= o->with_namespaces ? AP_PERF_NAMESPACES : 0;
	o->tracking |= o->with_cgroups ? AP_PERF_CGROUP : 0;
}

static void apply_modifiers(struct record_event *ev, const char *mods)
{
	bool user = strchr(mods, 'u'), kernel = strchr(mods, 'k'), hv = strchr(mods, 'h');
	u64 precise = 0;

	for (const char *p = mods; *p; p++)
		precise += *p == 'p';
	ev->attr.flags |= precise << AP_PERF_PRECISE_IP_SHIFT;
	if (user || kernel || hv) {
		ev->has_modifier = true;
		ev->attr.flags |= user ? 0 : AP_PERF_EXCLUDE_USER;
		ev->attr.flags |= kernel ? 0 : AP_PERF_EXCLUDE_KERNEL;
		ev->attr.flags |= hv ? 0 : AP_PERF_EXCLUDE_HV;
	}
}

/* Named as perf names it: what counts user mode only says so. */
static void choose_event(struct record_event *ev, const struct ap_evsel *sel, size_t index,
			 bool is_grouped)
{
	ev->attr = sel->attr;
	ev->terms = sel->terms;
	ev->leader = is_grouped ? 0 : sel->leader == AP_EVSEL_ALONE ? index : sel->leader;
	ev->place = sel->attr.type == AP_PERF_TYPE_SOFTWARE && !sel->cgroup ? AP_CLIENT_ANYWHERE
									    : AP_CLIENT_SESSION;
	ev->cgroup = sel->cgroup;
	apply_modifiers(ev, sel->mods);
	if (ev->attr.flags & AP_PERF_EXCLUDE_KERNEL && !ev->has_modifier)
		ev->name = ap_evsel_user_name(sel);
	else
		ev->name = ap_xstrdup(sel->name);
}

/*
 * The kernel takes them, and has none on this architecture: no samples would look like no faults.
 */
static bool is_rare_fault(const struct ap_perf_attr *attr)
{
	return attr->type == AP_PERF_TYPE_SOFTWARE &&
	       (attr->config == AP_PERF_COUNT_SW_ALIGNMENT_FAULTS ||
		attr->config == AP_PERF_COUNT_SW_EMULATION_FAULTS);
}

/* Why it cannot be, or NULL.  A software event that counts nothing still carries records. */
static const char *why_not(const struct ap_evsel *sel)
{
	if (sel->desc->from == AP_FROM_TIME)
		return "a time is no event that could be sampled";
	if (is_rare_fault(&sel->attr))
		return "nobody tells of them";
	if (sel->desc->kind == AP_KIND_UNSUPPORTED && sel->attr.type != AP_PERF_TYPE_SOFTWARE)
		return sel->desc->why;
	return sel->desc->from == AP_FROM_RAW ? sel->why : NULL;
}

/*
 * While events are disabled their side-band records are not written either: names and mappings of
 * what starts meanwhile would be unknown, and a ring that is overwritten forgets them; those of a
 * cgroup's event would be of what is in the cgroup already.  So these get an event of their own,
 * which is never disabled.
 */
static void add_tracking(struct record *r)
{
	struct record_event *ev = &r->event[r->nevents];

	*ev = (struct record_event){ .name = ap_xstrdup("dummy:u"),
				     .leader = r->nevents,
				     .place = r->opts->run.no_engine ? AP_CLIENT_ANYWHERE
								     : AP_CLIENT_SESSION,
				     .has_modifier = true,
				     .is_tracking = true };
	ev->attr.type = AP_PERF_TYPE_SOFTWARE;
	ev->attr.config = AP_PERF_COUNT_SW_DUMMY;
	ev->attr.flags = AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV;
	r->nevents++;
}

static bool needs_session(const struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++)
		if (r->event[i].place == AP_CLIENT_SESSION)
			return true;
	return r->opts->run.wait_all || !ap_client_kernel_samples();
}

/*
 * With an engine in the program the kernel's samples would be of the engine and its copies of code,
 * so that all are the session's then.
 */
static void choose_places(struct record *r, bool in_session)
{
	struct record_opts *o = r->opts;

	o->run.no_engine = !in_session;
	o->run.perf.is_wanted = o->run.count = in_session;
	for (size_t i = 0; i < r->nevents && in_session; i++) {
		r->event[i].place = AP_CLIENT_SESSION;
		o->run.kinds |= o->events.sel[i].kinds;
	}
}

/* False: a line was said. */
static bool choose_events(struct record *r)
{
	struct record_opts *o = r->opts;
	struct ap_evlist *list = &o->events;

	r->event = ap_xgrow(NULL, list->n + 1, sizeof(*r->event));
	memset(r->event, 0, (list->n + 1) * sizeof(*r->event));
	r->nevents = list->n;
	for (size_t i = 0; i < list->n; i++) {
		const char *why = why_not(&list->sel[i]);

		if (why) {
			ap_print(
				stderr,
				"anyperf record: cannot sample %s: %s; '-e instructions' is counted "
				"exactly, 'anyperf list' shows what else there is\n",
				list->sel[i].name, why);
			return false;
		}
		choose_event(&r->event[i], &list->sel[i], i, o->grouped);
	}
	choose_places(r, needs_session(r));
	if (o->delay_ms || o->control || o->overwrite || o->cgroups)
		add_tracking(r);
	return true;
}

/*
 * What is known of whole runs alone (data, branches, calls) is read whole, and costs as much.
 * Where nothing modelled is sampled there are no models, and no counter beside what is sampled.
 */
static void choose_models(struct record *r)
{
	struct record_opts *o = r->opts;
	bool is_whole = o->data || o->branches || o->with_weight, is_modelled = false;

	for (size_t i = 0; i < r->nevents; i++) {
		const struct record_event *ev = &r->event[i];

		is_whole |= record_chain_of(r, ev) == AP_EVCHAIN_LBR;
		is_modelled |= !ev->is_tracking && o->events.sel[i].kinds & AP_KINDS_MODEL;
	}
	if (!o->run.model_sample && (is_whole || !is_modelled))
		o->run.model_sample = 1;
	ap_engine_set_models(&o->run);
}

static int read_online(char *line, int size)
{
	FILE *file = ap_kernel_stream(ONLINE_CPUS);
	bool ok = file && fgets(line, size, file);

	if (!ok)
		*line = '\0';

	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return ok ? 0 : -EIO;
}

static int list_cpus(struct record *r)
{
	const struct record_opts *o = r->opts;
	char line[4096], why[AP_OPT_WHY];

	if (o->cpus) {
		if (!ap_cpus_parse(o->cpus, &r->each.cpu, &r->each.n, why, sizeof(why)))
			return 0;
		ap_print(stderr, "anyperf record: -C: %s\n", why);
		return AP_EXIT_USAGE;
	}
	if (!read_online(line, sizeof(line)) &&
	    !ap_cpus_parse(line, &r->each.cpu, &r->each.n, why, sizeof(why)))
		return 0;
	ap_print(stderr, "anyperf record: cannot read %s\n", ONLINE_CPUS);
	return AP_EXIT_FAILURE;
}

/*
 * Where to open: on all CPUs, as children may run on any and a ring of the kernel is of one CPU.
 * What nobody inherits, and what is in the session, goes with its task.
 */
static int choose_cpus(struct record *r)
{
	const struct record_opts *o = r->opts;
	bool is_of_cpus = o->cpus || o->system_wide;
	int ret = list_cpus(r);

	if (ret)
		return ret;
	r->any.cpu = ap_xgrow(NULL, 1, sizeof(*r->any.cpu));
	r->any.cpu[0] = -1;
	r->any.n = 1;
	for (size_t i = 0; i < r->nevents; i++) {
		struct record_event *ev = &r->event[i];
		bool is_in_session = r->event[ev->leader].place == AP_CLIENT_SESSION;

		ev->cpus = !is_of_cpus && (o->no_inherit || is_in_session) ? &r->any : &r->each;
	}
	return 0;
}

/* Where the command's standard output goes when the profile has ours; -1: to standard error. */
static int command_output = -1;

void record_set_command_output(int fd)
{
	command_output = fd;
}

/*
 * Whoever did not write "-o -" may have meant the command's output, and wonders what comes out of
 * the pipe.
 */
static void warn_of_pipe(const struct record_opts *o)
{
	struct stat out, err;
	bool is_one = !fstat(STDOUT_FILENO, &out) && !fstat(STDERR_FILENO, &err) &&
		      S_ISFIFO(out.st_mode) && out.st_dev == err.st_dev && out.st_ino == err.st_ino;

	if (o->quiet || command_output >= 0)
		return;
	if (is_one)
		fputs("anyperf record: standard output and standard error are one pipe: what the "
		      "command prints gets into the profile there (-o FILE writes it to a file)\n",
		      stderr);
	else if (!o->output)
		fputs("anyperf record: standard output is a pipe: the profile goes there, and what the "
		      "command prints to standard error (-o FILE writes it to a file, '-o -' says that "
		      "this is meant)\n",
		      stderr);
}

/* A stream has standard output to itself: the command's goes where ours for people goes. */
static int choose_output(struct record *r)
{
	const struct record_opts *o = r->opts;
	struct stat st;
	bool is_pipe = !o->output && !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode);

	r->stream = -1;
	if (!is_pipe && (!o->output || strcmp(o->output, "-"))) {
		r->path = o->output ? o->output : DEFAULT_PATH;
		return ap_outfile_check(r->path, AP_OUT_PRIVATE, stderr) ? AP_EXIT_FAILURE : 0;
	}
	if (o->do_switch) {
		fputs("anyperf record: --switch-output needs a file (-o)\n", stderr);
		return AP_EXIT_USAGE;
	}
	warn_of_pipe(o);
	r->stream = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (r->stream < 0 ||
	    dup2(command_output < 0 ? STDERR_FILENO : command_output, STDOUT_FILENO) < 0) {
		ap_print(stderr, "anyperf record: standard output is not open: %s\n",
			 strerror(errno));
		return AP_EXIT_FAILURE;
	}
	return 0;
}

static int choose_control(struct record *r)
{
	char why[AP_OPT_WHY];

	r->control.fd = r->control.ack = -1;
	if (!r->opts->control || !ap_control_open(&r->control, r->opts->control, why))
		return 0;
	ap_print(stderr, "anyperf record: --control: %s\n", why);
	return AP_EXIT_USAGE;
}

/* SIGUSR2 as a byte in a pipe. */
static int signal_pipe[2] = { -1, -1 };

static void on_signal(int sig)
{
	int error = errno;

	(void)sig;
	while (write(signal_pipe[1], "", 1) < 0 && errno == EINTR)
		;
	errno = error;
}

static int choose_signal(struct record *r)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	r->signal_fd = -1;
	if (!r->opts->do_switch || r->opts->switch_size || r->opts->switch_ns)
		return 0;
	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) || sigaction(SIGUSR2, &act, NULL)) {
		ap_print(stderr, "anyperf record: cannot wait for SIGUSR2: %s\n", strerror(errno));
		return AP_EXIT_FAILURE;
	}
	r->signal_fd = signal_pipe[0];
	return 0;
}

int record_prepare(struct record *r)
{
	int ret;

	if (!choose_rate(r->opts))
		return AP_EXIT_FAILURE;
	choose_samples(r->opts);
	if (!choose_events(r))
		return AP_EXIT_FAILURE;
	choose_models(r);
	ret = record_filters_prepare(r);
	if (!ret)
		ret = choose_cpus(r);
	if (!ret)
		ret = choose_output(r);
	if (!ret)
		ret = choose_control(r);
	if (!ret)
		ret = choose_signal(r);
	return ret;
}
