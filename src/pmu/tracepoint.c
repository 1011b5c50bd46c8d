/* SPDX-License-Identifier: MIT */
/*
 * Names, ids and formats of tracepoints.  Records that carry what the formats say are laid out by
 * them, so a format is written here once: as fields, from which offsets follow by C's rules.
 */
#include "pmu/tracepoint.h"

#include "base/mem.h"

struct trace_field {
	const char *decl; /* as C declares it */
	u32 size;
	bool is_signed;
};

struct trace_point {
	u32 id;
	const char *system, *name;
	struct trace_field fields[8]; /* ends with decl NULL */
	const char *print;
};

#define INT(d)                                                                                     \
	{                                                                                          \
		"int " d, 4, true                                                                  \
	}
#define PID(d)                                                                                     \
	{                                                                                          \
		"pid_t " d, 4, true                                                                \
	}
#define LONG(d)                                                                                    \
	{                                                                                          \
		"long " d, 8, true                                                                 \
	}
#define ULONG(d)                                                                                   \
	{                                                                                          \
		"unsigned long " d, 8, false                                                       \
	}
#define COMM(d)                                                                                    \
	{                                                                                          \
		"char " d "[16]", 16, false                                                        \
	}
#define TEXT(d)                                                                                    \
	{                                                                                          \
		"__data_loc char[] " d, 4, false                                                   \
	}

/* clang-format off */
static const struct trace_point points[] = {
	{ AP_TRACE_RAW_SYS_ENTER, "raw_syscalls", "sys_enter",
	  { LONG("id"), { "unsigned long args[6]", 48, false } },
	  "\"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)\", REC->id, REC->args[0], REC->args[1], "
	  "REC->args[2], REC->args[3], REC->args[4], REC->args[5]" },
	{ AP_TRACE_RAW_SYS_EXIT, "raw_syscalls", "sys_exit",
	  { LONG("id"), LONG("ret") },
	  "\"NR %ld = %ld\", REC->id, REC->ret" },
	{ AP_TRACE_SIGNAL_GENERATE, "signal", "signal_generate",
	  { INT("sig"), INT("errno"), INT("code"), COMM("comm"), PID("pid"), INT("group"), INT("result") },
	  "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", REC->sig, REC->errno, REC->code, "
	  "REC->comm, REC->pid, REC->group, REC->result" },
	{ AP_TRACE_SIGNAL_DELIVER, "signal", "signal_deliver",
	  { INT("sig"), INT("errno"), INT("code"), ULONG("sa_handler"), ULONG("sa_flags") },
	  "\"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", REC->sig, REC->errno, REC->code, "
	  "REC->sa_handler, REC->sa_flags" },
	{ AP_TRACE_SCHED_FORK, "sched", "sched_process_fork",
	  { TEXT("parent_comm"), PID("parent_pid"), TEXT("child_comm"), PID("child_pid") },
	  "\"comm=%s pid=%d child_comm=%s child_pid=%d\", __get_str(parent_comm), REC->parent_pid, "
	  "__get_str(child_comm), REC->child_pid" },
	{ AP_TRACE_SCHED_EXEC, "sched", "sched_process_exec",
	  { TEXT("filename"), PID("pid"), PID("old_pid") },
	  "\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid" },
	{ AP_TRACE_SCHED_EXIT, "sched", "sched_process_exit",
	  { COMM("comm"), PID("pid"), INT("prio"), { "bool group_dead", 1, false } },
	  "\"comm=%s pid=%d prio=%d group_dead=%s\", REC->comm, REC->pid, REC->prio, "
	  "REC->group_dead ? \"true\" : \"false\"" },
};
/* clang-format on */
#define NPOINTS ((u32)AP_ARRAY_SIZE(points))

static const struct trace_point *find_point(u64 id)
{
	u32 i;

	for (i = 0; i < NPOINTS; i++) {
		if (points[i].id == id)
			return &points[i];
	}
	return NULL;
}

/* NULL where the id is of no system call */
static const struct ap_syscall_desc *find_call(u64 id)
{
	u64 nr = (id - AP_TRACE_SYSCALL_BASE) / 2;

	if (id < AP_TRACE_SYSCALL_BASE || nr >= ap_nsyscalls || !ap_syscalls[nr].name)
		return NULL;
	return &ap_syscalls[nr];
}

bool ap_tracepoint_exists(u64 id)
{
	return find_point(id) || find_call(id);
}

bool ap_tracepoint_is_kernel(u32 id)
{
	return id < AP_TRACE_SYSCALL_BASE;
}

bool ap_tracepoint_is_of_call(u32 id)
{
	return id == AP_TRACE_RAW_SYS_ENTER || id == AP_TRACE_RAW_SYS_EXIT || find_call(id);
}

u32 ap_tracepoint_args(u32 id)
{
	const struct ap_syscall_desc *call = find_call(id);
	u32 n = 1;

	if (!call || id & 1)
		return id == AP_TRACE_RAW_SYS_ENTER ? 6 : 0;
	if (!call->args || !*call->args)
		return 0;
	for (const char *p = call->args; *p; p++)
		n += *p == ',';
	return n;
}

