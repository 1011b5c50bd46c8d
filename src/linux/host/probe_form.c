/* SPDX-License-Identifier: MIT */
/*
 * Arguments of probes, as uprobe_events has them: [NAME=]FETCH[:TYPE], where FETCH is %REG, $stack, $stackN, $retval,
 * $comm, \NUMBER, \"STRING, @ADDRESS, @+OFFSET of the file, or +|-[u]OFFSET(FETCH); and TYPE a number's, char, string,
 * ustring, or a bit field's, bWIDTH@OFFSET/SIZE, and [COUNT] of an array.  The kernel has read the line: what it refuses is not here.
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
	u64 offset; /* of the probe in its file */
};

struct type {
	bool is_string;
	u32 size;
	u32 left, right; /* of a bit field; both 0: none */
	u32 times;	 /* 0: no array */
};

static int add_step(struct form_writer *w, u32 op, u32 size, s64 arg)
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
		return add_step(w, AP_PROBE_REG, 0, i);
	}
	return -EOPNOTSUPP;
}

static bool skip_word(struct form_writer *w, const char *word)
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

	if (skip_word(w, "retval"))
		return add_step(w, AP_PROBE_REG, 0, AX);
	if (!skip_word(w, "stack"))
		return -EOPNOTSUPP;
	if (!isdigit((unsigned char)*w->at))
		return add_step(w, AP_PROBE_REG, 0, SP);
	end = NULL;
	s64 n = strtol(w->at, &end, 10);

	w->at = end;
	return add_step(w, AP_PROBE_STACK, 0, n);
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

/* @ADDRESS and @+OFFSET: what is there. */
static int parse_place(struct form_writer *w)
{
	bool is_file = *w->at == '+';
	s64 v;

	if (!is_file && !isdigit((unsigned char)*w->at)) /* a symbol is the kernel's own */
		return -EOPNOTSUPP;
	if (parse_number(w, &v))
		return -EOPNOTSUPP;
	return add_step(w, is_file ? AP_PROBE_FILE : AP_PROBE_IMM, 0,
			is_file ? v - (s64)w->offset : v)
		       ?: add_step(w, AP_PROBE_DEREF, 0, 0);
}

/* A string in the line: the kernel reads it as memory of the program's, where nothing is. */
static int parse_text(struct form_writer *w)
{
	w->at += strcspn(w->at, ": \n");
	return add_step(w, AP_PROBE_IMM, 0, -1);
}

static int parse_base(struct form_writer *w)
{
	s64 v;

	if (skip_word(w, "%"))
		return parse_register(w);
	if (skip_word(w, "$"))
		return parse_variable(w);
	if (skip_word(w, "@"))
		return parse_place(w);
	if (skip_word(w, "\\\""))
		return parse_text(w);
	if (!skip_word(w, "\\") || parse_number(w, &v))
		return -EOPNOTSUPP;
	return add_step(w, AP_PROBE_IMM, 0, v);
}

static int parse_fetch(struct form_writer *w)
{
	s64 offsets[DEPTH], v;
	u32 depth = 0;
	int ret;

	for (; *w->at == '+' || *w->at == '-'; depth++) {
		bool is_minus = *w->at++ == '-';

		(void)skip_word(w, "u"); /* a program's memory: there is no other */
		if (depth == DEPTH || parse_number(w, &v) || !skip_word(w, "("))
			return -EOPNOTSUPP;
		offsets[depth] = is_minus ? -v : v;
	}
	if (!depth && (skip_word(w, "$comm") || skip_word(w, "$COMM")))
		return add_step(w, AP_PROBE_COMM, 0, 0);
	ret = parse_base(w);
	while (!ret && depth-- > 0)
		ret = skip_word(w, ")") ? add_step(w, AP_PROBE_DEREF, 0, offsets[depth])
					: -EOPNOTSUPP;
	return ret;
}

static bool parse_count(struct form_writer *w, long most, u32 *n)
{
	char *end;
	long v;

	if (!isdigit((unsigned char)*w->at))
		return false;
	v = strtol(w->at, &end, 0);
	w->at = end;
	*n = (u32)v;
	return v >= 0 && v <= most;
}

