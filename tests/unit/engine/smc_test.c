/* SPDX-License-Identifier: MIT */
/* Write-protected code pages: what the hardware lets through, and what is forgotten when. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/runtime/engine.h"
#include "tap/tap.h"

struct ap_proc ap_proc;

static struct ap_boot boot;
static u64 dropped_start, dropped_end;
static u32 drops;

void ap_cache_invalidate(u64 start, u64 end)
{
	dropped_start = start;
	dropped_end = end;
	drops++;
}

void ap_cache_flush(void)
{
}

int ap_safe_copy(void *dst, const void *src, u64 n)
{
	memcpy(dst, src, n);
	return 0;
}

static u64 make(u32 pages)
{
	char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	ap_proc.boot = &boot;
	ap_proc.nthreads = 1;
	ap_proc.blob_lo = ap_proc.blob_hi = 0x200000000000;
	ap_region_set((u64)p, (u64)p + pages * 4096, AP_RANGE_W, true);
	return (u64)p;
}

/* Whether the page can be written to, by asking the kernel. */
static bool writable(u64 page)
{
	int fd[2];
	bool ok;

	REQUIRE(pipe(fd) == 0);
	REQUIRE(write(fd[1], "x", 1) == 1);
	ok = read(fd[0], (void *)page, 1) == 1;
	close(fd[0]);
	close(fd[1]);
	return ok;
}

static void a_store_drops_the_blocks_and_goes_through(void)
{
	u64 p = make(3);

	EXPECT(ap_smc_protect(p + 4096));
	EXPECT(!writable(p + 4096 + 100));
	EXPECT(writable(p) && writable(p + 8192));
	EXPECT(ap_smc_is_protected(p + 4096 + 4095));
	EXPECT(ap_smc_hides_write(p + 4096));
	EXPECT(!ap_smc_is_protected(p + 8192));
	EXPECT(!ap_smc_write_fault(p + 8192));
	EXPECT(ap_smc_write_fault(p + 4096 + 4095));
	EXPECT_U64(dropped_start, p + 4096);
	EXPECT_U64(dropped_end, p + 8192);
	EXPECT(writable(p + 4096));
	EXPECT(!ap_smc_hides_write(p + 4096));
	EXPECT(ap_smc_protect(p + 4096));
	EXPECT(!writable(p + 4096));
}

static void read_only_code_is_left_alone(void)
{
	u64 p = make(1);

	ap_region_set(p, p + 4096, 0, true);
	EXPECT(ap_smc_protect(p));
	EXPECT(writable(p));
	EXPECT(!ap_smc_is_protected(p));
	EXPECT(!ap_smc_unprotect_all());
}

/* A thread that comes late finds the page writable; a fault that goes on is the program's. */
static void a_late_fault_is_ours_but_not_for_ever(void)
{
	u64 p = make(1);
	u32 n = 0;

	EXPECT(ap_smc_protect(p));
	EXPECT(ap_smc_write_fault(p));
	EXPECT(ap_smc_is_protected(p));
	while (n < 100 && ap_smc_write_fault(p))
		n++;
	EXPECT(n > 0 && n < 100);
}

static void a_hot_page_is_not_kept_and_gets_new_chances(void)
{
	u64 p = make(1);
	u32 faults = 0, refused = 0;

	for (u32 i = 0; i < 8; i++) {
		EXPECT(ap_smc_protect(p));
		EXPECT(ap_smc_write_fault(p));
	}
	EXPECT(!ap_smc_protect(p));
	for (u32 i = 0; i < 1000; i++) {
		if (ap_smc_protect(p)) {
			faults++;
			EXPECT(ap_smc_write_fault(p));
		} else {
			refused++;
			EXPECT(writable(p));
		}
	}
	EXPECT(faults > 10 && faults < 100);
	EXPECT(refused > 900);
}

static void ranges_are_unprotected_and_forgotten(void)
{
	u64 p = make(6000);

	EXPECT(!ap_smc_unprotect_all());
	for (u32 i = 0; i < 6000; i++)
		REQUIRE(ap_smc_protect(p + i * 4096));
	EXPECT(ap_smc_unprotect(p + 4096, p + 8192));
	EXPECT(writable(p + 4096) && !writable(p) && !writable(p + 8192));
	drops = 0;
	EXPECT(ap_smc_unprotect_all());
	EXPECT_U64(drops, 5999);
	EXPECT(writable(p) && writable(p + 5999 * 4096));
	EXPECT(!ap_smc_unprotect_all());
	ap_smc_forget(p + 4096, p + 5999 * 4096);
	EXPECT(ap_smc_is_protected(p) && ap_smc_is_protected(p + 5999 * 4096));
	EXPECT(!ap_smc_is_protected(p + 4096));
	EXPECT(!ap_smc_write_fault(p + 4096));
}

static void regions_come_from_boot_and_follow_changes(void)
{
	struct ap_range *r;

	boot.nranges = 1;
	boot.ranges[0] = (struct ap_range){ 0x1000, 0x9000, 0 };
	ap_proc.boot = &boot;
	r = ap_region_find(0x8fff);
	REQUIRE(r != NULL);
	EXPECT_U64(r->flags, AP_RANGE_X | AP_RANGE_FILE);
	EXPECT(!ap_region_find(0x9000) && !ap_region_find(0xfff));
	ap_region_set(0x3000, 0x4000, 0, false);
	EXPECT(!ap_region_find(0x3fff));
	EXPECT(ap_region_find(0x2fff) && ap_region_find(0x4000));
	/* Far more ranges than the table starts with. */
	ap_proc.blob_lo = ap_proc.blob_hi = 0x200000000000;
	for (u64 i = 1; i <= 5000; i++)
		ap_region_set(i << 20, (i << 20) + 4096, AP_RANGE_W, true);
	for (u64 i = 1; i <= 5000; i++) {
		if (!EXPECT(ap_region_find(i << 20) && !ap_region_find((i << 20) + 4096)))
			break;
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_store_drops_the_blocks_and_goes_through),
		TAP(read_only_code_is_left_alone),
		TAP(a_late_fault_is_ours_but_not_for_ever),
		TAP(a_hot_page_is_not_kept_and_gets_new_chances),
		TAP(ranges_are_unprotected_and_forgotten),
		TAP(regions_come_from_boot_and_follow_changes),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
