/* SPDX-License-Identifier: MIT */
/*
 * The files whose code was mapped, and their build ids at the end.  Names are taken from the
 * records as they pass; a file that was replaced since then has another id, and is not what ran:
 * readers see that from the name's id not fitting, as with perf.
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
#include "profile/text/intern.h"

#define MISC_DATA AP_PERF_RECORD_MISC_MMAP_DATA

static void dsos_add(struct record_dsos *dsos, const char *name, size_t max)
{
	const struct ap_table_slot *s;
	u64 hash;

	if (!memchr(name, '\0', max))
		return;
	if (name[0] != '/' && strcmp(name, "[vdso]"))
		return;
	hash = ap_hash_text(AP_HASH_TEXT, name, strlen(name));
	ap_table_each(&dsos->known, hash, s) if (!strcmp(ap_table_ptr(s), name)) return;
	if (ap_table_add(&dsos->known, hash, (uintptr_t)ap_xstrdup(name)))
		ap_profile_no_memory();
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

	for (u32 i = 0; i < dsos->known.room; i++) {
		const char *name = ap_table_ptr(&dsos->known.slot[i]);

		size = name ? ap_build_id_of_mapping(0, name, id) : 0;
		if (size)
			ap_feature_build_id(&buf, AP_PERF_RECORD_MISC_USER, id, size, name);
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
	for (u32 i = 0; i < dsos->known.room; i++)
		free(ap_table_ptr(&dsos->known.slot[i]));
	ap_table_fini(&dsos->known);
}
