/* SPDX-License-Identifier: MIT */
/*
 * Golden test with the perf of this machine: the numbers that `perf stat` printed are put into a
 * measurement of ours, and ours must print perf's lines again, byte for byte, and then its own
 * column.  Software events only, which perf counts everywhere that it runs at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "sample.h"
#include "tap/tap.h"

#define EVENTS "task-clock,page-faults,cycles:G"

/* Lines of a command's output; [0] is "" where perf is missing or too different. */
static char lines[40][300];
static unsigned int nlines;

static void run_perf(const char *command)
{
	FILE *p = popen(command, "r");

	if (!p)
		tap_lack("no shell");
	for (nlines = 0; nlines < 40 && fgets(lines[nlines], sizeof(lines[0]), p); nlines++)
		lines[nlines][strcspn(lines[nlines], "\n")] = 0;
	if (pclose(p))
		tap_lack("no perf that counts on this machine");
}

static const char *line_with(const char *text)
{
	unsigned int i;

	for (i = 0; i < nlines; i++) {
		if (strstr(lines[i], text))
			return lines[i];
	}
	tap_note("perf printed no '%s'", text);
	tap_lack("this perf prints something else");
}

/* The i-th comma separated field as a number. */
static double field(const char *line, unsigned int i)
{
	while (i-- && line)
		line = strchr(line, ',') ? strchr(line, ',') + 1 : NULL;
	return line ? strtod(line, NULL) : 0;
}

/* One run of perf and ours of the same numbers; what differs is left in out and want. */
static bool csv_is_equal(struct capture *out, struct capture *want)
{
	struct sample s;
	const char *clock, *faults, *cycles;

	run_perf("LC_ALL=C perf stat -x, -e " EVENTS " true 2>&1");
	clock = line_with("task-clock");
	faults = line_with("page-faults");
	cycles = line_with("cycles:G");
	sample_init(&s, EVENTS);
	s.reading[0].count = s.reading[0].enabled = s.reading[0].running = (u64)field(clock, 3);
	s.reading[1].count = (u64)field(faults, 0);
	s.reading[1].enabled = s.reading[1].running = (u64)field(faults, 3);
	/* perf prints three digits of the quotient; any wall time that gives them will do */
	s.times.wall_ns = (u64)(field(clock, 3) / field(clock, 5));
	sample_run(&s);
	if (strncmp(cycles, "<not supported>", 15))
		cycles = "<not supported>,,cycles:G,0,100.00,,";
	fprintf(capture_begin(want), "%s,kernel\n%s,kernel\n%s,\n", clock, faults, cycles);
	ap_stat_print_csv(&s.st, ",", "", capture_begin(out));
	sample_fini(&s);
	capture_end(out);
	capture_end(want);
	return !strcmp(out->text, want->text);
}

/*
 * perf prints the clock's value with two digits only, so its running time stands in for it: the
 * two are equal unless the task was preempted between them, and then the rates show it.
 */
static void csv_lines_are_perfs_and_one_column(void)
{
	struct capture out, want;
	bool is_equal = false;

	for (unsigned int n = 0; n < 20 && !is_equal; n++) {
		if (n) {
			capture_free(&want);
			capture_free(&out);
		}
		is_equal = csv_is_equal(&out, &want);
	}
	EXPECT_STR(out.text, want.text);
	capture_free(&want);
	capture_free(&out);
}

static void table_rows_begin_with_perfs(void)
{
	const char *clock, *faults, *elapsed;
	struct capture out;
	struct sample s;
	const char *got;

	run_perf("LC_ALL=C perf stat -v -e " EVENTS " true 2>&1");
	sample_init(&s, EVENTS);
	s.reading[0].count = strtoull(line_with("task-clock: ") + 12, NULL, 10);
	s.reading[1].count = strtoull(line_with("page-faults: ") + 13, NULL, 10);
	elapsed = line_with("seconds time elapsed");
	s.times.wall_ns = (u64)(strtod(elapsed, NULL) * 1e9 + 0.5);
	sample_run(&s);
	clock = line_with(" task-clock  ");
	faults = line_with(" page-faults  ");
	ap_stat_print_table(&s.st, capture_begin(&out));
	got = capture_end(&out);
	if (!EXPECT(strstr(got, clock)) || !EXPECT(strstr(got, faults)) ||
	    !EXPECT(strstr(got, elapsed)))
		tap_note("perf:\n%s\n%s\n%s\nours:\n%s", clock, faults, elapsed, got);
	capture_free(&out);
	sample_fini(&s);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(csv_lines_are_perfs_and_one_column),
						 TAP(table_rows_begin_with_perfs),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
