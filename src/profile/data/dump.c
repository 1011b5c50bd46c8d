/* SPDX-License-Identifier: MIT */
/*
 * The bytes are shown as perf's report -D shows them; what they say is a line with the record's
 * kind, time and event (script prints their fields).
 */
#include "profile/data/dump.h"

#include "print/print.h"
#include "profile/hist/inventory.h"

#define PER_LINE 16U

static void bytes(const u8 *p, u32 size, FILE *out)
{
	u32 at, i;

	for (at = 0; at < size; at += PER_LINE) {
		fprintf(out, ".  %04x: ", at);
		for (i = at; i < at + PER_LINE; i++) {
			if (i < size)
				fprintf(out, " %02x", p[i]);
			else
				fputs("   ", out);
		}
		fputs("  ", out);
		for (i = at; i < at + PER_LINE; i++)
			fputc(i >= size			   ? ' '
			      : p[i] >= ' ' && p[i] < 0x7f ? p[i]
							   : '.',
			      out); /* raw: ASCII alone */
		fputc('\n', out);
	}
}

void ap_dump_print(struct ap_data *d, const char *path, FILE *out)
{
	struct ap_data_rec rec;

	ap_data_unordered(d);
	while (ap_data_next(d, &rec)) {
		const char *name = ap_record_name(rec.h.type);

		ap_print(out, "\n%#llx@%s [%#x]: event: %u\n.\n. ... raw event: size %u bytes\n",
			 (unsigned long long)rec.pos, path, rec.h.size, rec.h.type, rec.h.size);
		bytes(rec.bytes, rec.h.size, out);
		fprintf(out, "\n%llu %#llx [%#x]: ", (unsigned long long)rec.time,
			(unsigned long long)rec.pos, rec.h.size);
		if (name)
			ap_print(out, "PERF_RECORD_%s", name);
		else
			fprintf(out, "unknown record %u", rec.h.type);
		if (rec.event)
			ap_print(out, " (%s)", rec.event->name);
		fputc('\n', out);
	}
}
