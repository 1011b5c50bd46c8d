/* SPDX-License-Identifier: MIT */
/*
 * Makes a large perf.data of a small one: its samples again and again, later each time, with a round
 * ended after each copy.  For measuring readers; knows as much of the format as that takes.
 *
 *	grow_profile small.data large.data MEGABYTES
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static void add64(unsigned char *p, uint64_t more)
{
	uint64_t v = get64(p) + more;

	memcpy(p, &v, 8);
}

static unsigned char *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = NULL;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 104 || !(p = malloc((size_t)n)) ||
	    fseek(f, 0, SEEK_SET) || fread(p, 1, (size_t)n, f) != (size_t)n) {
		fprintf(stderr, "grow_profile: cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	*size = (size_t)n;
	return p;
}

/* Where a sample keeps its time; 0: it has none. */
static size_t time_at(uint64_t sample_type)
{
	size_t at = 8;

	if (!(sample_type & 1 << 2))
		return 0;
	at += sample_type & 1 << 16 ? 8 : 0;
	at += sample_type & 1 ? 8 : 0;
	at += sample_type & 2 ? 8 : 0;
	return at;
}

int main(int argc, char **argv)
{
	static const unsigned char round[8] = { 68, 0, 0, 0, 0, 0, 8, 0 };
	unsigned char *in, *samples;
	uint64_t off, len, want, done, first = 0, last = 0, feat, i;
	size_t size, n = 0, at, k;
	FILE *out;

	if (argc != 4)
		return 2;
	in = slurp(argv[1], &size);
	off = get64(in + 40);
	len = get64(in + 48);
	want = strtoull(argv[3], NULL, 10) << 20;
	at = time_at(get64(in + get64(in + 24) + 24));
	samples = malloc(len + sizeof(round));
	out = fopen(argv[2], "wb");
	if (off + len > size || !at || !samples || !out)
		return 1;
	for (i = off; i < off + len;) {
		uint16_t rec;
		uint32_t type;

		memcpy(&type, in + i, 4);
		memcpy(&rec, in + i + 6, 2);
		if (type == 9) {
			memcpy(samples + n, in + i, rec);
			if (!first || get64(samples + n + at) < first)
				first = get64(samples + n + at);
			if (get64(samples + n + at) > last)
				last = get64(samples + n + at);
			n += rec;
		}
		i += rec;
	}
	memcpy(samples + n, round, 8);
	fwrite(in, 1, off + len, out);
	for (done = len; done + n + 8 < want; done += n + 8) {
		for (k = 0; k < n;) {
			uint16_t rec;

			memcpy(&rec, samples + k + 6, 2);
			add64(samples + k + at, last - first + 1);
			k += rec;
		}
		fwrite(samples, 1, n + 8, out);
	}
	/* the features' list and what it points to move by what was put in */
	feat = off + len;
	for (i = 0; i < 256; i++) {
		if (in[72 + i / 8] >> i % 8 & 1) {
			add64(in + feat, done - len);
			feat += 16;
		}
	}
	fwrite(in + off + len, 1, size - off - len, out);
	if (fseek(out, 48, SEEK_SET) || fwrite(&done, 8, 1, out) != 1 || fclose(out)) {
		fprintf(stderr, "grow_profile: cannot write %s\n", argv[2]);
		return 1;
	}
	return 0;
}
