/* SPDX-License-Identifier: MIT */
/* Puts the drivers of a session together.  See drivers.h. */
#include "pmu/drivers.h"

int ap_pmu_drivers_register(struct ap_pmu_drivers *d, struct ap_core *core, enum ap_cpu cpu)
{
	struct ap_pmu *const all[] = { &d->software,   &d->cpu,	  &d->breakpoint,
				       &d->tracepoint, &d->kinds, &d->probe };
	u32 i;
	int err;

	*d = (struct ap_pmu_drivers){ .arch = ap_pmu_arch(cpu) };
	ap_pmu_software_init(d);
	ap_pmu_cpu_init(d);
	ap_pmu_breakpoint_init(d);
	ap_pmu_tracepoint_init(d);
	ap_pmu_kinds_init(d);
	ap_pmu_probe_init(d);
	for (i = 0; i < AP_ARRAY_SIZE(all); i++) {
		all[i]->priv = d;
		err = ap_core_register_pmu(core, all[i]);
		if (err < 0)
			return err;
	}
	return 0;
}
