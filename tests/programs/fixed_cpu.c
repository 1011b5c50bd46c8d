/* SPDX-License-Identifier: MIT */
/*
 * What --deterministic holds still beside random bytes, a line for each: rdrand and rdseed in all their sizes with the flags
 * that they leave, the names in /proc/sys/kernel/random, and by how much the time stamp counter grows over 12 instructions.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS "pushfq\n\tpop %1\n\t"

/* Until there is a number, which may take some tries: then CF is set and the other status flags are clear. */
#define TRY(what, bits, insn, operand)                                                             \
	do {                                                                                       \
		register uint64_t value __asm__("r9") = ~0ULL;                                     \
		uint64_t flags;                                                                    \
		do                                                                                 \
			__asm__ volatile("cmp $1, %k0\n\t" insn " " operand "\n\t" FLAGS           \
					 : "+r"(value), "=&r"(flags)                               \
					 :                                                         \
					 : "cc");                                                  \
		while (!(flags & 1));                                                              \
		printf("%s %d bits: %016llx flags %03llx\n", what, bits,                           \
		       (unsigned long long)value, (unsigned long long)flags & 0x8d5);              \
	} while (0)

static void from_cpu(void)
{
	unsigned a, b, c, d;

	if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_RDRND) {
		TRY("rdrand", 16, "rdrand", "%w0");
		TRY("rdrand", 32, "rdrand", "%k0");
		TRY("rdrand", 64, "rdrand", "%q0");
	}
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_RDSEED) {
		TRY("rdseed", 16, "rdseed", "%w0");
		TRY("rdseed", 32, "rdseed", "%k0");
		TRY("rdseed", 64, "rdseed", "%q0");
	}
}

static void from_proc(const char *name)
{
	char path[64], b[3][64] = { "", "", "" }, other[8];
	struct iovec v[2] = { { b[2], 9 }, { b[2] + 9, 40 } };
	int fd, n;

	snprintf(path, sizeof(path), "/proc/sys/kernel/random/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = (int)read(fd, b[0], 37);
	printf("%s: read %d, then %d: %s", name, n, (int)read(fd, other, sizeof(other)), b[0]);
	n = (int)pread(fd, b[1], 36, 0);
	printf("%s: pread %d: %s\n", name, n, b[1]);
	lseek(fd, 0, SEEK_SET);
	n = (int)readv(fd, v, 2);
	printf("%s: readv %d: %s", name, n, b[2]);
	close(fd);
}

static void from_clock(void)
{
	uint32_t grown;

	__asm__ volatile("rdtsc\n\tmov %%eax, %%ecx\n\t"
			 "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
			 "rdtsc\n\tsub %%ecx, %%eax"
			 : "=a"(grown)
			 :
			 : "rcx", "rdx", "cc");
	printf("tsc grew by %u\n", grown);
	__asm__ volatile("rdtsc\n\tmov %%eax, %%esi\n\t"
			 "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
			 "rdtscp\n\tsub %%esi, %%eax"
			 : "=a"(grown)
			 :
			 : "rsi", "rcx", "rdx", "cc");
	printf("tsc grew by %u\n", grown);
}

int main(void)
{
	from_cpu();
	from_proc("uuid");
	from_proc("boot_id");
	from_clock();
	fflush(stdout);
	if (!fork()) {
		from_cpu();
		from_clock();
		return 0;
	}
	wait(NULL);
	return 0;
}
