/* SPDX-License-Identifier: MIT */
/* The generated tree (abi/tree.h): what of it depends on the session, and its packing. */
#ifndef AP_LINUX_TREE_H
#define AP_LINUX_TREE_H

#include "abi/tree.h"
#include "linux/session/session.h"
#include "pmu/events.h"

struct ap_tree_config {
	const struct ap_pmu_arch *arch;
	s32 paranoid;
	u32 max_sample_rate, max_stack, mlock_kb;
};

/* events/header_page, events/header_event */
extern const char ap_tree_header_page[], ap_tree_header_event[];

/* Packs the tree into memory of AP_TREE_SIZE bytes. */
AP_MUST_CHECK int ap_tree_pack(struct ap_tree *out, const struct ap_tree_config *config);
/* The same, into the session file. */
AP_MUST_CHECK int ap_tree_publish(const struct ap_session_file *s,
				  const struct ap_tree_config *config);

#endif
