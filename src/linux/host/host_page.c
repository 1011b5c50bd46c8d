/* SPDX-License-Identifier: MIT */
/*
 * What programs read without a request: the array of published events, and the pages that they map
 * from a perf descriptor.
 *
 * The pages lie behind the last segment of the session file.  Areas are of 1 page or 1 + 2^n, as
 * perf_event_open(2) has it, and one that was given back is used again for its size; its memory
 * goes back to the kernel at once.  Before a data area lies a page that programs do not see: struct
 * ap_ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/boot.h"
#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "sampling/ring.h"

#define PROT_W 2

/* --- published events */

/* Readers copy an entry between two looks at seq (abi/service.h). */
static void write_pub(struct ap_pub *pub, const struct ap_pub *from)
{
	u32 seq = pub->seq | 1;

	__atomic_store_n(&pub->seq, seq, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pub->flags = from->flags;
	pub->inode = from->inode;
	memcpy(&pub->id, &from->id, sizeof(*pub) - offsetof(struct ap_pub, id));
	__atomic_store_n(&pub->seq, seq + 1, __ATOMIC_RELEASE);
}

static u32 pub_of(const struct ap_event *event)
{
	const struct ap_host_file *f = event ? ap_event_host(event) : NULL;

	return f ? (u32)(f->pub + 1) : 0;
}

/*
 * A slot that the task has not begun to use has no generation yet, so nobody may compute.
 */
static void fill(const struct ap_host_file *f, struct ap_pub *pub)
{
	struct ap_task *task = ap_event_task(f->event);
	const struct ap_host_task *t = task ? ap_task_host(task) : NULL;
	struct ap_event_public from;

	ap_event_public(f->event, &from);
	*pub = (struct ap_pub){ .inode = f->inode,
				.id = from.id,
				.base = from.base,
				.enabled_base = from.enabled_base,
				.running_base = from.running_base,
				.read_format = from.read_format,
				.members = from.nr_siblings + 1,
				.leader = pub_of(ap_event_leader(f->event)),
				.next = pub_of(ap_event_next(f->event)) };
	pub->flags = (from.is_enabled ? AP_PUB_ENABLED : 0) | (from.is_active ? AP_PUB_ACTIVE : 0) |
		     (from.is_simple ? AP_PUB_SIMPLE : 0) | (from.is_error ? AP_PUB_ERROR : 0) |
		     (from.may_wait ? AP_PUB_WAITS : 0);
	if (!t || !t->seg || !t->gen || from.is_error ||
	    (from.may_lose && from.read_format & AP_PERF_FORMAT_LOST))
		return;
	pub->kinds = from.kinds;
	for (u32 k = 0; k < AP_RAW_N; k++)
		if (from.kinds & AP_KIND_BIT(k))
			pub->carried += t->carried[k];
	pub->seg = t->seg->index;
	pub->slot = t->slot;
	pub->gen = t->gen;
	pub->applied = t->log_at;
}

void ap_host_publish(void *world, struct ap_event *event)
{
	struct ap_host *host = world;
	const struct ap_host_file *f = ap_event_host(event);
	struct ap_pub pub;

	if (!f || f->pub < 0)
		return;
	fill(f, &pub);
	write_pub(&host->pubs[f->pub], &pub);
}

void ap_host_publish_task(struct ap_host *host, const struct ap_task *task)
{
	for (struct ap_host_file *f = host->all_files; f; f = f->after)
		if (f->event && ap_event_task(f->event) == task)
			ap_host_publish(host, f->event);
}

void ap_host_pub_add(struct ap_host *host, struct ap_host_file *f)
{
	u32 home = ap_pub_home(f->inode);

	for (u32 i = 0; i < AP_PUB_WAYS; i++) {
		u32 at = (home + i) & (AP_PUB_MAX - 1);

		if (host->pubs[at].inode)
			continue;
		f->pub = (s32)at;
		break;
	}
	/* the whole group: each names the next */
	if (!f->event)
		return;
	for (struct ap_event *e = ap_event_leader(f->event); e; e = ap_event_next(e))
		ap_host_publish(host, e);
}

void ap_host_pub_remove(struct ap_host *host, struct ap_host_file *f)
{
	const struct ap_pub none = { 0 };

	if (f->pub >= 0)
		write_pub(&host->pubs[f->pub], &none);
	f->pub = -1;
}

/* --- pages */

static s32 order_of(u64 npages)
{
	if (npages == 1)
		return 0;
	if (npages < 2 || (npages - 1) & (npages - 2))
		return -1;
	return 1 + __builtin_ctzll(npages - 1);
}

/* Those of a party that is there; NULL: no memory. */
static struct ap_host_pages *pages_of(struct ap_host *host, u32 party)
{
	struct ap_host_pages **p = &host->party_pages[party];

	if (!party)
		return &host->pages;
	if (!*p)
		*p = calloc(1, sizeof(**p));
	if (*p)
		(*p)->party = party;
	return *p;
}

static int map_area(struct ap_host *host, struct ap_host_pages *p)
{
	const struct ap_session_file *f =
		p ? ap_session_party(host->ses, p->party << AP_PARTY_SHIFT) : NULL;
	struct stat st;
	void *area;
	u64 end;

	if (!f)
		return -ENOMEM;
	if (p->area)
		return 0;
	p->off = AP_SEG_OFF(f->max_segs);
	if (fstat(f->fd, &st))
		return -errno;
	if ((u64)st.st_size <= p->off)
		return -ENOMEM;
	/* what is behind the segments of the longest file are exact profiles */
	end = (u64)st.st_size < AP_SEG_OFF(AP_SEGS_MAX) ? (u64)st.st_size : AP_SEG_OFF(AP_SEGS_MAX);
	p->size = end - p->off;
	area = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd,
		    (off_t)p->off);
	if (area == MAP_FAILED)
		return -errno;
	p->area = area;
	return 0;
}

