/* SPDX-License-Identifier: MIT */
/*
 * Texts of /proc: what the kernel writes, and what it never should.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/proc.h"
#include "tap/tap.h"

static void parses_a_line_of_maps(void)
{
	char line[] = "7f66b2221000-7f66b222b000 r-xp 00027000 fe:00 332383           /usr/a b.so";
	struct ap_proc_map map;

	REQUIRE(ap_map_parse(line, &map));
	EXPECT_U64(map.start, 0x7f66b2221000);
	EXPECT_U64(map.end, 0x7f66b222b000);
	EXPECT_U64(map.flags, AP_MAP_R | AP_MAP_X);
	EXPECT_STR(map.name, "/usr/a b.so");
}

static void parses_a_line_without_a_name(void)
{
	char line[] = "00400000-00401000 rw-s 00000000 00:00 0 ";
	struct ap_proc_map map;

	REQUIRE(ap_map_parse(line, &map));
	EXPECT_U64(map.start, 0x400000);
	EXPECT_U64(map.flags, AP_MAP_R | AP_MAP_W | AP_MAP_SHARE);
	EXPECT_STR(map.name, "");
}

static void refuses_what_is_no_line_of_maps(void)
{
	static const char *const bad[] = {
		"", "x", "1000", "1000-", "2000-1000 r--p", "1000-2000", "1000-2000 r-"
	};
	struct ap_proc_map map;
	char line[64];

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(line, bad[i]);
		if (!EXPECT(!ap_map_parse(line, &map)))
			tap_note("row %u: %s", i, bad[i]);
	}
}

struct seen {
	unsigned int n;
	bool has_stack, has_text;
};

static void see(void *arg, const struct ap_proc_map *map)
{
	struct seen *seen = arg;
	u64 here = (u64)(uintptr_t)see;

	seen->n++;
	seen->has_stack |= !strcmp(map->name, "[stack]");
	seen->has_text |= map->start <= here && here < map->end && (map->flags & AP_MAP_X);
}

static void walks_our_own_maps(void)
{
	struct seen seen = { 0 };

	REQUIRE(ap_maps_each(getpid(), see, &seen) == 0);
	EXPECT(seen.n > 5);
	EXPECT(seen.has_stack);
	EXPECT(seen.has_text);
	EXPECT(ap_maps_each(0x7fffffff, see, &seen) < 0);
}

static void finds_stat_fields_behind_an_odd_name(void)
{
	static const char line[] =
		"42 (a) R 7) S 41 42 42 0 -1 4194304 10 0 0 0 1 2 0 0 20 0 3 0 12345 1000 20 "
		"18446744073709551615 1 2 3 4 5 0 0 0 0 0 0 0 17 1 0 0 0 0 0 100 200 777 0 0 0 0 0";
	struct ap_proc_stat st;

	REQUIRE(ap_stat_parse(line, &st));
	EXPECT(st.state == 'S');
	EXPECT_U64(st.ppid, 41);
	EXPECT_U64(st.threads, 3);
	EXPECT_U64(st.start_time, 12345);
	EXPECT_U64(st.start_brk, 777);
	EXPECT(!ap_stat_parse("42 (a", &st));
	EXPECT(!ap_stat_parse("42 (a) S 1 2", &st));
}

static void reads_our_own_stat(void)
{
	struct ap_proc_stat st;

	REQUIRE(ap_stat_read(getpid(), &st) == 0);
	EXPECT_U64(st.ppid, getppid());
	EXPECT(st.start_time != 0);
	EXPECT(st.start_brk != 0);
}

static void knows_who_has_ended(void)
{
	const struct rlimit few = { 20, 20 };
	pid_t child = fork();
	siginfo_t si;

	REQUIRE(child >= 0);
	if (!child)
		_exit(0);
	EXPECT(!ap_has_ended(getpid()));
	REQUIRE(waitid(P_PID, (id_t)child, &si, WEXITED | WNOWAIT) == 0);
	EXPECT(ap_has_ended(child)); /* a zombie */
	REQUIRE(waitpid(child, NULL, 0) == child);
	EXPECT(ap_has_ended(child));
	/* nobody can be looked at: that is no news of them */
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while (dup(0) >= 0)
		;
	EXPECT(!ap_has_ended(getpid()));
}

static void reads_an_auxiliary_vector(void)
{
	static const u64 words[] = { AT_SYSINFO_EHDR, 0x7fff1000, AT_BASE,   0x7f0000,
				     AT_RANDOM,	      0x7ffe,	  AT_HWCAP2, 2,
				     AT_NULL,	      0,	  AT_BASE,   0xbad };
	struct ap_auxv aux;

	ap_auxv_parse(words, sizeof(words) / sizeof(words[0]), &aux);
	EXPECT_U64(aux.vdso, 0x7fff1000);
	EXPECT_U64(aux.base, 0x7f0000);
	EXPECT_U64(aux.random, 0x7ffe);
	EXPECT_U64(aux.hwcap2, 2);
	EXPECT_U64(aux.minsigstksz, 0);
	/* an odd number of words: the last has no value */
	ap_auxv_parse(words, 3, &aux);
	EXPECT_U64(aux.base, 0);
}

static void finds_a_line_of_status(void)
{
	static const char text[] = "Name:\tSeccomp: 7\nTracerPid:\t12\nSeccomp:\t2\n";
	const char *p = ap_status_find(text, "Seccomp");

	REQUIRE(p != NULL);
	EXPECT_U64(ap_text_u64(&p, 10), 2);
	EXPECT(ap_status_find(text, "Secc") == NULL);
	EXPECT(ap_status_find("", "Name") == NULL);
}

static void builds_paths(void)
{
	char path[AP_PROC_PATH];

	EXPECT_STR(ap_proc_path(path, 1, "maps"), "/proc/1/maps");
	EXPECT_STR(ap_proc_path(path, 2147483647, "fd/1023"), "/proc/2147483647/fd/1023");
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(parses_a_line_of_maps),
						 TAP(parses_a_line_without_a_name),
						 TAP(refuses_what_is_no_line_of_maps),
						 TAP(walks_our_own_maps),
						 TAP(finds_stat_fields_behind_an_odd_name),
						 TAP(reads_our_own_stat),
						 TAP(knows_who_has_ended),
						 TAP(reads_an_auxiliary_vector),
						 TAP(finds_a_line_of_status),
						 TAP(builds_paths),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
