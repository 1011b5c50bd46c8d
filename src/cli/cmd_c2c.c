/* SPDX-License-Identifier: MIT */
/*
 * `anyperf c2c`: lines of memory that threads take from each other's caches, with what each thread
 * does where in them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/mem_record.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/profile.h"
#include "print/print.h"
#include "profile/hist/sharing.h"

#define COMMAND "anyperf c2c"
/*
 * loads that met it, stores that missed; and all stores, which say which thread writes what: most
 * of them hit
 */
#define EVENTS	    "hitm-loads,mem-stores,stores"
#define SOURCE_TEXT 256

struct c2c_args {
	struct ap_mem_record record;
	const char *input, *separator;
	unsigned int line_size, lines; /* 0: all */
	bool only_false, stdio, force;
};

#define OPT_ARGS struct c2c_args

/* clang-format off */
static const struct ap_opt c2c_opts[] = {
	GROUP("What is sampled"),
	AP_MEM_RECORD_OPTS,
	GROUP("The report"),
	INPUT,
	FORCE,
	{ 0, "line-size", AP_OPT_UINT, offsetof(struct c2c_args, line_size), NULL, "bytes", "report: of a line (default 64)", false },
	{ 'n', "lines", AP_OPT_UINT, offsetof(struct c2c_args, lines), NULL, "n", "report: only the n worst lines", false },
	FLAG(0, "false-only", only_false, "report: only lines in which nobody uses what another stores to"),
	STR('x', "field-separator", separator, "sep", "report: a line for each use, fields separated by this"),
	FLAG(0, "stdio", stdio, "(always: the report is printed)"),
	FLAG('v', "verbose", record.verbose, "record: say what was not recorded"),
	{ 0 }
};

const struct ap_opt_spec ap_spec_c2c = {
	COMMAND, "[options] record|report [options] [--] [command]", c2c_opts,
	{ { "record -- ./program", "sample lines that threads take from each other" },
	  { "report --false-only", "show lines of which threads use different parts" } },
};
/* clang-format on */

static const char *symbol_of(const struct ap_place *p, char *buf, size_t size)
{
	if (p->sym)
		snprintf(buf, size, "%s+0x%llx", p->sym->name,
			 (unsigned long long)(p->addr - p->sym->start));
	else
		snprintf(buf, size, "%s", p->dso ? p->dso->name : "[unknown]");
	return buf;
}

static const char *source_of(const struct ap_place *p, char *buf, size_t size)
{
	const char *file, *slash;
	u32 line;

	if (!p->dso || !ap_dso_line(p->dso, p->addr, &file, &line)) {
		snprintf(buf, size, "%s", p->dso ? p->dso->name : "[unknown]");
		return buf;
	}
	slash = strrchr(file, '/');
	snprintf(buf, size, "%s:%u", slash ? slash + 1 : file, line);
	return buf;
}

static const char *kind_of(const struct ap_share_line *l)
{
	return l->is_unknown ? "unknown" : l->is_false ? "false" : "true";
}

static void print_fields(const struct ap_sharing *sh, const struct ap_share_line *l,
			 const char *sep, FILE *out)
{
	char text[SOURCE_TEXT];

	for (u32 i = l->first; i < l->first + l->n; i++) {
		const struct ap_share_use *u = &sh->use[i];

		ap_print_fields(out, sep, "%#llx\t%s\t%llu\t%s\t%u\t%s\t",
				(unsigned long long)l->line, kind_of(l),
				(unsigned long long)u->offset, u->is_store ? "store" : "load",
				u->tid, u->comm);
		ap_print_fields(out, sep, "%llu\t%llu\t%llu\t%#llx\t", (unsigned long long)u->hitm,
				(unsigned long long)u->refs, (unsigned long long)ap_share_mean(u),
				(unsigned long long)u->at.ip);
		ap_print_fields(out, sep, "%s\t", symbol_of(&u->at, text, sizeof(text)));
		ap_print_fields(out, sep, "%s\t", source_of(&u->at, text, sizeof(text)));
		ap_print_fields(out, sep, "%s\n", symbol_of(&u->data, text, sizeof(text)));
	}
}

