/* SPDX-License-Identifier: MIT */
/*
 * The rarer fields of a line, and the records that are not samples.
 */
#include <string.h>

#include "profile/hist/data_source.h"
#include "profile/script/script_internal.h"

/* By their numbers in the kernel's register masks of x86. */
static const char *const reg_names[] = { "AX", "BX",	"CX",  "DX",  "SI",  "DI",  "BP",  "SP",
					 "IP", "FLAGS", "CS",  "SS",  "DS",  "ES",  "FS",  "GS",
					 "R8", "R9",	"R10", "R11", "R12", "R13", "R14", "R15" };

static void regs(struct ap_buf *t, u64 abi, u64 mask, const u8 *words)
{
	u32 i, n = 0;

	if (!abi)
		return;
	ap_text_printf(t, " ABI:%llu ", (unsigned long long)abi);
	for (i = 0; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		ap_text_printf(t, "%5s:0x%llx ",
			       i < AP_ARRAY_SIZE(reg_names) ? reg_names[i] : "unknown",
			       (unsigned long long)ap_get64(words + (size_t)8 * n));
		n++;
	}
}

static void page_size(struct ap_buf *t, u64 bytes)
{
	char text[AP_PAGE_TEXT];

	ap_text_printf(t, " %s", ap_page_text(bytes, text, sizeof(text)));
}

void ap_script_extras(struct ap_script *c, struct ap_profile_thread *th,
		      const struct ap_data_event *ev, const struct ap_sample *s, u32 fields)
{
	struct ap_buf *t = &c->text;

	if (fields & AP_FIELD_IREGS)
		regs(t, s->regs_intr_abi, ev->attr.sample_regs_intr, s->regs_intr);
	if (fields & AP_FIELD_UREGS)
		regs(t, s->regs_abi, ev->attr.sample_regs_user, s->regs);
	if (fields & (AP_FIELD_BRSTACK | AP_FIELD_BRSTACKSYM))
		ap_script_branches(c, th, s, fields);
	if (fields & AP_FIELD_PHYS_ADDR)
		ap_text_hex(t, s->phys_addr, 16);
	if (fields & AP_FIELD_DATA_PAGE_SIZE)
		page_size(t, s->data_page_size);
	if (fields & AP_FIELD_CODE_PAGE_SIZE)
		page_size(t, s->code_page_size);
}

static void mapping(struct ap_buf *t, const struct ap_data_rec *rec)
{
	const u8 *p = rec->bytes;
	bool two = rec->h.type == AP_PERF_RECORD_MMAP2;
	u32 prot, off = two ? 72 : 40;

	if (rec->h.size <= off || !memchr(p + off, 0, rec->h.size - off))
		return;
	ap_text_printf(t, "PERF_RECORD_MMAP%s %d/%d: [%#llx(%#llx) @ ", two ? "2" : "",
		       (int)ap_get32(p + 8), (int)ap_get32(p + 12),
		       (unsigned long long)ap_get64(p + 16), (unsigned long long)ap_get64(p + 24));
	ap_text_printf(t, ap_get64(p + 32) ? "%#llx" : "%llu",
		       (unsigned long long)ap_get64(p + 32));
	if (!two) {
		ap_text_printf(t, "]: %c %s\n",
			       rec->h.misc & AP_PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x',
			       (const char *)p + off);
		return;
	}
	if (rec->h.misc & AP_PERF_RECORD_MISC_MMAP_BUILD_ID) {
		u32 i, n = p[40] <= 20 ? p[40] : 20;

		ap_text_str(t, " <");
		for (i = 0; i < n; i++)
			ap_text_printf(t, "%02x", p[44 + i]);
		ap_text_str(t, ">");
	} else {
		ap_text_printf(t, " %02x:%02x %llu %llu", ap_get32(p + 40), ap_get32(p + 44),
			       (unsigned long long)ap_get64(p + 48),
			       (unsigned long long)ap_get64(p + 56));
	}
	prot = ap_get32(p + 64);
	ap_text_printf(t, "]: %c%c%c%c %s\n", prot & 1 ? 'r' : '-', prot & 2 ? 'w' : '-',
		       prot & 4 ? 'x' : '-', ap_get32(p + 68) & 1 ? 's' : 'p',
		       (const char *)p + off);
}

static void task(struct ap_buf *t, const struct ap_data_rec *rec)
{
	const u8 *p = rec->bytes;

	if (rec->h.type == AP_PERF_RECORD_COMM) {
		if (rec->h.size > 16 && memchr(p + 16, 0, rec->h.size - 16U))
			ap_text_printf(t, "PERF_RECORD_COMM%s: %s:%d/%d\n",
				       rec->h.misc & AP_PERF_RECORD_MISC_COMM_EXEC ? " exec" : "",
				       (const char *)p + 16, (int)ap_get32(p + 8),
				       (int)ap_get32(p + 12));
		return;
	}
	if (rec->h.size >= 24)
		ap_text_printf(t, "PERF_RECORD_%s(%d:%d):(%d:%d)\n",
			       rec->h.type == AP_PERF_RECORD_FORK ? "FORK" : "EXIT",
			       (int)ap_get32(p + 8), (int)ap_get32(p + 16), (int)ap_get32(p + 12),
			       (int)ap_get32(p + 20));
}

