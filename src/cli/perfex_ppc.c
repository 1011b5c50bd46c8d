/* SPDX-License-Identifier: MIT */
/*
 * perfctr's device is that of x86: its layouts have no room for a PowerPC, and no program of a
 * session is one.  So the command gets no state of its own here.  Its first thread is counted from
 * its exec on, by one event for each kind of count that the CPU's counters need; at the end a model
 * of the CPU with a driver is programmed as was asked for and fed with these counts, in steps that
 * 32 bits hold.  The timebase is fed with the thread's CPU time.
 *
 * Nothing that depends on which event came first is lost by that: what freezes or triggers counters
 * is in MMCR0's own bits, which events do not reach.
 */
#include "cli/perfex_ppc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/raw.h"
#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "linux/client/client.h"
#include "perfctr/model/ppc.h"
#include "print/print.h"

#define STEP (1U << 28) /* of a kind: a counter adds a few of them */

const struct ap_ppcmodel_family *ap_perfex_ppc_find(const char *name)
{
	return ap_ppcmodel_find(name);
}

void ap_perfex_ppc_names(char *text, size_t n, size_t size)
{
	for (unsigned int i = 0; ap_ppcmodel_name(i) && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, " %s", ap_ppcmodel_name(i));
}

/* --- a CPU that is programmed */

struct virtual_ppc {
	struct ap_ppcmodel model;
	struct ap_ppcmodel_cpu cpu;
	struct ap_ppcctr drv;
	struct ap_ppcctr_cache cache;
	struct ap_ppcctr_state state;
};

static int begin(struct virtual_ppc *v, const struct ap_ppcmodel_family *family)
{
	int ret;

	ap_ppcmodel_init(&v->model, family, &v->cpu, 1);
	ret = ap_ppcctr_init(&v->drv, &ap_ppcmodel_ops, &v->model, &v->cache, 1);
	if (!ret && ap_ppcctr_reserve(&v->drv, "perfex"))
		ret = -EBUSY;
	return ret;
}

static int program(struct virtual_ppc *v, const struct perfctr_cpu_control *control)
{
	int ret;

	memset(&v->state, 0, sizeof(v->state));
	v->state.control.tsc_on = 1;
	v->state.control.nractrs = control->nractrs;
	for (u32 i = 0; i < control->nractrs && i < AP_PPCCTR_MAX; i++) {
		v->state.control.pmc_map[i] = control->pmc_map[i];
		v->state.control.evntsel[i] = control->evntsel[i];
	}
	ret = control->nractrs > AP_PPCCTR_MAX ? -EINVAL
					       : ap_ppcctr_update_control(&v->drv, &v->state, 0);
	if (!ret)
		ap_ppcctr_resume(&v->drv, &v->state);
	return ret;
}

static void label(const struct virtual_ppc *v, const struct perfctr_cpu_control *control,
		  struct ap_perfex_label *labels)
{
	for (u32 i = 0; i < control->nractrs; i++)
		labels[i].kinds =
			ap_ppcmodel_counts(&v->model, control->pmc_map[i], &labels[i].why);
}

/* --- what it is told to count */

static bool find_name(const struct ap_ppcmodel_family *family, const char *name, size_t len,
		      struct ap_ppcmodel_listed *row)
{
	for (unsigned int i = 0; ap_ppcmodel_listed(family, i, row); i++)
		if (strlen(row->name) == len && !strncmp(row->name, name, len))
			return true;
	return false;
}

/*
 * The counters that may count it: by name those of the CPU's list, by number its turn's, as on x86.
 */
static int resolve_one(const struct ap_perfex_control *c, unsigned int i,
		       const struct ap_ppcmodel_family *family, u32 *evntsel, u32 *pmcs)
{
	const char *text = c->events[i].text, *at = text + strcspn(text, "@");
	struct ap_ppcmodel_listed row;
	char why[AP_OPT_WHY], *code;
	u32 pmc = i;
	int ret = 0;

	if (find_name(family, text, (size_t)(at - text), &row)) {
		*evntsel = row.event;
		*pmcs = row.pmcs;
	} else {
		code = ap_xstrndup(text, (size_t)(at - text));
		ret = ap_perfex_number(code, c->events[i].radix, evntsel, why, sizeof(why));
		free(code);
		*pmcs = 1U << pmc;
	}
	if (!ret && *at) {
		ret = ap_perfex_number(at + 1, c->events[i].radix, &pmc, why, sizeof(why));
		*pmcs = pmc < AP_PPCCTR_MAX ? 1U << pmc : 0;
	}
	return ret;
}

/*
 * Each event gets a counter of its own, if there is a way: event i takes one, and whose it was
 * looks for another.
 */
static bool assign(const u32 *pmcs, unsigned int i, u32 *tried, s32 *owner)
{
	for (unsigned int k = 0; k < AP_PPCCTR_MAX; k++) {
		if (!(pmcs[i] >> k & 1) || *tried >> k & 1)
			continue;
		*tried |= 1U << k;
		if (owner[k] >= 0 && !assign(pmcs, (unsigned int)owner[k], tried, owner))
			continue;
		owner[k] = (s32)i;
		return true;
	}
	return false;
}

