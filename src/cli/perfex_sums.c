/* SPDX-License-Identifier: MIT */
/*
 * The table that perfex prints, in its words, and behind it lines that begin with # and say of each
 * sum whether it is exact or modelled.  That is asked of the CPU's model, programmed as the control
 * says; what it cannot count is no 0 but <not counted>, with the reason.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/perfex_event.h"
#include "perfctr/model/x86.h"
#include "print/print.h"

struct virtual_cpu {
	struct ap_x86model model;
	struct ap_x86model_cpu cpu;
	struct ap_x86ctr drv;
	struct ap_x86ctr_cache cache;
	struct ap_x86ctr_state state;
};

_Static_assert(sizeof(struct ap_x86ctr_control) == sizeof(struct perfctr_cpu_control),
	       "one layout");

/* False: nothing is known of it, and so of what it counts. */
static bool program(struct virtual_cpu *v, const struct ap_x86model_about *about,
		    const struct perfctr_cpu_control *control)
{
	if (!about)
		return false;
	ap_x86model_init(&v->model, about->family, &v->cpu, 1);
	memset(&v->state, 0, sizeof(v->state));
	memcpy(&v->state.control, control, sizeof(v->state.control));
	if (ap_x86ctr_init(&v->drv, &ap_x86model_ops, &v->model, &v->cache, 1) ||
	    ap_x86ctr_reserve(&v->drv, "perfex") || ap_x86ctr_update_control(&v->drv, &v->state, 0))
		return false;
	ap_x86ctr_resume(&v->drv, &v->state);
	return true;
}

static void print_event(FILE *out, const struct perfctr_cpu_control *cpu, unsigned int i)
{
	fprintf(out, "0x%08X", cpu->evntsel[i]);
	if (cpu->p4.escr[i])
		fprintf(out, "/0x%08X", cpu->p4.escr[i]);
	if (cpu->pmc_map[i] >= PERFCTR_MAX_PMCS)
		fprintf(out, "@0x%08x", cpu->pmc_map[i]);
	else
		fprintf(out, "@%u", cpu->pmc_map[i]);
}

static void print_sums(FILE *out, const struct perfctr_cpu_control *cpu,
		       const struct perfctr_sum_ctrs *sum, const struct ap_perfex_label *labels)
{
	if (cpu->tsc_on)
		fprintf(out, "tsc\t\t\t\t%19" PRId64 "\n", (int64_t)sum->tsc);
	for (unsigned int i = 0; i < cpu->nractrs && i < PERFCTR_MAX_PMCS; i++) {
		fputs("event ", out);
		print_event(out, cpu, i);
		fputs(cpu->pmc_map[i] >= PERFCTR_MAX_PMCS ? "\t" : "\t\t", out);
		if (labels && !labels[i].kinds)
			ap_print(out, "%19s\n", "<not counted>");
		else
			fprintf(out, "%19" PRId64 "\n", (int64_t)sum->pmc[i]);
	}
}

static void print_labels(FILE *out, const struct perfctr_cpu_control *cpu,
			 const struct ap_perfex_label *labels)
{
	for (unsigned int i = 0; i < cpu->nractrs && i < PERFCTR_MAX_PMCS; i++) {
		const struct ap_perfex_label *l = &labels[i];

		fputs("# ", out);
		print_event(out, cpu, i);
		if (!l->kinds)
			ap_print(out, " is not counted: %s\n", l->why);
		else
			fputs(l->kinds & AP_KINDS_MODEL ? " is modelled\n" : " is exact\n", out);
	}
}

void ap_perfex_print(FILE *out, const struct perfctr_cpu_control *cpu,
		     const struct perfctr_sum_ctrs *sum, const struct ap_perfex_label *labels)
{
	print_sums(out, cpu, sum, labels);
	if (labels)
		print_labels(out, cpu, labels);
}

void ap_perfex_print_sums(FILE *out, const struct perfctr_info *info,
			  const struct vperfctr_control *c, const struct perfctr_sum_ctrs *sum)
{
	const struct ap_x86model_about *about = ap_perfex_about(info);
	const struct perfctr_cpu_control *cpu = &c->cpu_control;
	struct ap_perfex_label labels[PERFCTR_MAX_PMCS] = { { 0, "" } };
	struct virtual_cpu v;
	bool is_known = program(&v, about, cpu);
	bool has_offcore = info->cpu_type >= PERFCTR_X86_NEHALEM;

	for (unsigned int i = 0; is_known && i < cpu->nractrs && i < PERFCTR_MAX_PMCS; i++)
		labels[i].kinds = ap_x86model_counts(
			&v.model, ap_x86model_number(&v.model, cpu->pmc_map[i]), &labels[i].why);
	print_sums(out, cpu, sum, is_known ? labels : NULL);
	if (cpu->p4.pebs_enable)
		ap_print(out, "%s 0x%08X\n", has_offcore ? "NHLM_OFFCORE_RSP_0" : "PEBS_ENABLE",
			 cpu->p4.pebs_enable);
	if (cpu->p4.pebs_matrix_vert)
		ap_print(out, "%s 0x%08X\n",
			 has_offcore ? "NHLM_OFFCORE_RSP_1" : "PEBS_MATRIX_VERT",
			 cpu->p4.pebs_matrix_vert);
	if (is_known)
		print_labels(out, cpu, labels);
}
