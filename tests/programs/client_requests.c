/* FLAGS: -static -O1 */
/* valgrind's client requests, by macros of our own: `client_requests WORD`, for tests/e2e/client_requests.sh. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TOOL(a, b) ((unsigned long)(a) << 24 | (unsigned long)(b) << 16)

static unsigned long request(unsigned long otherwise, unsigned long number, unsigned long a,
			     unsigned long b)
{
	volatile unsigned long words[6] = { number, a, b, 0, 0, 0 };
	unsigned long result = otherwise;

	__asm__ volatile(
		"rol $3, %%rdi; rol $13, %%rdi; rol $61, %%rdi; rol $51, %%rdi; xchg %%rbx, %%rbx"
		: "+d"(result)
		: "a"(words)
		: "cc", "memory");
	return result;
}

static unsigned long say(unsigned long number, const char *format, ...)
{
	unsigned long n;
	va_list ap;

	va_start(ap, format);
	n = request(0, number, (unsigned long)format, (unsigned long)&ap);
	va_end(ap);
	return n;
}

/* What is answered, and what is as natively. */
static void answers(void)
{
	printf("running %lu\n", request(0, 0x1001, 0, 0));
	printf("stacks %lu", request(77, 0x1501, 0x1000, 0x2000));
	printf(" %lu\n", request(77, 0x1501, 0x3000, 0x4000));
	printf("discard %lu\n", request(77, 0x1002, (unsigned long)answers, 64));
	printf("errors %lu\n", request(77, 0x1201, 0, 0));
	printf("memcheck %lu\n", request(77, TOOL('M', 'C'), (unsigned long)answers, 64));
	printf("start %lu\n", request(77, TOOL('C', 'T') + 4, 0, 0));
	printf("stop %lu\n", request(77, TOOL('C', 'T') + 5, 0, 0));
}

static char long_text[301];

static void messages(void)
{
	unsigned long n = say(0x1403, "one %d %s|%5d|%-5d|%05d|%+d|%x|%#X|%lu|%lld|%hhu|%c|%%\n",
			      -7, "two", 42, 42, 42, 42, 255u, 255u, 18446744073709551615ul,
			      -9223372036854775807ll - 1, 300, 'z');

	printf("%lu\n", n);
	say(0x1403, "%f %.2f %.0f %f %.3f %f\n", 0.3, 2.675, 2.5, -0.0000005, 1e9 + 0.9996,
	    INFINITY);
	say(0x1403, "%d %d %d %d %d %d %d %s %.3s|%6s|%-6s|%*d\n", 1, 2, 3, 4, 5, 6, 7,
	    "on the stack", "abcdef", "ab", "cd", 4, 9);
	say(0x1403, "%f %.3f %f %.9f %.12f %.15f %.1f\n", 0.0029, 0.0009, 0.0004, 0.000123456, 1e-9,
	    1e-19, 0.0999);
	memset(long_text, 'l', sizeof(long_text) - 1);
	say(0x1403, "%.*s|%*d|%.*s|\n", 300, long_text, -5, 7, -1, "all");
	say(0x1403, "in a line, ");
	say(0x1403, "and its end\nand a second one\n");
	say(0x1403, "\033[31mred\007 \xc3\xa4\n");
	request(0, 0x1403, 16, 16);
}

static void backtrace(void)
{
	say(0x1404, "here\n");
}

#define NOPS __asm__ volatile(".rept 1000; nop; .endr")

/* With a record, so that no argument is stored: what lies between two of these is what is written there. */
#define MARK(number, text)                                                                         \
	__asm__ volatile(".pushsection .data\n771:\t.quad " #number ", 772f, 0, 0, 0, 0\n"         \
			 "772:\t.asciz \"" text "\"\n.popsection\n\t"                              \
			 "lea 771b(%%rip), %%rax\n\t"                                              \
			 "rol $3, %%rdi; rol $13, %%rdi; rol $61, %%rdi; rol $51, %%rdi\n\t"       \
			 "xchg %%rbx, %%rbx"                                                       \
			 :                                                                         \
			 :                                                                         \
			 : "rax", "rdx", "cc", "memory")
#define DUMP	   MARK(0x43540000, "")
#define ZERO	   MARK(0x43540001, "")
#define TOGGLE	   MARK(0x43540002, "")
#define DUMP_FIRST MARK(0x43540003, "first part")
#define START	   MARK(0x43540004, "")
#define STOP	   MARK(0x43540005, "")
#define CG_START   MARK(0x43470000, "")
#define CG_STOP	   MARK(0x43470001, "")

static void callgrind(void)
{
	STOP; /* of what was not started: nothing */
	ZERO;
	NOPS;
	DUMP_FIRST;
	DUMP;
	START;
	NOPS;
	START; /* is started already */
	NOPS;
	STOP;
	START;
	NOPS;
	STOP;
	TOGGLE;
	NOPS;
	NOPS;
	NOPS;
	TOGGLE;
	CG_START;
	NOPS;
	CG_STOP;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "answers"))
		answers();
	else if (!strcmp(what, "messages"))
		messages();
	else if (!strcmp(what, "backtrace"))
		backtrace();
	else if (!strcmp(what, "callgrind"))
		callgrind();
	return 0;
}