static bool is_size(u32 bits)
{
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* WIDTH@OFFSET/SIZE */
static int parse_bits(struct form_writer *w, struct type *type)
{
	u32 width, offset, size;

	if (!parse_count(w, 64, &width) || !skip_word(w, "@") || !parse_count(w, 64, &offset) ||
	    !skip_word(w, "/") || !parse_count(w, 64, &size))
		return -EOPNOTSUPP;
	if (!is_size(size) || !width || width + offset > size)
		return -EOPNOTSUPP;
	type->size = size / 8;
	type->left = size - width - offset;
	type->right = size - width;
	return 0;
}

static int parse_word(struct form_writer *w, struct type *type)
{
	u32 bits;

	if (skip_word(w, "ustring") || skip_word(w, "string")) {
		type->is_string = true;
		return 0;
	}
	if (skip_word(w, "char")) {
		type->size = 1;
		return 0;
	}
	if (skip_word(w, "b"))
		return parse_bits(w, type);
	if (!*w->at || !strchr("usx", *w->at))
		return -EOPNOTSUPP;
	w->at++;
	if (!parse_count(w, 64, &bits) || !is_size(bits))
		return -EOPNOTSUPP;
	type->size = bits / 8;
	return 0;
}

/* None: 64 bits. */
static int parse_type(struct form_writer *w, struct type *type)
{
	*type = (struct type){ .size = 8 };
	if (!skip_word(w, ":"))
		return 0;
	if (parse_word(w, type))
		return -EOPNOTSUPP;
	if (skip_word(w, "[") && (!parse_count(w, AP_PROBE_ARRAY_MAX, &type->times) ||
				  !type->times || !skip_word(w, "]")))
		return -EOPNOTSUPP;
	return 0;
}

/* The last step has made a string's address, or would have: of an array it is that of the first one's address. */
static int finish_string(struct form_writer *w, const struct type *type)
{
	u64 *last = &w->form->step[w->n - 1];

	if (AP_PROBE_OP(*last) == AP_PROBE_IMM && !type->times)
		return add_step(w, AP_PROBE_STRING, 0, 0);
	if (AP_PROBE_OP(*last) != AP_PROBE_DEREF)
		return -EOPNOTSUPP;
	*last = AP_PROBE_STEP(type->times ? AP_PROBE_STRINGS : AP_PROBE_STRING, 0,
			      AP_PROBE_ARG(*last));
	return 0;
}

static int finish_number(struct form_writer *w, const struct type *type)
{
	u64 *last = &w->form->step[w->n - 1];

	if (AP_PROBE_OP(*last) == AP_PROBE_DEREF)
		*last = AP_PROBE_STEP(AP_PROBE_PUT_AT, type->size, AP_PROBE_ARG(*last));
	else if (type->times || add_step(w, AP_PROBE_PUT, type->size, 0))
		return -EOPNOTSUPP;
	return type->right ? add_step(w, AP_PROBE_BITS, 0, AP_PROBE_SHIFTS(type->left, type->right))
			   : 0;
}

static int parse_argument(struct form_writer *w)
{
	const char *equals = w->at + strcspn(w->at, "= "), *value;
	struct type type;
	bool is_comm;
	int ret;

	if (*equals == '=')
		w->at = equals + 1;
	value = w->at;
	ret = parse_fetch(w);
	if (!ret)
		ret = parse_type(w, &type);
	if (ret)
		return ret;
	is_comm = AP_PROBE_OP(w->form->step[w->n - 1]) == AP_PROBE_COMM;
	if (is_comm)
		return type.times ? -EOPNOTSUPP : 0;
	ret = type.is_string || !strncmp(value, "\\\"", 2) ? finish_string(w, &type)
							   : finish_number(w, &type);
	return ret || !type.times ? ret : add_step(w, AP_PROBE_TIMES, 0, type.times);
}

int ap_probe_form_parse(const char *args, u64 offset, struct ap_probe_form *form)
{
	struct form_writer w = { .form = form, .at = args, .offset = offset };
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
