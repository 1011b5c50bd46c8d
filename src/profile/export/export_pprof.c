/* SPDX-License-Identifier: MIT */
/*
 * pprof: messages of profile.proto, packed by protobuf-c and then by zlib.  Frames are locations,
 * one each, also where functions were expanded; two values per sample, how many and how much.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "print/escape.h"
#include "profile/export/export.h"
#include "profile/export/gen/pprof.pb-c.h"

#define VALUES 2
#define LABELS 3

/*
 * All memory of the messages hangs in one list, because protobuf-c frees only what it has unpacked.
 */
struct block {
	struct block *next;
	char bytes[] __attribute__((aligned(16)));
};

struct pprof {
	const struct ap_export *x;
	const struct ap_stack_event *ev;
	Perftools__Profiles__Profile profile;
	struct block *blocks;
	char **strings;
	size_t nstrings, room;
	bool failed;
};

static void *take(struct pprof *p, size_t n, size_t size)
{
	struct block *block = calloc(1, sizeof(*block) + n * size);

	if (!block) {
		p->failed = true;
		return NULL;
	}
	block->next = p->blocks;
	p->blocks = block;
	return block->bytes;
}

/*
 * An array of n messages and one of pointers to them, which is how protobuf-c wants repeated ones.
 */
#define MESSAGES(p, n, type, init, field)                                                          \
	do {                                                                                       \
		type *v = take(p, (n), sizeof(*v));                                                \
		(field) = take(p, (n) + 1, sizeof(*(field)));                                      \
		for (size_t k = 0; v && (field) && k < (n); k++) {                                 \
			init(&v[k]);                                                               \
			(field)[k] = &v[k];                                                        \
		}                                                                                  \
	} while (0)

/* A string of protobuf is UTF-8, and readers show it as it is. */
static char *readable(struct pprof *p, const char *text)
{
	size_t n = strlen(text);
	char *shown;

	if (ap_escape_is_plain(text, n))
		return (char *)text; /* protobuf-c has no const */
	shown = take(p, 1, AP_ESCAPED * n + 1);
	if (shown)
		ap_escape(shown, AP_ESCAPED * n + 1, text, n);
	return shown;
}

/* Strings are few against samples and are not looked for twice: each func and file has its own. */
static s64 string(struct pprof *p, const char *text)
{
	if (p->nstrings == p->room) {
		size_t room = p->room ? p->room * 2 : 256;
		char **more = realloc(p->strings, room * sizeof(*more));

		if (!more) {
			p->failed = true;
			return 0;
		}
		p->strings = more;
		p->room = room;
	}
	p->strings[p->nstrings] = readable(p, text);
	return (s64)p->nstrings++;
}

static void value_type(struct pprof *p, Perftools__Profiles__ValueType *type, const char *name,
		       const char *unit)
{
	type->type = string(p, name);
	type->unit = string(p, unit);
}

static void put_types(struct pprof *p)
{
	const struct ap_perf_attr *attr = &p->ev->event->attr;
	Perftools__Profiles__ValueType *period;

	p->profile.n_sample_type = VALUES;
	MESSAGES(p, (size_t)VALUES, Perftools__Profiles__ValueType,
		 perftools__profiles__value_type__init, p->profile.sample_type);
	period = take(p, 1, sizeof(*period));
	if (p->failed)
		return;
	value_type(p, p->profile.sample_type[0], "samples", "count");
	value_type(p, p->profile.sample_type[1], p->ev->event->name, "count");
	perftools__profiles__value_type__init(period);
	value_type(p, period, p->ev->event->name, "count");
	p->profile.period_type = period;
	if (!(attr->flags & AP_PERF_FREQ))
		p->profile.period = (s64)attr->sample_period;
	p->profile.default_sample_type = p->profile.sample_type[1]->type;
	p->profile.duration_nanos = (s64)(p->ev->last_time - p->ev->first_time);
}

