/* SPDX-License-Identifier: MIT */
/* A buffer that grows has all that was put into it, in order, and none of it moves by what comes behind. */
#include <string.h>

#include "base/buf.h"
#include "tap/tap.h"

static void it_has_what_was_put(void)
{
	struct ap_buf buf = { 0 };
	u32 n = 0;

	EXPECT(ap_buf_extend(&buf, 0) != NULL);
	EXPECT_U64(buf.size, 0);
	for (u32 i = 0; i < 5000; i++) {
		ap_buf_u32(&buf, i);
		ap_buf_zero(&buf, i % 7);
	}
	for (u32 i = 0; i < 5000; i++) {
		static const char zeros[7];
		u32 value;

		memcpy(&value, buf.data + n, sizeof(value));
		EXPECT_U64(value, i);
		EXPECT(!memcmp(buf.data + n + 4, zeros, i % 7));
		n += 4 + i % 7;
	}
	EXPECT_U64(buf.size, n);
	EXPECT(buf.room >= buf.size);
	ap_buf_fini(&buf);
	EXPECT(!buf.data && !buf.size && !buf.room);
}

static void without_memory_it_is_said_once(void)
{
	struct ap_buf buf = { 0 };

	ap_buf_u32(&buf, 7);
	buf.failed = true; /* as ap_buf_grow() leaves it */
	/* what follows is dropped, even if there were room */
	ap_buf_u32(&buf, 8);
	EXPECT_U64(buf.size, 4);
	ap_buf_fini(&buf);
	EXPECT(!buf.failed);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(it_has_what_was_put),
		TAP(without_memory_it_is_said_once),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
