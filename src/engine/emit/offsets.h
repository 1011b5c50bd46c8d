/* SPDX-License-Identifier: MIT */
/*
 * Offsets into struct ap_thread from %gs:0, for the assembler and for emitted code.
 * Plain numbers, because gate.S includes this; thread layout asserts are in start.c.
 */
#ifndef AP_ENGINE_OFFSETS_H
#define AP_ENGINE_OFFSETS_H

#define AP_T_SELF	0x00
#define AP_T_SPILL_RCX	0x08
#define AP_T_SPILL_RDX	0x10
#define AP_T_SPILL_A	0x18
#define AP_T_CALL_SP	AP_T_SPILL_A
#define AP_T_SPILL_B	0x20
#define AP_T_ENTRY	0x28
#define AP_T_ENGINE_SP	0x30
#define AP_T_EXIT_ID	0x38
#define AP_T_EXIT_KIND	0x3c
#define AP_T_PENDING	0x40
#define AP_T_BRANCH_ID	0x44
#define AP_T_GPR	0x48
#define AP_T_RIP	0xc8
#define AP_T_RFLAGS	0xd0
#define AP_T_APP_GS	0xd8
#define AP_T_REP_RCX	0xe0
#define AP_T_PMC	0xe8
#define AP_T_IN_CALL	0x1e8
#define AP_T_FEED_POS	0x1f0
#define AP_T_FEED_SPILL 0x1f8
#define AP_T_PMC_FLAGS	0x200
#define AP_T_IN_CODE	(4096 + 16)

#endif
