/* SPDX-License-Identifier: MIT */
/*
 * Packing the generated tree.  It is built as a linked one by paths, then laid out breadth first, which
 * makes the children of a directory neighbours.  What the PMUs have is pmu/describe.h's; here
 * stands what surrounds it, as Linux has it (tests/e2e/perf_tree.sh holds it to the running kernel).
 */
#include "linux/host/tree.h"
#include "base/buf.h"
#include "base/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "files/in.h"
#include "pmu/describe.h"
#include "pmu/tracepoint.h"

#define PATH_MAX_LEN 256
#define TRACING	     "/sys/kernel/tracing"
#define OLD_TRACING  "/sys/kernel/debug/tracing" /* where older programs look */

struct tree_entry {
	struct tree_entry *parent, *child, *next; /* next: sibling */
	u32 index;				  /* in the packed tree */
	u32 nchildren;
	u32 hash; /* of the name */
	u32 size;
	u16 mode;
	u8 fs;
	u8 is_shared;
	char *text;
	char name[];
};

struct builder {
	struct tree_entry *root;
	struct ap_tree *out;
	u32 used;		  /* bytes of out */
	struct ap_table interned; /* offsets of texts, by hash */
	const char *top;	  /* of describe's paths */
	u32 nnodes;
	int err;
};

static u32 hash_of(const char *text, size_t len)
{
	return (u32)ap_hash_text(AP_HASH_TEXT, text, len);
}

static struct tree_entry *entry_new(struct tree_entry *parent, const char *name, size_t len)
{
	struct tree_entry *e = calloc(1, sizeof(*e) + len + 1);

	if (!e)
		return NULL;
	memcpy(e->name, name, len);
	e->hash = hash_of(name, len);
	if (parent) {
		e->parent = parent;
		e->next = parent->child;
		e->fs = parent->fs;
		/* tracefs is the kernel's as well as ours, as far down as both have it */
		e->is_shared = parent->is_shared && parent->fs == AP_TREE_TRACEFS;
		parent->child = e;
		parent->nchildren++;
	}
	return e;
}

static void entry_free(struct tree_entry *e)
{
	while (e) {
		struct tree_entry *next = e->next;

		entry_free(e->child);
		free(e->text);
		free(e);
		e = next;
	}
}

/* The entry of an absolute path; directories on the way are made. */
static struct tree_entry *at(struct builder *b, const char *path)
{
	struct tree_entry *e = b->root, *c;

	while (e && *path) {
		size_t len = strcspn(++path, "/");
		u32 hash = hash_of(path, len);

		for (c = e->child; c; c = c->next)
			if (c->hash == hash && !strncmp(c->name, path, len) && !c->name[len])
				break;
		if (!c) {
			c = entry_new(e, path, len);
			if (c) {
				c->mode = AP_TREE_DIR | 0755;
				b->nnodes++;
			}
		}
		e = c;
		path += len;
	}
	if (!e)
		b->err = -ENOMEM;
	return e;
}

static void dir(struct builder *b, const char *path, u16 mode, enum ap_tree_fs fs, bool is_shared)
{
	struct tree_entry *e = at(b, path);

	if (!e)
		return;
	e->mode = AP_TREE_DIR | mode;
	e->fs = (u8)fs;
	e->is_shared = is_shared;
}

/* What opens an event is said by us, all else by the kernel where it has it. */
static bool says_what_opens(const struct tree_entry *e)
{
	return !strcmp(e->name, "id") || !strcmp(e->name, "format");
}

/* No text: reading fails. */
static void leaf(struct builder *b, const char *path, u16 mode, const char *text)
{
	struct tree_entry *e = at(b, path);

	if (!e)
		return;
	e->mode = mode;
	e->is_shared = e->is_shared && !says_what_opens(e);
	free(e->text);
	e->text = NULL;
	e->size = AP_TREE_EIO;
	if (!text)
		return;
	e->text = strdup(text);
	e->size = (u32)strlen(text);
	if (!e->text)
		b->err = -ENOMEM;
}

struct tree_path {
	char s[PATH_MAX_LEN];
};

