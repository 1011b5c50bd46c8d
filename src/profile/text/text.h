/* SPDX-License-Identifier: MIT */
/*
 * Fast text: a growing buffer with the few number formats that millions of lines are made of, and
 * a cache of pieces of it.
 */
#ifndef AP_PROFILE_TEXT_H
#define AP_PROFILE_TEXT_H

#include <string.h>

#include "profile/text/intern.h"

struct ap_text {
	char *p;
	size_t n, cap;
};

void ap_text_grow(struct ap_text *t, size_t more);

static inline char *ap_text_room(struct ap_text *t, size_t more)
{
	if (t->cap - t->n < more || !t->p)
		ap_text_grow(t, more);
	return t->p + t->n;
}

static inline void ap_text_add(struct ap_text *t, const char *s, size_t len)
{
	memcpy(ap_text_room(t, len), s, len);
	t->n += len;
}

static inline void ap_text_str(struct ap_text *t, const char *s)
{
	ap_text_add(t, s, strlen(s));
}

static inline void ap_text_char(struct ap_text *t, char c)
{
	*ap_text_room(t, 1) = c;
	t->n++;
}

/* As %s and so on of ap_print(): what may come from elsewhere; ap_text_str() and ap_text_add() are for our own. */
void ap_text_name(struct ap_text *t, const char *s);
/* As %*llx, %*llu, %0*llu, and %*s of ap_print(). */
void ap_text_hex(struct ap_text *t, u64 v, u32 width);
void ap_text_dec(struct ap_text *t, u64 v, u32 width, char pad);
void ap_text_right(struct ap_text *t, const char *s, u32 width);
void ap_text_printf(struct ap_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ap_text_fini(struct ap_text *t);

/* Words -> a piece of text.  Forgets everything when it holds too much. */
struct ap_text_cache {
	struct ap_table known; /* indices + 1 of pieces, by the hash of their words */
	struct ap_text_piece {
		u32 words, len;
		size_t at;   /* of the words in keys */
		size_t text; /* and of the piece */
	} * piece;
	u32 n, cap;
	u64 *key;
	size_t nkey, cap_key;
	struct ap_text text;
};

u64 ap_text_hash(const u64 *head, u32 nhead, const u8 *words, u64 n);
/* The text, or NULL; key is head followed by n (unaligned) words. */
const char *ap_text_find(const struct ap_text_cache *c, u64 hash, const u64 *head, u32 nhead,
			 const u8 *words, u64 n, u32 *len);
void ap_text_keep(struct ap_text_cache *c, u64 hash, const u64 *head, u32 nhead, const u8 *words,
		  u64 n, const char *text, u32 len);
void ap_text_cache_fini(struct ap_text_cache *c);

#endif
