/* SPDX-License-Identifier: MIT */
/*
 * Tables and call trees of samples that this test makes up: sums are compared with those that a loop
 * over the samples gives, and trees with what is drawn by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/hist/hist.h"
#include "profile/hist/hist_opts.h"
#include "tap/tap.h"

static struct ap_profile_thread thread = { .pid = 1, .tid = 1 };
static struct ap_dso prog = { .path = "/bin/prog", .name = "prog" };
/* equal texts have equal addresses, as interned ones have */
static const char comm[] = "prog", names[][8] = { "main", "work", "leaf" };
static const struct ap_symbol sym[] = {
	{ .start = 0x100, .end = 0x200, .name = names[0], .type = 2 },
	{ .start = 0x200, .end = 0x300, .name = names[1], .type = 2 },
	{ .start = 0x300, .end = 0x400, .name = names[2], .type = 2 },
};

enum { MAIN, WORK, LEAF };

static struct ap_hist_opts opts(bool children)
{
	struct ap_hist_opts o;
	char why[400];

	ap_hist_opts_init(&o);
	o.children = children;
	o.order = children ? AP_CALLER : AP_CALLEE;
	if (ap_hist_opts_columns(&o, "sym", NULL, AP_WANT_SAMPLES, why, sizeof(why)))
		abort();
	o.sym_first = false;
	return o;
}

/* path: outermost first, e.g. "MWL"; in the order of the tree. */
static void add(struct ap_hist *h, const char *path, bool caller, uint64_t period, uint64_t count)
{
	struct ap_hist_sample s = {
		.thread = &thread, .comm = comm, .period = period, .count = count
	};
	struct ap_frame frame[8] = { { 0 } };
	size_t i, n = strlen(path);

	for (i = 0; i < n; i++) {
		const struct ap_symbol *fn = &sym[strchr("MWL", path[i]) - "MWL"];
		struct ap_frame *f = &frame[caller ? i : n - 1 - i];

		f->sym = fn;
		f->dso = &prog;
		f->ip = f->addr = fn->start;
		f->cpumode = 2;
		s.place = (struct ap_place){ fn->start, fn->start, NULL, fn, &prog, 2 };
	}
	s.frame = frame;
	s.nframes = (uint32_t)n;
	ap_hist_add(h, &s);
}

static const struct ap_hist_entry *entry(const struct ap_hist *h, int fn)
{
	uint32_t i;

	for (i = 0; i < ap_hist_entries(h); i++) {
		if (ap_hist_entry(h, i)->sym == &sym[fn])
			return ap_hist_entry(h, i);
	}
	return NULL;
}

static void a_caller_is_counted_once_per_sample(void)
{
	struct ap_hist_opts o = opts(true);
	struct ap_hist *h = ap_hist_new(&o);

	add(h, "MWL", true, 10, 1);
	add(h, "MW", true, 5, 1);
	add(h, "MWWWL", true, 3, 2); /* recursion */
	ap_hist_finish(h);
	EXPECT_U64(ap_hist_total(h), 18);
	EXPECT_U64(ap_hist_samples(h), 4);
	REQUIRE(ap_hist_entries(h) == 3);
	EXPECT_U64(entry(h, MAIN)->acc_period, 18);
	EXPECT_U64(entry(h, MAIN)->period, 0);
	EXPECT_U64(entry(h, WORK)->acc_period, 18);
	EXPECT_U64(entry(h, WORK)->period, 5);
	EXPECT_U64(entry(h, LEAF)->acc_period, 13);
	EXPECT_U64(entry(h, LEAF)->period, 13);
	EXPECT_U64(entry(h, LEAF)->n, 3);
	/* equal weight: who calls comes first */
	EXPECT(ap_hist_entry(h, 0) == entry(h, MAIN));
	EXPECT(ap_hist_entry(h, 1) == entry(h, WORK));
	ap_hist_free(h);
}

static const char *print(struct ap_hist *h)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	REQUIRE(out);
	ap_hist_print(h, out);
	fclose(out);
	return text;
}

static void the_tree_is_drawn(void)
{
	struct ap_hist_opts o = opts(false);
	struct ap_hist *h = ap_hist_new(&o);

	add(h, "MWL", false, 60, 6);
	add(h, "ML", false, 40, 4);
	ap_hist_finish(h);
	EXPECT_STR(print(h), "# Overhead       Samples  Symbol  \n"
			     "# ........  ............  ........\n"
			     "#\n"
			     "   100.00%            10  [.] leaf\n"
			     "            |\n"
			     "            ---leaf\n"
			     "               |          \n"
			     "               |--60.00%--work\n"
			     "               |          main\n"
			     "               |          \n"
			     "                --40.00%--main\n"
			     "\n");
	ap_hist_free(h);
}

