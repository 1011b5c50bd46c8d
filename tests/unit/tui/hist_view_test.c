/* SPDX-License-Identifier: MIT */
/*
 * The table on a screen in memory, of samples that this test makes up: what is folded and open,
 * zooming, several events, a table that is made anew.  Lines are written down by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "profile/hist/hist_opts.h"
#include "tap/tap.h"

static struct ap_profile_thread thread = { .pid = 1, .tid = 1 };
static struct ap_dso prog = { .path = "/bin/prog", .name = "prog" };
static struct ap_dso lib = { .path = "/lib/libx.so", .name = "libx.so" };
/* equal texts have equal addresses, as interned ones have */
static const char comm_a[] = "alpha", comm_b[] = "beta";
static const char names[][8] = { "main", "work", "leaf", "xfree" };
static const struct ap_symbol sym[] = {
	{ .start = 0x100, .end = 0x200, .name = names[0], .type = 2 },
	{ .start = 0x200, .end = 0x300, .name = names[1], .type = 2 },
	{ .start = 0x300, .end = 0x400, .name = names[2], .type = 2 },
	{ .start = 0x100, .end = 0x200, .name = names[3], .type = 2 },
};

static struct grid g;
static struct ap_tui t;
static struct ap_tui_event event[2];
static struct ap_tui_profile p;

/* path: outermost first, letters of functions; X is in the library. */
static void add(struct ap_hist *h, const char *comm, const char *path, uint64_t period)
{
	struct ap_hist_sample s = { .thread = &thread, .comm = comm, .period = period, .count = 1 };
	struct ap_frame frame[8] = { { 0 } };
	size_t i, n = strlen(path);

	for (i = 0; i < n; i++) {
		const struct ap_symbol *fn = &sym[strchr("MWLX", path[i]) - "MWLX"];
		struct ap_dso *dso = path[i] == 'X' ? &lib : &prog;

		frame[i].sym = fn;
		frame[i].dso = dso;
		frame[i].ip = frame[i].addr = fn->start;
		frame[i].cpumode = 2;
		s.place = (struct ap_place){ fn->start, fn->start, NULL, fn, dso, 2 };
	}
	s.frame = frame;
	s.nframes = (uint32_t)n;
	ap_hist_add(h, &s);
}

static struct ap_hist *new_hist(void)
{
	struct ap_hist_opts o;
	char why[400];

	ap_hist_opts_init(&o);
	o.children = true;
	o.order = AP_CALLER;
	o.chain_percent = 0;
	if (ap_hist_opts_columns(&o, "comm,dso,sym", NULL, 0, why, sizeof(why)))
		abort();
	return ap_hist_new(&o);
}

static void finish(struct ap_hist *h, uint32_t i)
{
	ap_hist_finish(h);
	event[i] = (struct ap_tui_event){ .name = i ? "second" : "first",
					  .hist = h,
					  .samples = ap_hist_samples(h),
					  .total = ap_hist_total(h) };
}

static void first_table(void)
{
	struct ap_hist *h = new_hist();

	add(h, comm_a, "MWL", 60);
	add(h, comm_a, "ML", 20);
	add(h, comm_a, "MWX", 16);
	add(h, comm_b, "X", 4);
	finish(h, 0);
}

static void show(uint32_t nevents, uint32_t rows, uint32_t cols)
{
	grid_init(&g, rows, cols);
	memset(&t, 0, sizeof(t));
	p = (struct ap_tui_profile){ .event = event, .nevents = nevents };
	ap_tui_show_profile(&t, &p);
	ap_tui_draw(&t, &g.s);
}

static void fini(void)
{
	ap_tui_fini(&t);
	for (int i = 0; i < 2; i++) {
		ap_hist_free(event[i].hist);
		event[i].hist = NULL;
	}
}

/* All lines of the list; the first that differs is told. */
static void expect_lines(const char *const *want)
{
	uint32_t row = 2;

	for (; *want; want++, row++)
		EXPECT_STR(grid_line(&g, row), *want);
	EXPECT_STR(grid_line(&g, row), "");
}

#define LINES(...) expect_lines((const char *const[]){ __VA_ARGS__, NULL })

#define MAIN  "   96.00%     0.00%  alpha    prog           [.] main"
#define LEAF  "   80.00%    80.00%  alpha    prog           [.] leaf"
#define WORK  "   76.00%     0.00%  alpha    prog           [.] work"
#define XFREE "   16.00%    16.00%  alpha    libx.so        [.] xfree"
#define BETA  "    4.00%     4.00%  beta     libx.so        [.] xfree"

static void the_table_is_shown(void)
{
	first_table();
	show(1, 12, 90);
	EXPECT_STR(grid_line(&g, 0), "Samples: 4 of event 'first', Event count (approx.): 100");
	EXPECT_STR(grid_line(&g, 1), "  Children      Self  Command  Shared Object  Symbol");
	LINES("+" MAIN, "+" LEAF, "+" WORK, "+" XFREE, "+" BETA);
	EXPECT(g.tint[3][4] == AP_TINT_HOT && g.tint[6][4] == AP_TINT_WARM);
	EXPECT(g.tint[3][30] == AP_TINT_PLAIN);
	grid_type(&g, &t, "H");
	EXPECT_STR(grid_line(&g, 1), "+" MAIN);
	fini();
}

