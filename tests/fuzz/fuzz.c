/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/plant.h"

/* AP_FUZZ_PLANT names the fault that is to be there. */
bool ap_plant_is(const char *name)
{
	static const char *wanted;
	static bool asked;

	if (!asked)
		wanted = getenv("AP_FUZZ_PLANT");
	asked = true;
	return wanted && !strcmp(wanted, name);
}

_Noreturn void ap_plant_found(const char *name)
{
	fprintf(stderr, "planted: %s\n", name);
	abort();
}

int fuzz_file(const void *bytes, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

FILE *fuzz_sink(void)
{
	static FILE *out;

	if (!out)
		out = fopen("/dev/null", "w");
	if (!out)
		abort();
	return out;
}

char *fuzz_text(const uint8_t *bytes, size_t size, size_t *at)
{
	const uint8_t *from = bytes + *at, *end = memchr(from, 0, size - *at);
	size_t n = end ? (size_t)(end - from) : size - *at;
	char *text = malloc(n + 1);

	if (!text)
		abort();
	memcpy(text, from, n);
	text[n] = '\0';
	*at += n + !!end;
	return text;
}
