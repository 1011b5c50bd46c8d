/* SPDX-License-Identifier: MIT */
/* Where a traced thread stops for its tracer: a stop here is what struct ap_traced says. */
	.section .text.gate, "ax"

	.globl ap_traced_trap, ap_traced_mark
	.hidden ap_traced_trap, ap_traced_mark
ap_traced_trap:
	int3
ap_traced_mark:
	ret

	.section .note.GNU-stack, "", @progbits