static void trees_open_level_by_level(void)
{
	first_table();
	show(1, 20, 90);
	grid_type(&g, &t, "+");
	LINES("-" MAIN, "   + main", "+" LEAF, "+" WORK, "+" XFREE, "+" BETA);
	grid_key(&g, &t, AP_TUI_DOWN);
	grid_type(&g, &t, "\n"); /* Enter on a frame */
	LINES("-" MAIN, "   - main", "      + 76.00% work", "        20.00% leaf", "+" LEAF,
	      "+" WORK, "+" XFREE, "+" BETA);
	EXPECT_STR(grid_selected(&g), "   - main");
	grid_key(&g, &t, AP_TUI_DOWN);
	grid_type(&g, &t, "+");
	LINES("-" MAIN, "   - main", "      - 76.00% work", "           60.00% leaf",
	      "           16.00% xfree", "        20.00% leaf", "+" LEAF, "+" WORK, "+" XFREE,
	      "+" BETA);
	grid_type(&g, &t, "e"); /* folds all of the entry, from within */
	LINES("+" MAIN, "+" LEAF, "+" WORK, "+" XFREE, "+" BETA);
	EXPECT_STR(grid_selected(&g), "+" MAIN);
	grid_type(&g, &t, "e");
	EXPECT_STR(grid_line(&g, 5), "           60.00% leaf");
	fini();
}

static void all_trees_open_and_fold(void)
{
	first_table();
	show(1, 40, 90);
	grid_type(&g, &t, "E");
	LINES("-" MAIN, "   - main", "      - 76.00% work", "           60.00% leaf",
	      "           16.00% xfree", "        20.00% leaf",
	      /* leaf: its callers, down to it */
	      "-" LEAF, "   - main", "      - 60.00% work", "        leaf", "        20.00% leaf",
	      "-" WORK, "   - work", "        60.00% leaf", "        16.00% xfree", "-" XFREE,
	      "     main", "     work", "     xfree", "-" BETA, "     xfree");
	/* one of them folds, the others stay */
	grid_type(&g, &t, "+");
	EXPECT_STR(grid_line(&g, 2), "+" MAIN);
	EXPECT_STR(grid_line(&g, 3), "-" LEAF);
	grid_type(&g, &t, "C");
	LINES("+" MAIN, "+" LEAF, "+" WORK, "+" XFREE, "+" BETA);
	fini();
}

static void zooming_filters_and_goes_back(void)
{
	first_table();
	show(1, 12, 100);
	grid_type(&g, &t, "/libx\nd");
	LINES("+" XFREE, "+" BETA);
	EXPECT_STR(grid_line(&g, 0), "Samples: 2 of event 'first', Event count (approx.): 100, "
				     "DSO: libx.so");
	grid_key(&g, &t, AP_TUI_END);
	grid_type(&g, &t, "t");
	LINES("+" BETA);
	EXPECT_STR(grid_line(&g, 0), "Samples: 1 of event 'first', Event count (approx.): 100, "
				     "DSO: libx.so, Command: beta");
	grid_key(&g, &t, AP_TUI_ESC);
	LINES("+" XFREE, "+" BETA);
	EXPECT_STR(grid_selected(&g), "+" BETA);
	grid_key(&g, &t, AP_TUI_LEFT);
	LINES("+" MAIN, "+" LEAF, "+" WORK, "+" XFREE, "+" BETA);
	grid_key(&g, &t, AP_TUI_ESC);
	EXPECT(!t.is_over);
	grid_type(&g, &t, "fEA\n");
	LINES("+" LEAF);
	grid_key(&g, &t, AP_TUI_ESC);
	grid_type(&g, &t, "k");
	EXPECT_STR(grid_line(&g, 2), "Nothing passes; Esc zooms out");
	grid_key(&g, &t, AP_TUI_ESC);
	grid_type(&g, &t, "L10\n");
	LINES("+" MAIN, "+" LEAF, "+" WORK, "+" XFREE);
	grid_type(&g, &t, "Lmany\n");
	EXPECT_STR(grid_line(&g, 11), "'many' is no number of percent");
	fini();
}

/* Of what is zoomed into, in trees as well; the least percent goes by the whole. */
static void percentages_are_of_what_is_shown_or_of_all(void)
{
	first_table();
	show(1, 12, 100);
	grid_type(&g, &t, "/libx\nd");
	grid_type(&g, &t, "F");
	LINES("+   80.00%    80.00%  alpha    libx.so        [.] xfree",
	      "+   20.00%    20.00%  beta     libx.so        [.] xfree");
	EXPECT_STR(grid_line(&g, 11), "Percentages are of what is shown");
	grid_type(&g, &t, "L10\n");
	LINES("+  100.00%   100.00%  alpha    libx.so        [.] xfree");
	grid_type(&g, &t, "F");
	LINES("+" XFREE);
	grid_key(&g, &t, AP_TUI_ESC);
	LINES("+" MAIN, "+" LEAF, "+" WORK, "+" XFREE);
	fini();
}

