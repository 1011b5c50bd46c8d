/* SPDX-License-Identifier: MIT */
/* What paths mean in the generated tree, on one made by hand. */
#include "service/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"
#include "tap/tap.h"

/* In the order of the packed tree: breadth first, names in order. */
static const struct {
	const char *name;
	u32 parent, first, n;
	u16 mode;
	bool is_shared;
	const char *text;
} nodes[] = {
	{ "", 0, 1, 2, 0040755, true, "" },			     /* 0 */
	{ "proc", 0, 3, 0, 0040555, true, "" },			     /* 1 */
	{ "sys", 0, 3, 2, 0040555, true, "" },			     /* 2 */
	{ "ap_bus", 2, 5, 1, 0040755, false, "" },		     /* 3 */
	{ "ap_devices", 2, 6, 2, 0040755, true, "" },		     /* 4 */
	{ "cpu", 3, 0, 0, 0120777, false, "../ap_devices/cpu" },     /* 5 */
	{ "cpu", 4, 8, 3, 0040755, false, "" },			     /* 6 */
	{ "round", 4, 0, 0, 0120777, false, "../ap_devices/round" }, /* 7 */
	{ "out", 6, 0, 0, 0120777, false, "../../kernel" },	     /* 8 */
	{ "type", 6, 0, 0, 0100444, false, "4\n" },		     /* 9 */
	{ "uevent", 6, 0, 0, 0100644, false, "" },		     /* 10 */
};
#define CPU  6
#define TYPE 9

static struct ap_tree *build(void)
{
	struct ap_tree *t = calloc(1, AP_TREE_SIZE);
	struct ap_tree_node *v = (struct ap_tree_node *)(t + 1);
	u32 used = (u32)(sizeof(*t) + sizeof(*v) * AP_ARRAY_SIZE(nodes));

	for (u32 i = 0; i < AP_ARRAY_SIZE(nodes); i++) {
		v[i] = (struct ap_tree_node){ .parent = nodes[i].parent,
					      .first = nodes[i].first,
					      .n = nodes[i].n,
					      .mode = nodes[i].mode,
					      .is_shared = nodes[i].is_shared,
					      .nlink = 1 };
		v[i].name = used;
		used += (u32)strlen(strcpy((char *)t + used, nodes[i].name)) + 1;
		v[i].text = used;
		v[i].size = (u32)strlen(nodes[i].text);
		used += (u32)strlen(strcpy((char *)t + used, nodes[i].text)) + 1;
	}
	t->nnodes = AP_ARRAY_SIZE(nodes);
	t->size = used;
	t->magic = AP_TREE_MAGIC;
	return t;
}

static void start(void)
{
	fake_start(NULL);
	fake.session->supervisor = 0; /* no answers, and none waited for */
	fake.tree = build();
}

static struct ap_tree_found found;

static enum ap_tree_verdict look(u32 start, bool is_ours, const char *path, bool follow)
{
	memset(&found, 0, sizeof(found));
	ap_tree_find(fake.tree, start, is_ours, path, follow, &found);
	return found.verdict;
}

static bool is_node(u32 start, const char *path, bool follow, u32 node)
{
	return look(start, true, path, follow) == AP_TREE_OURS && found.node == node;
}

static bool fails(u32 start, const char *path, s64 error)
{
	return look(start, true, path, true) == AP_TREE_ERROR && found.error == -error;
}

static void paths_lead_to_nodes(void)
{
	start();
	EXPECT(is_node(0, "/sys/ap_devices/cpu/type", true, TYPE));
	EXPECT(is_node(0, "//sys/./ap_devices//cpu/./type", true, TYPE));
	EXPECT(is_node(0, "/sys/ap_bus/../ap_devices/cpu/../cpu/type", true, TYPE));
	EXPECT(is_node(0, "/../sys/ap_devices/cpu", true, CPU));
	EXPECT(is_node(0, "/sys/ap_devices/cpu/", true, CPU));
	EXPECT(is_node(CPU, "type", true, TYPE));
	EXPECT(is_node(CPU, ".", true, CPU));
	EXPECT(is_node(CPU, "../cpu/type", true, TYPE));
	EXPECT(is_node(CPU, "/sys/ap_devices/cpu/type", true, TYPE));
}

static void links_are_followed_where_they_shall_be(void)
{
	start();
	EXPECT(is_node(0, "/sys/ap_bus/cpu", true, CPU));
	EXPECT(is_node(0, "/sys/ap_bus/cpu", false, 5));
	EXPECT(is_node(0, "/sys/ap_bus/cpu/", false, CPU));
	EXPECT(is_node(0, "/sys/ap_bus/cpu/type", false, TYPE));
	EXPECT(is_node(0, "/sys/ap_bus/cpu/..", true, 4) == false); /* shared */
	EXPECT_U64(found.verdict, AP_TREE_SHARED);
	EXPECT_U64(found.node, 4);
	EXPECT_STR(found.path, "/sys/ap_devices");
	EXPECT(fails(0, "/sys/ap_devices/round", ELOOP));
	EXPECT(fails(0, "/sys/ap_devices/round/x", ELOOP));
}

