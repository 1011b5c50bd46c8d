/* SPDX-License-Identifier: MIT */
/* The file of metrics, as it is read. */
	.section .rodata
	.globl ap_metrics_text, ap_metrics_text_end
	.type ap_metrics_text, @object
ap_metrics_text:
	.incbin "src/cli/metrics.txt"
	.byte 0
ap_metrics_text_end:
	.size ap_metrics_text, . - ap_metrics_text
	.section .note.GNU-stack, "", @progbits
