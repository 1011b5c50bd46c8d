/* SPDX-License-Identifier: MIT */
/*
 * The driver for 32-bit PowerPC.  All its families have the same registers, only more or fewer of
 * them: MMCR0 has what rules all counters and the events of PMC1 and PMC2, MMCR1 those of PMC3 to
 * PMC6, MMCR2 a scale of thresholds.
 *
 * On a 74xx MMCR0 changes by itself if FCECE or TRIGGER is set in it.  Such a state is frozen when it
 * leaves the CPU, and what MMCR0 had become is what it comes back with.
 * Sources: the user's manuals of the MPC604e, MPC750, MPC7410 and MPC7450, "Performance Monitor".
 */
#include "perfctr/ppc.h"
#include "abi/errno.h"
#include "base/mem.h"

struct ap_ppcctr_family {
	u8 npmcs;
	u8 nmmcrs;
	bool is_74xx;  /* MMCR2, BAMR, and an MMCR0 that changes */
	bool has_upmc; /* programs can read counters */
};

static const struct ap_ppcctr_family generic = { 0 };
static const struct ap_ppcctr_family ppc604 = { .npmcs = 2, .nmmcrs = 1 };
static const struct ap_ppcctr_family ppc604e = { .npmcs = 4, .nmmcrs = 2 };
static const struct ap_ppcctr_family ppc750 = { .npmcs = 4, .nmmcrs = 2, .has_upmc = true };
static const struct ap_ppcctr_family ppc7400 = {
	.npmcs = 4, .nmmcrs = 3, .is_74xx = true, .has_upmc = true
};
static const struct ap_ppcctr_family ppc7450 = {
	.npmcs = 6, .nmmcrs = 3, .is_74xx = true, .has_upmc = true
};

/* clang-format off */
static const struct cpu_row {
	u32 version; /* upper half of PVR */
	u32 type;
	const char *name;
	const struct ap_ppcctr_family *family;
} rows[] = {
	{ 0x0004, AP_CTR_PPC_604, "PowerPC 604", &ppc604 },
	{ 0x0009, AP_CTR_PPC_604E, "PowerPC 604e", &ppc604e },
	{ 0x000a, AP_CTR_PPC_604E, "PowerPC 604ev", &ppc604e },
	{ 0x0008, AP_CTR_PPC_750, "PowerPC 750/740/750CX", &ppc750 },
	{ 0x7000, AP_CTR_PPC_750, "PowerPC 750FX", &ppc750 },
	{ 0x7002, AP_CTR_PPC_750, "PowerPC 750GX", &ppc750 },
	{ 0x000c, AP_CTR_PPC_7400, "PowerPC 7400", &ppc7400 },
	{ 0x800c, AP_CTR_PPC_7400, "PowerPC 7410", &ppc7400 },
	{ 0x8000, AP_CTR_PPC_7450, "PowerPC 7451/7441", &ppc7450 },
	{ 0x8001, AP_CTR_PPC_7450, "PowerPC 7455/7445", &ppc7450 },
	{ 0x8002, AP_CTR_PPC_7450, "PowerPC 7457/7447", &ppc7450 },
};
/* clang-format on */

static const u32 mmcr_spr[3] = { AP_SPR_MMCR0, AP_SPR_MMCR1, AP_SPR_MMCR2 };

/* Where a counter's event goes: its register, the MMCR, the lowest bit, how many events. */
static const struct pmc {
	u16 spr;
	u8 mmcr, shift, nevents;
} pmcs[6] = {
	{ AP_SPR_PMC1, 0, 6, 128 }, { AP_SPR_PMC2, 0, 0, 64 },	{ AP_SPR_PMC3, 1, 27, 32 },
	{ AP_SPR_PMC4, 1, 22, 32 }, { AP_SPR_PMC5, 1, 17, 32 }, { AP_SPR_PMC6, 1, 11, 64 },
};

static struct ap_ppcctr_cache *this_cache(const struct ap_ppcctr *drv)
{
	struct ap_ppcctr_cache *caches = drv->ctr.caches;

	return &caches[drv->ops->this_cpu(drv->host)];
}

static u32 read_tb(const struct ap_ppcctr *drv)
{
	return drv->ops->mfspr(drv->host, AP_SPR_TBL);
}

static u32 read_pmc(const struct ap_ppcctr *drv, u32 map)
{
	return drv->ops->mfspr(drv->host, pmcs[map].spr);
}

