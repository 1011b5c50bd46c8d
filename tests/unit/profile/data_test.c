/* SPDX-License-Identifier: MIT */
/*
 * The reader of perf.data, on files that this test writes itself: what it delivers and in which order,
 * both byte orders, streams, packed records; and that no cut and no flipped byte brings it down.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "feed.h"
#include "file.h"
#include "profile/data/data.h"
#include "tap/tap.h"

/* IP TID TIME CPU PERIOD CALLCHAIN */
#define TYPE  (1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << 7 | 1ULL << 8 | 1ULL << 5)
#define FLAGS (1ULL << 18)

static struct file f;

static void put_sample(uint64_t ip, uint64_t time, uint32_t cpu)
{
	begin_record(&f, 9, 2);
	put64(&f, ip);
	put32(&f, 10);
	put32(&f, 11);
	put64(&f, time);
	put32(&f, cpu);
	put32(&f, 0);
	put64(&f, 100);
	put64(&f, 2);
	put64(&f, (uint64_t)-512);
	put64(&f, ip);
	end_record(&f);
}

static void put_comm(const char *name, uint64_t time)
{
	begin_record(&f, 3, 0);
	put32(&f, 10);
	put32(&f, 11);
	put_text(&f, name, 8);
	put32(&f, 10);
	put32(&f, 11);
	put64(&f, time);
	put32(&f, 3);
	put32(&f, 0);
	end_record(&f);
}

static void put_round(void)
{
	begin_record(&f, 68, 0);
	end_record(&f);
}

/* Two buffers, whose records come one after the other. */
static void write_all(bool swap)
{
	f.swap = swap;
	begin_file(&f, TYPE, FLAGS, 1ULL << 3);
	put_comm("first", 0);
	put_sample(0x1000, 50, 0);
	put_sample(0x1001, 70, 0);
	put_comm("name", 60);
	put_sample(0x2000, 65, 1);
	put_round();
	put_sample(0x1002, 90, 0);
	put_sample(0x2001, 68, 1);
	put_sample(0x2002, 90, 1);
	put_round();
	put_sample(0x1003, 95, 0);
	end_data(&f);
	put64(&f, f.n + 16); /* the only feature: a host's name */
	put64(&f, 4 + 8);
	put32(&f, 8);
	put_text(&f, "box", 8);
}

static struct ap_data *opened(void)
{
	char why[AP_DATA_WHY];
	struct ap_data *d = NULL;

	if (ap_data_open_memory(&d, f.bytes, f.n, why))
		tap_note("%s", why);
	REQUIRE(d);
	return d;
}

/* All records as text: type@time and of samples ip/cpu. */
static const char *list(struct ap_data *d)
{
	static char text[4096];
	struct ap_data_rec rec;
	size_t n = 0;

	text[0] = 0;
	while (ap_data_next(d, &rec) && n < sizeof(text) - 100) {
		struct ap_sample s;

		if (rec.h.type == 68)
			continue;
		n += (size_t)sprintf(text + n, "%u@%llu", rec.h.type, (unsigned long long)rec.time);
		if (rec.h.type == 9 && rec.event && !ap_sample_parse(rec.event, rec.bytes, &s))
			n += (size_t)sprintf(text + n, "=%llx/%u", (unsigned long long)s.ip, s.cpu);
		n += (size_t)sprintf(text + n, " ");
	}
	return text;
}

#define IN_ORDER                                                                                   \
	"3@0 9@50=1000/0 3@60 9@65=2000/1 9@68=2001/1 9@70=1001/0 9@90=1002/0 9@90=2002/1 "        \
	"9@95=1003/0 "

static void records_come_in_order_of_time(void)
{
	struct ap_data *d;

	write_all(false);
	d = opened();
	EXPECT_STR(list(d), IN_ORDER);
	EXPECT(!ap_data_damage(d));
	EXPECT_STR(ap_data_string(d, AP_FEAT_HOSTNAME), "box");
	EXPECT(!ap_data_string(d, AP_FEAT_CMDLINE));
	EXPECT_U64(ap_data_nevents(d), 1);
	EXPECT_STR(ap_data_event(d, 0)->name, "cpu-clock:HG");
	ap_data_close(d);
}

static void the_files_own_order_can_be_had(void)
{
	struct ap_data *d;

	write_all(false);
	d = opened();
	ap_data_unordered(d);
	EXPECT_STR(list(d), "3@0 9@50=1000/0 9@70=1001/0 3@60 9@65=2000/1 9@90=1002/0 "
			    "9@68=2001/1 9@90=2002/1 9@95=1003/0 ");
	ap_data_close(d);
}

