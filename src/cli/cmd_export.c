/* SPDX-License-Identifier: MIT */
/*
 * `anyperf export`: a profile in the format of another tool.  What is written is behind
 * profile/export/export.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/outfile.h"
#include "cli/profile.h"
#include "cli/version.h"
#include "print/print.h"
#include "profile/export/export.h"

#define DEFAULT_FORMAT "flamegraph"

struct export_args {
	const char *input, *output, *event, *title;
	const struct ap_export_format *format;
	enum ap_export_weight weight;
	bool no_inline, no_demangle, quiet, force;
};

static int opt_format(void *args, const char *value, char *why)
{
	struct export_args *a = args;
	size_t n;

	a->format = ap_export_find(value);
	if (a->format)
		return 0;
	n = (size_t)snprintf(why, AP_OPT_WHY, "no such format; there are");
	for (unsigned int i = 0; ap_export_nth(i) && n < AP_OPT_WHY; i++)
		n += (size_t)snprintf(why + n, AP_OPT_WHY - n, "%s %s", i ? "," : "",
				      ap_export_nth(i)->name);
	return -EINVAL;
}

static int opt_weight(void *args, const char *value, char *why)
{
	struct export_args *a = args;

	if (!strcmp(value, "samples"))
		a->weight = AP_WEIGHT_SAMPLES;
	else if (!strcmp(value, "period"))
		a->weight = AP_WEIGHT_PERIOD;
	else
		snprintf(why, AP_OPT_WHY, "needs period or samples");
	return *why ? -EINVAL : 0;
}

#define OPT_ARGS struct export_args

/* clang-format off */
static const struct ap_opt export_opts[] = {
	GROUP("Input"),
	STR('i', "input", input, "file", "read this profile (default perf.data); -: standard input"),
	STR('e', "event", event, "event", "this event (a name, or its number from 1) where the file has several"),
	FLAG(0, "force", force, "read another user's file, a FIFO or a device, too"),
	GROUP("What is written"),
	{ .letter = 'f', .name = "format", .type = AP_OPT_CALL, .call = opt_format, .value = "format",
	  .help = "flamegraph, collapsed, speedscope, firefox, pprof, callgrind or cachegrind" },
	{ .name = "weight", .type = AP_OPT_CALL, .call = opt_weight, .value = "what",
	  .help = "period: events that samples stand for (default); samples: their number" },
	FLAG(0, "no-demangle", no_demangle, "names of functions as they stand in the file"),
	FLAG(0, "no-inline", no_inline, "functions that were expanded are no frames of their own"),
	STR(0, "title", title, "text", "title of the profile (default: the command line)"),
	GROUP("Output"),
	STR('o', "output", output, "file", "write this file; -: standard output"),
	FLAG('q', "quiet", quiet, "do not say what was written"),
	{ 0 }
};

const struct ap_opt_spec ap_spec_export = {
	"anyperf export", "[options]", export_opts,
	{ { "-f flamegraph -o flame.html", "make a flame graph, as a page" },
	  { "-f speedscope -o profile.json", "make a file for speedscope" } },
};
/* clang-format on */

/* What was recorded, in one line. */
static char *title_of(struct ap_data *data, const char *fallback)
{
	u64 size = 0, at = 4;
	const u8 *section = ap_data_feature(data, AP_FEAT_CMDLINE, &size);
	char *title = NULL;
	u32 n = section && size >= 4 ? ap_data_u32(data, section) : 0;

	for (u32 i = 0; i < n && at + 4 <= size; i++) {
		u64 len = ap_data_u32(data, section + at);
		const char *word = (const char *)section + at + 4;
		char *longer;

		if (len > size - at - 4 || !memchr(word, '\0', len))
			break;
		longer = title ? ap_xasprintf("%s %s", title, word) : ap_xstrdup(word);
		free(title);
		title = longer;
		at += 4 + len;
	}
	return title ? title : ap_xstrdup(fallback);
}

/* Its index; nevents: a line was said. */
static u32 choose_event(const struct ap_stacks *stacks, const char *name)
{
	char *end;
	unsigned long n;
	u32 i;

	for (i = 0; i < stacks->nevents; i++)
		if (name ? !strcmp(stacks->event[i].event->name, name) : stacks->event[i].count > 0)
			return i;
	n = name ? strtoul(name, &end, 10) : 0;
	if (n && !*end && n <= stacks->nevents)
		return (u32)n - 1;
	if (name)
		ap_print(stderr,
			 "anyperf export: no event '%s' in the file ('anyperf evlist' "
			 "lists them)\n",
			 name);
	else
		fputs("anyperf export: the file has no samples\n", stderr);
	return stacks->nevents;
}

