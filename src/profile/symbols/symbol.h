/* SPDX-License-Identifier: MIT */
/*
 * Files that code came from (DSOs: executables, libraries, the kernel, the vdso, what a JIT
 * compiler wrote) and what their debug information says of a place in them.  A place is an offset
 * in the file, as the kernel's mapping records give it; for the kernel and for JIT code it is the
 * address itself.  Symbols are loaded when the first place is asked for.
 */
#ifndef AP_PROFILE_SYMBOL_H
#define AP_PROFILE_SYMBOL_H

#include "base/types.h"
#include "profile/text/intern.h"

enum ap_dso_kind {
	AP_DSO_FILE,
	AP_DSO_KERNEL,
	AP_DSO_MODULE, /* of the kernel */
	AP_DSO_VDSO,
	AP_DSO_JIT, /* anonymous memory: /tmp/perf-PID.map */
	AP_DSO_DATA /* nothing that has symbols: [stack], [heap], ... */
};

struct ap_symbol {
	u64 start, end;
	const char *name; /* demangled, unless that was switched off */
	u8 type;	  /* STT_* */
	u8 bind;	  /* STB_* */
	bool inlined;	  /* a function that was expanded at the place: ap_dso_inlines() */
};

/* Code of a JIT compiler's. */
struct ap_jit_code {
	u64 start, size;
	u64 off; /* of its bytes in the jitdump */
	/* of its .eh_frame there, which counts from the code; 0: it has none */
	u64 unwind;
	u32 unwind_size;
};

struct ap_dso {
	const char *path, *name; /* name: its last part */
	enum ap_dso_kind kind;
	u8 build_id[20];
	u8 build_id_size;
	u32 index;	     /* in order of appearance */
	bool is_refused;     /* it is another user's, which has been said */
	const char *jitdump; /* of AP_DSO_JIT, or NULL */
	struct ap_jit *jit;  /* what that says: jitdump.c */
	struct ap_symbols *symbols;
	/* loaded on demand */
	bool loaded;
	struct ap_symbol *sym; /* by start */
	u64 *max_end;	       /* the highest end of sym[0..i] */
	u32 nsym;
	const char *symfile;	/* where they came from, NULL: nowhere */
	struct ap_debug *debug; /* DWARF */
	bool debug_tried;
	u32 nseg; /* file offset -> address in the file's own terms */
	struct ap_segment {
		u64 off, vaddr, size;
	} * seg;
};

struct ap_symbols {
	struct ap_intern text;
	struct ap_dso **dso;
	u32 ndso;
	bool no_demangle;
	bool params;	      /* demangled names with their parameters */
	const char *symfs;    /* prefix of all files, or NULL */
	const char *kallsyms; /* other than /proc/kallsyms, or NULL */
	bool force;	      /* another user's perf maps, jitdumps and home are believed as well */
	void (*complain)(const char *path,
			 int error); /* of one that is not; NULL: nobody is told */
	bool is_home_refused;
	u64 now; /* of the sample at hand, by the clock of jitdumps; 0: unknown */
};

void ap_symbols_init(struct ap_symbols *s);
void ap_symbols_fini(struct ap_symbols *s);

/* The DSO of a path; kind and path together name it. */
struct ap_dso *ap_dso_get(struct ap_symbols *s, const char *path, enum ap_dso_kind kind);
void ap_dso_set_build_id(struct ap_dso *dso, const u8 *id, u32 size);

/* The symbol that has this place, or NULL. */
const struct ap_symbol *ap_dso_symbol(struct ap_dso *dso, u64 place);

/*
 * A letter for where symbols were found, as perf has it: d the file, b its debug file, k kallsyms,
 * j a JIT ...
 */
char ap_dso_origin(const struct ap_dso *dso);

/*
 * The functions that were expanded at the place, innermost first, the real one (fn) last.  Returns
 * how many were put into out, at most max; 0 where debug information does not know the place.
 */
u32 ap_dso_inlines(struct ap_dso *dso, const struct ap_symbol *fn, u64 place,
		   const struct ap_symbol **out, u32 max);

/* The source line of a place: false where nothing knows it.  file is interned. */
bool ap_dso_line(struct ap_dso *dso, u64 place, const char **file, u32 *line);

/* A place as an address in the file's own terms (what objdump prints), and back. */
u64 ap_dso_vaddr(struct ap_dso *dso, u64 place);
u64 ap_dso_place(struct ap_dso *dso, u64 vaddr);

/* Code of the file at a place: how many bytes could be read. */
size_t ap_dso_code(struct ap_dso *dso, u64 place, u8 *buf, size_t size);
/* Of a function, from its start. */
size_t ap_dso_function(struct ap_dso *dso, const struct ap_symbol *sym, u8 *buf, size_t size);

/*
 * Code of a JIT compiler's comes and goes: this time has other code than the last one that was told
 * of; go there.
 */
bool ap_jit_is_behind(const struct ap_dso *dso, u64 time);
void ap_jit_advance(struct ap_dso *dso, u64 time);

#endif