static void add_name(struct ap_str *s, u32 id)
{
	const struct trace_point *p = find_point(id);

	if (p) {
		ap_str_add(s, p->name);
		return;
	}
	ap_str_add(s, id & 1 ? "sys_exit_" : "sys_enter_");
	ap_str_add(s, find_call(id)->name);
}

static void fill(struct ap_tracepoint *out, u32 id)
{
	const struct trace_point *p = find_point(id);
	struct ap_str s;

	out->id = id;
	out->system = p ? p->system : "syscalls";
	ap_str_init(&s, out->name, sizeof(out->name));
	add_name(&s, id);
}

bool ap_tracepoint_get(u32 n, struct ap_tracepoint *out)
{
	u32 nr;

	if (n < NPOINTS) {
		fill(out, points[n].id);
		return true;
	}
	n -= NPOINTS;
	for (nr = 0; nr < ap_nsyscalls; nr++) {
		if (!ap_syscalls[nr].name)
			continue;
		if (n < 2) {
			fill(out, ap_trace_sys_enter(nr) + n);
			return true;
		}
		n -= 2;
	}
	return false;
}

static bool is_text(const char *s, size_t len, const char *text)
{
	return strlen(text) == len && !memcmp(s, text, len);
}

/* sys_enter_NAME or sys_exit_NAME */
static u32 find_call_point(const char *name, size_t len)
{
	bool is_exit = len > 9 && !memcmp(name, "sys_exit_", 9);
	u32 nr, skip = is_exit ? 9 : 10;

	if (!is_exit && (len <= 10 || memcmp(name, "sys_enter_", 10)))
		return 0;
	for (nr = 0; nr < ap_nsyscalls; nr++) {
		if (ap_syscalls[nr].name && is_text(name + skip, len - skip, ap_syscalls[nr].name))
			return is_exit ? ap_trace_sys_exit(nr) : ap_trace_sys_enter(nr);
	}
	return 0;
}

u32 ap_tracepoint_find(const char *name, size_t len)
{
	const char *colon = memchr(name, ':', len);
	size_t nsystem, nname;
	u32 i;

	if (!colon)
		return 0;
	nsystem = (size_t)(colon - name);
	nname = len - nsystem - 1;
	if (is_text(name, nsystem, "syscalls"))
		return find_call_point(colon + 1, nname);
	for (i = 0; i < NPOINTS; i++) {
		if (is_text(name, nsystem, points[i].system) &&
		    is_text(colon + 1, nname, points[i].name))
			return points[i].id;
	}
	return 0;
}

static void add_field(struct ap_str *s, const char *decl, size_t len, u32 off, u32 size,
		      bool is_signed)
{
	ap_str_add(s, "\tfield:");
	ap_str_add_n(s, decl, len);
	ap_str_add(s, ";\toffset:");
	ap_str_u64(s, off);
	ap_str_add(s, ";\tsize:");
	ap_str_u64(s, size);
	ap_str_add(s, is_signed ? ";\tsigned:1;\n" : ";\tsigned:0;\n");
}

/* Alignment of a field: that of its elements. */
static u32 field_align(const struct trace_field *f)
{
	if (f->size == 1 || !strncmp(f->decl, "char ", 5))
		return 1;
	return f->size < 8 ? f->size : 8;
}

static u32 add_fields(struct ap_str *s, const struct trace_field *f, u32 off)
{
	for (; f->decl; f++) {
		off = (u32)AP_ALIGN_UP(off, field_align(f));
		add_field(s, f->decl, strlen(f->decl), off, f->size, f->is_signed);
		off += f->size;
	}
	return off;
}

/* Arguments are words of the machine whatever their types; visit is called for each declaration. */
static void each_arg(const char *args, struct ap_str *s,
		     void (*visit)(struct ap_str *s, u32 n, const char *decl, size_t len))
{
	const char *comma;
	u32 n;

	for (n = 0; *args; n++) {
		comma = strchr(args, ',');
		visit(s, n, args, comma ? (size_t)(comma - args) : strlen(args));
		if (!comma)
			return;
		args = comma + 1;
	}
}

static void visit_field(struct ap_str *s, u32 n, const char *decl, size_t len)
{
	add_field(s, decl, len, 16 + 8 * n, 8, false);
}

/* Where the declared name begins: the last word, without the stars of a pointer. */
static size_t name_at(const char *decl, size_t len)
{
	size_t at = len;

	while (at && decl[at - 1] != ' ' && decl[at - 1] != '*')
		at--;
	return at;
}

static void add_arg_name(struct ap_str *s, const char *decl, size_t len)
{
	size_t at = name_at(decl, len);

	ap_str_add_n(s, decl + at, len - at);
}

