/* SPDX-License-Identifier: MIT */
/*
 * /proc/self/maps, smaps, status and syscall as the program would see them natively: a memfd with a copy that
 * lacks the engine's mappings and handlers, and shows the program's own permission where a page of
 * generated code is write-protected.  The copy stands under the number that the open gave.
 *
 * The kernel makes its text while it is read.  So whoever reads a copy from its beginning, or from where the last read
 * has not ended, gets a new one: it is known by its inode, under whatever number, in the process that opened it (a fork's
 * child reads about its parent, and has the text as it was).  Numbers that are found to be no copy
 * are not looked at again before a call closes one: whatever else becomes a copy was closed first.
 * A read gets no more of a copy than the kernel would have given (seqfile.c): programs count turns.
 *
 * Also here: which files are the memory of a process, so that stores through them are noticed.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/cache/smc.h"
#include "engine/runtime/filter.h"
#include "engine/signal/signal.h"
#include "engine/syscall/taken.h"
#include "engine/transparency/proccall.h"
#include "engine/transparency/seqfile.h"
#include "engine/transparency/transparency.h"
#include "service/service.h"
#include "sys/sys.h"

#define PATH_CAP	     64	  /* longer ones are none of ours */
#define LINE_CAP	     4352 /* a path and what stands before it */
#define IN_CAP		     (16ULL << 10)
#define OUT_CAP		     (32ULL << 10)
#define COPIES		     32
#define MEMS		     16
#define NUMBERS		     1024 /* higher ones are looked at each time */
#define VECTORS		     16	  /* of a read that is cut: more are read by more calls */
#define MOST_PIECES	     1024 /* that the kernel takes (UIO_MAXIOV) */
#define USER_END	     (1UL << 47)
#define SEEK_CUR	     1
#define COPY_MAX	     (64ULL << 20) /* more than a copy is long */
#define F_SETPIPE_SZ	     1031
#define PIPE_MAX	     (1U << 20)
#define O_ACCMODE	     3
#define O_CREAT_WRONLY_TRUNC 01101

/* A file that the program has opened; entries are reused in turn.  Process lock. */
struct known {
	u64 dev, ino;
	u32 pid; /* as the process sees itself */
	char path[PATH_CAP];
	struct ap_seqfile reader;
};

static AP_ROOMY struct known copies[COPIES], mems[MEMS];
static u32 ncopies, nmems;

/* One more than closes was when this number was found to be no copy. */
static AP_ROOMY u64 others[NUMBERS], closes;
static bool files_shared; /* with another process, which closes unseen */

/* Of a read that is cut. */
struct pieces {
	struct ap_iovec v[VECTORS];
	u64 size;	    /* of those that are in v */
	u64 rest_at, nrest; /* behind them, where all of these are going to be filled */
};

struct filter {
	s64 from, to;
	u64 at;		/* in the copy */
	char *in, *out; /* one mapping */
	u64 in_len, in_pos, out_len;
	bool keep; /* smaps: lines that follow a mapping's own belong to it */
	bool is_status;
	u32 tid;      /* whose syscall file it is, else 0 */
	bool is_pipe; /* what is written to: a file may not be so long */
	bool failed;
	/* A mapping that may still grow: pieces of one that came apart for our sake. */
	u64 start, end, off;
	char perms[5];
	char tail[LINE_CAP]; /* from the device on */
	bool held, held_changed;
};

static bool skip_number(const char **p)
{
	const char *start = *p;

	while (**p >= '0' && **p <= '9')
		++*p;
	return *p > start;
}

static bool skip_word(const char **p, const char *word)
{
	u64 n = strlen(word);

	if (strncmp(*p, word, n))
		return false;
	*p += n;
	return true;
}

static bool ends_with(const char *path, const char *name)
{
	u64 len = strlen(path), n = strlen(name);

	return len > n && !strcmp(path + len - n, name);
}

static bool is_status(const char *path)
{
	return ends_with(path, "/status");
}

static bool is_one_record(const char *path)
{
	return is_status(path) || ends_with(path, "/syscall");
}