static int resolve(const struct ap_perfex_control *c, const struct ap_ppcmodel_family *family,
		   struct perfctr_cpu_control *out)
{
	s32 owner[AP_PPCCTR_MAX];
	u32 pmcs[PERFCTR_MAX_PMCS];

	memset(owner, -1, sizeof(owner));
	memset(out, 0, sizeof(*out));
	out->tsc_on = 1;
	out->nractrs = c->n;
	for (unsigned int i = 0; i < c->n; i++) {
		u32 tried = 0;

		if (resolve_one(c, i, family, &out->evntsel[i], &pmcs[i])) {
			ap_print(
				stderr,
				"anyperf perfex: -e %s: no event of this CPU (-l lists them), nor evntsel[@pmc]\n",
				c->events[i].text);
			return AP_EXIT_USAGE;
		}
		if (!assign(pmcs, i, &tried, owner)) {
			ap_print(
				stderr,
				"anyperf perfex: -e %s: no counter is left that can count it (-L lists them)\n",
				c->events[i].text);
			return AP_EXIT_FAILURE;
		}
	}
	for (u32 k = 0; k < AP_PPCCTR_MAX; k++)
		if (owner[k] >= 0)
			out->pmc_map[owner[k]] = k;
	return 0;
}

/* --- counting the command */

struct counting {
	u64 kinds; /* that somebody needs, and instructions: whose time is the timebase's */
	struct ap_event_client *client;
	struct ap_client_event *event[AP_KIND_N];
	u64 count[AP_KIND_N];
	u64 ran_ns;
};

/* What is counted on every CPU and is this kind alone. */
static bool find_event(unsigned int kind, struct ap_perf_attr *attr)
{
	static const enum ap_client_names lists[] = { AP_NAMES_OWN, AP_NAMES_CACHE };
	struct ap_client_name found;
	char name[AP_CLIENT_NAME_MAX + 8];

	for (unsigned int l = 0; l < AP_ARRAY_SIZE(lists); l++) {
		for (unsigned int i = 0; ap_client_name(lists[l], i, &found); i++) {
			snprintf(name, sizeof(name), l ? "%s" : "cpu/%s/", found.name);
			*attr = (struct ap_perf_attr){ 0 };
			if (!ap_client_event_by_name(name, strlen(name), attr) &&
			    ap_client_event_kinds(attr) == AP_KIND_BIT(kind))
				return true;
		}
	}
	return false;
}

/* Of the command's first thread alone, from its exec on. */
static int open_kind(struct counting *c, unsigned int kind, pid_t tid)
{
	struct ap_perf_attr attr;

	if (!find_event(kind, &attr))
		return -ENOENT;
	attr.read_format = AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.flags |= AP_PERF_DISABLED | AP_PERF_ENABLE_ON_EXEC | AP_PERF_EXCLUDE_KERNEL |
		      AP_PERF_EXCLUDE_HV;
	return ap_client_open(
		c->client,
		&(struct ap_client_open){
			.attr = &attr, .pid = tid, .cpu = -1, .place = AP_CLIENT_SESSION },
		&c->event[kind]);
}

static int start(void *arg, struct ap_event_client *client)
{
	struct counting *c = arg;
	const struct ap_client_task *tasks;
	u32 ntasks;
	int ret = 0;

	c->client = client;
	tasks = ap_client_tasks(client, &ntasks);
	for (unsigned int k = 0; k < AP_KIND_N && !ret; k++)
		if (c->kinds >> k & 1)
			ret = open_kind(c, k, tasks[0].tid);
	if (ret)
		ap_print(stderr, "anyperf perfex: cannot count the command: %s%s\n", strerror(-ret),
			 ap_run_remedy(-ret));
	return ret ? AP_EXIT_FAILURE : 0;
}

static void at_begin(void *arg, u64 ns)
{
	(void)arg;
	(void)ns;
}

static void at_end(void *arg, u64 ns)
{
	struct counting *c = arg;
	u64 v[3];

	(void)ns;
	ap_client_moment(c->client);
	for (unsigned int k = 0; k < AP_KIND_N; k++) {
		if (!c->event[k] || ap_client_read(c->event[k], v, sizeof(v)) != sizeof(v))
			continue;
		c->count[k] = v[0];
		if (k == AP_KIND_INSTR)
			c->ran_ns = v[2];
	}
}

/* --- from counts to sums */

static void feed(struct virtual_ppc *v, const struct counting *c)
{
	u64 left[AP_KIND_N], step[AP_KIND_N];
	u64 ticks = c->ran_ns / (1000000000 / v->model.timebase_hz);
	bool is_more = true;

	memcpy(left, c->count, sizeof(left));
	while (is_more) {
		u64 now = ticks < STEP ? ticks : STEP;

		ticks -= now;
		is_more = ticks;
		for (unsigned int k = 0; k < AP_KIND_N; k++) {
			step[k] = left[k] < STEP ? left[k] : STEP;
			left[k] -= step[k];
			is_more |= left[k];
		}
		ap_ppcmodel_count(&v->model, step, now);
		ap_ppcctr_sample(&v->drv, &v->state);
	}
	ap_ppcctr_suspend(&v->drv, &v->state);
}

