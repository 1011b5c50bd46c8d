/* SPDX-License-Identifier: MIT */
/*
 * Parties: files that tasks of the same credentials write (docs/design/trust.md).  A party's memory
 * before its segments is mapped as the first one's is, with the head in its place, so that what is
 * of a party is found from that party's head.
 *
 * A number is used again when nobody is left in its party.  Segments are numbered on from where the
 * last party of that number ended, so that none is used twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/in.h"
#include "inject/proc.h"
#include "linux/session/regions.h"
#include "linux/session/session.h"

/*
 * Whoever has left the first party can leave as often as they like, by user namespaces of their own
 * for instance.  All of them together get half of the numbers, and those that come of one that left
 * the first party a quarter of that: what the session's owner has started, or attaches to, finds
 * one.
 */
#define OTHERS_MAX (AP_PARTY_MAX / 2)
#define ORIGIN_MAX (OTHERS_MAX / 4)

#define SEAL_EXEC 0x20 /* F_SEAL_EXEC: what the host may have all memfds begin with */

struct ap_session_file *ap_session_party(const struct ap_session_file *s, u32 seg)
{
	u32 party = AP_PARTY_OF(seg);

	/* a reader that is not the supervisor has one party, by whatever number */
	if (party == s->party)
		return (struct ap_session_file *)(uintptr_t)s;
	return party < AP_PARTY_MAX ? s->parties[party] : NULL;
}

struct ap_session_file *ap_session_next_party(const struct ap_session_file *s, u32 *party)
{
	struct ap_session_file *f;

	while (*party < AP_PARTY_MAX) {
		f = ap_session_party(s, (*party)++ << AP_PARTY_SHIFT);
		if (f)
			return f;
	}
	return NULL;
}

/* A party that has ended takes its words along: then the sum changes once more, for nothing. */
u32 ap_session_untold(const struct ap_session_file *s)
{
	const struct ap_session_file *f;
	u32 n = 0;

	for (u32 p = 0; (f = ap_session_next_party(s, &p));)
		n += __atomic_load_n(&ap_board_of(f->head)->untold, __ATOMIC_ACQUIRE);
	return n;
}

u32 ap_session_looks(const struct ap_session_file *s)
{
	const struct ap_session_file *f;
	u32 n = 0;

	for (u32 p = 0; (f = ap_session_next_party(s, &p));)
		n += __atomic_load_n(&ap_board_of(f->head)->looks, __ATOMIC_ACQUIRE);
	return n;
}

bool ap_session_is_mute(const struct ap_session_file *s)
{
	const struct ap_session_file *f;
	u32 mute = 0;

	for (u32 p = 0; (f = ap_session_next_party(s, &p));)
		mute |= __atomic_load_n(&ap_board_of(f->head)->mute, __ATOMIC_ACQUIRE);
	return mute;
}

void ap_session_kinds_look(const struct ap_session_file *s)
{
	const struct ap_session_file *f;
	u64 wanted = 0;

	for (u32 p = 0; (f = ap_session_next_party(s, &p));)
		wanted |= __atomic_load_n(&ap_board_of(f->head)->kinds, __ATOMIC_SEQ_CST);
	if (wanted & ~s->head->kinds)
		__atomic_fetch_or(&s->head->kinds, wanted, __ATOMIC_SEQ_CST);
}

/*
 * The head can be mapped for writing no more, but its mapping can be had twice: nothing is moved
 * where nothing is old.
 */
static int map_again(const struct ap_session_file *s, u8 *to, u64 from, u64 end)
{
	void *p = mremap((u8 *)s->head + from, 0, end - from, MREMAP_MAYMOVE | MREMAP_FIXED,
			 to + from);

	return p == MAP_FAILED ? -errno : 0;
}

