/* SPDX-License-Identifier: MIT */
/* A FILE in memory; see capture.h. */
#include "capture.h"

#include <stdlib.h>

FILE *capture_begin(struct capture *c)
{
	*c = (struct capture){ 0 };
	c->f = open_memstream(&c->text, &c->size);
	if (!c->f)
		abort();
	return c->f;
}

const char *capture_end(struct capture *c)
{
	fclose(c->f);
	return c->text;
}

void capture_free(struct capture *c)
{
	free(c->text);
}
