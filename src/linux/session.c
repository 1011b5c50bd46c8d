/* SPDX-License-Identifier: MIT */
/*
 * Making and mapping the session file, its segments' pages, and notes.
 *
 * The file is sparse and as long as RLIMIT_FSIZE lets it be: ftruncate is the only operation that
 * the limit touches, later stores through mappings are not.  Its length is sealed, so no process
 * can take pages away under another's feet.
 */
#include "linux/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/switches.h"
#include "model/machine.h"
#include "model/mem.h"

#define MAX_SEGS (1u << 20)
#define PAGE_SEGS                                                                                  \
	64 /* room behind the segments for mapped pages, in segments; less of a short file */
#define HEAD_BYTES (AP_NOTE_OFF + AP_NOTE_MAX * sizeof(struct ap_note))

_Static_assert(sizeof(struct ap_session) <= AP_NOTE_OFF, "session head fits its page");
_Static_assert(HEAD_BYTES <= AP_SEG_BASE, "notes end before the first segment");
_Static_assert(sizeof(struct ap_seg) <= AP_SHAPES_OFF, "segment head fits its page");
_Static_assert(sizeof(struct ap_slot) <= AP_SLOT_COUNTS_OFF, "slot head fits its page");
_Static_assert(AP_SLOT_OFF(AP_SLOT_MAX) <= AP_SEG_SIZE, "slots fit the segment");

/* Grows the file to as many segments as the limits allow. */
static int set_size(int fd, u32 *max_segs)
{
	struct rlimit old, lim;
	u64 segs = MAX_SEGS;
	int ret = 0;

	if (getrlimit(RLIMIT_FSIZE, &old))
		return -errno;
	lim = old;
	lim.rlim_cur = lim.rlim_max;
	if (setrlimit(RLIMIT_FSIZE, &lim))
		lim = old;
	if (lim.rlim_cur != RLIM_INFINITY && lim.rlim_cur < AP_SEG_OFF(segs))
		segs = lim.rlim_cur < AP_SEG_OFF(1) ? 0
						    : (lim.rlim_cur - AP_SEG_BASE) / AP_SEG_SIZE;
	if (!segs)
		ret = -EFBIG;
	else if (ftruncate(fd, (off_t)AP_SEG_OFF(segs)))
		ret = -errno;
	setrlimit(RLIMIT_FSIZE, &old);
	*max_segs = (u32)(segs - (segs > 2 * PAGE_SEGS ? PAGE_SEGS : segs / 4));
	return ret;
}

