/* SPDX-License-Identifier: MIT */
/*
 * Numbers of perfex are hexadecimal unless told otherwise, as they always were.  Names and counters
 * are those of the models (perfctr/model), found by the CPU type that the session tells.
 */
#include "cli/perfex_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfctr/model/x86.h"
#include "print/print.h"

#define ENABLE 0x400000u /* of P6: both counters by the first one's */

const struct ap_x86model_about *ap_perfex_about(const struct perfctr_info *info)
{
	static struct ap_x86model_about found;

	for (unsigned int i = 0; ap_x86model_about(i, &found); i++)
		if (found.type == info->cpu_type)
			return &found;
	return NULL;
}

u32 ap_perfex_type(const char *name)
{
	struct ap_x86model_about about;

	for (unsigned int i = 0; ap_x86model_about(i, &about); i++)
		if (!strcmp(ap_x86model_name(i), name))
			return about.type;
	return 0;
}

/* The number at *p, which then is behind it. */
static int number(const char **p, enum ap_perfex_radix radix, u32 *val)
{
	char *end, *c_end;
	unsigned long long n, c;

	errno = 0;
	n = strtoull(*p, &end, radix == AP_PERFEX_C ? 0 : 16);
	if (end == *p || errno || n > UINT32_MAX || **p == '-' || **p == '+')
		return -EINVAL;
	c = strtoull(*p, &c_end, 0);
	if (radix == AP_PERFEX_DEFAULT && c_end == end && c != n)
		ap_print(
			stderr,
			"anyperf perfex: %.*s is taken as hexadecimal (-d reads numbers as C does, "
			"-x says that it is meant)\n",
			(int)(end - *p), *p);
	*val = (u32)n;
	*p = end;
	return 0;
}

int ap_perfex_number(const char *text, enum ap_perfex_radix radix, u32 *val, char *why, size_t size)
{
	if (!number(&text, radix, val) && !*text)
		return 0;
	snprintf(why, size, "needs a number of 32 bits");
	return -EINVAL;
}

int ap_perfex_add(struct ap_perfex_control *c, const char *text, char *why, size_t size)
{
	if (c->n == PERFCTR_MAX_PMCS) {
		snprintf(why, size, "no CPU has more than %d counters", PERFCTR_MAX_PMCS);
		return -EINVAL;
	}
	c->events[c->n].text = text;
	c->events[c->n++].radix = c->radix;
	return 0;
}

/* The row of a name that is *p up to a '@' or its end. */
static bool named(const struct ap_x86model_about *cpu, const char **p, u32 *evntsel)
{
	size_t len = strcspn(*p, "@");
	struct ap_x86model_listed row;

	for (unsigned int i = 0; cpu && ap_x86model_listed(cpu, i, &row); i++) {
		if (strlen(row.name) != len || strncmp(row.name, *p, len) != 0)
			continue;
		*evntsel = row.evntsel;
		*p += len;
		return true;
	}
	return false;
}

static int resolve_one(const struct ap_perfex_control *c, unsigned int i,
		       const struct ap_x86model_about *cpu, struct perfctr_cpu_control *out)
{
	enum ap_perfex_radix radix = c->events[i].radix;
	const char *p = c->events[i].text;
	bool is_named = named(cpu, &p, &out->evntsel[i]);

	out->pmc_map[i] = cpu && cpu->first ? cpu->first : i;
	if (!is_named && number(&p, radix, &out->evntsel[i]))
		return -EINVAL;
	if (!is_named && *p == '/') {
		p++;
		if (number(&p, radix, &out->p4.escr[i]))
			return -EINVAL;
	}
	if (*p == '@') {
		p++;
		if (number(&p, radix, &out->pmc_map[i]))
			return -EINVAL;
	}
	if (is_named && cpu->is_enabled_by_first && out->pmc_map[i])
		out->evntsel[i] &= ~ENABLE;
	return *p ? -EINVAL : 0;
}

