/* SPDX-License-Identifier: MIT */
/*
 * A line per sample, or with callchains a line and one more per frame.  Stacks repeat, so their text is
 * kept by (process, mappings so far, addresses): most of the output is copied, not made.
 */
#include "profile/script/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/hist/hist.h"
#include "profile/script/script_internal.h"
#include "profile/symbols/unwind.h"

#define OUT_BUFFER (256U * 1024)
#define MAX_FRAMES 4096U

#define DEFAULT_FIELDS                                                                             \
	(AP_FIELD_COMM | AP_FIELD_TID | AP_FIELD_CPU | AP_FIELD_TIME | AP_FIELD_EVENT |            \
	 AP_FIELD_IP | AP_FIELD_SYM | AP_FIELD_SYMOFF | AP_FIELD_DSO | AP_FIELD_PERIOD)

struct ap_script *ap_script_new(struct ap_profile_session *s, struct ap_data *d,
				const struct ap_script_opts *opts, FILE *out)
{
	struct ap_script *c = ap_profile_calloc(1, sizeof(*c));
	u32 i;

	c->s = s;
	c->d = d;
	c->opts = *opts;
	c->out = out;
	c->frame = ap_profile_calloc(MAX_FRAMES, sizeof(*c->frame));
	for (i = 0; i < AP_SCRIPT_TYPES; i++)
		c->fields[i] = DEFAULT_FIELDS;
	c->fields[AP_PERF_TYPE_TRACEPOINT] = AP_FIELD_COMM | AP_FIELD_TID | AP_FIELD_CPU |
					     AP_FIELD_TIME | AP_FIELD_EVENT | AP_FIELD_TRACE;
	c->fields[AP_PERF_TYPE_RAW] |=
		AP_FIELD_ADDR | AP_FIELD_DATA_SRC | AP_FIELD_WEIGHT | AP_FIELD_PHYS_ADDR;
	return c;
}

void ap_script_flush(struct ap_script *c)
{
	if (c->text.size)
		fwrite(c->text.data, 1, c->text.size,
		       c->out); /* raw: profile/text/text.h escaped it */
	c->text.size = 0;
}

void ap_script_free(struct ap_script *c)
{
	ap_script_flush(c);
	ap_buf_fini(&c->text);
	ap_text_cache_fini(&c->chains);
	free(c->frame);
	ap_tracing_free(c->tracing);
	free(c);
}

static void symbol(struct ap_buf *t, const struct ap_symbol *sym, u64 addr, u32 fields)
{
	if (!sym) {
		ap_text_str(t, "[unknown]");
		return;
	}
	ap_text_name(t, sym->name);
	if (fields & AP_FIELD_SYMOFF) {
		ap_text_str(t, "+0x");
		ap_text_hex(t, addr - sym->start, 0);
	}
}

static void file(struct ap_buf *t, const struct ap_dso *dso)
{
	ap_text_str(t, " (");
	ap_text_name(t, dso ? dso->path : "[unknown]");
	ap_text_char(t, ')');
}

static void source_line(struct ap_buf *t, struct ap_dso *dso, u64 addr, bool whole)
{
	const char *path, *slash;
	u32 line;

	if (!dso)
		return;
	ap_text_str(t, "\n  ");
	if (ap_dso_line(dso, addr, &path, &line)) {
		slash = whole ? NULL : strrchr(path, '/');
		ap_text_name(t, slash ? slash + 1 : path);
		ap_text_char(t, ':');
		ap_text_dec(t, line, 0, ' ');
		return;
	}
	ap_text_name(t, dso->name);
	ap_text_char(t, '[');
	ap_text_hex(t, addr, 0);
	ap_text_char(t, ']');
}

/* An offset in the file, as far as it is one. */
static u64 shown_address(const struct ap_dso *dso, u64 addr, u64 ip)
{
	return dso && dso->kind != AP_DSO_KERNEL && dso->kind != AP_DSO_MODULE ? addr : ip;
}

static void frame_line(struct ap_buf *t, const struct ap_frame *f, u32 fields, bool whole)
{
	ap_text_char(t, '\t');
	ap_text_hex(t, shown_address(f->dso, f->addr, f->ip), 16);
	if (fields & AP_FIELD_SYM) {
		ap_text_char(t, ' ');
		symbol(t, f->sym, f->addr, fields);
	}
	if ((fields & AP_FIELD_DSO) && !(f->sym && f->sym->inlined))
		file(t, f->dso);
	if (fields & AP_FIELD_SRCLINE)
		source_line(t, f->dso, f->addr, whole);
	if (f->sym && f->sym->inlined)
		ap_text_str(t, " (inlined)");
	ap_text_char(t, '\n');
}

