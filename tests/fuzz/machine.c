/* SPDX-License-Identifier: MIT */
/*
 * A file of a machine (--machine): what is read is checked, and written as it is read.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_machine m;
	char why[400], line[200], *text;
	size_t at = 0;

	memset(&m, 0, sizeof(m));
	text = fuzz_text(bytes, size, &at);
	if (!ap_machine_parse(&m, text, why, sizeof(why))) {
		ap_machine_check(&m);
		for (unsigned n = 0; ap_machine_key(&m, n, line, sizeof(line)); n++)
			;
	}
	free(text);
	return 0;
}
