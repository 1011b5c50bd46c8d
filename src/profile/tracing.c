/* SPDX-License-Identifier: MIT */
/*
 * The section is that of trace-cmd's files of version 0.6, as perf has it: magic, byte order, page size, two headers,
 * the formats of events, then lists that we leave empty.  libtraceevent understands the formats.
 */
#include "profile/tracing.h"

#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include "profile/intern.h"

#define MAGIC	   "\x17\x08\x44tracing"
#define MAGIC_SIZE 10U
#define VERSION	   "0.6"
#define PAGE_SIZE  4096U
#define MAX_FORMAT (1U << 20)
#define MAX_EVENTS 100000U

/* --- writing */

static void put_file(struct ap_buf *to, const char *text)
{
	ap_buf_u64(to, strlen(text));
	ap_buf_put(to, text, strlen(text));
}

static u32 of_system(const struct ap_tracing_event *ev, size_t n, size_t first)
{
	u32 found = 0;
	size_t i;

	for (i = first; i < n; i++)
		found += !strcmp(ev[i].system, ev[first].system);
	return found;
}

static bool is_first(const struct ap_tracing_event *ev, size_t at)
{
	size_t i;

	for (i = 0; i < at; i++) {
		if (!strcmp(ev[i].system, ev[at].system))
			return false;
	}
	return true;
}

void ap_tracing_put(struct ap_buf *to, const char *header_page, const char *header_event,
		    const struct ap_tracing_event *ev, size_t n)
{
	u32 systems = 0;
	size_t i, k;

	ap_buf_put(to, MAGIC, MAGIC_SIZE);
	ap_buf_put(to, VERSION, sizeof(VERSION));
	ap_buf_put(to, "\0\x08", 2); /* little endian, longs of 8 bytes */
	ap_buf_u32(to, PAGE_SIZE);
	ap_buf_put(to, "header_page", sizeof("header_page"));
	put_file(to, header_page);
	ap_buf_put(to, "header_event", sizeof("header_event"));
	put_file(to, header_event);
	ap_buf_u32(to, 0); /* formats of ftrace's own records */
	for (i = 0; i < n; i++)
		systems += is_first(ev, i);
	ap_buf_u32(to, systems);
	for (i = 0; i < n; i++) {
		if (!is_first(ev, i))
			continue;
		ap_buf_put(to, ev[i].system, strlen(ev[i].system) + 1);
		ap_buf_u32(to, of_system(ev, n, i));
		for (k = i; k < n; k++) {
			if (!strcmp(ev[k].system, ev[i].system))
				put_file(to, ev[k].format);
		}
	}
	ap_buf_u32(to, 0); /* kallsyms */
	ap_buf_u32(to, 0); /* formats of trace_printk */
	ap_buf_u64(to, 0); /* names of tasks */
}

/* --- reading */

struct ap_tracing {
	struct tep_handle *tep;
	struct trace_seq seq;
};

struct cursor {
	const u8 *p, *end;
	bool swapped;
};

static bool take(struct cursor *c, u64 n, const u8 **out)
{
	if (n > (u64)(c->end - c->p))
		return false;
	*out = c->p;
	c->p += n;
	return true;
}

static bool word(struct cursor *c, u32 *v)
{
	const u8 *p;

	if (!take(c, 4, &p))
		return false;
	*v = c->swapped ? __builtin_bswap32(ap_get32(p)) : ap_get32(p);
	return true;
}

static bool text(struct cursor *c, const char **out)
{
	const u8 *nul = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;

	*out = (const char *)c->p;
	if (nul)
		c->p = nul + 1;
	return nul;
}

/* A counted file, with a NUL behind it that the parser needs; to be freed. */
static bool file(struct cursor *c, char **out, u64 *size)
{
	const u8 *p;

	if (!take(c, 8, &p))
		return false;
	*size = c->swapped ? __builtin_bswap64(ap_get64(p)) : ap_get64(p);
	if (*size > MAX_FORMAT || !take(c, *size, &p))
		return false;
	*out = ap_profile_calloc(1, *size + 1);
	memcpy(*out, p, *size);
	return true;
}

static bool named_file(struct cursor *c, const char *name, char **out, u64 *size)
{
	const char *is;

	return text(c, &is) && !strcmp(is, name) && file(c, out, size);
}

static bool headers(struct cursor *c, struct tep_handle *tep)
{
	const u8 *sizes;
	const char *version;
	char *page, *event;
	u64 page_size, event_size;
	u32 machine_page;

	if (!take(c, MAGIC_SIZE, &sizes) || memcmp(sizes, MAGIC, MAGIC_SIZE) ||
	    !text(c, &version) || !take(c, 2, &sizes))
		return false;
	c->swapped = sizes[0]; /* big endian */
	tep_set_file_bigendian(tep, sizes[0] ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep, TEP_LITTLE_ENDIAN);
	if ((sizes[1] != 4 && sizes[1] != 8) || !word(c, &machine_page))
		return false;
	tep_set_long_size(tep, sizes[1]);
	tep_set_page_size(tep, (int)machine_page);
	if (!named_file(c, "header_page", &page, &page_size))
		return false;
	tep_parse_header_page(tep, page, page_size, sizes[1]);
	free(page);
	if (!named_file(c, "header_event", &event, &event_size))
		return false;
	free(event);
	return true;
}

static bool formats(struct cursor *c, struct tep_handle *tep, const char *system)
{
	u32 i, n;

	if (!word(c, &n) || n > MAX_EVENTS)
		return false;
	for (i = 0; i < n; i++) {
		char *format;
		u64 size;

		if (!file(c, &format, &size))
			return false;
		tep_parse_event(tep, format, size, system);
		free(format);
	}
	return true;
}

struct ap_tracing *ap_tracing_read(struct ap_data *d)
{
	struct ap_tracing *t;
	struct cursor c = { 0 };
	const char *system;
	u32 i, n;
	u64 size;

	c.p = ap_data_feature(d, AP_FEAT_TRACING_DATA, &size);
	if (!c.p)
		return NULL;
	c.end = c.p + size;
	t = ap_profile_calloc(1, sizeof(*t));
	t->tep = tep_alloc();
	if (!t->tep) {
		free(t);
		return NULL;
	}
	trace_seq_init(&t->seq);
	tep_set_loglevel(TEP_LOG_NONE); /* what it does not understand is shown as numbers */
	if (!headers(&c, t->tep) || !formats(&c, t->tep, "ftrace") || !word(&c, &n))
		return t;
	for (i = 0; i < n && i < MAX_EVENTS; i++) {
		if (!text(&c, &system) || !formats(&c, t->tep, system))
			break;
	}
	return t;
}

void ap_tracing_free(struct ap_tracing *t)
{
	if (!t)
		return;
	trace_seq_destroy(&t->seq);
	tep_free(t->tep);
	free(t);
}

const char *ap_tracing_text(struct ap_tracing *t, u64 id, u32 cpu, const u8 *raw, u32 size)
{
	struct tep_record record = { .cpu = (int)cpu, .size = (int)size };
	char *copy;

	if (!t || id > 0x7fffffff || size < 8 || size > 0xffff || !tep_find_event(t->tep, (int)id))
		return "";
	/* aligned, and with room behind: formats of damaged files point beyond their records */
	copy = ap_profile_calloc(1, size + 4096U);
	memcpy(copy, raw, size);
	record.data = copy;
	trace_seq_reset(&t->seq);
	tep_print_event(t->tep, &t->seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&t->seq);
	free(copy);
	return t->seq.buffer;
}
