/* SPDX-License-Identifier: MIT */
/*
 * What a sample of a probe in text has as RAW: the kernel's fields of a uprobe, then its arguments (abi/probe.h).
 *
 * As the kernel lays them out: each argument has a field with its value, or of a string where in the record it is and how
 * long.  Strings stand behind the fields.  They are measured first and get that much room: one that has grown since is cut.
 * What cannot be read is 0, and a string has no byte.  The steps lie in the session's file: a copy is measured and taken, so
 * whatever they say the record ends where its bytes do.
 */
#include "base/mem.h"
#include "service/sample.h"
#include "service/sys.h"

#define NR_PRCTL   157
#define GET_NAME   16
#define NAME_SIZE  16U
#define STRING_MAX 4096U
#define PIECE	   64U

struct taker {
	const struct ap_probe_form *form;
	const u64 *regs;
	u64 at; /* the probe's address */
	struct ap_svc_raw *raw;
	u32 field;	/* where the next one is in the record, */
	u32 next, room; /* where the next string, and how much is left for all */
};

/* One argument: what the steps in front of its last have made, then the last, and what follows that. */
struct arg {
	u64 v;
	u64 last;
	u32 left, right;
	u32 times; /* 0: no array */
	bool is_readable;
};

static bool word_at(u64 addr, u64 *v)
{
	*v = 0;
	return !ap_hook_get(v, addr, sizeof(*v));
}

static void take_value(const struct taker *t, u64 step, struct arg *a)
{
	s64 by = AP_PROBE_ARG(step);

	switch (AP_PROBE_OP(step)) {
	case AP_PROBE_REG:
		a->v = by >= 0 && by < AP_HOOK_REGS ? t->regs[by] : 0;
		break;
	case AP_PROBE_STACK: /* as the kernel: 0 where there is none */
		(void)word_at(t->regs[AP_HOOK_SP] + 8 * (u64)by, &a->v);
		break;
	case AP_PROBE_IMM:
		a->v = (u64)by;
		break;
	case AP_PROBE_FILE:
		a->v = t->at + (u64)by;
		break;
	default:
		a->is_readable = a->is_readable && word_at(a->v + (u64)by, &a->v);
	}
}

static u64 step_at(const struct taker *t, u32 i)
{
	return i < AP_PROBE_STEPS ? t->form->step[i] : AP_PROBE_END;
}

/* The argument whose first step is the i-th; false: there is none. */
static bool next_arg(const struct taker *t, u32 *i, struct arg *a)
{
	u64 step;

	*a = (struct arg){ .is_readable = true };
	for (step = step_at(t, *i); AP_PROBE_OP(step) < AP_PROBE_PUT; step = step_at(t, ++*i)) {
		if (AP_PROBE_OP(step) == AP_PROBE_END)
			return false;
		take_value(t, step, a);
	}
	a->last = step;
	step = step_at(t, ++*i);
	if (AP_PROBE_OP(step) == AP_PROBE_BITS) {
		a->left = (u32)AP_PROBE_ARG(step) & 63;
		a->right = (u32)AP_PROBE_ARG(step) >> 8 & 63;
		step = step_at(t, ++*i);
	}
	if (AP_PROBE_OP(step) == AP_PROBE_TIMES) {
		a->times = (u32)AP_PROBE_ARG(step) % (AP_PROBE_ARRAY_MAX + 1);
		++*i;
	}
	return true;
}

static bool is_text(const struct arg *a)
{
	u64 op = AP_PROBE_OP(a->last);

	return op == AP_PROBE_STRING || op == AP_PROBE_STRINGS || op == AP_PROBE_COMM;
}

static u32 count_of(const struct arg *a)
{
	return a->times ? a->times : 1;
}

static u32 width_of(const struct arg *a)
{
	u32 size = AP_PROBE_SIZE(a->last);

	if (is_text(a))
		return sizeof(u32);
	return size <= sizeof(u64) ? size : 0;
}

/* --- strings */

/* The address of the k-th. */
static bool text_at(const struct arg *a, u32 k, u64 *addr)
{
	*addr = a->v + (u64)AP_PROBE_ARG(a->last);
	if (AP_PROBE_OP(a->last) == AP_PROBE_STRINGS)
		return word_at(*addr + 8ULL * k, addr);
	return true;
}

/* With its end, which is put where `most` bytes have none; 0: it cannot be read.  to: NULL, it is measured only. */
static u32 read_text(u64 addr, char *to, u32 most)
{
	char piece[PIECE];
	u32 n = 0, step;

	while (n < most) {
		u64 page_left = AP_PAGE_SIZE - ((addr + n) & (AP_PAGE_SIZE - 1));
		const char *end;

		step = most - n < PIECE ? most - n : PIECE;
		step = step < page_left ? step : (u32)page_left;
		if (ap_hook_get(piece, addr + n, step))
			return 0;
		end = memchr(piece, 0, step);
		step = end ? (u32)(end - piece) + 1 : step;
		if (to)
			memcpy(to + n, piece, step);
		n += step;
		if (end)
			return n;
	}
	if (to && n)
		to[n - 1] = '\0';
	return to ? n : 0; /* the kernel gives no room to one that is as long as that */
}

