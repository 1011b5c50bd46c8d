/* SPDX-License-Identifier: MIT */
/*
 * The engine's first steps in a freshly exec'd image, or in a process that runs already: map the
 * session, build the tables, become the first thread, and enter the dispatcher at the program's pc.
 */
#include "abi/switches.h"
#include "engine/cache/lookup.h"
#include "engine/cache/smc.h"
#include "engine/cache/store.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/emit/offsets.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"
#include "service/service.h"
#include "sys/nr.h"

#define HWCAP2_FSGSBASE 2

__attribute__((section(".blob_boot"), aligned(4096))) struct ap_boot ap_boot_page = { 0 };

_Static_assert(offsetof(struct ap_thread, spill_rcx) == AP_T_SPILL_RCX, "gate.S");
_Static_assert(offsetof(struct ap_thread, spill_rdx) == AP_T_SPILL_RDX, "gate.S");
_Static_assert(offsetof(struct ap_thread, spill_a) == AP_T_SPILL_A, "gate.S");
_Static_assert(offsetof(struct ap_thread, spill_b) == AP_T_SPILL_B, "gate.S");
_Static_assert(offsetof(struct ap_thread, entry) == AP_T_ENTRY, "gate.S");
_Static_assert(offsetof(struct ap_thread, engine_sp) == AP_T_ENGINE_SP, "gate.S");
_Static_assert(offsetof(struct ap_thread, exit_id) == AP_T_EXIT_ID, "gate.S");
_Static_assert(offsetof(struct ap_thread, exit_kind) == AP_T_EXIT_KIND, "gate.S");
_Static_assert(offsetof(struct ap_thread, pending) == AP_T_PENDING, "gate.S");
_Static_assert(offsetof(struct ap_thread, branch_id) == AP_T_BRANCH_ID, "mangle.c");
_Static_assert(offsetof(struct ap_thread, regs) == AP_T_GPR, "gate.S");
_Static_assert(offsetof(struct ap_thread, regs.rip) == AP_T_RIP, "gate.S");
_Static_assert(offsetof(struct ap_thread, regs.rflags) == AP_T_RFLAGS, "gate.S");
_Static_assert(offsetof(struct ap_thread, app_gs_base) == AP_T_APP_GS, "gate.S");
_Static_assert(offsetof(struct ap_thread, rep_rcx) == AP_T_REP_RCX, "mangle.c");
_Static_assert(offsetof(struct ap_thread, pmc) == AP_T_PMC, "pmc.c");
_Static_assert(sizeof(struct ap_pmc) == 32, "pmc.c");
_Static_assert(offsetof(struct ap_thread, pmc_flags) == AP_T_PMC_FLAGS, "pmc.c");
_Static_assert(offsetof(struct ap_thread, in_call) == AP_T_IN_CALL, "gate.S");
_Static_assert(offsetof(struct ap_thread, feed_pos) == AP_T_FEED_POS, "feed_emit.c");
_Static_assert(offsetof(struct ap_thread, feed_spill) == AP_T_FEED_SPILL, "feed_emit.c");
_Static_assert(AP_T_SLOT_OFF + offsetof(struct ap_slot, in_code) == AP_T_IN_CODE, "gate.S");
_Static_assert(offsetof(struct ap_boot, gs_base) - offsetof(struct ap_boot, regs) ==
		       offsetof(struct ap_thread, app_gs_base) - offsetof(struct ap_thread, regs),
	       "ap_boot_native");
_Static_assert(sizeof(struct ap_thread) <= AP_T_SLOT_OFF, "one page");
_Static_assert(sizeof(struct ap_slot) <= AP_SLOT_COUNTS_OFF, "one page");

AP_NORETURN void ap_boot_native(struct ap_boot *boot);
AP_NORETURN void ap_start(struct ap_boot *boot);

static bool map_at(void *at, s32 fd, u64 off, u64 size, u64 prot)
{
	return !ap_is_err(ap_sys6(AP_NR_mmap, (u64)at, size, prot, AP_MAP_SHARED | AP_MAP_FIXED,
				  (u64)fd, off));
}

static bool map_head(void)
{
	char *p = ap_mem_map(0, AP_NOTE_OFF + AP_NOTE_MAX * sizeof(struct ap_note));

	if (!p || !map_at(p, ap_proc.head_fd, 0, AP_BOARD_OFF, AP_PROT_R) ||
	    !map_at(p + AP_BOARD_OFF, ap_proc.session_fd, AP_BOARD_OFF,
		    AP_NOTE_OFF - AP_BOARD_OFF + AP_NOTE_MAX * sizeof(struct ap_note),
		    AP_PROT_R | AP_PROT_W))
		return false;
	ap_proc.session = (const struct ap_session *)p;
	ap_proc.board = ap_board_of(ap_proc.session);
	return true;
}