/* Is it one of the names of our own maps, smaps, status or syscall? */
static bool is_own(const struct ap_thread *t, const char *p)
{
	const char *digits;
	u64 pid;

	if (!skip_word(&p, "/proc/"))
		return false;
	digits = p;
	if (!skip_word(&p, "self/") && !skip_word(&p, "thread-self/")) {
		if (!skip_number(&p) || *p != '/' || !ap_parse_u64(&digits, &pid) ||
		    (pid != t->pid && pid != t->tid))
			return false;
		p++;
	}
	if (skip_word(&p, "task/") && (!skip_number(&p) || !skip_word(&p, "/")))
		return false;
	return !strcmp(p, "maps") || !strcmp(p, "smaps") || !strcmp(p, "status") ||
	       !strcmp(p, "syscall");
}

static void flush(struct filter *f)
{
	s64 ret;

	for (u64 at = 0; at < f->out_len; at += (u64)ret, f->at += (u64)ret) {
		if (f->is_pipe)
			ret = ap_sys3(AP_NR_write, (u64)f->to, (u64)f->out + at, f->out_len - at);
		else
			ret = ap_sys4(AP_NR_pwrite64, (u64)f->to, (u64)f->out + at, f->out_len - at,
				      f->at);
		if (ret <= 0) {
			f->failed = true;
			break;
		}
	}
	f->out_len = 0;
}

static void put(struct filter *f, const char *text, u64 n)
{
	if (f->out_len + n > OUT_CAP)
		flush(f);
	memcpy(f->out + f->out_len, text, n);
	f->out_len += n;
}

static void put_held(struct filter *f)
{
	char head[80];
	struct ap_str s;

	if (!f->held)
		return;
	ap_str_init(&s, head, sizeof(head));
	ap_str_hex(&s, f->start, 8);
	ap_str_char(&s, '-');
	ap_str_hex(&s, f->end, 8);
	ap_str_char(&s, ' ');
	ap_str_add_n(&s, f->perms, 4);
	ap_str_char(&s, ' ');
	ap_str_hex(&s, f->off, 8);
	ap_str_char(&s, ' ');
	put(f, head, s.len);
	put(f, f->tail, strlen(f->tail));
	f->held = false;
}

struct maps_piece {
	u64 start, end, off;
	char perms[5];
	const char *tail; /* "device inode path\n" */
	bool file, changed;
};

/* Pieces that only differ because of us become one again. */
static void put_piece(struct filter *f, const struct maps_piece *p)
{
	bool joins = f->held && (p->changed || f->held_changed) && f->end == p->start &&
		     !memcmp(f->perms, p->perms, 4) && !strcmp(f->tail, p->tail) &&
		     (!p->file || f->off + (f->end - f->start) == p->off);

	if (joins) {
		f->end = p->end;
		f->held_changed |= p->changed;
		return;
	}
	put_held(f);
	f->start = p->start;
	f->end = p->end;
	f->off = p->off;
	memcpy(f->perms, p->perms, sizeof(f->perms));
	memcpy(f->tail, p->tail, strlen(p->tail) + 1);
	f->held = true;
	f->held_changed = p->changed;
}

/* The part [lo, hi) is the program's: cut where pages are write-protected for our sake. */
static void put_part(struct filter *f, const struct maps_piece *whole, u64 lo, u64 hi)
{
	struct maps_piece p = *whole;
	bool code = p.perms[1] == '-' && (p.perms[2] == 'x' || p.perms[3] == 's') && ap_smc_any();

	while (lo < hi) {
		u64 end = hi;
		bool hides = code && ap_smc_hides_write(lo);

		for (u64 at = lo + AP_PAGE_SIZE; code && at < hi; at += AP_PAGE_SIZE) {
			if (ap_smc_hides_write(at) != hides) {
				end = at;
				break;
			}
		}
		p.start = lo;
		p.end = end;
		p.off = p.file ? whole->off + (lo - whole->start) : whole->off;
		p.perms[1] = hides ? 'w' : whole->perms[1];
		p.changed = hides;
		put_piece(f, &p);
		lo = end;
	}
}

/* "start-end perms offset device inode path": false where it is no such line. */
static bool parse(const char *line, struct maps_piece *p)
{
	const char *s = line, *inode;
	u64 n = 0;

	if (!ap_parse_hex(&s, &p->start) || *s++ != '-' || !ap_parse_hex(&s, &p->end) ||
	    *s++ != ' ' || strnlen(s, 5) < 5)
		return false;
	memcpy(p->perms, s, 4);
	p->perms[4] = 0;
	s += 5;
	if (!ap_parse_hex(&s, &p->off) || *s++ != ' ')
		return false;
	p->tail = s;
	inode = strchr(s, ' ');
	p->file = inode && (++inode, ap_parse_u64(&inode, &n)) && n;
	p->changed = false;
	return true;
}

