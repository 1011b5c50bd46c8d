/* SPDX-License-Identifier: MIT */
/*
 * The program's seccomp filters, which judge the engine's calls as well and may kill for them.  Copies of
 * them are asked first: from a filter on no call of the engine's own is made that it would not let pass.
 * Each task has its own, as in the kernel: a clone's are its parent's, TSYNC puts one's on all.
 * What an image finds when it starts is not known here, and not asked.
 */
#ifndef AP_ENGINE_FILTER_H
#define AP_ENGINE_FILTER_H

#include "sys/sys.h"

#define AP_FILTER_ALLOW	       0x7fff0000U /* SECCOMP_RET_* */
#define AP_FILTER_ERRNO	       0x00050000U
#define AP_FILTER_KILL	       0U /* a thread or a process */
#define AP_FILTER_KILL_PROCESS 0x80000000U
#define AP_FILTER_TRAP	       0x00030000U
#define AP_FILTER_NOTIF	       0x7fc00000U
#define AP_FILTER_TRACE	       0x7ff00000U
#define AP_FILTER_LOG	       0x7ffc0000U
#define AP_FILTER_ACTION       0xffff0000U
#define AP_FILTER_DATA	       0x0000ffffU

/* linux/filter.h, struct sock_filter */
struct ap_filter_insn {
	u16 code;
	u8 jt, jf;
	u32 k;
};

/* Never changed while anybody has it. */
struct ap_filter {
	const struct ap_filter *before; /* holds as well */
	struct ap_filter *next;		/* of all, or of those that are free (filter_install.c) */
	u32 room;			/* for so many instructions */
	u32 uses;			/* so often it was handed out */
	bool is_strict;			/* prctl's strict mode: no program */
	bool by_address; /* looks at instruction_pointer: of the blob the kernel lets all calls pass */
	u32 n;
	struct ap_filter_insn insn[];
};

struct ap_thread;

extern bool ap_filter_any; /* has any thread of the process ever had one? */

/*
 * Did t go native to install a filter there, for all threads?  Then a thread that comes out of a call after this minds it.
 * Lock held for the second.
 */
bool ap_filter_is_left(const struct ap_thread *t);
void ap_filter_leave(struct ap_thread *t);

/* The strictest answer to a call whose instruction ends at pc, without what it returns beside the action. */
u32 ap_filter_judge(const struct ap_filter *f, u64 nr, const u64 a[6], u64 pc);

/* May a call of the program's with this number get to the kernel, or to what decides in its place?  True also where it cannot be told. */
bool ap_filter_may_pass(const struct ap_filter *f, u64 nr);

extern bool ap_filter_by_address; /* has any thread ever had one of those that look at addresses? */
/*
 * What the strictest of those says to a call whose instruction ends at pc, with what it returns beside the action.
 * AP_FILTER_ALLOW also where the kernel will be as strict by others.
 */
u32 ap_filter_at_address(const struct ap_filter *f, u64 nr, const u64 a[6], u64 pc);
/* The call at pc is not made as the program's address would not let it; all is done for that, or a signal waits. */
bool ap_filter_takes(struct ap_thread *t, u64 pc);

/*
 * Instructions that allow every call whose instruction ends in [lo, hi) and go on behind themselves for all others: one part of
 * AP_FILTER_PART for each 4 GiB that the range has a share of.  Returns their number.
 */
#define AP_FILTER_PART 6
u32 ap_filter_let_pass(struct ap_filter_insn *to, u64 lo, u64 hi);

/* filter_address.c: one that looks at addresses, and can be installed so that the kernel lets the blob's calls pass. */
bool ap_filter_can_wrap(const struct ap_filter *f);
struct ap_call;
s64 ap_filter_install_wrapped(struct ap_thread *t, const struct ap_call *c,
			      const struct ap_filter *f);

/* Would this call of the engine's pass, here and now? */
bool ap_filter_allows(u64 nr, const u64 a[6]);
bool ap_filter_allows_nr(u64 nr); /* whatever the arguments, all 0 here */
/* Would it of every thread?  Process lock held. */
bool ap_filter_all_allow(u64 nr, const u64 a[6]);
/* As the engine has memory, exec: for code. */
bool ap_filter_allows_map(bool exec);
/* As a part of the session's file. */
bool ap_filter_allows_share(void);
/* All that an image does before anything of it runs; and nothing that it does later kills, as far as can be told. */
bool ap_filter_allows_start(void);

/*
 * Does the kernel refuse this call of the program's before it looks at it?  Not where somebody else
 * decides: then it may be made.
 */
bool ap_filter_refuses(const struct ap_filter *f, u64 nr, const u64 a[6], u64 pc);

#endif
