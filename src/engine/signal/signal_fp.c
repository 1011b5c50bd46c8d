/* SPDX-License-Identifier: MIT */
/*
 * Extended state in signal frames.  The engine never touches it, so what the CPU holds while the
 * engine runs is the program's, and goes straight into the program's frame.
 *
 * Layout and size are those of the frames that the kernel makes: it knows what the task may use.
 */
#include "engine/signal/signal.h"

#define MAGIC1	       0x46505853U
#define MAGIC2	       0x46505845U
#define SW_OFF	       464 /* of struct sw_bytes in the fxsave area */
#define HEADER_OFF     512
#define FXSAVE_SIZE    512
#define MXCSR_OFF      24
#define IMAGE_SIZE     12288 /* as large as any: AMX needs 11008 */
#define XSTATE_FPSSE   3ULL
#define XSTATE_PKRU    (1ULL << 9)
#define XSTATE_DYNAMIC (3ULL << 17) /* AMX tiles: only on the task's request */

struct sw_bytes {
	u32 magic1;
	u32 extended_size;
	u64 features;
	u32 xstate_size;
	u32 pad[7];
};

static struct {
	u64 features; /* 0: fxsave only */
	u32 size;     /* 0: not known yet */
	u32 pkru;     /* with which the kernel starts handlers */
} layout;

static void cpuid(u32 leaf, u32 *a, u32 *b, u32 *c, u32 *d)
{
	__asm__ volatile("cpuid" : "=a"(*a), "=b"(*b), "=c"(*c), "=d"(*d) : "a"(leaf), "c"(0));
}

/* Before any frame was seen: what the CPU has enabled. */
static void ask_cpu(void)
{
	u32 a, b, c, d, lo, hi;

	layout.size = FXSAVE_SIZE;
	cpuid(1, &a, &b, &c, &d);
	if (!(c & (1U << 27))) /* OSXSAVE */
		return;
	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	cpuid(0xd, &a, &b, &c, &d);
	layout.features = ((u64)hi << 32 | lo) & ~XSTATE_DYNAMIC;
	layout.size = b;
}

/* Called in the master handler only. */
void ap_fp_note(u64 fpstate)
{
	const struct sw_bytes *sw = (const struct sw_bytes *)(fpstate + SW_OFF);

	if (!fpstate)
		return;
	if (sw->magic1 == MAGIC1) {
		layout.features = sw->features;
		layout.size = sw->xstate_size;
		if (sw->features & XSTATE_PKRU)
			__asm__("rdpkru" : "=a"(layout.pkru) : "c"(0) : "rdx");
	} else {
		layout.size = FXSAVE_SIZE;
	}
}

bool ap_fp_has_xsave(void)
{
	if (!layout.size)
		ask_cpu();
	return layout.features != 0;
}

u64 ap_fp_size(void)
{
	return ap_fp_has_xsave() ? layout.size + sizeof(u32) : FXSAVE_SIZE;
}

u64 ap_fp_place(u64 sp)
{
	return AP_ALIGN_DOWN(sp - ap_fp_size(), 64);
}

int ap_fp_save(u64 area)
{
	static const u64 no_header[8];
	const u32 magic2 = MAGIC2;
	struct sw_bytes sw = { .magic1 = MAGIC1 };
	u64 used;

	if (!ap_fp_has_xsave())
		return ap_sig_fxsave(area);
	sw.extended_size = layout.size + sizeof(u32);
	sw.features = layout.features;
	sw.xstate_size = layout.size;
	if (ap_safe_copy((void *)(area + HEADER_OFF), no_header, sizeof(no_header)) ||
	    ap_sig_xsave(area, layout.features) ||
	    ap_safe_copy((void *)(area + SW_OFF), &sw, sizeof(sw)) ||
	    ap_safe_copy((void *)(area + layout.size), &magic2, sizeof(magic2)) ||
	    ap_safe_copy(&used, (void *)(area + HEADER_OFF), sizeof(used)))
		return -AP_EFAULT;
	used |= XSTATE_FPSSE; /* so that a handler's changes to them count */
	return ap_safe_copy((void *)(area + HEADER_OFF), &used, sizeof(used));
}

void ap_fp_reset(void)
{
	/* Components of which the header says "initial" are not read, yet must be readable. */
	static u8 image[IMAGE_SIZE] __attribute__((aligned(64)));
	const u64 mask = layout.features & ~XSTATE_PKRU;
	const u16 fcw = 0x37f;
	const u32 mxcsr = 0x1f80;

	memcpy(image, &fcw, sizeof(fcw));
	memcpy(image + MXCSR_OFF, &mxcsr, sizeof(mxcsr));
	if (!ap_fp_has_xsave() || layout.size > sizeof(image)) {
		__asm__ volatile("fxrstor64 %0" : : "m"(image) : "memory");
		return;
	}
	__asm__ volatile("xrstor64 %0"
			 :
			 : "m"(image), "a"((u32)mask), "d"((u32)(mask >> 32))
			 : "memory");
	if (layout.features & XSTATE_PKRU)
		__asm__ volatile("wrpkru" : : "a"(layout.pkru), "c"(0), "d"(0) : "memory");
}