/*
 * Pages of the session file that the program mapped as a perf event's.  Names stand in one column,
 * however long the offset before them is.
 */
static void name_event(struct maps_piece *p, char *tail, u64 cap)
{
	const char *slash = strchr(p->tail, '/');
	u64 at = slash ? (u64)(slash - p->tail) : 0;

	for (u64 off = p->off >> 32; off; off >>= 4)
		at++;
	if (!slash || !ap_service_names_map(p->start, at, tail, cap))
		return;
	p->tail = tail;
	p->off = 0;
	p->file = false; /* two of them never become one line */
}

/* A line of status: what is caught and ignored is the program's. */
static void do_status(struct filter *f, const char *line, u64 len)
{
	bool caught = !strncmp(line, "SigCgt:", 7), ignored = !strncmp(line, "SigIgn:", 7);
	const struct ap_sigaction *table = ap_sig_table(ap_self());
	char text[32];
	struct ap_str s;
	u64 mask = 0;

	if (!caught && !ignored) {
		put(f, line, len);
		return;
	}
	for (u32 sig = 1; sig < AP_NSIG; sig++)
		if (caught ? table[sig].handler > AP_SIG_IGN : table[sig].handler == AP_SIG_IGN)
			mask |= AP_SIG_BIT(sig);
	ap_str_init(&s, text, sizeof(text));
	ap_str_add(&s, caught ? "SigCgt:\t" : "SigIgn:\t");
	ap_str_hex(&s, mask, 16);
	ap_str_char(&s, '\n');
	put(f, text, s.len);
}

static void do_line(struct filter *f, const char *line, u64 len)
{
	struct maps_piece p;
	char tail[AP_PROCCALL_LINE];
	u64 lo, hi;

	if (f->tid) {
		put(f, tail, ap_proccall_line(f->tid, line, len, tail, sizeof(tail)));
		return;
	}
	if (f->is_status) {
		do_status(f, line, len);
		return;
	}
	if (!parse(line, &p)) {
		if (f->keep) {
			put_held(f);
			put(f, line, len);
		}
		return;
	}
	f->keep = false;
	name_event(&p, tail, sizeof(tail));
	for (hi = p.start; ap_gap_next(hi, p.end, &lo, &hi);) {
		put_part(f, &p, lo, hi);
		f->keep = true;
	}
}

static bool refill(struct filter *f)
{
	s64 got;

	memmove(f->in, f->in + f->in_pos, f->in_len - f->in_pos);
	f->in_len -= f->in_pos;
	f->in_pos = 0;
	got = ap_sys3(AP_NR_read, (u64)f->from, (u64)f->in + f->in_len, IN_CAP - 1 - f->in_len);
	if (got <= 0) {
		f->failed |= got < 0;
		return false;
	}
	f->in_len += (u64)got;
	return true;
}

static void copy(struct filter *f)
{
	char line[LINE_CAP];

	do {
		char *nl;

		while ((nl = memchr(f->in + f->in_pos, '\n', f->in_len - f->in_pos))) {
			u64 len = (u64)(nl + 1 - (f->in + f->in_pos));

			if (len < LINE_CAP) {
				memcpy(line, f->in + f->in_pos, len);
				line[len] = 0;
				do_line(f, line, len);
			} else if (f->is_status) {
				put(f, f->in + f->in_pos, len);
			}
			f->in_pos += len;
		}
	} while (refill(f));
	put_held(f);
	flush(f);
}

/* Lock held. */
static bool fill_with(s64 from, s64 to, const char *path, bool is_pipe)
{
	struct filter *f = ap_mem_map(0, sizeof(*f) + IN_CAP + OUT_CAP);
	bool ok;

	if (!f)
		return false;
	f->is_pipe = is_pipe;
	f->is_status = is_status(path);
	f->tid = is_status(path) || !is_one_record(path) ? 0 : ap_proccall_tid(ap_self(), path);
	f->from = from;
	f->to = to;
	f->in = (char *)(f + 1);
	f->out = f->in + IN_CAP;
	copy(f);
	ok = !f->failed && (is_pipe || !ap_sys2(AP_NR_ftruncate, (u64)to, f->at));
	ap_mem_unmap(f, sizeof(*f) + IN_CAP + OUT_CAP);
	return ok;
}

