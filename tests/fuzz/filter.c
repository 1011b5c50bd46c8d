/* SPDX-License-Identifier: MIT */
/*
 * The lists by which report and its kin take samples: times, CPUs, tasks, files, symbols; one after the other, with
 * zeros between them.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/profile/file.h"
#include "fuzz.h"
#include "profile/data/data.h"
#include "profile/hist/filter.h"

static struct ap_data *some_file(void)
{
	static struct file f;
	struct ap_data *d;
	char why[400];

	if (!f.n) {
		begin_file(&f, 7, 0x40000, 0);
		end_data(&f);
	}
	if (ap_data_open_memory(&d, f.bytes, f.n, why))
		abort();
	return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_symbol sym = { .start = 0x1000, .end = 0x2000, .name = "main" };
	struct ap_sample s = { .time = 1500000000, .cpu = 1 };
	struct ap_sample_filter f = { 0 };
	struct ap_symbols all;
	struct ap_place place = { .sym = &sym, .ip = 0x1234, .addr = 0x1234 };
	struct ap_profile_thread t = { .pid = 12, .tid = 13 };
	struct ap_data *d = some_file();
	char why[AP_FILTER_WHY], *text[6];
	size_t at = 0;

	for (int i = 0; i < 6; i++)
		text[i] = at < size ? fuzz_text(bytes, size, &at) : NULL;
	f.time = text[0];
	f.cpus = text[1];
	f.pids = text[2];
	f.comms = text[3];
	f.dsos = text[4];
	f.symbols = text[5];
	ap_symbols_init(&all);
	place.dso = ap_dso_get(&all, "/bin/work", AP_DSO_FILE);
	if (!ap_filter_parse(&f, d, why)) {
		ap_filter_takes(&f, &s);
		ap_filter_task(&f, &t, "work");
		ap_filter_place(&f, &place);
	}
	ap_filter_fini(&f);
	ap_symbols_fini(&all);
	ap_data_close(d);
	for (int i = 0; i < 6; i++)
		free(text[i]);
	return 0;
}
