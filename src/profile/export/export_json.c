/* SPDX-License-Identifier: MIT */
/*
 * Formats in JSON, built by jansson: speedscope's file format and the Firefox profiler's processed
 * profile (version 48, of which every newer profiler knows how to make its own).
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "print/print.h"
#include "profile/export/export.h"

/* Names come from files and are whatever bytes these have; JSON takes UTF-8 only. */
json_t *ap_export_json_text(const char *bytes)
{
	json_t *j = json_string(bytes);
	size_t n = strlen(bytes);
	char *copy;

	if (j)
		return j;
	copy = malloc(AP_ESCAPED * n + 1);
	if (!copy)
		return NULL;
	ap_escape(copy, AP_ESCAPED * n + 1, bytes, n);
	j = json_string(copy);
	free(copy);
	return j;
}

static int put_json(const char *piece, size_t n, void *out)
{
	ap_print_json_text(out, piece, n);
	return 0;
}

int ap_export_json_dump(const json_t *root, size_t flags, FILE *out)
{
	int ret = root ? json_dump_callback(root, put_json, out, flags) : -1;

	return ret ? -ENOMEM : ferror(out) ? -EIO : 0;
}

static json_t *text(const char *bytes)
{
	return ap_export_json_text(bytes);
}

static json_t *number(u64 n)
{
	return json_integer((json_int_t)n);
}

static int dump(json_t *root, FILE *out)
{
	int ret = ap_export_json_dump(root, JSON_COMPACT, out);

	putc('\n', out);
	json_decref(root);
	return ret;
}

/* --- speedscope */

/*
 * Names of threads first, then functions.  One name is one frame, which root[] has for each thread.
 */
static json_t *speedscope_frames(const struct ap_export *x, u32 *root)
{
	json_t *frames = json_array();
	u32 nroots = 0;

	for (u32 i = 0; i < x->stacks->nthreads; i++) {
		const char *comm = x->stacks->thread[i].comm;
		u32 k = 0;

		while (k < i && strcmp(x->stacks->thread[k].comm, comm))
			k++;
		root[i] = k < i ? root[k] : nroots++;
		if (k == i)
			json_array_append_new(frames, json_pack("{s:o}", "name", text(comm)));
	}
	root[x->stacks->nthreads] = nroots;
	for (u32 i = 0; i < x->stacks->nfuncs; i++) {
		const struct ap_stack_func *func = &x->stacks->func[i];
		json_t *frame = json_pack("{s:o}", "name", text(func->name));

		if (func->dso)
			json_object_set_new(frame, "file", text(func->dso->path));
		json_array_append_new(frames, frame);
	}
	return frames;
}

static json_t *speedscope_stack(const struct ap_export *x, const struct ap_stack_event *ev,
				u32 node, const u32 *root)
{
	u32 first = root[x->stacks->nthreads];
	json_t *stack = json_array();

	for (; !ap_stacks_is_thread(ev, node); node = ev->node[node].parent)
		json_array_insert_new(stack, 0,
				      number(first + x->stacks->frame[ev->node[node].frame].func));
	json_array_insert_new(stack, 0, number(root[ev->node[node].frame]));
	return stack;
}

static json_t *speedscope_profile(const struct ap_export *x, const struct ap_stack_event *ev,
				  const u32 *root)
{
	json_t *samples = json_array(), *weights = json_array();
	u64 total = 0;

	for (u32 i = 1; i < ev->nnodes; i++) {
		u64 weight = ap_export_self(x, &ev->node[i]);

		if (!weight)
			continue;
		json_array_append_new(samples, speedscope_stack(x, ev, i, root));
		json_array_append_new(weights, number(weight));
		total += weight;
	}
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:o}", "type", "sampled", "name",
			 text(ev->event->name), "unit", "none", "startValue", 0, "endValue",
			 number(total), "samples", samples, "weights", weights);
}