/* Likewise. */
static bool fill(s64 from, s64 to, const char *path)
{
	u64 limit[2];
	bool ok = ap_limits_file_begin(COPY_MAX, limit) && fill_with(from, to, path, false);

	ap_limits_file_end(limit);
	return ok;
}

static struct known *find(struct known *v, u32 n, u32 max, s32 fd)
{
	struct ap_kstat st;

	if (!n || ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st))
		return NULL;
	for (u32 k = 0; k < n && k < max; k++)
		if (v[k].ino == st.ino && v[k].dev == st.dev)
			return &v[k];
	return NULL;
}

static void remember(struct known *v, u32 *n, u32 max, s64 fd, const char *path)
{
	struct known *k = &v[*n % max];
	struct ap_kstat st;

	if (ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st))
		return;
	k->dev = st.dev;
	k->ino = st.ino;
	k->pid = ap_proc.seg->ns_pid;
	memcpy(k->path, path, strlen(path) + 1);
	ap_seqfile_begin(&k->reader);
	__atomic_store_n(n, *n + 1, __ATOMIC_RELEASE);
}

/* All that a copy and its reading take, but memory: what is read is not unread without them. */
static bool may_replace(void)
{
	static const u16 calls[] = { AP_NR_memfd_create, AP_NR_read,  AP_NR_pwrite64,
				     AP_NR_ftruncate,	 AP_NR_fstat, AP_NR_dup3,
				     AP_NR_lseek,	 AP_NR_close };
	u32 i = 0;

	while (i < AP_ARRAY_SIZE(calls) && ap_filter_allows_nr(calls[i]))
		i++;
	return i == AP_ARRAY_SIZE(calls);
}

/*
 * Where no file may be so long: a pipe, as large as it can be, which is read once from its beginning to its end, as most
 * programs do.  Lock held.
 */
static bool pipe_in_place(s64 fd, bool cloexec, const char *path)
{
	s32 ends[2];
	bool ok;

	if (ap_sys2(AP_NR_pipe2, (u64)ends, AP_O_CLOEXEC | AP_O_NONBLOCK))
		return false;
	(void)ap_sys3(AP_NR_fcntl, (u64)ends[1], F_SETPIPE_SZ, PIPE_MAX);
	ok = fill_with(fd, ends[1], path, true);
	if (ok) {
		(void)ap_sys3(AP_NR_fcntl, (u64)ends[0], AP_F_SETFL, 0);
		ap_sys3(AP_NR_dup3, (u64)ends[0], (u64)fd, cloexec ? AP_O_CLOEXEC : 0);
	}
	ap_sys1(AP_NR_close, (u64)ends[0]);
	ap_sys1(AP_NR_close, (u64)ends[1]);
	return ok;
}

/* Puts the copy in place of fd; where that cannot be done the program gets the original. */
static void replace(s64 fd, bool cloexec, const char *path)
{
	s64 to = may_replace() ? ap_sys2(AP_NR_memfd_create, (u64) "maps", 1 /* MFD_CLOEXEC */)
			       : -AP_EPERM;

	if (ap_is_err(to))
		return;
	ap_lock_take(&ap_proc.lock);
	if (fill(fd, to, path)) {
		remember(copies, &ncopies, COPIES, to, path);
		ap_sys3(AP_NR_dup3, (u64)to, (u64)fd, cloexec ? AP_O_CLOEXEC : 0);
		ap_procfs_closes();
	} else {
		ap_sys3(AP_NR_lseek, (u64)fd, 0, 0);
		if (!pipe_in_place(fd, cloexec, path))
			ap_sys3(AP_NR_lseek, (u64)fd, 0, 0);
	}
	ap_lock_drop(&ap_proc.lock);
	ap_sys1(AP_NR_close, (u64)to);
}