static void switched(struct ap_buf *t, const struct ap_data_rec *rec)
{
	bool out = rec->h.misc & AP_PERF_RECORD_MISC_SWITCH_OUT;
	bool is_wide = rec->h.type == AP_PERF_RECORD_SWITCH_CPU_WIDE;
	const char *way = !out							 ? "IN         "
			  : rec->h.misc & AP_PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? "OUT preempt"
										 : "OUT        ";

	if (!is_wide)
		ap_text_printf(t, "PERF_RECORD_SWITCH %s\n", way);
	else if (rec->h.size >= 16)
		ap_text_printf(t, "PERF_RECORD_SWITCH_CPU_WIDE %s  %s pid/tid: %5d/%-5d\n", way,
			       out ? "next" : "prev", (int)ap_get32(rec->bytes + 8),
			       (int)ap_get32(rec->bytes + 12));
}

static void namespaces(struct ap_buf *t, const struct ap_data_rec *rec)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	const u8 *p = rec->bytes;
	u64 i, n = rec->h.size >= 24 ? ap_get64(p + 16) : 0;

	if (n > (rec->h.size - 24U) / 16)
		return;
	ap_text_printf(t, "PERF_RECORD_NAMESPACES %d/%d - nr_namespaces: %u\n\t\t[",
		       (int)ap_get32(p + 8), (int)ap_get32(p + 12), (u32)n);
	for (i = 0; i < n; i++) {
		if (i && !(i % 4))
			ap_text_str(t, "\n\t\t ");
		ap_text_printf(t, i + 1 < n ? "%u/%s: %llu/%#llx, " : "%u/%s: %llu/%#llx]\n",
			       (u32)i, i < AP_ARRAY_SIZE(names) ? names[i] : "unknown",
			       (unsigned long long)ap_get64(p + 24 + 16 * i),
			       (unsigned long long)ap_get64(p + 32 + 16 * i));
	}
}

static void cgroup(struct ap_buf *t, const struct ap_data_rec *rec)
{
	const char *path = (const char *)rec->bytes + 16;

	if (rec->h.size > 16 && memchr(path, 0, rec->h.size - 16U))
		ap_text_printf(t, "PERF_RECORD_CGROUP cgroup: %llu %s\n",
			       (unsigned long long)ap_get64(rec->bytes + 8), path);
}

static void lost(struct ap_buf *t, const struct ap_data_rec *rec)
{
	if (rec->h.size >= 24)
		ap_text_printf(t, "PERF_RECORD_LOST lost %llu\n",
			       (unsigned long long)ap_get64(rec->bytes + 16));
}

typedef void print_fn(struct ap_buf *t, const struct ap_data_rec *rec);

/* NULL: it is not to be shown. */
static print_fn *printer(const struct ap_script_opts *o, u32 type)
{
	switch (type) {
	case AP_PERF_RECORD_MMAP:
	case AP_PERF_RECORD_MMAP2:
		return o->mmaps ? mapping : NULL;
	case AP_PERF_RECORD_COMM:
	case AP_PERF_RECORD_FORK:
	case AP_PERF_RECORD_EXIT:
		return o->tasks ? task : NULL;
	case AP_PERF_RECORD_SWITCH:
	case AP_PERF_RECORD_SWITCH_CPU_WIDE:
		return o->switches ? switched : NULL;
	case AP_PERF_RECORD_NAMESPACES:
		return o->namespaces ? namespaces : NULL;
	case AP_PERF_RECORD_CGROUP:
		return o->cgroups ? cgroup : NULL;
	case AP_PERF_RECORD_LOST:
		return o->losses ? lost : NULL;
	default:
		return NULL;
	}
}

/* The name before it is that of the task which the record tells of, or which did it. */
static struct ap_profile_thread *whose(struct ap_script *c, const struct ap_data_rec *rec,
				       const struct ap_sample *s)
{
	switch (rec->h.type) {
	case AP_PERF_RECORD_SWITCH:
	case AP_PERF_RECORD_SWITCH_CPU_WIDE:
	case AP_PERF_RECORD_CGROUP:
	case AP_PERF_RECORD_LOST:
		return ap_session_thread(c->s, s->pid, s->tid);
	case AP_PERF_RECORD_FORK:
	case AP_PERF_RECORD_EXIT:
		return ap_session_thread(c->s, ap_get32(rec->bytes + 8), ap_get32(rec->bytes + 16));
	default:
		return ap_session_thread(c->s, ap_get32(rec->bytes + 8), ap_get32(rec->bytes + 12));
	}
}

void ap_script_side_band(struct ap_script *c, const struct ap_data_rec *rec)
{
	print_fn *print = printer(&c->opts, rec->h.type);
	const struct ap_data_event *ev = rec->event;
	bool is_switch = rec->h.type == AP_PERF_RECORD_SWITCH ||
			 rec->h.type == AP_PERF_RECORD_SWITCH_CPU_WIDE;
	struct ap_sample s;
	size_t at = c->text.size;

	if (!ev || !print || (rec->h.size < 24 && !is_switch))
		return;
	ap_sample_trailer(ev, rec->bytes, &s);
	if (s.cpu == ~0U)
		s.cpu = 0;
	ap_script_start(c, whose(c, rec, &s), ev, &s, c->fields[ap_script_type(ev)]);
	print(&c->text, rec);
	if (c->text.data[c->text.size - 1] != '\n')
		c->text.size = at;
}
