/* SPDX-License-Identifier: MIT */
/*
 * Sleeping at the doorbell.  A futex cannot be waited for together with descriptors.  What must be
 * fast is the answer to a request, which comes by the futex: so the supervisor sleeps there, and a
 * thread polls the descriptors and rings for them.  It is made with the first descriptor: a program
 * of one process needs none, as signals, ends and stops of children of ours among them, interrupt
 * the sleep.
 *
 * After a request the supervisor looks for a while before it sleeps: a task that measures asks
 * again soon, and to be woken costs more than the answer.  That works if the two have a CPU each,
 * which shows: the task is then found looking for its answer and not asleep.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/session/state.h"
#include "linux/task/now.h"

#define NS_PER_S    1000000000ULL
#define SPIN_NS	    20000ULL
#define CREDIT	    4  /* fruitless looks in a row: the other has no CPU of its own to ask from */
#define RETRY	    64 /* requests until it is tried again */
#define SPIN_STRIDE 32 /* looks at the word for one at the clock */

static void futex_wait(u32 *word, u32 value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static u32 *word_of(const struct ap_doorbell *bell)
{
	return &ap_board_of(bell->head)->doorbell;
}

static void ring(struct ap_doorbell *bell)
{
	__atomic_fetch_add(word_of(bell), 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word_of(bell), FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* --- signals */

void ap_supervisor_sigset(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
}

/*
 * Whose owner sleeps; handlers run then and never else, in the one thread that has them.  Volatile:
 * a compiler knows of pthread_sigmask() that it calls nothing here, and not that a signal does.
 */
static struct ap_doorbell *volatile sleeper;

void ap_doorbell_signal(int sig, siginfo_t *si, void *context)
{
	struct ap_doorbell *bell = sleeper;

	(void)context;
	if (!bell)
		return;
	if (bell->ntold < AP_TOLD_MAX)
		bell->told[bell->ntold++] = (struct ap_told){ .sig = sig,
							      .code = si->si_code,
							      .from = (u32)si->si_pid };
	/* one that comes before we sleep keeps us from it */
	__atomic_fetch_add(word_of(bell), 1, __ATOMIC_SEQ_CST);
}

static void sleep_at(struct ap_doorbell *bell, const struct timespec *timeout)
{
	sigset_t set;

	ap_supervisor_sigset(&set);
	sleeper = bell;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	futex_wait(word_of(bell), bell->seen, timeout);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sleeper = NULL;
}

/* --- other parties' bells */

struct ap_bell_relay {
	struct ap_doorbell *bell;
	u32 *word;
	u32 stop;
	pthread_t thread;
};

static void *relay(void *arg)
{
	struct ap_bell_relay *r = arg;
	u32 seen;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		/* before the look at what they want: a ring behind it is not missed */
		seen = __atomic_load_n(r->word, __ATOMIC_SEQ_CST);
		ring(r->bell);
		futex_wait(r->word, seen, NULL);
	}
	return NULL;
}

void ap_doorbell_join(struct ap_doorbell *bell, const struct ap_session_file *party)
{
	struct ap_bell_relay *r = calloc(1, sizeof(*r));

	if (!r || !bell->is_running) {
		free(r);
		return;
	}
	r->bell = bell;
	r->word = &ap_board_of(party->head)->doorbell;
	if (pthread_create(&r->thread, NULL, relay, r)) {
		free(r);
		return;
	}
	bell->relays[party->party] = r;
}

void ap_doorbell_leave(struct ap_doorbell *bell, u32 party)
{
	struct ap_bell_relay *r = bell->relays[party];

	if (!r)
		return;
	bell->relays[party] = NULL;
	__atomic_store_n(&r->stop, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(r->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, r->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	pthread_join(r->thread, NULL);
	free(r);
}

static void *watch_descriptors(void *arg)
{
	struct ap_doorbell *bell = arg;
	struct pollfd fds[2] = { { .fd = bell->epfd, .events = POLLIN },
				 { .fd = bell->stopfd, .events = POLLIN } };

	while (!__atomic_load_n(&bell->stop, __ATOMIC_ACQUIRE)) {
		if (poll(fds, 2, -1) < 0 || !fds[0].revents)
			continue;
		__atomic_store_n(&bell->has_news, 1, __ATOMIC_RELEASE);
		ring(bell);
		while (__atomic_load_n(&bell->has_news, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&bell->stop, __ATOMIC_ACQUIRE))
			futex_wait(&bell->has_news, 1, NULL);
	}
	return NULL;
}

int ap_doorbell_start(struct ap_doorbell *bell, struct ap_session *head, int epfd)
{
	cpu_set_t cpus;

	*bell = (struct ap_doorbell){ .head = head, .epfd = epfd };
	/* whoever asks first finds us asleep, and often asks again at once */
	bell->credit = 2;
	/* looking in vain keeps the only CPU from the tasks that would ask */
	bell->spin_ns =
		sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) > 1 ? SPIN_NS : 0;
	bell->is_running = true;
	return 0;
}

int ap_doorbell_watch(struct ap_doorbell *bell)
{
	int ret;

	if (!bell->is_running || bell->has_thread)
		return 0;
	bell->stopfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell->stopfd < 0)
		return -errno;
	ret = pthread_create(&bell->thread, NULL, watch_descriptors, bell);
	if (ret)
		close(bell->stopfd);
	bell->has_thread = !ret;
	return -ret;
}

void ap_doorbell_stop(struct ap_doorbell *bell)
{
	const u64 one = 1;

	if (!bell->is_running)
		return;
	for (u32 p = 1; p < AP_PARTY_MAX; p++)
		ap_doorbell_leave(bell, p);
	bell->is_running = false;
	if (!bell->has_thread)
		return;
	__atomic_store_n(&bell->stop, 1, __ATOMIC_RELEASE);
	(void)!write(bell->stopfd, &one, sizeof(one));
	ap_doorbell_resume(bell);
	pthread_join(bell->thread, NULL);
	bell->has_thread = false;
	close(bell->stopfd);
}

static u32 read_word(const struct ap_doorbell *bell)
{
	/* pairs with the increment of the task that rings, after it has said what it wants */
	return __atomic_load_n(word_of(bell), __ATOMIC_SEQ_CST);
}

/* Who asks may look for the answer if it is on another one. */
static void say_cpu(const struct ap_doorbell *bell)
{
	__atomic_store_n(&bell->head->cpu, (u32)sched_getcpu() + 1, __ATOMIC_RELAXED);
}

static bool spin(const struct ap_doorbell *bell)
{
	bool is_rung = false;

	while (!is_rung && ap_now_ns() < bell->spin_until) {
		say_cpu(bell);
		for (unsigned int i = 0; i < SPIN_STRIDE && !is_rung; i++) {
			is_rung = ap_doorbell_is_rung(bell);
			__builtin_ia32_pause();
		}
	}
	return is_rung;
}

void ap_doorbell_wait(struct ap_doorbell *bell, u64 ns)
{
	const struct timespec timeout = { .tv_sec = (time_t)(ns / NS_PER_S),
					  .tv_nsec = (long)(ns % NS_PER_S) };
	u32 *asleep = &bell->head->asleep;

	if (ns && !ap_doorbell_is_rung(bell) && !spin(bell)) {
		/* the word is read once more by the kernel, after asleep can be seen */
		__atomic_store_n(&bell->head->cpu, 0, __ATOMIC_RELAXED);
		__atomic_store_n(asleep, 1, __ATOMIC_SEQ_CST);
		sleep_at(bell, &timeout);
		__atomic_store_n(asleep, 0, __ATOMIC_SEQ_CST);
	}
	/*
	 * also where there was no time to look: a supervisor that finds no CPU here sleeps, and
	 * costs a wake
	 */
	say_cpu(bell);
	bell->seen = read_word(bell);
}

bool ap_doorbell_is_rung(const struct ap_doorbell *bell)
{
	return read_word(bell) != bell->seen;
}

bool ap_doorbell_has_news(const struct ap_doorbell *bell)
{
	return __atomic_load_n(&bell->has_news, __ATOMIC_ACQUIRE);
}

void ap_doorbell_resume(struct ap_doorbell *bell)
{
	if (!ap_doorbell_has_news(bell) && !bell->stop)
		return;
	__atomic_store_n(&bell->has_news, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &bell->has_news, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ap_doorbell_served(struct ap_doorbell *bell, bool in_time)
{
	if (in_time)
		bell->credit = CREDIT;
	else if (bell->credit)
		bell->credit--;
	else if (++bell->missed % RETRY == 0)
		bell->credit = 1;
	bell->spin_until = bell->spin_ns && bell->credit ? ap_now_ns() + bell->spin_ns : 0;
}

int ap_supervisor_watch(struct ap_supervisor *sv, int fd, u64 tag, u32 events)
{
	struct epoll_event ev = { .events = events, .data.u64 = tag };

	if (epoll_ctl(sv->epfd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	return ap_doorbell_watch(&sv->bell);
}
