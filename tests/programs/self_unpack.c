/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * A program that unpacks itself as those of upx do: a stub in memory that was just mapped maps over the text that called it, decompresses
 * into it, makes it executable and jumps there; what was unpacked unmaps the stub.  Each round has other code at the same address.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, TEXT = 2 * PAGE, ROUNDS = 6 };

typedef int (*code)(void *stub, long size, const void *from, void *to);

int packed(void *stub, long size, const void *from, void *to);
extern char stub[], stub_end[];

/* Tokens: n bytes follow; -n, at a distance: so many from there; 0, the end. */
__asm__(".section .packed_text, \"ax\", @progbits\n"
	".balign 4096\n"
	".type packed, @function\n"
	"packed: jmp *%rdi\n"
	".balign 4096\n"
	".skip 4096, 0x90\n"
	".section .rodata\n"
	"stub: push %rbx; push %r12; push %r13\n"
	"mov %rdi, %rbx; mov %rdx, %r12; mov %rcx, %r13\n"
	"mov $9, %eax; mov %r13, %rdi; mov $8192, %esi; mov $3, %edx\n" /* mmap */
	"mov $0x32, %r10d; mov $-1, %r8; xor %r9d, %r9d; syscall\n"
	"mov %r12, %rsi; mov %r13, %rdi\n"
	"1: lodsb; movsbl %al, %ecx; test %ecx, %ecx; jz 3f; js 2f\n"
	"rep movsb; jmp 1b\n"
	"2: neg %ecx; lodsb; movzbl %al, %eax; mov %rsi, %r12; mov %rdi, %rsi\n"
	"sub %rax, %rsi; rep movsb; mov %r12, %rsi; jmp 1b\n"
	"3: mov $10, %eax; mov %r13, %rdi; mov $8192, %esi; mov $5, %edx; syscall\n" /* mprotect */
	"mov %r13, %rax; mov %rbx, %rdi; mov $4096, %esi\n"
	"pop %r13; pop %r12; pop %rbx; jmp *%rax\n"
	"stub_end:\n"
	".text\n");

/* munmap(stub, 4096); eax = NUMBER; 225 times inc eax, of which 224 are copies; ret */
static unsigned char payload[] = { 14,
				   0xb8,
				   11,
				   0,
				   0,
				   0,
				   0x0f,
				   0x05,
				   0xb8,
				   0,
				   0,
				   0,
				   0,
				   0xff,
				   0xc0, /* */
				   (unsigned char)-128,
				   2,
				   (unsigned char)-128,
				   2,
				   (unsigned char)-128,
				   128,
				   (unsigned char)-64,
				   64, /* */
				   1,
				   0xc3,
				   0 };
enum { NUMBER = 9, INCS = 1 + (128 + 128 + 128 + 64) / 2 };

/* As it was in the file. */
static int pack(void)
{
	static const unsigned char jump[] = { 0xff, 0xe7 };
	char *text = (char *)(unsigned long)packed;

	if (mprotect(text, TEXT, PROT_READ | PROT_WRITE))
		return 1;
	memset(text, 0x90, TEXT);
	memcpy(text, jump, sizeof(jump));
	return mprotect(text, TEXT, PROT_READ | PROT_EXEC);
}

int main(void)
{
	volatile code run = packed;
	int bad = 0, got;
	char *at;

	for (int k = 0; k < ROUNDS; k++) {
		if (k && pack())
			return 1;
		payload[NUMBER] = (unsigned char)(10 * k);
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return 1;
		memcpy(at, stub, (unsigned long)(stub_end - stub));
		if (k % 2 && mprotect(at, PAGE, PROT_READ | PROT_EXEC))
			return 1;
		/* the first time it unpacks, then it is what was unpacked */
		for (int n = 0; n < 3; n++) {
			got = run(at, PAGE, payload, (void *)(unsigned long)packed);
			bad += got != 10 * k + INCS;
		}
	}
	puts(bad ? "self_unpack: other code than was unpacked" : "self_unpack: ok");
	return bad != 0;
}
