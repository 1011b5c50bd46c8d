/* SPDX-License-Identifier: MIT */
/*
 * Commands of perf's that are not here: whoever types one knows what it does, and wants to hear
 * what comes nearest.
 */
#include "cli/absent.h"

#include <string.h>

#include "base/types.h"

static const struct {
	const char *name, *instead;
} absent[] = {
	{ "archive", "a profile needs no files beside it: 'anyperf export' writes what it says" },
	{ "bench", "it measures the kernel; 'anyperf stat -r 10 COMMAND' measures a program" },
	{ "buildid-cache",
	  "debug files are found in ~/.debug, debuginfod's cache and /usr/lib/debug" },
	{ "buildid-list", "'anyperf report --header-only' tells what a profile has" },
	{ "config", "there is no file of settings: options say all" },
	{ "daemon", "'anyperf record --switch-output' goes on recording into files" },
	{ "data", "'anyperf export' writes other formats" },
	{ "ftrace", "'anyperf record -e syscalls:*' records system calls" },
	{ "inject", "'anyperf report' and 'script' read a jitdump and build ids by themselves" },
	{ "iostat", "it counts in a server's hardware" },
	{ "kallsyms", "'grep NAME /proc/kallsyms'" },
	{ "kmem",
	  "it traces the kernel's memory; 'anyperf stat -e page-faults' counts a program's faults" },
	{ "kvm", "guests are not counted; anyperf runs inside of one" },
	{ "kwork", "it traces the kernel's own work, which is not counted" },
	{ "lock",
	  "'anyperf c2c' shows which lines threads take from each other, and 'anyperf record -e "
	  "syscalls:sys_enter_futex -g' who waits" },
	{ "probe",
	  "'-e mem:ADDRESS:x' counts and samples an instruction, 'anyperf list' says more" },
	{ "sched", "'anyperf stat -e context-switches,cpu-migrations' counts, and 'anyperf record "
		   "--switch-events' records when" },
	{ "test", "'anyperf run -- perf test' runs perf's tests with the events that are here" },
	{ "timechart", "'anyperf export -f firefox' shows threads" },
	{ "trace",
	  "'anyperf stat -e syscalls:sys_enter_*' counts system calls, and 'anyperf record -e "
	  "syscalls:* -c 1' with 'anyperf script' prints them" },
};

const char *ap_absent_instead(const char *name)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(absent); i++)
		if (!strcmp(absent[i].name, name))
			return absent[i].instead;
	return NULL;
}
