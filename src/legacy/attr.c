/* SPDX-License-Identifier: MIT */
/*
 * An attr of 2009 as one of today, and what 2009 refused.  The bits are named one by one: where they lie in
 * their word depends on the byte order, in both ABIs.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "legacy/legacy.h"

#define RECORD_ALL                                                                                 \
	(ANYPERF_LEGACY_RECORD_IP | ANYPERF_LEGACY_RECORD_TID | ANYPERF_LEGACY_RECORD_TIME |       \
	 ANYPERF_LEGACY_RECORD_ADDR | ANYPERF_LEGACY_RECORD_GROUP |                                \
	 ANYPERF_LEGACY_RECORD_CALLCHAIN)
#define FORMAT_ALL                                                                                 \
	(ANYPERF_LEGACY_FORMAT_TOTAL_TIME_ENABLED | ANYPERF_LEGACY_FORMAT_TOTAL_TIME_RUNNING)

#define BITS_AT 24 /* of struct anyperf_legacy_attr: the word of bit fields */

_Static_assert(sizeof(struct anyperf_legacy_attr) == 56 &&
		       offsetof(struct anyperf_legacy_attr, irq_period) == 8 &&
		       offsetof(struct anyperf_legacy_attr, record_type) == 16 &&
		       offsetof(struct anyperf_legacy_attr, read_format) == 20 &&
		       offsetof(struct anyperf_legacy_attr, extra_config_len) == BITS_AT + 8 &&
		       offsetof(struct anyperf_legacy_attr, wakeup_events) == 36 &&
		       offsetof(struct anyperf_legacy_attr, __reserved_2) == 40,
	       "the attr of 2009");
_Static_assert(offsetof(struct anyperf_legacy_page, lock) == offsetof(struct ap_perf_page, lock) &&
		       offsetof(struct anyperf_legacy_page, index) ==
			       offsetof(struct ap_perf_page, index) &&
		       offsetof(struct anyperf_legacy_page, offset) ==
			       offsetof(struct ap_perf_page, offset) &&
		       offsetof(struct anyperf_legacy_page, head) == 24,
	       "the page of 2009, and what today's has at the same place");

static u64 bits_of(const struct anyperf_legacy_attr *a)
{
	u64 word;

	memcpy(&word, (const char *)a + BITS_AT, sizeof(word));
	return word;
}

/* Every bit that has a name, wherever this machine puts it. */
static u64 known_bits(void)
{
	const struct anyperf_legacy_attr all = {
		.disabled = 1,
		.inherit = 1,
		.pinned = 1,
		.exclusive = 1,
		.exclude_user = 1,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.exclude_kernel = 1,
		.mmap = 1,
		.munmap = 1,
		.comm = 1,
	};

	return bits_of(&all);
}

static u64 flags_of(const struct anyperf_legacy_attr *a)
{
	return (a->disabled ? AP_PERF_DISABLED : 0) | (a->inherit ? AP_PERF_INHERIT : 0) |
	       (a->pinned ? AP_PERF_PINNED : 0) | (a->exclusive ? AP_PERF_EXCLUSIVE : 0) |
	       (a->exclude_user ? AP_PERF_EXCLUDE_USER : 0) |
	       (a->exclude_kernel ? AP_PERF_EXCLUDE_KERNEL : 0) |
	       (a->exclude_hv ? AP_PERF_EXCLUDE_HV : 0) |
	       (a->exclude_idle ? AP_PERF_EXCLUDE_IDLE : 0) | (a->mmap ? AP_PERF_MMAP : 0) |
	       (a->comm ? AP_PERF_COMM : 0);
}

static int event_of(u64 config, struct ap_perf_attr *now)
{
	u64 type = (config & ANYPERF_LEGACY_TYPE_MASK) >> ANYPERF_LEGACY_TYPE_SHIFT;
	u64 id = config & ANYPERF_LEGACY_EVENT_MASK;

	if (config & ANYPERF_LEGACY_RAW_MASK) {
		now->type = AP_PERF_TYPE_RAW;
		now->config = config & ~ANYPERF_LEGACY_RAW_MASK;
		return 0;
	}
	if (type > ANYPERF_LEGACY_TYPE_TRACEPOINT ||
	    (type == ANYPERF_LEGACY_TYPE_HARDWARE && id > ANYPERF_LEGACY_HW_BUS_CYCLES) ||
	    (type == ANYPERF_LEGACY_TYPE_SOFTWARE && id > ANYPERF_LEGACY_SW_EMULATION_FAULTS))
		return -AP_EINVAL;
	now->type = (u32)type;
	now->config = id;
	return 0;
}

/* The bits that stayed have the numbers that they had. */
static u64 sample_type_of(u32 record_type)
{
	u64 same = ANYPERF_LEGACY_RECORD_IP | ANYPERF_LEGACY_RECORD_TID |
		   ANYPERF_LEGACY_RECORD_TIME | ANYPERF_LEGACY_RECORD_ADDR |
		   ANYPERF_LEGACY_RECORD_CALLCHAIN;
	u64 type = record_type & same;

	if (record_type & ANYPERF_LEGACY_RECORD_GROUP)
		type |= AP_PERF_SAMPLE_READ | AP_PERF_SAMPLE_TID;
	return type;
}

int ap_legacy_attr(const struct anyperf_legacy_attr *old, u32 page_size, struct ap_perf_attr *now)
{
	int err;

	memset(now, 0, sizeof(*now));
	if (bits_of(old) & ~known_bits() || old->extra_config_len || old->__reserved_2 ||
	    old->__reserved_3)
		return -AP_EINVAL;
	if (old->record_type & ~RECORD_ALL || old->read_format & ~FORMAT_ALL)
		return -AP_EINVAL;
	err = event_of(old->config, now);
	if (err)
		return err;
	now->size = sizeof(*now);
	now->sample_period = old->irq_period;
	now->sample_type = sample_type_of(old->record_type);
	now->read_format = old->read_format;
	if (old->record_type & ANYPERF_LEGACY_RECORD_GROUP)
		now->read_format |= AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID;
	now->flags = flags_of(old);
	now->wakeup_events = old->wakeup_events;
	if (!old->wakeup_events) {
		now->flags |= AP_PERF_WATERMARK;
		now->wakeup_events = page_size; /* the same word */
	}
	return 0;
}

int ap_legacy_error(int error)
{
	return error == AP_ENOENT ? AP_EINVAL : error;
}
