/* SPDX-License-Identifier: MIT */
/*
 * Lists on a screen in memory: movement, search, typing, saving, and screens of any size.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grid.h"
#include "tap/tap.h"
#include "tui/marks.h"
#include "tui/view.h"

static struct grid g;
static struct ap_tui t;

/* "line 0" to "line N-1" */
static void show_lines(unsigned int n, uint32_t rows, uint32_t cols)
{
	char *text = calloc(n + 1, 16);
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		at += (size_t)sprintf(text + at, "line %u\n", i);
	grid_init(&g, rows, cols);
	memset(&t, 0, sizeof(t));
	ap_tui_push(&t, ap_text_view("A title", text));
	ap_tui_draw(&t, &g.s);
}

static void the_cursor_moves_and_the_list_follows(void)
{
	show_lines(20, 7, 30); /* title, five lines, hint */
	EXPECT_STR(grid_line(&g, 0), "A title");
	EXPECT_STR(grid_line(&g, 1), "line 0");
	EXPECT_STR(grid_line(&g, 5), "line 4");
	EXPECT_STR(grid_selected(&g), "line 0");
	grid_key(&g, &t, AP_TUI_UP);
	EXPECT_STR(grid_selected(&g), "line 0");
	for (int i = 0; i < 5; i++)
		grid_key(&g, &t, AP_TUI_DOWN);
	EXPECT_STR(grid_selected(&g), "line 5");
	EXPECT_STR(grid_line(&g, 1), "line 1");
	grid_key(&g, &t, AP_TUI_PGDN);
	EXPECT_STR(grid_selected(&g), "line 9");
	grid_key(&g, &t, ' ');
	EXPECT_STR(grid_selected(&g), "line 13");
	grid_key(&g, &t, AP_TUI_PGUP);
	EXPECT_STR(grid_selected(&g), "line 9");
	grid_key(&g, &t, AP_TUI_END);
	EXPECT_STR(grid_selected(&g), "line 19");
	EXPECT_STR(grid_line(&g, 5), "line 19");
	grid_key(&g, &t, AP_TUI_DOWN);
	EXPECT_STR(grid_selected(&g), "line 19");
	grid_key(&g, &t, AP_TUI_HOME);
	EXPECT_STR(grid_selected(&g), "line 0");
	grid_type(&g, &t, "]");
	EXPECT_STR(grid_line(&g, 1), "");
	grid_type(&g, &t, "[");
	EXPECT_STR(grid_line(&g, 1), "line 0");
	ap_tui_fini(&t);
}

static void another_size_keeps_the_cursor_in_sight(void)
{
	show_lines(20, 12, 30);
	grid_key(&g, &t, AP_TUI_PGDN);
	EXPECT_STR(grid_selected(&g), "line 9");
	g.s.rows = 5;
	grid_key(&g, &t, AP_TUI_RESIZE);
	EXPECT_STR(grid_selected(&g), "line 9");
	EXPECT_STR(grid_line(&g, 3), "line 9");
	g.s.rows = 30;
	grid_key(&g, &t, AP_TUI_RESIZE);
	EXPECT_STR(grid_line(&g, 1), "line 0");
	EXPECT_STR(grid_line(&g, 20), "line 19");
	EXPECT_STR(grid_line(&g, 21), "");
	ap_tui_fini(&t);
}

static void any_size_is_drawn(void)
{
	for (uint32_t rows = 0; rows < 9; rows++) {
		for (uint32_t cols = 0; cols < 30; cols++) {
			show_lines(10, rows, cols);
			grid_type(&g, &t, "/line 7");
			grid_type(&g, &t, "\n?n");
			grid_key(&g, &t, AP_TUI_END);
			ap_tui_fini(&t);
		}
	}
	EXPECT(true);
}

