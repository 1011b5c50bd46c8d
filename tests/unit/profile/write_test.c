/* SPDX-License-Identifier: MIT */
/*
 * The writer of perf.data: what the bytes of a file are, that it is whole after each flush, and that the
 * reader, which shares no code with it, gives back what was put.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/data/data.h"
#include "profile/data/origin.h"
#include "profile/data/record_buf.h"
#include "profile/data/write.h"
#include "profile/symbols/buildid.h"
#include "profile/symbols/running.h"
#include "tap/tap.h"

#define SAMPLE_TYPE 7ULL /* IP TID TIME */

static char dir[] = "/tmp/anyperf-write.XXXXXX";
static char path[64], old[64];

static void enter(void)
{
	REQUIRE(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/f", dir);
	snprintf(old, sizeof(old), "%s/f.old", dir);
}

static void leave(void)
{
	unlink(path);
	unlink(old);
	/* and nothing else may be there: rmdir refuses */
	EXPECT(rmdir(dir) == 0);
}

static const uint64_t ids[] = { 101, 102 };
static struct ap_write_event event = {
	.attr = { .type = 1, .sample_type = SAMPLE_TYPE, .sample_period = 7, .flags = 1ULL << 18 },
	.name = "cpu-clock",
	.ids = ids,
	.nids = 2,
};

static struct ap_writer *open_writer(unsigned int level)
{
	struct ap_write_options options = {
		.path = path, .events = &event, .nevents = 1, .level = level
	};
	struct ap_writer *w = NULL;

	REQUIRE(ap_writer_open(&w, &options) == 0);
	return w;
}

struct sample {
	uint32_t type;
	uint16_t misc, size;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
};

static struct sample sample(uint64_t n)
{
	return (struct sample){ 9, 2, sizeof(struct sample), 0x1000 + n, 5, 6, 1000 + n };
}

static void put_samples(struct ap_writer *w, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n < to; n++) {
		struct sample s = sample(n);

		REQUIRE(ap_writer_put(w, &s, sizeof(s)) == 0);
	}
}

/* How many samples a reader finds, each as it was put. */
static uint64_t count_samples(struct ap_data *d)
{
	struct ap_data_rec rec;
	uint64_t n = 0;

	while (ap_data_next(d, &rec) == 1) {
		struct sample s = sample(n);

		if (rec.h.type == 9 && EXPECT_MEM(rec.bytes, &s, sizeof(s)))
			n++;
	}
	EXPECT(ap_data_damage(d) == NULL);
	return n;
}

static uint64_t samples_in_file(void)
{
	char why[AP_DATA_WHY] = "";
	struct ap_data *d;
	uint64_t n;

	if (!EXPECT(ap_data_open(&d, path, false, why) == 0)) {
		tap_note("%s", why);
		return 0;
	}
	EXPECT(!ap_data_unfinished(d));
	n = count_samples(d);
	ap_data_close(d);
	return n;
}

static uint64_t word(const char *bytes, size_t at)
{
	uint64_t v;

	memcpy(&v, bytes + at, sizeof(v));
	return v;
}

static void a_file_is_laid_out_as_published(void)
{
	char b[1024];
	struct ap_writer *w;
	struct sample s = sample(0);
	size_t n;
	FILE *f;

	enter();
	w = open_writer(0);
	put_samples(w, 0, 1);
	REQUIRE(ap_writer_feature(w, 3, "\4\0\0\0abc", 8) == 0);
	REQUIRE(ap_writer_finish(w) == 0);
	f = fopen(path, "r");
	REQUIRE(f != NULL);
	n = fread(b, 1, sizeof(b), f);
	fclose(f);
	EXPECT_MEM(b, "PERFILE2", 8);
	EXPECT_U64(word(b, 8), 104);
	EXPECT_U64(word(b, 16), 128 + 16); /* attr and section of ids */
	EXPECT_U64(word(b, 24), 104 + 16); /* attrs: behind the ids */
	EXPECT_U64(word(b, 32), 144);
	EXPECT_U64(word(b, 40), 104 + 16 + 144);
	EXPECT_U64(word(b, 48), sizeof(s));
	EXPECT_U64(word(b, 72), 1 << 3);
	EXPECT_MEM(b + 104, ids, sizeof(ids));
	EXPECT_U64(word(b, 120), 1 | 128ULL << 32); /* type and size of the attr */
	EXPECT_U64(word(b, 120 + 128), 104);
	EXPECT_U64(word(b, 120 + 136), 16);
	EXPECT_MEM(b + 264, &s, sizeof(s));
	EXPECT_U64(word(b, 264 + sizeof(s)), 264 + sizeof(s) + 16);
	EXPECT_U64(word(b, 264 + sizeof(s) + 8), 8);
	EXPECT_MEM(b + 264 + sizeof(s) + 16, "\4\0\0\0abc", 8);
	EXPECT_U64(n, 264 + sizeof(s) + 16 + 8);
	leave();
}