unsigned ap_ppcctr_nrctrs(const struct ap_ppcctr *drv)
{
	return drv->family->npmcs;
}

/* --- life */

static struct ap_ppcctr *to_ppc(struct ap_ctr *ctr)
{
	return (struct ap_ppcctr *)ctr;
}

static int detect(struct ap_ctr *ctr)
{
	struct ap_ppcctr *drv = to_ppc(ctr);
	u32 version = drv->ops->mfspr(drv->host, AP_SPR_PVR) >> 16;

	drv->family = &generic;
	drv->ctr.type = AP_CTR_PPC_GENERIC;
	drv->ctr.name = "Generic PowerPC with timebase";
	drv->timebase_hz = drv->ops->timebase_hz(drv->host);
	if (!drv->timebase_hz)
		return -AP_ENODEV;
	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		if (rows[i].version != version)
			continue;
		drv->family = rows[i].family;
		drv->ctr.type = rows[i].type;
		drv->ctr.name = rows[i].name;
	}
	drv->ctr.features =
		AP_CTR_FEATURE_RDTSC | (drv->family->has_upmc ? AP_CTR_FEATURE_RDPMC : 0);
	return 0;
}

static int exercise(struct ap_ctr *ctr)
{
	struct ap_ppcctr *drv = to_ppc(ctr);
	struct ap_ppcctr_state state = { .control.tsc_on = 1 };
	int err = ap_ppcctr_update_control(drv, &state, 0);

	if (err)
		return err;
	ap_ppcctr_resume(drv, &state);
	ap_ppcctr_sample(drv, &state);
	ap_ppcctr_suspend(drv, &state);
	return 0;
}

/* MMCR0 first: with it at zero no event is chosen for PMC1 and PMC2, and nothing interrupts. */
static void clear_cpu(void *arg)
{
	const struct ap_ppcctr *drv = arg;

	memset(this_cache(drv), 0, sizeof(*this_cache(drv)));
	for (u32 i = 0; i < drv->family->nmmcrs; i++)
		drv->ops->mtspr(drv->host, mmcr_spr[i], 0);
	for (u32 i = 0; i < drv->family->npmcs; i++)
		drv->ops->mtspr(drv->host, pmcs[i].spr, 0);
	if (drv->family->is_74xx) /* a mask of addresses; nobody shall find ours */
		drv->ops->mtspr(drv->host, AP_SPR_BAMR, 0);
}

static void clear_cpus(struct ap_ctr *ctr)
{
	to_ppc(ctr)->ops->on_each_cpu(to_ppc(ctr)->host, clear_cpu, ctr);
}

int ap_ppcctr_init(struct ap_ppcctr *drv, const struct ap_ppcctr_ops *ops, void *host,
		   struct ap_ppcctr_cache *caches, unsigned ncpus)
{
	static const struct ap_ctr_arch arch = {
		.cache_size = sizeof(*caches),
		.max_cpus = AP_PPCCTR_CPUS,
		.detect = detect,
		.exercise = exercise,
		.open_cpus = clear_cpus,
		.close_cpus = clear_cpus,
	};

	memset(drv, 0, sizeof(*drv));
	drv->ops = ops;
	drv->host = host;
	return ap_ctr_init(&drv->ctr, &arch, caches, ncpus);
}

/* --- control */

static int check_globals(const struct ap_ppcctr *drv, const struct ap_ppcctr_control *control)
{
	u32 mmcr2 = drv->family->is_74xx ? AP_MMCR2_THRESHMULT : 0;

	if (control->nrictrs)
		return -AP_EPERM;
	if (control->ppc.mmcr0 & (AP_MMCR0_SELECTS | AP_MMCR0_PMXE))
		return -AP_EPERM;
	return control->ppc.mmcr2 & ~mmcr2 ? -AP_EPERM : 0;
}

static int check_control(const struct ap_ppcctr *drv, const struct ap_ppcctr_control *control)
{
	int err = check_globals(drv, control);
	u32 seen = 0;

	if (err)
		return err;
	if (control->nractrs > drv->family->npmcs)
		return -AP_EINVAL;
	if (!drv->family->npmcs && control->tsc_on != 1)
		return -AP_EINVAL;
	for (u32 i = 0; i < control->nractrs; i++) {
		u32 pmc = control->pmc_map[i];

		if (pmc >= drv->family->npmcs || seen >> pmc & 1)
			return -AP_EINVAL;
		if (control->evntsel[i] >= pmcs[pmc].nevents)
			return -AP_EINVAL;
		seen |= 1u << pmc;
	}
	return 0;
}