static void a_search_goes_around_both_ways(void)
{
	show_lines(20, 7, 40);
	grid_type(&g, &t, "n");
	EXPECT_STR(grid_line(&g, 6), "Nothing was searched for: / asks what");
	grid_type(&g, &t, "/LINE 1");
	EXPECT_STR(grid_line(&g, 6), "Search: LINE 1");
	EXPECT_U64(g.typing, strlen("Search: LINE 1"));
	grid_type(&g, &t, "\n");
	EXPECT_STR(grid_selected(&g), "line 1");
	EXPECT_U64(g.typing, ~0U);
	grid_type(&g, &t, "n");
	EXPECT_STR(grid_selected(&g), "line 10");
	grid_type(&g, &t, "NN");
	EXPECT_STR(grid_selected(&g), "line 19");
	grid_type(&g, &t, "n");
	EXPECT_STR(grid_selected(&g), "line 1");
	grid_type(&g, &t, "/nowhere\n");
	EXPECT_STR(grid_line(&g, 6), "No line has 'nowhere'");
	EXPECT_STR(grid_selected(&g), "line 1");
	ap_tui_fini(&t);
}

static void what_is_typed_can_be_changed_and_given_up(void)
{
	show_lines(20, 7, 40);
	grid_type(&g, &t, "/line 15");
	grid_key(&g, &t, AP_TUI_BACKSPACE);
	EXPECT_STR(grid_line(&g, 6), "Search: line 1");
	grid_type(&g, &t, "7\n");
	EXPECT_STR(grid_selected(&g), "line 17");
	grid_type(&g, &t, "/q\x1b"); /* Esc: q was text, and nobody searches */
	EXPECT_STR(grid_selected(&g), "line 17");
	EXPECT(!t.is_over);
	/* nothing typed: what was searched for before */
	grid_type(&g, &t, "/");
	for (int i = 0; i < 300; i++)
		ap_tui_key(&t, 'x');
	grid_key(&g, &t, AP_TUI_CTRL('u'));
	EXPECT_STR(grid_line(&g, 6), "Search:");
	grid_type(&g, &t, "\n");
	EXPECT_STR(grid_selected(&g), "line 17");
	ap_tui_fini(&t);
}

static void views_lie_on_each_other(void)
{
	show_lines(3, 12, 60);
	grid_type(&g, &t, "h");
	EXPECT_STR(grid_line(&g, 0), "Keys");
	grid_type(&g, &t, "zz");
	EXPECT_STR(grid_line(&g, 11), "No such key here: ? lists them");
	grid_key(&g, &t, AP_TUI_ESC);
	EXPECT_STR(grid_line(&g, 0), "A title");
	EXPECT(!t.is_over);
	grid_type(&g, &t, "q");
	EXPECT(t.is_over);
	ap_tui_fini(&t);
	show_lines(3, 12, 60);
	grid_type(&g, &t, "hh\x03"); /* Ctrl-C leaves from anywhere */
	EXPECT(t.is_over);
	ap_tui_fini(&t);
}

static uint32_t picked = 99;

static void pick(void *arg, uint32_t choice)
{
	(void)arg;
	picked = choice;
}

static void one_of_a_menu_is_chosen(void)
{
	struct ap_menu *m = ap_menu_new("Which?", pick, NULL);

	show_lines(3, 12, 60);
	ap_menu_add(m, "the %s", "first");
	ap_menu_add(m, "the second");
	ap_tui_push(&t, ap_menu_view(m));
	grid_key(&g, &t, AP_TUI_DOWN);
	EXPECT_STR(grid_selected(&g), "  the second");
	grid_type(&g, &t, "\n");
	EXPECT_U64(picked, 1);
	EXPECT_STR(grid_line(&g, 0), "A title");
	ap_tui_fini(&t);
}

static void all_lines_are_saved_under_a_new_name(void)
{
	char dir[] = "/tmp/anyperf-view.XXXXXX", text[200] = "";
	FILE *f;

	REQUIRE(mkdtemp(dir) && !chdir(dir));
	show_lines(3, 3, 60);
	grid_type(&g, &t, "P");
	EXPECT_STR(grid_line(&g, 2), "3 lines were written to perf.hist");
	grid_type(&g, &t, "P");
	EXPECT_STR(grid_line(&g, 2), "3 lines were written to perf.hist.1");
	f = fopen("perf.hist.1", "r");
	REQUIRE(f);
	EXPECT_U64(fread(text, 1, sizeof(text) - 1, f),
		   strlen("A title\nline 0\nline 1\nline 2\n"));
	fclose(f);
	EXPECT_STR(text, "A title\nline 0\nline 1\nline 2\n");
	EXPECT(!unlink("perf.hist") && !unlink("perf.hist.1"));
	ap_tui_push(&t, ap_text_view("A \x1b title", strdup("one\rline")));
	grid_type(&g, &t, "P");
	f = fopen("perf.hist", "r");
	REQUIRE(f);
	memset(text, 0, sizeof(text));
	EXPECT_U64(fread(text, 1, sizeof(text) - 1, f), strlen("A \\x1b title\none\\x0dline\n"));
	fclose(f);
	EXPECT_STR(text, "A \\x1b title\none\\x0dline\n");
	EXPECT(!unlink("perf.hist"));
	/* nothing else was left there */
	EXPECT(!chdir("/") && !rmdir(dir));
	ap_tui_fini(&t);
}

