/* SPDX-License-Identifier: MIT */
#include "profile/hist/filter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plant.h"

#define MAX_CPUS  65536UL
#define MAX_SPANS 1024U

static bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word), len;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len == n && !memcmp(list, word, n))
			return true;
	}
	return false;
}

static bool number_in_list(const char *list, u32 v)
{
	char *end;

	for (; *list; list = *end ? end + 1 : end) {
		unsigned long n = strtoul(list, &end, 10);

		if (end != list && n == v)
			return true;
		end += strcspn(end, ",");
	}
	return false;
}

static bool numbers(const char *list)
{
	size_t len = 1;

	for (; *list; list += len + (list[len] == ',')) {
		len = strspn(list, "0123456789");
		if (!len || len > 10 || (list[len] && list[len] != ','))
			return false;
	}
	return len;
}

bool ap_filter_single(const char *list)
{
	return list && list[0] && !strchr(list, ',');
}

/* --- CPUs */
static bool next_range(const char **p, unsigned long *from, unsigned long *to)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	*from = *to = strtoul(*p, &end, 10);
	if (*end == '-') {
		*p = end + 1;
		if (**p < '0' || **p > '9')
			return false;
		*to = strtoul(*p, &end, 10);
	}
	*p = end;
	return *from <= *to && *to < MAX_CPUS;
}

static int parse_cpus(struct ap_sample_filter *f, char *why)
{
	const char *p = f->cpus;
	unsigned long from, to;

	for (;; p++) {
		if (!next_range(&p, &from, &to) || (*p && *p != ',')) {
			snprintf(why, AP_FILTER_WHY, "'%s' is no list of CPUs like 0,2-4", f->cpus);
			return -EINVAL;
		}
		if (to >= f->ncpus) {
			f->cpu = ap_profile_realloc(f->cpu, to + 1, 1);
			memset(f->cpu + f->ncpus, 0, to + 1 - f->ncpus);
			f->ncpus = (u32)to + 1;
		}
		memset(f->cpu + from, 1, to - from + 1);
		if (!*p)
			return 0;
	}
}

/* --- time */

/* "12.5" in nanoseconds; false: it is no time. */
static bool seconds(const char *text, size_t len, u64 *out)
{
	u64 s = 0, ns = 0, unit = 100000000;
	size_t i = 0;

	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
		s = s * 10 + (u64)(text[i] - '0');
		if (s > 18000000000ULL)
			return false;
	}
	if (i < len && text[i] == '.') {
		for (i++; i < len && text[i] >= '0' && text[i] <= '9'; i++, unit /= 10)
			ns += (u64)(text[i] - '0') * unit;
	}
	*out = s * 1000000000 + ns;
	return len && i == len;
}

static bool add_span(struct ap_sample_filter *f, u64 start, u64 end)
{
	if (f->nspans == MAX_SPANS || (end && start > end))
		return false;
	f->span = ap_profile_realloc(f->span, f->nspans + 1, sizeof(*f->span));
	f->span[f->nspans++] = (struct ap_filter_span){ start, end };
	return true;
}

/*
 * "10%/2" is the second tenth, "10%-20%" what it says; of the time from the first sample to the
 * last.
 */
static bool percent_span(struct ap_sample_filter *f, const char *text, size_t len, u64 first,
			 u64 last)
{
	double a, b, total = (double)(last - first);
	unsigned int part;
	char buf[64];
	int end = 0;

	if (len >= sizeof(buf))
		return false;
	memcpy(buf, text, len);
	buf[len] = 0;
	if (sscanf(buf, "%lf%%/%u%n", &a, &part, &end) == 2 && (size_t)end == len) {
		b = a * part;
		a = a * (part - 1.0);
	} else if (sscanf(buf, "%lf%%-%lf%%%n", &a, &b, &end) == 2 && (size_t)end == len) {
		;
	} else if (sscanf(buf, "%lf%%%n", &a, &end) == 1 && (size_t)end == len) {
		b = a;
		a = 0;
	} else {
		return false;
	}
	if (!(a >= 0) || !(b <= 100.0000001) || !(a < b))
		return false;
	return add_span(f, first + (u64)round(a / 100 * total),
			first + (u64)round(b / 100 * total));
}

