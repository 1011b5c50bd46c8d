/* SPDX-License-Identifier: MIT */
/*
 * Instructions as objdump writes them: the texts here are those of objdump 2.40, and each is asked of both who can
 * do it, in both styles.  Who is asked: an objdump that nobody else can have put there, or Zydis.
 */
#include "profile/symbols/disasm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/symbols/disasm_internal.h"
#include "tap/tap.h"

#define VADDR 0x1000

struct row {
	u8 size;
	u8 code[15];
	const char *att, *intel;
	u64 target;
};

static const struct row rows[] = {
	{ 1, { 0x55 }, "push   %rbp", "push   rbp", 0 },
	{ 3, { 0x48, 0x89, 0xe5 }, "mov    %rsp,%rbp", "mov    rbp,rsp", 0 },
	{ 2, { 0x74, 0x10 }, "je     1012", "je     1012", 0x1012 },
	{ 2, { 0x7f, 0xfe }, "jg     1000", "jg     1000", 0x1000 },
	{ 5, { 0xe8, 0, 1, 0, 0 }, "call   1105", "call   1105", 0x1105 },
	{ 6, { 0xf2, 0xe9, 0x10, 0, 0, 0 }, "bnd jmp 1016", "bnd jmp 1016", 0x1016 },
	{ 3, { 0x3e, 0xff, 0xe0 }, "notrack jmp *%rax", "notrack jmp rax", 0 },
	{ 7,
	  { 0x48, 0x8b, 0x05, 0x10, 0, 0, 0 },
	  "mov    0x10(%rip),%rax        # 1017",
	  "mov    rax,QWORD PTR [rip+0x10]        # 1017",
	  0x1017 },
	{ 6,
	  { 0xff, 0x15, 0xfa, 0xff, 0xff, 0xff },
	  "call   *-0x6(%rip)        # 1000",
	  "call   QWORD PTR [rip+0xfffffffffffffffa]        # 1000",
	  0x1000 },
	{ 5,
	  { 0xb8, 0xc5, 0xcd, 0x1c, 0x81 },
	  "mov    $0x811ccdc5,%eax",
	  "mov    eax,0x811ccdc5",
	  0 },
	{ 4,
	  { 0x48, 0x83, 0xc0, 0xff },
	  "add    $0xffffffffffffffff,%rax",
	  "add    rax,0xffffffffffffffff",
	  0 },
	{ 3, { 0x83, 0xc0, 0xff }, "add    $0xffffffff,%eax", "add    eax,0xffffffff", 0 },
	{ 10,
	  { 0x48, 0xb8, 8, 7, 6, 5, 4, 3, 2, 1 },
	  "movabs $0x102030405060708,%rax",
	  "movabs rax,0x102030405060708",
	  0 },
	{ 3, { 0x0f, 0xb6, 0xc0 }, "movzbl %al,%eax", "movzx  eax,al", 0 },
	{ 4,
	  { 0x0f, 0xbf, 0x45, 0xf8 },
	  "movswl -0x8(%rbp),%eax",
	  "movsx  eax,WORD PTR [rbp-0x8]",
	  0 },
	{ 3, { 0x48, 0x63, 0xc2 }, "movslq %edx,%rax", "movsxd rax,edx", 0 },
	{ 2, { 0x48, 0x98 }, "cltq", "cdqe", 0 },
	{ 6, { 0xc7, 0x00, 0, 0, 0, 0 }, "movl   $0x0,(%rax)", "mov    DWORD PTR [rax],0x0", 0 },
	{ 3, { 0xff, 0x4d, 0x00 }, "decl   0x0(%rbp)", "dec    DWORD PTR [rbp+0x0]", 0 },
	{ 2, { 0xff, 0xc8 }, "dec    %eax", "dec    eax", 0 },
	{ 2, { 0xd1, 0xe8 }, "shr    %eax", "shr    eax,1", 0 },
	{ 4,
	  { 0xf0, 0x0f, 0xb1, 0x0a },
	  "lock cmpxchg %ecx,(%rdx)",
	  "lock cmpxchg DWORD PTR [rdx],ecx",
	  0 },
	{ 3, { 0x0f, 0x1f, 0x00 }, "nopl   (%rax)", "nop    DWORD PTR [rax]", 0 },
	{ 10,
	  { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
	  "cs nopw 0x0(%rax,%rax,1)",
	  "cs nop WORD PTR [rax+rax*1+0x0]",
	  0 },
	{ 2, { 0x66, 0x90 }, "xchg   %ax,%ax", "xchg   ax,ax", 0 },
	{ 3,
	  { 0xf3, 0x48, 0xab },
	  "rep stos %rax,%es:(%rdi)",
	  "rep stos QWORD PTR es:[rdi],rax",
	  0 },
	{ 9,
	  { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0 },
	  "mov    %fs:0x28,%rax",
	  "mov    rax,QWORD PTR fs:0x28",
	  0 },
	{ 4, { 0x0f, 0x94, 0x04, 0x8a }, "sete   (%rdx,%rcx,4)", "sete   BYTE PTR [rdx+rcx*4]", 0 },
	{ 2, { 0xdd, 0xd8 }, "fstp   %st(0)", "fstp   st(0)", 0 },
	{ 2, { 0xde, 0xe1 }, "fsubp  %st,%st(1)", "fsubrp st(1),st", 0 },
	{ 2, { 0xdf, 0x28 }, "fildll (%rax)", "fild   QWORD PTR [rax]", 0 },
	{ 5,
	  { 0xf2, 0x48, 0x0f, 0x2a, 0x00 },
	  "cvtsi2sdq (%rax),%xmm0",
	  "cvtsi2sd xmm0,QWORD PTR [rax]",
	  0 },
	{ 5, { 0xf2, 0x0f, 0xc2, 0xc8, 0x01 }, "cmpltsd %xmm0,%xmm1", "cmpltsd xmm1,xmm0", 0 },
	{ 6,
	  { 0x62, 0xf1, 0x7d, 0xca, 0xfe, 0xc2 },
	  "vpaddd %zmm2,%zmm0,%zmm0{%k2}{z}",
	  "vpaddd zmm0{k2}{z},zmm0,zmm2",
	  0 },
	{ 7,
	  { 0x62, 0xf3, 0x7d, 0x40, 0x3e, 0x07, 0x04 },
	  "vpcmpnequb (%rdi),%zmm16,%k0",
	  "vpcmpnequb k0,zmm16,ZMMWORD PTR [rdi]",
	  0 },
	{ 1, { 0xc3 }, "ret", "ret", 0 },
};

/* What was said is equal to this but for blanks at its end. */
static void expect_text(const char *text, const char *want)
{
	size_t n = strlen(text);

	while (n && text[n - 1] == ' ')
		n--;
	if (!EXPECT(n == strlen(want) && !strncmp(text, want, n)))
		printf("# '%s' is not '%s'\n", text, want);
}

static void zydis_writes_so(void)
{
	struct ap_zydis *att = ap_zydis_new(false), *intel = ap_zydis_new(true);
	char text[256];
	u64 target;

	REQUIRE(att && intel);
	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		EXPECT_U64(ap_zydis_next(att, r->code, r->size, VADDR, text, sizeof(text), &target),
			   r->size);
		expect_text(text, r->att);
		EXPECT_U64(target, r->target);
		EXPECT_U64(
			ap_zydis_next(intel, r->code, r->size, VADDR, text, sizeof(text), &target),
			r->size);
		expect_text(text, r->intel);
		EXPECT_U64(target, r->target);
	}
	EXPECT_U64(ap_zydis_next(att, (const u8 *)"\x06", 1, VADDR, text, sizeof(text), &target),
		   0);
	ap_zydis_free(att);
	ap_zydis_free(intel);
}

