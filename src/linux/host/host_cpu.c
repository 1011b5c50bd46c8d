/* SPDX-License-Identifier: MIT */
/*
 * Which CPU counted what: each task's counts go to the CPU that it was last seen on.  Looked at
 * only while there are events of CPUs: at a tick, and when somebody reads.
 *
 * Every count goes to exactly one CPU, so that the sum over CPUs is the session's total: what ended
 * threads left in their segment's dead[], less what was seen of them alive, goes where they were
 * last.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/slot_sum.h"
#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/session/owner.h"
#include "linux/task/now.h"

#define TICK_NS	   4000000ULL
#define LOAD	   20 /* a look may take one part in so many of the time */
#define READ_TRIES 16
#define STAT_CPU   39

/* A slot as it was seen last; gen 0: nobody was there. */
struct seen_slot {
	u32 gen;
	s32 cpu;
	u64 raw[AP_RAW_N];
};

struct seen_seg {
	u32 index;
	u64 dead[AP_RAW_N];
	s32 cpu; /* of whoever was seen there last; -1 not known */
	u32 nslots;
	struct seen_slot *slots;
	struct seen_seg *next;
};

struct ap_host_cpus {
	u32 n;
	u64 (*total)[AP_RAW_N];
	u64 epoch, next_ns;
	struct seen_seg *segs;
	struct seen_slot now[AP_SLOT_MAX]; /* of the segment that is looked at */
	struct ap_slot slots[AP_SLOT_MAX];
};

