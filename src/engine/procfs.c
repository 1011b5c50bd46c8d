/* SPDX-License-Identifier: MIT */
/*
 * /proc/self/maps and smaps as the program would see them natively: a memfd with a copy that
 * lacks the engine's mappings and shows the program's own permission where a page of generated
 * code is write-protected.  The copy stands under the number that the open gave.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/task.h"

#define PATH_CAP 64   /* longer ones are none of ours */
#define LINE_CAP 4352 /* a path and what stands before it */
#define IN_CAP	 (16ULL << 10)
#define OUT_CAP	 (32ULL << 10)

struct filter {
	s64 from, to;
	char *in, *out; /* one mapping */
	u64 in_len, in_pos, out_len;
	bool keep; /* smaps: lines that follow a mapping's own belong to it */
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

/* Is it one of the names of our own maps or smaps? */
static bool is_own_maps(const struct ap_thread *t, const char *p)
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
	return !strcmp(p, "maps") || !strcmp(p, "smaps");
}

static void flush(struct filter *f)
{
	s64 ret;

	for (u64 at = 0; at < f->out_len; at += (u64)ret) {
		ret = ap_sys3(AP_NR_write, (u64)f->to, (u64)f->out + at, f->out_len - at);
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

struct piece {
	u64 start, end, off;
	char perms[5];
	const char *tail; /* "device inode path\n" */
	bool file, changed;
};

/* Pieces that only differ because of us become one again. */
static void put_piece(struct filter *f, const struct piece *p)
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
static void put_part(struct filter *f, const struct piece *whole, u64 lo, u64 hi)
{
	struct piece p = *whole;
	bool code = p.perms[1] == '-' && p.perms[2] == 'x';

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
static bool parse(const char *line, struct piece *p)
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

static void do_line(struct filter *f, const char *line, u64 len)
{
	struct piece p;
	u64 lo, hi;

	if (!parse(line, &p)) {
		if (f->keep) {
			put_held(f);
			put(f, line, len);
		}
		return;
	}
	f->keep = false;
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
	if (got <= 0)
		return false;
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
			}
			f->in_pos += len;
		}
	} while (refill(f));
	put_held(f);
	flush(f);
}

/* Puts the copy in place of fd; where that cannot be done the program gets the original. */
static void replace(s64 fd, bool cloexec)
{
	struct filter *f = ap_mem_map(0, sizeof(*f) + IN_CAP + OUT_CAP);

	if (!f)
		return;
	f->from = fd;
	f->in = (char *)(f + 1);
	f->out = f->in + IN_CAP;
	f->to = ap_sys2(AP_NR_memfd_create, (u64) "maps", 1 /* MFD_CLOEXEC */);
	if (!ap_is_err(f->to)) {
		ap_lock_take(&ap_proc.lock);
		copy(f);
		ap_lock_drop(&ap_proc.lock);
		ap_sys3(AP_NR_lseek, (u64)f->to, 0, 0);
		if (!f->failed)
			ap_sys3(AP_NR_dup3, (u64)f->to, (u64)fd, cloexec ? AP_O_CLOEXEC : 0);
		else
			ap_sys3(AP_NR_lseek, (u64)fd, 0, 0);
		ap_sys1(AP_NR_close, (u64)f->to);
	}
	ap_mem_unmap(f, sizeof(*f) + IN_CAP + OUT_CAP);
}

static bool wants_cloexec(const struct ap_call *c)
{
	u64 flags;

	switch (c->nr) {
	case AP_NR_open:
		return c->a[1] & AP_O_CLOEXEC;
	case AP_NR_openat:
		return c->a[2] & AP_O_CLOEXEC;
	default: /* the kernel has read the flags, they are there */
		return !ap_safe_copy(&flags, (const void *)c->a[2], sizeof(flags)) &&
		       flags & AP_O_CLOEXEC;
	}
}

s64 ap_call_open(struct ap_thread *t, struct ap_call *c)
{
	char path[PATH_CAP];
	s64 len = ap_call_str(path, c->a[c->nr != AP_NR_open], sizeof(path));
	s64 ret = ap_call_pass(t, c);

	if (len > 0 && ret >= 0 && is_own_maps(t, path))
		replace(ret, wants_cloexec(c));
	return ret;
}
