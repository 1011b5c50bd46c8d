/* SPDX-License-Identifier: MIT */
/*
 * What a machine must be for the models to trust it: they shift, mask and index by these numbers
 * without asking again.
 */
#include "model/machine.h"

static bool is_power(u32 n)
{
	return n && !(n & (n - 1));
}

static const char *check_cache(const struct ap_machine *m, const struct ap_cache_spec *c)
{
	u64 per_way, sets;

	if (!c->size)
		return NULL;
	if (!c->ways || c->ways > 32)
		return "a cache has 1 to 32 ways";
	if (c->slices > 256)
		return "a cache has at most 256 slices";
	per_way = (u64)m->line * c->ways * (c->slices ? c->slices : 1);
	sets = c->size / per_way;
	if (sets * per_way != c->size || !is_power(sets) || sets > 1U << 24)
		return "a cache's size is line x ways x slices x a power of two";
	if (c->policy > AP_POLICY_RRIP || (c->policy == AP_POLICY_PLRU && !is_power(c->ways)))
		return "policies are lru, plru (ways a power of two), random, rrip";
	if (c->inclusion > AP_EXCLUSIVE || c->prefetch > 3 || c->degree > 8 || c->latency > 60000)
		return "inclusion, prefetch, degree (at most 8) or latency of a cache is out of range";
	return NULL;
}

static const char *check_tlb(const struct ap_tlb_spec *t)
{
	if (!t->entries)
		return NULL;
	if (!t->ways || t->entries % t->ways || !is_power(t->entries / t->ways))
		return "a TLB's entries are ways x a power of two";
	if (t->entries > 32768 || t->latency > 60000)
		return "a TLB has at most 32768 entries";
	return NULL;
}

static const char *check_bp(const struct ap_bp_spec *b)
{
	if (b->kind > AP_BP_TAGE)
		return "predictors are bimodal, gshare, tage";
	if (b->base_bits > 20 || b->table_bits > 20 || b->target_table_bits > 16 ||
	    b->bias_bits > 20 || b->target_bits > 16)
		return "a predictor's table has at most 2^20 entries, one of targets 2^16";
	if (b->history > 32)
		return "gshare hashes at most 32 outcomes";
	if (b->tables > AP_TAGE_TABLES || b->target_tables > AP_TAGE_TABLES)
		return "a predictor has at most 8 tagged tables";
	if (b->tag_bits > 11 || (b->tables && b->tag_bits < 4))
		return "tags of a predictor have 4 to 11 bits";
	if ((b->tables || b->target_tables) &&
	    (!b->min_history || b->min_history > b->max_history || b->max_history > 64))
		return "histories are from 1 to 64, the first not above the last";
	if (b->loops > 1024 || (b->loops && (!is_power(b->loops) || b->loops < 4)))
		return "the loop predictor's entries are a power of two from 4 to 1024";
	if (b->btb_entries &&
	    (!b->btb_ways || b->btb_ways > 32 || b->btb_entries % b->btb_ways ||
	     !is_power(b->btb_entries / b->btb_ways) || b->btb_entries > 1U << 20))
		return "the BTB's entries are ways (at most 32) x a power of two";
	if (b->returns > 256)
		return "the return stack has at most 256 entries";
	return NULL;
}

const char *ap_machine_check(const struct ap_machine *m)
{
	const struct ap_cache_spec *caches[] = { &m->l1i, &m->l1d, &m->l2, &m->llc };
	const struct ap_tlb_spec *tlbs[] = { &m->itlb,	     &m->itlb_2m, &m->dtlb, &m->dtlb_2m,
					     &m->dtlb_store, &m->stlb,	  &m->istlb };
	const char *wrong;

	if (!is_power(m->line) || m->line < 32 || m->line > 128)
		return "a line has 32, 64 or 128 bytes";
	if (!m->l1i.size || !m->l1d.size || !m->llc.size)
		return "l1i, l1d and llc must have a size";
	if (m->l1i.slices > 1 || m->l1d.slices > 1 || m->l2.slices > 1)
		return "only llc has slices";
	for (unsigned i = 0; i < AP_ARRAY_SIZE(caches); i++) {
		wrong = check_cache(m, caches[i]);
		if (wrong)
			return wrong;
	}
	for (unsigned i = 0; i < AP_ARRAY_SIZE(tlbs); i++) {
		wrong = check_tlb(tlbs[i]);
		if (wrong)
			return wrong;
	}
	if (m->l1d.write_through &&
	    (m->l2.size ? m->l2.inclusion : m->llc.inclusion) == AP_EXCLUSIVE)
		return "an l1d that writes through needs a next level that is not exclusive";
	if ((!m->dtlb.entries && (m->dtlb_2m.entries || m->dtlb_store.entries)) ||
	    (!m->itlb.entries && m->itlb_2m.entries))
		return "TLBs of 2 MB pages or of stores need one of 4 KB pages beside them";
	if (m->walk_pde > 1024 || m->walk_pdpte > 1024 || m->walk_pml4e > 1024)
		return "a paging-structure cache has at most 1024 entries";
	if (m->nodes > 64 || m->memory > 60000 || m->remote > 60000 || m->snoop > 60000 ||
	    m->walk_step > 10000)
		return "nodes (at most 64) or latencies (at most 60000) are out of range";
	if (m->pipe.store_buffer > 128)
		return "a store buffer has at most 128 entries";
	return check_bp(&m->bp);
}
