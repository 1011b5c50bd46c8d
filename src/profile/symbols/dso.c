/* SPDX-License-Identifier: MIT */
/*
 * Which file knows the symbols of a DSO: the file itself only in the last place, because a stripped
 * file's debug information lies elsewhere under its build-id, its path or its .gnu_debuglink.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"
#include "files/helper.h"
#include "profile/symbols/symbol_internal.h"

void ap_symbols_init(struct ap_symbols *s)
{
	memset(s, 0, sizeof(*s));
	elf_version(EV_CURRENT);
}

void ap_symbols_fini(struct ap_symbols *s)
{
	u32 i;

	for (i = 0; i < s->ndso; i++) {
		struct ap_dso *d = s->dso[i];

		free(d->sym);
		free(d->max_end);
		ap_jit_free(d->jit);
		free(d->seg);
		if (d->debug)
			ap_debug_close(d->debug);
		free(d);
	}
	free(s->dso);
	ap_intern_fini(&s->text);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *short_name(struct ap_symbols *s, const char *path, enum ap_dso_kind kind)
{
	char text[40];
	int tid;

	if (kind == AP_DSO_JIT && sscanf(path, "/tmp/perf-%d.map", &tid) == 1) {
		snprintf(text, sizeof(text), "[JIT] tid %d", tid);
		return ap_intern_str(&s->text, text);
	}
	return kind == AP_DSO_FILE ? ap_intern_str(&s->text, base_name(path)) : path;
}

struct ap_dso *ap_dso_get(struct ap_symbols *s, const char *path, enum ap_dso_kind kind)
{
	const char *name = ap_intern_str(&s->text, path);
	struct ap_dso *d;
	u32 i;

	/* few, and the latest are asked for most */
	for (i = s->ndso; i--;) {
		if (s->dso[i]->path == name && s->dso[i]->kind == kind)
			return s->dso[i];
	}
	d = ap_profile_calloc(1, sizeof(*d));
	d->path = name;
	d->name = short_name(s, name, kind);
	d->kind = kind;
	d->symbols = s;
	d->index = s->ndso;
	if (!(s->ndso & (s->ndso - 1)))
		s->dso = ap_profile_realloc(s->dso, s->ndso ? 2 * s->ndso : 1, sizeof(*s->dso));
	s->dso[s->ndso++] = d;
	return d;
}

void ap_dso_set_build_id(struct ap_dso *dso, const u8 *id, u32 size)
{
	if (size > sizeof(dso->build_id))
		size = sizeof(dso->build_id);
	memcpy(dso->build_id, id, size);
	dso->build_id_size = (u8)size;
}

const char *ap_dso_file(struct ap_dso *dso, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", dso->symbols->symfs ? dso->symbols->symfs : "", dso->path);
	return buf;
}

static const char *hex_id(const struct ap_dso *dso, char *buf)
{
	u32 i;

	buf[0] = 0;
	for (i = 0; i < dso->build_id_size; i++)
		sprintf(buf + 2 * i, "%02x", dso->build_id[i]);
	return buf;
}

/* Where it is another user's, as under sudo, so may be all that is in it.  NULL: there is none. */
static const char *home_of(struct ap_symbols *s)
{
	const char *home = ap_folder_of_variable("HOME", NULL);
	struct stat st;

	if (!home || s->force || stat(home, &st) || !st.st_uid || st.st_uid == geteuid())
		return home;
	if (s->complain && !s->is_home_refused)
		s->complain(home, -AP_FILE_OWNER);
	s->is_home_refused = true;
	return NULL;
}

/* Places that a build-id leads to. */
static bool by_build_id(struct ap_dso *dso, ap_candidate_fn *fn, void *arg)
{
	static const char *const home_form[] = { "%s/.debug/.build-id/%.2s/%s/debug",
						 "%s/.debug/.build-id/%.2s/%s/elf",
						 "%s/.cache/debuginfod_client/%.2s%s/debuginfo",
						 "%s/.cache/debuginfod_client/%.2s%s/executable" };
	const char *home = home_of(dso->symbols);
	char id[2 * sizeof(dso->build_id) + 1], path[4096];
	size_t i;

	if (!dso->build_id_size)
		return false;
	hex_id(dso, id);
	for (i = 0; home && i < AP_ARRAY_SIZE(home_form); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), home_form[i], home, id, id + 2);
#pragma GCC diagnostic pop
		if (fn(dso, path, arg))
			return true;
	}
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	return fn(dso, path, arg);
}

static bool by_link(struct ap_dso *dso, const char *file, ap_candidate_fn *fn, void *arg)
{
	char link[256], path[4096];
	const char *slash = strrchr(file, '/');
	int dir = slash ? (int)(slash - file) : 0;
	struct ap_elf e;
	bool has;

	if (!ap_elf_open(&e, dso, file))
		return false;
	has = ap_elf_debuglink(&e, link, sizeof(link));
	ap_elf_close(&e);
	if (!has)
		return false;
	snprintf(path, sizeof(path), "%.*s/%s", dir, file, link);
	if (strcmp(path, file) && fn(dso, path, arg))
		return true;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", dir, file, link);
	if (fn(dso, path, arg))
		return true;
	snprintf(path, sizeof(path), "/usr/lib/debug%.*s/%s", dir, dso->path, link);
	return fn(dso, path, arg);
}

