/* SPDX-License-Identifier: MIT */
/*
 * The memory that one instruction accesses: how many bytes, read or written, and at what address for
 * given registers.  What watches, samples or simulates data accesses asks here; the decoder itself
 * only knows whether there are any.
 */
#ifndef AP_X86_ACCESS_H
#define AP_X86_ACCESS_H

#include "base/types.h"
#include "x86/insn.h"

#define AP_ACCESS_READ	 (1u << 0)
#define AP_ACCESS_WRITE	 (1u << 1)
#define AP_ACCESS_ADDR32 (1u << 2) /* the address is cut to 32 bits */
#define AP_ACCESS_STRING                                                                           \
	(1u << 3) /* a string pointer: moves by size each time, down with DF; rep repeats it */
#define AP_ACCESS_MASKED (1u << 4) /* a vector or mask register says which elements, maybe none */
#define AP_ACCESS_VSIB	 (1u << 5) /* elements of size bytes, each where a vector register says */
#define AP_ACCESS_OPEN	 (1u << 6) /* size is the least: extended state, tiles, VIA's engines */
#define AP_ACCESS_LINE	 (1u << 7) /* the address is rounded down to a multiple of size */

/* Registers of an address beyond the general and the vector ones. */
#define AP_ACCESS_RIP  32 /* as base: of the next instruction */
#define AP_ACCESS_AL   33 /* as index: xlat */
#define AP_ACCESS_NONE 0xff

struct ap_access {
	u8 flags;   /* AP_ACCESS_* */
	u8 base;    /* general register, AP_ACCESS_RIP or NONE */
	u8 index;   /* general register, AP_ACCESS_AL or NONE; with VSIB a vector register, 0..31 */
	u8 scale;   /* of the index, as a shift */
	u8 seg;	    /* enum ap_seg_reg */
	u8 bits;    /* register that counts bits from the address (bt and its kind), or NONE */
	u8 element; /* with MASKED: size of what one mask bit stands for */
	u8 elements; /* with VSIB: how many */
	u32 size;    /* bytes */
	s64 disp;
};

#define AP_ACCESS_MAX 5 /* of one instruction; VIA's */

/*
 * The accesses of insn, which ap_insn_decode made of code, in the order in which they happen; what
 * is read and written is one.  Returns how many.  What the kernel does for an instruction (syscall,
 * int) and what always faults in user mode is none.
 */
u32 ap_insn_accesses(const struct ap_insn *insn, const u8 *code,
		     struct ap_access out[AP_ACCESS_MAX]);

/*
 * Instructions that access nothing and do something to the cached line of an address: clflush, clflushopt, and clwb, which leaves it
 * there.  *out is the address, of one byte and without flags of an access.
 */
enum ap_flush { AP_FLUSH_NONE, AP_FLUSH_DROPS, AP_FLUSH_KEEPS };
enum ap_flush ap_insn_flush(const struct ap_insn *insn, const u8 *code, struct ap_access *out);

/*
 * Where it is, with the registers that the instruction begins with; of VSIB the part that all
 * elements have in common.  next: pc of the instruction behind; seg_base: by enum ap_seg_reg, [0]
 * is 0.
 */
u64 ap_access_address(const struct ap_access *a, const u64 gpr[16], u64 next,
		      const u64 seg_base[3]);

/* One pointer of a string operation that repeats, from its first iteration on. */
struct ap_access_string {
	u64 at;
	u32 size;
	bool down, is_write;
};

/*
 * How many of the first n iterations touch one of len bytes at addr, by one of count (1 or 2)
 * pointers; by those that only read it as well, where reads_too.
 */
u64 ap_access_iterations(const struct ap_access_string *s, u32 count, u64 n, u64 addr, u32 len,
			 bool reads_too);

#endif
