/* SPDX-License-Identifier: MIT */
/*
 * How much a read of /proc/self/maps and smaps returns.  The kernel makes whole records (a line; a
 * mapping's block of lines) in a buffer of a page: held here to what its text says it must return.  Run
 * natively this is a test of the kernel, counted it is one of the copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "task_test.h"

#define PAGE 4096
#define CAP  (1 << 20)

static char text[CAP];
static long ends[CAP / 32], nends; /* of the records */
static long buffered;		   /* up to here the kernel has made records */
static long last;		   /* behind the last read */

static long next_end(long at)
{
	for (long i = 0; i < nends; i++)
		if (ends[i] > at)
			return ends[i];
	return at;
}

static bool is_end(long at)
{
	for (long i = 0; i < nends; i++)
		if (ends[i] == at)
			return true;
	return !at;
}

/* What read(size) at pos must give. */
static long expected(long pos, long size)
{
	long made, rest;

	if (pos != last)
		buffered = is_end(pos) ? pos : next_end(pos);
	rest = buffered - pos;
	if (rest > size)
		return last = pos + size, size;
	size -= rest;
	made = next_end(buffered);
	while (made != next_end(made) && made - buffered < size && next_end(made) - buffered < PAGE)
		made = next_end(made);
	made -= buffered;
	buffered += made;
	rest += made < size ? made : size;
	last = pos + rest;
	return rest;
}

static void load(int fd, bool has_blocks)
{
	long n, len = 0;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, text + len, CAP - len)) > 0)
		len += n;
	nends = 0;
	for (char *nl = text; (nl = memchr(nl, '\n', text + len - nl));) {
		nl++;
		if (nl == text + len || !has_blocks || *nl < 'A' || *nl > 'Z')
			ends[nends++] = nl - text;
	}
	lseek(fd, 0, SEEK_SET);
	last = buffered = 0;
}

/* Sizes in turn, to the end. */
static bool reads_as_made(int fd, const long *sizes, int nsizes)
{
	static char got[CAP];
	long pos = 0, n = 1;

	for (int i = 0; n; i++, pos += n) {
		long size = sizes[i % nsizes], want = expected(pos, size);

		n = read(fd, got, size);
		if (n != want) {
			fprintf(stderr, "%ld of %ld at %ld: want %ld\n", n, size, pos, want);
			return false;
		}
	}
	return true;
}

static bool preads_as_made(int fd)
{
	static const long at[] = { 0, 17, 5000, 9000, 9001, 4095, 4096 };
	static char got[2 * PAGE];

	for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++) {
		long want = expected(at[i], sizeof(got));
		long n = pread(fd, got, sizeof(got), at[i]);

		if (n != want || memcmp(got, text + at[i], 8)) {
			fprintf(stderr, "%ld at %ld: want %ld\n", n, at[i], want);
			return false;
		}
	}
	return true;
}

static bool readv_as_made(int fd)
{
	static char got[3][2 * PAGE];
	struct iovec v[] = { { got[0], 100 }, { got[1], 50 }, { got[2], 2 * PAGE } };
	long want = 0, pos = 0, n;

	for (int turn = 0; turn < 3; turn++, pos += n) {
		want = 0;
		for (int i = 0; i < 3; i++) {
			long part = expected(pos + want, v[i].iov_len);

			want += part;
			if (part < (long)v[i].iov_len)
				break;
		}
		n = readv(fd, v, 3);
		if (n != want || memcmp(got[0], text + pos, 100)) {
			fprintf(stderr, "readv %ld: want %ld\n", n, want);
			return false;
		}
	}
	return true;
}

/* As many pieces as the kernel takes, and of other sizes. */
static bool many_as_made(int fd, int n, long size, bool at)
{
	static struct iovec v[1024];
	static char got[CAP];
	long want = 0, len;

	for (int i = 0; i < n; i++)
		v[i] = (struct iovec){ got + i * size, (size_t)size };
	for (int i = 0; i < n; i++) {
		long part = expected(at ? 100 + want : want, size);

		want += part;
		if (part < size)
			break;
	}
	memset(got, 0, sizeof(got));
	len = at ? preadv(fd, v, n, 100) : readv(fd, v, n);
	if (len != want || memcmp(got, text + (at ? 100 : 0), want)) {
		fprintf(stderr, "%d pieces of %ld: %ld, want %ld\n", n, size, len, want);
		return false;
	}
	return true;
}

