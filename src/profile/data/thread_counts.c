/* SPDX-License-Identifier: MIT */
#include "profile/data/thread_counts.h"

#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "print/escape.h"
#include "print/print.h"
#include "profile/data/format.h"
#include "profile/text/intern.h"

#define VALUE_AT 16U /* behind the header, pid and tid */

static struct ap_thread_count *thread_of(struct ap_thread_counts *c, u32 pid, u32 tid)
{
	u32 i = 0;

	while (i < c->n && (c->thread[i].pid != pid || c->thread[i].tid != tid))
		i++;
	if (i < c->n)
		return &c->thread[i];
	c->thread = ap_profile_realloc(c->thread, c->n + 1, sizeof(*c->thread));
	c->thread[c->n++] = (struct ap_thread_count){ .pid = pid, .tid = tid };
	return &c->thread[i];
}

/*
 * A group's record has a number before its values: nobody writes those, as children inherit no
 * groups' reads.
 */
void ap_thread_counts_add(struct ap_thread_counts *c, const struct ap_data_rec *rec)
{
	struct ap_thread_count *t;
	u32 index;

	if (rec->h.type != AP_PERF_RECORD_READ || !rec->event || rec->h.size < VALUE_AT + 8 ||
	    rec->event->attr.read_format & AP_PERF_FORMAT_GROUP)
		return;
	index = rec->event->index;
	t = thread_of(c, ap_get32(rec->bytes + 8), ap_get32(rec->bytes + 12));
	if (t->nevents <= index) {
		t->value = ap_profile_realloc(t->value, index + 1, sizeof(u64));
		memset(t->value + t->nevents, 0, (index + 1 - t->nevents) * sizeof(u64));
		t->nevents = index + 1;
	}
	t->value[index] += ap_get64(rec->bytes + VALUE_AT);
}

static int digits(u64 v)
{
	return snprintf(NULL, 0, "%llu", (unsigned long long)v);
}

static int wider(int a, int b)
{
	return a > b ? a : b;
}

static u64 value_of(const struct ap_thread_count *t, u32 event)
{
	return event < t->nevents ? t->value[event] : 0;
}

static int column_width(const struct ap_thread_counts *c, const struct ap_data *d, u32 event)
{
	int width = (int)ap_escape_width(ap_data_event(d, event)->name);

	for (u32 i = 0; i < c->n; i++)
		width = wider(width, digits(value_of(&c->thread[i], event)));
	return width;
}

void ap_thread_counts_print(const struct ap_thread_counts *c, const struct ap_data *d, FILE *out)
{
	int pids = 3, tids = 3;
	u32 i, k;

	for (i = 0; i < c->n; i++) {
		pids = wider(pids, digits(c->thread[i].pid));
		tids = wider(tids, digits(c->thread[i].tid));
	}
	ap_print(out, "# %*s  %*s", pids, "PID", tids, "TID");
	for (k = 0; k < ap_data_nevents(d); k++)
		ap_print(out, "  %*s", column_width(c, d, k), ap_data_event(d, k)->name);
	fputc('\n', out);
	for (i = 0; i < c->n; i++) {
		const struct ap_thread_count *t = &c->thread[i];

		fprintf(out, "  %*u  %*u", pids, t->pid, tids, t->tid);
		for (k = 0; k < ap_data_nevents(d); k++)
			fprintf(out, "  %*llu", column_width(c, d, k),
				(unsigned long long)value_of(t, k));
		fputc('\n', out);
	}
}

void ap_thread_counts_fini(struct ap_thread_counts *c)
{
	for (u32 i = 0; i < c->n; i++)
		free(c->thread[i].value);
	free(c->thread);
}
