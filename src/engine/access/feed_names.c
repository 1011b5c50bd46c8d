/* SPDX-License-Identifier: MIT */
/*
 * Memory that processes share, by names that all of them know it by: which file, and where in it
 * (docs/design/feed.md, "Several processes").  The table behind the names is the session's, at AP_COMMON_OFF.
 *
 * Where its pages are huge goes the same way, as what changes both are calls that change mappings.
 *
 * The names of the process are made with its lock held, when mappings have changed.  A thread takes a copy of
 * them when it reads its log, where it may have no lock, so a copy that is being changed is left for the next time.
 */
#include "base/mem.h"
#include "engine/access/feed.h"
#include "engine/access/feed_own.h"
#include "engine/cache/alias.h"
#include "engine/runtime/huge.h"
#include "engine/runtime/selfmaps.h"
#include "engine/task/task.h"
#include "model/shared.h"
#include "service/hooks.h"

#define FILE_BITS   20
#define OFFSET_BITS 42

static struct ap_shared *common; /* NULL: not mapped yet */
static struct ap_names names;
static struct ap_huge_table huge;
static u32 seq;	     /* odd: they are being changed */
static u32 made_for; /* gen_now() */
static bool was_told, was_told_of_huge;

/* Two files of one number are taken for each other: with a dozen of them one in ten thousand. */
static u64 file_of(const struct ap_map *m)
{
	u64 x = m->ino * 0x9e3779b97f4a7c15ULL ^ m->dev * 0xd6e8feb86659fd93ULL;

	return (x ^ x >> 32) * 0x9e3779b97f4a7c15ULL >> (64 - FILE_BITS);
}

static bool add(const struct ap_map *m, void *arg)
{
	struct ap_names *to = arg;
	u64 name = AP_NAME_COMMON | file_of(m) << OFFSET_BITS | m->off;
	struct ap_alias *last = &to->alias[to->n ? to->n - 1 : 0];

	if (!m->shared || m->off + (m->end - m->start) > 1ULL << OFFSET_BITS)
		return true;
	if (to->n && last->end == m->start && last->delta == name - m->start) {
		last->end = m->end;
		return true;
	}
	if (to->n == AP_ALIASES)
		return false;
	to->alias[to->n++] = (struct ap_alias){ m->start, m->end, name - m->start };
	return true;
}

static bool has_table(void)
{
	u64 size = AP_ALIGN_UP(ap_shared_bytes(ap_feed_machine()), AP_PAGE_SIZE);
	struct ap_shared *s = common;

	if (s || size > AP_COMMON_SIZE)
		return s;
	s = ap_hook_map_shared(AP_COMMON_OFF, size);
	if (!s)
		return false;
	if (ap_is_err(ap_sys3(AP_NR_mprotect, (u64)s, AP_SHARED_CONST, AP_PROT_R)) ||
	    !s->dir_sets) {
		ap_mem_unmap(s, size);
		return false;
	}
	common = s;
	return true;
}

void ap_feed_names_each(void (*fn)(void *at, u64 size))
{
	if (common)
		fn(common, AP_ALIGN_UP(ap_shared_bytes(ap_feed_machine()), AP_PAGE_SIZE));
}

bool ap_feed_names_move(void)
{
	u64 size = AP_ALIGN_UP(ap_shared_bytes(ap_feed_machine()), AP_PAGE_SIZE);

	return !common ||
	       (!ap_slot_map_file(common, size, AP_COMMON_OFF) &&
		!ap_is_err(ap_sys3(AP_NR_mprotect, (u64)common, AP_SHARED_CONST, AP_PROT_R)));
}

static void tell(void)
{
	if (!was_told)
		ap_note2(AP_NOTE_INFO, "what other processes do to shared memory is not modelled: ",
			 ap_proc.seg->comm, "");
	was_told = true;
}

static void tell_of_huge(void)
{
	if (!was_told_of_huge)
		ap_note2(AP_NOTE_INFO,
			 "some huge pages are modelled as small ones: ", ap_proc.seg->comm, "");
	was_told_of_huge = true;
}

/* Both only grow, so that no change is missed in their sum. */
static u32 gen_now(void)
{
	return ap_alias_gen() + ap_huge_gen();
}

bool ap_feed_names_are_old(void)
{
	return made_for != gen_now();
}

void ap_feed_names_make(void)
{
	bool is_known;

	if (!ap_feed_has_data() || !ap_feed_names_are_old())
		return;
	made_for = gen_now();
	/* a child with this memory may have been killed in the middle, and left it odd */
	__atomic_store_n(&seq, seq | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (!ap_huge_list(&huge))
		tell_of_huge();
	names.n = 0;
	is_known = ap_alias_views(add, &names);
	if (names.n && !has_table()) {
		names.n = 0;
		is_known = false;
	}
	__atomic_store_n(&seq, seq + 1, __ATOMIC_RELEASE);
	if (!is_known)
		tell();
}

/* What is quick is forgotten with a change: only with one. */
static void take_huge(struct ap_thread_feed *tf, const struct ap_huge_table *now)
{
	size_t size = now->n * sizeof(*now->range);

	if (tf->feed.mem->huge_n == now->n && !memcmp(tf->huge.range, now->range, size))
		return;
	memcpy(tf->huge.range, now->range, size);
	tf->huge.n = now->n;
	ap_mem_huge(tf->feed.mem, tf->huge.range, now->n);
}

void ap_feed_names_take(struct ap_thread_feed *tf)
{
	u32 now = __atomic_load_n(&seq, __ATOMIC_ACQUIRE);
	struct ap_huge_table huge_copy;
	struct ap_names copy;

	if (ap_likely(tf->names_seq == now) || !tf->feed.mem || now & 1)
		return;
	memcpy(&copy, &names, sizeof(copy));
	memcpy(&huge_copy, &huge, sizeof(huge_copy));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&seq, __ATOMIC_RELAXED) != now || copy.n > AP_ALIASES ||
	    huge_copy.n > AP_HUGE_MAX)
		return;
	tf->names_seq = now;
	take_huge(tf, &huge_copy);
	if (!ap_mem_set_names(tf->feed.mem, common, &copy, AP_SEG_LOCAL(ap_proc.seg_index) + 1))
		tell();
}

void ap_feed_names_fork_child(struct ap_thread_feed *tf)
{
	if (tf->feed.mem &&
	    !ap_mem_inherit_names(tf->feed.mem, AP_SEG_LOCAL(ap_proc.seg_index) + 1))
		tell();
}