int ap_export_speedscope(const struct ap_export *x, FILE *out)
{
	u32 *root_of = calloc(x->stacks->nthreads + 1, sizeof(*root_of)), active = 0;
	json_t *profiles = json_array(), *frames, *root;

	if (!root_of) {
		json_decref(profiles);
		return -ENOMEM;
	}
	frames = speedscope_frames(x, root_of);
	for (u32 i = 0; i < x->stacks->nevents; i++) {
		if (i == x->event)
			active = (u32)json_array_size(profiles);
		if (x->stacks->event[i].count)
			json_array_append_new(profiles,
					      speedscope_profile(x, &x->stacks->event[i], root_of));
	}
	free(root_of);
	root = json_pack("{s:s, s:{s:o}, s:o, s:o, s:i, s:o}", "$schema",
			 "https://www.speedscope.app/file-format-schema.json", "shared", "frames",
			 frames, "profiles", profiles, "name", text(x->title), "activeProfileIndex",
			 (int)active, "exporter", json_sprintf("anyperf %s", x->version));
	return dump(root, out);
}

/* --- Firefox */

#define FIREFOX_VERSION	      27
#define FIREFOX_PREPROCESSED  48
#define FIREFOX_RESOURCE_LIB  1
#define FIREFOX_CATEGORY_USER 0
#define FIREFOX_CATEGORY_KERN 1

/* Of one thread: indices of its own tables by those of the stacks, + 1. */
struct firefox {
	const struct ap_export *x;
	const struct ap_stack_event *ev;
	u32 *func, *frame, *stack, *dso;
	json_t *strings;
	json_t *stacks, *frames, *funcs, *resources, *samples;
};

/* Appends a row to a table of columns: name, value, ..., NULL. */
static void row(json_t *table, ...)
{
	const char *column;
	va_list ap;

	va_start(ap, table);
	while ((column = va_arg(ap, const char *))) {
		json_t *values = json_object_get(table, column);

		if (!values) {
			values = json_array();
			json_object_set_new(table, column, values);
		}
		json_array_append_new(values, va_arg(ap, json_t *));
	}
	va_end(ap);
	json_object_set_new(table, "length",
			    number((u64)json_integer_value(json_object_get(table, "length")) + 1));
}

/* A table without rows still has its columns. */
static json_t *table(const char *const *columns)
{
	json_t *t = json_object();

	for (; *columns; columns++)
		json_object_set_new(t, *columns, json_array());
	json_object_set_new(t, "length", json_integer(0));
	return t;
}

static json_t *string_index(struct firefox *f, const char *bytes)
{
	json_array_append_new(f->strings, text(bytes));
	return number(json_array_size(f->strings) - 1);
}

static json_t *resource(struct firefox *f, const struct ap_dso *dso)
{
	if (!dso)
		return json_integer(-1);
	if (!f->dso[dso->index]) {
		row(f->resources, "lib", number(dso->index), "name", string_index(f, dso->name),
		    "host", json_null(), "type", json_integer(FIREFOX_RESOURCE_LIB), NULL);
		f->dso[dso->index] =
			(u32)json_integer_value(json_object_get(f->resources, "length"));
	}
	return number(f->dso[dso->index] - 1);
}

static u32 firefox_func(struct firefox *f, u32 func)
{
	const struct ap_stack_func *fn = &f->x->stacks->func[func];

	if (!f->func[func]) {
		row(f->funcs, "name", string_index(f, fn->name), "isJS", json_false(),
		    "relevantForJS", json_false(), "resource", resource(f, fn->dso), "fileName",
		    fn->file ? string_index(f, fn->file) : json_null(), "lineNumber", json_null(),
		    "columnNumber", json_null(), NULL);
		f->func[func] = (u32)json_integer_value(json_object_get(f->funcs, "length"));
	}
	return f->func[func] - 1;
}

