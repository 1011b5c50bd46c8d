/* SPDX-License-Identifier: MIT */
/*
 * execve: the engine does not survive it, so somebody must put it into the new image.  The task
 * asks the supervisor to seize it, or forks a helper that does, and then execs; at the exec stop the
 * tracer injects and detaches.  docs/design/injection.md has the protocol.
 *
 * What would change its nature under a tracer (set-uid programs) or cannot be translated is
 * found out before, reported by name, and executed natively.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/cache/store.h"
#include "engine/client.h"
#include "engine/runtime/filter.h"
#include "engine/task/party.h"
#include "engine/task/task.h"
#include "engine/thread/still.h"
#include "service/service.h"

#define PATH_CAP	 4096
#define HEAD_CAP	 256 /* of a script's first line, as the kernel's */
#define SCRIPT_DEPTH	 5
#define SLICE_NS	 50000000
#define SLICES_MAX	 60 /* a supervisor that does not answer gets three seconds... */
#define OPEN_STEP_NS	 1000000
#define OPEN_STEPS	 30000
#define OPEN_LOOK	 50
#define SLICES_ELSEWHERE 40 /* ...and one that we cannot see two */

#define S_IFMT	   0170000
#define S_IFREG	   0100000
#define S_ISUID	   04000
#define S_ISGID	   02000
#define S_IXGRP	   010
#define ST_NOSUID  2
#define X_OK	   1
#define ELFCLASS32 1
#define EM_X86_64  62
#define EM_386	   3

enum exec_plan {
	PLAN_FOLLOW,
	PLAN_PASS,   /* it will fail, in the kernel's own way */
	PLAN_NATIVE, /* executed, not counted: *why */
};

/* A name that stands for what execve or execveat is asked to execute; 0 or -errno. */
static s64 resolve(char path[PATH_CAP], const struct ap_call *c)
{
	bool at = c->nr == AP_NR_execveat;
	char name[PATH_CAP];
	struct ap_str s;
	s64 len = ap_call_str(name, c->a[at], sizeof(name));

	if (len < 0)
		return len;
	ap_str_init(&s, path, PATH_CAP);
	if (at && name[0] != '/' && (s32)c->a[0] != AP_AT_FDCWD) {
		ap_str_add(&s, "/proc/self/fd/");
		ap_str_u64(&s, (u32)c->a[0]);
		if (len)
			ap_str_char(&s, '/');
	}
	ap_str_add(&s, name);
	return s.cut || (!len && !at) ? -AP_ENOENT : 0;
}