static void print_line(const struct ap_sharing *sh, const struct ap_share_line *l, FILE *out)
{
	char at[SOURCE_TEXT], source[SOURCE_TEXT], data[SOURCE_TEXT];

	ap_print(out,
		 "\n  line %#llx  %s sharing by %u threads: %llu HITM (%llu loads, %llu stores), "
		 "%.2f%% of all\n",
		 (unsigned long long)l->line, kind_of(l), l->threads, (unsigned long long)l->hitm,
		 (unsigned long long)l->loads, (unsigned long long)l->stores,
		 sh->hitm ? 100.0 * (double)l->hitm / (double)sh->hitm : 0.0);
	ap_print(out, "    %6s  %-5s  %-24s %10s %10s %7s  %-18s  %-24s  %-24s  %s\n", "offset",
		 "op", "thread", "HITM", "sampled", "cycles", "ip", "function", "source", "datum");
	for (u32 i = l->first; i < l->first + l->n; i++) {
		const struct ap_share_use *u = &sh->use[i];
		char thread[40];

		snprintf(thread, sizeof(thread), "%.20s:%u", u->comm, u->tid);
		ap_print(
			out,
			"    %#6llx  %-5s  %-24s %10llu %10llu %7llu  %#-18llx  %-24s  %-24s  %s\n",
			(unsigned long long)u->offset, u->is_store ? "store" : "load", thread,
			(unsigned long long)u->hitm, (unsigned long long)u->refs,
			(unsigned long long)ap_share_mean(u), (unsigned long long)u->at.ip,
			symbol_of(&u->at, at, sizeof(at)),
			source_of(&u->at, source, sizeof(source)),
			symbol_of(&u->data, data, sizeof(data)));
	}
}

static void print(const struct c2c_args *a, const struct ap_sharing *sh, FILE *out)
{
	u32 shown = 0;

	if (!a->separator)
		fprintf(out,
			"# Lines that threads take from each other: %u of %u with samples\n"
			"# HITM (modelled): %llu of %llu references that were sampled\n"
			"# Counts are sums of periods, cycles the mean of a use; false: nobody uses "
			"what another stores to, unknown: no store was sampled\n",
			sh->nlines, sh->all, (unsigned long long)sh->hitm,
			(unsigned long long)sh->refs);
	for (u32 i = 0; i < sh->nlines && (!a->lines || shown < a->lines); i++) {
		const struct ap_share_line *l = &sh->line[i];

		if (a->only_false && !l->is_false)
			continue;
		shown++;
		if (a->separator)
			print_fields(sh, l, a->separator, out);
		else
			print_line(sh, l, out);
	}
}

static int report(const struct c2c_args *a)
{
	struct ap_data *d = ap_profile_open(COMMAND, a->input, a->force);
	struct ap_profile_session *s;
	struct ap_sharing sh;
	int status = 0, closed;

	if (!d)
		return AP_EXIT_FAILURE;
	s = ap_profile_calloc(1, sizeof(*s));
	ap_session_init(s);
	ap_profile_symbols(&s->symbols, a->force);
	ap_session_build_ids(s, d);
	ap_sharing_read(&sh, s, d, a->line_size);
	if (sh.damaged)
		fprintf(stderr, COMMAND ": %llu samples are damaged and were left out\n",
			(unsigned long long)sh.damaged);
	if (sh.samples && sh.samples == sh.without) {
		ap_print(stderr,
			 COMMAND
			 ": the samples of %s do not say which data they are of (anyperf c2c "
			 "record)\n",
			 ap_profile_path(a->input));
		status = AP_EXIT_FAILURE;
	} else {
		print(a, &sh, stdout);
	}
	ap_sharing_fini(&sh);
	ap_session_fini(s);
	free(s);
	closed = ap_profile_close(COMMAND, a->input, d);
	return status ? status : closed;
}

int ap_cmd_c2c(int argc, char **argv)
{
	struct c2c_args a = { .line_size = 64 };
	int rest, status;
	bool records;

	if (!ap_opts_begin(&ap_spec_c2c, &a, argc, argv, &rest, &status))
		return status;
	if (rest >= argc ||
	    (strcmp(argv[rest], "record") != 0 && strcmp(argv[rest], "report") != 0))
		return ap_opts_wrong(&ap_spec_c2c, "needs record or report",
				     rest < argc ? argv[rest] : NULL);
	records = !strcmp(argv[rest], "record");
	argc -= rest;
	argv += rest;
	if (!ap_opts_begin(&ap_spec_c2c, &a, argc, argv, &rest, &status))
		return status;
	if (a.line_size < 8 || a.line_size > 4096 || a.line_size & (a.line_size - 1))
		return ap_opts_wrong(&ap_spec_c2c, "--line-size is a power of two, 8 to 4096",
				     NULL);
	if (!records && rest < argc)
		return ap_opts_wrong(&ap_spec_c2c, "report takes no argument", argv[rest]);
	if (records && rest >= argc && !a.record.pid)
		return ap_opts_wrong(&ap_spec_c2c, "no command to record", NULL);
	a.record.with_cpu = true;
	return records ? ap_mem_record(&a.record, EVENTS, argv + rest) : report(&a);
}
