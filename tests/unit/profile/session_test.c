/* SPDX-License-Identifier: MIT */
/*
 * Machine state and symbols: which file an address is in after mappings came and covered each other,
 * what a forked process inherits, who a reused thread id is; symbols of this very program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "profile/symbols/session.h"
#include "tap/tap.h"

static struct file f;
static struct ap_profile_session s;
static struct ap_data_event none;

/* Puts the record that was built last into the session. */
static void apply(void)
{
	struct ap_data_rec rec = { 0 };

	end_record(&f);
	rec.bytes = f.bytes + f.record;
	rec.h.type = ap_get32(rec.bytes);
	rec.h.misc = ap_get16(rec.bytes + 4);
	rec.h.size = ap_get16(rec.bytes + 6);
	rec.event = &none;
	ap_session_record(&s, &rec);
	f.n = 0;
}

static void map(uint32_t pid, uint64_t start, uint64_t len, uint64_t pgoff, const char *name)
{
	begin_record(&f, 10, 2);
	put32(&f, pid);
	put32(&f, pid);
	put64(&f, start);
	put64(&f, len);
	put64(&f, pgoff);
	put32(&f, 0);
	put32(&f, 0);
	put64(&f, 0);
	put64(&f, 0);
	put32(&f, 5);
	put32(&f, 2);
	put_text(&f, name, (strlen(name) + 8) & ~7UL);
	apply();
}

static void kernel_map(uint64_t start, uint64_t len, const char *name)
{
	begin_record(&f, 1, 1);
	put32(&f, ~0U);
	put32(&f, 0);
	put64(&f, start);
	put64(&f, len);
	put64(&f, start);
	put_text(&f, name, (strlen(name) + 8) & ~7UL);
	apply();
}

static void comm(uint32_t pid, uint32_t tid, const char *name)
{
	begin_record(&f, 3, 0);
	put32(&f, pid);
	put32(&f, tid);
	put_text(&f, name, 16);
	apply();
}

static void forked(uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	begin_record(&f, 7, 0);
	put32(&f, pid);
	put32(&f, ppid);
	put32(&f, tid);
	put32(&f, ptid);
	put64(&f, 0);
	apply();
}

/* "file@place" of an address, or "-". */
static const char *where(uint32_t pid, uint32_t tid, uint64_t ip)
{
	static char text[100];
	struct ap_place p;

	ap_session_map(&s, ap_session_thread(&s, pid, tid), 2, ip, &p);
	if (!p.dso)
		return "-";
	snprintf(text, sizeof(text), "%s@%llx", p.dso->name, (unsigned long long)p.addr);
	return text;
}

static void a_new_mapping_covers_what_was_there(void)
{
	ap_session_init(&s);
	map(1, 0x1000, 0x5000, 0, "/a");
	EXPECT_STR(where(1, 1, 0xfff), "-");
	EXPECT_STR(where(1, 1, 0x1000), "a@0");
	EXPECT_STR(where(1, 1, 0x5fff), "a@4fff");
	EXPECT_STR(where(1, 1, 0x6000), "-");
	map(1, 0x3000, 0x1000, 0x7000, "/b"); /* in the middle: two parts stay */
	EXPECT_STR(where(1, 1, 0x2fff), "a@1fff");
	EXPECT_STR(where(1, 1, 0x3000), "b@7000");
	EXPECT_STR(where(1, 1, 0x4000), "a@3000");
	map(1, 0x2800, 0x1000, 0, "/c"); /* an end of one and the beginning of another */
	EXPECT_STR(where(1, 1, 0x27ff), "a@17ff");
	EXPECT_STR(where(1, 1, 0x2800), "c@0");
	EXPECT_STR(where(1, 1, 0x37ff), "c@fff");
	EXPECT_STR(where(1, 1, 0x3800), "b@7800");
	map(1, 0, 0x10000, 0, "/d"); /* all of them */
	EXPECT_STR(where(1, 1, 0x3000), "d@3000");
	EXPECT_U64(ap_session_thread(&s, 1, 1)->maps->n, 1);
	ap_session_fini(&s);
}

static const char *kernel_name(uint64_t ip)
{
	struct ap_place place;

	ap_session_resolve(&s, ap_session_thread(&s, 1, 1), AP_PERF_RECORD_MISC_KERNEL, ip, &place);
	return place.sym ? place.sym->name : place.dso ? place.dso->name : "-";
}