static int report(const struct virtual_ppc *v, const struct perfctr_cpu_control *control,
		  const struct ap_perfex_label *labels, const char *output)
{
	struct perfctr_sum_ctrs sum = { .tsc = v->state.tsc_sum };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		ap_die("out of memory");
	for (u32 i = 0; i < control->nractrs; i++)
		sum.pmc[i] = v->state.pmc[i].sum;
	ap_perfex_print(out, control, &sum, labels);
	if (fclose(out))
		ap_die("out of memory");
	ret = output ? ap_outfile_write(output, text, size, stderr)
		     : ap_outfile_print(stderr, text, size, stderr);
	free(text);
	return ret ? AP_EXIT_FAILURE : 0;
}

static int run_command(struct ap_run_options *run, struct counting *c, int *status)
{
	const struct ap_run_client client = {
		.arg = c, .start = start, .begin = at_begin, .end = at_end
	};
	struct ap_run_result res;
	int ret;

	memset(&res, 0, sizeof(res));
	run->client = &client;
	run->count = run->perf.is_wanted = true;
	run->perf.is_served = false;
	run->kinds |= c->kinds;
	ret = ap_run(run, &res);
	run->client = NULL;
	if (!ret)
		*status = res.wait_status;
	for (unsigned int i = 0; !ret && i < res.nnotes; i++)
		ap_print(stderr, "%s\n", res.notes[i].text);
	ap_run_result_fini(&res);
	return ret;
}

int ap_perfex_ppc_measure(struct ap_run_options *run, const struct ap_ppcmodel_family *family,
			  const struct ap_perfex_control *control, const char *output)
{
	struct ap_perfex_label labels[PERFCTR_MAX_PMCS] = { { 0, "" } };
	struct counting c = { .kinds = AP_KIND_BIT(AP_KIND_INSTR) };
	struct perfctr_cpu_control cpu;
	struct virtual_ppc v;
	int ret, status = 0;

	ret = resolve(control, family, &cpu);
	if (ret)
		return ret;
	ret = begin(&v, family);
	if (!ret)
		ret = program(&v, &cpu);
	if (ret) {
		ap_print(stderr,
			 "anyperf perfex: the CPU does not take these events: %s "
			 "(-L lists codes and counters, -i says how many counters)\n",
			 strerror(-ret));
		return AP_EXIT_FAILURE;
	}
	label(&v, &cpu, labels);
	for (u32 i = 0; i < cpu.nractrs; i++)
		c.kinds |= labels[i].kinds;
	if (output && ap_outfile_check(output, 0, stderr))
		return AP_EXIT_FAILURE;
	ret = run_command(run, &c, &status);
	if (ret)
		return ret;
	feed(&v, &c);
	ret = report(&v, &cpu, labels, output);
	if (!WIFEXITED(status))
		fputs("anyperf perfex: child did not exit normally\n", stderr);
	return ret ? ret : ap_engine_exit_status(status);
}

/* --- what it is */

int ap_perfex_ppc_info(FILE *out, const struct ap_ppcmodel_family *family)
{
	static const char *const features[] = { "rdpmc", "rdtsc", "pcint" };
	const char *comma = "";
	struct virtual_ppc v;

	if (begin(&v, family))
		return AP_EXIT_FAILURE;
	ap_print(out, "PerfCtr Info:\ncpu_type\t\t%u (%s)\ncpu_features\t\t%#x (", v.drv.ctr.type,
		 v.drv.ctr.name, v.drv.ctr.features);
	for (unsigned int i = 0; i < AP_ARRAY_SIZE(features); i++) {
		if (!(v.drv.ctr.features >> i & 1))
			continue;
		ap_print(out, "%s%s", comma, features[i]);
		comma = ",";
	}
	ap_print(out, ")\ntimebase_hz\t\t%u\ncpu_nrctrs\t\t%u\n", v.drv.timebase_hz,
		 ap_ppcctr_nrctrs(&v.drv));
	return 0;
}

int ap_perfex_ppc_list(FILE *out, const struct ap_ppcmodel_family *family, bool is_long)
{
	struct ap_ppcmodel_listed row;
	struct virtual_ppc v;

	if (begin(&v, family))
		return AP_EXIT_FAILURE;
	ap_print(
		out,
		"CPU type %s\nOne time-stamp counter available\n%u performance counters available\n"
		"Overflow interrupts not available\n",
		v.drv.ctr.name, ap_ppcctr_nrctrs(&v.drv));
	if (!ap_ppcmodel_listed(family, 0, &row))
		return 0;
	fputs(is_long ? "Events Available:\nName:EvntSel:CounterSet\n" : "Events Available:\n",
	      out);
	for (unsigned int i = 0; ap_ppcmodel_listed(family, i, &row); i++) {
		if (is_long)
			ap_print(out, "%s:0x%02X:0x%X\n", row.name, row.event, row.pmcs);
		else
			ap_print(out, "%s\n", row.name);
	}
	return 0;
}
