/* SPDX-License-Identifier: MIT */
#include "profile/symbols/unwind.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>

#include "profile/symbols/symbol_internal.h"

#define MAX_UNWOUND 127

/*
 * One for each set of mappings that was asked about; its modules are reported as frames need them.
 */
struct process {
	const struct ap_maps *maps;
	u32 changes, jit_changes;
	Dwfl *dwfl;
	bool attached;
	struct image **image; /* of JIT compilers' code, which modules have */
	u32 nimages;
	struct process *next;
};

struct ap_unwinder {
	struct process *first;
	u64 *chain;
	size_t cap;
	/* the sample at hand */
	struct ap_profile_session *s;
	struct ap_profile_thread *t;
	const struct ap_sample *sample;
	u64 mask;
	u64 *out;
	u32 n;
	struct process *p;
};

/* A module of a JIT compiler's code has its image. */
struct image {
	char *elf;
	size_t size;
};

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		    char **path, Elf **elf)
{
	struct image *image = *userdata;

	if (!image)
		return dwfl_build_id_find_elf(mod, userdata, name, base, path, elf);
	*elf = elf_memory(image->elf, image->size);
	return -1;
}

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* A register by the kernel's number. */
static bool reg(const struct ap_unwinder *u, u32 nr, u64 *v)
{
	if (!(u->mask >> nr & 1) || !u->sample->regs)
		return false;
	*v = ap_get64(u->sample->regs +
		      8 * (size_t)__builtin_popcountll(u->mask & ((1ULL << nr) - 1)));
	return true;
}

#define REG_SP 7U
#define REG_IP 8U

/*
 * Makes libdwfl know the function of a JIT compiler's that is at ip, if its compiler told how to
 * unwind it.
 */