static u32 firefox_frame(struct firefox *f, u32 frame)
{
	const struct ap_stack_frame *fr = &f->x->stacks->frame[frame];
	bool is_kernel = f->x->stacks->func[fr->func].is_kernel;

	if (!f->frame[frame]) {
		row(f->frames, "address",
		    f->x->stacks->func[fr->func].dso ? number(fr->addr) : json_integer(-1),
		    "inlineDepth", number(fr->depth), "category",
		    json_integer(is_kernel ? FIREFOX_CATEGORY_KERN : FIREFOX_CATEGORY_USER),
		    "subcategory", json_integer(0), "func", number(firefox_func(f, fr->func)),
		    "nativeSymbol", json_null(), "innerWindowID", json_null(), "implementation",
		    json_null(), "line", fr->line ? number(fr->line) : json_null(), "column",
		    json_null(), NULL);
		f->frame[frame] = (u32)json_integer_value(json_object_get(f->frames, "length"));
	}
	return f->frame[frame] - 1;
}

/* Parents have smaller numbers than children, so theirs are there. */
static void firefox_stack(struct firefox *f, u32 node)
{
	const struct ap_stack_node *n = &f->ev->node[node];
	bool is_kernel = ap_export_func(f->x, n->frame)->is_kernel;
	bool is_root = ap_stacks_is_thread(f->ev, n->parent);
	json_t *frame = number(firefox_frame(f, n->frame));

	row(f->stacks, "frame", frame, "prefix",
	    is_root ? json_null() : number(f->stack[n->parent] - 1), "category",
	    json_integer(is_kernel ? FIREFOX_CATEGORY_KERN : FIREFOX_CATEGORY_USER), "subcategory",
	    json_integer(0), NULL);
	f->stack[node] = (u32)json_integer_value(json_object_get(f->stacks, "length"));
}

/* The tree has no times: samples stand one after the other, each as wide as its weight. */
static u64 firefox_samples(struct firefox *f, u32 thread, u64 at)
{
	for (u32 i = 1; i < f->ev->nnodes; i++) {
		u64 weight = ap_export_self(f->x, &f->ev->node[i]);

		if (ap_stacks_is_thread(f->ev, i) || ap_stacks_thread(f->ev, i) != thread)
			continue;
		firefox_stack(f, i);
		if (!weight)
			continue;
		row(f->samples, "stack", number(f->stack[i] - 1), "time", number(at), "weight",
		    number(weight), NULL);
		at++;
	}
	return at;
}

static json_t *firefox_tables(struct firefox *f, u32 thread)
{
	static const char *const stack[] = { "frame", "prefix", "category", "subcategory", NULL };
	static const char *const frame[] = { "address",
					     "inlineDepth",
					     "category",
					     "subcategory",
					     "func",
					     "nativeSymbol",
					     "innerWindowID",
					     "implementation",
					     "line",
					     "column",
					     NULL };
	static const char *const func[] = { "name",	"isJS",	      "relevantForJS", "resource",
					    "fileName", "lineNumber", "columnNumber",  NULL };
	static const char *const lib[] = { "lib", "name", "host", "type", NULL };
	static const char *const native[] = { "libIndex", "address", "name", "functionSize", NULL };
	static const char *const marker[] = { "data",  "name",	   "startTime", "endTime",
					      "phase", "category", NULL };
	static const char *const sample[] = { "stack", "time", "weight", NULL };
	u64 end;

	f->strings = json_array();
	f->stacks = table(stack);
	f->frames = table(frame);
	f->funcs = table(func);
	f->resources = table(lib);
	f->samples = table(sample);
	end = firefox_samples(f, thread, 0);
	json_object_set_new(f->samples, "weightType", json_string("samples"));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", f->samples,
			 "markers", table(marker), "stackTable", f->stacks, "frameTable", f->frames,
			 "funcTable", f->funcs, "resourceTable", f->resources, "nativeSymbols",
			 table(native), "stringArray", f->strings, "unregisterTime", number(end));
}

