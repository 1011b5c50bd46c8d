/* SPDX-License-Identifier: MIT */
/* Mappings of events: whose pages they are, when the last one is told of, and rdpmc's counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/perf.h"
#include "abi/raw.h"
#include "fake.h"
#include "tap/tap.h"

#define PAGE 4096UL
#define OFF  (16 * PAGE)

static void answers(struct ap_svc *svc)
{
	svc->ret = 0;
	if (svc->op == AP_SVC_MMAP && svc->arg[1] == 4 * PAGE)
		svc->ret = -EINVAL;
	else if (svc->op == AP_SVC_MMAP)
		memcpy(svc->data, &(u64){ OFF }, 8);
}

static s32 fd;
static char *file; /* the session file's pages, as the supervisor sees them */

static void start(void)
{
	fake_start(answers);
	fake.session->perf_used = 1;
	fake.session_fd = memfd_create("session", MFD_CLOEXEC);
	REQUIRE(!ftruncate(fake.session_fd, (long)(64 * PAGE)));
	file = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fake.session_fd, OFF);
	fd = fake_perf_fd();
}

static char *map(void *at, u64 size, u64 prot, u64 flags, u64 off)
{
	return (char *)fake_call(SYS_mmap, (u64)at, size, prot, flags, (u64)fd, off);
}

static s64 unmap(void *at, u64 size)
{
	return fake_call(SYS_munmap, (u64)at, size, 0, 0, 0, 0);
}

