/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * Samples of probes on probed(), whose tracepoints are the arguments: what each has as RAW behind the fields that all have,
 * as hexadecimal bytes.  What probed() is called with is known from reading this.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE  4096UL
#define PAGES 16UL
#define TEXT  3000

struct data {
	uint32_t bits;
	int16_t v[5];
	uint16_t gap;
	const char *names[4];
};

static const struct data data = {
	.bits = 0xfedcba98,
	.v = { 1, -2, 3, -4, 5 },
	.names = { "one", NULL, "three words there", (const char *)8 },
};
char global[] = "a global";	      /* found by its address */
char text[TEXT + 1], texts[2 * PAGE]; /* of a length that fits, and that does not */

__asm__(".text\n"
	"in_text: .asciz \"in the file\"\n"
	".previous\n");

__attribute__((noinline, aligned(16))) const char *probed(const struct data *d, const char *s,
							  int n);
__attribute__((noinline, aligned(16))) const char *probed(const struct data *d, const char *s,
							  int n)
{
	__asm__ volatile("" : "+r"(d), "+r"(n) : : "memory");
	return s + (n & 1);
}

static int open_probe(uint64_t id)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT };

	attr.config = id;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	attr.disabled = 1;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void print_raw(const char *at, int fields)
{
	uint32_t size;

	memcpy(&size, at, sizeof(size));
	for (uint32_t i = (uint32_t)fields; i < size; i++)
		printf("%02x", (unsigned char)at[sizeof(size) + i]);
	printf("\n");
}

/* fields: what all have, the last of which are addresses. */
static int show(uint64_t id, int fields)
{
	struct perf_event_mmap_page *page;
	const char *records;
	int fd = open_probe(id);

	page = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || page == MAP_FAILED) {
		perror("a probe");
		return 1;
	}
	records = (const char *)page + PAGE;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	probed(&data, "hello", -3);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (uint64_t at = 0; at < page->data_head;) {
		struct perf_event_header h;

		memcpy(&h, records + at, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE)
			print_raw(records + at + sizeof(h), fields);
		at += h.size;
	}
	munmap(page, (PAGES + 1) * PAGE);
	close(fd);
	return 0;
}

/* ID:FIELDS... */
int main(int argc, char **argv)
{
	int ret = 0;

	prctl(PR_SET_NAME, "its own name");
	memset(text, 'B', TEXT);
	memset(texts, 'A', sizeof(texts) - 1);
	for (int i = 1; i < argc; i++) {
		char *end;
		uint64_t id = strtoull(argv[i], &end, 0);

		ret |= show(id, atoi(end + 1));
	}
	return ret;
}
