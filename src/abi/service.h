/* SPDX-License-Identifier: MIT */
/*
 * Requests of counted tasks to the supervisor: the system calls on perf descriptors and what the
 * core has to know of a watched task.  One request slot per thread, in the second half of its
 * slot's first page.  docs/design/service.md has the protocol.
 *
 * A task fills the request, stores state ASKED, sets its bit in ap_seg.asking and its segment's bit
 * in ap_session.asking, increments the doorbell, wakes it if ap_session.asleep is set, and waits
 * for state DONE: a short spin, then a futex.  Only sessions with AP_F_SERVE answer.  The
 * supervisor copies the request once before it looks at it: what it reads is checked as a kernel
 * checks user memory.  A task may be killed at any instant; a bit that is left behind means one
 * look too many, and a request that was asked is served (its answer is lost).
 */
#ifndef AP_ABI_SERVICE_H
#define AP_ABI_SERVICE_H

#include "abi/perf.h"
#include "abi/session.h"
#include "base/types.h"

#define AP_SVC_OFF	2048ULL /* struct ap_svc, from the slot's start */
#define AP_SVC_DATA_MAX 1920U

/*
 * A task that goes to sleep on the word makes it ASLEEP first (compare and exchange with ASKED):
 * the supervisor wakes nobody else.
 */
enum ap_svc_state { AP_SVC_IDLE = 0, AP_SVC_ASKED = 1, AP_SVC_DONE = 2, AP_SVC_ASLEEP = 3 };

/*
 * A perf descriptor is the read end of a pipe, and its event is known by the pipe's inode number:
 * whichever descriptor of whichever process names it.
 */
#define AP_SVC_NO_EVENT (~0ULL) /* an inode that is none: of no perf descriptor, */
#define AP_SVC_KERNELS	(~1ULL) /* or of one that is the kernel's own */

/* No group has events of ours and of the kernel's: group is the leader's inode as above, or 0. */
static inline bool ap_svc_may_group(u64 group, bool is_kernels)
{
	return !group || group == AP_SVC_NO_EVENT || (group == AP_SVC_KERNELS) == is_kernels;
}
#define AP_SVC_NATIVE                                                                              \
	1 /*
 * SET_OUTPUT (AP_SVC_IOCTL) to AP_SVC_KERNELS: AP_SVC_NATIVE with this as data, where the kernel can have the event as well.
 */
struct ap_svc_rehome {
	struct ap_perf_attr attr;
	s32 pid, cpu;
};

/* what the answer to an open may be: the kernel has that event */

enum ap_svc_op {
	AP_SVC_NOP = 0,
	/*
	 * perf_event_open: arg pid, cpu, group's inode (0 none, or one of the two above), flags,
	 * the pipe's read end as a number in the task, its write end (~0: closed already, nobody
	 * needs it), its inode; data: struct ap_perf_attr, negotiated.  ret 0 or -errno; on an
	 * error the task closes the read end.  AP_SVC_NATIVE: so it does, and asks the kernel;
	 * data: the attr's config there.
	 */
	AP_SVC_OPEN = 1,
	AP_SVC_CLOSE = 2, /* arg inode: a descriptor was closed; maybe the last (a hint) */
	/* arg inode, size of the program's buffer; data: what to copy; ret its length or -errno */
	AP_SVC_READ = 3,
	AP_SVC_READ_MORE = 4, /* arg offset: the rest of a result longer than data */
	/* arg inode, cmd, arg as passed; data in for SET_FILTER, PERIOD, MODIFY_ATTRIBUTES, out for ID.
	 * SET_OUTPUT: arg[2] is the target's inode, 0 for -1, ~0 not a perf fd. */
	AP_SVC_IOCTL = 5,
	AP_SVC_PRCTL = 6, /* arg 1 enable, 0 disable */
	/*
	 * arg inode, bytes, prot, offset; ret 0: data is u64 offset in the session file, u64 1: for
	 * reading alone
	 */
	AP_SVC_MMAP = 7,
	AP_SVC_MUNMAP = 8, /* arg inode: the last mapping of this process is gone */
	AP_SVC_WHAT =
		9, /* arg descriptor, for a task that may not look itself; ret inode, 0 another file */
	AP_SVC_TREE = 10, /* pack the generated tree (abi/tree.h), if it is not yet */
	AP_SVC_USE = 11,  /* there will be perf descriptors: ap_session.perf_used */