static void a_file_is_whole_after_each_flush(void)
{
	struct ap_writer *w;
	struct stat st;

	enter();
	w = open_writer(0);
	EXPECT(stat(path, &st) < 0);
	for (uint64_t n = 0; n < 50; n += 10) {
		put_samples(w, n, n + 10);
		if (n)
			EXPECT_U64(samples_in_file(), n); /* what is not flushed is not seen */
		REQUIRE(ap_writer_flush(w) == 0);
		EXPECT_U64(samples_in_file(), n + 10);
	}
	REQUIRE(ap_writer_finish(w) == 0);
	EXPECT_U64(samples_in_file(), 50);
	leave();
}

static void the_file_before_it_is_kept(void)
{
	struct ap_writer *w;
	char text[8] = "";
	FILE *f;

	enter();
	f = fopen(path, "w");
	REQUIRE(f != NULL);
	fputs("before", f);
	fclose(f);
	w = open_writer(0);
	put_samples(w, 0, 3);
	REQUIRE(ap_writer_finish(w) == 0);
	EXPECT_U64(samples_in_file(), 3);
	f = fopen(old, "r");
	REQUIRE(f != NULL);
	EXPECT(fgets(text, sizeof(text), f) != NULL);
	fclose(f);
	EXPECT_STR(text, "before");
	leave();
}

static void packed_records_come_back(void)
{
	struct ap_writer *w;
	struct stat st;

	enter();
	w = open_writer(3);
	put_samples(w, 0, 20000);
	REQUIRE(ap_writer_flush(w) == 0);
	EXPECT_U64(samples_in_file(), 20000);
	REQUIRE(ap_writer_round(w) == 0);
	put_samples(w, 20000, 30000);
	EXPECT(ap_writer_ratio(w) > 1);
	REQUIRE(ap_writer_finish(w) == 0);
	EXPECT_U64(samples_in_file(), 30000);
	EXPECT(stat(path, &st) == 0 && (size_t)st.st_size < 30000 * sizeof(struct sample) / 2);
	leave();
}

/* Nothing can be packed smaller than chance; records as long as records may be. */
static void what_cannot_be_packed_comes_back(void)
{
	enum { SIZE = 65528, N = 5 };
	static uint8_t noise[N][SIZE];
	char why[AP_DATA_WHY];
	struct ap_data_rec rec;
	struct ap_writer *w;
	struct ap_data *d;
	int n = 0;

	enter();
	w = open_writer(1);
	srand(1);
	for (int i = 0; i < N; i++) {
		struct sample s = sample((uint64_t)i);

		for (int k = 0; k < SIZE; k++)
			noise[i][k] = (uint8_t)(rand() >> 7);
		s.size = SIZE;
		memcpy(noise[i], &s, sizeof(s));
		REQUIRE(ap_writer_put(w, noise[i], SIZE) == 0);
	}
	REQUIRE(ap_writer_finish(w) == 0);
	REQUIRE(ap_data_open(&d, path, false, why) == 0);
	while (ap_data_next(d, &rec) == 1)
		if (rec.h.type == 9)
			n += EXPECT(n < N) && EXPECT_MEM(rec.bytes, noise[n], SIZE);
	EXPECT_U64(n, N);
	EXPECT(ap_data_damage(d) == NULL);
	ap_data_close(d);
	leave();
}

