/* SPDX-License-Identifier: MIT */
/*
 * Limits: read from `--max`, kept in whole numbers, and compared in whole numbers, so that a change
 * of exactly the limit is within it and one event more is not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gate/gate.h"

#define PERCENT_MAX 1000000LL

/*
 * Length up to one of the two; what stands between slashes belongs to an event:
 * cpu/event=0xc0,umask=0/
 */
static size_t up_to(const char *s, char stop)
{
	bool in_terms = false;
	size_t n;

	for (n = 0; s[n]; n++) {
		if (s[n] == '/')
			in_terms = !in_terms;
		if (!in_terms && (s[n] == stop || s[n] == ','))
			break;
	}
	return n;
}

/* Digits, then up to six behind a point where those are wanted; false: it is no number. */
static bool decimal(const char *s, size_t len, bool is_percent, s64 *out)
{
	s64 value = 0, scale = is_percent ? AP_GATE_MICRO : 1;
	size_t i = 0;

	for (; i < len && s[i] >= '0' && s[i] <= '9'; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, s[i] - '0', &value))
			return false;
	if (!i || (is_percent && value > PERCENT_MAX))
		return false;
	value *= scale;
	if (is_percent && i + 1 < len && s[i] == '.') {
		for (i++; i < len && s[i] >= '0' && s[i] <= '9' && scale > 1; i++) {
			scale /= 10;
			value += (s[i] - '0') * scale;
		}
	}
	*out = value;
	return i == len;
}

static bool parse_value(struct ap_gate_limit *limit)
{
	const char *s = limit->text;
	bool is_negative = s[0] == '-', is_signed = is_negative || s[0] == '+';
	size_t len = strlen(s);
	bool is_percent = len && s[len - 1] == '%';

	limit->how = is_percent ? AP_GATE_PERCENT : AP_GATE_EVENTS;
	if (!decimal(s + is_signed, len - is_signed - is_percent, is_percent, &limit->value))
		return false;
	if (is_negative)
		limit->value = -limit->value;
	if (is_signed)
		return true;
	limit->how = AP_GATE_SAME;
	return !limit->value;
}

static int add_one(struct ap_gate_limits *limits, const char *word, size_t len, char *why)
{
	size_t name = up_to(word, '=');
	struct ap_gate_limit limit = { 0 }, *grown;

	if (!name || name >= len) {
		snprintf(why, AP_GATE_WHY,
			 "'%.*s' needs an event, = and a limit: instructions=+0.5%%", (int)len,
			 word);
		return -EINVAL;
	}
	limit.event = strndup(word, name);
	limit.text = strndup(word + name + 1, len - name - 1);
	grown = realloc(limits->limit, (limits->n + 1) * sizeof(limit));
	if (grown)
		limits->limit = grown;
	if (!limit.event || !limit.text || !grown)
		snprintf(why, AP_GATE_WHY, "out of memory");
	else if (!parse_value(&limit))
		snprintf(
			why, AP_GATE_WHY,
			"'%s' is no limit of %s: +0.5%%, +1000, 0 (no change), -1%% (must improve)",
			limit.text, limit.event);
	else {
		limits->limit[limits->n++] = limit;
		return 0;
	}
	free(limit.event);
	free(limit.text);
	return -EINVAL;
}

int ap_gate_limits_add(struct ap_gate_limits *limits, const char *spec, char *why)
{
	for (;; spec++) {
		size_t len = up_to(spec, ',');
		int ret = add_one(limits, spec, len, why);

		if (ret)
			return ret;
		for (size_t i = 0; i + 1 < limits->n; i++) {
			if (strcmp(limits->limit[i].event, limits->limit[limits->n - 1].event))
				continue;
			snprintf(why, AP_GATE_WHY, "%s has two limits", limits->limit[i].event);
			return -EINVAL;
		}
		spec += len;
		if (!*spec)
			return 0;
	}
}

void ap_gate_limits_fini(struct ap_gate_limits *limits)
{
	for (size_t i = 0; i < limits->n; i++) {
		free(limits->limit[i].event);
		free(limits->limit[i].text);
	}
	free(limits->limit);
	*limits = (struct ap_gate_limits){ 0 };
}

bool ap_gate_is_within(const struct ap_gate_limit *limit, u64 before, u64 now)
{
	__int128 change = (__int128)now - (__int128)before;

	switch (limit->how) {
	case AP_GATE_SAME:
		return !change;
	case AP_GATE_EVENTS:
		return change <= limit->value;
	case AP_GATE_PERCENT:
		break;
	}
	return change * 100 * AP_GATE_MICRO <= (__int128)before * limit->value;
}
