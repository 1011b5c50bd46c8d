/* SPDX-License-Identifier: MIT */
/*
 * The session of a run: two sparse files with one segment, as the supervisor makes them, and the boot page of a
 * process in it.  There is no supervisor, so nothing that asks one is tested here.
 *
 * The engine takes what lies between the start of its image and the boot page for its own code.  Here that is the
 * code of the test's program; the header that an image begins with is put in a page in front of it.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/slot_sum.h"
#include "rig.h"
#include "tap/tap.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define SEGS	   2 /* and what events are mapped to is behind them */
#define HEAD_SIZE  AP_SEG_BASE
#define PARTY_SIZE (AP_SEG_OFF(SEGS) + (1ULL << 20))
#define PAGE	   4096ULL

extern struct ap_boot ap_boot_page;
extern const u8 ap_blob_entry[] __attribute__((visibility("hidden")));
extern const char __executable_start[], _end[];

static void *map_new(const char *name, u64 size, int *fd)
{
	void *p;

	*fd = memfd_create(name, 0);
	REQUIRE(*fd >= 0 && ftruncate(*fd, (off_t)size) == 0);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	REQUIRE(p != MAP_FAILED);
	return p;
}

void rig_session_make(struct rig_session *s)
{
	struct ap_seg *seg;

	s->head = map_new("head", HEAD_SIZE, &s->head_fd);
	s->party = map_new("party", PARTY_SIZE, &s->party_fd);
	s->head->magic = AP_SESSION_MAGIC;
	s->head->flags = AP_F_COUNT;
	s->head->cache_limit = rig.cache_limit;
	s->head->max_segs = SEGS;
	s->head->kinds = AP_KINDS_BASE;
	s->head->known_segs[0] = 1;
	((struct ap_board *)(s->party + AP_BOARD_OFF))->nsegs = 1;
	((struct ap_board *)(s->party + AP_BOARD_OFF))->roots[0].used = AP_ROOT_USED;
	seg = (struct ap_seg *)(s->party + AP_SEG_OFF(0));
	seg->taken = 1;
	seg->state = AP_SEG_INIT;
	if (rig.fill)
		rig.fill(s->head, s->party);
}

void rig_session_end(struct rig_session *s)
{
	munmap(s->head, HEAD_SIZE);
	munmap(s->party, PARTY_SIZE);
	close(s->head_fd);
	close(s->party_fd);
}

/* As a supervisor reads a process that has ended: abi/session.h. */
void rig_session_sum(const struct rig_session *s, u64 counts[AP_RAW_N])
{
	const char *at = s->party + AP_SEG_OFF(0);
	const struct ap_seg *seg = (const struct ap_seg *)at;

	memcpy(counts, seg->dead[seg->fold & 1], sizeof(seg->dead[0]));
	for (u32 i = 0; i < seg->nslots; i++) {
		const struct ap_slot *slot = (const struct ap_slot *)(at + AP_SLOT_OFF(i));
		const struct ap_slot_view view = {
			.slot = slot,
			.counts = (const u64 *)((const char *)slot + AP_SLOT_COUNTS_OFF),
			.shapes = (const u64 *)(at + AP_SHAPES_OFF),
			.nshapes = seg->nshapes,
			.carry = seg->carry,
		};
		u64 sums[AP_RAW_N];

		if (slot->state == AP_SLOT_FREE)
			continue;
		ap_slot_sum(&view, sums);
		for (u32 k = 0; k < AP_RAW_N; k++)
			counts[k] += sums[k];
	}
}

u64 rig_session_boot(const struct rig_session *s)
{
	struct ap_boot *boot = &ap_boot_page;
	u64 base = ((u64)__executable_start & ~(PAGE - 1)) - PAGE, size = (u64)_end - base;
	struct ap_blob_header *header =
		mmap((void *)base, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (header != (void *)base || (u64)boot < (u64)ap_blob_entry)
		_exit(99);
	size = (size + PAGE - 1) & ~(PAGE - 1);
	header->magic = AP_BOOT_MAGIC;
	header->image_size = header->early = size; /* no memory in the image */
	boot->magic = AP_BOOT_MAGIC;
	boot->regs = rig.regs;
	boot->session_fd = s->party_fd;
	boot->head_fd = s->head_fd;
	boot->flags = s->head->flags;
	boot->blob_base = base;
	boot->blob_size = size;
	boot->hwcap2 = getauxval(AT_HWCAP2);
	boot->minsigstksz = getauxval(AT_MINSIGSTKSZ);
	boot->vdso = getauxval(AT_SYSINFO_EHDR);
	boot->brk_start = (u64)sbrk(0);
	boot->nranges = 1;
	boot->ranges[0].start = RIG_CODE;
	boot->ranges[0].end = RIG_CODE + RIG_CODE_SIZE;
	boot->ranges[0].flags = AP_RANGE_X | (rig.is_writable ? AP_RANGE_W : 0);
	return (u64)ap_blob_entry;
}
