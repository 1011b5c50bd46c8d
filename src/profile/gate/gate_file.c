/* SPDX-License-Identifier: MIT */
/*
 * The baseline and the report as JSON, by jansson.  A baseline is committed beside the code and
 * merged by hand, so nothing in it is believed: what is missing, twice or of another type is said
 * with its name.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/plant.h"
#include "files/error.h"
#include "files/in.h"
#include "print/escape.h"
#include "profile/export/export.h"
#include "profile/gate/gate.h"

#define FORMAT	      "anyperf gate baseline"
#define VERSION	      1
#define EVENTS_MAX    10000
#define FUNCTIONS_MAX 100000
#define DIGITS_KEPT   17

/* --- reading */

struct reader {
	struct ap_gate_counts *g;
	char *why;
};

static int wrong(const struct reader *r, const char *text, const char *name)
{
	snprintf(r->why, AP_GATE_WHY, "%s%s%s", text, name ? ": " : "", name ? name : "");
	return -EINVAL;
}

static int take_text(const struct reader *r, const json_t *from, const char *key, char **to)
{
	const json_t *value = json_object_get(from, key);

	if (!json_is_string(value))
		return wrong(r, "damaged: it lacks a text", key);
	*to = ap_escape_dup(json_string_value(value));
	return *to ? 0 : wrong(r, "out of memory", NULL);
}

static int take_number(const struct reader *r, const json_t *from, const char *key, u64 max,
		       u64 *to)
{
	const json_t *value = json_object_get(from, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (u64)json_integer_value(value) > max)
		return wrong(r, "damaged: it lacks a whole number", key);
	*to = (u64)json_integer_value(value);
	return 0;
}

static int take_event(const struct reader *r, const json_t *from)
{
	const json_t *deviation = json_object_get(from, "deviation-percent");
	struct ap_gate_event event = { 0 };
	int ret = take_text(r, from, "name", &event.name);

	if (!ret)
		ret = take_text(r, from, "kind", &event.kind);
	if (!ret)
		ret = take_number(r, from, "count", INT64_MAX, &event.count);
	if (!ret && deviation && !json_is_number(deviation))
		ret = wrong(r, "damaged: it lacks a number", "deviation-percent");
	event.deviation = json_number_value(deviation);
	if (!ret && ap_gate_find(r->g, event.name))
		ret = wrong(r, "damaged: an event is in it twice", event.name);
	if (!ret && ap_gate_add_event(r->g, &event))
		ret = wrong(r, "out of memory", NULL);
	free(event.name);
	free(event.kind);
	return ret;
}

static int take_lists(const struct reader *r, const json_t *root)
{
	const json_t *events = json_object_get(root, "events");
	const json_t *notes = json_object_get(root, "notes");
	size_t n = json_array_size(events);
	int ret = 0;

	if (!n || n > EVENTS_MAX)
		return wrong(r, "damaged: it has no events", NULL);
	for (size_t i = 0; i < n && !ret; i++)
		ret = take_event(r, json_array_get(events, i));
	for (size_t i = 0; i < json_array_size(notes) && !ret; i++) {
		const char *text = json_string_value(json_array_get(notes, i));

		if (!text)
			ret = wrong(r, "damaged: it lacks a text", "notes");
		else if (ap_gate_add_note(r->g, text))
			ret = wrong(r, "out of memory", NULL);
	}
	return ret;
}

/* Which most baselines do not have. */
static int take_functions(const struct reader *r, const json_t *root)
{
	const json_t *from = json_object_get(root, "functions");
	const json_t *list = json_object_get(from, "instructions");
	int ret = from ? take_number(r, from, "period", INT64_MAX, &r->g->period) : 0;

	if (from && !ret && (!r->g->period || json_array_size(list) > FUNCTIONS_MAX))
		ret = wrong(r, "damaged: functions", NULL);
	for (size_t i = 0; i < json_array_size(list) && !ret; i++) {
		struct ap_gate_function f = { 0 };

		ret = take_text(r, json_array_get(list, i), "name", &f.name);
		if (!ret)
			ret = take_text(r, json_array_get(list, i), "file", &f.file);
		if (!ret)
			ret = take_number(r, json_array_get(list, i), "count", INT64_MAX, &f.count);
		if (!ret && ap_gate_add_function(r->g, &f))
			ret = wrong(r, "out of memory", NULL);
		free(f.name);
		free(f.file);
	}
	return ret;
}