static int attach_session(struct ap_boot *boot)
{
	const struct ap_blob_header *header;
	char *seg;

	ap_proc.boot = boot;
	ap_proc.session_fd = boot->session_fd;
	ap_proc.head_fd = boot->head_fd;
	ap_proc.seg_index = boot->seg;
	ap_proc.flags = boot->flags;
	ap_proc.random = boot->random;
	ap_proc.blob_lo = boot->blob_base;
	ap_proc.blob_hi = boot->blob_base + boot->blob_size;
	ap_proc.code_hi = (u64)boot;
	header = (const struct ap_blob_header *)boot->blob_base;
	ap_mem_early_init(boot->blob_base + header->early, boot->blob_base + header->image_size);
	seg = ap_mem_map(0, AP_SLOTS_OFF);
	if (!map_head() || !seg ||
	    !map_at(seg, boot->session_fd, AP_SEG_OFF(boot->seg), AP_SLOTS_OFF,
		    AP_PROT_R | AP_PROT_W))
		return -AP_ENOMEM;
	ap_proc.seg = (struct ap_seg *)seg;
	ap_proc.shapes = (u64 *)(seg + AP_SHAPES_OFF);
	ap_proc.has_fsgsbase = boot->hwcap2 & HWCAP2_FSGSBASE &&
			       !ap_is_stressed(ap_proc.session, AP_STRESS_NO_FSGSBASE);
	if (ap_profile_begin())
		return -AP_ENOMEM;
	if (ap_is_stressed(ap_proc.session, AP_STRESS_CHECKS))
		ap_proc.seg->data_ack = ~0U; /* stale, so that checks come on without a watch */
	ap_kinds_init();
	return 0;
}

/* Translated code of the party's, where the supervisor says its key.  Nobody else is to read that. */
static void use_store(const struct ap_boot *boot, const u64 key[2])
{
	char *p;

	if (key[0] == AP_STORE_SECLUDED)
		ap_store_seclude();
	if (!key[0] || key[0] == AP_STORE_SECLUDED)
		return;
	p = ap_sys2(AP_NR_prctl, AP_PR_GET_DUMPABLE, 0) == 1 ? ap_mem_map(0, AP_STORE_SIZE) : NULL;
	if (p && map_at(p, boot->session_fd, AP_STORE_OFF, AP_STORE_SIZE, AP_PROT_R | AP_PROT_W))
		ap_store_use((struct ap_store *)p, key);
	else if (p)
		ap_mem_unmap(p, AP_STORE_SIZE);
}

static int make_tables(void)
{
	ap_mend_init();
	ap_clients_init();
	ap_unit_init();
	return ap_lookup_init();
}

static int make_first_thread(struct ap_boot *boot, struct ap_thread **out)
{
	struct ap_thread *t;
	int err = ap_thread_new(&t);

	if (err)
		return err;
	t->regs = boot->regs;
	t->app_gs_base = boot->gs_base;
	if (boot->nthreads)
		ap_attach_before();
	ap_thread_set_gs(t);
	ap_thread_init_kernel(t);
	ap_thread_link(t);
	*out = t;
	return 0;
}

void ap_start(struct ap_boot *boot)
{
	const u64 key[2] = { boot->store_key[0], boot->store_key[1] };
	struct ap_thread *t;

	boot->store_key[0] = boot->store_key[1] = 0;
	if (attach_session(boot) != 0 || make_tables() != 0 || make_first_thread(boot, &t) != 0) {
		ap_sys1(AP_NR_close, (u64)boot->session_fd);
		ap_sys1(AP_NR_close, (u64)boot->head_fd);
		ap_sys4(AP_NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)&boot->sigmask, 0, 8);
		ap_boot_native(boot);
	}
	use_store(boot, key);
	ap_task_init(t);
	ap_service_begins_in(boot->cwd);
	ap_signal_init(t);
	if (boot->nthreads && ap_attach_threads(t))
		ap_go_native(t, "no memory for its threads");
	ap_proc.seg->smc_at = ap_smc_table();
	__atomic_store_n(&ap_proc.seg->state, AP_SEG_LIVE, __ATOMIC_RELEASE);
	if (boot->nthreads)
		ap_attach_thread((struct ap_boot_thread *)boot->threads);
	ap_signal_let_in(boot->sigmask);
	if (ap_unlikely(boot->traced))
		ap_traced_begin(t);
	ap_redispatch(t);
}
