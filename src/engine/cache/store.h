/* SPDX-License-Identifier: MIT */
/*
 * store.c: translated code that the processes of a party share (docs/design/code-store.md).  It lies in the party's file, where
 * anything may stand at any time: a record is copied first, and believed if its seal is right.  Process lock held
 * throughout.
 */
#ifndef AP_ENGINE_STORE_H
#define AP_ENGINE_STORE_H

#include "abi/session.h"
#include "base/types.h"

#define AP_STORE_INDEX (1U << 18)
#define AP_STORE_HINTS (1U << 20) /* of two bits */
#define AP_STORE_MARK  UINT32_MAX /* no record: such a block was made once */
#define AP_STORE_PIECE 64U	  /* a record takes whole ones: lines of the cache */
#define AP_RECORD_MAX  6144U

/* An address: so far from the block's beginning (anchor 0), or from where its n-th guess leads. */
struct ap_record_place {
	s32 delta;
	u32 anchor;
};

/* A guess: which word has its target, seen from the anchor before, and where in its page that is. */
struct ap_record_anchor {
	s32 word;
	u32 in_page;
};

/* Bytes of the program that the block was made of, or judged by. */
struct ap_record_range {
	s32 delta;
	u16 len, anchor;
};

struct ap_record_exit {
	s32 delta;
	u8 anchor, kind, special, is_there;
	u16 site; /* of its rel32 in the code; 0: it is not linked */
	u16 unused;
};

/* A field of the code that depends on where it stands: enum ap_fix_kind (translate/fix.h). */
struct ap_record_fix {
	u16 at;
	u8 kind, arg;
};

/*
 * Behind it, in this order: vecs (u64), anchors, ranges, jumps and pages (places), exits, fixes, records and sites (u16), more (u8 of
 * each record, or none), the ranges' bytes, the code.
 */
struct ap_record {
	u64 seal; /* of all behind it */
	u64 hash; /* it is looked for by */
	u64 final_vec;
	struct ap_record_place last_pc;
	u32 size; /* a multiple of 8 */
	u16 code_len, nsource, nfixes, nrecs;
	u8 nvecs, nanchors, nranges, njumps, npages, nexits, nsites;
	u8 small, has_more, phase; /* phase: of the code's address, modulo 8 */
	u8 unused[4];
	u16 in_page; /* where in its page the block begins */
	u64 how;
};

_Static_assert(sizeof(struct ap_record) % 8 == 0, "words follow");

struct ap_store {
	u32 used; /* pieces */
	u32 unused[15];
	u64 index
		[AP_STORE_INDEX]; /* the hash's upper half, then piece + 1 or AP_STORE_MARK; 0 free */
	u8 hints[AP_STORE_HINTS / 4];
	u8 pieces[][AP_STORE_PIECE];
};

#define AP_STORE_PIECES ((AP_STORE_SIZE - sizeof(struct ap_store)) / AP_STORE_PIECE)

/* Where the parts of a record are; false: they do not fit into it. */
struct ap_record_parts {
	const u64 *vecs;
	const struct ap_record_anchor *anchors;
	const struct ap_record_range *ranges;
	const struct ap_record_place *jumps, *pages;
	const struct ap_record_exit *exits;
	const struct ap_record_fix *fixes;
	const u16 *recs, *sites;
	const u8 *more, *source, *code;
};
AP_MUST_CHECK bool ap_record_parts(const struct ap_record *r, struct ap_record_parts *p);

/* From here on the process has this store, and the key that seals its records. */
void ap_store_use(struct ap_store *store, const u64 key[2]);
/* Gives it up, for good. */
void ap_store_part(void);
/* So do its children, and all images: it is about to be shut off from what it might do to processes of its own user. */
void ap_store_seclude(void);
bool ap_store_is_secluded(void);
bool ap_store_is_there(void);

/*
 * What a block at pc, of these bytes there, is looked for by; how: what else code depends on.  page: of its mapping, so that
 * entries of neighbours are neighbours.
 */
struct ap_store_key {
	u64 hash, how;
	u16 in_page;
	u32 first;	/* entry of the index */
	u32 tries;	/* which is the next */
	bool is_marked; /* ap_store_next() has met its mark */
};
struct ap_store_key ap_store_key(u64 pc, u64 page, const u8 code[16], u64 how);
/* The next record of that key, in memory of store.c that the next call overwrites.  NULL: there is none. */
const struct ap_record *ap_store_next(struct ap_store_key *key);
/*
 * Such a block was made, and not kept.  Most code of a program that runs once is wanted by nobody again: a record is worth its
 * making from the second time on.  A mark gives its place up to records and to other marks.
 */
void ap_store_mark(const struct ap_store_key *key);
/* Seals it and puts it in, if there is room. */
void ap_store_put(struct ap_record *r, const struct ap_store_key *key);

/* 0, or what was noted: 1 to 3. */
u32 ap_store_hint(u64 pc, const u8 code[16]);
void ap_store_note_hint(u64 pc, const u8 code[16], u32 hint);

#endif
