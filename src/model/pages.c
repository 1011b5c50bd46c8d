/* SPDX-License-Identifier: MIT */
/* Pages that the last level was asked for: see pages.h. */
#include "model/pages.h"

#define UNKNOWN (AP_MET_AGES - 1)
#define KNOWN	32U   /* pages, before their ages say anything */
#define LATE	4096U /* of so many ages half are forgotten */
#define GROUP	32U   /* neighbours */

void ap_met_faults(struct ap_met_pages *p, u64 faults, bool is_gap)
{
	p->is_told = faults != ~0ULL;
	if (is_gap)
		p->fresh = 0;
	else if (p->is_told && faults > p->faults)
		p->fresh += faults - p->faults;
	p->faults = faults;
}

/* --- the lines that each burst was the last to meet */

static u64 *lines_of(struct ap_met_pages *p, u32 burst)
{
	return (u32)p->burst - burst < AP_MET_BURSTS ? &p->lines[burst % AP_MET_BURSTS] : &p->older;
}

static void forget_one(struct ap_met_pages *p, u64 burst)
{
	u64 *lines = &p->lines[burst % AP_MET_BURSTS];

	p->older += *lines;
	*lines = 0;
}

/* --- which ages are near */

static u32 sum_of_ages(struct ap_met_pages *p)
{
	u32 sum = 0;

	for (u32 i = 0; i < AP_MET_AGES; i++)
		sum += p->ages[i];
	if (sum <= LATE)
		return sum;
	for (u32 i = 0; i < AP_MET_AGES; i++)
		p->ages[i] /= 2;
	return sum / 2;
}

/*
 * So many bursts of those before `end` as lie below the capacity, where sums grow evenly between
 * the two.
 */
static u32 between(u64 begin, u64 end, u64 at_begin, u64 at_end, u64 capacity)
{
	return (u32)(begin + (end - begin) * (capacity - at_begin) / (at_end - at_begin));
}

/*
 * Of all lines touched since then that many were seen to be as of all lines by which pages were met
 * that many were found again.
 */
static void find_near(struct ap_met_pages *p)
{
	u64 all = sum_of_ages(p), found = 0, seen = 0, back = 0, before = 0;

	p->near = all < KNOWN ? ~0U : 0;
	if (all < KNOWN)
		return; /* of so few all is there yet */
	for (u32 age = 0; age < UNKNOWN; age++) {
		u64 end = 2ULL << age, touched;

		for (; back < end && back <= p->burst; back++)
			seen += p->lines[(p->burst - back) % AP_MET_BURSTS];
		found += p->ages[age];
		if (!found)
			continue;
		touched = seen * all / found;
		/* the longer ago, the surer: what few were found by may be wrong */
		if (touched <= p->capacity)
			p->near = AP_MET_UNKNOWN;
		else if (before <= p->capacity)
			p->near = between(end / 2, end, before, touched, p->capacity);
		before = touched;
	}
	if (p->near == AP_MET_UNKNOWN && (seen + p->older) * all <= p->capacity * found)
		p->near = ~0U;
}

void ap_met_begin(struct ap_met_pages *p, u64 burst, u64 capacity)
{
	p->capacity = capacity;
	burst += p->first;
	if (burst == p->burst)
		return;
	for (u64 b = p->burst + 1; b <= burst && b - p->burst <= AP_MET_BURSTS; b++)
		forget_one(p, b);
	p->burst = burst;
	find_near(p);
}

void ap_met_fork_child(struct ap_met_pages *p)
{
	p->first = p->burst;
	p->faults = 0;
}

/* --- pages */

/* Met first in this burst: can it be that the program had not touched it before? */
static bool may_be_new(struct ap_met_pages *p)
{
	if (!p->burst || !p->is_told)
		return true;
	if (!p->fresh)
		return false;
	p->fresh--;
	return true;
}

static u32 count(u64 bits)
{
	u32 n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

static u32 power_of(u32 bursts)
{
	u32 age = 31 - (u32)__builtin_clz(bursts);

	return age < UNKNOWN ? age : UNKNOWN - 1;
}

/*
 * The line that the page is met by says whether what is met has been seen: a page may be known by
 * few of its lines.
 */
static void meet_again(struct ap_met_pages *p, struct ap_met_page *e, bool is_line_known)
{
	u32 burst = (u32)p->burst, n = count(e->lines);

	e->age = burst - e->burst;
	e->is_new = false;
	p->ages[is_line_known ? power_of(e->age) : UNKNOWN]++;
	*lines_of(p, e->burst) -= n;
	*lines_of(p, burst) += n;
	e->burst = burst;
}

static void meet(struct ap_met_pages *p, struct ap_met_page *e, u64 number)
{
	if (e->page)
		*lines_of(p, e->burst) -= count(e->lines);
	*e = (struct ap_met_page){ .page = number,
				   .burst = (u32)p->burst,
				   .age = AP_MET_UNKNOWN,
				   .is_new = may_be_new(p) };
	p->ages[UNKNOWN] += !e->is_new;
}

/* Neighbours stand together, so that few pages of the table are touched. */
static struct ap_met_page *place_of(struct ap_met_pages *p, u64 page)
{
	u64 group = ap_cache_mix(page / GROUP) >> 24;

	return &p->page[(group * GROUP + page % GROUP) % AP_MET_PAGES];
}

struct ap_met_page *ap_met_note(struct ap_met_pages *p, u64 line, bool is_page)
{
	u64 number = (line >> 12) + 1, bit = is_page ? 0 : 1ULL << (line >> 6 & 63);
	struct ap_met_page *e = place_of(p, line >> 12);

	if (e->page != number)
		meet(p, e, number);
	else if (e->burst != (u32)p->burst)
		meet_again(p, e, e->lines & bit || !bit);
	if (!(e->lines & bit) && bit) {
		e->lines |= bit;
		++*lines_of(p, (u32)p->burst);
	}
	return e;
}