bool ap_dso_candidates(struct ap_dso *dso, ap_candidate_fn *fn, void *arg)
{
	char file[4096], path[4096];

	ap_dso_file(dso, file, sizeof(file));
	if (by_link(dso, file, fn, arg) || by_build_id(dso, fn, arg))
		return true;
	snprintf(path, sizeof(path), "/usr/lib/debug%s.debug", dso->path);
	if (fn(dso, path, arg))
		return true;
	snprintf(path, sizeof(path), "/usr/lib/debug%s", dso->path);
	return fn(dso, path, arg) || fn(dso, file, arg);
}

void ap_symvec_add(struct ap_symvec *vec, const struct ap_symbol *sym)
{
	if (vec->n == vec->cap) {
		vec->cap = vec->cap ? 2 * vec->cap : 256;
		vec->v = ap_profile_realloc(vec->v, vec->cap, sizeof(*vec->v));
	}
	vec->v[vec->n++] = *sym;
}

/* --- names as people write them */

#define MAX_NAME 65536

/*
 * A name of some hundred bytes may say one of gigabytes, as each part of it can name all before it
 * twice: printing is left where it gets too long.
 */
struct name {
	jmp_buf too_long;
	size_t n;
	char text[MAX_NAME];
};

static void put_name(const char *piece, size_t n, void *arg)
{
	struct name *to = arg;

	if (n >= sizeof(to->text) - to->n)
		longjmp(to->too_long, 1);
	if (n) /* else there may be no piece */
		memcpy(to->text + to->n, piece, n);
	to->n += n;
}

/* false: it stays as it is. */
static bool demangle(const char *name, bool params, struct name *to)
{
	int options = (params ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS) | DMGL_AUTO;

	to->n = 0;
	if (setjmp(to->too_long))
		return false;
	if (!rust_demangle_callback(name, options, put_name, to)) {
		to->n = 0;
		if (!cplus_demangle_v3_callback(name, options, put_name, to))
			return false;
	}
	to->text[to->n] = '\0';
	return true;
}

const char *ap_symbol_name(struct ap_symbols *s, const char *name)
{
	static struct name nice;

	if (!s->no_demangle && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	    demangle(name, s->params, &nice))
		name = nice.text;
	return ap_intern_str(&s->text, name);
}

static bool take_symtab(struct ap_dso *dso, const char *path, void *arg)
{
	struct ap_symvec *vec = arg;
	struct ap_elf e;
	bool ok;

	if (!ap_elf_open(&e, dso, path))
		return false;
	ok = ap_elf_symbols(dso, &e, false, vec);
	if (ok)
		dso->symfile = ap_intern_str(&dso->symbols->text, path);
	ap_elf_close(&e);
	return ok;
}

/* The file itself says what is where in it; most of the symbols may be in another. */
static void file_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	char path[4096];
	struct ap_elf e;
	bool is = ap_elf_open(&e, dso, ap_dso_file(dso, path, sizeof(path)));

	if (is) {
		ap_elf_segments(dso, &e);
		ap_elf_build_id(dso, &e);
	}
	if (!ap_dso_candidates(dso, take_symtab, vec) && is && ap_elf_symbols(dso, &e, true, vec))
		dso->symfile = dso->path;
	if (!is)
		return;
	ap_elf_plt(dso, &e, vec);
	ap_elf_unnamed(dso, &e, vec);
	ap_elf_close(&e);
}