static void light_branches_are_left_out(void)
{
	struct ap_hist_opts o = opts(false);
	struct ap_hist *h;

	o.chain_percent = 50;
	h = ap_hist_new(&o);
	add(h, "MWL", false, 60, 6);
	add(h, "ML", false, 40, 4);
	ap_hist_finish(h);
	EXPECT_STR(print(h), "# Overhead       Samples  Symbol  \n"
			     "# ........  ............  ........\n"
			     "#\n"
			     "   100.00%            10  [.] leaf\n"
			     "            |\n"
			     "            ---leaf\n"
			     "               |          \n"
			     "                --60.00%--work\n"
			     "                          main\n"
			     "\n");
	ap_hist_free(h);
}

/* Random samples: what the table says of each function is what a loop over them says. */
static void sums_are_those_of_the_samples(void)
{
	static const char *const paths[] = { "M", "MW", "MWL", "ML", "MWW", "WL", "L", "MWLWL" };
	uint64_t self[3] = { 0 }, with[3] = { 0 }, total = 0, seed = 7;
	struct ap_hist_opts o = opts(true);
	struct ap_hist *h = ap_hist_new(&o);
	int i, fn;

	for (i = 0; i < 5000; i++) {
		const char *p;
		uint64_t period;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		p = paths[seed >> 61];
		period = 1 + (seed >> 40) % 1000;
		add(h, p, true, period, 1);
		total += period;
		for (fn = 0; fn < 3; fn++) {
			with[fn] += strchr(p, "MWL"[fn]) ? period : 0;
			self[fn] += p[strlen(p) - 1] == "MWL"[fn] ? period : 0;
		}
	}
	ap_hist_finish(h);
	EXPECT_U64(ap_hist_total(h), total);
	EXPECT_U64(ap_hist_samples(h), 5000);
	for (fn = 0; fn < 3; fn++) {
		EXPECT_U64(entry(h, fn)->period, self[fn]);
		EXPECT_U64(entry(h, fn)->acc_period, with[fn]);
		/* its tree, first all of it */
		EXPECT_U64(ap_chain_total(entry(h, fn)->chain), with[fn]);
	}
	ap_hist_free(h);
}

static void options_are_read(void)
{
	struct ap_hist_opts o;
	bool order = false;
	char why[400] = "";

	ap_hist_opts_init(&o);
	EXPECT(!ap_hist_opts_graph(&o, &order, "fractal,2.5,7,caller,count", why, sizeof(why)));
	EXPECT(order && o.chain == AP_CHAIN_FRACTAL && o.order == AP_CALLER);
	EXPECT(o.chain_percent == 2.5 && o.chain_limit == 7 && o.value == AP_VALUE_COUNT);
	EXPECT(ap_hist_opts_graph(&o, &order, "graph,x", why, sizeof(why)));
	EXPECT(strstr(why, "'x' is none of"));
	EXPECT(ap_hist_opts_graph(&o, &order, "-1", why, sizeof(why)));
	EXPECT(ap_hist_opts_columns(&o, "comm,wrong", NULL, 0, why, sizeof(why)));
	EXPECT(strstr(why, "unknown key 'wrong'"));
	EXPECT(!ap_hist_opts_columns(&o, "dso,sym", NULL, 0, why, sizeof(why)));
	EXPECT_U64(o.ncolumn, 3);
	EXPECT_U64(o.column[0], AP_COL_SELF);
	EXPECT(!ap_hist_opts_columns(&o, NULL, "sym,period", 0, why, sizeof(why)));
	EXPECT_U64(o.ncolumn, 2);
	EXPECT_U64(o.column[1], AP_COL_PERIOD);
}

static void headings_shorten_numbers(void)
{
	static const struct {
		u64 n, said;
		char unit;
	} rows[] = { { 0, 0, ' ' },	     { 1000, 1000, ' ' }, { 1001, 1, 'K' },
		     { 1000999, 1000, 'K' }, { 1001000, 1, 'M' }, { 5000000000, 5000, 'M' } };

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		char unit = 0;

		EXPECT_U64(ap_hist_short(rows[i].n, &unit), rows[i].said);
		EXPECT_U64(unit, rows[i].unit);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(a_caller_is_counted_once_per_sample),
						 TAP(the_tree_is_drawn),
						 TAP(light_branches_are_left_out),
						 TAP(sums_are_those_of_the_samples),
						 TAP(options_are_read),
						 TAP(headings_shorten_numbers),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
