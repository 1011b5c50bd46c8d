/* SPDX-License-Identifier: MIT */
/*
 * The machine that is modelled, by name: a built-in one, this one, or a file's.
 */
#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/raw.h"
#include "base/table.h"
#include "files/error.h"
#include "files/in.h"
#include "linux/session/machine.h"
#include "linux/session/options.h"
#include "model/machine.h"
#include "perfctr/model/x86.h"

#define FILE_MAX 65536

/* Of the same vendor as the CPU, as raw codes are; always the same otherwise, so that counts compare. */
const struct ap_machine *ap_machine_default(void)
{
	return ap_machine_find(ap_cpu_id_machine());
}

u64 ap_machine_absent(const struct ap_machine *m)
{
	const struct {
		u32 has;
		u64 kinds;
	} parts[] = {
		{ m->l2.size, AP_KINDS_TO(AP_KIND_L2_LOAD, AP_KIND_L2_CODE) |
				      AP_KIND_BIT(AP_KIND_STALL_L2_MISS) |
				      AP_KIND_BIT(AP_KIND_LOAD_L2_HIT) },
		{ m->dtlb.entries, AP_KIND_BIT(AP_KIND_DTLB_LOAD_MISS) |
					   AP_KIND_BIT(AP_KIND_DTLB_STORE_MISS) |
					   AP_KIND_BIT(AP_KIND_DTLB_LOAD_WALK) |
					   AP_KIND_BIT(AP_KIND_DTLB_STORE_WALK) },
		{ m->itlb.entries,
		  AP_KIND_BIT(AP_KIND_ITLB_MISS) | AP_KIND_BIT(AP_KIND_ITLB_WALK) },
		{ m->bp.btb_entries, AP_KIND_BIT(AP_KIND_BTB_MISS) },
		{ m->nodes > 1,
		  AP_KIND_BIT(AP_KIND_NODE_LOAD_MISS) | AP_KIND_BIT(AP_KIND_NODE_STORE_MISS) },
		/* clocks of no frequency, where cycles have one */
		{ m->ref_mhz || !m->mhz, AP_KIND_BIT(AP_KIND_REF_CYCLES) },
		{ m->bus_mhz || !m->mhz, AP_KIND_BIT(AP_KIND_BUS_CYCLES) },
	};
	u64 absent = 0;

	for (size_t i = 0; i < AP_ARRAY_SIZE(parts); i++)
		absent |= parts[i].has ? 0 : parts[i].kinds;
	return absent;
}

static void ask_cpu(void *arg, u32 leaf, u32 subleaf, u32 regs[4])
{
	(void)arg;
	__cpuid_count(leaf, subleaf, regs[0], regs[1], regs[2], regs[3]);
}

/* Its text, ended; 0 or an error that is named in why. */
static int read_text(FILE *f, char text[FILE_MAX], char *why, size_t size)
{
	size_t n = fread(text, 1, FILE_MAX, f);

	if (ferror(f))
		snprintf(why, size, "%s", strerror(errno));
	else if (n == FILE_MAX)
		snprintf(why, size, "too long for a machine's file: it has 64 KiB at least");
	else if (memchr(text, '\0', n))
		snprintf(why, size, "no text: it has a zero byte");
	else {
		text[n] = '\0';
		return 0;
	}
	return -EINVAL;
}

static int read_file(struct ap_machine *m, const char *path, char *why, size_t size)
{
	char *text = malloc(FILE_MAX), what[128];
	int ret;
	FILE *f = ap_in_stream(path, 0, &ret);

	if (!f && ret != -ENOENT) {
		snprintf(why, size, "%s: %s", path, ap_file_error(ret));
		ret = -EINVAL;
	} else if (!f || !text) {
		snprintf(why, size,
			 "%s is no machine that is built in ('anyperf stat --help' lists them), "
			 "nor a file: %s",
			 path, ap_file_error(f ? ENOMEM : ret));
		ret = -EINVAL;
	} else {
		ret = read_text(f, text, what, sizeof(what));
		if (!ret)
			ret = ap_machine_parse(m, text, what, sizeof(what));
		if (ret)
			snprintf(why, size, "%s: %s", path, what);
	}
	if (f)
		fclose(f);
	free(text);
	return ret;
}

int ap_run_machine(struct ap_run_options *opts, const char *name, char *why, size_t size)
{
	static struct ap_machine chosen;
	const struct ap_machine *m = ap_machine_find(name);
	int ret = 0;

	memset(&chosen, 0, sizeof(chosen));
	if (!m && !strcmp(name, "host"))
		ap_machine_host(&chosen, ask_cpu, NULL, "/sys/devices/system/cpu/cpu0/cache");
	else if (!m)
		ret = read_file(&chosen, name, why, size);
	opts->machine = m ? m : &chosen;
	ap_cpu_id_of_machine(m ? m->name : "");
	return ret;
}

int ap_run_perfctr_cpu(struct ap_run_perf *perf, const char *name, char *why, size_t size)
{
	size_t n;

	perf->perfctr_cpu = name;
	if (ap_x86model_find(name))
		return 0;
	n = (size_t)snprintf(why, size, "is none of");
	for (unsigned int i = 0; ap_x86model_name(i) && n < size; i++)
		n += (size_t)snprintf(why + n, size - n, " %s", ap_x86model_name(i));
	return -EINVAL;
}

u64 ap_run_machine_id(const struct ap_run_options *opts, char *name, size_t size)
{
	const struct ap_machine *m = opts->machine ? opts->machine : ap_machine_default();
	u64 hash = AP_HASH_TEXT;
	char line[256];

	snprintf(name, size, "%s", m->name);
	for (unsigned int n = 0; ap_machine_key(m, n, line, sizeof(line)); n++)
		hash = ap_hash_text(hash, line, strlen(line));
	return hash;
}

bool ap_run_machine_line(const struct ap_run_options *opts, unsigned int n, char *text, size_t size)
{
	const struct ap_machine *m = opts->machine ? opts->machine : ap_machine_default();

	if (n)
		return ap_machine_key(m, n - 1, text, size);
	snprintf(text, size, "name = %s", m->name);
	return true;
}

int ap_run_machine_number(const struct ap_run_options *opts, const char *key, double *v)
{
	const struct ap_machine *m = opts->machine ? opts->machine : ap_machine_default();
	size_t len = strlen(key);
	char line[256];

	for (unsigned int n = 0; ap_machine_key(m, n, line, sizeof(line)); n++) {
		const char *value = line + len + strspn(line + len, " =");
		char *end;

		if (strncmp(line, key, len) != 0 || (line[len] != ' ' && line[len] != '='))
			continue;
		*v = strtod(value, &end);
		return end == value ? -ENOENT : 0;
	}
	return -ENOENT;
}
