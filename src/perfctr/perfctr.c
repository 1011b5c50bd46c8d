/* SPDX-License-Identifier: MIT */
/*
 * A driver's life, the same on every architecture.  Counters are reserved by name, compared by what
 * it says and not by where it lies: a caller that asks in vain can be told their holder, and only the holder
 * can give them back.
 */
#include "perfctr/perfctr.h"
#include "abi/errno.h"
#include "base/mem.h"

/*
 * Every procedure runs once before anybody relies on it.  perfctr did it to have all its call sites
 * patched before a second CPU could meet one; here it shows that the CPU's TSC can be read at all.
 */
int ap_ctr_init(struct ap_ctr *ctr, const struct ap_ctr_arch *arch, void *caches, unsigned ncpus)
{
	int err;

	ctr->arch = arch;
	if (!ncpus || ncpus > arch->max_cpus)
		return -AP_EINVAL;
	ctr->caches = caches;
	ctr->ncpus = ncpus;
	memset(caches, 0, (size_t)ncpus * arch->cache_size);
	err = arch->detect(ctr);
	if (!err)
		err = arch->exercise(ctr);
	if (err)
		ctr->name = NULL;
	return err;
}

void ap_ctr_exit(struct ap_ctr *ctr)
{
	if (ctr->name && ctr->service)
		ap_ctr_release(ctr, ctr->service);
	ctr->name = NULL;
}

const char *ap_ctr_reserve(struct ap_ctr *ctr, const char *service)
{
	if (ctr->service)
		return ctr->service;
	ctr->service = service;
	ctr->ihandler = NULL;
	ctr->arch->open_cpus(ctr);
	return NULL;
}

void ap_ctr_release(struct ap_ctr *ctr, const char *service)
{
	if (!ctr->service || strcmp(ctr->service, service) != 0)
		return;
	ctr->service = NULL;
	ctr->arch->close_cpus(ctr);
	ctr->ihandler = NULL;
}

void ap_ctr_set_ihandler(struct ap_ctr *ctr, ap_ctr_ihandler handler, void *arg)
{
	ctr->ihandler = handler;
	ctr->ihandler_arg = arg;
}

u32 ap_ctr_new_id(struct ap_ctr *ctr)
{
	if (++ctr->last_id)
		return ctr->last_id;
	/* All have been used: what a CPU remembers could be a namesake's. */
	for (u32 i = 0; i < ctr->ncpus; i++)
		*(u32 *)((char *)ctr->caches + (size_t)i * ctr->arch->cache_size) = 0;
	return ++ctr->last_id;
}