int ap_perfex_resolve(const struct ap_perfex_control *c, const struct perfctr_info *info,
		      struct vperfctr_control *out, char *why, size_t size)
{
	memset(out, 0, sizeof(*out));
	out->cpu_control.tsc_on = (info->cpu_features & PERFCTR_FEATURE_RDTSC) != 0;
	out->cpu_control.nractrs = c->n;
	out->cpu_control.p4.pebs_enable = c->pebs_enable;
	out->cpu_control.p4.pebs_matrix_vert = c->pebs_matrix_vert;
	for (unsigned int i = 0; i < c->n; i++) {
		if (!resolve_one(c, i, ap_perfex_about(info), &out->cpu_control))
			continue;
		snprintf(why, size,
			 "-e %s: no event of this CPU (-l lists them), nor evntsel[/escr][@pmc]",
			 c->events[i].text);
		return -EINVAL;
	}
	return 0;
}

/* --- what it prints */

const char *ap_perfex_cpu_name(const struct perfctr_info *info)
{
	const struct ap_x86model_about *cpu = ap_perfex_about(info);

	return cpu ? cpu->cpu_name : "unknown";
}

int ap_perfex_print_info(FILE *out, const struct perfctr_info *info)
{
	const struct ap_x86model_about *cpu = ap_perfex_about(info);
	static const char *const features[] = { "rdpmc", "rdtsc", "pcint" };
	long ncpus = sysconf(_SC_NPROCESSORS_CONF);
	const char *comma = "";

	ap_print(out, "PerfCtr Info:\nabi_version\t\t0x%08X\ndriver_version\t\t%.32s\n",
		 info->abi_version, info->driver_version);
	ap_print(out, "cpu_type\t\t%u (%s)\ncpu_features\t\t%#x (", info->cpu_type,
		 ap_perfex_cpu_name(info), info->cpu_features);
	for (unsigned int i = 0; i < AP_ARRAY_SIZE(features); i++) {
		if (!(info->cpu_features >> i & 1))
			continue;
		ap_print(out, "%s%s", comma, features[i]);
		comma = ",";
	}
	fprintf(out, ")\ncpu_khz\t\t\t%u\ntsc_to_cpu_mult\t\t%u\ncpu_nrctrs\t\t%u\ncpus\t\t\t[",
		info->cpu_khz, info->tsc_to_cpu_mult, cpu ? cpu->nrctrs : 0);
	for (long i = 0; i < ncpus; i++)
		ap_print(out, "%s%ld", i ? "," : "", i);
	fprintf(out, "], total: %ld\ncpus_forbidden\t\t[], total: 0\n", ncpus);
	return 0;
}

int ap_perfex_print_list(FILE *out, const struct perfctr_info *info, bool is_long)
{
	const struct ap_x86model_about *cpu = ap_perfex_about(info);
	struct ap_x86model_listed row;

	ap_print(out, "CPU type %s\n", ap_perfex_cpu_name(info));
	if (info->cpu_features & PERFCTR_FEATURE_RDTSC)
		fputs("One time-stamp counter available\n", out);
	fprintf(out, "%u performance counters available\n", cpu ? cpu->nrctrs : 0);
	ap_print(out, "Overflow interrupts %savailable\n",
		 info->cpu_features & PERFCTR_FEATURE_PCINT ? "" : "not ");
	if (!cpu || !ap_x86model_listed(cpu, 0, &row))
		return 0;
	fputs(is_long ? "Events Available:\nName:EvntSel:CounterSet:DefaultUnitMask\n"
		      : "Events Available:\n",
	      out);
	for (unsigned int i = 0; ap_x86model_listed(cpu, i, &row); i++) {
		if (is_long)
			ap_print(out, "%s:0x%02X:0x%X:0x%02X\n", row.name, row.code & 0xff,
				 cpu->first ? 1U << cpu->first : (1U << cpu->nrctrs) - 1,
				 row.code >> 8 & 0xff);
		else
			ap_print(out, "%s\n", row.name);
	}
	return 0;
}