static int map_head(struct ap_session_file *s)
{
	struct stat st;
	void *p;

	if (fstat(s->fd, &st))
		return -errno;
	if ((u64)st.st_size < AP_SEG_OFF(1))
		return -EINVAL;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	p = mmap(NULL, HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	s->head = p;
	return 0;
}

static u64 common_bytes(const struct ap_machine *machine)
{
	return AP_ALIGN_UP(ap_shared_bytes(machine), AP_PAGE_SIZE);
}

/* Where it does not fit there is none, and tasks see so. */
static void make_common(struct ap_session_file *s)
{
	const struct ap_machine *machine = (const struct ap_machine *)s->head->machine;
	void *p;

	if (common_bytes(machine) > AP_COMMON_SIZE)
		return;
	p = mmap(NULL, common_bytes(machine), PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		 AP_COMMON_OFF);
	if (p == MAP_FAILED)
		return;
	s->common = p;
	ap_shared_init(p, machine);
}

static u64 own_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* A lane that has no samplers, but what the switches note. */
static void set_switches(struct ap_session *head, const struct ap_switches *to)
{
#ifdef AP_TEST_SWITCHES
	if (!to)
		return;
	head->switches = *to;
	head->kinds |= to->lane;
	head->branches = to->has_branches ? AP_BRANCHES_LAST : 0;
	if (to->period) {
		head->lanes[0] = to->lane;
		head->nlanes = 1;
	}
#else
	(void)head;
	(void)to;
#endif
}

/* Of what is drawn in the session. */
static u64 seed_of(u32 flags)
{
	u64 seed = 0;

	if (!(flags & AP_F_DETERMINISTIC) &&
	    getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (u64)time(NULL) << 32 ^ (u64)getpid();
	return seed;
}

int ap_session_new(struct ap_session_file *s, const struct ap_session_config *cfg)
{
	u32 max_segs = 0;
	int ret;

	s->head = NULL;
	s->common = NULL;
	s->fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0)
		return -errno;
	ret = set_size(s->fd, &max_segs);
	if (!ret && fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		ret = -errno;
	if (!ret)
		ret = map_head(s);
	if (ret) {
		close(s->fd);
		return ret;
	}
	s->head->flags = cfg->flags;
	s->head->kinds =
		cfg->flags & AP_F_COUNT ? (AP_KINDS_BASE & ~AP_KINDS_TRANSFERS) | cfg->kinds : 0;
	s->head->model_sample = cfg->model_sample;
	s->head->model_seed = seed_of(cfg->flags);
	/* code without a log counts the instructions till it is to be left (engine/feed_gap.c) */
	s->head->lanes[0] = AP_KIND_BIT(AP_KIND_INSTR);
	s->head->nlanes = cfg->model_sample > 1;
	set_switches(s->head, cfg->switches);
	s->head->cache_limit = cfg->cache_limit;
	memcpy(s->head->machine, cfg->machine ? cfg->machine : ap_machine_at(0),
	       sizeof(struct ap_machine));
	make_common(s);
	s->head->codes = cfg->cpu;
	if (cfg->cpu_id)
		s->head->cpu_id = *cfg->cpu_id;
	s->head->max_segs = max_segs;
	s->head->supervisor = (u32)getpid();
	s->head->pidns = own_pidns();
	s->head->roots[0].used = 1;
	s->head->nroots = 1;
	s->head->magic = AP_SESSION_MAGIC;
	return 0;
}

int ap_session_open(struct ap_session_file *s, int fd)
{
	int ret;

	s->fd = fd;
	s->head = NULL;
	s->common = NULL;
	ret = map_head(s);
	if (!ret && s->head->magic != AP_SESSION_MAGIC)
		ret = -EINVAL;
	if (ret)
		ap_session_close(s);
	return ret;
}

int ap_session_unmap(struct ap_session_file *s)
{
	if (s->common)
		munmap(s->common, common_bytes((const struct ap_machine *)s->head->machine));
	s->common = NULL;
	if (s->head)
		munmap(s->head, HEAD_BYTES);
	s->head = NULL;
	return s->fd;
}

void ap_session_close(struct ap_session_file *s)
{
	(void)ap_session_unmap(s);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* Pages of a segment are there from the moment that it is taken. */
u32 ap_session_nsegs(const struct ap_session_file *s)
{
	u32 n = ap_segs_end(s->head), was = n, next = n;

	for (; ap_session_next_seg(s, &next, s->head->max_segs); next++)
		n = next + 1;
	if (n != was)
		__atomic_store_n(&ap_board_of(s->head)->nsegs, n, __ATOMIC_RELEASE);
	return n;
}

int ap_session_seg_new(struct ap_session_file *s, const struct ap_seg *init, u32 *seg)
{
	struct ap_seg *page, head = *init;
	u32 i, none;

	head.taken = 1; /* at no moment anything else */
	for (i = ap_segs_first(s->head);; i = ap_segs_after(s->head, i)) {
		if (i >= s->head->max_segs)
			return -ENOSPC;
		page = ap_session_seg_map(s, i);
		if (!page)
			return -ENOMEM;
		none = 0;
		if (__atomic_compare_exchange_n(&page->taken, &none, 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			break;
		ap_session_page_unmap(page);
	}
	*page = head;
	__atomic_store_n(&page->state, AP_SEG_INIT, __ATOMIC_RELEASE);
	ap_session_page_unmap(page);
	*seg = i;
	return 0;
}

int ap_session_read(const struct ap_session_file *s, void *buf, u64 size, u64 off)
{
	ssize_t got;

	do {
		got = pread(s->fd, buf, size, (off_t)off);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (u64)got == size ? 0 : -EIO;
}

int ap_session_seg_read(const struct ap_session_file *s, u32 seg, struct ap_seg *out)
{
	return ap_session_read(s, out, sizeof(*out), AP_SEG_OFF(seg));
}

int ap_session_slot_read(const struct ap_session_file *s, u32 seg, u32 slot, struct ap_slot *out)
{
	return ap_session_read(s, out, sizeof(*out), AP_SEG_OFF(seg) + AP_SLOT_OFF(slot));
}

static void *map_page(const struct ap_session_file *s, u64 off)
{
	void *p = mmap(NULL, AP_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, (off_t)off);

	return p == MAP_FAILED ? NULL : p;
}

struct ap_seg *ap_session_seg_map(const struct ap_session_file *s, u32 seg)
{
	return map_page(s, AP_SEG_OFF(seg));
}

struct ap_slot *ap_session_slot_map(const struct ap_session_file *s, u32 seg, u32 slot)
{
	return map_page(s, AP_SEG_OFF(seg) + AP_SLOT_OFF(slot));
}

void ap_session_page_unmap(void *page)
{
	if (page)
		munmap(page, AP_PAGE_SIZE);
}

void ap_session_note(struct ap_session_file *s, const struct ap_note_args *args)
{
	struct ap_note *note = ap_note_new(s->head);

	if (!note)
		return;
	note->kind = args->kind;
	note->pid = args->pid;
	note->root = args->root;
	if (args->kind == AP_NOTE_NOT_COUNTED)
		snprintf(note->text, sizeof(note->text), "not counted: %s: %s", args->subject,
			 args->reason);
	else
		snprintf(note->text, sizeof(note->text), "%s: %s", args->subject, args->reason);
	/* pairs with the acquire of the reader in result.c */
	__atomic_store_n(&note->ready, AP_NOTE_READY, __ATOMIC_RELEASE);
}