static void chain(struct ap_script *c, struct ap_profile_thread *th, const struct ap_sample *s,
		  u32 fields)
{
	u64 head[3] = { (u64)(uintptr_t)th->maps,
			(u64)th->maps->changes << 32 | (c->s->kernel.changes + c->s->jit_changes),
			fields };
	u64 hash = ap_text_hash(head, 3, s->chain, s->nchain);
	u32 len, i, n;
	const char *known = ap_text_find(&c->chains, hash, head, 3, s->chain, s->nchain, &len);
	size_t at = c->text.size;

	if (known) {
		ap_text_add(&c->text, known, len);
		return;
	}
	n = ap_session_frames(c->s, th, s->chain, s->nchain, c->opts.inlines, c->frame,
			      c->opts.max_stack && c->opts.max_stack < MAX_FRAMES
				      ? c->opts.max_stack
				      : MAX_FRAMES);
	for (i = 0; i < n; i++)
		frame_line(&c->text, &c->frame[i], fields, c->opts.full_sources);
	ap_text_keep(&c->chains, hash, head, 3, s->chain, s->nchain, c->text.data + at,
		     (u32)(c->text.size - at));
}

static void address(struct ap_script *c, struct ap_profile_thread *th, const struct ap_sample *s,
		    u32 fields)
{
	struct ap_buf *t = &c->text;
	struct ap_place p;

	if (!c->opts.no_chains && s->chain) {
		ap_text_char(t, '\n');
		chain(c, th, s, fields);
		return;
	}
	ap_session_resolve(c->s, th, s->cpumode, s->ip, &p);
	ap_text_char(t, ' ');
	ap_text_hex(t, s->ip, 16);
	if (fields & AP_FIELD_SYM) {
		ap_text_char(t, ' ');
		symbol(t, p.sym, p.addr, fields);
	}
	if (fields & AP_FIELD_DSO)
		file(t, p.dso);
	if (fields & AP_FIELD_SRCLINE)
		source_line(t, p.dso, p.addr, c->opts.full_sources);
}