static const char *build_id(struct pprof *p, const struct ap_dso *dso)
{
	char *text = take(p, 1, 2 * sizeof(dso->build_id) + 1);

	for (u32 i = 0; text && i < dso->build_id_size; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", dso->build_id[i]);
	return text ? text : "";
}

static void put_mappings(struct pprof *p)
{
	const struct ap_symbols *symbols = &p->x->stacks->session.symbols;

	p->profile.n_mapping = symbols->ndso;
	MESSAGES(p, (size_t)symbols->ndso, Perftools__Profiles__Mapping,
		 perftools__profiles__mapping__init, p->profile.mapping);
	for (u32 i = 0; i < symbols->ndso && !p->failed; i++) {
		Perftools__Profiles__Mapping *m = p->profile.mapping[i];

		m->id = i + 1;
		m->filename = string(p, symbols->dso[i]->path);
		m->build_id = string(p, build_id(p, symbols->dso[i]));
		m->has_functions = m->has_filenames = m->has_line_numbers = true;
	}
}

static void put_functions(struct pprof *p)
{
	const struct ap_stacks *s = p->x->stacks;

	p->profile.n_function = s->nfuncs;
	MESSAGES(p, (size_t)s->nfuncs, Perftools__Profiles__Function,
		 perftools__profiles__function__init, p->profile.function);
	for (u32 i = 0; i < s->nfuncs && !p->failed; i++) {
		Perftools__Profiles__Function *f = p->profile.function[i];

		f->id = i + 1;
		f->name = f->system_name = string(p, s->func[i].name);
		f->filename = s->func[i].file ? string(p, s->func[i].file) : 0;
	}
}

/* Addresses are those of files, so a mapping is as long as its highest one. */
static void put_locations(struct pprof *p)
{
	const struct ap_stacks *s = p->x->stacks;

	p->profile.n_location = s->nframes;
	MESSAGES(p, (size_t)s->nframes, Perftools__Profiles__Location,
		 perftools__profiles__location__init, p->profile.location);
	for (u32 i = 0; i < s->nframes && !p->failed; i++) {
		Perftools__Profiles__Location *l = p->profile.location[i];
		const struct ap_stack_frame *frame = &s->frame[i];
		const struct ap_dso *dso = s->func[frame->func].dso;

		l->id = i + 1;
		l->address = frame->addr;
		l->n_line = 1;
		MESSAGES(p, (size_t)1, Perftools__Profiles__Line, perftools__profiles__line__init,
			 l->line);
		if (p->failed)
			return;
		l->line[0]->function_id = frame->func + 1;
		l->line[0]->line = frame->line;
		if (!dso)
			continue;
		l->mapping_id = dso->index + 1;
		if (p->profile.mapping[dso->index]->memory_limit <= frame->addr)
			p->profile.mapping[dso->index]->memory_limit = frame->addr + 1;
	}
}

/* Keys of labels are strings 1 to 3. */
static void put_labels(struct pprof *p, Perftools__Profiles__Sample *sample, u32 node)
{
	u32 thread = p->ev->node[ap_stacks_thread(p->ev, node)].frame;
	const struct ap_stack_thread *owner = &p->x->stacks->thread[thread];

	sample->n_label = LABELS;
	MESSAGES(p, (size_t)LABELS, Perftools__Profiles__Label, perftools__profiles__label__init,
		 sample->label);
	if (p->failed)
		return;
	for (int i = 0; i < LABELS; i++)
		sample->label[i]->key = i + 1;
	sample->label[0]->str = string(p, owner->comm);
	sample->label[1]->num = owner->pid;
	sample->label[2]->num = owner->tid;
}

static void put_sample(struct pprof *p, Perftools__Profiles__Sample *sample, u32 node)
{
	const struct ap_stack_event *ev = p->ev;
	size_t depth = 0;

	for (u32 at = node; !ap_stacks_is_thread(ev, at); at = ev->node[at].parent)
		depth++;
	sample->location_id = take(p, depth, sizeof(*sample->location_id));
	sample->value = take(p, VALUES, sizeof(*sample->value));
	if (p->failed)
		return;
	for (u32 at = node; !ap_stacks_is_thread(ev, at); at = ev->node[at].parent)
		sample->location_id[sample->n_location_id++] = ev->node[at].frame + 1;
	sample->n_value = VALUES;
	sample->value[0] = (s64)ev->node[node].count;
	sample->value[1] = (s64)ev->node[node].period;
	put_labels(p, sample, node);
}

static void put_samples(struct pprof *p)
{
	size_t n = 0, at = 0;

	for (u32 i = 1; i < p->ev->nnodes; i++)
		n += p->ev->node[i].count > 0;
	p->profile.n_sample = n;
	MESSAGES(p, n, Perftools__Profiles__Sample, perftools__profiles__sample__init,
		 p->profile.sample);
	for (u32 i = 1; i < p->ev->nnodes && !p->failed; i++)
		if (p->ev->node[i].count)
			put_sample(p, p->profile.sample[at++], i);
}

static int write_gzip(const u8 *bytes, size_t size, FILE *out)
{
	z_stream z = { .next_in = (u8 *)bytes, .avail_in = (uInt)size };
	u8 room[65536];
	int ret;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = room;
		z.avail_out = sizeof(room);
		ret = deflate(&z, Z_FINISH);
		fwrite(room, 1, sizeof(room) - z.avail_out, /* raw: binary */ out);
	} while (ret == Z_OK);
	deflateEnd(&z);
	return ret == Z_STREAM_END ? 0 : -EIO;
}

static int write_profile(const struct pprof *p, FILE *out)
{
	size_t size = perftools__profiles__profile__get_packed_size(&p->profile);
	u8 *bytes;
	int ret;

	if (size > 0x7fffffff)
		return -EFBIG; /* what readers of protobuf take */
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	perftools__profiles__profile__pack(&p->profile, bytes);
	ret = write_gzip(bytes, size, out);
	free(bytes);
	return ret;
}

int ap_export_pprof(const struct ap_export *x, FILE *out)
{
	struct pprof p = { .x = x, .ev = &x->stacks->event[x->event] };
	int ret;

	perftools__profiles__profile__init(&p.profile);
	string(&p, "");
	string(&p, "thread");
	string(&p, "pid");
	string(&p, "tid");
	put_types(&p);
	put_mappings(&p);
	put_functions(&p);
	put_locations(&p);
	put_samples(&p);
	p.profile.time_nanos = (s64)ap_data_mtime(x->data) * 1000000000;
	p.profile.n_string_table = p.nstrings;
	p.profile.string_table = p.strings;
	ret = p.failed ? -ENOMEM : write_profile(&p, out);
	while (p.blocks) {
		struct block *next = p.blocks->next;

		free(p.blocks);
		p.blocks = next;
	}
	free(p.strings);
	return ret;
}
