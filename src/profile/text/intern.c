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

static u32 hash(const char *text, size_t len)
{
	u64 h = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (u8)text[i]) * 0x100000001b3ULL;
	return (u32)(h ^ h >> 32);
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

static void grow(struct ap_intern *t)
{
	char **old = t->slot;
	u32 cap = t->cap, i, k;

	t->cap = cap ? 2 * cap : 1024;
	t->slot = ap_profile_calloc(t->cap, sizeof(*t->slot));
	for (i = 0; i < cap; i++) {
		if (!old[i])
			continue;
		k = hash(old[i], len_of(old[i])) & (t->cap - 1);
		while (t->slot[k])
			k = (k + 1) & (t->cap - 1);
		t->slot[k] = old[i];
	}
	free(old);
}

const char *ap_intern(struct ap_intern *t, const char *text, size_t len)
{
	u32 k, n = (u32)len;
	char *p;

	if (2 * (t->n + 1) > t->cap)
		grow(t);
	for (k = hash(text, len) & (t->cap - 1); t->slot[k]; k = (k + 1) & (t->cap - 1)) {
		if (len_of(t->slot[k]) == n && !memcmp(t->slot[k], text, len))
			return t->slot[k];
	}
	p = cut(t, LEN + len + 1);
	memcpy(p, &n, LEN);
	memcpy(p + LEN, text, len);
	p[LEN + len] = 0;
	t->slot[k] = p + LEN;
	t->n++;
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
	free(t->slot);
	memset(t, 0, sizeof(*t));
}