static bool report_code(struct ap_unwinder *u, struct ap_dso *dso, u64 ip)
{
	const struct ap_jit_code *c = dso->jitdump ? ap_jit_code_at(dso, ip) : NULL;
	struct process *p = u->p;
	struct image *image;
	void **userdata, *elf;
	size_t size;
	Dwfl_Module *mod;

	if (!c || !c->unwind_size)
		return false;
	elf = ap_jit_image(dso, c, &size);
	if (!elf)
		return false;
	image = ap_profile_calloc(1, sizeof(*image));
	*image = (struct image){ elf, size };
	if (!(p->nimages & (p->nimages - 1)))
		p->image = ap_profile_realloc(p->image, p->nimages ? 2 * p->nimages : 1,
					      sizeof(struct image *));
	p->image[p->nimages++] = image;
	dwfl_report_begin_add(p->dwfl);
	mod = dwfl_report_module(p->dwfl, "jit", c->start, c->start + c->size);
	if (mod && dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = image;
	dwfl_report_end(p->dwfl, NULL, NULL);
	return mod && dwfl_addrmodule(p->dwfl, ip) == mod;
}

/* Makes libdwfl know the file that is mapped at ip. */
static bool report(struct ap_unwinder *u, u64 ip)
{
	Dwfl_Module *mod = dwfl_addrmodule(u->p->dwfl, ip);
	struct ap_place place;
	char path[4096];
	struct ap_elf e;
	u64 bias;

	if (mod)
		return true;
	ap_session_map(u->s, u->t, AP_PERF_RECORD_MISC_USER, ip, &place);
	if (place.dso && place.dso->kind == AP_DSO_JIT)
		return report_code(u, place.dso, ip);
	if (!place.dso || place.dso->kind != AP_DSO_FILE)
		return false;
	/* only a file, and of the build that was profiled */
	if (!ap_elf_open(&e, place.dso, ap_dso_file(place.dso, path, sizeof(path))))
		return false;
	ap_elf_close(&e);
	/*
	 * by this segment, because linkers leave room in memory that they do not leave in the file
	 */
	bias = ip - ap_dso_vaddr(place.dso, place.addr);
	dwfl_report_begin_add(u->p->dwfl);
	mod = dwfl_report_elf(u->p->dwfl, place.dso->name, path, -1, bias, true);
	dwfl_report_end(u->p->dwfl, NULL, NULL);
	return mod && dwfl_addrmodule(u->p->dwfl, ip) == mod;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	*thread = *thread ? NULL : arg;
	return *thread ? 1 : 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

/* The copied piece of the stack, else what the files have there. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct ap_unwinder *u = arg;
	const struct ap_sample *s = u->sample;
	struct ap_place place;
	u64 sp;
	u8 word[8];

	(void)dwfl;
	if (reg(u, REG_SP, &sp) && addr >= sp && addr - sp <= s->stack_size &&
	    s->stack_size - (addr - sp) >= 8) {
		*result = ap_get64(s->stack + (addr - sp));
		return true;
	}
	ap_session_map(u->s, u->t, AP_PERF_RECORD_MISC_USER, addr, &place);
	if (!place.dso || ap_dso_code(place.dso, place.addr, word, 8) != 8)
		return false;
	*result = ap_get64(word);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	/* the kernel's numbers in DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
	static const u8 order[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 };
	const struct ap_unwinder *u = arg;
	Dwarf_Word v[AP_ARRAY_SIZE(order)];
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(order); i++) {
		u64 word = 0;

		reg(u, order[i], &word);
		v[i] = word;
	}
	return dwfl_thread_state_registers(thread, 0, AP_ARRAY_SIZE(order), v);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int frame(Dwfl_Frame *state, void *arg)
{
	struct ap_unwinder *u = arg;
	bool is_start;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(state, &pc, NULL))
		return DWARF_CB_ABORT;
	report(u, pc); /* before the frame's registers are asked for */
	if (!dwfl_frame_pc(state, &pc, &is_start))
		return DWARF_CB_ABORT;
	u->out[u->n++] = is_start ? pc : pc - 1;
	return u->n < MAX_UNWOUND ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void end(struct process *p)
{
	if (p->dwfl)
		dwfl_end(p->dwfl);
	p->dwfl = NULL;
	while (p->nimages) {
		free(p->image[--p->nimages]->elf);
		free(p->image[p->nimages]);
	}
	free(p->image);
	p->image = NULL;
}

static struct process *process_of(struct ap_unwinder *u, const struct ap_maps *maps)
{
	struct process *p;

	for (p = u->first; p && p->maps != maps; p = p->next)
		;
	if (p && p->changes == maps->changes && p->jit_changes == u->s->jit_changes)
		return p;
	if (!p) {
		p = ap_profile_calloc(1, sizeof(*p));
		p->maps = maps;
		p->next = u->first;
		u->first = p;
	} else {
		end(p);
	}
	p->changes = maps->changes;
	p->jit_changes = u->s->jit_changes;
	p->attached = false;
	p->dwfl = dwfl_begin(&file_callbacks);
	return p;
}

/* The frames of the sample at hand; the first is where it was taken. */
static void unwind(struct ap_unwinder *u)
{
	u64 ip;

	if (!reg(u, REG_IP, &ip))
		return;
	u->p = process_of(u, u->t->maps);
	if (!u->p->dwfl)
		return;
	if (report(u, ip) && !u->p->attached)
		u->p->attached = dwfl_attach_state(u->p->dwfl, NULL, 1, &thread_callbacks, u);
	if (u->p->attached)
		dwfl_getthread_frames(u->p->dwfl, 1, frame, u);
	if (!u->n)
		u->out[u->n++] = ip;
}

static void reserve(struct ap_profile_session *s, size_t need)
{
	struct ap_unwinder *u = s->unwinder;

	if (!u)
		u = s->unwinder = ap_profile_calloc(1, sizeof(*u));
	if (need <= u->cap)
		return;
	u->cap = need;
	u->chain = ap_profile_realloc(u->chain, need, sizeof(*u->chain));
}

/*
 * The calls that had not returned are the user's part of the callchain, as perf has it: where the
 * newest one went, then all of them.
 */
static void use_calls(struct ap_profile_session *s, struct ap_sample *sample)
{
	u64 n = 0, *to;

	while (n < sample->nchain && ap_get64(sample->chain + 8 * n) != AP_PERF_CONTEXT_USER)
		n++;
	if (n == sample->nchain || !sample->nbranches)
		return;
	n++;
	reserve(s, (size_t)(n + 1 + sample->nbranches));
	to = s->unwinder->chain;
	memcpy(to, sample->chain, 8 * (size_t)n);
	to[n++] = ap_get64(sample->branches + 8);
	for (u64 k = 0; k < sample->nbranches; k++)
		to[n++] = ap_get64(sample->branches + 24 * k);
	sample->chain = (const u8 *)to;
	sample->nchain = n;
}

void ap_unwind_sample(struct ap_profile_session *s, struct ap_profile_thread *t,
		      const struct ap_data_event *ev, struct ap_sample *sample)
{
	struct ap_unwinder *u;
	u64 n = sample->nchain;

	if (!(ev->attr.sample_type & AP_PERF_SAMPLE_CALLCHAIN))
		return;
	if (ev->attr.sample_type & AP_PERF_SAMPLE_BRANCH_STACK &&
	    ev->attr.branch_sample_type & AP_PERF_SAMPLE_BRANCH_CALL_STACK)
		use_calls(s, sample);
	if (!sample->regs || !sample->stack_size || sample->regs_abi != AP_PERF_SAMPLE_REGS_ABI_64)
		return;
	reserve(s, (size_t)n + MAX_UNWOUND + 1);
	u = s->unwinder;
	if (n)
		memcpy(u->chain, sample->chain, 8 * (size_t)n);
	u->chain[n] = AP_CONTEXT_UNWOUND;
	u->s = s;
	u->t = t;
	u->sample = sample;
	u->mask = ev->attr.sample_regs_user;
	u->out = u->chain + n + 1;
	u->n = 0;
	unwind(u);
	sample->chain = (const u8 *)u->chain;
	sample->nchain = n + 1 + u->n;
}

void ap_unwind_fini(struct ap_profile_session *s)
{
	struct ap_unwinder *u = s->unwinder;
	struct process *p, *next;

	for (p = u ? u->first : NULL; p; p = next) {
		next = p->next;
		end(p);
		free(p);
	}
	if (u)
		free(u->chain);
	free(u);
	s->unwinder = NULL;
}
