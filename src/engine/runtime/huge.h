/* SPDX-License-Identifier: MIT */
/* huge.c: memory in pages of 2 MB or more, as far as the program asked for it by MAP_HUGETLB.  Process lock held throughout. */
#ifndef AP_ENGINE_HUGE_H
#define AP_ENGINE_HUGE_H

#include "base/types.h"
#include "model/mem.h"

/* Ranges of a process that models are told of. */
#define AP_HUGE_MAX 64

struct ap_huge_table {
	u32 n;
	struct ap_huge range[AP_HUGE_MAX];
};

/* Does an mmap with these flags map such pages, if it succeeds? */
bool ap_huge_is_asked(u64 flags);
/* What it maps for so many bytes: whole pages of theirs, as the kernel rounds. */
u64 ap_huge_len(u64 flags, u64 len);
/* The same of a call on what is mapped at addr, as far as it is known to have such pages. */
u64 ap_huge_len_at(u64 addr, u64 len);
/* len bytes from start on are such memory now: to the end of their last page. */
void ap_huge_map(u64 start, u64 len);
/* [start, end) is something else now, or nothing. */
void ap_huge_unmap(u64 start, u64 end);
bool ap_huge_is_at(u64 addr);
/* The table may be half written: there is none any more. */
void ap_huge_mend(void);

/* Grows with each change; takes no lock. */
u32 ap_huge_gen(void);
/* Sorted.  False where there is, or was, more than the table has room for. */
AP_MUST_CHECK bool ap_huge_list(struct ap_huge_table *to);

#endif