static json_t *firefox_thread(const struct ap_export *x, const struct ap_stack_event *ev, u32 node)
{
	const struct ap_stack_thread *owner = &x->stacks->thread[ev->node[node].frame];
	struct firefox f = { .x = x, .ev = ev };
	json_t *thread = NULL;

	f.func = calloc(x->stacks->nfuncs + 1, sizeof(*f.func));
	f.frame = calloc(x->stacks->nframes + 1, sizeof(*f.frame));
	f.stack = calloc(ev->nnodes, sizeof(*f.stack));
	f.dso = calloc(x->stacks->session.symbols.ndso + 1, sizeof(*f.dso));
	if (f.func && f.frame && f.stack && f.dso)
		thread = firefox_tables(&f, node);
	free(f.func);
	free(f.frame);
	free(f.stack);
	free(f.dso);
	if (!thread)
		return NULL;
	json_object_set_new(thread, "processType", json_string("default"));
	json_object_set_new(thread, "processName", text(owner->comm));
	json_object_set_new(thread, "processStartupTime", json_integer(0));
	json_object_set_new(thread, "processShutdownTime", json_null());
	json_object_set_new(thread, "registerTime", json_integer(0));
	json_object_set_new(thread, "pausedRanges", json_array());
	json_object_set_new(thread, "name",
			    json_sprintf("%s (%s)",
					 json_string_value(json_object_get(thread, "processName")),
					 ev->event->name));
	json_object_set_new(thread, "isMainThread", json_boolean(owner->pid == owner->tid));
	json_object_set_new(thread, "pid", json_sprintf("%u", owner->pid));
	json_object_set_new(thread, "tid", number(owner->tid));
	return thread;
}

static json_t *firefox_libs(const struct ap_export *x)
{
	const struct ap_symbols *symbols = &x->stacks->session.symbols;
	json_t *libs = json_array();

	for (u32 i = 0; i < symbols->ndso; i++) {
		const struct ap_dso *dso = symbols->dso[i];
		char id[41] = "";

		for (u32 k = 0; k < dso->build_id_size; k++)
			snprintf(id + 2 * (size_t)k, 3, "%02x", dso->build_id[k]);
		json_array_append_new(
			libs, json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:o}", "arch", "", "name",
					text(dso->name), "path", text(dso->path), "debugName",
					text(dso->name), "debugPath", text(dso->path), "breakpadId",
					"", "codeId", *id ? json_string(id) : json_null()));
	}
	return libs;
}

static json_t *firefox_meta(const struct ap_export *x)
{
	json_t *other = json_array(), *meta;

	json_array_append_new(other, json_string("Other"));
	meta = json_pack(
		"{s:i, s:i, s:i, s:o, s:i, s:o, s:i, s:i, s:b, s:[], s:[{s:s,s:s,s:O},"
		"{s:s,s:s,s:O}]}",
		"version", FIREFOX_VERSION, "preprocessedProfileVersion", FIREFOX_PREPROCESSED,
		"interval", 1, "startTime", number(ap_data_mtime(x->data) * 1000), "processType", 0,
		"product", text(x->title), "stackwalk", 1, "debug", 0, "symbolicated", 1,
		"markerSchema", "categories", "name", "User", "color", "yellow", "subcategories",
		other, "name", "Kernel", "color", "orange", "subcategories", other);
	json_decref(other);
	json_object_set_new(meta, "importedFrom", json_sprintf("anyperf %s", x->version));
	json_object_set_new(meta, "sampleUnits",
			    json_pack("{s:s, s:s, s:s}", "time", "ms", "eventDelay", "ms",
				      "threadCPUDelta", "ns"));
	return meta;
}

int ap_export_firefox(const struct ap_export *x, FILE *out)
{
	json_t *threads = json_array();

	for (u32 e = 0; e < x->stacks->nevents; e++) {
		const struct ap_stack_event *ev = &x->stacks->event[e];

		for (u32 i = 1; i < ev->nnodes; i++)
			if (ap_stacks_is_thread(ev, i))
				json_array_append_new(threads, firefox_thread(x, ev, i));
	}
	return dump(json_pack("{s:o, s:o, s:[], s:[], s:o}", "meta", firefox_meta(x), "libs",
			      firefox_libs(x), "pages", "counters", "threads", threads),
		    out);
}