static void the_kernel_has_code_behind_its_text(void)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "/tmp/anyperf-kallsyms-%d", (int)getpid());
	out = fopen(path, "w");
	REQUIRE(out);
	fputs("ffffffff81000000 T _stext\nffffffff81001000 T schedule\n"
	      "ffffffff82000000 T _etext\nffffffff83000000 T start_kernel\n",
	      out);
	fclose(out);
	ap_session_init(&s);
	s.symbols.kallsyms = path;
	kernel_map(0xffffffff81000000, 0x1000000, "[kernel.kallsyms]_text");
	EXPECT_STR(kernel_name(0xffffffff81001010), "schedule");
	EXPECT_STR(kernel_name(0xffffffff83000010), "start_kernel");
	EXPECT_STR(kernel_name(0xffffffff80fffff0), "-");
	EXPECT_STR(kernel_name(0xffffffff84000000), "-");
	kernel_map(0xffffffff83000000, 0x1000, "[module]");
	EXPECT_STR(kernel_name(0xffffffff83000010), "[module]");
	ap_session_fini(&s);
	unlink(path);
}

static void a_child_begins_as_its_parent(void)
{
	ap_session_init(&s);
	comm(1, 1, "parent");
	map(1, 0x1000, 0x1000, 0, "/a");
	forked(2, 1, 2, 1);
	EXPECT_STR(ap_session_thread(&s, 2, 2)->comm, "parent");
	EXPECT_STR(where(2, 2, 0x1000), "a@0");
	map(2, 0x1000, 0x1000, 0, "/b");
	EXPECT_STR(where(2, 2, 0x1000), "b@0");
	EXPECT_STR(where(1, 1, 0x1000), "a@0");
	forked(1, 1, 3, 1); /* a thread: what one maps the other sees */
	map(1, 0x5000, 0x1000, 0, "/c");
	EXPECT_STR(where(1, 3, 0x5000), "c@0");
	EXPECT_STR(where(2, 2, 0x5000), "-");
	comm(2, 2, "child");
	EXPECT_STR(ap_session_thread(&s, 1, 1)->comm, "parent");
	EXPECT_STR(ap_session_thread(&s, 2, 2)->comm, "child");
	ap_session_fini(&s);
}

static void a_reused_id_is_somebody_else(void)
{
	const struct ap_profile_thread *first;

	ap_session_init(&s);
	comm(1, 1, "one");
	comm(5, 5, "five");
	map(5, 0x1000, 0x1000, 0, "/a");
	first = ap_session_thread(&s, 5, 5);
	forked(5, 1, 5, 1);
	EXPECT(ap_session_thread(&s, 5, 5) != first);
	EXPECT_STR(ap_session_thread(&s, 5, 5)->comm, "one");
	EXPECT_STR(where(5, 5, 0x1000), "-");
	EXPECT_STR(first->comm, "five"); /* results still show it */
	EXPECT_STR(ap_session_thread(&s, 77, 77)->comm, ":77");
	/* a parent that nobody told of, with the number of a thread that is being replaced */
	comm(1, 7, "seven");
	forked(5, 6, 7, 7);
	EXPECT_STR(ap_session_thread(&s, 6, 7)->comm, ":7");
	EXPECT_STR(ap_session_thread(&s, 0, 0)->comm, "swapper");
	ap_session_fini(&s);
}

static void many_threads_are_found_again(void)
{
	uint32_t i, wrong = 0;

	ap_session_init(&s);
	for (i = 1; i < 3000; i++)
		comm(i, i, i & 1 ? "odd" : "even");
	for (i = 1; i < 3000; i += 3)
		forked(i, 2, i, 2);
	for (i = 1; i < 3000; i++)
		wrong += strcmp(ap_session_thread(&s, i, i)->comm, i % 3 == 1 ? "even"
								   : i & 1    ? "odd"
									      : "even") != 0;
	EXPECT_U64(wrong, 0);
	ap_session_fini(&s);
}

__attribute__((noinline)) static int a_function_of_this_test(int x)
{
	return x * 3 + 1;
}

/* Where this program's own function is, from /proc/self/maps. */
static bool own_place(uint64_t addr, uint64_t *place, char *path)
{
	FILE *in = fopen("/proc/self/maps", "r");
	unsigned long start, end, off;
	char line[4600];

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4000s", &start, &end, &off, path) == 4 &&
		    addr >= start && addr < end) {
			*place = addr - start + off;
			fclose(in);
			return true;
		}
	}
	return false;
}

