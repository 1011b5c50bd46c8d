/* SPDX-License-Identifier: MIT */
/*
 * Where the code for ways is: chunks of executable memory, which are emptied when descriptions are.  By then nobody
 * reads a log.  Threads that read execute it without a lock, so chunks are added and never taken away.
 */
#include "engine/access/feed_code.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/mem.h"

#define CHUNK	   (256UL << 10)
#define CHUNKS_MAX 128U
#define REACH	   0x70000000ULL /* as units have it */
#define LONGEST	   8192U	 /* few ways need more, and may have none */

static u8 *chunks[CHUNKS_MAX];
static u32 nchunks, current, used;

static bool has_room(u64 near)
{
	u8 *chunk;

	if (current < nchunks && used + LONGEST <= CHUNK)
		return true;
	if (current + 1 < nchunks) {
		current++;
		used = 0;
		return true;
	}
	if (nchunks == CHUNKS_MAX)
		return false;
	/* nothing in it needs to be near low code, and low places are what programs ask for */
	chunk = ap_mem_map_exec(near < 1ULL << 32 ? ap_proc.blob_lo : near, CHUNK, REACH);
	if (!chunk)
		return false;
	current = nchunks;
	used = 0;
	chunks[nchunks] = chunk;
	__atomic_store_n(&nchunks, nchunks + 1, __ATOMIC_RELEASE);
	return true;
}

ap_feed_code ap_feed_code_make(const struct ap_feed_way *way, u32 id, const struct ap_mem *like)
{
	struct ap_emit e;
	ap_feed_code code;

	if (!has_room(way->pc))
		return NULL;
	e = (struct ap_emit){ chunks[current] + used, chunks[current] + CHUNK, false };
	code = ap_feed_code_emit(&e, way, id, like);
	if (code) {
		ap_emit_align(&e, 16);
		used = (u32)(e.p - chunks[current]);
	}
	return code;
}

void ap_feed_code_forget(void)
{
	current = used = 0;
}

bool ap_feed_code_contains(u64 pc)
{
	u32 n = __atomic_load_n(&nchunks, __ATOMIC_ACQUIRE);

	for (u32 k = 0; k < n; k++)
		if (pc - (u64)chunks[k] < CHUNK)
			return true;
	return false;
}