static void stream_with(unsigned int level)
{
	int fd = memfd_create("stream", 0), copy = dup(fd);
	struct ap_write_options options = {
		.fd = copy, .events = &event, .nevents = 1, .level = level
	};
	char why[AP_DATA_WHY] = "";
	struct ap_writer *w;
	struct ap_data *d;
	void *bytes;
	off_t size;

	REQUIRE(fd >= 0 && ap_writer_open(&w, &options) == 0);
	put_samples(w, 0, 100);
	REQUIRE(ap_writer_round(w) == 0);
	REQUIRE(ap_writer_finish(w) == 0);
	/* the writer has closed its own */
	size = lseek(fd, 0, SEEK_END);
	bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	REQUIRE(bytes != MAP_FAILED);
	EXPECT_MEM(bytes, "PERFILE2\20\0\0\0\0\0\0\0", 16);
	REQUIRE(ap_data_open_memory(&d, bytes, (size_t)size, why) == 0);
	EXPECT(ap_data_is_pipe(d));
	EXPECT_U64(count_samples(d), 100);
	EXPECT_U64(ap_data_nevents(d), 1);
	EXPECT_U64(ap_data_event(d, 0)->nids, 2);
	ap_data_close(d);
}

static void a_stream_comes_back(void)
{
	stream_with(0);
}

static void a_packed_stream_comes_back(void)
{
	stream_with(1);
}

static void a_full_disk_is_an_error(void)
{
	struct ap_write_options options = { .path = "/dev/full", .events = &event, .nevents = 1 };
	struct ap_writer *w;

	REQUIRE(ap_writer_open(&w, &options) == 0);
	put_samples(w, 0, 1);
	EXPECT(ap_writer_flush(w) == -ENOSPC);
	EXPECT(ap_writer_put(w, "", 0) == -ENOSPC);
	EXPECT(ap_writer_finish(w) == -ENOSPC);
}

static void a_folder_that_is_not_there_is_an_error(void)
{
	struct ap_write_options options = { .path = "/nonexistent/f",
					    .events = &event,
					    .nevents = 1 };
	struct ap_writer *w;

	EXPECT(ap_writer_open(&w, &options) == -ENOENT);
}

static void a_longer_attr_is_written_where_it_says_more(void)
{
	struct ap_write_event longer = event;

	EXPECT_U64(ap_write_attr_size(&event, 1), 128);
	longer.attr.config3 = 1;
	EXPECT_U64(ap_write_attr_size(&longer, 1), 136);
}

static void a_record_that_is_too_long_is_taken_back(void)
{
	struct ap_buf buf = { 0 };
	size_t start;

	ap_buf_u64(&buf, 1);
	start = ap_buf_begin(&buf, 10, 0);
	ap_buf_zero(&buf, 65536 - 8);
	EXPECT(!ap_buf_end(&buf, start));
	EXPECT_U64(buf.size, 8);
	start = ap_buf_begin(&buf, 10, 3);
	ap_buf_zero(&buf, 65535 - 8);
	EXPECT(ap_buf_end(&buf, start));
	EXPECT_MEM(buf.data + 8, "\12\0\0\0\3\0\377\377", 8);
	ap_buf_fini(&buf);
}

/* --- origin */

