/* SPDX-License-Identifier: MIT */
/* Arguments of probes as uprobe_events has them, and the steps that they become. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/host/probe_form.h"
#include "tap/tap.h"

#define STEP AP_PROBE_STEP

static const struct row {
	const char *args;
	int want;
	u64 step[8];
} rows[] = {
	{ "", 0, { 0 } },
	{ "a=%di\n", 0, { STEP(AP_PROBE_REG, 0, 5), STEP(AP_PROBE_PUT, 8, 0) } },
	{ "%r15:u8", 0, { STEP(AP_PROBE_REG, 0, 23), STEP(AP_PROBE_PUT, 1, 0) } },
	{ "r=$retval:s32 s=$stack",
	  0,
	  { STEP(AP_PROBE_REG, 0, 0), STEP(AP_PROBE_PUT, 4, 0), STEP(AP_PROBE_REG, 0, 7),
	    STEP(AP_PROBE_PUT, 8, 0) } },
	{ "$stack12:x16", 0, { STEP(AP_PROBE_STACK, 0, 12), STEP(AP_PROBE_PUT, 2, 0) } },
	{ "m=+8(%bp):u32", 0, { STEP(AP_PROBE_REG, 0, 6), STEP(AP_PROBE_PUT_AT, 4, 8) } },
	{ "-16(+u0x20(%r8))",
	  0,
	  { STEP(AP_PROBE_REG, 0, 16), STEP(AP_PROBE_DEREF, 0, 32),
	    STEP(AP_PROBE_PUT_AT, 8, -16) } },
	{ "c=\\-7:s8", 0, { STEP(AP_PROBE_IMM, 0, -7), STEP(AP_PROBE_PUT, 1, 0) } },
	{ "s=+8(%si):string n=\\3:u8",
	  0,
	  { STEP(AP_PROBE_REG, 0, 4), STEP(AP_PROBE_STRING, 0, 8), STEP(AP_PROBE_IMM, 0, 3),
	    STEP(AP_PROBE_PUT, 1, 0) } },
	{ "s=+u0(+8(%si)):ustring",
	  0,
	  { STEP(AP_PROBE_REG, 0, 4), STEP(AP_PROBE_DEREF, 0, 8), STEP(AP_PROBE_STRING, 0, 0) } },
	{ "s=+8(%si):string[3]",
	  0,
	  { STEP(AP_PROBE_REG, 0, 4), STEP(AP_PROBE_STRINGS, 0, 8), STEP(AP_PROBE_TIMES, 0, 3) } },
	{ "c=$comm d=$comm:string", 0, { STEP(AP_PROBE_COMM, 0, 0), STEP(AP_PROBE_COMM, 0, 0) } },
	{ "$COMM", 0, { STEP(AP_PROBE_COMM, 0, 0) } }, /* the kernel knows both */
	{ "t=\\\"text c=%di:char",
	  0,
	  { STEP(AP_PROBE_IMM, 0, -1), STEP(AP_PROBE_STRING, 0, 0), STEP(AP_PROBE_REG, 0, 5),
	    STEP(AP_PROBE_PUT, 1, 0) } },
	{ "b=%di:b3@5/32",
	  0,
	  { STEP(AP_PROBE_REG, 0, 5), STEP(AP_PROBE_PUT, 4, 0),
	    STEP(AP_PROBE_BITS, 0, AP_PROBE_SHIFTS(24, 29)) } },
	{ "b=+4(%di):b4@4/8[64]",
	  0,
	  { STEP(AP_PROBE_REG, 0, 5), STEP(AP_PROBE_PUT_AT, 1, 4),
	    STEP(AP_PROBE_BITS, 0, AP_PROBE_SHIFTS(0, 4)), STEP(AP_PROBE_TIMES, 0, 64) } },
	{ "v=+0(%di):u32[4]",
	  0,
	  { STEP(AP_PROBE_REG, 0, 5), STEP(AP_PROBE_PUT_AT, 4, 0), STEP(AP_PROBE_TIMES, 0, 4) } },
	{ "a=@0x404040:u16", 0, { STEP(AP_PROBE_IMM, 0, 0x404040), STEP(AP_PROBE_PUT_AT, 2, 0) } },
	{ "a=+2(@+0x3050):string",
	  0,
	  { STEP(AP_PROBE_FILE, 0, 0x2050), STEP(AP_PROBE_DEREF, 0, 0),
	    STEP(AP_PROBE_STRING, 0, 2) } },
	{ "b=%di:b3@30/32", -EOPNOTSUPP, { 0 } },
	{ "b=%di:b3@5/24", -EOPNOTSUPP, { 0 } },
	{ "v=%di:u32[4]", -EOPNOTSUPP, { 0 } },
	{ "v=+0(%di):u32[65]", -EOPNOTSUPP, { 0 } },
	{ "v=+0(%di):u32[0]", -EOPNOTSUPP, { 0 } },
	{ "v=+0(%di):u32[4", -EOPNOTSUPP, { 0 } },
	{ "s=%di:string", -EOPNOTSUPP, { 0 } },
	{ "c=$comm:string[2]", -EOPNOTSUPP, { 0 } },
	{ "c=+0($comm):string[2]", -EOPNOTSUPP, { 0 } },
	{ "a=@symbol", -EOPNOTSUPP, { 0 } },
	{ "a=%ip:symbol", -EOPNOTSUPP, { 0 } },
	{ "a=%ip:symstr", -EOPNOTSUPP, { 0 } },
	{ "a=%nosuch", -EOPNOTSUPP, { 0 } },
	{ "a=+8(%di", -EOPNOTSUPP, { 0 } },
	{ "a=\\0x1000000000000", -EOPNOTSUPP, { 0 } },
};

static void lines_are_these_steps(void)
{
	static struct ap_probe_form form;

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		EXPECT(ap_probe_form_parse(rows[i].args, 0x1000, &form) == rows[i].want);
		EXPECT(rows[i].want || !memcmp(form.step, rows[i].step, sizeof(rows[i].step)));
	}
}

static void places_are_given_back(void)
{
	struct ap_session *s = calloc(1, AP_BOARD_OFF);
	struct ap_probe_form form = { .id = 7 };
	u32 number;

	REQUIRE(s);
	for (u32 i = 1; i <= AP_PROBE_FORMS; i++, form.id++) {
		EXPECT(!ap_probe_form_take(s, &form, &number) && number == i);
		ap_probe_form_of(s, number)->users++;
	}
	EXPECT(ap_probe_form_take(s, &form, &number) == -ENOSPC);
	form.id = 9;
	EXPECT(!ap_probe_form_take(s, &form, &number) && number == 3);
	ap_probe_form_of(s, 5)->users = 0;
	form.id = 99;
	EXPECT(!ap_probe_form_take(s, &form, &number) && number == 5);
	free(s);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(lines_are_these_steps),
						 TAP(places_are_given_back),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