static void the_menu_does_what_keys_do(void)
{
	first_table();
	show(1, 14, 100);
	grid_type(&g, &t, "\n");
	EXPECT_STR(grid_line(&g, 0), "What to do");
	EXPECT_STR(grid_line(&g, 1), "  Zoom into command alpha");
	EXPECT_STR(grid_line(&g, 2), "  Zoom into DSO prog");
	EXPECT_STR(grid_line(&g, 3), "  Open the call tree");
	grid_key(&g, &t, AP_TUI_DOWN);
	grid_type(&g, &t, "\n");
	LINES("+" MAIN, "+" LEAF, "+" WORK);
	grid_type(&g, &t, "a"); /* nobody has counted per instruction */
	EXPECT_STR(grid_line(&g, 13), "This line is of no function that is known");
	grid_type(&g, &t, "i");
	EXPECT_STR(grid_line(&g, 13), "There is no header");
	grid_type(&g, &t, "m");
	grid_key(&g, &t, AP_TUI_END);
	EXPECT_STR(grid_selected(&g), "  Quit");
	grid_type(&g, &t, "\n");
	EXPECT(t.is_over);
	fini();
}

static void of_several_events_one_chooses(void)
{
	struct ap_hist *h = new_hist();

	first_table();
	add(h, comm_b, "X", 7);
	finish(h, 1);
	show(2, 12, 90);
	EXPECT_STR(grid_line(&g, 1), "         4 samples of first");
	EXPECT_STR(grid_line(&g, 2), "         1 samples of second");
	grid_key(&g, &t, AP_TUI_DOWN);
	grid_type(&g, &t, "\n");
	EXPECT_STR(grid_line(&g, 0), "Samples: 1 of event 'second', Event count (approx.): 7");
	grid_key(&g, &t, AP_TUI_TAB);
	EXPECT_STR(grid_line(&g, 0), "Samples: 4 of event 'first', Event count (approx.): 100");
	grid_key(&g, &t, AP_TUI_BACKTAB);
	EXPECT_STR(grid_line(&g, 0), "Samples: 1 of event 'second', Event count (approx.): 7");
	grid_key(&g, &t, AP_TUI_ESC);
	EXPECT_STR(grid_line(&g, 0), "Events with samples");
	fini();
}

static void a_new_table_keeps_what_is_open_and_the_cursor(void)
{
	struct ap_hist *old, *h = new_hist();

	first_table();
	show(1, 20, 90);
	p.is_live = true;
	grid_type(&g, &t, "+/leaf\n");
	EXPECT_STR(grid_selected(&g), "+" LEAF);
	/* leaf weighs most now, and there is one line more before main's */
	add(h, comm_a, "MWL", 60);
	add(h, comm_b, "L", 130);
	add(h, comm_a, "ML", 10);
	old = event[0].hist;
	finish(h, 0);
	p.generation++;
	ap_hist_free(old);
	ap_tui_draw(&t, &g.s);
	LINES("+   65.00%    65.00%  beta     prog           [.] leaf",
	      "+   35.00%    35.00%  alpha    prog           [.] leaf",
	      "-   35.00%     0.00%  alpha    prog           [.] main", "   + main",
	      "+   30.00%     0.00%  alpha    prog           [.] work");
	EXPECT_STR(grid_selected(&g), "+   35.00%    35.00%  alpha    prog           [.] leaf");
	/* none at all */
	event[0].hist = NULL;
	p.generation++;
	ap_hist_free(h);
	grid_type(&g, &t, "e+damt\x1b");
	EXPECT_STR(grid_line(&g, 1), "Nothing was sampled yet");
	fini();
}

static void any_size_is_drawn(void)
{
	first_table();
	for (uint32_t rows = 0; rows < 8; rows++) {
		for (uint32_t cols = 0; cols < 60; cols += 3) {
			show(1, rows, cols);
			grid_type(&g, &t, "Em");
			grid_type(&g, &t, "q/leaf");
			grid_type(&g, &t, "\n?]]");
			ap_tui_fini(&t);
		}
	}
	EXPECT(true);
	fini();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(the_table_is_shown),
						 TAP(trees_open_level_by_level),
						 TAP(all_trees_open_and_fold),
						 TAP(zooming_filters_and_goes_back),
						 TAP(percentages_are_of_what_is_shown_or_of_all),
						 TAP(the_menu_does_what_keys_do),
						 TAP(of_several_events_one_chooses),
						 TAP(a_new_table_keeps_what_is_open_and_the_cursor),
						 TAP(any_size_is_drawn),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