static void a_file_says_where_it_comes_from(void)
{
	static char *argv[] = { (char *)"anyperf", (char *)"record", (char *)"x", NULL };
	struct ap_origin origin = { .version = "1.2",
				    .argv = argv,
				    .events = &event,
				    .nevents = 1,
				    .first_time = 10,
				    .last_time = 20 };
	char why[AP_DATA_WHY], host[256] = "";
	struct ap_writer *w;
	const uint8_t *times;
	struct ap_data *d;
	u64 size = 0;

	enter();
	w = open_writer(0);
	put_samples(w, 0, 1);
	REQUIRE(ap_origin_put(w, &origin) == 0);
	REQUIRE(ap_origin_put_times(w, &origin) == 0);
	REQUIRE(ap_writer_finish(w) == 0);
	REQUIRE(ap_data_open(&d, path, false, why) == 0);
	gethostname(host, sizeof(host));
	EXPECT_STR(ap_data_string(d, AP_FEAT_HOSTNAME), host);
	EXPECT_STR(ap_data_string(d, AP_FEAT_VERSION), "1.2");
	times = ap_data_feature(d, AP_FEAT_SAMPLE_TIME, &size);
	EXPECT_U64(size, 16);
	EXPECT_U64(ap_data_u64(d, times), 10);
	EXPECT_U64(ap_data_u64(d, times + 8), 20);
	EXPECT_STR(ap_data_event(d, 0)->name, "cpu-clock");
	ap_data_close(d);
	leave();
}

/* --- what runs already */

static int code_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += line[strcspn(line, " ") + 3] == 'x';
	if (maps)
		fclose(maps);
	return n;
}

static void what_runs_is_told_of(void)
{
	struct ap_buf buf = { 0 };
	struct ap_running running = { .to = &buf, .trailer = 16 };
	int forks = 0, comms = 0, maps = 0;

	ap_running_process(&running, getpid());
	for (size_t at = 0; at < buf.size;) {
		const char *r = buf.data + at;
		uint16_t size = (uint16_t)(word(r, 0) >> 48);
		uint32_t type = (uint32_t)word(r, 0);

		REQUIRE(size >= 24 && size % 8 == 0);
		EXPECT_U64(word(r, size - 16u), 0);
		EXPECT_U64(word(r, size - 8u), 0);
		EXPECT_U64((uint32_t)word(r, 8), (uint32_t)getpid());
		forks += type == 7;
		comms += type == 3;
		maps += type == 10;
		at += size;
	}
	EXPECT_U64(forks, 1);
	EXPECT_U64(comms, 1);
	EXPECT_U64(maps, code_mappings());
	EXPECT_U64(ap_trailer_size(&event.attr), 16); /* TID TIME */
	ap_buf_fini(&buf);
}

/* --- build ids, as binutils reads them */

static void build_ids_are_those_of_readelf(void)
{
	char command[128], line[256], got[64] = "", want[64] = "";
	u8 id[AP_BUILD_ID_MAX];
	size_t n;
	FILE *p;

	snprintf(command, sizeof(command), "readelf -n /bin/sh 2>/dev/null");
	p = popen(command, "r");
	REQUIRE(p != NULL);
	while (fgets(line, sizeof(line), p))
		sscanf(line, " Build ID: %63s", want);
	pclose(p);
	n = ap_build_id_of_file("/bin/sh", id);
	for (size_t i = 0; i < n; i++)
		snprintf(got + 2 * i, 3, "%02x", id[i]);
	EXPECT(n > 0);
	EXPECT_STR(got, want);
	EXPECT_U64(ap_build_id_of_file("/nonexistent", id), 0);
	EXPECT_U64(ap_build_id_of_file("/dev/null", id), 0);
	EXPECT_U64(ap_build_id_of_file("/proc/self/maps", id), 0);
	EXPECT(ap_build_id_of_mapping(0, "[vdso]", id) > 0);
	EXPECT_U64(ap_build_id_of_mapping(0, "//anon", id), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_file_is_laid_out_as_published),
		TAP(a_file_is_whole_after_each_flush),
		TAP(the_file_before_it_is_kept),
		TAP(packed_records_come_back),
		TAP(what_cannot_be_packed_comes_back),
		TAP(a_stream_comes_back),
		TAP(a_packed_stream_comes_back),
		TAP(a_full_disk_is_an_error),
		TAP(a_folder_that_is_not_there_is_an_error),
		TAP(a_longer_attr_is_written_where_it_says_more),
		TAP(a_record_that_is_too_long_is_taken_back),
		TAP(a_file_says_where_it_comes_from),
		TAP(what_runs_is_told_of),
		TAP(build_ids_are_those_of_readelf),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
