/* SPDX-License-Identifier: MIT */
/*
 * Arguments of probes, as uprobe_events has them: [NAME=]FETCH[:TYPE], where FETCH is %REG, $stack,
 * $stackN, $retval, \NUMBER, or +|-[u]OFFSET(FETCH).  Of types the numbers are known.
 */
#include "linux/host/probe_form.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DEPTH 8

struct form_writer {
	struct ap_probe_form *form;
	u32 n;
	const char *at;
};

static int add(struct form_writer *w, u32 op, u32 size, s64 arg)
{
	if (w->n + 1 >= AP_PROBE_STEPS)
		return -EOPNOTSUPP;
	if (arg >= 1LL << 47 || arg < -(1LL << 47))
		return -EOPNOTSUPP;
	w->form->step[w->n++] = AP_PROBE_STEP(op, size, arg);
	return 0;
}

static int parse_register(struct form_writer *w)
{
	/* in the order of enum perf_event_x86_regs */
	static const char *const names[] = {
		"ax", "bx", "cx", "dx", "si", "di", "bp",  "sp",  "ip",	 "flags", "",	 "",
		"",   "",   "",	  "",	"r8", "r9", "r10", "r11", "r12", "r13",	  "r14", "r15"
	};
	size_t len = strspn(w->at, "abcdefghijklmnopqrstuvwxyz0123456789");

	for (u32 i = 0; len && i < AP_ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) != len || strncmp(names[i], w->at, len) != 0)
			continue;
		w->at += len;
		return add(w, AP_PROBE_REG, 0, i);
	}
	return -EOPNOTSUPP;
}

static bool skip(struct form_writer *w, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(w->at, word, len) != 0)
		return false;
	w->at += len;
	return true;
}

enum { AX = 0, SP = 7 };

static int parse_variable(struct form_writer *w)
{
	char *end;

	if (skip(w, "retval"))
		return add(w, AP_PROBE_REG, 0, AX);
	if (!skip(w, "stack"))
		return -EOPNOTSUPP;
	if (!isdigit((unsigned char)*w->at))
		return add(w, AP_PROBE_REG, 0, SP);
	end = NULL;
	s64 n = strtol(w->at, &end, 10);

	w->at = end;
	return add(w, AP_PROBE_STACK, 0, n);
}

static int parse_number(struct form_writer *w, s64 *v)
{
	char *end;

	errno = 0;
	*v = strtoll(w->at, &end, 0);
	if (end == w->at || errno)
		return -EOPNOTSUPP;
	w->at = end;
	return 0;
}

static int parse_fetch(struct form_writer *w)
{
	s64 offsets[DEPTH], v;
	u32 depth = 0;
	int ret;

	for (; *w->at == '+' || *w->at == '-'; depth++) {
		bool is_minus = *w->at++ == '-';

		(void)skip(w, "u"); /* a program's memory: there is no other */
		if (depth == DEPTH || parse_number(w, &v) || !skip(w, "("))
			return -EOPNOTSUPP;
		offsets[depth] = is_minus ? -v : v;
	}
	if (skip(w, "%"))
		ret = parse_register(w);
	else if (skip(w, "$"))
		ret = parse_variable(w);
	else if (skip(w, "\\") && *w->at != '"')
		ret = parse_number(w, &v) ? -EOPNOTSUPP : add(w, AP_PROBE_IMM, 0, v);
	else
		ret = -EOPNOTSUPP;
	while (!ret && depth-- > 0)
		ret = skip(w, ")") ? add(w, AP_PROBE_DEREF, 0, offsets[depth]) : -EOPNOTSUPP;
	return ret;
}

/* [usx]BITS; none: 64 of them. */
static int parse_type(struct form_writer *w, u32 *size)
{
	char *end;
	long bits;

	*size = 8;
	if (!skip(w, ":"))
		return 0;
	if (!*w->at || !strchr("usx", *w->at))
		return -EOPNOTSUPP;
	bits = strtol(w->at + 1, &end, 10);
	if (end == w->at + 1 || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return -EOPNOTSUPP;
	w->at = end;
	*size = (u32)bits / 8;
	return 0;
}

static int parse_argument(struct form_writer *w)
{
	const char *equals = w->at + strcspn(w->at, "= ");
	u64 *last;
	u32 size;
	int ret;

	if (*equals == '=')
		w->at = equals + 1;
	ret = parse_fetch(w);
	if (!ret)
		ret = parse_type(w, &size);
	if (ret)
		return ret;
	last = &w->form->step[w->n - 1];
	if (AP_PROBE_OP(*last) != AP_PROBE_DEREF)
		return add(w, AP_PROBE_PUT, size, 0);
	*last = AP_PROBE_STEP(AP_PROBE_PUT_AT, size, AP_PROBE_ARG(*last));
	return 0;
}

int ap_probe_form_parse(const char *args, struct ap_probe_form *form)
{
	struct form_writer w = { .form = form, .at = args };
	int ret = 0;

	memset(form->step, 0, sizeof(form->step));
	while (!ret) {
		w.at += strspn(w.at, " \n");
		if (!*w.at)
			return 0;
		ret = parse_argument(&w);
		if (!ret && *w.at && *w.at != ' ' && *w.at != '\n')
			ret = -EOPNOTSUPP;
	}
	return ret;
}

static bool is_same(const struct ap_probe_form *a, const struct ap_probe_form *b)
{
	return a->id == b->id && a->is_return == b->is_return &&
	       !memcmp(a->step, b->step, sizeof(a->step));
}

int ap_probe_form_take(struct ap_session *s, const struct ap_probe_form *form, u32 *number)
{
	u32 place = 0;

	for (u32 n = AP_PROBE_FORMS; n > 0; n--) {
		struct ap_probe_form *f = ap_probe_form_of(s, n);

		if (f->users && is_same(f, form)) {
			*number = n;
			return 0;
		}
		place = f->users ? place : n;
	}
	if (!place)
		return -ENOSPC;
	*ap_probe_form_of(s, place) = *form;
	*number = place;
	return 0;
}
