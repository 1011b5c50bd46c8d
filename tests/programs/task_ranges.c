/* SPDX-License-Identifier: MIT */
/*
 * Reads lines "START-..." (hexadecimal, as /proc/PID/maps has them) and asks the kernel for the page there by each call
 * that takes memory by address.  Prints what all answered for one page; for a hole it is the same for all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE		4096UL
#define NR_PIDFD_OPEN	434
#define NR_ADVISE_PARTS 440
#define NR_HOME_NODE	450
#define NR_SEAL		462
#define ONLY_USER	1

static int uffd = -1, self = -1;

static long told(long ret)
{
	return ret == -1 ? errno : 0;
}

static long advise_parts(unsigned long at, int advice)
{
	struct iovec part = { (void *)at, PAGE };

	return told(syscall(NR_ADVISE_PARTS, self, &part, 1UL, advice, 0));
}

static long watch(unsigned long at)
{
	struct uffdio_register reg = { .range = { at, PAGE },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };

	return told(ioctl(uffd, UFFDIO_REGISTER, &reg));
}

static void ask(unsigned long at)
{
	printf("remap_file_pages %ld", told(syscall(SYS_remap_file_pages, at, PAGE, 0, 0, 0)));
	printf(" madvise %ld %ld", told(syscall(SYS_madvise, at, PAGE, MADV_DONTNEED)),
	       told(syscall(SYS_madvise, at, PAGE, MADV_DONTFORK)));
	printf(" process_madvise %ld %ld", advise_parts(at, MADV_DONTNEED),
	       advise_parts(at, MADV_DONTFORK));
	printf(" mprotect %ld", told(syscall(SYS_mprotect, at, PAGE, PROT_READ)));
	printf(" mremap %ld", told(syscall(SYS_mremap, at, PAGE, 2 * PAGE, MREMAP_MAYMOVE, 0)));
	printf(" keep %ld", told(syscall(SYS_mremap, at, PAGE, PAGE, MREMAP_MAYMOVE | 4, 0)));
	printf(" mbind %ld", told(syscall(SYS_mbind, at, PAGE, 0, NULL, 0, 0)));
	printf(" home %ld", told(syscall(NR_HOME_NODE, at, PAGE, 0, 0)));
	printf(" mseal %ld", told(syscall(NR_SEAL, at, PAGE, 0)));
	printf(" watch %ld\n", watch(at));
}

int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	char line[1024];

	self = (int)syscall(NR_PIDFD_OPEN, getpid(), 0);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | ONLY_USER);
	if (uffd >= 0)
		ioctl(uffd, UFFDIO_API, &api);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		ask(strtoul(line, NULL, 16));
	return 0;
}