	/*
	 * Of watched tasks (AP_ORDER_WATCHED).  arg segment, slot, is_thread of the child to be.
	 * The slot has its gen already, or belongs to a new segment.
	 */
	AP_SVC_FORK = 16,
	AP_SVC_FORK_FAILED = 17, /* the same args */
	/*
	 * The slot's counts are complete; it keeps them until the answer.  arg 0: the asker's own,
	 * 1:  of the slot arg[1] segment, arg[2] slot, of a vfork child that its parent clears up
	 * after.
	 */
	AP_SVC_EXIT = 18,
	AP_SVC_EXIT_GROUP = 19, /* all tasks of the process end now */
	/* AP_ORDER_BORN: a new task is there and has its names; arg its CPU.  Before it runs. */
	AP_SVC_BORN = 20,
	/* AP_ORDER_MAPPED, _DATA: arg start, end of what a call has mapped or protected anew. */
	AP_SVC_MAPPED = 21,
	/*
	 * AP_ORDER_COMM: the task has another name; arg: not it but this thread of its process; 0:
	 * it
	 */
	AP_SVC_COMM = 22,

	/* Of samplers. */
	/*
	 * arg sampler's index, POLL_IN (1) or POLL_HUP (6): raise its signal.  out: struct
	 * ap_svc_overflow where the thread is to send itself another one.
	 */
	AP_SVC_WAKE = 23,
	AP_SVC_MOVED = 24, /* arg CPU that the task is on now: it has samplers of CPUs */
	AP_SVC_ASYNC =
		25, /* arg inode, 1: the descriptor arg[2] has O_ASYNC from now on, 0: not any more */
	/*
	 * arg inode: poll has given an answer, with which POLLIN is taken.  ret what the answer is
	 */
	AP_SVC_POLLED = 26,
	AP_SVC_QUIET =
		27, /* no thread of the process is to be prompted (AP_PROMPT_CODE) any more */
	AP_SVC_NAMESPACES = 29, /* AP_ORDER_NAMESPACES: the task is in others */
	/*
	 * AP_ORDER_CGROUP.  arg 0: some task may be in another one now.  1: a call has made one,
	 * its path is in data, with the NUL, and begins at descriptor arg[1].
	 */
	AP_SVC_CGROUP = 30,
	AP_SVC_HELD =
		28, /* arg AP_RING_NAME: a writer that has held a ring for long; the ring is freed if it is dead */
	/*
	 * perfctr's device (abi/perfctr.h).  arg inode, command, its argument as a number, words
	 * that may be written, a descriptor that the task has made and its inode; data: words that
	 * are read.  inode 0: open, of that descriptor.  ret 0 or what the call gives; out: words,
	 * not more.
	 */
	AP_SVC_PERFCTR = 31,
	/*
	 * AP_ORDER_UNMAPPED: arg start, end of what a call is about to take away; arg[2]:
	 * AP_SVC_UNMAPPING_*; ret how many mappings of code these have.  After the call, if that is
	 * not 0: arg start, end of what has gone; arg[2]: AP_SVC_UNMAPPED_*.
	 */
	AP_SVC_UNMAPPING = 32,
	AP_SVC_UNMAPPED = 33,
	/*
	 * arg sampler's index, bytes that there is room for: what its sample's READ has; ret its
	 * length or -errno
	 */
	AP_SVC_SAMPLE_READ = 34,
	/*
	 * arg node of the tree; data: what is written to it, a limit of perf events; ret how much
	 * of it or -errno
	 */
	AP_SVC_LIMIT = 40,
	/*
	 * arg inode, counter: of an event that the asker cannot compute itself; data: u64, what
	 * rdpmc gives
	 */
	AP_SVC_PMC = 36,
	/*
	 * arg pid, segment, the former one: the task's tracer has put the engine into its new
	 * image.
	 */
	AP_SVC_TRACED_EXEC = 37
};

#define AP_SVC_UNMAPPING_MORE 1U /* with the parts that were named by the same call before */
#define AP_SVC_UNMAPPING_SEGMENT                                                                   \
	2U /* the System V shared memory that is attached at start, and ends before end */

#define AP_SVC_UNMAPPED_FAILED 1U /* the call has: only what is not there any more */
#define AP_SVC_UNMAPPED_MORE   2U /* another range of the same call follows */

/* A counter of perfctr's has overflowed (abi/perfctr.h): si_signo, and the mask in siginfo. */
struct ap_svc_overflow {
	s32 signo;
	u32 mask;
	u32 is_sent; /* by the supervisor, as struct ap_svc_sent: the thread may make no call */
	u32 pad;
};

/*
 * The siginfo of such a signal: a sender that may not say that it is from the kernel uses a code of
 * its own.
 */
#define AP_SVC_SENT_CODE (-0x4151)
struct ap_svc_sent {
	s32 signo, err, code, pad;
	u32 mask, pad2;
	u64 magic; /* AP_SESSION_MAGIC */
};

struct ap_svc {
	u32 state; /* enum ap_svc_state; futex word */
	u32 op;
	s64 ret;
	u64 cpu_time; /* of the asking thread, ns: the core's clock of its context; 0: look yourself */
	u64 arg[8];
	u32 in_size, out_size; /* bytes valid in data */
	u64 turn;	       /* counts requests: an answer that comes late is nobody's */
	u8 data[AP_SVC_DATA_MAX];
};

