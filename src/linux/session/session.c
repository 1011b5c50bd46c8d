/* SPDX-License-Identifier: MIT */
/*
 * Making and mapping the session's files, segments' pages, and notes.
 *
 * The files are sparse.  A party's is as long as RLIMIT_FSIZE lets it be: ftruncate is the only
 * operation that the limit touches, later stores through mappings are not.  Lengths are sealed, so
 * no process can take pages away under another's feet.  The head can be written by the mapping that
 * is made before it is sealed, and its copies in forks of ours, and in no other way
 * (docs/design/trust.md).
 */
#include "linux/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/boot.h"
#include "abi/profile.h"
#include "abi/switches.h"
#include "files/in.h"
#include "linux/session/regions.h"
#include "model/machine.h"
#include "model/mem.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define PAGE_SEGS                                                                                  \
	64 /* room behind the segments for mapped pages, in segments; less of a short file */
/* What is before the segments, and behind it the other parties' samplings (AP_SAMPLINGS_AT). */
#define VIEW_BYTES (AP_SEG_BASE + AP_PARTY_MAX * AP_SAMPLINGS_SIZE)
#define NOTES_KEPT 4096 /* a task has a note written by each exec that is not followed */
#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Static_assert(AP_NOTE_OFF + AP_NOTE_MAX * sizeof(struct ap_note) <= AP_PUB_OFF, "notes end");
_Static_assert(sizeof(struct ap_seg) <= AP_SHAPES_OFF, "segment head fits its page");
_Static_assert(sizeof(struct ap_slot) <= AP_SLOT_COUNTS_OFF, "slot head fits its page");
_Static_assert(AP_SLOT_OFF(AP_SLOT_MAX) <= AP_SEG_SIZE, "slots fit the segment");

/* Behind them are pages that events are mapped to. */
static u32 segs_of(u64 size)
{
	u64 segs;

	/* what is behind that are exact profiles */
	size = size < AP_SEG_OFF(AP_SEGS_MAX) ? size : AP_SEG_OFF(AP_SEGS_MAX);
	segs = size < AP_SEG_OFF(1) ? 0 : (size - AP_SEG_BASE) / AP_SEG_SIZE;
	return (u32)(segs - (segs > 2 * PAGE_SEGS ? PAGE_SEGS : segs / 4));
}

int ap_session_set_size(int fd, u64 size)
{
	struct rlimit old, lim;
	int ret = 0;

	if (getrlimit(RLIMIT_FSIZE, &old))
		return -errno;
	lim = old;
	lim.rlim_cur = lim.rlim_max;
	(void)setrlimit(RLIMIT_FSIZE, &lim);
	if (ftruncate(fd, (off_t)size))
		ret = -errno;
	setrlimit(RLIMIT_FSIZE, &old);
	return ret;
}

int ap_session_seal_size(int fd)
{
	return fcntl(fd, F_ADD_SEALS, SIZE_SEALS) || fchmod(fd, 0444) ? -errno : 0;
}

/* Makes the files as long as the limits allow. */
static int set_sizes(const struct ap_session_file *s, bool profiles)
{
	struct rlimit lim;
	u64 segs = AP_SEGS_MAX, max;
	int ret;

	if (getrlimit(RLIMIT_FSIZE, &lim))
		return -errno;
	max = lim.rlim_max;
	if (max != RLIM_INFINITY && max < AP_SEG_OFF(segs))
		segs = max < AP_SEG_OFF(1) ? 0 : (max - AP_SEG_BASE) / AP_SEG_SIZE;
	if (!segs)
		return -EFBIG;
	if (profiles &&
	    (segs < AP_SEGS_MAX || (max != RLIM_INFINITY && max < AP_PROFILE_OFF(AP_SEGS_MAX))))
		return -EFBIG;
	ret = ap_session_set_size(s->fd, profiles ? AP_PROFILE_OFF(AP_SEGS_MAX) : AP_SEG_OFF(segs));
	return ret ?: ap_session_set_size(s->head_fd, AP_SEG_BASE);
}

static int map_part(u8 *at, int prot, int fd, u64 from, u64 to)
{
	return mmap(at + from, to - from, prot, MAP_SHARED | MAP_FIXED, fd, (off_t)from) ==
			       MAP_FAILED
		       ? -errno
		       : 0;
}