static void foreign_byte_order_reads_the_same(void)
{
	struct ap_data_rec rec;
	struct ap_sample s;
	struct ap_data *d;

	write_all(true);
	d = opened();
	EXPECT(ap_data_swapped(d));
	EXPECT_U64(ap_data_event(d, 0)->attr.sample_period, 7);
	EXPECT_U64(ap_data_event(d, 0)->attr.flags, FLAGS);
	REQUIRE(ap_data_next(d, &rec) == 1 && rec.h.type == 3);
	EXPECT_STR((const char *)rec.bytes + 16, "first");
	EXPECT_U64(ap_get32(rec.bytes + 8), 10);
	ap_sample_trailer(rec.event, rec.bytes, &s);
	EXPECT_U64(s.tid, 11);
	EXPECT_U64(s.cpu, 3);
	do
		REQUIRE(ap_data_next(d, &rec) == 1);
	while (rec.h.type == 68);
	REQUIRE(rec.h.type == 9);
	REQUIRE(!ap_sample_parse(rec.event, rec.bytes, &s));
	EXPECT_U64(s.pid, 10);
	EXPECT_U64(s.tid, 11);
	EXPECT_U64(s.period, 100);
	REQUIRE(s.nchain == 2);
	EXPECT_U64(ap_get64(s.chain + 8), 0x1000);
	EXPECT_STR(ap_data_string(d, AP_FEAT_HOSTNAME), "box");
	ap_data_close(d);
	d = opened();
	EXPECT_STR(list(d), IN_ORDER);
	ap_data_close(d);
}

static void a_stream_reads_as_a_file(void)
{
	struct ap_data *d;

	f.swap = false;
	f.n = 0;
	put64(&f, 0x32454c4946524550ULL);
	put64(&f, 16);
	begin_record(&f, 64, 0);
	put_attr(&f, TYPE, FLAGS);
	put64(&f, 5); /* its id */
	end_record(&f);
	begin_record(&f, 80, 0);
	put64(&f, 3);
	put32(&f, 8);
	put_text(&f, "piped", 12);
	end_record(&f);
	begin_record(&f, 78, 0); /* a name for event 5 */
	put64(&f, 2);
	put64(&f, 5);
	put_text(&f, "mine", 8);
	end_record(&f);
	put_sample(0x10, 20, 0);
	put_sample(0x11, 10, 0);
	d = opened();
	EXPECT_STR(list(d), "64@0 80@0 78@0 9@10=11/0 9@20=10/0 ");
	EXPECT(!ap_data_damage(d));
	EXPECT_STR(ap_data_string(d, AP_FEAT_HOSTNAME), "piped");
	EXPECT_STR(ap_data_event(d, 0)->name, "mine");
	ap_data_close(d);
}

/* The data packed, cut into two parcels in the middle of a record. */
static void write_packed(uint32_t type)
{
	static uint8_t packed[65536];
	size_t from, n, half;

	write_all(false);
	from = 184;
	end_data(&f);
	n = ZSTD_compress(packed, sizeof(packed), f.bytes + from, f.n - 28 - from, 1);
	REQUIRE(!ZSTD_isError(n));
	f.n = from;
	for (half = 0; half < 2; half++) {
		size_t a = half ? n / 2 : 0, b = half ? n : n / 2, i;

		begin_record(&f, type, 0);
		if (type == 83)
			put64(&f, b - a);
		for (i = a; i < b; i++)
			put8(&f, packed[i]);
		while (type == 83 && (f.n - f.record) % 8)
			put8(&f, 0);
		end_record(&f);
	}
	end_data(&f);
	put64(&f, f.n + 16);
	put64(&f, 0);
}

static void packed_records_are_unpacked(void)
{
	uint32_t type;

	for (type = 81; type <= 83; type += 2) {
		struct ap_data *d;

		write_packed(type);
		d = opened();
		EXPECT_STR(list(d), IN_ORDER);
		EXPECT(!ap_data_damage(d));
		ap_data_close(d);
	}
}

static void an_unfinished_file_is_read_to_its_end(void)
{
	struct ap_data *d;

	write_all(false);
	f.n -= 28 + 8; /* no features, and the last record is cut */
	memset(f.bytes + 48, 0, 8);
	d = opened();
	EXPECT(ap_data_unfinished(d));
	EXPECT_STR(list(d), "3@0 9@50=1000/0 3@60 9@65=2000/1 9@68=2001/1 9@70=1001/0 "
			    "9@90=1002/0 9@90=2002/1 ");
	EXPECT(!ap_data_damage(d));
	ap_data_close(d);
}