static void pages_are_the_sessions(void)
{
	char *p;

	start();
	strcpy(file + PAGE, "second page");
	p = map(NULL, 2 * PAGE - 100, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	EXPECT_STR(p + PAGE, "second page");
	strcpy(p, "written");
	EXPECT_STR(file, "written");
	EXPECT_U64(fake.last.op, AP_SVC_MMAP);
	EXPECT_U64(fake.last.arg[0], fake_inode(fd));
	EXPECT_U64(fake.last.arg[1], 2 * PAGE);
	EXPECT_U64(fake.last.arg[2], PROT_READ | PROT_WRITE);
	EXPECT_U64(fake.last.arg[3], 0);
}

static void a_child_has_no_mapping(void)
{
	int status = 0;
	char *p;

	start();
	p = map(NULL, PAGE, PROT_READ, MAP_SHARED, 0);
	if (!fork())
		_exit(msync(p, PAGE, MS_ASYNC) ? errno : 0);
	wait(&status);
	EXPECT_U64(WEXITSTATUS(status), ENOMEM);
}

/* In Linux's order: what mmap(2) itself finds, then the mount that executes nothing, then the event. */
static void arguments_are_checked_as_by_the_kernel(void)
{
	start();
	EXPECT((s64)map(NULL, PAGE, PROT_READ, MAP_SHARED, 100) == -EINVAL);
	EXPECT((s64)map(NULL, 0, PROT_READ, MAP_SHARED, 0) == -EINVAL);
	EXPECT((s64)map(NULL, PAGE, PROT_READ, 0, 0) == -EINVAL);
	EXPECT((s64)map(NULL, PAGE, PROT_READ, MAP_PRIVATE, 0) == -EINVAL);
	EXPECT((s64)map(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0) == -EPERM);
	EXPECT((s64)map(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, 0) == -EPERM);
	EXPECT((s64)map(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, 0) == -EOPNOTSUPP);
	EXPECT_U64(fake.requests, 0);
	EXPECT((s64)map(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, 0) == -EINVAL);
	EXPECT_U64(fake.requests, 1);
}

static void the_last_mapping_is_told_of(void)
{
	/* with a page of ours before b, which goes with it */
	char *ours = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *a, *b = ours + PAGE;

	start();
	a = map(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, 0);
	EXPECT(map(b, 3 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, 0) == b);
	EXPECT_U64(fake.requests, 2);
	EXPECT(!unmap(a, 3 * PAGE));
	EXPECT_U64(fake.requests, 2);
	/* a mapping of an event is not split (Linux 6.17, and the stable kernels of that time) */
	EXPECT(unmap(b, PAGE) == -EINVAL);
	EXPECT(unmap(b + 2 * PAGE, PAGE) == -EINVAL);
	EXPECT(!msync(b, 3 * PAGE, MS_ASYNC));
	EXPECT_U64(fake.requests, 2);
	EXPECT(!unmap(ours, 4 * PAGE));
	EXPECT_U64(fake.requests, 3);
	EXPECT_U64(fake.last.op, AP_SVC_MUNMAP);
	EXPECT_U64(fake.last.arg[0], fake_inode(fd));

	/* something else in its place */
	a = map(NULL, PAGE, PROT_READ, MAP_SHARED, 0);
	EXPECT(map(a, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, 0) == a);
	EXPECT_U64(fake.requests, 5); /* again the event: not gone for a moment */
	EXPECT(map(a, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, 0) == a);
	EXPECT_U64(fake.requests, 6);
	EXPECT_U64(fake.last.op, AP_SVC_MUNMAP);
}

static void a_moved_mapping_stays_known_and_does_not_grow(void)
{
	char *a, *to = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	start();
	a = map(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, 0);
	EXPECT(fake_call(SYS_mremap, (u64)a, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE, 0, 0) == -EFAULT);
	EXPECT(fake_call(SYS_mremap, (u64)a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			 (u64)to, 0) == (s64)to);
	EXPECT(fake_call(SYS_mremap, (u64)to, 2 * PAGE, PAGE, 0, 0, 0) == -EINVAL);
	EXPECT_U64(fake.requests, 1);
	EXPECT(!unmap(a, 2 * PAGE));
	EXPECT_U64(fake.requests, 1);
	EXPECT(unmap(to, PAGE) == -EINVAL);
	EXPECT(!unmap(to, 2 * PAGE));
	EXPECT_U64(fake.requests, 2);
}

/* rdpmc: the page has the index, the published event the kinds. */
static void a_counter_is_found_by_its_page(void)
{
	struct ap_perf_page *page;
	struct ap_pub *e;
	struct ap_service_pmc v = { 0 };

	start();
	page = (struct ap_perf_page *)file;
	EXPECT(map(NULL, PAGE, PROT_READ, MAP_SHARED, 0) != MAP_FAILED);
	page->index = 4;
	/* of whoever it is: the supervisor knows */
	EXPECT(ap_service_pmc(3, &v));
	EXPECT_U64(fake.last.op, AP_SVC_PMC);
	EXPECT_U64(fake.last.arg[0], fake_inode(fd));
	EXPECT_U64(fake.last.arg[1], 3);
	EXPECT_U64(v.kinds, 0);
	e = &fake.pub[ap_pub_home(fake_inode(fd))];
	*e = (struct ap_pub){ .inode = fake_inode(fd),
			      .flags = AP_PUB_ENABLED | AP_PUB_ACTIVE,
			      .kinds = AP_KIND_BIT(AP_KIND_INSTR),
			      .base = 1000,
			      .seg = fake.seg_index,
			      .slot = fake.slot_index };
	fake.shapes[0] = 6 * AP_VEC_ONE(AP_VEC_INSTR) + 2 * AP_VEC_ONE(AP_VEC_BRANCH);
	fake.counts[0] = 7;
	EXPECT(ap_service_pmc(3, &v));
	EXPECT_U64(v.value, 41); /* 42 with the rdpmc itself */
	e->kinds = AP_KIND_BIT(AP_KIND_BRANCH);
	EXPECT(ap_service_pmc(3, &v));
	EXPECT_U64(v.value, 14);
	EXPECT_U64(v.kinds, AP_KIND_BIT(AP_KIND_BRANCH));
	EXPECT(v.seq_at == &e->seq && v.seq == e->seq);
	EXPECT(!ap_service_pmc(4, &v));
	EXPECT(!ap_service_pmc(2, &v));
	/* a hardware event's page lets it read all that there are */
	page->capabilities = AP_PERF_CAP_USER_RDPMC;
	EXPECT(ap_service_pmc(4, &v) && !v.value);
	EXPECT(ap_service_pmc(63, &v) && !v.value);
	EXPECT(!ap_service_pmc(64, &v));
	page->index = 0;
	EXPECT(ap_service_pmc(3, &v) && !v.value);
	e->gen = 1;
	page->index = 65;
	EXPECT(ap_service_pmc(64, &v));
	EXPECT_U64(fake.last.arg[1], 64);
	page->index = 4;
	EXPECT(ap_service_pmc(3, &v));
	EXPECT_U64(fake.last.arg[1], 3);
	e->gen = 0;
	ap_service_in_child();
	EXPECT(!ap_service_pmc(3, &v));
}

static struct ap_log *the_log(void)
{
	return (struct ap_log *)((char *)fake.slot + AP_LOG_OFF);
}

/* The supervisor takes the counter away: its question is answered behind that. */
static void counter_is_taken(struct ap_svc *svc)
{
	struct ap_perf_page *page = (struct ap_perf_page *)file;

	page->index = 0;
	fake.pub[ap_pub_home(fake_inode(fd))].flags = AP_PUB_ENABLED | AP_PUB_WAITS;
	__atomic_fetch_add(&the_log()->state, AP_LOG_TURN - AP_LOG_HOLD, __ATOMIC_SEQ_CST);
	svc->ret = -EINVAL;
}

/* Its counters have been read, and the page is not of that moment yet: no newer count may be seen. */
static void a_counter_that_is_held_waits(void)
{
	struct ap_service_pmc v = { 0 };
	struct ap_perf_page *page;
	struct ap_pub *e;

	start();
	page = (struct ap_perf_page *)file;
	EXPECT(map(NULL, PAGE, PROT_READ, MAP_SHARED, 0) != MAP_FAILED);
	page->index = 4;
	page->capabilities = AP_PERF_CAP_USER_RDPMC;
	e = &fake.pub[ap_pub_home(fake_inode(fd))];
	*e = (struct ap_pub){ .inode = fake_inode(fd),
			      .flags = AP_PUB_ENABLED | AP_PUB_ACTIVE | AP_PUB_WAITS,
			      .kinds = AP_KIND_BIT(AP_KIND_BRANCH),
			      .seg = fake.seg_index,
			      .slot = fake.slot_index };
	fake.shapes[0] = 2 * AP_VEC_ONE(AP_VEC_BRANCH);
	fake.counts[0] = 7;
	EXPECT(ap_service_pmc(3, &v));
	EXPECT_U64(v.value, 14);
	EXPECT_U64(v.kinds, 0); /* translated code does not look whether it is held */
	EXPECT_U64(fake.requests, 1);
	fake.answer = counter_is_taken;
	the_log()->state = AP_LOG_HOLD;
	EXPECT(ap_service_pmc(3, &v));
	EXPECT_U64(fake.requests, 2);
	EXPECT_U64(fake.last.op, AP_SVC_PMC);
	EXPECT_U64(v.value, 0); /* nothing counts there any more */
}

static void maps_show_the_native_name(void)
{
	char tail[128];
	char *p;

	start();
	p = map(NULL, PAGE, PROT_READ, MAP_SHARED, 0);
	EXPECT(!ap_service_names_map((u64)p + PAGE, 30, tail, sizeof(tail)));
	EXPECT(ap_service_names_map((u64)p, 30, tail, sizeof(tail)));
	EXPECT_STR(tail + 30, "anon_inode:[perf_event]\n");
	EXPECT(tail[29] == ' ' && tail[2] == ':');
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(pages_are_the_sessions),
		TAP(a_child_has_no_mapping),
		TAP(arguments_are_checked_as_by_the_kernel),
		TAP(the_last_mapping_is_told_of),
		TAP(a_moved_mapping_stays_known_and_does_not_grow),
		TAP(a_counter_is_found_by_its_page),
		TAP(a_counter_that_is_held_waits),
		TAP(maps_show_the_native_name),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