/* Both files in one range, each where it is used. */
static int map_head(struct ap_session_file *s)
{
	int prot = s->is_owner ? PROT_READ | PROT_WRITE : PROT_READ, ret;
	struct stat st;
	u8 *p;

	if (fstat(s->fd, &st))
		return -errno;
	if ((u64)st.st_size < AP_SEG_OFF(1))
		return -EINVAL;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->max_segs = segs_of((u64)st.st_size);
	if (fstat(s->head_fd, &st))
		return -errno;
	if ((u64)st.st_size < AP_SEG_BASE)
		return -EINVAL;
	s->head_dev = st.st_dev;
	s->head_ino = st.st_ino;
	p = mmap(NULL, VIEW_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	s->head = (struct ap_session *)p;
	ret = map_part(p, prot, s->fd, 0, AP_SEG_BASE);
	ret = ret ?: map_part(p, prot, s->head_fd, 0, AP_BOARD_OFF);
	return ret ?: map_part(p, prot, s->head_fd, AP_PUB_OFF, AP_SAMPLING_OFF);
}

/* Does the kernel give processes of ours one page for the whole image, if it has one? */
static bool has_huge_pages(void)
{
	char text[64];
	int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 && !strstr(text, "[never]") && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
}

/*
 * The engine's code, up to what is written in each process; before the seal, after which not even
 * we can change it.  A huge page for code and data is quicker, so there this is none:
 * bench/short.sh.
 */
static u64 write_image(const struct ap_session_file *s, const struct ap_blob_header *header)
{
	if (!header || has_huge_pages())
		return 0;
	return pwrite(s->head_fd, header, header->boot, AP_IMAGE_OFF) == (ssize_t)header->boot
		       ? header->boot
		       : 0;
}

/*
 * From here on nobody can make a mapping of the head that can be written.  A kernel that does not
 * know the seal is left with the file's mode, and a descriptor that is for reading.
 */
static int seal(struct ap_session_file *s, const struct ap_blob_header *image)
{
	u64 image_bytes = write_image(s, image);
	bool is_sealed = !fcntl(s->head_fd, F_ADD_SEALS, SIZE_SEALS | F_SEAL_FUTURE_WRITE);
	char path[32];
	int fd;

	if (!is_sealed && fcntl(s->head_fd, F_ADD_SEALS, SIZE_SEALS))
		return -errno;
	if (ap_session_seal_size(s->fd) || fchmod(s->head_fd, 0400))
		return -errno;
	s->head->image_bytes = is_sealed ? image_bytes : 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->head_fd);
	fd = ap_kernel_open(path, O_RDONLY);
	if (fd < 0)
		return is_sealed ? 0 : fd;
	close(s->head_fd);
	s->head_fd = fd;
	return 0;
}

static u64 common_bytes(const struct ap_machine *machine)
{
	return AP_ALIGN_UP(ap_shared_bytes(machine), AP_PAGE_SIZE);
}

/* Where it does not fit there is none, and tasks see so. */
void ap_session_make_common(struct ap_session_file *s)
{
	const struct ap_machine *machine = (const struct ap_machine *)s->head->machine;

	if (common_bytes(machine) > AP_COMMON_SIZE)
		return;
	s->common = ap_session_part(s, AP_COMMON_OFF);
	ap_shared_init(s->common, machine);
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

static int make_files(struct ap_session_file *s, const struct ap_session_config *cfg)
{
	int ret;

	s->fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	s->head_fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ret = s->fd < 0 || s->head_fd < 0 ? -errno : set_sizes(s, cfg->flags & AP_F_PROFILE);
	ret = ret ?: map_head(s);
	return ret ?: seal(s, cfg->image);
}

int ap_session_new(struct ap_session_file *s, const struct ap_session_config *cfg)
{
	int ret;

	*s = (struct ap_session_file){ .fd = -1, .head_fd = -1, .is_owner = true };
	ret = make_files(s, cfg);
	if (ret) {
		ap_session_close(s);
		return ret;
	}
	s->head->flags = cfg->flags;
	s->head->kinds =
		cfg->flags & AP_F_COUNT ? (AP_KINDS_BASE & ~AP_KINDS_TRANSFERS) | cfg->kinds : 0;
	s->head->model_sample = cfg->model_sample;
	s->head->model_seed = seed_of(cfg->flags);
	/*
	 * code without a log counts the instructions till it is to be left
	 * (engine/access/feed_gap.c)
	 */
	s->head->lanes[0] = AP_KIND_BIT(AP_KIND_INSTR);
	s->head->nlanes = cfg->model_sample > 1;
	set_switches(s->head, cfg->switches);
	s->head->cache_limit = cfg->cache_limit;
	memcpy(s->head->machine, cfg->machine ? cfg->machine : ap_machine_at(0),
	       sizeof(struct ap_machine));
	ap_session_make_common(s);
	s->head->codes = cfg->cpu;
	for (u32 i = 0; i < cfg->nregion_events; i++)
		s->head->region_kinds[i] = cfg->region_kinds[i];
	s->head->nregion_events = cfg->nregion_events;
	if (cfg->cpu_id)
		s->head->cpu_id = *cfg->cpu_id;
	s->head->max_segs = s->max_segs;
	s->head->supervisor = (u32)getpid();
	s->head->pidns = own_pidns();
	ap_board_of(s->head)->roots[0].used = 1;
	s->head->magic = AP_SESSION_MAGIC;
	return 0;
}

int ap_session_join(struct ap_session_file *s)
{
	int ret;

	*s = (struct ap_session_file){ .fd = -1, .head_fd = -1 };
	s->fd = prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0);
	if (s->fd < 0)
		return -ENOENT;
	s->head_fd = prctl(AP_PRCTL, AP_PRCTL_HEAD_FD, 0, 0, 0);
	ret = s->head_fd < 0 ? -errno : map_head(s);
	if (!ret && s->head->magic != AP_SESSION_MAGIC)
		ret = -EINVAL;
	if (ret)
		ap_session_close(s);
	return ret;
}

