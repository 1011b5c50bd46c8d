/* SPDX-License-Identifier: MIT */
/*
 * What is done when the holder of the process lock was killed (lock.h): any of the tables that it
 * guards may be half written.  What can be made again is thrown away or read again; the rest is
 * written in an order that leaves it whole at every store:
 *   - the cache: flushed; what is unlinked is told by the exits, not by the lists;
 *   - write-protected pages: all given back, then they are as the kernel says;
 *   - executable ranges: read again from /proc/self/maps;
 *   - huge pages: forgotten, as that file does not name them in the part that is read;
 *   - lists of threads: linked by one store; numbers are counted again;
 *   - shapes, slots, segments: a number counts from its last store on, so at worst one is lost;
 *   - dispositions: one entry may be half written, and only of the dead thread, which had a table of its own.
 * Memory that was on its way into or out of a table is lost.
 *
 * The mender may be killed as well: everything here can be done again from the start.
 */
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/huge.h"

void ap_mend_process(void)
{
	ap_cache_flush();
	ap_smc_mend();
	ap_region_mend();
	ap_huge_mend();
	ap_thread_mend();
	ap_signal_mend();
}

void ap_mend_init(void)
{
	ap_lock_add(&ap_proc.lock, AP_RANK_PROCESS, "process", ap_mend_process);
	ap_mem_lock_init();
}
