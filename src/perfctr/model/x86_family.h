/* SPDX-License-Identifier: MIT */
/* What tells one x86 model from another.  Private to src/perfctr/model. */
#ifndef AP_PERFCTR_MODEL_X86_FAMILY_H
#define AP_PERFCTR_MODEL_X86_FAMILY_H

#include "perfctr/model/x86.h"
#include "perfctr/x86_family.h"

enum ap_x86model_what {
	AP_X86MODEL_CTL = 1,
	AP_X86MODEL_CTR,
	AP_X86MODEL_ESCR,
	AP_X86MODEL_PEBS,
	AP_X86MODEL_STATUS, /* a flag for each counter that has wrapped, fixed ones from bit 32 on; to be read */
	AP_X86MODEL_ACK /* clears flags where ones are written, and keeps nothing */
};

/* n registers from MSR `first`; other bits than `writable` fault, unless they are ignored. */
struct ap_x86model_range {
	u32 first;
	u32 n;
	u64 writable;
	u64 ignored; /* may be written, and are not kept */
	enum ap_x86model_what what;
};

/* (control & select) == code counts kinds; none: `why`. */
struct ap_x86model_event {
	u32 code;
	u64 kinds;
	const char *name;
	const char *why;
};

struct ap_x86model_family {
	const char *name;
	const char *vendor; /* CPUID's twelve letters */
	u32 signature;	    /* CPUID 1, eax */
	u32 features;	    /* CPUID 1, edx */
	unsigned nrctrs;
	unsigned nfixed;   /* the last of them */
	u8 bits;	   /* of a counter */
	bool sign_extends; /* a write to one that takes 32 bits extends them */
	bool has_rdpmc;
	const struct ap_x86model_event *events; /* that a name can ask for; NULL: none */
	u32 nevents;
	u32 user;	  /* what makes an event's code one of user mode, enabled */
	bool lvtpc_trips; /* an interrupt masks the APIC's entry */
	u32 rdpmc_flags;  /* bits of ecx that are no number */
	const struct ap_x86model_range *ranges; /* to what == 0 */
	/* 0: stands still, and *why; else kinds of the raw counts. */
	u64 (*counts)(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		      const char **why);
	/* Whether the counter wants to interrupt. */
	bool (*wants_interrupt)(const struct ap_x86model_cpu *cpu, unsigned i);
	/* NULL, or whether each count of the counter is an overflow. */
	bool (*forces)(const struct ap_x86model_cpu *cpu, unsigned i);
	/* NULL, or what else an overflow does. */
	void (*overflow)(struct ap_x86model_cpu *cpu, unsigned i);
	/* NULL, or how the CPU changes because a control register was written. */
	void (*written)(struct ap_x86model_cpu *cpu, unsigned i);
};

extern const struct ap_x86model_family ap_x86model_p6s[], ap_x86model_k7s[], ap_x86model_p5s[],
	ap_x86model_p4s[], ap_x86model_core2s[];

/* Registers of kind `what`, the i-th. */
u64 *ap_x86model_reg(const struct ap_x86model_family *family, struct ap_x86model_cpu *cpu,
		     enum ap_x86model_what what, unsigned i);
u64 ap_x86model_get(const struct ap_x86model_family *family, const struct ap_x86model_cpu *cpu,
		    enum ap_x86model_what what, unsigned i);

/* Of a register by number; 0 if there is none. */
u64 ap_x86model_get_msr(const struct ap_x86model_family *family, const struct ap_x86model_cpu *cpu,
			u32 msr);

/* The row of a table of n; NULL if the event is unknown. */
const struct ap_x86model_event *ap_x86model_event(const struct ap_x86model_event *events, u32 n,
						  u32 code);

#define AP_X86MODEL_K(k) AP_KIND_BIT(AP_KIND_##k)

extern const char ap_x86model_disabled[], ap_x86model_unknown[], ap_x86model_kernel[];

#endif