u32 ap_session_next_note(const struct ap_session_file *s, u32 i)
{
	u64 at = AP_NOTE_OFF + (u64)i * sizeof(struct ap_note);
	off_t data;

	if (i >= AP_NOTE_MAX || at % AP_PAGE_SIZE)
		return i;
	data = lseek(s->fd, (off_t)at, SEEK_DATA);
	if (data < 0 || (u64)data >= AP_NOTE_OFF + AP_NOTE_MAX * sizeof(struct ap_note))
		return AP_NOTE_MAX;
	return (u32)(((u64)data - AP_NOTE_OFF) / sizeof(struct ap_note));
}

void *ap_session_part(const struct ap_session_file *s, u64 off)
{
	return (u8 *)s->head + off;
}

void ap_session_close(struct ap_session_file *s)
{
	for (u32 p = 1; s->is_owner && p < AP_PARTY_MAX; p++)
		ap_session_party_end(s, p);
	if (s->head)
		munmap(s->head, VIEW_BYTES);
	if (s->fd >= 0)
		close(s->fd);
	if (s->head_fd >= 0)
		close(s->head_fd);
	ap_session_regions_free(s);
	free(s->notes);
	*s = (struct ap_session_file){ .fd = -1, .head_fd = -1 };
}

/*
 * Known to be taken.  What stands in the file others than the supervisor take for it, as far as
 * there is room.
 */
static u32 known(const struct ap_session_file *s)
{
	u32 n = s->known ? s->known : ap_segs_known(s->head, s->party);

	return n < s->max_segs ? n : s->max_segs;
}

/*
 * Who takes a segment tries numbers behind those that are known, and not so many of them: memory
 * behind that is nobody's segment, and numbers are not used up by it.
 */
static u32 credible(const struct ap_session_file *s)
{
	return known(s) + 2 * AP_SEGS_AHEAD;
}

/* The next of the party with memory. */
static bool next_in(const struct ap_session_file *s, u32 *seg)
{
	off_t data = lseek(s->fd, (off_t)AP_SEG_OFF(*seg), SEEK_DATA);
	u64 local = data < 0 ? UINT64_MAX : ((u64)data - AP_SEG_BASE) / AP_SEG_SIZE;

	if (local >= s->max_segs || (s->is_owner && local >= credible(s)))
		return false;
	*seg = s->party << AP_PARTY_SHIFT | (u32)local;
	return true;
}

bool ap_session_next_seg(const struct ap_session_file *s, u32 *seg)
{
	const struct ap_session_file *f;

	for (u32 p = AP_PARTY_OF(*seg); p < AP_PARTY_MAX; *seg = ++p << AP_PARTY_SHIFT) {
		f = ap_session_party(s, *seg);
		if (f && next_in(f, seg))
			return true;
	}
	return false;
}

u32 ap_session_said_segs(const struct ap_session_file *s)
{
	u32 n = __atomic_load_n(&ap_board_of(s->head)->nsegs, __ATOMIC_ACQUIRE), least = known(s);

	n = n > least && n - least <= AP_SEGS_AHEAD && n <= s->max_segs ? n : least;
	return s->party << AP_PARTY_SHIFT | n;
}

/*
 * Pages of a segment are there from the moment that it is taken; one whose number was only given
 * out will be seen when it is.  So the number that tasks write is not needed, and only mended for
 * tasks that take the next.
 */
u32 ap_session_nsegs(const struct ap_session_file *s)
{
	u32 first = s->party << AP_PARTY_SHIFT, n = first + known(s), next = n;

	for (; next_in(s, &next); next++)
		n = next + 1;
	if (ap_session_said_segs(s) < n && s->is_owner)
		__atomic_store_n(&ap_board_of(s->head)->nsegs, AP_SEG_LOCAL(n), __ATOMIC_RELEASE);
	return n;
}

u64 ap_session_bytes(const struct ap_session_file *s)
{
	struct stat st;

	return fstat(s->fd, &st) ? 0 : (u64)st.st_blocks * 512;
}