/* The task's name; 0: we may not ask. */
static u32 read_name(char *to, u32 most)
{
	char name[NAME_SIZE] = { 0 };
	u32 n;

	if (ap_svc_sys(NR_PRCTL, GET_NAME, (u64)name, 0, 0))
		return 0;
	n = (u32)strnlen(name, NAME_SIZE - 1) + 1;
	if (!to)
		return n;
	n = n < most ? n : most;
	memcpy(to, name, n);
	if (n)
		to[n - 1] = '\0';
	return n;
}

static u32 read_string(const struct arg *a, u64 addr, char *to, u32 most)
{
	return AP_PROBE_OP(a->last) == AP_PROBE_COMM ? read_name(to, most)
						     : read_text(addr, to, most);
}

static u32 measure_text(const struct arg *a)
{
	u32 size = 0;
	u64 addr;

	for (u32 k = 0; a->is_readable && k < count_of(a) && text_at(a, k, &addr); k++)
		size += read_string(a, addr, NULL, STRING_MAX);
	return size;
}

static void put_place(struct taker *t, u32 k, u32 length)
{
	u32 place = length << 16 | t->next;

	memcpy(t->raw->bytes + t->field + k * sizeof(place), &place, sizeof(place));
}

static void put_strings(struct taker *t, const struct arg *a)
{
	u64 addr = 0;
	u32 n;

	for (u32 k = 0; k < count_of(a); k++) {
		put_place(t, k, t->room);
		/* where an address cannot be read, that is what the kernel leaves */
		if (!a->is_readable || !text_at(a, k, &addr))
			return;
		n = read_string(a, addr, (char *)t->raw->bytes + t->next, t->room);
		put_place(t, k, n);
		t->next += n;
		t->room -= n;
	}
}

/* --- numbers */

static u64 shifted(const struct arg *a, u64 v, u32 width)
{
	u64 mask = width == sizeof(u64) ? ~0ULL : (1ULL << 8 * width) - 1;

	return (v << a->left & mask) >> a->right;
}

static void put_numbers(struct taker *t, const struct arg *a)
{
	u32 width = width_of(a);

	for (u32 k = 0; k < count_of(a); k++) {
		u64 v = a->is_readable ? a->v : 0;

		if (AP_PROBE_OP(a->last) == AP_PROBE_PUT_AT) {
			u64 addr = v + (u64)AP_PROBE_ARG(a->last) + (u64)k * width;

			v = 0;
			if (a->is_readable && ap_hook_get(&v, addr, width))
				v = 0;
		}
		v = shifted(a, v, width);
		memcpy(t->raw->bytes + t->field + (u64)k * width, &v, width);
	}
}

/* --- the record */

/* What the fields take, and the strings. */
static void measure_all(const struct taker *t, u32 *fields, u32 *strings)
{
	struct arg a;

	*fields = *strings = 0;
	for (u32 i = 0; next_arg(t, &i, &a);) {
		*fields += count_of(&a) * width_of(&a);
		if (is_text(&a))
			*strings += measure_text(&a);
	}
}

static void put_bytes(struct ap_svc_raw *raw, const void *bytes, u32 n)
{
	memcpy(raw->bytes + raw->size, bytes, n);
	raw->size += n;
}

static void put_args(struct taker *t)
{
	u32 fields, strings;
	struct arg a;

	measure_all(t, &fields, &strings);
	if (fields > AP_PROBE_DATA_MAX) /* the kernel makes none of that size */
		return;
	t->field = t->raw->size;
	t->next = t->field + fields;
	t->room = AP_PROBE_DATA_MAX - fields;
	t->room = strings < t->room ? strings : t->room;
	memset(t->raw->bytes + t->field, 0, fields + t->room);
	t->raw->size = t->next + t->room;
	for (u32 i = 0; next_arg(t, &i, &a); t->field += count_of(&a) * width_of(&a)) {
		if (is_text(&a))
			put_strings(t, &a);
		else
			put_numbers(t, &a);
	}
}

void ap_svc_probe_raw(const struct ap_service_point *p, u32 form, const struct ap_slot *slot,
		      const u64 *regs, struct ap_svc_raw *raw)
{
	const struct ap_probe_form f = *ap_probe_form_of(ap_hook_session(), form);
	const struct ap_trace_common head = { .type = (u16)f.id, .pid = (s32)slot->tid };
	struct taker t = {
		.form = &f, .regs = regs, .at = f.is_return ? p->value : p->pc, .raw = raw
	};

	raw->size = 0;
	put_bytes(raw, &head, sizeof(head));
	if (f.is_return)
		put_bytes(raw, &p->value, sizeof(p->value)); /* the function */
	put_bytes(raw, &p->pc, sizeof(p->pc));
	put_args(&t);
}
