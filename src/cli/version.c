/* SPDX-License-Identifier: MIT */
/*
 * `anyperf --version`.  The version is the Makefile's; the commit is that of the checkout that was built, and is left out
 * where there is none.  This file alone is compiled again when the commit changes.
 */
#include "cli/version.h"

#include "abi/session.h"
#include "print/print.h"

#ifndef AP_VERSION
#define AP_VERSION "unknown"
#endif
#ifndef AP_COMMIT
#define AP_COMMIT ""
#endif

const char ap_version[] = AP_VERSION;

void ap_version_print(FILE *out)
{
	const u64 layout = AP_SESSION_MAGIC; /* "anperf01" */

	ap_print(out, "anyperf version %s\n", ap_version);
	if (AP_COMMIT[0])
		fputs("commit: " AP_COMMIT "\n", out);
	ap_print(out, "engine: code cache for x86-64 Linux, session layout %.2s\n",
		 (const char *)&layout + 6);
	fputs("features: perf_events, perfctr, models, perf.data, DWARF, zstd, LZMA, jitdump, tracepoints, terminal browser\n",
	      out);
	fputs("found at run time: libZydis.so.4.0 or objdump (annotate), libpfm.so.4 (names of raw events)\n",
	      out);
}