_Static_assert(sizeof(struct ap_svc) <= 2048, "half a page");

/*
 * What the thread did in place to its own events, for the supervisor to do after it.  An entry is
 * written at head, and committed by a compare and exchange of state.  The supervisor holds the log
 * while it has to do with the thread's events: it sets AP_LOG_HOLD, and adds AP_LOG_TURN -
 * AP_LOG_HOLD to let go.  Who finds state as it was before has not been disturbed.
 * docs/design/service.md.
 */
enum ap_log_op { AP_LOG_ENABLE = 1, AP_LOG_DISABLE = 2, AP_LOG_RESET = 3, AP_LOG_CLOSE = 4 };

#define AP_LOG_MAX  128U
#define AP_LOG_HEAD ((1ULL << 40) - 1) /* of state: entries ever written, modulo this + 1 */
#define AP_LOG_HOLD (1ULL << 40)
#define AP_LOG_TURN (1ULL << 41)

struct ap_log_entry {
	u64 inode;
	u64 raw;  /* of the event's kinds, with ap_pub.carried; as of then */
	u64 time; /* the thread's CPU time in ns; 0 of a reset, which needs none */
	u32 op, pad;
};

struct ap_log {
	u64 state;
	u64 done; /* the supervisor's: entries before this may be overwritten */
};

#define AP_LOG_OFF (AP_SVC_OFF - sizeof(struct ap_log))
_Static_assert(sizeof(struct ap_slot) <= AP_LOG_OFF, "the log follows");
_Static_assert(AP_LOG_MAX * sizeof(struct ap_log_entry) <= AP_SLOT_SIZE - AP_SLOT_LOG_OFF,
	       "the entries are the slot's last page, at AP_SLOT_LOG_OFF");
_Static_assert(AP_SLOT_OFF(AP_SLOT_MAX) <= AP_SEG_SIZE, "slots fit their segment");

/* ap_slot.orders, written by the supervisor */
#define AP_ORDER_WATCHED     (1u << 0) /* report forks, execs and the end by request */
#define AP_ORDER_BORN	     (1u << 1) /* of a new task: say so before the program's code runs */
#define AP_ORDER_MAPPED	     (1u << 2) /* report executable mappings */
#define AP_ORDER_MAPPED_DATA (1u << 3) /* and others */
#define AP_ORDER_COMM	     (1u << 4) /* report names */
#define AP_ORDER_NAMESPACES  (1u << 6) /* report changes of namespaces */
#define AP_ORDER_CGROUP	     (1u << 7) /* report new cgroups, and tasks that change theirs */
#define AP_ORDER_UNMAPPED    (1u << 8) /* report executable mappings that go, before and after */
#define AP_ORDER_CPU                                                                               \
	(1u << 5) /* say so when it is found on another CPU at a sample, or sent there */

/* Published events: readers in the counted task need no request.  Written by the supervisor. */
#define AP_PUB_MAX 16384U
struct ap_pub {
	u32 seq;   /* odd while it is written */
	u32 flags; /* AP_PUB_* */
	u64 inode; /* 0: free */
	u64 id;
	u64 kinds;			      /* 0: ask */
	u64 base, enabled_base, running_base; /* core/core.h: struct ap_event_public */
	u64 read_format;
	u64 carried;	    /* of these kinds, by former images: raw = carried + the slot's */
	u32 seg, slot, gen; /* of the one task that may compute it in place */
	u32 members;	    /* of its group, itself included */
	u32 leader,
		next; /* index + 1 of the leader, and of the next member; 0 none, or not known */
	u64 applied;  /* position in the log of that task: later entries are not in here */
};

/*
 * Records change while their task's log is held.  One that is computed between two looks at the
 * log's state is of one moment, and so is a whole group.
 *
 * An event is published in one of the AP_PUB_WAYS entries from ap_pub_home(inode) on (the array is
 * a ring), or nowhere.
 */
#define AP_PUB_WAYS 8U
static inline u32 ap_pub_home(u64 inode)
{
	return (u32)(inode * 0x9e3779b97f4a7c15ULL >> 40) & (AP_PUB_MAX - 1);
}

#define AP_PUB_ENABLED (1u << 0)
#define AP_PUB_ACTIVE  (1u << 1)
#define AP_PUB_SIMPLE  (1u << 2) /* its task may enable, disable and reset it in place */
#define AP_PUB_ERROR   (1u << 3) /* poll says POLLERR */
#define AP_PUB_WAITS   (1u << 4) /* the supervisor may put it off for another event */

/*
 * The pipe of a perf descriptor is marked by this permission bit, which no other pipe has: so fstat
 * tells the service which descriptors to ask about.  Only a hint: the supervisor knows inodes.
 */
#define AP_SVC_PIPE_MARK 01000U

#endif
