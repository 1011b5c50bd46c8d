/* SPDX-License-Identifier: MIT */
/* What a function prints on a FILE, as a string. */
#ifndef AP_TESTS_CAPTURE_H
#define AP_TESTS_CAPTURE_H

#include <stddef.h>
#include <stdio.h>

struct capture {
	FILE *f;
	char *text;
	size_t size;
};

FILE *capture_begin(struct capture *c);
/* Valid until capture_free. */
const char *capture_end(struct capture *c);
void capture_free(struct capture *c);

#endif
