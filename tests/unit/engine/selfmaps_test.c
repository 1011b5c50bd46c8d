/* SPDX-License-Identifier: MIT */
/* The engine's view of /proc/self/maps: all of it, or a failure. */
#include "engine/runtime/selfmaps.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "engine/runtime/engine.h"
#include "tap/tap.h"

struct ap_proc ap_proc;

struct search {
	u64 addr;
	u32 met, all;
};

static bool look(const struct ap_map *m, void *arg)
{
	struct search *s = arg;

	s->all++;
	s->met += m->start <= s->addr && s->addr < m->end;
	return true;
}

static bool stop(const struct ap_map *m, void *arg)
{
	(void)m;
	++*(u32 *)arg;
	return false;
}

/* Enough lines for many reads; neighbours differ, or they would be one. */
static char *make_mappings(u32 n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	for (u32 k = 0; k < n; k += 2)
		REQUIRE(!mprotect(p + k * 4096, 4096, PROT_READ | PROT_WRITE));
	return p;
}

static void every_mapping_is_met(void)
{
	u64 base = (u64)make_mappings(200);
	struct search s;
	u32 calls = 0;

	for (u32 k = 0; k < 200; k += 33) {
		s = (struct search){ .addr = base + k * 4096 };
		EXPECT(ap_selfmaps_read(look, &s));
		EXPECT_U64(s.met, 1);
		EXPECT(s.all > 200);
	}
	EXPECT(ap_selfmaps_read(stop, &calls));
	EXPECT_U64(calls, 1);
}

/* From now on every read of a descriptor fails. */
static void refuse_reads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	REQUIRE(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0));
}

static bool look_and_refuse(const struct ap_map *m, void *arg)
{
	if (!((struct search *)arg)->all)
		refuse_reads();
	return look(m, arg);
}

static void a_read_error_is_no_end(void)
{
	struct search s = { .addr = (u64)make_mappings(200) };

	EXPECT(!ap_selfmaps_read(look_and_refuse, &s)); /* in the middle */
	EXPECT(s.all > 0 && s.all < 200);
	s.all = 0;
	EXPECT(!ap_selfmaps_read(look, &s)); /* at once */
	EXPECT_U64(s.all, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(every_mapping_is_met),
		TAP(a_read_error_is_no_end),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
