/* SPDX-License-Identifier: MIT */
/*
 * Keys of what samples say besides where they were: processor, namespace, transaction, pages.
 */
#include <string.h>

#include "profile/hist/data_source.h"
#include "profile/hist/hist_internal.h"

static int cmp_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static u64 mix(u64 v)
{
	v *= 0xff51afd7ed558ccdULL;
	return v ^ v >> 33;
}

/* --- the processor's socket */
static int socket_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	(void)h;
	return a->socket > b->socket ? -1 : a->socket < b->socket;
}

static u64 socket_hash(const struct ap_hist_entry *e)
{
	return mix((u64)e->socket);
}

static bool socket_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->socket == b->socket;
}

static u32 socket_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	(void)e;
	return 6;
}

static int socket_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			char *buf, size_t size)
{
	(void)h;
	return snprintf(buf, size, "%*.*d", (int)width, (int)width - 3, (int)e->socket);
}

/* --- the cgroup namespace, which perf calls the cgroup's id */
static int namespace_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
			  const struct ap_hist_entry *b)
{
	int r = cmp_u64(b->facts.cgroup_dev, a->facts.cgroup_dev);

	(void)h;
	return r ? r : cmp_u64(b->facts.cgroup_ino, a->facts.cgroup_ino);
}

static u64 namespace_hash(const struct ap_hist_entry *e)
{
	return mix(e->facts.cgroup_dev + mix(e->facts.cgroup_ino));
}

static bool namespace_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->facts.cgroup_dev == b->facts.cgroup_dev &&
	       a->facts.cgroup_ino == b->facts.cgroup_ino;
}

static int namespace_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			   char *buf, size_t size)
{
	char text[64];

	(void)h;
	snprintf(text, sizeof(text), "%llu/0x%llx", (unsigned long long)e->facts.cgroup_dev,
		 (unsigned long long)e->facts.cgroup_ino);
	return snprintf(buf, size, "%-*s", (int)width, text);
}

/* --- how a transaction ended */
#define TXN_SYNC  (1ULL << 2)
#define TXN_ASYNC (1ULL << 3)

static int transaction_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
			    const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(b->facts.transaction, a->facts.transaction);
}

static u64 transaction_hash(const struct ap_hist_entry *e)
{
	return mix(e->facts.transaction);
}

static bool transaction_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->facts.transaction == b->facts.transaction;
}

static int transaction_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			     char *buf, size_t size)
{
	static const char *const words[] = { "EL",    "TX",  "SYNC",	  "ASYNC",
					     "RETRY", "CON", "CAP-WRITE", "CAP-READ" };
	u64 t = e->facts.transaction;
	char text[120] = "";
	size_t n = 0;

	(void)h;
	for (size_t i = 0; i < AP_ARRAY_SIZE(words); i++) {
		if (t >> i & 1)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s ", words[i]);
	}
	if (t && !(t & (TXN_SYNC | TXN_ASYNC)))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "NEITHER ");
	if (t >> 32)
		snprintf(text + n, sizeof(text) - n, ":%llx", (unsigned long long)(t >> 32));
	return snprintf(buf, size, "%-*s", (int)width, text);
}

/* --- the size of the code's page */
static int page_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->facts.code_page, b->facts.code_page);
}

static u64 page_hash(const struct ap_hist_entry *e)
{
	return mix(e->facts.code_page);
}

static bool page_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->facts.code_page == b->facts.code_page;
}

static int page_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	char text[AP_PAGE_TEXT];

	(void)h;
	return snprintf(buf, size, "%-*s", (int)width,
			ap_page_text(e->facts.code_page, text, sizeof(text)));
}

#define AT(key) [(key)-AP_KEY_SAMPLE]

const struct ap_key_ops ap_keys_sample[] = {
	AT(AP_KEY_SOCKET) = { "socket", "Socket", 0, socket_sort, socket_sort, socket_hash,
			      socket_same, socket_len, socket_print },
	AT(AP_KEY_CGROUP_ID) = { "cgroup_id", "cgroup id (dev/inode)", 0, namespace_sort,
				 namespace_sort, namespace_hash, namespace_same, NULL,
				 namespace_print },
	AT(AP_KEY_TRANSACTION) = { "transaction", "Transaction                ", 0,
				   transaction_sort, transaction_sort, transaction_hash,
				   transaction_same, NULL, transaction_print },
	AT(AP_KEY_CODE_PAGE) = { "code_page_size", "Code Page Size", 0, page_sort, page_sort,
				 page_hash, page_same, NULL, page_print },
};
