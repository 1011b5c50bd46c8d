/* SPDX-License-Identifier: MIT */
#include "profile/text/intern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536U
#define LEN   sizeof(u32)

void ap_profile_no_memory(void)
{
	fputs("anyperf: out of memory\n", stderr);
	exit(125);
}

void *ap_profile_realloc(void *p, size_t n, size_t size)
{
	void *q;

	if (size && n > (size_t)-1 / 2 / size)
		ap_profile_no_memory();
	q = realloc(p, n && size ? n * size : 1);
	if (!q)
		ap_profile_no_memory();
	return q;
}

void *ap_profile_calloc(size_t n, size_t size)
{
	void *q = calloc(n ? n : 1, size ? size : 1);

	if (!q)
		ap_profile_no_memory();
	return q;
}

void ap_profile_table_add(struct ap_table *t, u64 key, const void *item)
{
	if (ap_table_add(t, key, (uintptr_t)item))
		ap_profile_no_memory();
}

static u32 len_of(const char *text)
{
	u32 n;

	memcpy(&n, text - LEN, LEN);
	return n;
}

static char *cut(struct ap_intern *t, size_t size)
{
	char *p;

	size = (size_t)AP_ALIGN_UP(size, 8);
	if (size > BLOCK / 4) {
		p = ap_profile_realloc(NULL, 1, sizeof(void *) + size);
		memcpy(p, &t->blocks, sizeof(void *));
		t->blocks = p;
		return p + sizeof(void *);
	}
	if (size > t->left) {
		p = ap_profile_realloc(NULL, 1, BLOCK);
		memcpy(p, &t->blocks, sizeof(void *));
		t->blocks = p;
		t->block = p + sizeof(void *);
		t->left = BLOCK - sizeof(void *);
	}
	p = t->block;
	t->block += size;
	t->left -= size;
	return p;
}

const char *ap_intern(struct ap_intern *t, const char *text, size_t len)
{
	u64 hash = ap_hash_text(AP_HASH_TEXT, text, len);
	const struct ap_table_slot *s;
	u32 n = (u32)len;
	char *p;

	ap_table_each(&t->texts, hash, s)
	{
		p = ap_table_ptr(s);
		if (len_of(p) == n && !memcmp(p, text, len))
			return p;
	}
	p = cut(t, LEN + len + 1);
	memcpy(p, &n, LEN);
	memcpy(p + LEN, text, len);
	p[LEN + len] = 0;
	ap_profile_table_add(&t->texts, hash, p + LEN);
	return p + LEN;
}

const char *ap_intern_str(struct ap_intern *t, const char *text)
{
	return ap_intern(t, text, strlen(text));
}

void ap_intern_fini(struct ap_intern *t)
{
	void *p, *next;

	for (p = t->blocks; p; p = next) {
		memcpy(&next, p, sizeof(next));
		free(p);
	}
	ap_table_fini(&t->texts);
	memset(t, 0, sizeof(*t));
}
