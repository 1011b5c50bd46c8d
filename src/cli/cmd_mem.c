/* SPDX-License-Identifier: MIT */
/*
 * `anyperf mem`: which loads and stores were waited for, where their data were.  It is record and
 * report with other defaults:  events whose samples have an address, a source and a price, and a
 * table by them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/mem_record.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"

#define LOADS	  1U
#define STORES	  2U
#define LDLAT_MAX 0xffff

struct mem_args {
	struct ap_mem_record record;
	const char *input, *sort, *separator, *cpus, *comms, *dsos, *symbols;
	unsigned int types; /* 0: both */
	bool force, known_only, dump, stdio, hits;
};

static int opt_type(void *args, const char *value, char *why)
{
	struct mem_args *a = args;
	size_t len;

	a->types = 0;
	for (; *value; value += len + (value[len] == ',')) {
		len = strcspn(value, ",");
		if (len == 4 && !strncmp(value, "load", len))
			a->types |= LOADS;
		else if (len == 5 && !strncmp(value, "store", len))
			a->types |= STORES;
		else
			break;
	}
	if (a->types && !*value)
		return 0;
	snprintf(why, AP_OPT_WHY, "needs load, store, or both with a comma");
	return -EINVAL;
}

#define OPT_ARGS struct mem_args

/* clang-format off */
static const struct ap_opt mem_opts[] = {
	GROUP("What is sampled"),
	CALL('t', "type", opt_type, "type", "load, store, or load,store (the default)"),
	AP_MEM_RECORD_OPTS,
	FLAG(0, "hits", hits, "record: what L1 has as well: one sample each n loads and stores, whoever answers"),
	FLAG('p', "phys-data", record.phys, "record: physical addresses as well, where they are known"),
	FLAG(0, "data-page-size", record.page_size, "record: the size of the datum's page"),
	GROUP("The report"),
	INPUT,
	FORCE,
	STR('s', "sort", sort, "keys", "report: tell entries apart by these: local_weight mem symbol dso symbol_daddr dso_daddr snoop tlb locked blocked, and all of anyperf report"),
	STR('C', "cpu", cpus, "list", "report: only these CPUs (0,2-4)"),
	STR(0, "comms", comms, "names", "report: only these commands"),
	STR(0, "dsos", dsos, "files", "report: only code of these files"),
	STR('S', "symbols", symbols, "names", "report: only these functions"),
	FLAG('U', "hide-unresolved", known_only, "report: leave out addresses without a symbol"),
	FLAG('D', "dump-raw-samples", dump, "report: a line for each sample instead of a table"),
	STR('x', "field-separator", separator, "sep", "report: between columns, without padding"),
	FLAG(0, "stdio", stdio, "report: print to standard output"),
	FLAG('v', "verbose", record.verbose, "record: say what was not recorded; report: whole paths"),
	{ 0 }
};

const struct ap_opt_spec ap_spec_mem = {
	"anyperf mem", "[options] record|report [options] [--] [command]", mem_opts,
	{ { "record -- ./program", "sample loads and stores that miss L1 into perf.data" },
	  { "report --stdio -s mem,symbol", "print which functions wait for which level" } },
};
/* clang-format on */

/*
 * What misses L1 by default; with --hits all that is read and written, of which the models say
 * which level answers.
 */
static char *events_of(const struct mem_args *a, unsigned long least)
{
	unsigned int types = a->types ? a->types : LOADS | STORES;
	char *loads, *events;

	if (a->hits)
		loads = ap_xstrdup("cpu/loads/");
	else if (least)
		loads = ap_xasprintf("cpu/mem-loads,ldlat=%lu/", least);
	else
		loads = ap_xstrdup("mem-loads");
	events = ap_xasprintf("%s%s%s", types & LOADS ? loads : "",
			      types == (LOADS | STORES) ? "," : "",
			      !(types & STORES) ? ""
			      : a->hits		? "cpu/stores/"
						: "mem-stores");
	free(loads);
	return events;
}

static int record(const struct mem_args *a, char **command)
{
	const char *ldlat = a->record.ldlat;
	unsigned long least = 0;
	char *end, *events;
	int status;

	if (ldlat) {
		errno = 0;
		least = strtoul(ldlat, &end, 10);
		if (errno || end == ldlat || *end || *ldlat == '-' || least > LDLAT_MAX)
			return ap_opts_wrong(&ap_spec_mem, "--ldlat needs cycles, 0 to 65535",
					     ldlat);
	}
	if (a->hits && ldlat)
		return ap_opts_wrong(&ap_spec_mem,
				     "--hits takes references of any latency: leave out",
				     "--ldlat");
	events = events_of(a, least);
	status = ap_mem_record(&a->record, events, command);
	free(events);
	return status;
}

/* Each sample's task, instruction, datum, price, word and function. */
static int dump(const struct mem_args *a)
{
	struct ap_words w = { 0 };
	int status;

	ap_words_add(&w, "script");
	ap_words_add_option(&w, "--input", a->input);
	ap_words_add_flag(&w, "--force", a->force);
	ap_words_add_option(&w, "--fields", "pid,tid,ip,addr,weight,data_src,sym,dso");
	status = ap_cmd_script(w.n, w.v);
	ap_words_fini(&w);
	return status;
}

static int report(const struct mem_args *a)
{
	bool loads = !a->types || a->types & LOADS;
	struct ap_words w = { 0 };
	int status;

	if (a->dump)
		return dump(a);
	ap_words_add(&w, "report");
	ap_words_add(&w, "--mem-mode");
	ap_words_add(&w, "--show-nr-samples");
	ap_words_add_option(&w, "--input", a->input);
	ap_words_add_flag(&w, "--force", a->force);
	/* of stores nobody waits: perf leaves their price out */
	ap_words_add_option(
		&w, "--sort",
		a->sort ? a->sort
			: (loads ? NULL : "mem,sym,dso,symbol_daddr,dso_daddr,tlb,locked"));
	ap_words_add_option(&w, "--cpu", a->cpus);
	ap_words_add_option(&w, "--comms", a->comms);
	ap_words_add_option(&w, "--dsos", a->dsos);
	ap_words_add_option(&w, "--symbols", a->symbols);
	ap_words_add_option(&w, "--field-separator", a->separator);
	ap_words_add_flag(&w, "--hide-unresolved", a->known_only);
	ap_words_add_flag(&w, "--stdio", a->stdio);
	ap_words_add_flag(&w, "--verbose", a->record.verbose);
	status = ap_cmd_report(w.n, w.v);
	ap_words_fini(&w);
	return status;
}

int ap_cmd_mem(int argc, char **argv)
{
	struct mem_args a = { 0 };
	int rest, status;
	bool records;

	if (!ap_opts_begin(&ap_spec_mem, &a, argc, argv, &rest, &status))
		return status;
	if (rest >= argc ||
	    (strcmp(argv[rest], "record") != 0 && strcmp(argv[rest], "report") != 0))
		return ap_opts_wrong(&ap_spec_mem, "needs record or report",
				     rest < argc ? argv[rest] : NULL);
	records = !strcmp(argv[rest], "record");
	argc -= rest;
	argv += rest;
	/* options may stand on either side of the word, as with perf */
	if (!ap_opts_begin(&ap_spec_mem, &a, argc, argv, &rest, &status))
		return status;
	if (!records && rest < argc)
		return ap_opts_wrong(&ap_spec_mem, "report takes no argument", argv[rest]);
	if (records && rest >= argc && !a.record.pid)
		return ap_opts_wrong(&ap_spec_mem, "no command to record", NULL);
	return records ? record(&a, argv + rest) : report(&a);
}
