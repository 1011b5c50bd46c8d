/* SPDX-License-Identifier: MIT */
#include "profile/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "print/escape.h"
#include "print/print.h"

#define MAX_TEXT (32U * 1024 * 1024)
#define MAX_KEYS (4U * 1024 * 1024)

static void padded(struct ap_buf *t, const char *digits, u32 n, u32 width, char pad)
{
	char *p = ap_text_room(t, width > n ? width : n);

	if (width > n) {
		memset(p, pad, width - n);
		p += width - n;
		t->size += width - n;
	}
	memcpy(p, digits, n);
	t->size += n;
}

void ap_text_hex(struct ap_buf *t, u64 v, u32 width)
{
	char digits[16], *p = digits + sizeof(digits);

	do
		*--p = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	padded(t, p, (u32)(digits + sizeof(digits) - p), width, ' ');
}

void ap_text_dec(struct ap_buf *t, u64 v, u32 width, char pad)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	padded(t, p, (u32)(digits + sizeof(digits) - p), width, pad);
}

void ap_text_right(struct ap_buf *t, const char *s, u32 width)
{
	size_t n = strlen(s);
	u32 columns = ap_escape_columns(s, n);

	padded(t, "", 0, width > columns ? width - columns : 0, ' ');
	ap_text_name(t, s);
}

void ap_text_name(struct ap_buf *t, const char *s)
{
	size_t n = strlen(s), room = AP_ESCAPED * n + 1;

	if (ap_escape_is_plain(s, n))
		ap_text_add(t, s, n);
	else
		t->size += ap_escape(ap_text_room(t, room), room, s, n);
}

/* Seldom: something in it has to be escaped. */
static void text_escaped(struct ap_buf *t, const char *fmt, va_list ap)
{
	char *made = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&made, &size);

	if (!out)
		ap_profile_no_memory();
	ap_vprint(out, fmt, ap);
	if (fclose(out))
		ap_profile_no_memory();
	ap_text_add(t, made, size);
	free(made);
}

void ap_text_printf(struct ap_buf *t, const char *fmt, ...)
{
	bool plain;
	va_list ap;
	int n;

	va_start(ap, fmt);
	plain = ap_print_is_plain(fmt, ap);
	if (!plain)
		text_escaped(t, fmt, ap);
	va_end(ap);
	if (!plain)
		return;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(ap_text_room(t, (size_t)n + 1), (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->size += (size_t)n;
}

u64 ap_text_hash(const u64 *head, u32 nhead, const u8 *words, u64 n)
{
	u64 h = n, v, i;

	for (i = 0; i < nhead + n; i++) {
		if (i < nhead)
			v = head[i];
		else
			memcpy(&v, words + 8 * (i - nhead), 8);
		h = (h ^ v) * 0x9fb21c651e98df25ULL;
		h ^= h >> 32;
	}
	return h;
}

const char *ap_text_find(const struct ap_text_cache *c, u64 hash, const u64 *head, u32 nhead,
			 const u8 *words, u64 n, u32 *len)
{
	const struct ap_table_slot *s;

	ap_table_each(&c->known, hash, s)
	{
		const struct ap_text_piece *p = &c->piece[s->item - 1];
		const u64 *key = c->key + p->at;

		if (p->words == nhead + n && !memcmp(key, head, 8 * nhead) &&
		    (!n || !memcmp(key + nhead, words, 8 * n))) {
			*len = p->len;
			return c->text.data + p->text;
		}
	}
	return NULL;
}

void ap_text_keep(struct ap_text_cache *c, u64 hash, const u64 *head, u32 nhead, const u8 *words,
		  u64 n, const char *text, u32 len)
{
	if (c->text.size + len > MAX_TEXT || c->nkey + nhead + n > MAX_KEYS) {
		ap_table_fini(&c->known);
		c->n = 0;
		c->nkey = 0;
		c->text.size = 0;
	}
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 1024;
		c->piece = ap_profile_realloc(c->piece, c->cap, sizeof(*c->piece));
	}
	while (c->nkey + nhead + n > c->cap_key) {
		c->cap_key = c->cap_key ? 2 * c->cap_key : 65536;
		c->key = ap_profile_realloc(c->key, c->cap_key, sizeof(*c->key));
	}
	c->piece[c->n++] = (struct ap_text_piece){
		.words = nhead + (u32)n, .len = len, .at = c->nkey, .text = c->text.size
	};
	ap_profile_table_add(&c->known, hash, (void *)(uintptr_t)c->n);
	memcpy(c->key + c->nkey, head, 8 * nhead);
	if (n)
		memcpy(c->key + c->nkey + nhead, words, 8 * n);
	c->nkey += nhead + n;
	ap_text_add(&c->text, text, len);
}

void ap_text_cache_fini(struct ap_text_cache *c)
{
	ap_table_fini(&c->known);
	free(c->piece);
	free(c->key);
	ap_buf_fini(&c->text);
}
