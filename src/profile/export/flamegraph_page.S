/* SPDX-License-Identifier: MIT */
/* The page of flame graphs, and the script of their images, which are written and read as what they are. */
	.section .rodata
	.globl ap_flamegraph_page, ap_flamegraph_page_end
	.type ap_flamegraph_page, @object
ap_flamegraph_page:
	.incbin "src/profile/export/flamegraph.html"
ap_flamegraph_page_end:
	.size ap_flamegraph_page, . - ap_flamegraph_page
	.globl ap_flamegraph_svg_script, ap_flamegraph_svg_script_end
	.type ap_flamegraph_svg_script, @object
ap_flamegraph_svg_script:
	.incbin "src/profile/export/flamegraph_svg.js"
ap_flamegraph_svg_script_end:
	.size ap_flamegraph_svg_script, . - ap_flamegraph_svg_script
	.section .note.GNU-stack, "", @progbits