static s32 cpu_of(pid_t pid, pid_t tid)
{
	char name[64], text[1024];
	const char *p;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	if (tid <= 0 || ap_proc_read(pid, name, text, sizeof(text)) <= 0)
		return -1;
	p = strrchr(text, ')');
	for (unsigned int field = 2; p && field < STAT_CPU; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? (s32)ap_text_u64(&p, 10) : -1;
}

s32 ap_host_cpu_of(void *world, void *task)
{
	const struct ap_host_task *t = task;

	(void)world;
	return t ? cpu_of(t->pid, t->tid) : -1;
}

void ap_host_task_on_cpu(struct ap_host *host, struct ap_host_task *t, s32 cpu)
{
	t->cpu = cpu;
	host->is_changed = true;
	ap_host_diaries_hold(host);
	ap_core_task_on_cpu(host->core, t->core, cpu);
	ap_host_diaries_let_go(host);
}

void ap_host_task_found_on_cpu(struct ap_host *host, struct ap_host_task *t)
{
	/*
	 * a task that is in a cgroup, or has events on a CPU, counts from the first instruction,
	 * which no tick has seen
	 */
	bool is_asked = ap_task_samples_on_a_cpu(t->core) || ap_task_counts_on_a_cpu(t->core) ||
			ap_core_has_cgroups(host->core);
	s32 cpu = is_asked ? cpu_of(t->pid, t->tid) : -1;

	if (cpu >= 0 && t->cpu != cpu)
		ap_host_task_on_cpu(host, t, cpu);
}

static struct seen_seg *known(const struct ap_host_cpus *c, u32 index)
{
	struct seen_seg *s = c->segs;

	while (s && s->index != index)
		s = s->next;
	return s;
}

/* Who is gone before a tick sees it was where its parent is: elsewhere it may not be allowed. */
static s32 cpu_of_parent(struct ap_host *host, const struct ap_host_seg *seg)
{
	const struct seen_seg *seen = known(host->cpus, seg->head->parent_seg);
	pid_t parent;

	if (seen && seen->cpu >= 0)
		return seen->cpu;
	parent = ap_owner_of(host->sv, seg->head->parent_seg);
	return cpu_of(parent, parent);
}

static struct seen_seg *seen_of(struct ap_host *host, const struct ap_host_seg *seg)
{
	struct ap_host_cpus *c = host->cpus;
	struct seen_seg *s = known(c, seg->index);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->index = seg->index;
	s->cpu = cpu_of_parent(host, seg);
	s->next = c->segs;
	c->segs = s;
	return s;
}

static bool make_room(struct seen_seg *s, u32 nslots)
{
	struct seen_slot *more;

	if (nslots <= s->nslots)
		return true;
	more = realloc(s->slots, nslots * sizeof(*more));
	if (!more)
		return false;
	memset(more + s->nslots, 0, (nslots - s->nslots) * sizeof(*more));
	s->slots = more;
	s->nslots = nslots;
	return true;
}

static void add(struct ap_host_cpus *c, s32 cpu, const u64 *more, const u64 *less)
{
	u64 *total = c->total[cpu >= 0 && (u32)cpu < c->n ? cpu : 0];

	for (u32 k = 0; k < AP_RAW_N; k++)
		total[k] += more[k] - (less ? less[k] : 0);
}

/* All slots of a segment at one moment: no thread joins the dead meanwhile. */
static bool read_now(struct ap_host *host, struct ap_host_seg *seg, u32 nslots, u64 *dead)
{
	struct ap_host_cpus *c = host->cpus;

	for (unsigned int try = 0; try < READ_TRIES; try++) {
		u64 fold = __atomic_load_n(&seg->head->fold, __ATOMIC_ACQUIRE);

		memcpy(dead, seg->head->dead[fold & 1], sizeof(seg->head->dead[0]));
		for (u32 i = 0; i < nslots; i++) {
			struct seen_slot *now = &c->now[i];

			now->gen = 0;
			if (ap_session_slot_read(host->ses, seg->index, i, &c->slots[i]) ||
			    c->slots[i].state == AP_SLOT_FREE)
				continue;
			if (c->slots[i].state == AP_SLOT_FINAL &&
			    ap_fold_has(fold, i, c->slots[i].gen))
				continue;
			ap_host_sum_slot(seg, i, now->raw);
			now->gen = c->slots[i].gen;
		}
		if (__atomic_load_n(&seg->head->fold, __ATOMIC_ACQUIRE) == fold)
			return true;
	}
	return false;
}

static s32 learn(struct ap_host *host, const struct ap_host_seg *seg, const struct ap_slot *slot,
		 u32 index)
{
	struct ap_host_task *t = seg->by_slot[index];
	u64 pidns = seg->head->pidns;
	s32 cpu = -1;

	if (t && t->tid)
		cpu = cpu_of(t->pid, t->tid);
	else if ((!pidns || pidns == host->ses->head->pidns) &&
		 ap_owner_is(host->sv, seg->index, (pid_t)slot->pid))
		cpu = cpu_of((pid_t)slot->pid, (pid_t)slot->tid);
	if (t && cpu >= 0 && t->cpu != cpu)
		ap_host_task_on_cpu(host, t, cpu);
	return cpu;
}

/* One live slot: what it counted since goes to where it was. */
static void take_slot(struct ap_host *host, struct seen_seg *s, const struct ap_host_seg *seg,
		      u32 i)
{
	struct ap_host_cpus *c = host->cpus;
	struct seen_slot *now = &c->now[i], *was = &s->slots[i];
	bool is_known = was->gen == now->gen;

	if (is_known && !memcmp(was->raw, now->raw, sizeof(now->raw)))
		return;
	now->cpu = learn(host, seg, &c->slots[i], i);
	if (now->cpu >= 0)
		s->cpu = now->cpu;
	add(c, is_known && was->cpu >= 0 ? was->cpu : s->cpu, now->raw, is_known ? was->raw : NULL);
	*was = *now;
}

static void look_at_seg(struct ap_host *host, struct ap_host_seg *seg, u32 most)
{
	struct ap_host_cpus *c = host->cpus;
	struct seen_seg *s = seen_of(host, seg);
	u32 nslots = __atomic_load_n(&seg->head->nslots, __ATOMIC_RELAXED); /* once */
	u64 dead[AP_RAW_N], gone[AP_RAW_N];

	if (nslots > most)
		nslots = most;
	if (!s || !make_room(s, nslots) || !read_now(host, seg, nslots, dead))
		return;
	memcpy(gone, s->dead, sizeof(gone));
	for (u32 i = 0; i < nslots; i++) {
		struct seen_slot *was = &s->slots[i];

		if (was->gen && was->gen != c->now[i].gen) {
			for (u32 k = 0; k < AP_RAW_N; k++)
				gone[k] += was->raw[k];
			s->cpu = was->cpu >= 0 ? was->cpu : s->cpu;
			was->gen = 0;
		}
	}
	add(c, s->cpu, dead, gone);
	memcpy(s->dead, dead, sizeof(dead));
	for (u32 i = 0; i < nslots; i++)
		if (c->now[i].gen)
			take_slot(host, s, seg, i);
}

void ap_host_cpus_look(struct ap_host *host)
{
	struct ap_supervisor *sv = host->sv;

	if (host->cpus->epoch == host->epoch)
		return;
	host->cpus->epoch = host->epoch;
	ap_tracks_learn(sv);
	for (u32 i = 0; i < sv->ntracks; i++) {
		struct ap_host_seg *seg =
			sv->tracks[i]->is_free ? NULL : ap_host_seg(host, sv->tracks[i]->seg);

		if (seg)
			look_at_seg(host, seg, ap_track_slots(sv->tracks[i]));
	}
	ap_host_task_do(host, NULL, host->life->looked);
}

/*
 * Tracepoints and breakpoints: counted in the slots as well, but what their host makes of that is
 * by task.  As with raw counters, it is of the CPU where the task was at the last look, at the
 * first of this one.
 */
u32 ap_host_cpu_of_words(struct ap_host *host, struct ap_host_task *t)
{
	const struct seen_seg *s;

	if (t->words_at != host->epoch) {
		t->words_at = host->epoch;
		t->words_cpu = t->words_next;
		t->words_next = cpu_of(t->pid, t->tid);
		if (t->words_cpu < 0)
			t->words_cpu = t->words_next;
	}
	if (t->words_cpu < 0)
		t->words_cpu = t->cpu;
	if (t->words_cpu < 0 && t->seg && host->cpus) {
		s = known(host->cpus, t->seg->index);
		t->words_cpu = s ? s->cpu : -1;
	}
	return t->words_cpu >= 0 && (u32)t->words_cpu < ap_host_count_cpus() ? (u32)t->words_cpu
									     : 0;
}

/*
 * Before a parent is forgotten.  There may be many segments, and many that end: no memory is looked
 * at for it but the children's.
 */
static void note_children(struct ap_host *host, u32 parent)
{
	struct ap_supervisor *sv = host->sv;
	struct ap_host_seg *seg;

	for (u32 i = 0; i < sv->ntracks; i++) {
		if (sv->tracks[i]->parent != parent || sv->tracks[i]->is_free)
			continue;
		seg = ap_host_seg(host, sv->tracks[i]->seg);
		if (seg && seg->head->parent_seg == parent)
			(void)seen_of(host, seg);
	}
}

void ap_host_cpu_seg_ended(struct ap_host *host, u32 index)
{
	struct ap_host_seg *seg = host->cpus ? ap_host_seg(host, index) : NULL;

	if (!seg)
		return;
	look_at_seg(host, seg, AP_SLOT_MAX);
	ap_tracks_learn(host->sv);
	note_children(host, index);
	for (struct seen_seg **p = &host->cpus->segs; *p; p = &(*p)->next) {
		struct seen_seg *s = *p;

		if (s->index != index)
			continue;
		*p = s->next;
		free(s->slots);
		free(s);
		return;
	}
}

u64 ap_host_cpu_raw(void *world, s32 cpu, u64 kinds)
{
	struct ap_host *host = world;
	u64 sum = 0;

	if (!host->cpus || cpu < 0 || (u32)cpu >= host->cpus->n)
		return 0;
	ap_host_cpus_look(host);
	for (u32 k = 0; k < AP_RAW_N; k++)
		if (kinds & AP_KIND_BIT(k))
			sum += host->cpus->total[cpu][k];
	return sum;
}

int ap_host_cpus_use(struct ap_host *host, u32 ncpus)
{
	struct ap_host_cpus *c;

	if (host->cpus)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->n = ncpus;
	c->total = calloc(ncpus, sizeof(*c->total));
	if (!c->total) {
		free(c);
		return -ENOMEM;
	}
	host->cpus = c;
	ap_host_cpus_look(host);
	return 0;
}

u64 ap_host_cpus_tick(struct ap_host *host, u64 now)
{
	struct ap_host_cpus *c = host->cpus;
	u64 cost;

	if (!c)
		return 0;
	if (now < c->next_ns)
		return c->next_ns - now;
	host->epoch++;
	ap_host_cpus_look(host);
	cost = ap_now_ns() - now;
	c->next_ns = now + (cost * LOAD > TICK_NS ? cost * LOAD : TICK_NS);
	return c->next_ns - now;
}

void ap_host_cpus_fini(struct ap_host *host)
{
	struct ap_host_cpus *c = host->cpus;

	if (!c)
		return;
	while (c->segs) {
		struct seen_seg *s = c->segs;

		c->segs = s->next;
		free(s->slots);
		free(s);
	}
	free(c->total);
	free(c);
	host->cpus = NULL;
}