static void own_symbols_and_lines_are_found(void)
{
	uint64_t addr = (uint64_t)(uintptr_t)a_function_of_this_test, place = 0;
	const struct ap_symbol *sym;
	const char *path = NULL;
	struct ap_symbols all;
	struct ap_dso *dso;
	char file[4100];
	uint32_t line;

	EXPECT_U64(a_function_of_this_test(2), 7);
	REQUIRE(own_place(addr, &place, file));
	ap_symbols_init(&all);
	dso = ap_dso_get(&all, file, AP_DSO_FILE);
	sym = ap_dso_symbol(dso, place);
	REQUIRE(sym);
	EXPECT_STR(sym->name, "a_function_of_this_test");
	EXPECT_U64(sym->start, place);
	EXPECT_U64(ap_dso_place(dso, ap_dso_vaddr(dso, place)), place);
	REQUIRE(ap_dso_line(dso, place, &path, &line));
	EXPECT(strstr(path, "session_test.c"));
	EXPECT(line > 150 && line < 250);
	EXPECT(ap_dso_symbol(dso, ~0ULL) == NULL);
	/* another build of it is not this one */
	dso = ap_dso_get(&all, "/proc/self/exe", AP_DSO_FILE);
	ap_dso_set_build_id(dso, (const uint8_t *)"not this build-id...", 20);
	EXPECT(ap_dso_symbol(dso, place) == NULL);
	ap_symbols_fini(&all);
}

static void jit_maps_are_read(void)
{
	char path[64];
	struct ap_symbols all;
	struct ap_dso *dso;
	FILE *out;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	out = fopen(path, "w");
	REQUIRE(out);
	fputs("1000 20 first\nbad line\n1020 10 _ZN2ns3fooEv\n2000 0 empty\n", out);
	fclose(out);
	ap_symbols_init(&all);
	dso = ap_dso_get(&all, path, AP_DSO_JIT);
	REQUIRE(ap_dso_symbol(dso, 0x101f));
	EXPECT_STR(ap_dso_symbol(dso, 0x101f)->name, "first");
	EXPECT_STR(ap_dso_symbol(dso, 0x1020)->name, "ns::foo");
	EXPECT(ap_dso_symbol(dso, 0x1030) == NULL);
	EXPECT(ap_dso_symbol(dso, 0x2000) == NULL);
	ap_symbols_fini(&all);
	unlink(path);
}

static void dump_code(const char *name, uint64_t addr, uint64_t size)
{
	size_t begin = f.n, end;

	put32(&f, 0); /* code is loaded */
	put32(&f, 0);
	put64(&f, 1);
	put32(&f, 9);
	put32(&f, 9);
	put64(&f, addr);
	put64(&f, addr);
	put64(&f, size);
	put64(&f, 1);
	put_text(&f, name, strlen(name) + 1);
	put_text(&f, "", size); /* the code */
	end = f.n;
	f.n = begin + 4;
	put32(&f, (uint32_t)(end - begin));
	f.n = end;
}

static void jitdumps_are_read(void)
{
	struct ap_place p;
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	f.n = 0;
	put32(&f, 0x4a695444);
	put32(&f, 1);
	put32(&f, 40);
	put_text(&f, "", 28);
	dump_code("old", 0x7000, 16);
	dump_code("other", 0x7010, 16);
	dump_code("new", 0x7008, 8); /* where "old" was */
	out = fopen(path, "w");
	REQUIRE(out && fwrite(f.bytes, 1, f.n, out) == f.n && !fclose(out));
	f.n = 0;
	ap_session_init(&s);
	map(9, 0x7000, 0x1000, 0, "//anon");
	map(9, 0x90000, 0x1000, 0, path);
	ap_session_resolve(&s, ap_session_thread(&s, 9, 9), 2, 0x7009, &p);
	REQUIRE(p.sym);
	EXPECT_STR(p.sym->name, "new");
	ap_session_resolve(&s, ap_session_thread(&s, 9, 9), 2, 0x701f, &p);
	REQUIRE(p.sym);
	EXPECT_STR(p.sym->name, "other");
	ap_session_resolve(&s, ap_session_thread(&s, 9, 9), 2, 0x7001, &p);
	EXPECT(!p.sym);
	ap_session_fini(&s);
	unlink(path);
}

static void a_pipe_is_not_waited_for(void)
{
	char path[64];
	struct ap_symbols all;

	snprintf(path, sizeof(path), "/tmp/anyperf-unit-%d", (int)getpid());
	REQUIRE(!mkfifo(path, 0600));
	ap_symbols_init(&all);
	alarm(20);
	EXPECT(ap_dso_symbol(ap_dso_get(&all, path, AP_DSO_FILE), 0) == NULL);
	EXPECT(ap_dso_symbol(ap_dso_get(&all, path, AP_DSO_JIT), 0) == NULL);
	unlink(path);
	ap_symbols_fini(&all);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(a_new_mapping_covers_what_was_there),
						 TAP(the_kernel_has_code_behind_its_text),
						 TAP(a_child_begins_as_its_parent),
						 TAP(a_reused_id_is_somebody_else),
						 TAP(many_threads_are_found_again),
						 TAP(own_symbols_and_lines_are_found),
						 TAP(jit_maps_are_read),
						 TAP(jitdumps_are_read),
						 TAP(a_pipe_is_not_waited_for),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
