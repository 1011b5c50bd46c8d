/* SPDX-License-Identifier: MIT */
/*
 * The section is that of trace-cmd's files of version 0.6, as perf has it: magic, byte order, page
 * size, two headers, the formats of events, then lists that we leave empty.  libtraceevent
 * understands the formats.
 */
#include "profile/data/tracing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <unistd.h>

#include "profile/text/intern.h"

#define MAGIC	    "\x17\x08\x44tracing"
#define MAGIC_SIZE  10U
#define VERSION	    "0.6"
#define PAGE_SIZE   4096U
#define MAX_FORMAT  (1U << 20)
#define MAX_EVENTS  100000U
#define ROOM_BEHIND 4096U /* a record, for what a format may say */

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
	bool is_cut; /* formats are read without what says how to print */
};

struct tracing_cursor {
	const u8 *p, *end;
	bool swapped;
};

static bool take(struct tracing_cursor *c, u64 n, const u8 **out)
{
	if (n > (u64)(c->end - c->p))
		return false;
	*out = c->p;
	c->p += n;
	return true;
}

static bool word(struct tracing_cursor *c, u32 *v)
{
	const u8 *p;

	if (!take(c, 4, &p))
		return false;
	*v = c->swapped ? __builtin_bswap32(ap_get32(p)) : ap_get32(p);
	return true;
}

static bool text(struct tracing_cursor *c, const char **out)
{
	const u8 *nul = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;

	*out = (const char *)c->p;
	if (nul)
		c->p = nul + 1;
	return nul;
}

/* A counted file, with a NUL behind it that the parser needs; to be freed. */
static bool file(struct tracing_cursor *c, char **out, u64 *size)
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

static bool named_file(struct tracing_cursor *c, const char *name, char **out, u64 *size)
{
	const char *is;

	return text(c, &is) && !strcmp(is, name) && file(c, out, size);
}

static bool headers(struct tracing_cursor *c, struct tep_handle *tep)
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

static void cut(char *format)
{
	char *print = strstr(format, "\nprint fmt:");

	if (print)
		print[1] = '\0';
}

static bool formats(struct tracing_cursor *c, const struct ap_tracing *t, const char *system)
{
	u32 i, n;

	if (!word(c, &n) || n > MAX_EVENTS)
		return false;
	for (i = 0; i < n; i++) {
		char *format;
		u64 size;

		if (!file(c, &format, &size))
			return false;
		if (t->is_cut)
			cut(format);
		tep_parse_event(t->tep, format, t->is_cut ? strlen(format) : size, system);
		free(format);
	}
	return true;
}

static void read_all(struct ap_tracing *t, struct tracing_cursor c)
{
	const char *system;
	u32 n;

	if (!headers(&c, t->tep) || !formats(&c, t, "ftrace") || !word(&c, &n))
		return;
	for (u32 i = 0; i < n && i < MAX_EVENTS; i++) {
		if (!text(&c, &system) || !formats(&c, t, system))
			break;
	}
}

/*
 * libtraceevent's parser faults on some formats that are wrong, and a profile may have any.  So a
 * child reads them first, with a limit of its time.
 */
