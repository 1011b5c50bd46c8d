/* SPDX-License-Identifier: MIT */
/*
 * Whose a segment is, by the kernel.  A segment says which process counts in it, and a slot which thread; both are
 * words that the program can write, so they name anybody.  They are taken for true where the kernel says that the
 * process has the segment's slots in its memory (/proc/PID/maps): nobody can make another one map them.  A process
 * that was believed is pinned by its pidfd, so its number is not somebody else's later; and one that has got other
 * rights since then (it has executed a set-uid program) is looked at anew.
 *
 * A supervisor that has no more rights than the programs it counts can be led to nothing that they could not do
 * themselves.  It looks at no mappings, which takes some 0.1 ms for each process where the kernel has no PROCMAP_QUERY.
 *
 * docs/design/trust.md, "What the supervisor reads".
 */
#include "linux/session/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/task/creds.h"
#include "linux/task/pidns.h"

#define MAPS_CHUNK    65536
#define LINE_LEAST    25 /* of a line's numbers, without which it is none */
#define PIDFD_THREAD_ O_EXCL
#define KCMP_VM_      1 /* enum kcmp_type: linux/kcmp.h is not everywhere */

/* --- what the kernel says */

#define HAS_SLOTS     (1 << 0) /* of the segment that was asked about */
#define HAS_ANY	      (1 << 1) /* or any part of it */
#define HAS_OF_PARENT (1 << 2) /* slots of its parent's */
#define HAS_OTHER     (1 << 3) /* or any of the session's file */

struct owner_search {
	const struct ap_session_file *ses;
	u32 seg, parent;
	int found;
};

static bool overlaps(u64 at, u64 size, u64 from, u64 to)
{
	return at < to && at + size > from;
}

/* A line of /proc/PID/maps: start-end perms offset major:minor inode */
static void take_line(struct owner_search *l, const char *line)
{
	u64 start, end, off, dev, ino, seg = AP_SEG_OFF(l->seg), parent = AP_SEG_OFF(l->parent);
	const char *p = line;

	start = ap_text_u64(&p, 16);
	p += *p == '-';
	end = ap_text_u64(&p, 16);
	if (strlen(p) < LINE_LEAST || end <= start)
		return;
	p += strlen(" rwxp ");
	off = ap_text_u64(&p, 16);
	p += *p == ' ';
	dev = ap_text_u64(&p, 16);
	p += *p == ':';
	dev = makedev((unsigned int)dev, (unsigned int)ap_text_u64(&p, 16));
	p += *p == ' ';
	ino = ap_text_u64(&p, 10);
	if (dev != l->ses->dev || ino != l->ses->ino)
		return;
	l->found |= HAS_OTHER;
	if (overlaps(off, end - start, seg + AP_SLOTS_OFF, seg + AP_SEG_SIZE))
		l->found |= HAS_SLOTS;
	if (overlaps(off, end - start, seg, seg + AP_SEG_SIZE))
		l->found |= HAS_ANY;
	if (overlaps(off, end - start, parent + AP_SLOTS_OFF, parent + AP_SEG_SIZE))
		l->found |= HAS_OF_PARENT;
}

/*
 * PROCMAP_QUERY of linux/fs.h, from 6.11 on: what lies at an address.  The slot says where it is, and what is there is the
 * kernel's word; the list of all mappings takes fifty times as long.
 */