static const char *clip(const char *text, uint32_t skip, uint32_t width)
{
	static char out[100];

	ap_text_clip(text, skip, width, out, sizeof(out));
	return out;
}

static void nothing_that_a_terminal_obeys_gets_through(void)
{
	EXPECT_STR(clip("a\x1b[2Jb\x07\x7f\n", 0, 50), "a\\x1b[2Jb\\x07\\x7f\\x0a");
	EXPECT_STR(clip("\x9b\xff\xc3", 0, 50), "\\x9b\\xff\\xc3");
	EXPECT_STR(clip("a\x1b"
			"b",
			3, 50),
		   "1bb");
	EXPECT_STR(clip("a\x1b"
			"b",
			0, 3),
		   "a\\x");
	EXPECT_U64(ap_text_columns("a\x1b\x9b"), 9);
	EXPECT_STR(clip("\xc3\xa9", 0, 50), "\\xc3\\xa9"); /* no UTF-8 in this locale */
	EXPECT_STR(clip("abcdef", 2, 3), "cde");
	EXPECT_STR(clip("abcdef", 9, 3), "");
	EXPECT_STR(clip("a\tb", 0, 50), "a       b");
	EXPECT_STR(clip("a\tb", 3, 4), "    ");
	EXPECT_U64(ap_text_columns("a\tbc"), 10);
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return;
	EXPECT_STR(clip("h\xc3\xa9llo", 1, 2), "\xc3\xa9l");
	EXPECT_U64(ap_text_columns("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* two wide ones */
	EXPECT_STR(clip("\xe6\xbc\xa2\xe5\xad\x97", 0, 3), "\xe6\xbc\xa2");
	EXPECT_STR(clip("\xc2\x9b", 0, 9), "\\xc2\\x9b"); /* a control character of 8 bits */
	EXPECT_STR(clip("\xe6\xbc", 0, 9), "\\xe6\\xbc");
}

static void marks_are_kept_until_they_are_taken_out(void)
{
	struct ap_marks m = { 0 };
	uint64_t x = 1;

	for (int i = 0; i < 1000; i++, x = x * 6364136223846793005ULL + 1442695040888963407ULL)
		ap_marks_set(&m, x | 1, true);
	x = 1;
	for (int i = 0; i < 1000; i++, x = x * 6364136223846793005ULL + 1442695040888963407ULL) {
		if (i % 3 == 0)
			ap_marks_set(&m, x | 1, false);
	}
	x = 1;
	for (int i = 0; i < 1000; i++, x = x * 6364136223846793005ULL + 1442695040888963407ULL)
		REQUIRE(ap_marks_has(&m, x | 1) == (i % 3 != 0));
	EXPECT_U64(m.table.n, 666);
	EXPECT(!ap_marks_has(&m, 2));
	ap_marks_fini(&m);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(the_cursor_moves_and_the_list_follows),
						 TAP(another_size_keeps_the_cursor_in_sight),
						 TAP(any_size_is_drawn),
						 TAP(a_search_goes_around_both_ways),
						 TAP(what_is_typed_can_be_changed_and_given_up),
						 TAP(views_lie_on_each_other),
						 TAP(one_of_a_menu_is_chosen),
						 TAP(all_lines_are_saved_under_a_new_name),
						 TAP(nothing_that_a_terminal_obeys_gets_through),
						 TAP(marks_are_kept_until_they_are_taken_out),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