static int map_view(const struct ap_session_file *s, struct ap_session_file *f)
{
	u8 *p = mmap(NULL, AP_SEG_BASE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	u8 *samplings = (u8 *)s->head + AP_SAMPLER_OFF + AP_SAMPLINGS_AT(f->party);
	int ret;

	if (p == MAP_FAILED)
		return -errno;
	f->head = (struct ap_session *)p;
	ret = map_again(s, p, 0, AP_BOARD_OFF);
	ret = ret ?: map_again(s, p, AP_PUB_OFF, AP_SAMPLING_OFF);
	if (!ret && mmap(samplings, AP_SAMPLINGS_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, f->fd, (off_t)AP_SAMPLING_OFF) == MAP_FAILED)
		ret = -errno;
	return ret;
}

/* It is ours to say how long it is, and from then on nobody's. */
static int make_file(const struct ap_session_file *s, struct ap_session_file *f)
{
	struct stat st, first;
	int ret;

	if (fstat(f->fd, &st) || fstat(s->fd, &first))
		return -errno;
	/*
	 * no other kind of file is on the kernel's own mount, where memfds are, and has no seals
	 * yet
	 */
	if (!S_ISREG(st.st_mode) || st.st_dev != first.st_dev || st.st_size ||
	    fcntl(f->fd, F_GET_SEALS) & ~SEAL_EXEC)
		return -EBADF;
	ret = ap_session_set_size(f->fd, (u64)first.st_size);
	ret = ret ?: ap_session_seal_size(f->fd);
	if (ret)
		return ret;
	/* its task may have done something to it meanwhile */
	if (fstat(f->fd, &st) || st.st_size != first.st_size ||
	    (fcntl(f->fd, F_GET_SEALS) & ~SEAL_EXEC) != (fcntl(s->fd, F_GET_SEALS) & ~SEAL_EXEC))
		return -EBADF;
	f->max_segs = s->max_segs;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

static void close_party(const struct ap_session_file *s, struct ap_session_file *f)
{
	u8 *samplings = (u8 *)s->head + AP_SAMPLER_OFF + AP_SAMPLINGS_AT(f->party);

	if (f->head)
		munmap(f->head, AP_SEG_BASE);
	(void)mmap(samplings, AP_SAMPLINGS_SIZE, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	close(f->fd);
	free(f->creds);
	free(f);
}

/* As /proc/PID/stat has the starts of processes. */
static u64 ticks_now(void)
{
	struct timespec ts;
	u64 hz = (u64)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (u64)ts.tv_sec * hz + (u64)ts.tv_nsec * hz / 1000000000;
}

/* May a task of this party have one of its own? */
static bool may_leave(const struct ap_session_file *s, u32 from)
{
	const struct ap_session_file *f, *former = ap_session_party(s, from << AP_PARTY_SHIFT);
	u32 all = 0, same = 0;

	if (!from)
		return true;
	for (u32 p = 1; former && (f = ap_session_next_party(s, &p));) {
		all += f->has_left;
		same += f->has_left && f->origin == former->origin;
	}
	return former && all < OTHERS_MAX && same < ORIGIN_MAX;
}

int ap_session_party_new(struct ap_session_file *s, int fd, u32 *party)
{
	struct ap_session_file *f = calloc(1, sizeof(*f));
	u32 p = 1;
	int ret;

	while (p < AP_PARTY_MAX && s->parties[p])
		p++;
	if (!f || p == AP_PARTY_MAX) {
		free(f);
		close(fd);
		return f ? -ENOSPC : -ENOMEM;
	}
	f->fd = fd;
	f->party = p;
	f->is_owner = true;
	f->born = ticks_now();
	f->origin = ++s->norigins;
	f->head_fd = -1;
	f->head_dev = s->head_dev;
	f->head_ino = s->head_ino;
	ret = make_file(s, f);
	ret = ret ?: map_view(s, f);
	if (ret) {
		close_party(s, f);
		return ret;
	}
	ap_session_make_common(f);
	ap_board_of(f->head)->roots[0].used = AP_ROOT_USED;
	f->known = s->head->known_segs[p];
	ap_board_of(f->head)->nsegs = f->known;
	s->parties[p] = f;
	*party = p;
	return 0;
}

int ap_session_party_take(struct ap_session_file *s, pid_t tid, s32 fd, u32 *party)
{
	char path[AP_PROC_PATH], name[32];
	const u32 from = *party;
	struct stat st;
	int pin, own, ret;

	if (!may_leave(s, from))
		return -ENOSPC;
	snprintf(name, sizeof(name), "fd/%d", fd);
	ap_proc_path(path, tid, name);
	if (fd < 0)
		return -EBADF;
	/* pinned before it is looked at: the number may be another file's the next moment */
	pin = ap_kernel_open(path, O_PATH);
	if (pin < 0)
		return -errno;
	/* what is no file of that mount is not opened: a device would notice, a FIFO would wait */
	if (fstat(pin, &st) || !S_ISREG(st.st_mode) || st.st_dev != s->dev) {
		close(pin);
		return -EBADF;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pin);
	own = ap_kernel_open(path, O_RDWR);
	ret = own < 0 ? -errno : 0;
	close(pin);
	ret = ret ?: ap_session_party_new(s, own, party);
	if (!ret && from) {
		s->parties[*party]->has_left = true;
		s->parties[*party]->origin = s->parties[from]->origin;
	}
	return ret;
}

void ap_session_party_is_of(struct ap_session_file *f, pid_t pid)
{
	if (!ap_identity_read(pid, &f->first))
		f->first.userns[0] = '\0';
}

void ap_session_party_tell(const struct ap_session_file *s, struct ap_session_file *f)
{
	__atomic_store_n(&ap_board_of(f->head)->gone, s->head->supervisor, __ATOMIC_RELEASE);
}

void ap_session_party_end(struct ap_session_file *s, u32 party)
{
	struct ap_session_file *f = party && party < AP_PARTY_MAX ? s->parties[party] : NULL;

	if (!f)
		return;
	ap_session_regions_fold(s, f);
	s->parties[party] = NULL;
	if (f->is_told_last)
		ap_session_party_tell(s, f);
	close_party(s, f);
}