static void what_is_not_there_is_an_error(void)
{
	start();
	EXPECT(fails(0, "/sys/ap_devices/cpu/nope", ENOENT));
	EXPECT(fails(0, "/sys/ap_devices/cpu/typ", ENOENT));
	EXPECT(fails(0, "/sys/ap_devices/cpu/typed", ENOENT));
	EXPECT(fails(0, "/sys/ap_bus/nope/x", ENOENT));
	EXPECT(fails(0, "/sys/ap_devices/cpu/type/", ENOTDIR));
	EXPECT(fails(0, "/sys/ap_devices/cpu/type/x", ENOTDIR));
	EXPECT(fails(0, "/sys/ap_devices/cpu/type/..", ENOTDIR));
}

/* Everything else is the kernel's: by the program's own path where that means the same to it. */
static void the_rest_is_the_kernels(void)
{
	char big[2 * AP_TREE_PATH_CAP];

	start();

	EXPECT_U64(look(0, false, "/etc/passwd", true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "");
	EXPECT_U64(look(0, false, "/sys/kernel/x", true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "");
	EXPECT_U64(look(4, false, "platform/x", true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "");
	EXPECT_U64(look(4, true, "platform/x", true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "/sys/ap_devices/platform/x");
	EXPECT_U64(look(CPU, true, "../platform", true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "/sys/ap_devices/platform");
	EXPECT_U64(look(0, false, "/sys/ap_devices/cpu/out/mm/", true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "/sys/kernel/mm/");
	EXPECT_U64(look(CPU, true, "../../..", true), AP_TREE_SHARED);
	EXPECT_STR(found.path, "/");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	memcpy(big, "/sys/", 5);
	EXPECT_U64(look(0, false, big, true), AP_TREE_NATIVE);
	EXPECT_STR(found.path, "");
}

/* In a buffer of its own: strings of a program are read in pieces that may pass their end. */
static s64 at(u64 nr, s64 dir, const char *path, u64 c, u64 d)
{
	static char buf[2 * AP_TREE_PATH_CAP];

	snprintf(buf, sizeof(buf), "%s", path);
	return fake_call(nr, (u64)dir, (u64)buf, c, d, 0, 0);
}

static void files_are_opened_and_read(void)
{
	struct stat st;
	char buf[8];
	s64 fd, dir;

	start();

	fd = at(SYS_openat, AT_FDCWD, "/sys/ap_bus/cpu/type", O_RDONLY, 0);
	REQUIRE(fd >= 0);
	EXPECT(fake_call(SYS_read, (u64)fd, (u64)buf, 8, 0, 0, 0) == 2 && !memcmp(buf, "4\n", 2));
	EXPECT(fake_call(SYS_read, (u64)fd, (u64)buf, 8, 0, 0, 0) == 0);
	EXPECT(fake_call(SYS_pread64, (u64)fd, (u64)buf, 1, 1, 0, 0) == 1 && buf[0] == '\n');
	EXPECT(fake_call(SYS_write, (u64)fd, (u64)buf, 1, 0, 0, 0) == -EBADF);
	EXPECT(!fake_call(SYS_fstat, (u64)fd, (u64)&st, 0, 0, 0, 0));
	EXPECT(st.st_mode == 0100444 && st.st_size == 4096);
	EXPECT((fake_call(SYS_fcntl, (u64)fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) == O_RDONLY);
	EXPECT(fake_call(SYS_fchmod, (u64)fd, 0777, 0, 0, 0, 0) == -EPERM);
	dir = at(SYS_openat, AT_FDCWD, "/sys/ap_bus", O_RDONLY | O_DIRECTORY, 0);
	REQUIRE(dir >= 0);
	EXPECT(fake_call(SYS_read, (u64)dir, (u64)buf, 8, 0, 0, 0) == -EISDIR);
	EXPECT(at(SYS_readlinkat, dir, "cpu", (u64)buf, 8) == 8 && !memcmp(buf, "../ap_de", 8));
	EXPECT(!at(SYS_newfstatat, dir, "cpu/type", (u64)&st, 0) && st.st_mode == 0100444);
	EXPECT(!at(SYS_newfstatat, dir, "cpu", (u64)&st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISLNK(st.st_mode));
	EXPECT(at(SYS_openat, dir, "cpu", O_RDONLY | O_NOFOLLOW, 0) == -ELOOP);
	EXPECT(at(SYS_openat, dir, "nope", O_RDONLY, 0) == -ENOENT);
	EXPECT(at(SYS_openat, dir, "cpu", O_RDWR, 0) == -EISDIR);
	EXPECT(at(SYS_openat, dir, "cpu/type", O_DIRECTORY, 0) == -ENOTDIR);
	EXPECT(at(SYS_openat, dir, "cpu/type", O_RDWR, 0) == (geteuid() ? -EACCES : -EROFS));
	EXPECT(!at(SYS_faccessat, dir, "cpu/type", R_OK, 0));
	EXPECT(at(SYS_faccessat, dir, "cpu/type", X_OK, 0) == -EACCES);
	EXPECT(!fake_call(SYS_close, (u64)fd, 0, 0, 0, 0, 0));
	/* the number means something else now */
	EXPECT(at(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0) == fd);
	EXPECT(!fake_call(SYS_fstat, (u64)fd, (u64)&st, 0, 0, 0, 0) && S_ISCHR(st.st_mode));
}

struct dirent_64 {
	u64 ino, off;
	u16 len;
	u8 type;
	char name[];
};

static void directories_list_their_entries(void)
{
	static const char *const names[] = { ".", "..", "out", "type", "uevent" };
	static const u8 types[] = { 4, 4, 10, 8, 8 };
	char buf[32]; /* one at a time */
	struct dirent_64 *e = (struct dirent_64 *)buf;
	s64 dir, got;

	start();

	dir = at(SYS_openat, AT_FDCWD, "/sys/ap_devices/cpu", O_RDONLY, 0);
	REQUIRE(dir >= 0);
	for (u32 round = 0; round < 2; round++) {
		for (u32 i = 0; i < AP_ARRAY_SIZE(names); i++) {
			got = fake_call(SYS_getdents64, (u64)dir, (u64)buf, 24 + 8 * (i > 4), 0, 0,
					0);
			if (got == -EINVAL) /* a longer name */
				got = fake_call(SYS_getdents64, (u64)dir, (u64)buf, 32, 0, 0, 0);
			REQUIRE(got == e->len);
			EXPECT_STR(e->name, names[i]);
			EXPECT_U64(e->type, types[i]);
			EXPECT_U64(e->off, i + 1);
		}
		EXPECT(!fake_call(SYS_getdents64, (u64)dir, (u64)buf, 32, 0, 0, 0));
		EXPECT(!fake_call(SYS_lseek, (u64)dir, 0, SEEK_SET, 0, 0, 0));
	}
	EXPECT(fake_call(SYS_getdents64, (u64)dir, (u64)buf, 8, 0, 0, 0) == -EINVAL);
}

/* The program has a filter: no call of ours, so no tree. */
static void a_filter_leaves_the_kernels_files(void)
{
	u64 calls;

	start();

	fake.seg->mute = 1;
	calls = fake.calls;
	EXPECT(at(SYS_openat, AT_FDCWD, "/sys/ap_bus/cpu/type", O_RDONLY, 0) == -ENOENT);
	EXPECT_U64(fake.calls, calls);
	fake.seg->mute = 0;
}

static struct ap_tree *late;

static void pack(struct ap_svc *svc)
{
	svc->ret = svc->op == AP_SVC_TREE ? 0 : -EINVAL;
	__atomic_store_n(&late->magic, AP_TREE_MAGIC, __ATOMIC_RELEASE);
}

/* Also by a process that has had paths near it before. */
static void it_is_made_when_it_is_wanted(void)
{
	struct stat st;

	fake_start(pack);
	fake.session->perf_used = 1;
	late = build();
	late->magic = 0;
	fake.tree = late;
	EXPECT(!at(SYS_newfstatat, AT_FDCWD, "/proc/self/status", (u64)&st, 0));
	EXPECT(!at(SYS_newfstatat, AT_FDCWD, "/", (u64)&st, 0));
	EXPECT_U64(fake.requests, 0);
	for (u32 i = 0; i < 2; i++) {
		EXPECT(!at(SYS_newfstatat, AT_FDCWD, "/sys/ap_bus/cpu", (u64)&st, 0));
		EXPECT(S_ISDIR(st.st_mode));
		EXPECT_U64(fake.requests, 1);
	}
	EXPECT_U64(fake.last.op, AP_SVC_TREE);
}

/* The supervisor is gone: the kernel's files are left. */
static void without_a_supervisor_there_is_none(void)
{
	struct stat st;

	fake_start(NULL);
	fake.session->supervisor = 0;
	late = build();
	late->magic = 0;
	fake.tree = late;
	EXPECT(at(SYS_newfstatat, AT_FDCWD, "/sys/ap_bus/cpu", (u64)&st, 0) == -ENOENT);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(paths_lead_to_nodes),
		TAP(links_are_followed_where_they_shall_be),
		TAP(what_is_not_there_is_an_error),
		TAP(the_rest_is_the_kernels),
		TAP(files_are_opened_and_read),
		TAP(directories_list_their_entries),
		TAP(a_filter_leaves_the_kernels_files),
		TAP(it_is_made_when_it_is_wanted),
		TAP(without_a_supervisor_there_is_none),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
