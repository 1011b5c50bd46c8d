/* SPDX-License-Identifier: MIT */
/* smc.c: pages of code that can be written to, and when what was made of them is dropped. */
#ifndef AP_ENGINE_SMC_H
#define AP_ENGINE_SMC_H

#include "base/types.h"

/*
 * A block is being made from this page; write-protects it if it is writable.
 * Returns false if the page is one of those that must be translated for one run only.
 * Lock held.
 */
bool ap_smc_protect(u64 page);
/* While on, ap_smc_protect protects nothing: for a block of one run. */
void ap_smc_hold(bool on);
/*
 * A write fault at addr by code at pc.  True: the page was ours, is writable again and its blocks are
 * gone; execute the store alone (ap_cache_one_shot) and go on.  Lock held; not async-safe.
 */
bool ap_smc_write_fault(u64 addr);
/* Async-safe test whether addr lies in a page that is, or was just now, write-protected by us. */
bool ap_smc_is_protected(u64 addr);
/* The page lacks the permission to write that the program believes in.  Lock held. */
bool ap_smc_hides_write(u64 addr);
/* The same of another process, whose table is there; ap_seg.smc_at. */
u64 ap_smc_table(void);
bool ap_smc_hides_write_in(u32 pid, u64 table, u64 addr);
/* Gives pages back before a system call that looks at their protection or moves them.  Lock held. */
bool ap_smc_unprotect(u64 start, u64 end);
bool ap_smc_any(void); /* is any page protected? Async-safe */
/* A system call failed with EFAULT: unprotect what is protected; true if anything was. Lock held. */
bool ap_smc_unprotect_all(void);
/*
 * A thread is about to be under a filter: pages that it could not give back are given back now, and none
 * is protected from here on that any thread could not.  Lock held.
 */
void ap_smc_before_filter(void);
/* The engine gives up: all pages are the program's again.  Lock held. */
void ap_smc_give_back_all(void);
/* Program-visible protection changes: munmap/mprotect/mmap/mremap bookkeeping.  Lock held. */
void ap_smc_forget(u64 start, u64 end);
/* The tables may be half written: gives all pages back.  Lock held. */
void ap_smc_mend(void);
/*
 * The thread executes a serializing instruction: code that others may have changed is translated
 * again.  Lock not held.
 */
void ap_smc_serialize(void);
/* This process has changed the code of another, or its own past all protection. */
void ap_smc_poked(u64 start, u64 end);
/* The process has another board.  poked: the former said of changes, whose places are not known here.  Lock held. */
void ap_smc_moved(bool poked);
/* Can what is read at pc be what another task of the session has written there? */
bool ap_smc_may_be_poked(u64 pc);

#endif
