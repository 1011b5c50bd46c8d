/* SPDX-License-Identifier: MIT */
/*
 * Fast text: the few number formats that millions of lines are made of, into a growing buffer (base/buf.h), and
 * a cache of pieces of it.
 */
#ifndef AP_PROFILE_TEXT_H
#define AP_PROFILE_TEXT_H

#include <string.h>

#include "base/buf.h"
#include "profile/text/intern.h"

/* Room for so many more; without memory it does not return. */
static inline char *ap_text_room(struct ap_buf *t, size_t more)
{
	if ((t->room - t->size < more || !t->data) && !ap_buf_grow(t, more))
		ap_profile_no_memory();
	return t->data + t->size;
}

static inline void ap_text_add(struct ap_buf *t, const char *s, size_t len)
{
	memcpy(ap_text_room(t, len), s, len);
	t->size += len;
}

static inline void ap_text_str(struct ap_buf *t, const char *s)
{
	ap_text_add(t, s, strlen(s));
}

static inline void ap_text_char(struct ap_buf *t, char c)
{
	*ap_text_room(t, 1) = c;
	t->size++;
}

/* As %s and so on of ap_print(): what may come from elsewhere; ap_text_str() and ap_text_add() are for our own. */
void ap_text_name(struct ap_buf *t, const char *s);
/* As %*llx, %*llu, %0*llu, and %*s of ap_print(). */
void ap_text_hex(struct ap_buf *t, u64 v, u32 width);
void ap_text_dec(struct ap_buf *t, u64 v, u32 width, char pad);
void ap_text_right(struct ap_buf *t, const char *s, u32 width);
void ap_text_printf(struct ap_buf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

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
	struct ap_buf text;
};

u64 ap_text_hash(const u64 *head, u32 nhead, const u8 *words, u64 n);
/* The text, or NULL; key is head followed by n (unaligned) words. */
const char *ap_text_find(const struct ap_text_cache *c, u64 hash, const u64 *head, u32 nhead,
			 const u8 *words, u64 n, u32 *len);
void ap_text_keep(struct ap_text_cache *c, u64 hash, const u64 *head, u32 nhead, const u8 *words,
		  u64 n, const char *text, u32 len);
void ap_text_cache_fini(struct ap_text_cache *c);

#endif