static bool second_span(struct ap_sample_filter *f, const char *text, size_t len)
{
	const char *comma = memchr(text, ',', len);
	size_t n = comma ? (size_t)(comma - text) : len;
	u64 start = 0, end = 0;

	if (n && !seconds(text, n, &start))
		return false;
	if (comma && n + 1 < len && !seconds(comma + 1, len - n - 1, &end))
		return false;
	return add_span(f, start, end);
}

static int parse_time(struct ap_sample_filter *f, struct ap_data *d, char *why)
{
	bool percents = strchr(f->time, '%');
	const char *p = f->time, *stops = percents ? ", " : " ";
	u64 size, first = 0, last = 0;
	const u8 *bounds;
	size_t len;
	bool ok = *p;

	if (percents) {
		bounds = ap_data_feature(d, AP_FEAT_SAMPLE_TIME, &size);
		if (bounds && size >= 16) {
			first = ap_data_u64(d, bounds);
			last = ap_data_u64(d, bounds + 8);
		}
		if (!last) {
			snprintf(why, AP_FILTER_WHY,
				 "the file does not say when its first and last samples were: give "
				 "--time in seconds");
			return -EINVAL;
		}
	}
	for (; ok && *p; p += len + !!p[len]) {
		len = strcspn(p, stops);
		if (len)
			ok = percents ? percent_span(f, p, len, first, last)
				      : second_span(f, p, len);
	}
	AP_PLANT("filter", ok && f->nspans > 2);
	if (ok)
		return 0;
	snprintf(
		why, AP_FILTER_WHY,
		"'%s' is no time: start,stop in seconds (either may be missing), 10%%-20%%, or 10%%/2",
		f->time);
	return -EINVAL;
}

int ap_filter_parse(struct ap_sample_filter *f, struct ap_data *d, char *why)
{
	int r = 0;

	if ((f->pids && !numbers(f->pids)) || (f->tids && !numbers(f->tids))) {
		snprintf(why, AP_FILTER_WHY, "'%s' is no list of numbers like 12,34",
			 f->pids && !numbers(f->pids) ? f->pids : f->tids);
		return -EINVAL;
	}
	if (f->cpus)
		r = parse_cpus(f, why);
	if (!r && f->time)
		r = parse_time(f, d, why);
	return r;
}

void ap_filter_fini(struct ap_sample_filter *f)
{
	free(f->span);
	free(f->cpu);
}

static bool in_time(const struct ap_sample_filter *f, u64 t)
{
	u32 i;

	if (!t)
		return true;
	for (i = 0; i < f->nspans; i++) {
		const struct ap_filter_span *s = &f->span[i];

		/* where one ends and the next begins, it is the next one's */
		if (t >= s->start && (!s->end || t < s->end || (t == s->end && i + 1 == f->nspans)))
			return true;
	}
	return !f->nspans;
}

bool ap_filter_takes(const struct ap_sample_filter *f, const struct ap_sample *s)
{
	if (f->cpu && (s->cpu >= f->ncpus || !f->cpu[s->cpu]))
		return false;
	return in_time(f, s->time);
}

bool ap_filter_task(const struct ap_sample_filter *f, const struct ap_profile_thread *t,
		    const char *comm)
{
	return (!f->comms || in_list(f->comms, comm)) &&
	       (!f->pids || number_in_list(f->pids, t->pid)) &&
	       (!f->tids || number_in_list(f->tids, t->tid));
}

/* A symbol also by the address where it begins, as it ran. */
static bool symbol_wanted(const struct ap_sample_filter *f, const struct ap_place *p)
{
	char addr[24];

	if (!p->sym)
		return false;
	if (in_list(f->symbols, p->sym->name))
		return true;
	snprintf(addr, sizeof(addr), "0x%llx",
		 (unsigned long long)(p->ip - (p->addr - p->sym->start)));
	return in_list(f->symbols, addr);
}

bool ap_filter_place(const struct ap_sample_filter *f, const struct ap_place *p)
{
	if (f->dsos &&
	    (!p->dso || !(in_list(f->dsos, p->dso->name) || in_list(f->dsos, p->dso->path))))
		return false;
	return !f->symbols || symbol_wanted(f, p);
}
