/* SPDX-License-Identifier: MIT */
#include "feed.h"

#include <stdio.h>
#include <stdlib.h>

#include "profile/data/describe.h"
#include "profile/hist/hist_opts.h"
#include "profile/script/script.h"

static bool read_all(struct ap_data *d, struct ap_profile_session *s, struct ap_fold *f,
		     struct ap_script *c, FILE *out)
{
	bool whole = true, checked = false;
	struct ap_data_rec rec;
	char why[400];

	while (ap_data_next(d, &rec)) {
		if (!checked && rec.h.type < 64)
			checked = !ap_script_check(c, why, sizeof(why));
		if (rec.h.type == 9)
			whole &= ap_fold_sample(f, &rec);
		else
			ap_session_record(s, &rec);
		ap_script_record(c, &rec);
	}
	ap_fold_end(f);
	for (uint32_t i = 0, n; i < ap_data_nevents(d); i += n) {
		n = ap_data_event(d, i)->group_size;
		if (n > 1)
			ap_fold_join(f, i, n);
	}
	ap_fold_finish(f);
	for (uint32_t i = 0; i < ap_data_nevents(d); i++) {
		if (ap_fold_hist(f, i))
			ap_hist_print(ap_fold_hist(f, i), out);
	}
	return whole && !ap_data_damage(d);
}

bool feed(const uint8_t *bytes, size_t size)
{
	struct ap_script_opts lines = { .fields = "+pid,+addr",
					.tasks = true,
					.mmaps = true,
					.switches = true,
					.namespaces = true,
					.cgroups = true,
					.losses = true };
	struct ap_sample_filter filter = { .dsos = "libc.so.6,work",
					   .cpus = "0-3",
					   .time = "0%-90%" };
	FILE *out = fopen("/dev/null", "w");
	char why[400] = "";
	struct ap_hist_opts opts;
	struct ap_profile_session *s;
	struct ap_script *c;
	struct ap_fold *f;
	struct ap_data *d;
	bool whole;

	if (!out || ap_data_open_memory(&d, bytes, size, why)) {
		if (out)
			fclose(out);
		return false;
	}
	s = calloc(1, sizeof(*s));
	ap_session_init(s);
	s->symbols.kallsyms = "/dev/null"; /* a large file, and not this test's matter */
	ap_session_build_ids(s, d);
	ap_data_print_header(d, out);
	ap_hist_opts_init(&opts);
	opts.children = true;
	opts.inlines = true;
	opts.branches = size & 1; /* of each file, one half of what there is to see */
	opts.chain = size & 2 ? AP_CHAIN_FOLDED : AP_CHAIN_GRAPH;
	opts.filter = &filter;
	if (ap_hist_opts_columns(
		    &opts,
		    opts.branches ? NULL : "pid,comm,dso,sym,time,weight,cgroup,parent,dso_size",
		    NULL, 7, why, sizeof(why)))
		abort();
	if (ap_filter_parse(&filter, d, why))
		filter.time = NULL; /* of a file that does not say when it was */
	f = ap_fold_new(s, &opts);
	c = ap_script_new(s, d, &lines, out);
	whole = read_all(d, s, f, c, out);
	ap_script_free(c);
	ap_fold_free(f);
	ap_filter_fini(&filter);
	ap_session_fini(s);
	free(s);
	ap_data_close(d);
	fclose(out);
	return whole;
}
