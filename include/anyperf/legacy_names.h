/* SPDX-License-Identifier: MIT */
/*
 * The names of 2009 for what <anyperf/legacy.h> has, where ANYPERF_LEGACY_NAMES asks for them.  data_head
 * and the calls mmap, munmap and read are macros then: nothing else in the file may have these names.
 */
#ifndef ANYPERF_LEGACY_NAMES_H
#define ANYPERF_LEGACY_NAMES_H

#if defined(_LINUX_PERF_EVENT_H) || defined(_UAPI_LINUX_PERF_EVENT_H)
#error "ANYPERF_LEGACY_NAMES: <linux/perf_event.h> has the same names for another ABI; leave one of them out"
#endif
#define _LINUX_PERF_EVENT_H /* a later include of it gives nothing */

/* before the macros: these declare what is a macro below */
#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define perf_event_attr	     anyperf_legacy_attr
#define perf_event_mmap_page anyperf_legacy_page
#define perf_event_header    anyperf_legacy_header

#define sys_perf_event_open    anyperf_legacy_open
#define mmap(a, s, p, f, d, o) anyperf_legacy_mmap(a, s, p, f, d, o)
#define munmap(a, s)	       anyperf_legacy_munmap(a, s)
#define read(d, b, s)	       anyperf_legacy_read(d, b, s)
#define data_head	       head[anyperf_legacy_sync()]
#define pmc_read(n)	       anyperf_legacy_pmc_read(n)

#define perf_event_types     anyperf_legacy_type
#define perf_type_id	     anyperf_legacy_type
#define PERF_TYPE_HARDWARE   ANYPERF_LEGACY_TYPE_HARDWARE
#define PERF_TYPE_SOFTWARE   ANYPERF_LEGACY_TYPE_SOFTWARE
#define PERF_TYPE_TRACEPOINT ANYPERF_LEGACY_TYPE_TRACEPOINT

#define hw_event_ids			  anyperf_legacy_hw
#define perf_hw_id			  anyperf_legacy_hw
#define PERF_COUNT_HW_CPU_CYCLES	  ANYPERF_LEGACY_HW_CPU_CYCLES
#define PERF_COUNT_HW_INSTRUCTIONS	  ANYPERF_LEGACY_HW_INSTRUCTIONS
#define PERF_COUNT_HW_CACHE_REFERENCES	  ANYPERF_LEGACY_HW_CACHE_REFERENCES
#define PERF_COUNT_HW_CACHE_MISSES	  ANYPERF_LEGACY_HW_CACHE_MISSES
#define PERF_COUNT_HW_BRANCH_INSTRUCTIONS ANYPERF_LEGACY_HW_BRANCH_INSTRUCTIONS
#define PERF_COUNT_HW_BRANCH_MISSES	  ANYPERF_LEGACY_HW_BRANCH_MISSES
#define PERF_COUNT_HW_BUS_CYCLES	  ANYPERF_LEGACY_HW_BUS_CYCLES

#define sw_event_ids		       anyperf_legacy_sw
#define perf_sw_ids		       anyperf_legacy_sw
#define PERF_COUNT_SW_CPU_CLOCK	       ANYPERF_LEGACY_SW_CPU_CLOCK
#define PERF_COUNT_SW_TASK_CLOCK       ANYPERF_LEGACY_SW_TASK_CLOCK
#define PERF_COUNT_SW_PAGE_FAULTS      ANYPERF_LEGACY_SW_PAGE_FAULTS
#define PERF_COUNT_SW_CONTEXT_SWITCHES ANYPERF_LEGACY_SW_CONTEXT_SWITCHES
#define PERF_COUNT_SW_CPU_MIGRATIONS   ANYPERF_LEGACY_SW_CPU_MIGRATIONS
#define PERF_COUNT_SW_PAGE_FAULTS_MIN  ANYPERF_LEGACY_SW_PAGE_FAULTS_MIN
#define PERF_COUNT_SW_PAGE_FAULTS_MAJ  ANYPERF_LEGACY_SW_PAGE_FAULTS_MAJ
#define PERF_COUNT_SW_ALIGNMENT_FAULTS ANYPERF_LEGACY_SW_ALIGNMENT_FAULTS
#define PERF_COUNT_SW_EMULATION_FAULTS ANYPERF_LEGACY_SW_EMULATION_FAULTS

#define perf_event_read_format	       anyperf_legacy_read_format
#define PERF_FORMAT_TOTAL_TIME_ENABLED ANYPERF_LEGACY_FORMAT_TOTAL_TIME_ENABLED
#define PERF_FORMAT_TOTAL_TIME_RUNNING ANYPERF_LEGACY_FORMAT_TOTAL_TIME_RUNNING

#define perf_event_record_format anyperf_legacy_record_format
#define PERF_RECORD_IP		 ANYPERF_LEGACY_RECORD_IP
#define PERF_RECORD_TID		 ANYPERF_LEGACY_RECORD_TID
#define PERF_RECORD_TIME	 ANYPERF_LEGACY_RECORD_TIME
#define PERF_RECORD_ADDR	 ANYPERF_LEGACY_RECORD_ADDR
#define PERF_RECORD_GROUP	 ANYPERF_LEGACY_RECORD_GROUP
#define PERF_RECORD_CALLCHAIN	 ANYPERF_LEGACY_RECORD_CALLCHAIN

#define PERF_RECORD_MISC_KERNEL	  ANYPERF_LEGACY_MISC_KERNEL
#define PERF_RECORD_MISC_USER	  ANYPERF_LEGACY_MISC_USER
#define PERF_RECORD_MISC_OVERFLOW ANYPERF_LEGACY_MISC_OVERFLOW

#define perf_event_type	   anyperf_legacy_record
#define PERF_RECORD_MMAP   ANYPERF_LEGACY_MMAP
#define PERF_RECORD_MUNMAP ANYPERF_LEGACY_MUNMAP
#define PERF_RECORD_COMM   ANYPERF_LEGACY_COMM

#define PERF_EVENT_IOC_ENABLE  ANYPERF_LEGACY_IOC_ENABLE
#define PERF_EVENT_IOC_DISABLE ANYPERF_LEGACY_IOC_DISABLE
#define PERF_EVENT_IOC_REFRESH ANYPERF_LEGACY_IOC_REFRESH
#define PERF_IOC_FLAG_GROUP    ANYPERF_LEGACY_IOC_FLAG_GROUP

#endif