static bool is_readable(struct ap_tracing *t, const struct tracing_cursor *c)
{
	const struct rlimit seconds = { 10, 10 }, none = { 0, 0 };
	pid_t pid = fork();
	int status, null;

	if (!pid) {
		setrlimit(RLIMIT_CPU, &seconds);
		setrlimit(RLIMIT_CORE, &none);
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		read_all(t, *c);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

struct ap_tracing *ap_tracing_read(struct ap_data *d)
{
	struct ap_tracing *t;
	struct tracing_cursor c = { 0 };
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
	/* where it is "print fmt:" that is wrong, fields are shown as numbers; else nothing is */
	t->is_cut = !is_readable(t, &c);
	if (!t->is_cut || is_readable(t, &c))
		read_all(t, c);
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

/* A sample's record: aligned, and with room behind, as formats of damaged files point beyond it. */
static struct tep_event *copy_record(struct ap_tracing *t, u64 id, const u8 *raw, u32 size,
				     char **copy)
{
	struct tep_event *event;

	if (!t || id > 0x7fffffff || size < 8 || size > 0xffff)
		return NULL;
	event = tep_find_event(t->tep, (int)id);
	if (event) {
		*copy = ap_profile_calloc(1, size + ROOM_BEHIND);
		memcpy(*copy, raw, size);
	}
	return event;
}

static void print_text(struct ap_tracing *t, char *copy, u32 cpu, u32 size)
{
	struct tep_record record = { .cpu = (int)cpu, .size = (int)size, .data = copy };

	trace_seq_reset(&t->seq);
	tep_print_event(t->tep, &t->seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&t->seq);
}

const char *ap_tracing_text(struct ap_tracing *t, u64 id, u32 cpu, const u8 *raw, u32 size)
{
	char *copy;

	if (!copy_record(t, id, raw, size, &copy))
		return "";
	print_text(t, copy, cpu, size);
	free(copy);
	return t->seq.buffer;
}

/* --- fields */

/* A name in its parts; an event's is "" where any will do. */
struct field_name {
	char event[AP_TRACING_NAME], field[AP_TRACING_NAME];
	bool raw;
};

static void split_name(const char *name, struct field_name *out)
{
	char *dot, *end;

	snprintf(out->field, sizeof(out->field), "%s", name);
	end = strchr(out->field, '/');
	out->raw = end && !strcmp(end, "/raw");
	if (out->raw)
		*end = '\0';
	dot = strrchr(out->field, '.');
	out->event[0] = '\0';
	if (!dot)
		return;
	*dot = '\0';
	memcpy(out->event, out->field, sizeof(out->event));
	memmove(out->field, dot + 1, strlen(dot + 1) + 1);
}

static bool is_event(const struct tep_event *event, const char *name)
{
	const char *colon = strchr(name, ':');

	if (!*name)
		return true;
	if (!colon)
		return !strcmp(event->name, name);
	return strlen(event->system) == (size_t)(colon - name) &&
	       !strncmp(event->system, name, (size_t)(colon - name)) &&
	       !strcmp(event->name, colon + 1);
}

static struct tep_format_field *find_field(struct tep_event *event, const struct field_name *name)
{
	struct tep_format_field *f;

	if (!is_event(event, name->event))
		return NULL;
	f = tep_find_any_field(event, name->field);
	return f && f->offset >= 0 && f->size >= 0 && f->offset + f->size <= (int)ROOM_BEHIND
		       ? f
		       : NULL;
}

bool ap_tracing_has_field(struct ap_tracing *t, const char *name)
{
	struct field_name parts;
	int i, n = t ? tep_get_events_count(t->tep) : 0;

	split_name(name, &parts);
	for (i = 0; i < n; i++) {
		if (find_field(tep_get_event(t->tep, i), &parts))
			return true;
	}
	return false;
}

static bool is_among(char (*name)[AP_TRACING_NAME], u32 n, const char *what)
{
	while (n) {
		if (!strcmp(name[--n], what))
			return true;
	}
	return false;
}

u32 ap_tracing_fields(struct ap_tracing *t, char (*name)[AP_TRACING_NAME], u32 max)
{
	int i, n = t ? tep_get_events_count(t->tep) : 0;
	struct tep_format_field *f;
	u32 found = 0;

	for (i = 0; i < n; i++) {
		for (f = tep_get_event(t->tep, i)->format.fields; f && found < max; f = f->next) {
			if (strlen(f->name) < AP_TRACING_NAME && !is_among(name, found, f->name))
				memcpy(name[found++], f->name, strlen(f->name) + 1);
		}
	}
	return found;
}

/* What the text has behind "name=", as for flags that have words; false: nothing. */
static bool find_word(const struct trace_seq *seq, const char *name, const char **out)
{
	size_t len = strlen(name), n;
	char *p = seq->buffer;

	for (; *p; p += n + strspn(p + n, " ")) {
		n = strcspn(p, " ");
		if (n > len && !strncmp(p, name, len) && p[len] == '=') {
			p[n] = '\0';
			*out = p + len + 1;
			return true;
		}
	}
	return false;
}

static u64 order_of(const struct tep_format_field *f, const char *record)
{
	unsigned long long v = 0;
	u64 sign = f->flags & TEP_FIELD_IS_SIGNED ? 1ULL << 63 : 0;

	if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING | TEP_FIELD_IS_DYNAMIC) ||
	    tep_read_number_field((struct tep_format_field *)f, record, &v))
		return 0;
	if (sign && f->size < 8) /* as wide as the order */
		v = (u64)((s64)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size));
	return v ^ sign;
}

const char *ap_tracing_field(struct ap_tracing *t, const char *name, u64 id, u32 cpu, const u8 *raw,
			     u32 size, u64 *order)
{
	struct tep_format_field *f = NULL;
	struct tep_event *event;
	struct field_name parts;
	const char *text;
	char *copy;

	event = copy_record(t, id, raw, size, &copy);
	if (!event)
		return NULL;
	split_name(name, &parts);
	f = find_field(event, &parts);
	text = NULL;
	if (f && !parts.raw) {
		print_text(t, copy, cpu, size);
		if (!find_word(&t->seq, parts.field, &text))
			text = NULL;
	}
	if (f && !text) {
		trace_seq_reset(&t->seq);
		tep_print_field(&t->seq, copy, f);
		trace_seq_terminate(&t->seq);
		text = t->seq.buffer;
	}
	*order = f ? order_of(f, copy) : 0;
	free(copy);
	return text;
}