static void objdump_is_asked(bool is_intel)
{
	struct ap_disasm_opts opts = { .intel = is_intel };
	char why[256] = "", text[256];
	struct ap_disasm *d = ap_disasm_new(&opts, why, sizeof(why));
	u8 code[AP_ARRAY_SIZE(rows) * 15];
	u64 target;

	REQUIRE(d);
	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		ap_disasm_begin(d, rows[i].code, rows[i].size, VADDR);
		EXPECT_U64(ap_disasm_next(d, 0, text, sizeof(text), &target), rows[i].size);
		expect_text(text, is_intel ? rows[i].intel : rows[i].att);
		EXPECT_U64(target, rows[i].target);
	}
	/* one after another, from an address of the upper half */
	memcpy(code, "\x55\x06\xeb\x00\xc3", 5);
	ap_disasm_begin(d, code, 5, 0xffffffff81000000);
	EXPECT_U64(ap_disasm_next(d, 0, text, sizeof(text), &target), 1);
	ap_disasm_next(d, 1, text, sizeof(text), &target);
	EXPECT_U64(ap_disasm_next(d, 2, text, sizeof(text), &target), 2);
	EXPECT_U64(target, 0xffffffff81000004);
	EXPECT_U64(ap_disasm_next(d, 4, text, sizeof(text), &target), 1);
	ap_disasm_free(d);
}

static void objdump_writes_so(void)
{
	objdump_is_asked(false);
	objdump_is_asked(true);
}

/* --- whose objdump */

static char folder[] = "/tmp/ap-disasm-XXXXXX";

static bool finds(const char *dirs)
{
	char path[4096];
	bool found;

	setenv("PATH", dirs, 1);
	found = ap_objdump_find(NULL, path, sizeof(path));
	return found;
}

static void another_users_tool_is_not_run(void)
{
	char *old = strdup(getenv("PATH")), tool[64], link[64];
	FILE *f;

	REQUIRE(mkdtemp(folder));
	snprintf(tool, sizeof(tool), "%s/objdump", folder);
	f = fopen(tool, "w");
	REQUIRE(f && !fclose(f));
	EXPECT(!finds(folder)); /* cannot be run */
	REQUIRE(chmod(tool, 0755) == 0);
	EXPECT(finds(folder));
	/* whoever may write to it, or to what it lies in, has as good as put it there */
	chmod(tool, 0757);
	EXPECT(!finds(folder));
	chmod(tool, 0755);
	chmod(folder, 0777);
	EXPECT(!finds(folder));
	chmod(folder, 01777);
	EXPECT(!finds(folder));
	chmod(folder, 0755);
	/* where one happens to be is no place to look in */
	REQUIRE(chdir(folder) == 0);
	EXPECT(!finds(".") && !finds("") && !finds(":"));
	REQUIRE(chdir("/") == 0);
	if (!geteuid()) {
		REQUIRE(chown(tool, 65534, 65534) == 0);
		EXPECT(!finds(folder));
		REQUIRE(chown(tool, 0, 0) == 0 && chown(folder, 65534, 65534) == 0);
		EXPECT(!finds(folder));
		REQUIRE(chown(folder, 0, 0) == 0);
	}
	EXPECT(finds(folder));
	/* by a link: what it leads to counts */
	snprintf(link, sizeof(link), "%s/to", folder);
	REQUIRE(symlink(folder, link) == 0);
	EXPECT(finds(link));
	unlink(link);
	unlink(tool);
	rmdir(folder);
	setenv("PATH", old, 1);
	free(old);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(zydis_writes_so),
						 TAP(objdump_writes_so),
						 TAP(another_users_tool_is_not_run),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
