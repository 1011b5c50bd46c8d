/* SPDX-License-Identifier: MIT */
/*
 * The blob goes AP_HOLE_DISTANCE below the mappings that grow down from mmap_base: near enough for
 * the engine's units to be placed around it, far enough that the kernel, which hands out addresses
 * from the top, gives the program the same ones as without us.
 */
#include "inject/hole.h"

/* How far below the anchor a mapping still belongs to its cluster: less than exe to libraries. */
#define CLUSTER_REACH (1ULL << 42)

static bool name_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static void add_range(struct ap_boot *boot, const struct ap_proc_map *map)
{
	struct ap_range *range;

	/* the vsyscall page is no page: the kernel emulates it and nobody can read it */
	if (boot->nranges >= AP_BOOT_RANGES || name_is(map->name, "[vsyscall]"))
		return;
	range = &boot->ranges[boot->nranges++];
	range->start = map->start;
	range->end = map->end;
	range->flags = AP_RANGE_X | (map->flags & AP_MAP_W ? AP_RANGE_W : 0) |
		       (map->flags & AP_MAP_SHARE ? AP_RANGE_SHARED : 0);
}

void ap_layout_add(struct ap_layout *lay, const struct ap_proc_map *map)
{
	if (name_is(map->name, "[stack]"))
		lay->stack = map->start;
	if (map->start <= lay->anchor && lay->anchor - map->start < CLUSTER_REACH &&
	    (!lay->lowest || map->start < lay->lowest))
		lay->lowest = map->start;
	if (lay->boot && (map->flags & AP_MAP_X))
		add_range(lay->boot, map);
}

static void add_map(void *arg, const struct ap_proc_map *map)
{
	ap_layout_add(arg, map);
}

int ap_layout_read(pid_t pid, struct ap_layout *lay)
{
	lay->lowest = 0;
	lay->stack = 0;
	if (lay->boot)
		lay->boot->nranges = 0;
	return ap_maps_each(pid, add_map, lay);
}

u64 ap_hole_candidate(const struct ap_layout *lay, u64 size, unsigned int try)
{
	u64 top = lay->lowest ? lay->lowest : lay->anchor;
	u64 below = AP_HOLE_DISTANCE + size + try * AP_HOLE_STEP;

	if (try >= AP_HOLE_TRIES || top < below + (16ULL << 20))
		return 0;
	return AP_ALIGN_DOWN(top - below, size >= AP_HOLE_HUGE ? AP_HOLE_HUGE : AP_PAGE_SIZE);
}