struct procmap_query_ {
	u64 size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset,
		inode;
	u32 dev_major, dev_minor, vma_name_size, build_id_size;
	u64 vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY_ _IOWR('f', 17, struct procmap_query_)

static bool is_where_it_says(const struct owner_search *l, int maps)
{
	struct procmap_query_ q = { .size = sizeof(q) };
	u64 first = AP_SEG_OFF(l->seg) + AP_SLOT_OFF(0);

	return !ap_session_read(l->ses, &q.query_addr, sizeof(q.query_addr),
				first + offsetof(struct ap_slot, at)) &&
	       q.query_addr && !ioctl(maps, PROCMAP_QUERY_, &q) &&
	       makedev(q.dev_major, q.dev_minor) == l->ses->dev && q.inode == l->ses->ino &&
	       q.vma_start <= q.query_addr && q.vma_offset + (q.query_addr - q.vma_start) == first;
}

/* HAS_*, or -errno where it cannot be seen; -ESRCH of one that has no memory any more. */
static int look(struct owner_search *l, pid_t pid)
{
	char path[AP_PROC_PATH], *buf, *line, *end;
	size_t len = 0, all = 0;
	ssize_t got;
	int fd = open(ap_proc_path(path, pid, "maps"), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (is_where_it_says(l, fd)) {
		close(fd);
		return HAS_SLOTS | HAS_ANY | HAS_OTHER;
	}
	buf = malloc(MAPS_CHUNK + 1);
	while (buf && !(l->found & HAS_SLOTS) &&
	       (got = read(fd, buf + len, MAPS_CHUNK - len)) > 0) {
		len += (size_t)got;
		all += (size_t)got;
		buf[len] = '\0';
		for (line = buf; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			take_line(l, line);
		}
		len = (size_t)(buf + len - line);
		memmove(buf, line, len);
	}
	close(fd);
	free(buf);
	if (!buf)
		return -ENOMEM;
	return all ? l->found : -ESRCH;
}

/* The owner of its folder in /proc: of one that has gained rights it is another one, mostly root. */
static bool uid_of(pid_t pid, u32 *uid)
{
	char path[AP_PROC_PATH];
	struct stat st;

	if (stat(ap_proc_path(path, pid, ""), &st))
		return false;
	*uid = st.st_uid;
	return true;
}

bool ap_owner_has_thread(pid_t pid, pid_t tid)
{
	char path[AP_PROC_PATH], name[32];

	snprintf(name, sizeof(name), "task/%d", (int)tid);
	return pid > 0 && tid > 0 && !access(ap_proc_path(path, pid, name), F_OK);
}

/* --- supervisors that may believe all */

static bool has_capabilities(void)
{
	char text[8192];
	const char *p = NULL;

	if (ap_proc_read(getpid(), "status", text, sizeof(text)) > 0)
		p = ap_status_find(text, "CapEff");
	return !p || ap_text_u64(&p, 16);
}

/* Once: a supervisor's rights do not change. */
bool ap_owner_may_more(struct ap_supervisor *sv)
{
	if (!sv->rights)
		sv->rights = !geteuid() || has_capabilities() ? AP_RIGHTS_MORE : AP_RIGHTS_SAME;
	return sv->rights == AP_RIGHTS_MORE;
}

/* Where /proc does not show its memory: a task that descends from one that is known, by the kernel's word. */
static bool descends(const struct ap_supervisor *sv, pid_t pid)
{
	struct ap_proc_stat st;

	for (u32 depth = 0; depth < AP_OWNER_DEPTH && pid > 1; depth++) {
		if (pid == sv->command)
			return true;
		for (u32 i = 0; i < sv->ntracks; i++)
			if (sv->tracks[i]->is_owner && sv->tracks[i]->pid == pid)
				return true;
		if (ap_stat_read(pid, &st))
			return false;
		pid = st.ppid;
	}
	return false;
}

static bool holds(pid_t tid, s32 fd, u64 dev, u64 ino)
{
	char path[AP_PROC_PATH], name[32];
	struct statx st;

	snprintf(name, sizeof(name), "fd/%d", fd);
	/* what the kernel knows: a file system of the task's own may not answer for ever */
	return fd >= 0 &&
	       !statx(AT_FDCWD, ap_proc_path(path, tid, name), AT_STATX_DONT_SYNC, STATX_INO,
		      &st) &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == dev && st.stx_ino == ino;
}

bool ap_owner_holds_session(const struct ap_supervisor *sv, u32 seg, pid_t tid, s32 fd, s32 head_fd)
{
	const struct ap_session_file *s = ap_session_party(&sv->ses, seg);

	return s && holds(tid, fd, s->dev, s->ino) && holds(tid, head_fd, s->head_dev, s->head_ino);
}

/* The image that was put in has the descriptor by which it will map its segment. */
static bool will_map(const struct ap_supervisor *sv, u32 seg, pid_t pid)
{
	struct ap_slot slot;

	return !ap_session_slot_read(&sv->ses, seg, 0, &slot) &&
	       ap_owner_holds_session(sv, seg, pid, slot.exec_fd, slot.exec_head);
}

/* It has all the rights that we have: nobody else's program could do harm to it. */
static bool is_as_mighty(pid_t pid)
{
	struct ap_creds own, theirs;

	return !ap_creds_read(getpid(), &own) || !ap_creds_read(pid, &theirs) ||
	       (theirs.euid == own.euid && !(own.permitted & ~theirs.permitted));
}

static bool is_above(pid_t pid, pid_t below)
{
	struct ap_proc_stat st;

	for (u32 depth = 0; depth < AP_OWNER_DEPTH && below > 1 && pid != below; depth++) {
		if (ap_stat_read(below, &st))
			return false;
		below = st.ppid;
	}
	return pid == below;
}

/*
 * Where the kernel may put children of a task whose parents have ended: init, or a subreaper above us or above a task of that party
 * (one that was attached to).  Which of those processes is a subreaper the kernel does not say.
 */
static bool may_adopt(const struct ap_supervisor *sv, u32 party, pid_t pid)
{
	if (pid <= 1 || is_above(pid, getppid()))
		return true;
	for (u32 i = 0; i < sv->nattached; i++) {
		const struct ap_track *t = ap_track_of(sv, sv->attached[i].seg);

		if (t && t->is_owner && !t->is_gone && AP_PARTY_OF(t->seg) == party &&
		    is_above(pid, t->pid))
			return true;
	}
	return false;
}

/* The process that it was is not waited for yet, so that its number is its own. */
static bool is_pinned(const struct ap_track *t)
{
	struct ap_proc_stat st;

	if (t->pidfd >= 0)
		return !syscall(SYS_pidfd_send_signal, t->pidfd, 0, NULL, 0) || errno == EPERM;
	return !ap_stat_read(t->pid, &st) && st.start_time == t->start_time;
}

/*
 * The first one that it was made for may have been root, to become another user alone.  What a party is never becomes more, whatever its
 * tasks execute.
 */
static void learn_identity(struct ap_supervisor *sv, const struct ap_track *t)
{
	struct ap_session_file *f = ap_session_party(&sv->ses, t->seg);
	struct ap_identity id;
	char own[AP_USERNS_NAME];

	if (f && f->party && ap_creds_userns(getpid(), own) && ap_identity_read(t->pid, &id) &&
	    ap_identity_reaches(&f->first, &id, own))
		f->first = id;
}

/*
 * Of one that no ancestor speaks for nothing more is to be known than this: could tasks of the party do to it by themselves what
 * they could lead us to?  A service of a third user's they could not.
 */
static bool is_in_reach(struct ap_supervisor *sv, const struct ap_session_file *f, pid_t pid)
{
	struct ap_identity id;
	char own[AP_USERNS_NAME];

	/* who has changed since it was looked at */
	for (u32 i = 0; i < sv->ntracks; i++)
		if (AP_PARTY_OF(sv->tracks[i]->seg) == f->party && sv->tracks[i]->is_owner &&
		    !sv->tracks[i]->is_gone && is_pinned(sv->tracks[i]))
			learn_identity(sv, sv->tracks[i]);
	return ap_creds_userns(getpid(), own) && ap_identity_read(pid, &id) &&
	       ap_identity_reaches(&f->first, &id, own);
}

/*
 * A mapping is no proof where a program maps what it is sent (shared memory of a display or sound server): whose
 * file that was can name it.  A task of a party that is not the session owner's is the one that the party was made for, descends from a
 * task, or its parents have ended.  Then it was born later than the party and has not all of our rights, and so it is with all that are
 * above it, up to the process that has adopted one of them; and it is nothing that a task of the party could not become.
 */
static bool is_related(struct ap_supervisor *sv, const struct ap_session_file *f, pid_t pid)
{
	const pid_t first = pid;
	struct ap_proc_stat st;

	if (!f->party || descends(sv, pid))
		return true;
	for (u32 depth = 0; depth < AP_OWNER_DEPTH; depth++) {
		if (ap_stat_read(pid, &st) || st.start_time < f->born || is_as_mighty(pid))
			return false;
		if (may_adopt(sv, f->party, st.ppid))
			return is_in_reach(sv, f, first);
		pid = st.ppid;
	}
	return false;
}

static enum ap_owned look_at_maps(struct ap_supervisor *sv, u32 seg, const struct ap_seg *head,
				  pid_t pid)
{
	struct owner_search l = { ap_session_party(&sv->ses, seg), seg, head->parent_seg, 0 };
	int has;

	if (!l.ses)
		return AP_OWNED_NOT;
	/* slots of another party's are in another file */
	if (AP_PARTY_OF(l.parent) != AP_PARTY_OF(seg))
		l.parent = seg;
	has = look(&l, pid);
	if (has == -ESRCH || has == -ENOENT)
		return AP_OWNED_EMPTY;
	if (has < 0)
		return descends(sv, pid) ? AP_OWNED : AP_OWNED_UNSEEN;
	if (has & HAS_SLOTS)
		return AP_OWNED;
	if (head->state != AP_SEG_INIT)
		return AP_OWNED_NOT;
	/* before it has run: a fork's child has its parent's slots, a new image the segment's head or its descriptor alone */
	if (has & HAS_OF_PARENT)
		return AP_OWNED_UNBORN;
	if (has & HAS_ANY || (!has && will_map(sv, seg, pid)))
		return AP_OWNED_IMAGE;
	return AP_OWNED_NOT;
}

enum ap_owned ap_owner_look(struct ap_supervisor *sv, u32 seg, const struct ap_seg *head, pid_t pid)
{
	const struct ap_session_file *f = ap_session_party(&sv->ses, seg);
	enum ap_owned owned;

	if (!ap_owner_may_more(sv))
		return AP_OWNED;
	owned = look_at_maps(sv, seg, head, pid);
	if (owned == AP_OWNED_NOT || owned == AP_OWNED_EMPTY)
		return owned;
	/* also one whose memory cannot be seen: init would never end, and neither would the session */
	return f && is_related(sv, f, pid) ? owned : AP_OWNED_NOT;
}

/* --- tracks */

static struct ap_track *track_of(struct ap_supervisor *sv, u32 seg)
{
	if (AP_PARTY_OF(seg) >= AP_PARTY_MAX)
		return NULL;
	if (AP_SEG_LOCAL(seg) >= sv->scanned[AP_PARTY_OF(seg)])
		ap_tracks_learn(sv);
	return ap_track_of(sv, seg);
}

static bool is_believed(const struct ap_track *t)
{
	u32 uid;

	return t->is_owner && uid_of(t->pid, &uid) && uid == t->uid && is_pinned(t);
}

static bool believe(struct ap_supervisor *sv, struct ap_track *t)
{
	const struct ap_session_file *f;
	struct ap_proc_stat st = { 0 };

	/* when it began is asked of who has no pidfd alone */
	t->is_owner = uid_of(t->pid, &t->uid) && (t->pidfd >= 0 || !ap_stat_read(t->pid, &st));
	t->start_time = st.start_time;
	/* what was looked at was its process, as that is there still */
	t->is_owner = t->is_owner && is_pinned(t);
	/* is_in_reach() looks at the rest */
	f = ap_session_party(&sv->ses, t->seg);
	if (t->is_owner && f && f->party && f->first.uids[1] != t->uid)
		learn_identity(sv, t);
	return t->is_owner;
}

/* A vfork's child and others that have the memory of one that is known. */
static bool shares_memory(const struct ap_track *t, pid_t pid)
{
	return t->is_owner && !syscall(SYS_kcmp, t->pid, pid, KCMP_VM_, 0, 0) && is_believed(t);
}

void ap_owner_set(struct ap_supervisor *sv, u32 seg, pid_t pid)
{
	struct ap_track *t = ap_owner_may_more(sv) ? track_of(sv, seg) : NULL;

	if (t && ap_track_name(sv, t, pid))
		(void)believe(sv, t);
}

pid_t ap_owner_of(struct ap_supervisor *sv, u32 seg)
{
	const struct ap_track *t = track_of(sv, seg);

	if (!t || t->is_gone || (ap_owner_may_more(sv) && !is_believed(t)))
		return 0;
	return t->pid;
}

bool ap_owner_is(struct ap_supervisor *sv, u32 seg, pid_t pid)
{
	struct ap_track *t;
	struct ap_seg head;

	if (pid <= 0)
		return false;
	if (!ap_owner_may_more(sv))
		return true;
	t = track_of(sv, seg);
	if (!t)
		return false;
	if (t->pid == pid ? is_believed(t) : shares_memory(t, pid))
		return true;
	if (ap_session_seg_read(&sv->ses, seg, &head) ||
	    ap_owner_look(sv, seg, &head, pid) != AP_OWNED)
		return false;
	/* one that shares the memory of the track's own process is asked about each time */
	if (t->pid != pid && t->is_owner && is_pinned(t))
		return true;
	return ap_track_name(sv, t, pid) && believe(sv, t);
}

bool ap_owner_is_child(struct ap_supervisor *sv, u32 seg, pid_t pid)
{
	const struct ap_track *parent;
	enum ap_owned owned;
	struct ap_seg head;

	if (pid <= 0 || ap_session_seg_read(&sv->ses, seg, &head))
		return false;
	if (ap_owner_is(sv, seg, pid))
		return true;
	owned = ap_owner_look(sv, seg, &head, pid);
	/* it may have begun to run in between */
	if (owned != AP_OWNED_UNBORN)
		return owned == AP_OWNED || owned == AP_OWNED_IMAGE;
	/* a parent has its child's segment, too, and is not its own child */
	parent = track_of(sv, head.parent_seg);
	return !parent || parent->pid != pid;
}

bool ap_owner_signal(struct ap_supervisor *sv, u32 seg, pid_t pid, pid_t tid, siginfo_t *info)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD_);
	bool is_sent = false;

