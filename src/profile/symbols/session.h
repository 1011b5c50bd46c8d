/* SPDX-License-Identifier: MIT */
/*
 * The machine as the records tell it while they are read: its threads, their names, what was mapped
 * where; so that (thread, address) at the time of a sample is a place in a file.
 *
 * Rules are those of perf, because totals shall be the same: a mapping stays until another covers
 * it (also over exec), a thread nobody told of is called ":TID", a forked process begins with its
 * parent's mappings and name.
 */
#ifndef AP_PROFILE_SESSION_H
#define AP_PROFILE_SESSION_H

#include "profile/data/data.h"
#include "profile/symbols/symbol.h"

struct ap_profile_map {
	u64 start, end, pgoff;
	struct ap_dso *dso;
	bool identity; /* places are the addresses themselves */
	u32 prot, flags;
	u64 dev, ino; /* 0: a build-id or nothing stands there */
};

struct ap_maps {
	struct ap_profile_map *v; /* by start, without overlaps */
	u32 n, cap;
	u32 users;
	u32 waiting; /* samples that were folded and not resolved yet: see fold.c */
	u32 changes; /* so far: what was resolved before may resolve otherwise now */
	u32 last;    /* where the last address was found */
};

#define AP_NOBODY (~0U)

struct ap_profile_thread {
	u32 pid, tid;
	u32 ppid;	  /* the thread that made it, or AP_NOBODY */
	const char *comm; /* interned: equal names are equal pointers */
	bool named;
	u64 cgroup_dev, cgroup_ino; /* its cgroup namespace; 0: no record tells */
	struct ap_maps *maps;
};

/* What an address resolves to. */
struct ap_place {
	u64 ip;
	u64 addr; /* the place in the file, or ip */
	const struct ap_profile_map *map;
	const struct ap_symbol *sym;
	struct ap_dso *dso; /* NULL: unknown */
	u8 cpumode;
};

struct ap_profile_session {
	struct ap_symbols symbols;
	struct ap_maps kernel;
	struct ap_table threads;	 /* by tid */
	struct ap_profile_thread **gone; /* kept, because results point to them */
	u32 ngone;
	/*
	 * told before a record changes how a process's waiting samples resolve; NULL: nobody cares
	 */
	void (*before_change)(void *arg);
	void *change_arg;
	u64 nr[96]; /* records seen by type */
	u64 lost, lost_samples;
	struct ap_unwinder *unwinder; /* unwind.c */
	struct ap_cgroup_name *cgroup;
	u32 ncgroups;
	struct ap_dso **jit; /* that have a jitdump */
	u32 njit;
	u32 jit_changes; /* so far, as ap_maps.changes */
};

/* What records have told of cgroups. */
struct ap_cgroup_name {
	u64 id;
	const char *path; /* interned */
};

void ap_session_init(struct ap_profile_session *s);
void ap_session_fini(struct ap_profile_session *s);
/* The build-ids that the file lists. */
void ap_session_build_ids(struct ap_profile_session *s, struct ap_data *d);

/* Takes a record's news in; samples bring none. */
void ap_session_record(struct ap_profile_session *s, const struct ap_data_rec *rec);

/* The path of a cgroup; "unknown": no record tells. */
const char *ap_session_cgroup(const struct ap_profile_session *s, u64 id);

/*
 * Told of each sample before its addresses are looked up: code of JIT compilers is what it was at
 * its time.
 */
void ap_session_at(struct ap_profile_session *s, const struct ap_data_event *event, u64 time);
struct ap_profile_thread *ap_session_thread(struct ap_profile_session *s, u32 pid, u32 tid);
/* Which mapping and file, without its symbols; then with. */
void ap_session_map(struct ap_profile_session *s, struct ap_profile_thread *t, u8 cpumode, u64 ip,
		    struct ap_place *out);
void ap_session_resolve(struct ap_profile_session *s, struct ap_profile_thread *t, u8 cpumode,
			u64 ip, struct ap_place *out);

/* '.' user, 'k' kernel, ... as perf shows it before a symbol. */
char ap_place_level(u8 cpumode);

/*
 * In place of AP_PERF_CONTEXT_USER before frames that were found by unwinding (unwind.c): there
 * perf shows expanded functions without being asked.
 */
#define AP_CONTEXT_UNWOUND ((u64)-3000)

/*
 * The level at which the addresses of a callchain run, when a word of it is looked at: true, the
 * word is a marker and changed *cpumode; *bad: a marker that no kernel writes, the chain is to be
 * dropped.
 */
bool ap_chain_marker(u64 word, u8 *cpumode, bool *bad);

#endif
