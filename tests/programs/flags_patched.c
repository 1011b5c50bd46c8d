/* SPDX-License-Identifier: MIT */
/*
 * Flags live at a jump's target only after the target was rewritten: an engine that judged the old
 * target must forget the judgement with it.  cmp $5, %edi; jae target; the target first ignores
 * the flags (xor), then reads them (sete).
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const unsigned char head[] = {
	0x83, 0xff, 5, 0x0f, 0x83, 0, 0, 0, 0, 0xb8, 9, 0, 0, 0, 0xc3
};
static const unsigned char ignores[] = { 0x31, 0xc0, 0xff, 0xc0, 0xc3 };
static const unsigned char reads[] = { 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3 };

int main(void)
{
	unsigned char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*volatile f)(int);
	int sum = 0, rel = 4096 - 9;

	if (p == MAP_FAILED)
		return 1;
	memcpy(p, head, sizeof(head));
	memcpy(p + 5, &rel, sizeof(rel));
	memcpy(p + 4096, ignores, sizeof(ignores));
	f = (int (*)(int))(void *)p;
	for (int i = 0; i < 10; i++)
		sum += f(1);
	memcpy(p + 4096, reads, sizeof(reads));
	if (sum != 90 || f(5) != 1 || f(6) != 0) {
		puts("flags_patched: flags of before the change");
		return 1;
	}
	puts("flags_patched: ok");
	return 0;
}
