/* SPDX-License-Identifier: MIT */
/* Random pieces of code, as the pipeline sees them. */
#ifndef PIECES_H
#define PIECES_H

#include <string.h>

#include "model/pipe.h"
#include "random.h"

struct piece {
	struct ap_pipe_link links[AP_PIPE_LINKS];
	unsigned n, ninsns;
	struct ap_pipe_flow flow;
	uint32_t list[AP_PIPE_LIST];
};

/* Few values, so that they meet. */
static inline void random_piece(struct piece *p)
{
	static const uint8_t values[] = { 0, 1, 2, 7, 16, 47, 48, 49, 61, 62 };

	memset(p, 0, sizeof(*p));
	p->ninsns = 1 + below(40);
	p->flow.busy = below(8) * 128;
	for (unsigned k = 0; k < sizeof(values); k++) {
		uint16_t start = below(200);

		if (below(3))
			continue;
		p->links[p->n++] = (struct ap_pipe_link){ AP_PIPE_START, values[k], start };
		if (p->flow.depth < (uint32_t)start << AP_PIPE_LINK_SHIFT)
			p->flow.depth = (uint32_t)start << AP_PIPE_LINK_SHIFT;
		for (unsigned in = below(4); in < sizeof(values); in += 1 + below(4))
			p->links[p->n++] =
				(struct ap_pipe_link){ values[in], values[k], below(start + 1) };
	}
	ap_pipe_plan(&p->flow, p->links, p->n, p->list);
	p->flow.list = p->list;
}

#endif