static int by_start(const void *a, const void *b)
{
	const struct ap_symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int underscores(const char *name)
{
	int n = 0;

	while (name[n] == '_')
		n++;
	return n;
}

/* Which of two names of one address people mean: true, the first. */
static bool better(const struct ap_symbol *a, const struct ap_symbol *b)
{
	size_t na = strlen(a->name), nb = strlen(b->name);

	if (!(a->end - a->start) != !(b->end - b->start))
		return a->end != a->start;
	if ((a->bind == STB_WEAK) != (b->bind == STB_WEAK))
		return b->bind == STB_WEAK;
	if ((a->bind == STB_GLOBAL) != (b->bind == STB_GLOBAL))
		return a->bind == STB_GLOBAL;
	if (underscores(a->name) != underscores(b->name))
		return underscores(a->name) < underscores(b->name);
	return na >= nb;
}

/* qsort(3) is not stable and names at one address shall keep the file's order: merge sort. */
static void sort_symbols(struct ap_symbol *v, struct ap_symbol *tmp, u32 n)
{
	u32 half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort_symbols(v, tmp, half);
	sort_symbols(v + half, tmp, n - half);
	if (by_start(&v[half - 1], &v[half]) <= 0)
		return;
	memcpy(tmp, v, half * sizeof(*v));
	while (i < half)
		v[k++] = j < n && v[j].start < tmp[i].start ? v[j++] : tmp[i++];
}

/*
 * Labels inside of a function that has a size are places in it, as those that assembler code jumps
 * to.
 */
static void drop_labels(struct ap_symvec *vec)
{
	u64 covered = 0;
	u32 i, n = 0;

	for (i = 0; i < vec->n; i++) {
		const struct ap_symbol *s = &vec->v[i];

		if (s->type == STT_NOTYPE && s->end == s->start && s->start < covered)
			continue;
		if (s->type == STT_FUNC && s->end > covered)
			covered = s->end;
		vec->v[n++] = *s;
	}
	vec->n = n;
}

/* Symbols without a size reach to the next; of several at one address the best stays. */
static void tidy(struct ap_symvec *vec)
{
	struct ap_symbol *v = vec->v, *tmp;
	u32 i, n = 0;

	if (!vec->n)
		return;
	tmp = ap_profile_realloc(NULL, vec->n, sizeof(*tmp));
	sort_symbols(v, tmp, vec->n);
	free(tmp);
	drop_labels(vec);
	for (i = 0; i + 1 < vec->n; i++) {
		if (v[i].end == v[i].start)
			v[i].end = v[i + 1].start;
	}
	if (v[i].end == v[i].start)
		v[i].end = AP_ALIGN_UP(v[i].start, 4096) + 4096;
	for (i = 0; i < vec->n; i++) {
		if (n && v[n - 1].start == v[i].start) {
			if (!better(&v[n - 1], &v[i]))
				v[n - 1] = v[i];
			continue;
		}
		v[n++] = v[i];
	}
	vec->n = n;
}

static void load(struct ap_dso *dso)
{
	struct ap_symvec vec = { NULL, 0, 0 };
	u64 max = 0;
	u32 i;

	dso->loaded = true;
	switch (dso->kind) {
	case AP_DSO_FILE:
	case AP_DSO_VDSO:
		file_symbols(dso, &vec);
		break;
	case AP_DSO_JIT:
		ap_jit_symbols(dso, &vec);
		if (dso->jitdump)
			ap_jitdump_load(dso);
		break;
	case AP_DSO_KERNEL:
		ap_kernel_symbols(dso, &vec);
		break;
	case AP_DSO_MODULE:
	case AP_DSO_DATA:
		return;
	}
	tidy(&vec);
	dso->sym = vec.v;
	dso->nsym = vec.n;
	dso->max_end = ap_profile_realloc(NULL, vec.n, sizeof(*dso->max_end));
	for (i = 0; i < vec.n; i++) {
		if (vec.v[i].end > max)
			max = vec.v[i].end;
		dso->max_end[i] = max;
	}
}

const struct ap_symbol *ap_dso_symbol(struct ap_dso *dso, u64 place)
{
	u32 lo = 0, hi, mid;

	if (!dso->loaded)
		load(dso);
	if (dso->jit) {
		const struct ap_symbol *sym = ap_jit_symbol(dso, place);

		if (sym)
			return sym;
	}
	for (hi = dso->nsym; lo < hi;) {
		mid = lo + (hi - lo) / 2;
		if (dso->sym[mid].start <= place)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* the nearest that reaches so far; symbols may lie inside of others */
	while (lo--) {
		if (place < dso->sym[lo].end || place == dso->sym[lo].start)
			return &dso->sym[lo];
		if (dso->max_end[lo] <= place)
			break;
	}
	return NULL;
}

static const struct ap_segment *segments(struct ap_dso *dso)
{
	if (!dso->loaded)
		load(dso);
	return dso->seg;
}

u64 ap_dso_vaddr(struct ap_dso *dso, u64 place)
{
	const struct ap_segment *s = segments(dso);
	u32 i;

	for (i = 0; i < dso->nseg; i++) {
		if (place >= s[i].off && place - s[i].off < s[i].size)
			return place - s[i].off + s[i].vaddr;
	}
	return place;
}

u64 ap_dso_place(struct ap_dso *dso, u64 vaddr)
{
	const struct ap_segment *s = segments(dso);
	u32 i;

	for (i = 0; i < dso->nseg; i++) {
		if (vaddr >= s[i].vaddr && vaddr - s[i].vaddr < s[i].size)
			return vaddr - s[i].vaddr + s[i].off;
	}
	return vaddr;
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

char ap_dso_origin(const struct ap_dso *dso)
{
	if (!dso || !dso->loaded || (!dso->symfile && !dso->nsym && !dso->jit))
		return '!';
	if (dso->kind == AP_DSO_KERNEL)
		return 'k';
	if (dso->kind == AP_DSO_JIT)
		return 'j';
	if (!dso->symfile || dso->symfile == dso->path)
		return 'd';
	if (strstr(dso->symfile, "/.debug/.build-id/"))
		return ends(dso->symfile, "/debug") ? 'D' : 'B';
	if (strstr(dso->symfile, "/debug/.build-id/"))
		return 'b';
	if (!strncmp(dso->symfile, "/usr/lib/debug/", 15))
		return ends(dso->symfile, ".debug") ? 'f' : 'u';
	return ends(dso->symfile, dso->path) ? 'd' : 'l';
}
