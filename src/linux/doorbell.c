/* SPDX-License-Identifier: MIT */
/*
 * The doorbell's thread.  A futex cannot be waited for together with descriptors, and whoever rings
 * may own no descriptor that we know; so this thread waits, and passes each ring on by an eventfd.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/supervisor.h"

static void *listen_for_rings(void *arg)
{
	struct ap_doorbell *bell = arg;
	const u64 one = 1;
	u32 seen = 0;

	while (!__atomic_load_n(&bell->stop, __ATOMIC_ACQUIRE)) {
		u32 now = __atomic_load_n(bell->word, __ATOMIC_ACQUIRE);

		if (now != seen) {
			seen = now;
			(void)!write(bell->eventfd, &one, sizeof(one));
			continue;
		}
		syscall(SYS_futex, bell->word, FUTEX_WAIT, seen, NULL, NULL, 0);
	}
	return NULL;
}

int ap_doorbell_start(struct ap_doorbell *bell, u32 *word)
{
	int ret;

	bell->word = word;
	bell->stop = 0;
	bell->is_running = false;
	bell->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell->eventfd < 0)
		return -errno;
	ret = pthread_create(&bell->thread, NULL, listen_for_rings, bell);
	if (ret) {
		close(bell->eventfd);
		bell->eventfd = -1;
		return -ret;
	}
	bell->is_running = true;
	return 0;
}

void ap_doorbell_stop(struct ap_doorbell *bell)
{
	if (!bell->is_running)
		return;
	__atomic_store_n(&bell->stop, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(bell->word, 1, __ATOMIC_ACQ_REL);
	syscall(SYS_futex, bell->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(bell->thread, NULL);
	bell->is_running = false;
	close(bell->eventfd);
	bell->eventfd = -1;
}
