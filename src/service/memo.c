/* SPDX-License-Identifier: MIT */
#include "service/memo.h"

#include "service/hooks.h"

static u8 *memory(struct ap_memo *s, u64 bytes)
{
	u8 *t = __atomic_load_n(&s->mem, __ATOMIC_ACQUIRE), *mine;

	if (t)
		return t;
	mine = ap_hook_map(bytes);
	if (mine && __atomic_compare_exchange_n(&s->mem, &t, mine, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
		t = mine;
	return t;
}

static bool change(void *entry, u32 from, u32 to)
{
	return __atomic_compare_exchange_n((u32 *)entry, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void *ap_memo_claim(struct ap_memo *s, u32 entries, u32 size)
{
	u8 *t = memory(s, (u64)entries * size);

	/* always the same */
	__atomic_store_n(&s->size, size, __ATOMIC_RELAXED);
	for (u32 i = 0; t && i < entries; i++) {
		u8 *entry = t + (u64)i * size;

		if (__atomic_load_n((u32 *)entry, __ATOMIC_RELAXED) == AP_MEMO_FREE &&
		    change(entry, AP_MEMO_FREE, AP_MEMO_BUSY))
			return entry;
	}
	return NULL;
}

void ap_memo_publish(struct ap_memo *s, void *entry)
{
	u32 i = (u32)(((u8 *)entry - s->mem) / s->size), n = s->used;

	__atomic_store_n((u32 *)entry, AP_MEMO_KNOWN, __ATOMIC_RELEASE);
	while (n <= i && !__atomic_compare_exchange_n(&s->used, &n, i + 1, false, __ATOMIC_ACQ_REL,
						      __ATOMIC_RELAXED))
		;
}

bool ap_memo_free(void *entry)
{
	return change(entry, AP_MEMO_KNOWN, AP_MEMO_FREE);
}

void ap_memo_clear(struct ap_memo *m)
{
	for (u32 i = 0; i < m->used; i++)
		*(u32 *)(m->mem + (u64)i * m->size) = AP_MEMO_FREE;
	m->used = 0;
}
