/* SPDX-License-Identifier: MIT */
/*
 * `anyperf --list-opts`: every command and option as lines of fields, for what writes completions of shells
 * (tools/completions.awk).  What --help shows is here and nothing else, so a completion offers what help tells of.
 *
 *	cmd <command> <words that may follow> <what its operands are> <help>
 *	opt <command> <letter or -> <name> <no|yes|maybe|next: has a value> <what the value is> <help>
 *
 * Fields are separated by tabs.  What a value or an operand is: event, metric, pid, file, dir, command, none, or
 * words:a,b,c.
 */
#include "cli/opt_list.h"

#include <string.h>

#include "base/types.h"
#include "print/print.h"

/* By the name that help gives to a value. */
static const struct {
	const char *value, *what;
} values[] = {
	{ "event", "event" },	  { "metric", "metric" },   { "pid", "pid" },
	{ "pids", "pid" },	  { "file", "file" },	    { "path", "file" },
	{ "dir", "dir" },	  { "command", "command" }, { "yes|no", "words:yes,no" },
	{ "time", "words:time" },
};

#define CPU_WORDS "skylake,icelake,sapphirerapids,zen3,zen4"

/* By the name of the option, where a value is one of few words. */
static const struct {
	const char *option, *what;
} options[] = {
	{ "machine", "words:" CPU_WORDS ",cachegrind,host" },
	{ "cpu-id", "words:" CPU_WORDS },
	{ "code-cache", "words:off,session" },
	{ "format", "words:flamegraph,collapsed,speedscope,firefox,pprof,callgrind,cachegrind" },
	{ "weight", "words:period,samples" },
	{ "disassembler-style", "words:att,intel" },
	{ "percent-type", "words:local-period,global-period,local-hits,global-hits" },
	{ "percentage", "words:relative,absolute" },
	{ "time-quantum", "none" },
};

static const char *value_of(const struct ap_opt *opt, bool is_perfex)
{
	size_t i;

	if (!opt->value)
		return "none";
	if (is_perfex && !strcmp(opt->value, "event"))
		return "none"; /* of another CPU: numbers, or names of its manual */
	for (i = 0; i < AP_ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].option, opt->name))
			return options[i].what;
	for (i = 0; i < AP_ARRAY_SIZE(values); i++)
		if (!strcmp(values[i].value, opt->value))
			return values[i].what;
	return "none";
}

static const char *has_value(const struct ap_opt *opt)
{
	if (!opt->value)
		return "no";
	return opt->type == AP_OPT_MAYBE ? "maybe" : opt->type == AP_OPT_NEXT ? "next" : "yes";
}

void ap_opts_list(const char *name, const char *words, const char *operands,
		  const struct ap_opt_spec *spec, const char *help, FILE *out)
{
	ap_print(out, "cmd\t%s\t%s\t%s\t%s\n", name, words, operands, help);
	if (!spec)
		return;
	for (const struct ap_opt *opt = spec->table; opt->name; opt++) {
		const char letter[] = { opt->letter ? opt->letter : '-', '\0' };

		if (!opt->hidden && opt->type != AP_OPT_GROUP)
			ap_print(out, "opt\t%s\t%s\t%s\t%s\t%s\t%s\n", name, letter, opt->name,
				 has_value(opt), value_of(opt, !strcmp(name, "perfex")), opt->help);
	}
	ap_print(out, "opt\t%s\th\thelp\tno\tnone\tprint this help\n", name);
}
