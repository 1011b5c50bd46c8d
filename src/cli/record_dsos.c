/* SPDX-License-Identifier: MIT */
/*
 * The files whose code was mapped, and their build ids at the end.  Names are taken from the records
 * as they pass; a file that was replaced since then has another id, and is not what ran: readers see that
 * from the name's id not fitting, as with perf.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "cli/memory.h"
#include "cli/record.h"
#include "profile/data/format.h"
#include "profile/data/origin.h"
#include "profile/symbols/buildid.h"

#define MISC_DATA AP_PERF_RECORD_MISC_MMAP_DATA

static u32 hash_of(const char *name)
{
	u32 h = 2166136261U;

	while (*name)
		h = (h ^ (u8)*name++) * 16777619U;
	return h;
}

static void dsos_grow(struct record_dsos *dsos)
{
	struct record_dsos old = *dsos;

	dsos->room = old.room ? old.room * 2 : 64;
	dsos->name = ap_xgrow(NULL, dsos->room, sizeof(*dsos->name));
	memset(dsos->name, 0, dsos->room * sizeof(*dsos->name));
	for (size_t i = 0; i < old.room; i++) {
		size_t at;

		if (!old.name[i])
			continue;
		at = hash_of(old.name[i]) & (dsos->room - 1);
		while (dsos->name[at])
			at = (at + 1) & (dsos->room - 1);
		dsos->name[at] = old.name[i];
	}
	free(old.name);
}

static void dsos_add(struct record_dsos *dsos, const char *name, size_t max)
{
	size_t at;

	if (!memchr(name, '\0', max))
		return;
	if (name[0] != '/' && strcmp(name, "[vdso]"))
		return;
	if (dsos->n * 2 >= dsos->room)
		dsos_grow(dsos);
	at = hash_of(name) & (dsos->room - 1);
	while (dsos->name[at]) {
		if (!strcmp(dsos->name[at], name))
			return;
		at = (at + 1) & (dsos->room - 1);
	}
	dsos->name[at] = ap_xstrdup(name);
	dsos->n++;
}

void record_dsos_note(struct record_dsos *dsos, const char *record)
{
	struct ap_perf_event_header h;
	size_t at = sizeof(h);

	memcpy(&h, record, sizeof(h));
	if (h.type == AP_PERF_RECORD_SAMPLE) {
		u16 mode = h.misc & AP_PERF_RECORD_MISC_CPUMODE_MASK;

		dsos->has_kernel |= mode == AP_PERF_RECORD_MISC_KERNEL;
		return;
	}
	if (h.misc & MISC_DATA)
		return;
	if (h.type == AP_PERF_RECORD_MMAP)
		at += sizeof(struct ap_perf_record_mmap);
	else if (h.type == AP_PERF_RECORD_MMAP2)
		at += sizeof(struct ap_perf_record_mmap2);
	else
		return;
	if (h.size > at)
		dsos_add(dsos, record + at, h.size - at);
}

int record_dsos_write(const struct record_dsos *dsos, struct ap_writer *writer)
{
	struct ap_buf buf = { 0 };
	u8 id[AP_BUILD_ID_MAX];
	size_t size;
	int ret = 0;

	for (size_t i = 0; i < dsos->room; i++) {
		if (!dsos->name[i])
			continue;
		size = ap_build_id_of_mapping(0, dsos->name[i], id);
		if (size)
			ap_feature_build_id(&buf, AP_PERF_RECORD_MISC_USER, id, size,
					    dsos->name[i]);
	}
	size = dsos->has_kernel ? ap_build_id_of_kernel(id) : 0;
	if (size)
		ap_feature_build_id(&buf, AP_PERF_RECORD_MISC_KERNEL, id, size,
				    "[kernel.kallsyms]");
	if (buf.failed)
		ret = -ENOMEM;
	else if (buf.size)
		ret = ap_writer_feature(writer, AP_FEAT_BUILD_ID, buf.data, buf.size);
	ap_buf_fini(&buf);
	return ret;
}

void record_dsos_fini(struct record_dsos *dsos)
{
	for (size_t i = 0; i < dsos->room; i++)
		free(dsos->name[i]);
	free(dsos->name);
	memset(dsos, 0, sizeof(*dsos));
}