static int take_pages(struct ap_host_pages *p, u32 order, u64 bytes, u64 *at)
{
	if (p->nfree[order]) {
		*at = p->free[order][--p->nfree[order]];
		return 0;
	}
	if (bytes > p->size - p->used)
		return -ENOMEM;
	*at = p->used;
	p->used += bytes;
	return 0;
}

static void give_pages_back(struct ap_host *host, struct ap_host_pages *p, u32 order, u64 bytes,
			    u64 at)
{
	const struct ap_session_file *f =
		p ? ap_session_party(host->ses, p->party << AP_PARTY_SHIFT) : NULL;

	if (!f)
		return;
	(void)!fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(p->off + at),
			 (off_t)bytes);
	if (p->nfree[order] == p->cap[order]) {
		u32 cap = p->cap[order] ? 2 * p->cap[order] : 16;
		u64 *more = realloc(p->free[order], cap * sizeof(*more));

		if (!more)
			return; /* only addresses are lost */
		p->free[order] = more;
		p->cap[order] = cap;
	}
	p->free[order][p->nfree[order]++] = at;
}

int ap_host_page_take(struct ap_host *host, u64 *at)
{
	int ret = map_area(host, &host->pages);

	return ret ? ret : take_pages(&host->pages, 0, AP_PAGE_SIZE, at);
}

void ap_host_page_give(struct ap_host *host, u64 at)
{
	give_pages_back(host, &host->pages, 0, AP_PAGE_SIZE, at);
}

static bool may_lock_any(const struct ap_host *host, const struct ap_host_task *t)
{
	char text[4096];
	struct ap_cred cred;

	return host->config.paranoid < 0 ||
	       (ap_proc_read(t->pid, "status", text, sizeof(text)) > 0 &&
		!ap_cred_parse(text, &cred) && cred.cap_effective & 1ULL << 14 /* CAP_IPC_LOCK */);
}

static u64 memlock_pages(const struct ap_host_task *t)
{
	struct rlimit lim;

	if (prlimit(t->pid, RLIMIT_MEMLOCK, NULL, &lim))
		return 0;
	return lim.rlim_cur / AP_PAGE_SIZE;
}

/*
 * As natively: perf_event_mlock_kb for each CPU, and what goes beyond it by the process's own
 * limit.
 */