static bool many_pieces_as_made(int fd)
{
	static const struct {
		int n;
		long size;
	} of[] = { { 16, 3 },	{ 17, 3 },     { 33, 7 },   { 100, 40 },
		   { 1024, 1 }, { 1024, 100 }, { 20, 5000 } };

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		load(fd, false);
		if (!many_as_made(fd, of[i].n, of[i].size, false))
			return false;
		load(fd, false);
		if (!many_as_made(fd, of[i].n, of[i].size, true))
			return false;
	}
	return true;
}

static void test(const char *path, bool has_blocks)
{
	static const long sizes[][3] = { { CAP, CAP, CAP },    { 1024, 1024, 1024 },
					 { 4096, 4096, 4096 }, { 4095, 1, 4097 },
					 { 7, 100, 3000 },     { 77, 77, 5000 } };
	int fd = open(path, O_RDONLY);

	printf("%s\n", path);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		load(fd, has_blocks);
		if (has_blocks && i) /* numbers of pages that are in change as it is read */
			break;
		CHECK(nends > 200, "enough of it");
		CHECK(reads_as_made(fd, sizes[i], 3), "reads");
	}
	if (!has_blocks) {
		load(fd, has_blocks);
		CHECK(preads_as_made(fd), "pread");
		load(fd, has_blocks);
		CHECK(readv_as_made(fd), "readv");
		CHECK(many_pieces_as_made(fd), "readv and preadv of many pieces");
		load(fd, has_blocks);
		lseek(fd, 6000, SEEK_SET);
		CHECK(read(fd, ends, 0) == 0, "none");
		CHECK(read(fd, ends, 5) == 5, "a few");
	}
	close(fd);
}

/* What the kernel refuses before it looks at the file, and what it does not. */
static void test_refused(void)
{
	static char got[PAGE];
	struct iovec v[20], *volatile all = v;
	volatile size_t none = 0; /* which compilers do not see through */
	int fd = open("/proc/self/maps", O_RDONLY);

	for (int i = 0; i < 20; i++)
		v[i] = (struct iovec){ got + 8 * i, 8 };
	CHECK(readv(fd, all, 2000 + (int)none) == -1 && errno == EINVAL, "too many pieces");
	CHECK(readv(fd, all, (int)none - 1) == -1 && errno == EINVAL, "fewer than none");
	CHECK(readv(fd, (struct iovec *)none, 2) == -1 && errno == EFAULT,
	      "pieces that are not there");
	v[1].iov_len = (size_t)-1;
	CHECK(readv(fd, v, 2) == -1 && errno == EINVAL, "a piece of less than nothing");
	CHECK(preadv(fd, v, 2, 0) == -1 && errno == EINVAL, "or from some place");
	CHECK(readv(fd, v + 1, 1) == -1 && errno == EINVAL, "or alone");
	v[1].iov_len = (size_t)1 << 63;
	CHECK(readv(fd, v, 2) == -1 && errno == EINVAL, "the least");
	v[1].iov_len = 8;
	v[19].iov_len = (size_t)-8;
	CHECK(readv(fd, v, 20) == -1 && errno == EINVAL, "behind many");
	CHECK(readv(fd, v, 16) == 16 * 8, "without it");
	v[1].iov_base = (void *)-4096L;
	CHECK(readv(fd, v, 2) == -1 && errno == EFAULT, "to where no program is");
	CHECK(read(fd, got, none - 1) == -1 && errno == EFAULT, "less than nothing");
	CHECK(readv(fd, v, 0) == 0, "no piece");
	CHECK(read(fd, got, 8) == 8, "and the file is as it was");
	CHECK(lseek(fd, 0, SEEK_CUR) == 17 * 8, "at the same place");
	close(fd);
}

static void test_status(void)
{
	int fd = open("/proc/self/status", O_RDONLY);
	char got[2 * PAGE];
	long n = read(fd, got, 100);

	CHECK(n == 100, "status in pieces of any size");
	n = read(fd, got, sizeof(got));
	CHECK(n > 500 && read(fd, got, sizeof(got)) == 0, "and all of the rest at once");
	close(fd);
}

int main(void)
{
	char *p = mmap(NULL, 400 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* that pages of this program are there or not does not change while it is read */
	memset(text, 0, sizeof(text));
	memset(ends, 0, sizeof(ends));
	for (int i = 0; i < 400; i += 2)
		mprotect(p + i * PAGE, PAGE, PROT_NONE);
	test("/proc/self/maps", false);
	test("/proc/self/smaps", true);
	test_refused();
	test_status();
	return task_failed;
}