static bool gains_nothing(const char *path)
{
	u64 fs[16];

	if (ap_sys5(AP_NR_prctl, AP_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return true;
	return !ap_sys2(AP_NR_statfs, (u64)path, (u64)fs) && fs[10] & ST_NOSUID;
}

/* Privileges that the kernel would withhold from a traced task. */
static const char *privileges(const char *path, const struct ap_kstat *st)
{
	u32 uid = (u32)ap_sys0(AP_NR_getuid), euid = (u32)ap_sys0(AP_NR_geteuid);
	u32 gid = (u32)ap_sys0(AP_NR_getgid), egid = (u32)ap_sys0(AP_NR_getegid);
	const char *why = NULL;
	u8 cap[64];

	if (st->mode & S_ISUID && (st->uid != uid || st->uid != euid))
		why = "set-uid";
	else if ((st->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 (st->gid != gid || st->gid != egid))
		why = "set-gid";
	else if ((uid || euid) && ap_sys4(AP_NR_getxattr, (u64)path, (u64) "security.capability",
					  (u64)cap, sizeof(cap)) > 0)
		why = "file capabilities";
	return why && gains_nothing(path) ? NULL : why;
}

static s64 read_head(const char *path, char head[HEAD_CAP + 1])
{
	s64 fd = ap_sys3(AP_NR_open, (u64)path, AP_O_CLOEXEC | AP_O_NONBLOCK | AP_O_NOCTTY, 0), n;

	if (fd < 0)
		return 0;
	n = ap_sys4(AP_NR_pread64, (u64)fd, (u64)head, HEAD_CAP, 0);
	ap_sys1(AP_NR_close, (u64)fd);
	n = n > 0 ? n : 0;
	head[n] = 0;
	return n;
}

/* "#! interpreter argument": replaces path by the interpreter. */
static bool is_script(const char *head, char path[PATH_CAP])
{
	const char *p = head + 2;
	struct ap_str s;

	if (head[0] != '#' || head[1] != '!')
		return false;
	while (*p == ' ' || *p == '\t')
		p++;
	ap_str_init(&s, path, PATH_CAP);
	while (*p && *p != ' ' && *p != '\t' && *p != '\n')
		ap_str_char(&s, *p++);
	return true;
}

static enum exec_plan judge_elf(const char *head, s64 n, const char **why)
{
	u16 machine;

	if (n < 64 || memcmp(head, "\177ELF", 4))
		return PLAN_FOLLOW; /* whatever binfmt_misc makes of it */
	memcpy(&machine, head + 18, sizeof(machine));
	if (machine == EM_386 || (machine == EM_X86_64 && head[4] == ELFCLASS32)) {
		*why = "32-bit program";
		return PLAN_NATIVE;
	}
	return PLAN_FOLLOW;
}

static enum exec_plan judge(const char *named, const char **why)
{
	char path[PATH_CAP], head[HEAD_CAP + 1];
	struct ap_kstat st;
	s64 n;

	memcpy(path, named, PATH_CAP);
	for (u32 depth = 0; depth < SCRIPT_DEPTH; depth++) {
		if (ap_sys4(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64)path, (u64)&st, 0) ||
		    (st.mode & S_IFMT) != S_IFREG)
			return PLAN_PASS;
		n = ap_sys4(AP_NR_faccessat2, (u64)AP_AT_FDCWD, (u64)path, X_OK, AP_AT_EACCESS);
		if (n && n != -AP_ENOSYS && ap_filter_allows_nr(AP_NR_faccessat2))
			return PLAN_PASS;
		head[0] = 0;
		n = read_head(path, head);
		if (is_script(head, path))
			continue;
		*why = privileges(path, &st);
		return *why ? PLAN_NATIVE : judge_elf(head, n, why);
	}
	return PLAN_PASS;
}

static bool is_elsewhere(void)
{
	u64 own = ap_proc.seg->pidns;

	return own && ap_proc.session->pidns && own != ap_proc.session->pidns;
}

/* A killed supervisor may stay a zombie for long. */
static bool has_ended(u32 pid)
{
	char text[256];
	struct ap_str s;
	const char *p;
	s64 fd, n;

	if (ap_sys2(AP_NR_kill, pid, 0) == -AP_ESRCH)
		return true;
	ap_str_init(&s, text, sizeof(text));
	ap_str_add(&s, "/proc/");
	ap_str_u64(&s, pid);
	ap_str_add(&s, "/stat");
	fd = ap_sys3(AP_NR_open, (u64)text, AP_O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = ap_sys3(AP_NR_read, (u64)fd, (u64)text, sizeof(text) - 1);
	ap_sys1(AP_NR_close, (u64)fd);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' && (p[2] == 'Z' || p[2] == 'X');
}

/* Who finds it gone says so to all, for the next exec not to wait. */
bool ap_supervisor_lives(u32 slices)
{
	u32 pid = ap_proc.session->supervisor;

	if (ap_session_is_left(ap_proc.session) || is_elsewhere())
		return !ap_session_is_left(ap_proc.session) && slices < SLICES_ELSEWHERE;
	if (!has_ended(pid))
		return true;
	__atomic_store_n(&ap_proc.board->gone, pid, __ATOMIC_RELAXED);
	return false;
}

/* Waits while req stays as it is, somebody is there to change it, and it does not take too long. */
static u32 wait_answer(struct ap_slot *slot, u32 req)
{
	u32 now;

	for (u32 n = 0; (now = __atomic_load_n(&slot->req, __ATOMIC_ACQUIRE)) == req; n++) {
		if (n && (n >= SLICES_MAX || !ap_supervisor_lives(n)))
			break;
		/* what was rung may have been scribbled over */
		if (n)
			ap_supervisor_wake();
		ap_own_wait(&slot->req, req, SLICE_NS);
	}
	return now;
}

/* Takes the request back: a supervisor that comes late finds it gone. */
static u32 withdraw(struct ap_slot *slot, u32 req)
{
	u32 was = req;

	if (__atomic_compare_exchange_n(&slot->req, &was, AP_REQ_HELPER, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return AP_REQ_HELPER;
	return was;
}

static bool ask(struct ap_slot *slot, u32 req)
{
	u32 now;

	__atomic_store_n(&slot->req, req, __ATOMIC_RELEASE);
	ap_supervisor_wake();
	now = wait_answer(slot, req);
	if (now == req)
		now = withdraw(slot, now);
	if (now == AP_REQ_EXEC_TAKEN)
		now = wait_answer(slot, now);
	if (now == AP_REQ_EXEC_TAKEN)
		now = withdraw(slot, now);
	/* no way back from there: what was counted is still taken from the old slot, which nobody writes any more */
	if (now == AP_REQ_MOVE_DONE)
		now = wait_answer(slot, now);
	return now == AP_REQ_EXEC_ACK || now == AP_REQ_MOVE_DONE;
}

static bool ask_supervisor(struct ap_slot *slot)
{
	u64 tracer = is_elsewhere() ? UINT64_MAX : ap_proc.session->supervisor;

	if (ap_session_is_left(ap_proc.session))
		return false;
	ap_sys2(AP_NR_prctl, AP_PR_SET_PTRACER, tracer);
	return ask(slot, AP_REQ_EXEC);
}

u32 ap_supervisor_moves(struct ap_slot *slot)
{
	bool is_done = !ap_session_is_left(ap_proc.session) && ask(slot, AP_REQ_MOVE);

	slot->req = AP_REQ_NONE;
	return is_done ? slot->moved : UINT32_MAX;
}

/* What it has counted is read first.  Half a minute, as a supervisor that is stopped, not busy, cannot be told from one that is. */
void ap_supervisor_gives_up(void)
{
	struct ap_board *board = ap_proc.board;

	__atomic_store_n(&board->is_open, 1, __ATOMIC_SEQ_CST);
	for (u32 n = 0; n < OPEN_STEPS && !ap_session_is_left(ap_proc.session); n++) {
		if (n % OPEN_LOOK == 0)
			ap_supervisor_wake();
		if (n % OPEN_LOOK == OPEN_LOOK - 1 && !is_elsewhere())
			(void)ap_supervisor_lives(n);
		ap_own_wait(&board->gone, 0, OPEN_STEP_NS);
	}
}

/*
 * The exec failed: the supervisor has to let go before anything else happens.  One that does not
 * answer finds the request later.
 */
static void cancel(struct ap_slot *slot)
{
	__atomic_store_n(&slot->req, AP_REQ_CANCEL, __ATOMIC_RELEASE);
	ap_supervisor_wake();
	if (wait_answer(slot, AP_REQ_CANCEL) != AP_REQ_CANCEL)
		slot->req = AP_REQ_NONE;
}

/* party: the descriptor of its next image's; 0: that of this one. */
static void fill_slot(struct ap_thread *t, struct ap_slot *slot, s64 party)
{
	slot->exec_sigmask = ap_sig_program_mask(t);
	slot->exec_fd = party ? (s32)party : ap_fd(t);
	slot->exec_party = party != 0;
	slot->exec_head = ap_head_fd(t);
	slot->exec_root = t->next_root ? t->next_root - 1 : ap_proc.seg->root;
	slot->exec_nofile = ap_limits_nofile(t);
	slot->exec_limits = ap_limits_shares(t);
	slot->exec_ptracer = *ap_ptracer(t);
	slot->exec_cwd = ap_service_cwd();
	slot->exec_secluded = ap_store_is_secluded();
	slot->exec_random = ap_random_of_image(t);
}

/* The program's own mask at the moment of the exec; a signal that comes before it goes first. */
static s64 exec_native(struct ap_thread *t, struct ap_call *c, u64 mask)
{
	u64 virt = t->virt_mask;
	s64 ret;

	ap_signal_before_exec(t);
	ap_sig_set_mask(mask);
	if (virt)
		ap_sys4(AP_NR_rt_sigprocmask, 0 /* SIG_BLOCK */, (u64)&virt, 0, 8);
	ret = ap_still_call(t, c->nr, c->a);
	if (virt)
		ap_sys4(AP_NR_rt_sigprocmask, 1 /* SIG_UNBLOCK */, (u64)&virt, 0, 8);
	ap_signal_exec_failed(t);
	return ret;
}

/* What comes of it runs uncounted: an opener of events on the task learns that by its slot. */
static s64 exec_unfollowed(struct ap_thread *t, struct ap_call *c, u64 mask)
{
	struct ap_slot *slot = ap_thread_slot(t);
	s64 ret;

	__atomic_store_n(&slot->native, 1, __ATOMIC_RELEASE);
	ret = exec_native(t, c, mask);
	__atomic_store_n(&slot->native, 0, __ATOMIC_RELEASE);
	return ret;
}

void ap_note_exec(const char *path, const char *why)
{
	char text[256];
	struct ap_str s;

	ap_str_init(&s, text, sizeof(text));
	ap_str_add(&s, path);
	ap_str_add(&s, ": ");
	ap_note2(AP_NOTE_NOT_COUNTED, "not counted: ", text, why);
}

/*
 * With the program's own mask too, so that the new image has it should the tracer die before it has
 * put the engine in.  A signal may come in that moment, though, and its handler goes first.  Where
 * they come faster than a tracer gets ready the next attempt is made with all signals blocked.
 */
static s64 exec_traced(struct ap_thread *t, struct ap_call *c, u64 mask)
{
	s64 ret;

	if (!t->exec_was_stopped) {
		ret = exec_native(t, c, mask);
		t->exec_was_stopped = AP_CALL_OVER(ret);
		return ret;
	}
	t->exec_was_stopped = 0;
	ap_signal_before_exec(t);
	ret = ap_sys5(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4]);
	ap_signal_exec_failed(t);
	ap_sig_set_mask(mask);
	return ret;
}

/* What the next image gets.  A party that is left is closed by the exec, like all that is hidden. */
static void keep_open(const struct ap_thread *t, s64 party, bool on)
{
	const u64 flags = on ? 0 : AP_FD_CLOEXEC;

	ap_sys3(AP_NR_fcntl, party ? (u64)party : (u64)ap_fd(t), AP_F_SETFD, flags);
	ap_sys3(AP_NR_fcntl, (u64)ap_head_fd(t), AP_F_SETFD, flags);
}

static s64 exec_followed(struct ap_thread *t, struct ap_call *c, u64 mask, const char *path)
{
	struct ap_slot *slot = ap_thread_slot(t);
	s64 helper = 0, ret, party = ap_party_is_left(t) ? ap_party_file(t) : 0;
	const char *why = NULL;
	bool was_hidden, asked, traced;

	if (party < 0) {
		ap_note_exec(path,
			     "its credentials have changed, and there is no memory for it alone");
		return exec_unfollowed(t, c, mask);
	}
	fill_slot(t, slot, party);
	asked = ask_supervisor(slot);
	traced = !asked && !party && ap_traced_execs(t);
	if (!asked && !traced) {
		why = "its credentials have changed, and the supervisor cannot give it memory of its own";
		if (party)
			ap_sys1(AP_NR_close, (u64)party);
		else
			helper = ap_exec_helper_start(t, &was_hidden, &why);
		if (!helper) {
			slot->req = AP_REQ_NONE;
			ap_ptracer_restore(t);
			ap_note_exec(path, why);
			return exec_unfollowed(t, c, mask);
		}
	}
	keep_open(t, party, true);
	ret = exec_traced(t, c, mask);
	mask = ap_sig_block_all();
	keep_open(t, party, false);
	if (helper) {
		ap_exec_helper_cancel(helper, was_hidden);
		slot->req = AP_REQ_NONE;
	} else {
		cancel(slot);
	}
	if (traced)
		ap_traced_exec_failed(t);
	if (party)
		ap_sys1(AP_NR_close, (u64)party);
	ap_ptracer_restore(t);
	ap_sig_set_mask(mask);
	return ret;
}

static s64 call(struct ap_thread *t, struct ap_call *c)
{
	char path[PATH_CAP];
	const char *why = NULL;
	enum exec_plan plan;
	u64 mask;

	if (resolve(path, c))
		return ap_call_pass(t, c);
	plan = ap_filter_allows_start() ? judge(path, &why) : PLAN_NATIVE;
	if (plan == PLAN_PASS)
		return ap_call_pass(t, c);
	if (plan == PLAN_NATIVE && !why)
		why = "its seccomp filter lets in no engine";
	if (plan == PLAN_FOLLOW && t->traced.by_other) {
		why = "another program traces it";
		plan = PLAN_NATIVE;
	}
	if (!ap_call_block(t, &mask))
		return AP_SYSCALL_UNTOUCHED;
	if (plan == PLAN_FOLLOW)
		return exec_followed(t, c, mask, path);
	ap_note_exec(path, why);
	return exec_unfollowed(t, c, mask);
}

/* A helper would be left in the old image's memory, as a child that the new one does not know. */
s64 ap_call_exec(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	ap_party_look(t);
	ap_clients_settle_last(t);
	if (t->is_vfork_child || ap_likely(!ap_clients_hold_tasks()))
		return call(t, c);
	ret = call(t, c);
	ap_clients_let_tasks();
	return ret;
}