int ap_ppcctr_update_control(struct ap_ppcctr *drv, struct ap_ppcctr_state *state, int is_global)
{
	const struct ap_ppcctr_control *control = &state->control;
	int err;

	(void)is_global;
	state->cstatus = 0;
	state->k1.isuspend_cpu = -1;
	err = check_control(drv, control);
	if (err)
		return err;
	state->ppc_mmcr[0] = control->ppc.mmcr0;
	state->ppc_mmcr[1] = 0;
	state->ppc_mmcr[2] = control->ppc.mmcr2;
	for (u32 i = 0; i < control->nractrs; i++) {
		const struct pmc *pmc = &pmcs[control->pmc_map[i]];

		state->pmc[i].map = control->pmc_map[i];
		state->ppc_mmcr[pmc->mmcr] |= control->evntsel[i] << pmc->shift;
	}
	state->k1.id = ap_ctr_new_id(&drv->ctr);
	state->cstatus = ap_ctr_mk_cstatus(control->tsc_on, control->nractrs, 0);
	return 0;
}

/* --- on the CPU and off */

/* MMCR0 last: what it unfreezes has its events then. */
static void write_control(const struct ap_ppcctr *drv, const struct ap_ppcctr_state *state)
{
	struct ap_ppcctr_cache *cache = this_cache(drv);

	if (cache->id == state->k1.id)
		return;
	for (u32 i = drv->family->nmmcrs; i-- > 0;) {
		if (cache->mmcr[i] == state->ppc_mmcr[i])
			continue;
		cache->mmcr[i] = state->ppc_mmcr[i];
		drv->ops->mtspr(drv->host, mmcr_spr[i], cache->mmcr[i]);
	}
	cache->id = state->k1.id;
}

static bool changes_itself(const struct ap_ppcctr *drv, const struct ap_ppcctr_state *state)
{
	return drv->family->is_74xx && ap_ctr_cstatus_nrctrs(state->cstatus) &&
	       state->control.ppc.mmcr0 & (AP_MMCR0_FCECE | AP_MMCR0_TRIGGER);
}

static void freeze(const struct ap_ppcctr *drv, struct ap_ppcctr_state *state)
{
	struct ap_ppcctr_cache *cache = this_cache(drv);
	u32 mmcr0 = drv->ops->mfspr(drv->host, AP_SPR_MMCR0);

	state->ppc_mmcr[0] = mmcr0;
	cache->mmcr[0] = mmcr0 | AP_MMCR0_FC;
	if (mmcr0 != cache->mmcr[0])
		drv->ops->mtspr(drv->host, AP_SPR_MMCR0, cache->mmcr[0]);
	cache->id = 0;
}

void ap_ppcctr_resume(struct ap_ppcctr *drv, struct ap_ppcctr_state *state)
{
	if (ap_ctr_cstatus_nrctrs(state->cstatus))
		write_control(drv, state);
	if (ap_ctr_cstatus_has_tsc(state->cstatus))
		state->tsc_start = read_tb(drv);
	for (u32 i = 0; i < ap_ctr_cstatus_nrctrs(state->cstatus); i++)
		state->pmc[i].start = read_pmc(drv, state->pmc[i].map);
}

void ap_ppcctr_sample(struct ap_ppcctr *drv, struct ap_ppcctr_state *state)
{
	if (ap_ctr_cstatus_has_tsc(state->cstatus)) {
		u32 now = read_tb(drv);

		state->tsc_sum += now - state->tsc_start;
		state->tsc_start = now;
	}
	for (u32 i = 0; i < ap_ctr_cstatus_nrctrs(state->cstatus); i++)
		ap_ctr_pmc_add(&state->pmc[i], read_pmc(drv, state->pmc[i].map));
}

void ap_ppcctr_suspend(struct ap_ppcctr *drv, struct ap_ppcctr_state *state)
{
	if (changes_itself(drv, state))
		freeze(drv, state);
	ap_ppcctr_sample(drv, state);
}

/* --- overflow: the interface of a driver that has none */

u32 ap_ppcctr_identify_overflow(struct ap_ppcctr *drv, struct ap_ppcctr_state *state)
{
	(void)drv;
	(void)state;
	return 0;
}

void ap_ppcctr_ireload(struct ap_ppcctr *drv, struct ap_ppcctr_state *state)
{
	(void)drv;
	state->k1.isuspend_cpu = -1;
}