static void visit_print(struct ap_str *s, u32 n, const char *decl, size_t len)
{
	ap_str_add(s, n ? ", " : "");
	add_arg_name(s, decl, len);
	ap_str_add(s, ": 0x%08lx");
}

static void visit_value(struct ap_str *s, u32 n, const char *decl, size_t len)
{
	(void)n;
	ap_str_add(s, ", ((unsigned long)(REC->");
	add_arg_name(s, decl, len);
	ap_str_add(s, "))");
}

/* What all have, what all of calls have, what their exits have. */
static const struct trace_field common[] = { { "unsigned short common_type", 2, false },
					     { "unsigned char common_flags", 1, false },
					     { "unsigned char common_preempt_count", 1, false },
					     INT("common_pid"),
					     { NULL, 0, false } };
static const struct trace_field call_nr[] = { INT("__syscall_nr"), { NULL, 0, false } };
static const struct trace_field call_ret[] = { LONG("ret"), { NULL, 0, false } };

static void format_call(struct ap_str *s, u32 id)
{
	const char *args = find_call(id)->args;

	add_fields(s, call_nr, 8);
	if (id & 1) {
		add_fields(s, call_ret, 12);
		ap_str_add(s, "\nprint fmt: \"0x%lx\", REC->ret\n");
		return;
	}
	each_arg(args, s, visit_field);
	ap_str_add(s, "\nprint fmt: \"");
	each_arg(args, s, visit_print);
	ap_str_char(s, '"');
	each_arg(args, s, visit_value);
	ap_str_char(s, '\n');
}

bool ap_tracepoint_format(u32 id, struct ap_str *out)
{
	const struct trace_point *p = find_point(id);

	if (!ap_tracepoint_exists(id))
		return false;
	ap_str_add(out, "name: ");
	add_name(out, id);
	ap_str_add(out, "\nID: ");
	ap_str_u64(out, id);
	ap_str_add(out, "\nformat:\n");
	add_fields(out, common, 0);
	ap_str_char(out, '\n');
	if (!p) {
		format_call(out, id);
		return true;
	}
	add_fields(out, p->fields, 8);
	ap_str_add(out, "\nprint fmt: ");
	ap_str_add(out, p->print);
	ap_str_char(out, '\n');
	return true;
}

/* --- fields by name */

static bool is_named(const char *decl, size_t dlen, const char *name, size_t len)
{
	size_t at = name_at(decl, dlen);
	const char *bracket = memchr(decl + at, '[', dlen - at);
	size_t n = bracket ? (size_t)(bracket - decl) - at : dlen - at;

	return n == len && !memcmp(decl + at, name, len);
}

/* The kernel takes pointers to characters, as its arrays of them, for strings. */
static bool is_number(const char *decl, size_t len)
{
	size_t skip = len > 6 && !strncmp(decl, "const ", 6) ? 6 : 0;

	if (memchr(decl, '[', len))
		return false;
	return strncmp(decl + skip, "char * ", 7) != 0 ||
	       memchr(decl + skip + 7, '*', len - skip - 7);
}

static enum ap_trace_field_kind kind_of(const char *decl, size_t len)
{
	return is_number(decl, len) ? AP_TRACE_FIELD_NUMBER : AP_TRACE_FIELD_NO_NUMBER;
}

static enum ap_trace_field_kind find_in(const struct trace_field *f, u32 off, const char *name,
					size_t len, struct ap_trace_field *out)
{
	for (; f->decl; f++) {
		off = (u32)AP_ALIGN_UP(off, field_align(f));
		if (is_named(f->decl, strlen(f->decl), name, len)) {
			*out = (struct ap_trace_field){ off, f->size, f->is_signed };
			return kind_of(f->decl, strlen(f->decl));
		}
		off += f->size;
	}
	return AP_TRACE_FIELD_NONE;
}

static enum ap_trace_field_kind find_arg(const char *args, const char *name, size_t len,
					 struct ap_trace_field *out)
{
	for (u32 n = 0; *args; n++) {
		const char *comma = strchr(args, ',');
		size_t dlen = comma ? (size_t)(comma - args) : strlen(args);

		if (is_named(args, dlen, name, len)) {
			*out = (struct ap_trace_field){ 16 + 8 * n, 8, false };
			return kind_of(args, dlen);
		}
		args += dlen + (comma != NULL);
	}
	return AP_TRACE_FIELD_NONE;
}

enum ap_trace_field_kind ap_tracepoint_field(u32 id, const char *name, size_t len,
					     struct ap_trace_field *out)
{
	const struct trace_point *p = find_point(id);
	const struct ap_syscall_desc *call = find_call(id);
	enum ap_trace_field_kind kind = find_in(common, 0, name, len, out);

	if (kind || (!p && !call))
		return kind;
	if (p)
		return find_in(p->fields, 8, name, len, out);
	kind = find_in(call_nr, 8, name, len, out);
	if (kind)
		return kind;
	return id & 1 ? find_in(call_ret, 12, name, len, out)
		      : find_arg(call->args ? call->args : "", name, len, out);
}
