/* SPDX-License-Identifier: MIT */
/*
 * Random bytes that are the same in each run (--deterministic): those of getrandom, /dev/random and
 * /dev/urandom, for hash tables, and so counts, depend on them.  The kernel makes each call as it stands,
 * so what it answers is its own; then the bytes that it gave are written over.  So are the names in
 * /proc/sys/kernel/random: a uuid is made of the stream, the boot's is one for all.
 *
 * A process has a stream of numbers.  Forks and execs draw the beginning of their own from it, so
 * processes have different bytes (names that shall be unique are), and which ones does not depend
 * on which thread runs first.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/signal/signal.h"
#include "engine/transparency/transparency.h"
#include "sys/sys.h"

#define STEP	   0x9e3779b97f4a7c15ULL /* odd, so that all numbers come */
#define S_IFMT	   0170000
#define S_IFCHR	   0020000
#define DEV_RANDOM 0x108
#define DEV_URAND  0x109
#define PIECE	   256

#define UUID_TEXT 37 /* with its newline */

#define PROC_UUID    "/proc/sys/kernel/random/uuid"
#define PROC_BOOT_ID "/proc/sys/kernel/random/boot_id"

static bool may_read;	   /* a descriptor of such a device is known, or was */
static bool may_read_name; /* of such a file in /proc */
static bool has_begun;	   /* the one that the image began with has been looked at */

static u64 mixed(u64 n)
{
	n = (n ^ n >> 32) * 0xd6e8feb86659fd93ULL;
	n = (n ^ n >> 32) * 0xd6e8feb86659fd93ULL;
	return n ^ n >> 32;
}

u64 ap_random_next(void)
{
	return mixed(__atomic_add_fetch(&ap_proc.random, STEP, __ATOMIC_RELAXED));
}

u64 ap_random_of_image(struct ap_thread *t)
{
	if (t->is_vfork_child) {
		if (!t->image_random)
			t->image_random = ap_random_next();
		return t->image_random;
	}
	return mixed(__atomic_load_n(&ap_proc.random, __ATOMIC_RELAXED) + STEP);
}

/* As many bytes as fit: of the stream, or of a text. */
static void piece_of(u8 *piece, u64 n, const char *text)
{
	if (text) {
		memcpy(piece, text, n);
		return;
	}
	for (u64 i = 0; i < n; i += sizeof(u64)) {
		u64 next = ap_random_next();

		memcpy(piece + i, &next, sizeof(next));
	}
}

/* What cannot be written is as the kernel left it: another thread has taken the memory away. */
static void fill(u64 at, u64 size, const char *text)
{
	u8 piece[PIECE];

	for (u64 done = 0, n; done < size; done += n) {
		n = size - done < PIECE ? size - done : PIECE;
		piece_of(piece, n, text ? text + done : NULL);
		if (ap_safe_copy((void *)(at + done), piece, n))
			return;
	}
}

static void fill_vector(u64 at, u64 n, u64 size, const char *text)
{
	struct ap_iovec v;

	for (u64 i = 0; i < n && size; i++, size -= v.len) {
		if (ap_safe_copy(&v, (const void *)(at + i * sizeof(v)), sizeof(v)))
			return;
		if (v.len > size)
			v.len = size;
		fill(v.base, v.len, text);
		if (text)
			text += v.len;
	}
}

/* As RFC 4122 has it for random ones, of version 4. */
static void uuid_text(char text[UUID_TEXT], u64 high, u64 low)
{
	static const char digits[] = "0123456789abcdef";
	char *p = text;

	high = (high & ~0xf000ULL) | 0x4000;
	low = (low & ~(3ULL << 62)) | 2ULL << 62;
	for (u32 k = 0; k < 32; k++) {
		if (k == 8 || k == 12 || k == 16 || k == 20)
			*p++ = '-';
		*p++ = digits[(k < 16 ? high >> (60 - 4 * k) : low >> (124 - 4 * k)) & 15];
	}
	*p = '\n';
}

/* Nobody knows where a filter of the program's has no fstat (sys.h): the bytes stay as they are. */
static bool is_device(u64 fd)
{
	struct ap_kstat st;

	return !ap_sys2(AP_NR_fstat, fd, (u64)&st) && (st.mode & S_IFMT) == S_IFCHR &&
	       (st.rdev == DEV_RANDOM || st.rdev == DEV_URAND);
}

s64 ap_call_getrandom(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_pass(t, c);

	if (ret > 0 && ap_proc.flags & AP_F_DETERMINISTIC)
		fill(c->a[0], (u64)ret, NULL);
	return ret;
}

void ap_random_opened(const char *path)
{
	if (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random"))
		may_read = true;
	else if (!strcmp(path, PROC_UUID) || !strcmp(path, PROC_BOOT_ID))
		may_read_name = true;
}

/* Is it one of those files? Then their text, of which a read gets the beginning: at another place it gets none. */
static bool is_name(u64 fd, char text[UUID_TEXT])
{
	char link[32], path[sizeof(PROC_BOOT_ID)];
	struct ap_str s;
	u64 high;
	s64 n;

	ap_str_init(&s, link, sizeof(link));
	ap_str_add(&s, "/proc/self/fd/");
	ap_str_u64(&s, fd);
	n = ap_sys3(AP_NR_readlink, (u64)link, (u64)path, sizeof(path));
	if (n == sizeof(PROC_UUID) - 1 && !memcmp(path, PROC_UUID, (u64)n)) {
		high = ap_random_next();
		uuid_text(text, high, ap_random_next());
		return true;
	}
	if (n != sizeof(PROC_BOOT_ID) - 1 || memcmp(path, PROC_BOOT_ID, (u64)n) != 0)
		return false;
	uuid_text(text, mixed(STEP), mixed(2 * STEP));
	return true;
}

static void filled(const struct ap_call *c, u64 size, const char *text)
{
	if (c->nr == AP_NR_read || c->nr == AP_NR_pread64)
		fill(c->a[1], size, text);
	else
		fill_vector(c->a[1], c->a[2], size, text);
}

/* A shell gives it as the standard input; no other number is looked for. */
static bool begins_with_it(u64 fd)
{
	if (fd || has_begun)
		return false;
	has_begun = true;
	return is_device(fd);
}

void ap_random_read(const struct ap_call *c, s64 ret)
{
	char text[UUID_TEXT];

	if (ret <= 0 || !(ap_proc.flags & AP_F_DETERMINISTIC))
		return;
	if (begins_with_it(c->a[0]))
		may_read = true;
	if (may_read_name && (u64)ret <= UUID_TEXT && is_name(c->a[0], text))
		filled(c, (u64)ret, text);
	else if (may_read && is_device(c->a[0]))
		filled(c, (u64)ret, NULL);
}
