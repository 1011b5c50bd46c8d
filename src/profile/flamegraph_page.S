/* SPDX-License-Identifier: MIT */
/* The page of flame graphs, which is written and read as what it is. */
	.section .rodata
	.globl ap_flamegraph_page, ap_flamegraph_page_end
	.type ap_flamegraph_page, @object
ap_flamegraph_page:
	.incbin "src/profile/flamegraph.html"
ap_flamegraph_page_end:
	.size ap_flamegraph_page, . - ap_flamegraph_page
	.section .note.GNU-stack, "", @progbits