static struct tree_path join(const char *dir_path, const char *name)
{
	struct tree_path p;
	struct ap_str s;

	ap_str_init(&s, p.s, sizeof(p.s));
	ap_str_add(&s, dir_path);
	ap_str_char(&s, '/');
	ap_str_add(&s, name);
	return p;
}

static void file(struct builder *b, const char *dir_path, const char *name, u16 mode,
		 const char *text)
{
	leaf(b, join(dir_path, name).s, AP_TREE_FILE | mode, text);
}

static void link_to(struct builder *b, const char *dir_path, const char *name, const char *target)
{
	leaf(b, join(dir_path, name).s, AP_TREE_LINK | 0777, target);
}

static u16 mode_of(const char *path)
{
	static const char *const written[] = { "/perf_event_mux_interval_ms", "/rdpmc", "/enable",
					       "/filter" };
	size_t len = strlen(path);

	for (u32 i = 0; i < AP_ARRAY_SIZE(written); i++) {
		size_t n = strlen(written[i]);

		if (len >= n && !strcmp(path + len - n, written[i]))
			return 0644;
	}
	return 0444;
}

/*
 * Tracepoints that are ours to count and the kernel's to record (linux/host/host_kernel.c) have its fields, under our
 * number.  NULL: it has none, or does not show it.
 */
static char *kernels_format(const char *path, const char *text)
{
	const char *id = strstr(text, "\nID: "), *rest;
	char full[PATH_MAX_LEN], *all = NULL, *at;
	size_t size = 0, n;
	FILE *f;

	snprintf(full, sizeof(full), TRACING "/%s", path);
	f = id ? ap_kernel_stream(full) : NULL;
	n = f && getdelim(&all, &size, 0, f) > 0 ? strlen(all) : 0;
	if (f)
		fclose(f);
	at = n ? strstr(all, "\nID: ") : NULL;
	rest = at ? strchr(at + 1, '\n') : NULL;
	at = NULL;
	if (rest && asprintf(&at, "%.*s%.*s%s", (int)(strstr(all, "\nID: ") - all), all,
			     (int)(strchrnul(id + 1, '\n') - id), id, rest) < 0)
		at = NULL;
	free(all);
	return at;
}

static bool is_recorded_by_kernel(const char *path)
{
	size_t len = strlen(path);

	return len > 7 && !strcmp(path + len - 7, "/format") &&
	       (!strncmp(path, "events/sched/", 13) || !strncmp(path, "events/signal/", 14));
}

static int described(void *ctx, const char *path, const char *text)
{
	struct builder *b = ctx;
	char *other = is_recorded_by_kernel(path) ? kernels_format(path, text) : NULL;

	file(b, b->top, path, mode_of(path), other ? other : text);
	free(other);
	return b->err;
}

/* What every device on the bus has. */
static void pmu_device(struct builder *b, const char *name)
{
	struct tree_path top = join("/sys/devices", name), power = join(top.s, "power");

	dir(b, top.s, 0755, AP_TREE_SYSFS, false);
	file(b, top.s, "uevent", 0644, "");
	link_to(b, top.s, "subsystem", "../../bus/event_source");
	file(b, power.s, "autosuspend_delay_ms", 0644, NULL);
	file(b, power.s, "control", 0644, "auto\n");
	file(b, power.s, "runtime_active_time", 0444, "0\n");
	file(b, power.s, "runtime_status", 0444, "unsupported\n");
	file(b, power.s, "runtime_suspended_time", 0444, "0\n");
	link_to(b, "/sys/bus/event_source/devices", name, join("../../../devices", name).s);
}