static int take_all(const struct reader *r, const json_t *root)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	const json_t *machine = json_object_get(root, "machine");
	struct ap_gate_counts *g = r->g;
	u64 version = 0, runs = 0;
	int ret;

	if (!format || strcmp(format, FORMAT))
		return wrong(r, "no baseline of 'anyperf gate record'", NULL);
	ret = take_number(r, root, "format-version", INT64_MAX, &version);
	if (!ret && !version)
		return wrong(r, "damaged: there is no format version 0", NULL);
	if (!ret && version != VERSION)
		return wrong(r, "of a newer anyperf: it has another format", NULL);
	if (!ret)
		ret = take_text(r, root, "anyperf", &g->version);
	if (!ret)
		ret = take_text(r, root, "command", &g->command);
	if (!ret)
		ret = take_text(r, machine, "name", &g->machine);
	if (!ret)
		ret = take_text(r, machine, "id", &g->machine_id);
	if (!ret)
		ret = take_text(r, root, "cpu", &g->cpu);
	if (!ret)
		ret = take_number(r, root, "runs", UINT32_MAX, &runs);
	if (!ret && !json_is_boolean(json_object_get(root, "deterministic")))
		ret = wrong(r, "damaged: it lacks true or false", "deterministic");
	g->deterministic = json_is_true(json_object_get(root, "deterministic"));
	g->fixed_tsc = json_is_true(json_object_get(root, "fixed-tsc"));
	g->runs = (u32)runs;
	if (!ret)
		ret = take_lists(r, root);
	if (!ret)
		ret = take_functions(r, root);
	AP_PLANT("gate", !ret && strlen(g->command) > 8);
	return ret;
}

int ap_gate_read(struct ap_gate_counts *g, const char *path, char *why)
{
	const struct reader r = { .g = g, .why = why };
	json_error_t error;
	json_t *root;
	int ret;
	FILE *in = ap_in_stream(path, 0, &ret);

	*g = (struct ap_gate_counts){ 0 };
	if (!in) {
		wrong(&r, ap_file_error(ret), NULL);
		return ret;
	}
	root = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
	if (ferror(in))
		ret = wrong(&r, "it cannot be read", NULL);
	else if (!root) {
		snprintf(why, AP_GATE_WHY, "damaged: line %d: %.160s", error.line, error.text);
		ret = -EINVAL;
	} else {
		ret = take_all(&r, root);
	}
	json_decref(root);
	fclose(in);
	return ret;
}

/* --- writing */

static int dump(json_t *root, FILE *out)
{
	int ret = root ? ap_export_json_dump(root,
					     JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS_KEPT), out)
		       : -1;

	putc('\n', out);
	json_decref(root);
	return ret ? (ferror(out) ? -EIO : -ENOMEM) : 0;
}

static json_t *number(u64 n)
{
	return json_integer((json_int_t)n);
}

static json_t *notes(const struct ap_gate_counts *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nnotes; i++)
		(void)!json_array_append_new(list, ap_export_json_text(g->note[i]));
	return list;
}

static json_t *event(const struct ap_gate_event *e)
{
	json_t *j = json_pack("{so so so}", "name", ap_export_json_text(e->name), "kind",
			      ap_export_json_text(e->kind), "count", number(e->count));

	if (j && e->deviation > 0)
		(void)!json_object_set_new(j, "deviation-percent", json_real(e->deviation));
	return j;
}

/* NULL, which is left out: there are none. */
static json_t *functions(const struct ap_gate_counts *g)
{
	json_t *list;

	if (!g->period)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < g->nfunctions; i++)
		(void)!json_array_append_new(
			list,
			json_pack("{so so so}", "name", ap_export_json_text(g->function[i].name),
				  "file", ap_export_json_text(g->function[i].file), "count",
				  number(g->function[i].count)));
	return json_pack("{so so}", "period", number(g->period), "instructions", list);
}