/* What was written, where and of how much; of what had the name. */
static void tell(const struct export_args *a, const struct ap_export *x, const char *output,
		 size_t size, bool kept)
{
	const struct ap_stack_event *ev = &x->stacks->event[x->event];

	if (a->quiet)
		return;
	if (kept)
		ap_print(stderr, "[ anyperf export: What was %s is %s.old ]\n", output, output);
	ap_print(stderr, "[ anyperf export: Wrote %s, %.3f MB: %s of %s (%llu samples) ]\n", output,
		 (double)size / 1e6, a->format->name, ev->event->name,
		 (unsigned long long)ev->count);
}

static int write_file(const struct export_args *a, const struct ap_export *x, const char *output,
		      const char *text, size_t size)
{
	bool kept;
	int ret = ap_outfile_write_keeping(output, text, size, &kept, stderr);

	if (!ret)
		tell(a, x, output, size, kept);
	return ret;
}

static int write_out(const struct export_args *a, const struct ap_export *x)
{
	const char *output = a->output ? a->output : a->format->file;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		ap_die("out of memory");
	ret = a->format->write(x, out);
	if (fclose(out) || ret == -ENOMEM)
		ap_die("out of memory");
	if (ret == -ENOENT)
		ap_print(stderr,
			 "anyperf export: %s has columns for none of the events of the file "
			 "(man anyperf-export lists them)\n",
			 a->format->name);
	else if (ret)
		ap_print(stderr, "anyperf export: cannot write %s: %s\n", a->format->name,
			 strerror(-ret));
	else if (!strcmp(output, "-"))
		ret = ap_outfile_print(stdout, text, size, stderr);
	else
		ret = write_file(a, x, output, text, size);
	free(text);
	return ret ? AP_EXIT_FAILURE : 0;
}

/* Names that another format's files have as a rule: without an option that one is meant. */
static const struct {
	const char *end, *format;
} endings[] = { { ".html", "flamegraph" },
		{ ".svg", "flamegraph" },
		{ ".collapsed", "collapsed" },
		{ ".folded", "collapsed" },
		{ ".speedscope.json", "speedscope" },
		{ ".firefox.json", "firefox" },
		{ ".pb.gz", "pprof" },
		{ ".pprof", "pprof" } };

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* The format that was asked for, or that the file's name says. */
static const struct ap_export_format *format_of(const struct export_args *a)
{
	const char *slash = a->output ? strrchr(a->output, '/') : NULL;
	const char *name = slash ? slash + 1 : a->output;

	if (a->format || !name)
		return a->format ? a->format : ap_export_find(DEFAULT_FORMAT);
	if (!strncmp(name, "callgrind.out", 13))
		return ap_export_find("callgrind");
	if (!strncmp(name, "cachegrind.out", 14))
		return ap_export_find("cachegrind");
	for (size_t i = 0; i < AP_ARRAY_SIZE(endings); i++)
		if (ends_with(name, endings[i].end))
			return ap_export_find(endings[i].format);
	return ap_export_find(DEFAULT_FORMAT);
}

static int export_data(const struct export_args *a, struct ap_data *data)
{
	const struct ap_stacks_options options = { .by_place = a->format->by_place,
						   .inlines = !a->no_inline,
						   .no_demangle = a->no_demangle,
						   .force = a->force,
						   .complain = ap_profile_complain };
	struct ap_stacks stacks;
	struct ap_export x = {
		.stacks = &stacks, .data = data, .weight = a->weight, .version = ap_version
	};
	int ret = ap_stacks_read(&stacks, data, &options), status = AP_EXIT_FAILURE;
	char *title;

	if (ret) {
		ap_print(stderr, "anyperf export: cannot read %s: %s\n", a->input, strerror(-ret));
		ap_stacks_fini(&stacks);
		return status;
	}
	if (stacks.damaged)
		fprintf(stderr, "anyperf export: %llu samples could not be read\n",
			(unsigned long long)stacks.damaged);
	ap_profile_tell_lost("anyperf export", a->input,
			     stacks.session.lost + stacks.session.lost_samples);
	title = a->title ? ap_xstrdup(a->title) : title_of(data, a->input);
	x.title = title;
	x.as_svg = a->output && ends_with(a->output, ".svg");
	x.event = choose_event(&stacks, a->event);
	if (x.event < stacks.nevents)
		status = write_out(a, &x);
	free(title);
	ap_stacks_fini(&stacks);
	return status;
}

int ap_cmd_export(int argc, char **argv)
{
	struct export_args a = { 0 };
	struct ap_data *data;
	int rest, status;

	if (!ap_opts_begin(&ap_spec_export, &a, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&ap_spec_export, "give the file by -i", argv[rest]);
	a.format = format_of(&a);
	if (a.output && ends_with(a.output, ".json") && !strcmp(a.format->name, DEFAULT_FORMAT))
		return ap_opts_wrong(&ap_spec_export, "say which JSON by -f: speedscope or firefox",
				     a.output);
	data = ap_profile_open("anyperf export", a.input, a.force);
	if (!data)
		return AP_EXIT_FAILURE;
	a.input = ap_profile_path(a.input);
	status = export_data(&a, data);
	rest = ap_profile_close("anyperf export", a.input, data);
	return status ? status : rest;
}