static bool may_lock(struct ap_host *host, const struct ap_host_task *t, u64 npages, u64 *npinned)
{
	long ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	s32 kb = host->limits[AP_LIMIT_MLOCK_KB];
	/* below 0 is as much as anybody wants: the kernel takes it for unsigned */
	u64 per_cpu = kb < 0 ? UINT32_MAX : (u64)kb / 4;
	u64 limit = per_cpu * (u64)(ncpus > 0 ? ncpus : 1), pinned = 0;
	u64 left = limit > host->pages.locked ? limit - host->pages.locked : 0;

	*npinned = npages > left ? npages - left : 0;
	if (!*npinned)
		return true;
	for (const struct ap_host_file *f = host->all_files; f; f = f->after)
		if (f->npinned && f->pinned_seg == t->seg->index)
			pinned += f->npinned;
	return pinned + *npinned <= memlock_pages(t) || may_lock_any(host, t);
}

static bool has_mapper(const struct ap_host_file *f, u32 seg)
{
	for (u32 i = 0; i < f->nmappers; i++)
		if (f->mappers[i] == seg)
			return true;
	return false;
}

int ap_host_mapper_add(struct ap_host_file *f, u32 seg)
{
	u32 *more;

	if (has_mapper(f, seg))
		return 0;
	more = realloc(f->mappers, (f->nmappers + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->mappers = more;
	f->mappers[f->nmappers++] = seg;
	return 0;
}

/* Does the page concern its own task, or others alone? */
static void note_mappers(const struct ap_host_file *f)
{
	struct ap_task *task = ap_event_task(f->event);
	const struct ap_host_task *t = task ? ap_task_host(task) : NULL;

	ap_event_set_others(f->event, t && !(t->seg && has_mapper(f, t->seg->index)));
}

/* Bytes of an area with the ring's page, if it has one. */
static u64 area_bytes(u64 npages)
{
	return (npages + (npages > 1)) * AP_PAGE_SIZE;
}

/* at: in the pages, where the control page is to be. */
static int tell_core(struct ap_host *host, const struct ap_host_pages *p, struct ap_task *caller,
		     struct ap_event *event, u64 npages, bool is_writable, u64 at)
{
	u8 *page = p->area + at;
	const struct ap_ring_map ring = { .ring = (struct ap_ring *)(page - AP_PAGE_SIZE),
					  .page = (struct ap_perf_page *)page,
					  .data = page + AP_PAGE_SIZE,
					  .size = (npages - 1) * AP_PAGE_SIZE,
					  .party = p->party };

	if (npages == 1)
		return ap_core_mmap(host->core, caller, event, npages, is_writable,
				    (struct ap_perf_page *)page);
	return ap_core_mmap_ring(host->core, caller, event, npages, is_writable, &ring,
				 p->off + at - AP_PAGE_SIZE);
}

static int map_first(struct ap_host *host, struct ap_host_task *t, struct ap_host_file *f,
		     u64 npages, bool is_writable)
{
	struct ap_host_pages *p = pages_of(host, AP_PARTY_OF(t->seg->index));
	s32 order = order_of(npages);
	u64 bytes = area_bytes(npages), at, npinned = 0;
	int ret;

	if (order < 0 || order >= AP_HOST_PAGE_ORDERS)
		return order < 0 ? -EINVAL : -ENOMEM;
	ret = map_area(host, p);
	if (!ret)
		ret = take_pages(p, (u32)order, bytes, &at);
	if (ret)
		return ret;
	f->page_party = p->party;
	f->page_off = at + (npages > 1 ? AP_PAGE_SIZE : 0);
	ret = tell_core(host, p, t->core, f->event, npages, is_writable, f->page_off);
	if (!ret && !may_lock(host, t, npages, &npinned)) {
		ap_core_munmap(host->core, f->event);
		ret = -EPERM;
	}
	if (ret) {
		give_pages_back(host, p, (u32)order, bytes, at);
		return ret;
	}
	f->page_order = (u32)order;
	f->npages = npages;
	f->npinned = npinned;
	f->pinned_seg = t->seg->index;
	host->pages.locked += npages - npinned;
	return 0;
}

s64 ap_host_mmap(struct ap_host *host, struct ap_host_task *t, struct ap_host_file *f, u64 bytes,
		 u64 prot, u64 offset, u64 *where)
{
	u64 npages = AP_ALIGN_UP(bytes, AP_PAGE_SIZE) / AP_PAGE_SIZE;
	u32 party = AP_PARTY_OF(t->seg->index);
	int ret = 0;

	/* its pages are in a file that is not the task's */
	if (f->nmappers && party != f->page_party)
		return -EACCES;
	/* other offsets are of an AUX area, which no driver here has */
	if (offset || !npages)
		return -EINVAL;
	ap_host_now_use(host);
	if (f->nmappers)
		ret = npages == f->npages ? 0 : -EINVAL;
	else
		ret = map_first(host, t, f, npages, prot & PROT_W);
	if (!ret)
		ret = ap_host_mapper_add(f, t->seg->index);
	if (f->nmappers)
		note_mappers(f);
	ap_host_file_keep(host, f);
	*where = pages_of(host, party)->off + f->page_off;
	return ret;
}

void ap_host_munmap(struct ap_host *host, struct ap_host_file *f, u32 seg)
{
	for (u32 i = 0; i < f->nmappers; i++) {
		if (f->mappers[i] != seg)
			continue;
		f->mappers[i] = f->mappers[--f->nmappers];
		if (f->nmappers && !f->perfctr)
			note_mappers(f);
		if (f->nmappers || f->perfctr)
			return;
		ap_core_munmap(host->core, f->event);
		ap_host_file_keep(host, f);
		give_pages_back(host, pages_of(host, f->page_party), f->page_order,
				area_bytes(f->npages),
				f->page_off - (f->npages > 1 ? AP_PAGE_SIZE : 0));
		host->pages.locked -= f->npages - f->npinned;
		f->npages = f->npinned = 0;
		return;
	}
}

/* --- of the session's owner, which maps them where they are */

int ap_host_client_map(struct ap_host *host, struct ap_event *event, u64 npages, bool is_writable,
		       struct ap_host_client_pages *out)
{
	s32 order = npages > 1 ? order_of(npages) : -1;
	u64 bytes = area_bytes(npages), at;
	int ret;

	if (order < 0 || order >= AP_HOST_PAGE_ORDERS)
		return order < 0 ? -EINVAL : -ENOMEM;
	ap_host_now_use(host);
	ret = map_area(host, &host->pages);
	if (!ret)
		ret = take_pages(&host->pages, (u32)order, bytes, &at);
	if (ret)
		return ret;
	ret = tell_core(host, &host->pages, NULL, event, npages, is_writable, at + AP_PAGE_SIZE);
	if (ret) {
		give_pages_back(host, &host->pages, (u32)order, bytes, at);
		return ret;
	}
	*out = (struct ap_host_client_pages){ .page = host->pages.area + at + AP_PAGE_SIZE,
					      .at = at,
					      .order = (u32)order };
	return 0;
}

void ap_host_client_unmap(struct ap_host *host, struct ap_event *event, u64 npages,
			  const struct ap_host_client_pages *pages)
{
	ap_core_munmap(host->core, event);
	give_pages_back(host, &host->pages, pages->order, area_bytes(npages), pages->at);
}

int ap_host_ring_take(struct ap_host *host, u32 party, u64 size, struct ap_ring_map *map, u64 *off)
{
	struct ap_host_pages *p = pages_of(host, party);
	u64 npages = 1 + size / AP_PAGE_SIZE, at = 0;
	int ret = map_area(host, p);

	ret = ret ?: take_pages(p, (u32)order_of(npages), area_bytes(npages), &at);
	if (ret)
		return ret;
	*map = (struct ap_ring_map){ .ring = (struct ap_ring *)(p->area + at),
				     .page = (struct ap_perf_page *)(p->area + at + AP_PAGE_SIZE),
				     .data = p->area + at + 2 * AP_PAGE_SIZE,
				     .size = size,
				     .party = party };
	*off = p->off + at;
	return 0;
}

void ap_host_ring_give(struct ap_host *host, const struct ap_ring_map *map, u64 off)
{
	struct ap_host_pages *p = pages_of(host, map->party);
	u64 npages = 1 + map->size / AP_PAGE_SIZE;

	if (p)
		give_pages_back(host, p, (u32)order_of(npages), area_bytes(npages), off - p->off);
}

void ap_host_pages_end(struct ap_host *host, u32 party)
{
	struct ap_host_pages *p = party ? host->party_pages[party] : &host->pages;

	if (!p)
		return;
	for (u32 i = 0; i < AP_HOST_PAGE_ORDERS; i++)
		free(p->free[i]);
	if (p->area)
		munmap(p->area, p->size);
	if (party)
		free(p);
	host->party_pages[party] = NULL;
}
