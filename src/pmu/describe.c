/* SPDX-License-Identifier: MIT */
/*
 * The trees of text files.  An event is listed when something counts it, as x86 Linux lists the
 * generic events that a CPU has; those of our own stand beside them, so that `perf list` shows
 * them.
 */
#include "pmu/describe.h"

#include "pmu/tracepoint.h"

#define TEXT_MAX 2048 /* the longest format is some 1200 */

struct tree {
	ap_pmu_emit *emit;
	void *ctx;
	struct ap_str path;
	char buf[128];
};

static int emit(struct tree *t, const char *a, const char *b, const char *c, const char *text)
{
	ap_str_init(&t->path, t->buf, sizeof(t->buf));
	ap_str_add(&t->path, a);
	ap_str_add(&t->path, b);
	ap_str_add(&t->path, c);
	return t->emit(t->ctx, t->buf, text);
}

static int emit_line(struct tree *t, const char *dir, const char *name, const char *text)
{
	char buf[128];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, text);
	ap_str_char(&s, '\n');
	return emit(t, dir, name, NULL, buf);
}

static int emit_number(struct tree *t, const char *dir, const char *name, u64 v)
{
	char buf[24];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_u64(&s, v);
	return emit_line(t, dir, name, buf);
}

static void add_term(struct ap_str *out, const char *name, u64 v)
{
	if (out->len)
		ap_str_char(out, ',');
	ap_str_add(out, name);
	ap_str_add(out, "=0x");
	ap_str_hex(out, v, 2);
}

void ap_pmu_terms(const struct ap_pmu_arch *arch, u64 config, u64 config1, struct ap_str *out)
{
	u64 umask = config >> 8 & 0xff;

	if (!(config & arch->select)) {
		add_term(out, "anyperf", config1);
		return;
	}
	add_term(out, "event", (config & 0xff) | (config >> 32 & 0xf) << 8);
	if (umask)
		add_term(out, "umask", umask);
}

static int emit_event(struct tree *t, const struct ap_pmu_arch *arch, const char *name, u64 config,
		      u64 config1)
{
	char buf[64];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_pmu_terms(arch, config, config1, &s);
	return emit_line(t, "cpu/events/", name, buf);
}

/* The CPU's own code of a generic event of the same name, 0 where it has none. */
static u64 generic_code(const struct ap_pmu_arch *arch, const struct ap_pmu_desc *own)
{
	u32 i;

	for (i = 0; i < AP_PERF_COUNT_HW_MAX; i++) {
		const struct ap_pmu_desc *d = &ap_pmu_generic[i];

		if (d->quality != AP_PMU_UNCOUNTED && d->sum.plus == own->sum.plus &&
		    d->sum.minus == own->sum.minus && d->sum.of == own->sum.of)
			return arch->generic[i];
	}
	return 0;
}

static int describe_cpu(struct tree *t, const struct ap_pmu_arch *arch)
{
	const struct ap_pmu_format *f;
	int err = emit_line(t, "cpu/caps/", "max_precise", "0");
	u32 i;

	if (!err)
		err = emit_line(t, "cpu/caps/", "pmu_name", arch->name);
	/* 1: rdpmc in tasks with an active event that is mapped */
	if (!err)
		err = emit_line(t, "cpu/", "rdpmc", "1");
	for (f = arch->format; f->name && !err; f++)
		err = emit_line(t, "cpu/format/", f->name, f->bits);
	for (i = 0; i < ap_pmu_nown && !err; i++) {
		const struct ap_pmu_desc *d = &ap_pmu_own[i];

		err = emit_event(t, arch, d->name, generic_code(arch, d), d->config1);
	}
	return err;
}

int ap_pmu_describe_sysfs(const struct ap_pmu_arch *arch, ap_pmu_emit *emit_file, void *ctx)
{
	static const struct {
		const char *dir;
		u32 type;
	} pmus[] = {
		{ "cpu/", AP_PERF_TYPE_RAW },
		{ "software/", AP_PERF_TYPE_SOFTWARE },
		{ "breakpoint/", AP_PERF_TYPE_BREAKPOINT },
		{ "tracepoint/", AP_PERF_TYPE_TRACEPOINT },
	};
	struct tree t = { .emit = emit_file, .ctx = ctx };
	int err = 0;
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(pmus) && !err; i++) {
		err = emit_number(&t, pmus[i].dir, "type", pmus[i].type);
		if (!err)
			err = emit_line(&t, pmus[i].dir, "perf_event_mux_interval_ms", "4");
	}
	return err ? err : describe_cpu(&t, arch);
}

int ap_pmu_describe_tracefs(ap_pmu_emit *emit_file, void *ctx)
{
	struct tree t = { .emit = emit_file, .ctx = ctx };
	struct ap_tracepoint point;
	char dir[96], text[TEXT_MAX];
	struct ap_str s;
	int err = 0;
	u32 i;

	for (i = 0; ap_tracepoint_get(i, &point) && !err; i++) {
		ap_str_init(&s, dir, sizeof(dir));
		ap_str_add(&s, "events/");
		ap_str_add(&s, point.system);
		ap_str_char(&s, '/');
		ap_str_add(&s, point.name);
		ap_str_char(&s, '/');
		err = emit_number(&t, dir, "id", point.id);
		if (!err)
			err = emit_line(&t, dir, "enable", "0");
		if (!err)
			err = emit_line(&t, dir, "filter", "none");
		ap_str_init(&s, text, sizeof(text));
		if (!err && ap_tracepoint_format(point.id, &s))
			err = emit(&t, dir, "format", NULL, text);
	}
	return err;
}