/* Where the call is going to read, as far as it can be told: beyond the beginning is far enough. */
static u64 position(const struct ap_call *c, s32 fd)
{
	u64 at = UINT64_MAX, ptr = 0;

	switch (c->nr) {
	case AP_NR_pread64:
	case AP_NR_preadv:
	case AP_NR_preadv2:
		if (c->nr != AP_NR_preadv2 || c->a[3] != UINT64_MAX)
			return c->a[3];
		break;
	case AP_NR_sendfile:
		ptr = c->a[2];
		break;
	case AP_NR_splice:
	case AP_NR_copy_file_range:
		ptr = c->a[1];
		break;
	}
	if (ptr)
		return ap_safe_copy(&at, (const void *)ptr, sizeof(at)) ? UINT64_MAX : at;
	return (u64)ap_sys3(AP_NR_lseek, (u64)fd, 0, SEEK_CUR);
}

void ap_procfs_closes(void)
{
	if (__atomic_load_n(&ncopies, __ATOMIC_ACQUIRE))
		__atomic_fetch_add(&closes, 1, __ATOMIC_ACQ_REL);
}

void ap_procfs_files_shared(void)
{
	__atomic_store_n(&files_shared, true, __ATOMIC_RELEASE);
}

/* Where it is noted that the number is no copy; NULL where that cannot be trusted. */
static u64 *other(const struct ap_thread *t, s32 fd)
{
	if ((u32)fd >= NUMBERS || t->own_fd || __atomic_load_n(&files_shared, __ATOMIC_ACQUIRE))
		return NULL;
	return &others[fd];
}

/* Process lock held. */
static void fill_anew(struct known *k, s32 fd)
{
	s64 from;

	if (k->pid != ap_proc.seg->ns_pid || !may_replace())
		return;
	from = ap_sys3(AP_NR_open, (u64)k->path, AP_O_CLOEXEC, 0);
	if (ap_is_err(from))
		return;
	if (fill(from, fd, k->path))
		ap_seqfile_begin(&k->reader);
	ap_sys1(AP_NR_close, (u64)from);
}

/* How much one read of size bytes at pos gets.  Process lock held. */
static u64 part(struct known *k, s32 fd, u64 pos, u64 size)
{
	return ap_seqfile_read(&k->reader, fd, ends_with(k->path, "/smaps"), pos, size);
}

/* Of no length, or beyond what a program has: the kernel refuses it, whatever there is to read. */
static bool is_refused(u64 at, u64 size)
{
	return at > USER_END || size > USER_END - at;
}

/* All pieces: those behind what is read are looked at as well. */
static bool is_vector_refused(u64 at, u64 n)
{
	struct ap_iovec v;

	if (n > MOST_PIECES)
		return true;
	for (u64 i = 0; i < n; i++)
		if (ap_safe_copy(&v, (const void *)(at + i * sizeof(v)), sizeof(v)) ||
		    is_refused(v.base, v.len))
			return true;
	return false;
}

/* The kernel reads into one piece after another, until one is not filled.  Process lock held. */
static void cut_vector(struct known *k, struct ap_call *c, s32 fd, u64 pos, struct pieces *p)
{
	u64 all = c->a[2], n = all < VECTORS ? all : VECTORS, got, size;

	if (is_vector_refused(c->a[1], all) ||
	    ap_safe_copy(p->v, (const void *)c->a[1], n * sizeof(*p->v)))
		return;
	for (u64 i = 0; i < n; i++, pos += got) {
		size = p->v[i].len;
		got = part(k, fd, pos, size);
		p->v[i].len = got;
		p->size += got;
		if (got < size)
			n = all = i + 1;
	}
	p->rest_at = c->a[1] + n * sizeof(*p->v);
	p->nrest = all - n;
	c->a[1] = (u64)p->v;
	c->a[2] = n;
}

/* Makes the read as short as the kernel's would be.  Process lock held. */
static void cut(struct known *k, struct ap_call *c, s32 fd, struct pieces *pieces)
{
	u64 pos = position(c, fd);

	if ((s64)pos < 0 || is_one_record(k->path) || !ap_filter_allows_nr(AP_NR_pread64))
		return;
	if (c->nr != AP_NR_read && c->nr != AP_NR_pread64)
		cut_vector(k, c, fd, pos, pieces);
	else if (!is_refused(c->a[1], c->a[2]))
		c->a[2] = part(k, fd, pos, c->a[2]);
}

