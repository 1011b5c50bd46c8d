/* SPDX-License-Identifier: MIT */
#include "profile/symbols/disasm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/symbols/disasm_internal.h"

struct ap_disasm {
	char objdump[4096];	/* "": not to be had */
	struct ap_zydis *zydis; /* when objdump cannot */
	bool intel, zydis_tried;
	const u8 *code;
	size_t size;
	u64 vaddr;
	struct ap_objdump said;
	bool has_said;
	u32 at; /* in said */
};

static struct ap_zydis *zydis(struct ap_disasm *d)
{
	if (!d->zydis_tried)
		d->zydis = ap_zydis_new(d->intel);
	d->zydis_tried = true;
	return d->zydis;
}

struct ap_disasm *ap_disasm_new(const struct ap_disasm_opts *opts, char *why, size_t size)
{
	struct ap_disasm *d = ap_profile_calloc(1, sizeof(*d));

	d->intel = opts->intel;
	if (ap_objdump_find(opts->objdump, d->objdump, sizeof(d->objdump)))
		return d;
	d->objdump[0] = 0;
	if (opts->objdump)
		snprintf(why, size, "--objdump: %s cannot be run", opts->objdump);
	else if (zydis(d))
		return d;
	else
		snprintf(why, size,
			 "needs objdump (package binutils) or libZydis.so.4.0 (libzydis4.0) to "
			 "show instructions");
	ap_disasm_free(d);
	return NULL;
}

void ap_disasm_free(struct ap_disasm *d)
{
	ap_objdump_fini(&d->said);
	if (d->zydis)
		ap_zydis_free(d->zydis);
	free(d);
}

void ap_disasm_begin(struct ap_disasm *d, const u8 *code, size_t size, u64 vaddr)
{
	d->code = code;
	d->size = size;
	d->vaddr = vaddr;
	d->at = 0;
	ap_objdump_fini(&d->said);
	d->has_said =
		d->objdump[0] && ap_objdump_run(&d->said, d->objdump, d->intel, code, size, vaddr);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* Words before the mnemonic: prefixes of the instruction. */
static const char *mnemonic(const char *text)
{
	static const char *const prefix[] = { "bnd",   "notrack", "data16",   "cs",
					      "ds",    "es",	  "ss",	      "fs",
					      "gs",    "addr32",  "rep",      "repz",
					      "repnz", "lock",	  "xacquire", "xrelease" };
	size_t n;

again:
	n = strcspn(text, " \t");
	for (size_t i = 0; i < AP_ARRAY_SIZE(prefix); i++) {
		bool is = strlen(prefix[i]) == n && !strncmp(prefix[i], text, n);

		if ((is || !strncmp(text, "rex.", 4)) && is_space(text[n])) {
			text += n + strspn(text + n, " \t");
			goto again;
		}
	}
	return text;
}

const char *ap_disasm_operand(const char *text)
{
	text = mnemonic(text);
	text += strcspn(text, " \t");
	return text + strspn(text, " \t");
}

bool ap_disasm_is_call(const char *text)
{
	return !strncmp(mnemonic(text), "call", 4);
}

/*
 * Of code without a file around it, objdump writes addresses with 0x, and in place of names
 * ".data+0x12".
 */
static u64 take_target(char *text)
{
	char *name = strrchr(text, '<'), *where = strstr(text, "# "), *end;
	const char *op = mnemonic(text);
	u64 target;

	if (name && name > text && name[-1] == ' ' && !strncmp(name, "<.data", 6))
		name[-1] = 0;
	if (where)
		where += 2;
	else if (op[0] == 'j' || !strncmp(op, "call", 4) || !strncmp(op, "loop", 4) ||
		 !strncmp(op, "xbegin", 6))
		where = text + (ap_disasm_operand(text) - text);
	if (!where)
		return 0;
	target = strtoull(where, &end, 16);
	if (end == where || *end)
		return 0;
	sprintf(where, "%llx", (unsigned long long)target);
	return target;
}

u32 ap_disasm_next(struct ap_disasm *d, size_t off, char *text, size_t room, u64 *target)
{
	const struct ap_objdump_line *line = d->said.line;
	u64 vaddr = d->vaddr + off, next;

	*target = 0;
	if (!d->has_said)
		return zydis(d) ? ap_zydis_next(d->zydis, d->code + off, d->size - off, vaddr, text,
						room, target)
				: 0;
	while (d->at < d->said.n && line[d->at].vaddr < vaddr)
		d->at++;
	if (d->at == d->said.n || line[d->at].vaddr != vaddr)
		return 0;
	snprintf(text, room, "%s", line[d->at].text);
	*target = take_target(text);
	next = d->at + 1 < d->said.n ? line[d->at + 1].vaddr : d->vaddr + d->size;
	return next > vaddr && next - vaddr <= d->size - off ? (u32)(next - vaddr) : 0;
}