/* A copy of its own for each size, so that the sanitizer sees each byte too far. */
static bool read_cut(size_t n, size_t flip, int how)
{
	uint8_t *copy = malloc(n ? n : 1);
	bool whole;

	REQUIRE(copy);
	memcpy(copy, f.bytes, n);
	if (flip < n)
		copy[flip] = (uint8_t)(how ? copy[flip] ^ 0xff : copy[flip] + 1);
	whole = feed(copy, n);
	free(copy);
	return whole;
}

static void every_cut_is_an_error_or_reads_the_rest(void)
{
	int kind;

	for (kind = 0; kind < 3; kind++) {
		size_t n;

		if (kind == 2)
			write_packed(81);
		else
			write_all(kind);
		EXPECT(read_cut(f.n, ~(size_t)0, 0));
		for (n = 0; n < f.n - 28; n++) {
			if (read_cut(n, ~(size_t)0, 0)) {
				tap_note("cut at %zu passes for whole", n);
				EXPECT(false);
			}
		}
	}
}

static void no_damaged_byte_brings_it_down(void)
{
	size_t kind, i;

	for (kind = 0; kind < 3; kind++) {
		if (kind == 2)
			write_packed(81);
		else
			write_all(kind);
		for (i = 0; i < f.n; i++) {
			read_cut(f.n, i, 0);
			read_cut(f.n, i, 1);
		}
	}
	EXPECT(true);
}

/* What a fuzzer found interesting, from the root of the sources. */
static void the_corpus_is_survived(void)
{
	DIR *dir = opendir("tests/fuzz/corpus/perf_data");
	struct dirent *e;
	int n = 0;

	REQUIRE(dir);
	while ((e = readdir(dir))) {
		char path[512];
		uint8_t *copy;
		size_t size;
		FILE *in;

		snprintf(path, sizeof(path), "tests/fuzz/corpus/perf_data/%s", e->d_name);
		if (e->d_name[0] == '.' || !(in = fopen(path, "rb")))
			continue;
		size = fread(f.bytes, 1, sizeof(f.bytes), in);
		fclose(in);
		copy = malloc(size ? size : 1);
		REQUIRE(copy);
		memcpy(copy, f.bytes, size);
		feed(copy, size);
		free(copy);
		n++;
	}
	closedir(dir);
	EXPECT(n > 3);
}

static void what_is_no_perf_data_is_refused(void)
{
	char why[AP_DATA_WHY];
	struct ap_data *d;

	EXPECT(ap_data_open_memory(&d, "\177ELF............................", 32, why));
	EXPECT_STR(why, "is not a perf.data file (no PERFILE2 at its start)");
	EXPECT(ap_data_open_memory(&d, "", 0, why));
	EXPECT(ap_data_open(&d, "/nonexistent", false, why));
	EXPECT_STR(why, "No such file or directory");
	EXPECT(ap_data_open(&d, "/", false, why));
}

/* Many ascending runs of many lengths against the plainest sort there is. */
static void long_queues_are_sorted_and_stable(void)
{
	static uint64_t times[900];
	struct ap_data_rec rec;
	struct ap_data *d;
	uint64_t seed = 1, last = 0, last_ip = 0;
	size_t i, n = AP_ARRAY_SIZE(times), seen = 0, wrong = 0;

	f.swap = false;
	begin_file(&f, 1ULL << 0 | 1ULL << 2, FLAGS, 0);
	for (i = 0; i < n; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		times[i] =
			seed >> 60 ? (i ? times[i - 1] : 1) + (seed >> 62) : 1 + (seed >> 33) % 300;
		begin_record(&f, 9, 2);
		put64(&f, i);
		put64(&f, times[i]);
		end_record(&f);
	}
	end_data(&f);
	d = opened();
	while (ap_data_next(d, &rec)) {
		uint64_t ip = ap_get64(rec.bytes + 8);

		if (rec.time < last || (rec.time == last && seen && ip < last_ip) ||
		    rec.time != times[ip])
			wrong++;
		last = rec.time;
		last_ip = ip;
		seen++;
	}
	EXPECT_U64(seen, n);
	EXPECT_U64(wrong, 0);
	ap_data_close(d);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(records_come_in_order_of_time),
						 TAP(the_files_own_order_can_be_had),
						 TAP(foreign_byte_order_reads_the_same),
						 TAP(a_stream_reads_as_a_file),
						 TAP(packed_records_are_unpacked),
						 TAP(an_unfinished_file_is_read_to_its_end),
						 TAP(every_cut_is_an_error_or_reads_the_rest),
						 TAP(no_damaged_byte_brings_it_down),
						 TAP(the_corpus_is_survived),
						 TAP(what_is_no_perf_data_is_refused),
						 TAP(long_queues_are_sorted_and_stable),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
