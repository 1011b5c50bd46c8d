/* FLAGS: -O1 -static -no-pie -fno-omit-frame-pointer -fno-optimize-sibling-calls -fcf-protection=none */
/* SPDX-License-Identifier: MIT */
/* Calls of known depth, for callchains: recursion, two functions that call each other, a pointer. */

static volatile unsigned long sink;

__attribute__((noinline, noclone)) static unsigned long leaf(unsigned long n)
{
	unsigned long sum = 0;

	sink = (unsigned long)__builtin_frame_address(0); /* it has a frame */
	for (unsigned long i = 0; i < n; i++)
		sum += i ^ sum >> 3;
	return sum;
}

__attribute__((noinline, noclone)) static unsigned long odd(unsigned long n);

__attribute__((noinline, noclone)) static unsigned long even(unsigned long n)
{
	unsigned long sum = leaf(20 + n);

	return sum + (n ? odd(n - 1) : leaf(40));
}

__attribute__((noinline, noclone)) static unsigned long odd(unsigned long n)
{
	return (n ? even(n - 1) : 1) + leaf(30);
}

static unsigned long (*volatile by_pointer)(unsigned long) = even;

int main(void)
{
	for (unsigned long n = 0; n < 12; n++)
		sink += by_pointer(n);
	return 0;
}