static void sysfs(struct builder *b, const struct ap_tree_config *config)
{
	static const char *const pmus[] = { "cpu", "software", "breakpoint", "tracepoint" };

	dir(b, "/sys", 0555, AP_TREE_SYSFS, true);
	dir(b, "/sys/bus", 0755, AP_TREE_SYSFS, true);
	dir(b, "/sys/devices", 0755, AP_TREE_SYSFS, true);
	dir(b, "/sys/kernel", 0755, AP_TREE_SYSFS, true);
	dir(b, "/sys/kernel/debug", 0755, AP_TREE_SYSFS, true);
	dir(b, "/sys/bus/event_source", 0755, AP_TREE_SYSFS, true);
	dir(b, "/sys/bus/event_source/devices", 0755, AP_TREE_SYSFS, true);
	dir(b, "/sys/bus/event_source/drivers", 0755, AP_TREE_SYSFS, true);
	file(b, "/sys/bus/event_source", "drivers_autoprobe", 0644, "1\n");
	file(b, "/sys/bus/event_source", "drivers_probe", 0200, "");
	file(b, "/sys/bus/event_source", "uevent", 0200, "");
	for (u32 i = 0; i < AP_ARRAY_SIZE(pmus); i++)
		pmu_device(b, pmus[i]);
	b->top = "/sys/devices";
	if (!b->err)
		b->err = ap_pmu_describe_sysfs(config->arch, described, b);
}

static void number(struct builder *b, const char *name, s64 v)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld\n", (long long)v);
	file(b, "/proc/sys/kernel", name, 0644, text);
}

static void procfs(struct builder *b, const struct ap_tree_config *config)
{
	dir(b, "/proc", 0555, AP_TREE_PROC, true);
	dir(b, "/proc/sys", 0555, AP_TREE_PROC, true);
	dir(b, "/proc/sys/kernel", 0555, AP_TREE_PROC, true);
	number(b, "perf_cpu_time_max_percent", 25);
	number(b, "perf_event_max_contexts_per_stack", 8);
	number(b, "perf_event_max_sample_rate", config->max_sample_rate);
	number(b, "perf_event_max_stack", config->max_stack);
	number(b, "perf_event_mlock_kb", config->mlock_kb);
	number(b, "perf_event_paranoid", config->paranoid);
}

/* How Linux describes its own ring buffer. */
const char ap_tree_header_event[] = "# compressed entry header\n"
				    "\ttype_len    :    5 bits\n"
				    "\ttime_delta  :   27 bits\n"
				    "\tarray       :   32 bits\n"
				    "\n"
				    "\tpadding     : type == 29\n"
				    "\ttime_extend : type == 30\n"
				    "\ttime_stamp : type == 31\n"
				    "\tdata max type_len  == 28\n";
const char ap_tree_header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

static void tracefs(struct builder *b, const char *top)
{
	struct ap_tracepoint point;
	struct ap_buf list = { 0 };
	char line[96];
	struct tree_path events = join(top, "events"), path;

	dir(b, top, 0755, AP_TREE_TRACEFS, true);
	file(b, events.s, "enable", 0644, "0\n");
	file(b, events.s, "header_event", 0444, ap_tree_header_event);
	file(b, events.s, "header_page", 0444, ap_tree_header_page);
	/* of Linux' own tracers there are none; perf refuses to do without the folder */
	path = join(events.s, "ftrace");
	dir(b, path.s, 0755, AP_TREE_TRACEFS, true);
	file(b, path.s, "enable", 0644, "0\n");
	file(b, path.s, "filter", 0644, "none\n");
	file(b, top, "available_tracers", 0444, "nop\n");
	file(b, top, "current_tracer", 0644, "nop\n");
	file(b, top, "tracing_on", 0644, "0\n");
	file(b, top, "printk_formats", 0444, "");
	file(b, top, "saved_cmdlines", 0444, "");
	for (u32 i = 0; !b->err && ap_tracepoint_get(i, &point); i++) {
		path = join(events.s, point.system);
		file(b, path.s, "enable", 0644, "0\n");
		file(b, path.s, "filter", 0644, "none\n");
		snprintf(line, sizeof(line), "%s:%s\n", point.system, point.name);
		ap_buf_put(&list, line, strlen(line));
	}
	ap_buf_put(&list, "", 1);
	if (list.failed)
		b->err = -ENOMEM;
	else
		file(b, top, "available_events", 0444, list.data);
	ap_buf_fini(&list);
	b->top = top;
	if (!b->err)
		b->err = ap_pmu_describe_tracefs(described, b);
}