/* Only these events' addresses are those of the data that the instruction touched. */
static bool data_address(const struct ap_perf_attr *a)
{
	return a->type == AP_PERF_TYPE_SOFTWARE && (a->config == AP_PERF_COUNT_SW_PAGE_FAULTS ||
						    a->config == AP_PERF_COUNT_SW_PAGE_FAULTS_MIN ||
						    a->config == AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

static void data(struct ap_script *c, struct ap_profile_thread *th, const struct ap_data_event *ev,
		 const struct ap_sample *s, u32 fields)
{
	struct ap_place p;

	ap_text_hex(&c->text, s->addr, 16);
	if (!data_address(&ev->attr))
		return;
	ap_session_resolve(c->s, th, s->cpumode, s->addr, &p);
	if (!p.dso && s->cpumode == AP_PERF_RECORD_MISC_KERNEL)
		ap_session_resolve(c->s, th, AP_PERF_RECORD_MISC_USER, s->addr, &p);
	if (fields & AP_FIELD_SYM) {
		ap_text_char(&c->text, ' ');
		symbol(&c->text, p.sym, p.addr, fields);
	}
	if (fields & AP_FIELD_DSO)
		file(&c->text, p.dso);
}

static void time_stamp(struct ap_script *c, u64 time)
{
	struct ap_buf *t = &c->text;
	u64 s, ns;

	if (!c->first_time)
		c->first_time = time;
	if (c->opts.since_start) {
		time -= c->first_time;
	} else if (c->opts.since_last) {
		u64 last = c->last_time ? c->last_time : time;

		c->last_time = time;
		time -= last;
	}
	s = time / 1000000000;
	ns = time % 1000000000;

	if (c->opts.nanoseconds) {
		ap_text_dec(t, s, 5, ' ');
		ap_text_char(t, '.');
		ap_text_dec(t, ns, 9, '0');
	} else {
		ap_text_dec(t, s, 5, ' ');
		ap_text_char(t, '.');
		ap_text_dec(t, ns / 1000, 6, '0');
	}
	ap_text_str(t, ": ");
}

void ap_script_start(struct ap_script *c, const struct ap_profile_thread *th,
		     const struct ap_data_event *ev, const struct ap_sample *s, u32 fields)
{
	bool chains = (ev->attr.sample_type & AP_PERF_SAMPLE_CALLCHAIN) && !c->opts.no_chains;
	struct ap_buf *t = &c->text;

	if (fields & AP_FIELD_COMM) {
		if (chains && (fields & AP_FIELD_IP))
			ap_text_name(t, th->comm);
		else
			ap_text_right(t, th->comm, 16);
		ap_text_char(t, ' ');
	}
	if ((fields & AP_FIELD_PID) && (fields & AP_FIELD_TID))
		ap_text_printf(t, "%5d/%-5d ", (int)s->pid, (int)s->tid);
	else if (fields & AP_FIELD_PID)
		ap_text_printf(t, "%5d ", (int)s->pid);
	else if (fields & AP_FIELD_TID) {
		if (s->tid == ~0U) {
			ap_text_str(t, "   -1 ");
		} else {
			ap_text_dec(t, s->tid, 5, ' ');
			ap_text_char(t, ' ');
		}
	}
	if (fields & AP_FIELD_CPU) {
		ap_text_char(t, '[');
		ap_text_dec(t, s->cpu, 3, '0');
		ap_text_str(t, "] ");
	}
	if (fields & AP_FIELD_MISC)
		ap_text_str(t, s->cpumode == AP_PERF_RECORD_MISC_KERNEL ? "K     "
			       : s->cpumode == AP_PERF_RECORD_MISC_USER ? "U     "
									: "      ");
	if (fields & AP_FIELD_TIME)
		time_stamp(c, s->time);
}

static void trace(struct ap_script *c, const struct ap_data_event *ev, const struct ap_sample *s)
{
	if (!c->tracing_tried)
		c->tracing = ap_tracing_read(c->d);
	c->tracing_tried = true;
	ap_text_name(&c->text,
		     ap_tracing_text(c->tracing, ev->attr.config, s->cpu, s->raw, s->raw_size));
}

static bool wanted(struct ap_script *c, struct ap_profile_thread *th, const struct ap_sample *s)
{
	const struct ap_sample_filter *f = c->opts.filter;
	struct ap_place place;

	if (!f)
		return true;
	if (!ap_filter_takes(f, s) || !ap_filter_task(f, th, th->comm))
		return false;
	if (!f->dsos && !f->symbols)
		return true;
	ap_session_resolve(c->s, th, s->cpumode, s->ip, &place);
	return ap_filter_place(f, &place);
}

/* What stands between the event's name and the address. */
static void values(struct ap_script *c, struct ap_profile_thread *th,
		   const struct ap_data_event *ev, const struct ap_sample *s, u32 fields)
{
	struct ap_buf *t = &c->text;
	/* of the structure that is newer than the word: its first half, and its third quarter */
	bool parts = ev->attr.sample_type & AP_PERF_SAMPLE_WEIGHT_STRUCT;

	if ((fields & AP_FIELD_TRACE) && ev->attr.type == AP_PERF_TYPE_TRACEPOINT && s->raw_size)
		trace(c, ev, s);
	if (fields & AP_FIELD_ADDR)
		data(c, th, ev, s, fields);
	if (fields & AP_FIELD_DATA_SRC)
		ap_script_data_source(c, s->data_src);
	if (fields & AP_FIELD_WEIGHT)
		ap_text_dec(t, parts ? s->weight & ~0U : s->weight, 16, ' ');
	if (fields & AP_FIELD_INS_LAT)
		ap_text_dec(t, s->weight >> 32 & 0xffff, 16, ' ');
}

static bool sample(struct ap_script *c, const struct ap_data_rec *rec)
{
	const struct ap_data_event *ev = rec->event;
	struct ap_buf *t = &c->text;
	struct ap_profile_thread *th;
	struct ap_sample s;
	u32 fields;

	if (!ev)
		return true;
	if (ap_sample_parse(ev, rec->bytes, &s))
		return false;
	ap_session_at(c->s, rec->event, s.time);
	th = ap_session_thread(c->s, s.pid, s.tid);
	if (!wanted(c, th, &s))
		return true;
	fields = c->fields[ap_script_type(ev)];
	ap_script_start(c, th, ev, &s, fields);
	if (fields & AP_FIELD_PERIOD) {
		ap_text_dec(t, s.period, 10, ' ');
		ap_text_char(t, ' ');
	}
	if (fields & AP_FIELD_EVENT) {
		ap_text_right(t, ev->name, c->name_width);
		ap_text_str(t, ": ");
	}
	values(c, th, ev, &s, fields);
	if ((fields & AP_FIELD_IP) && !c->opts.no_chains)
		ap_unwind_sample(c->s, th, ev, &s);
	if (fields & AP_FIELD_IP)
		address(c, th, &s, fields);
	ap_script_extras(c, th, ev, &s, fields);
	ap_text_char(t, '\n');
	return true;
}

bool ap_script_record(struct ap_script *c, const struct ap_data_rec *rec)
{
	bool ok = true;

	if (!c->name_width && rec->h.type == AP_PERF_RECORD_SAMPLE) {
		u32 i;

		for (i = 0; i < ap_data_nevents(c->d); i++) {
			u32 n = (u32)strlen(ap_data_event(c->d, i)->name);

			c->name_width = n > c->name_width ? n : c->name_width;
		}
	}
	if (rec->h.type == AP_PERF_RECORD_SAMPLE)
		ok = sample(c, rec);
	else
		ap_script_side_band(c, rec);
	if (c->text.size > OUT_BUFFER)
		ap_script_flush(c);
	return ok;
}