/*
 * Does the kernel make its text anew for a read at pos?  From the beginning, and from where the last read has not ended.
 * A status is one record, and the copying thread does not say how far it got.
 */
static bool is_elsewhere(const struct known *k, u64 pos, const struct pieces *pieces)
{
	return !pos || (pieces && (s64)pos > 0 && pos != k->reader.pos && !is_one_record(k->path));
}

/* pieces: where those of a read that is cut may stand until it has been made; NULL: of no read */
static void before_read(const struct ap_thread *t, struct ap_call *c, struct pieces *pieces)
{
	s32 fd = (s32)c->a[c->nr == AP_NR_sendfile];
	struct known *k;
	u64 *mark, now;

	if (ap_likely(!__atomic_load_n(&ncopies, __ATOMIC_ACQUIRE)))
		return;
	mark = other(t, fd);
	now = __atomic_load_n(&closes, __ATOMIC_ACQUIRE) + 1; /* before the look */
	if (mark && __atomic_load_n(mark, __ATOMIC_RELAXED) == now)
		return;
	ap_lock_take(&ap_proc.lock);
	k = find(copies, ncopies, COPIES, fd);
	if (k && is_elsewhere(k, position(c, fd), pieces))
		fill_anew(k, fd);
	if (k && pieces)
		cut(k, c, fd, pieces);
	else if (!k && mark)
		__atomic_store_n(mark, now, __ATOMIC_RELAXED);
	ap_lock_drop(&ap_proc.lock);
}

void ap_procfs_before_copy(const struct ap_thread *t, struct ap_call *c)
{
	before_read(t, c, NULL);
}

s64 ap_call_read(struct ap_thread *t, struct ap_call *c)
{
	struct pieces p;
	s64 sum = 0, ret;

	for (;;) {
		p.size = p.nrest = 0;
		before_read(t, c, &p);
		ret = ap_call_pass(t, c);
		if (ret < 0 || !p.nrest || (u64)ret != p.size)
			break;
		sum += ret;
		c->a[1] = p.rest_at;
		c->a[2] = p.nrest;
		if (c->nr != AP_NR_readv && (c->nr != AP_NR_preadv2 || c->a[3] != UINT64_MAX))
			c->a[3] += (u64)ret;
	}
	if (!sum) {
		ap_random_read(c, ret);
		return ret;
	}
	return ret < 0 ? sum : sum + ret; /* a signal may have come before the call */
}

bool ap_procfs_any_mem(void)
{
	return __atomic_load_n(&nmems, __ATOMIC_ACQUIRE);
}

bool ap_procfs_is_mem(s32 fd)
{
	return find(mems, nmems, MEMS, fd);
}

/* /proc/PID/mem or /proc/PID/task/TID/mem, of whomever. */
static bool is_mem(const char *path, u64 len)
{
	return len > 10 && !memcmp(path, "/proc/", 6) && !strcmp(path + len - 4, "/mem");
}

static u64 open_flags(const struct ap_call *c)
{
	u64 flags;

	switch (c->nr) {
	case AP_NR_open:
		return c->a[1];
	case AP_NR_creat:
		return O_CREAT_WRONLY_TRUNC;
	case AP_NR_openat:
		return c->a[2];
	default: /* the kernel has read the flags, they are there */
		return ap_safe_copy(&flags, (const void *)c->a[2], sizeof(flags)) ? 0 : flags;
	}
}

s64 ap_call_open(struct ap_thread *t, struct ap_call *c)
{
	char path[PATH_CAP];
	s64 len =
		ap_call_str(path, c->a[c->nr != AP_NR_open && c->nr != AP_NR_creat], sizeof(path));
	s64 ret = ap_call_pass(t, c);

	if (ret >= 0)
		ap_taken_opened((s32)ret, open_flags(c));
	if (ret >= 0 && len > 0 && open_flags(c) & O_ACCMODE)
		ap_service_opened(path, (u64)len);
	if (len <= 0 || ret < 0)
		return ret;
	ap_random_opened(path);
	if (is_own(t, path)) {
		replace(ret, open_flags(c) & AP_O_CLOEXEC, path);
	} else if (is_mem(path, (u64)len)) {
		ap_lock_take(&ap_proc.lock);
		remember(mems, &nmems, MEMS, ret, path);
		ap_lock_drop(&ap_proc.lock);
	}
	return ret;
}
