/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * Calls f_out() 1000 times, which somebody outside may have a uprobe on.  Before it does what makes its file unfindable: "chroot DIR"
 * leaves /proc and itself outside, "unlink" removes its own name, "other DIR" does both.
 */
#include <string.h>
#include <unistd.h>

__attribute__((noinline, aligned(16))) int f_out(int n);
__attribute__((noinline, aligned(16))) int f_out(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long sum = 0;

	if ((!strcmp(how, "unlink") || !strcmp(how, "other")) && unlink(argv[0]))
		return 2;
	if (argc > 2 && (chroot(argv[2]) || chdir("/")))
		return 2;
	for (int i = 0; i < 1000; i++)
		sum += f_out(i);
	return sum != 500500;
}