static json_t *changes(const struct ap_gate_result *r)
{
	json_t *list = r->has_functions ? json_array() : NULL;

	for (size_t i = 0; i < r->nchanges; i++)
		(void)!json_array_append_new(
			list,
			json_pack("{so so so so so}", "name",
				  ap_export_json_text(r->change[i].name), "file",
				  ap_export_json_text(r->change[i].file), "baseline",
				  number(r->change[i].before), "now", number(r->change[i].now),
				  "error", number(r->change[i].error)));
	return list;
}

int ap_gate_write(const struct ap_gate_counts *g, FILE *out)
{
	json_t *events = json_array();

	for (size_t i = 0; i < g->nevents; i++) {
		if (g->event[i].count > INT64_MAX ||
		    json_array_append_new(events, event(&g->event[i]))) {
			json_decref(events);
			return -ERANGE;
		}
	}
	return dump(json_pack("{ss si so so s{so ss} so sb sb sI so so so*}", "format", FORMAT,
			      "format-version", VERSION, "anyperf", ap_export_json_text(g->version),
			      "command", ap_export_json_text(g->command), "machine", "name",
			      ap_export_json_text(g->machine), "id", g->machine_id, "cpu",
			      ap_export_json_text(g->cpu), "deterministic", g->deterministic,
			      "fixed-tsc", g->fixed_tsc, "runs", (json_int_t)g->runs, "events",
			      events, "notes", notes(g), "functions", functions(g)),
		    out);
}

/* As the whole's verdict is spelled; capitals are for people that look for them in a table. */
static const char *verdict(const struct ap_gate_row *r)
{
	return r->verdict == AP_GATE_EXCEEDED ? "exceeded" : ap_gate_verdict_name(r->verdict);
}

static json_t *row(const struct ap_gate_row *r)
{
	json_t *limit = r->limit ? ap_export_json_text(r->limit->text) : json_null();
	json_t *j = json_pack("{so so so so so ss}", "event", ap_export_json_text(r->before->name),
			      "kind", ap_export_json_text(r->before->kind), "baseline",
			      number(r->before->count), "now", number(r->now->count), "limit",
			      limit, "verdict", verdict(r));
	double percent;

	if (j)
		(void)!json_object_set_new(
			j, "change", json_integer((json_int_t)(r->now->count - r->before->count)));
	if (j && ap_gate_percent(r, &percent))
		(void)!json_object_set_new(j, "change-percent", json_real(percent));
	if (j && r->now->deviation > 0)
		(void)!json_object_set_new(j, "deviation-percent", json_real(r->now->deviation));
	return j;
}

int ap_gate_write_json(const struct ap_gate_result *result, FILE *out)
{
	json_t *rows = json_array(), *remarks = json_array();
	char text[AP_GATE_WHY];

	for (size_t i = 0; i < result->nrows; i++)
		(void)!json_array_append_new(rows, row(&result->row[i]));
	for (size_t i = 0; ap_gate_remark(result, i, text, sizeof(text)); i++)
		(void)!json_array_append_new(remarks, ap_export_json_text(text));
	if (json_array_size(rows) != result->nrows) {
		json_decref(rows);
		json_decref(remarks);
		return -ENOMEM;
	}
	return dump(json_pack("{ss so so sI sI sI so so so*}", "verdict",
			      result->exceeded ? "exceeded" : "within", "command",
			      ap_export_json_text(result->now->command), "anyperf",
			      ap_export_json_text(result->now->version), "limits",
			      (json_int_t)result->limits, "exceeded", (json_int_t)result->exceeded,
			      "improved", (json_int_t)result->improved, "events", rows, "notes",
			      remarks, "functions", changes(result)),
		    out);
}

int ap_gate_write_undecided(int status, FILE *out)
{
	return dump(json_pack("{ss si}", "verdict", "undecided", "status", status), out);
}