	if (fd < 0 && errno == ESRCH)
		return false;
	/* behind its being opened: it is of that thread, as long as it is open */
	if (ap_owner_is(sv, seg, pid) && ap_owner_has_thread(pid, tid))
		is_sent =
			!(fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, info->si_signo, info, 0)
				  : syscall(SYS_rt_tgsigqueueinfo, pid, tid, info->si_signo, info));
	if (fd >= 0)
		close(fd);
	return is_sent;
}

/* --- names */

static bool is_our_pidns(const struct ap_supervisor *sv, u64 pidns)
{
	return !pidns || pidns == sv->ses.head->pidns;
}

pid_t ap_owner_outer(struct ap_supervisor *sv, u32 seg, const struct ap_seg *head, u32 inner)
{
	const struct ap_track *t;

	if (is_our_pidns(sv, head->pidns))
		return (pid_t)inner;
	t = track_of(sv, seg);
	if (t && t->pid && head->ns_pid == inner)
		return t->pid;
	return ap_pidns_find(head->pidns, (pid_t)inner);
}

int ap_owner_names(struct ap_supervisor *sv, u32 seg, u32 inner_pid, u32 inner_tid, pid_t *pid,
		   pid_t *tid)
{
	struct ap_seg head;

	if (!inner_pid || !inner_tid || ap_session_seg_read(&sv->ses, seg, &head))
		return -ESRCH;
	*pid = ap_owner_outer(sv, seg, &head, inner_pid);
	if (!ap_owner_is(sv, seg, *pid))
		return -ESRCH;
	*tid = inner_tid == inner_pid	      ? *pid
	       : is_our_pidns(sv, head.pidns) ? (pid_t)inner_tid
					      : ap_pidns_find_thread(*pid, (pid_t)inner_tid);
	/* a process that is there has its first thread, as a zombie at least */
	if (*tid == *pid && ap_owner_may_more(sv))
		return 0;
	return ap_owner_has_thread(*pid, *tid) ? 0 : -ESRCH;
}
