/* SPDX-License-Identifier: MIT */
/* What can be said of models without running one: their CPUs as a driver finds them, and their events. */
#include "base/mem.h"
#include "perfctr/model/x86_family.h"

bool ap_x86model_about(unsigned i, struct ap_x86model_about *about)
{
	const char *name = ap_x86model_name(i);
	struct ap_x86ctr_cache cache;
	struct ap_x86model_cpu cpu;
	struct ap_x86model m;
	struct ap_x86ctr drv;

	if (!name)
		return false;
	memset(about, 0, sizeof(*about));
	about->family = ap_x86model_find(name);
	ap_x86model_init(&m, about->family, &cpu, 1);
	if (ap_x86ctr_init(&drv, &ap_x86model_ops, &m, &cache, 1))
		return false;
	about->cpu_name = drv.ctr.name;
	about->type = drv.ctr.type;
	about->features = drv.ctr.features;
	about->nrctrs = ap_x86ctr_nrctrs(&drv);
	about->first = about->type == AP_CTR_X86_C3 ? 1 : 0;
	about->is_enabled_by_first =
		about->type == AP_CTR_X86_P6 || about->type == AP_CTR_X86_PII ||
		about->type == AP_CTR_X86_PIII || about->type == AP_CTR_X86_PENTM;
	return true;
}

bool ap_x86model_listed(const struct ap_x86model_about *about, unsigned i,
			struct ap_x86model_listed *row)
{
	const struct ap_x86model_family *family = about->family;

	for (u32 k = 0; k < family->nevents; k++) {
		const struct ap_x86model_event *event = &family->events[k];

		if (!event->kinds || i--)
			continue;
		row->name = event->name;
		row->code = event->code;
		row->evntsel = event->code | family->user;
		return true;
	}
	return false;
}