bool ap_session_is_taken(const struct ap_session_file *s, u32 seg)
{
	const struct ap_session_file *f = ap_session_party(s, seg);
	u32 taken;

	return f && AP_SEG_LOCAL(seg) < f->max_segs &&
	       !ap_session_read(f, &taken, sizeof(taken),
				AP_SEG_OFF(seg) + offsetof(struct ap_seg, taken)) &&
	       taken;
}

/* 0: it is ours now; -EEXIST: it is another's. */
static int take_seg(struct ap_session_file *s, u32 seg, const struct ap_seg *init)
{
	struct ap_seg *page, head = *init;
	u32 none = 0;

	if (ap_session_is_taken(s, seg))
		return -EEXIST;
	page = ap_session_seg_map(s, seg);
	if (!page)
		return -ENOMEM;
	head.taken = 1; /* at no moment anything else */
	if (!__atomic_compare_exchange_n(&page->taken, &none, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		ap_session_page_unmap(page);
		return -EEXIST;
	}
	*page = head;
	__atomic_store_n(&page->state, AP_SEG_INIT, __ATOMIC_RELEASE);
	ap_session_page_unmap(page);
	return 0;
}

int ap_session_seg_new(struct ap_session_file *s, const struct ap_seg *init, u32 *seg)
{
	u32 i = ap_segs_first(s->head, s->party), tries;
	int ret;

	/* they may all say that they are taken */
	for (tries = 0; tries < 2 * AP_SEGS_AHEAD && AP_SEG_LOCAL(i) < s->max_segs; tries++) {
		ret = take_seg(s, i, init);
		if (ret != -EEXIST) {
			*seg = i;
			return ret;
		}
		i = ap_segs_after(s->head, i);
	}
	return -ENOSPC;
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

static int read_of(const struct ap_session_file *s, u32 seg, void *buf, u64 size, u64 at)
{
	const struct ap_session_file *f = ap_session_party(s, seg);

	return f ? ap_session_read(f, buf, size, AP_SEG_OFF(seg) + at) : -ENOENT;
}

int ap_session_seg_read(const struct ap_session_file *s, u32 seg, struct ap_seg *out)
{
	return read_of(s, seg, out, sizeof(*out), 0);
}

int ap_session_slot_read(const struct ap_session_file *s, u32 seg, u32 slot, struct ap_slot *out)
{
	return read_of(s, seg, out, sizeof(*out), AP_SLOT_OFF(slot));
}

static void *map_page(const struct ap_session_file *s, u32 seg, u64 at)
{
	const struct ap_session_file *f = ap_session_party(s, seg);
	void *p = f ? mmap(NULL, AP_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd,
			   (off_t)(AP_SEG_OFF(seg) + at))
		    : MAP_FAILED;

	return p == MAP_FAILED ? NULL : p;
}

struct ap_seg *ap_session_seg_map(const struct ap_session_file *s, u32 seg)
{
	return map_page(s, seg, 0);
}

struct ap_slot *ap_session_slot_map(const struct ap_session_file *s, u32 seg, u32 slot)
{
	return map_page(s, seg, AP_SLOT_OFF(slot));
}

void ap_session_page_unmap(void *page)
{
	if (page)
		munmap(page, AP_PAGE_SIZE);
}

/* A task could have the same said again and again. */
static bool is_kept(const struct ap_session_file *s, const struct ap_note *note)
{
	for (u32 i = 0; i < s->nnotes; i++)
		if (s->notes[i].kind == note->kind && s->notes[i].root == note->root &&
		    !strcmp(s->notes[i].text, note->text))
			return true;
	return false;
}

static void keep_note(struct ap_session_file *s, const struct ap_note *note)
{
	struct ap_note *more;

	if (is_kept(s, note))
		return;
	more = s->nnotes < NOTES_KEPT ? realloc(s->notes, (s->nnotes + 1) * sizeof(*s->notes))
				      : NULL;
	if (!more) {
		s->nlost++;
		return;
	}
	s->notes = more;
	s->notes[s->nnotes++] = *note;
}

/*
 * For an anyperf inside of the session, which reads the file; and for us, where no task can write.
 */
void ap_session_note(struct ap_session_file *s, const struct ap_note_args *args)
{
	struct ap_note own = { .kind = args->kind, .pid = args->pid, .root = args->root };
	struct ap_note *note;

	snprintf(own.text, sizeof(own.text), "%s%s: %s",
		 args->kind == AP_NOTE_NOT_COUNTED ? "not counted: " : "", args->subject,
		 args->reason);
	keep_note(s, &own);
	note = ap_note_new(s->head);
	if (!note)
		return;
	note->kind = own.kind;
	note->pid = own.pid;
	note->root = own.root;
	memcpy(note->text, own.text, sizeof(note->text));
	/* pairs with the acquire of the reader in result.c */
	__atomic_store_n(&note->ready, AP_NOTE_READY, __ATOMIC_RELEASE);
}