static u32 intern(struct builder *b, const char *text, u32 len)
{
	u64 hash = ap_hash_text(AP_HASH_TEXT, text, len);
	const struct ap_table_slot *s;

	ap_table_each(&b->interned, hash,
		      s) if (!strcmp(ap_tree_text(b->out, (u32)s->item), text)) return (u32)s->item;
	if (b->used + len + 1 > AP_TREE_LIMITS || ap_table_add(&b->interned, hash, b->used)) {
		b->err = -E2BIG;
		return 0;
	}
	memcpy((char *)b->out + b->used, text, (size_t)len + 1);
	b->used += len + 1;
	return b->used - len - 1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct tree_entry *const *)a)->name,
		      (*(struct tree_entry *const *)b)->name);
}

static void pack_node(struct builder *b, struct tree_entry *e)
{
	struct ap_tree_node *n = (struct ap_tree_node *)(b->out + 1) + e->index;
	const struct tree_entry *c;

	n->parent = e->parent ? e->parent->index : 0;
	n->name = intern(b, e->name, (u32)strlen(e->name));
	n->text = intern(b, e->text ? e->text : "", e->text ? e->size : 0);
	n->size = e->size;
	n->mode = e->mode;
	n->fs = e->fs;
	n->is_shared = e->is_shared;
	n->n = e->nchildren;
	n->nlink = 1;
	if ((e->mode & AP_TREE_FMT) != AP_TREE_DIR)
		return;
	n->nlink = 2;
	for (c = e->child; c; c = c->next)
		n->nlink += (c->mode & AP_TREE_FMT) == AP_TREE_DIR;
}

static void copy_dir(struct builder *b, const struct tree_entry *to, const struct tree_entry *from)
{
	struct ap_tree_node *v = (struct ap_tree_node *)(b->out + 1);

	v[to->index].first = v[from->index].first;
	v[to->index].n = v[from->index].n;
	v[to->index].nlink = v[from->index].nlink;
}

static void pack(struct builder *b)
{
	struct tree_entry **order = calloc(b->nnodes, sizeof(struct tree_entry *)), *c;
	u32 n = 1;

	if (!order) {
		b->err = -ENOMEM;
		return;
	}
	b->used = (u32)(sizeof(*b->out) + b->nnodes * sizeof(struct ap_tree_node));
	order[0] = b->root;
	for (u32 i = 0; i < n && !b->err; i++) {
		struct tree_entry *e = order[i];
		u32 first = n;

		for (c = e->child; c; c = c->next)
			order[n++] = c;
		qsort(order + first, n - first, sizeof(*order), by_name);
		for (u32 k = first; k < n; k++)
			order[k]->index = k;
		pack_node(b, e);
		((struct ap_tree_node *)(b->out + 1))[i].first = first;
	}
	free(order);
	/* The same file system once more: same nodes. */
	copy_dir(b, at(b, OLD_TRACING), at(b, TRACING));
	b->out->nnodes = b->nnodes;
	b->out->size = b->used;
}

int ap_tree_pack(struct ap_tree *out, const struct ap_tree_config *config)
{
	struct builder *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->out = out;
	b->nnodes = 1;
	b->root = entry_new(NULL, "", 0);
	if (b->root) {
		b->root->mode = AP_TREE_DIR | 0755;
		b->root->is_shared = true;
		sysfs(b, config);
		procfs(b, config);
		tracefs(b, TRACING);
		dir(b, OLD_TRACING, 0755, AP_TREE_TRACEFS, true);
	} else {
		b->err = -ENOMEM;
	}
	if (!b->err && sizeof(*out) + b->nnodes * sizeof(struct ap_tree_node) > AP_TREE_SIZE / 2)
		b->err = -E2BIG;
	if (!b->err)
		pack(b);
	err = b->err;
	entry_free(b->root);
	ap_table_fini(&b->interned);
	free(b);
	if (!err)
		__atomic_store_n(&out->magic, AP_TREE_MAGIC, __ATOMIC_RELEASE);
	return err;
}

int ap_tree_publish(const struct ap_session_file *s, const struct ap_tree_config *config)
{
	return ap_tree_pack(ap_session_part(s, AP_TREE_OFF), config);
}
