#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Where names come from: the program's own table, C++ and Rust names as people write them, and for a stripped one
# each place where debug files are looked for; the vdso; a JIT's map; inlined functions.  The program's functions run 100,000, 200,000, 300,000 and
# 400,000 instructions, so what each line weighs is known.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need gcc strip objcopy objdump nm readelf addr2line awk
cd "$tmp" || exit 1
mkdir home bin
export HOME=$tmp/home

cat >names.S <<'END'
	.globl _start
	.type _start, @function
_start:
	xor %ebp, %ebp
	call _ZN5outer5innerEi
	call _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE
	call _RNvNtCs1234_7mycrate3foo3bar
	call plain
	mov $60, %eax
	xor %edi, %edi
	syscall
	.size _start, . - _start
	.macro spin name n
	.type \name, @function
\name:
	mov $\n, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.size \name, . - \name
	.endm
	spin _ZN5outer5innerEi, 50000
	spin _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE, 100000
	spin _RNvNtCs1234_7mycrate3foo3bar, 150000
	spin plain, 200000
	.section .note.GNU-stack, "", @progbits
END
gcc -g -nostdlib -static -Wl,--build-id -o bin/names names.S || exit 1
"$ANYPERF" record -q -e instructions:u -c 1000 -o data -- bin/names 2>/dev/null || exit 1

# names ARGS...: lines of a report by symbol, one blank between columns
names()
{
	"$ANYPERF" report --stdio -s sym -i data "$@" 2>/dev/null | awk '!/^#/ && /%/ { print $1, $3 }' | paste -sd'|'
}
plain='40.00% plain'
all="$plain|30.00% mycrate::foo::bar|20.00% core::fmt::Formatter::write_str|10.00% outer::inner"
is "$(names)" "$all" "C++ and both manglings of Rust"
is "$(names --no-demangle)" \
	"$plain|30.00% _RNvNtCs1234_7mycrate3foo3bar|20.00% _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE|10.00% _ZN5outer5innerEi" \
	"--no-demangle: as the linker knows them"
if command -v perf >/dev/null; then
	theirs=""
	for ((try = 0; try < 3; try++)); do # on a busy machine perf prints nothing at times
		[ "$theirs" ] || theirs=$(perf report --stdio -s sym -i data 2>why </dev/null | awk '!/^#/ && /%/ { print $1, $3 }' | paste -sd'|')
	done
	is "$theirs" "$all" "perf says the same" || note "$(cat why)"
fi

# --- a label inside of a function is no function
sed 's/^1:\tdec %ecx/inner_label:\n&/; /\.macro/,/\.endm/!b; s/inner_label/inner_label_\\name/' names.S >labels.S
gcc -g -nostdlib -static -Wl,--build-id -o labels labels.S || exit 1
"$ANYPERF" record -q -e instructions:u -c 1000 -o labels.data -- ./labels 2>/dev/null || exit 1
is "$(names -i labels.data)" "$all" "labels take no function's name"

# --- stripped
cp bin/names full
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
objcopy --only-keep-debug full names.debug
strip -s bin/names
is "$(names | grep -c '::')" 0 "a stripped program has no names"
# found PATH NAME [FILE]: with the debug file there they are known; gone again, they are not
found()
{
	mkdir -p "${1%/*}"
	cp "${3:-names.debug}" "$1"
	is "$(names)" "$all" "$2"
	rm "$1"
	is "$(names | grep -c '::')" 0 "$2: and gone with it"
}
found "$HOME/.debug/.build-id/${id:0:2}/${id:2}/debug" ".debug of the home folder"
found "$HOME/.debug/.build-id/${id:0:2}/${id:2}/elf" ".debug of the home folder, the program itself" full
found "$HOME/.cache/debuginfod_client/$id/debuginfo" "debuginfod's cache"
found "$HOME/.cache/debuginfod_client/$id/executable" "debuginfod's cache, the program" full
if [ -w /usr/lib/debug ] || mkdir -p /usr/lib/debug 2>/dev/null; then
	found "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" "/usr/lib/debug by the build-id"
	rmdir -p "/usr/lib/debug/.build-id/${id:0:2}" 2>/dev/null
else
	lack "/usr/lib/debug" "it cannot be written to here"
fi
cp bin/names stripped
objcopy --add-gnu-debuglink=names.debug bin/names
found "$tmp/bin/names.debug" ".gnu_debuglink, beside the program"
found "$tmp/bin/.debug/names.debug" ".gnu_debuglink, in .debug"
mkdir -p "sys$tmp/bin"
cp full "sys$tmp/bin/names"
is "$(names --symfs "$tmp/sys")" "$all" "--symfs"

# --- another build: none of its names, even where they would fit
sed 's/plain/other/g; s/200000/200001/' names.S >other.S
gcc -g -nostdlib -static -Wl,--build-id -o other other.S || exit 1
mkdir -p "$HOME/.debug/.build-id/${id:0:2}/${id:2}"
cp other "$HOME/.debug/.build-id/${id:0:2}/${id:2}/elf"
is "$(names | grep -c 'other\|::')" 0 "another build's file is not used"
rm -r "$HOME/.debug"
cp stripped bin/names

# --- the vdso: what is in memory, and in no file
cat >clock.c <<'END'
#include <time.h>
int main(void)
{
	struct timespec ts;
	for (int i = 0; i < 20000; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	return 0;
}
END
gcc -O1 -o clock clock.c || exit 1
"$ANYPERF" record -q -e instructions:u -c 1000 -o clock.data -- ./clock 2>/dev/null || exit 1
"$ANYPERF" report --stdio -s dso,sym -i clock.data 2>/dev/null >clock.txt
if grep -q '\[vdso\]' clock.txt; then
	has clock.txt '\[vdso\] +\[\.\] (__vdso_clock_gettime|clock_gettime|do_hres)' "functions of the vdso have names"
else
	lack "the vdso" "its clock is a system call here"
fi

# --- --call-graph lbr: chains as by frame pointers, and in front of main also what libc keeps none for
cat >chain.c <<'END'
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
int main(void) { for (int i = 0; i < 100; i++) { mid(1000); leaf(500); } return 0; }
END
gcc -O1 -fno-omit-frame-pointer -o chain chain.c || exit 1
for how in fp lbr; do
	"$ANYPERF" record -q --call-graph $how -e instructions:u -c 10007 -o $how.data -- ./chain 2>err || cat err
	"$ANYPERF" export -f collapsed -i $how.data -o - | sed 's/ [0-9]*$//' | grep -o ';main;leaf$' >$how.txt
done
is "$(wc -l <fp.txt)" 1 "chains have callers"
same fp.txt lbr.txt "--call-graph lbr: the same chains"
# --- code that a compiler made at run time, and told of in /tmp/perf-PID.map
cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	/* mov $500000, %eax; 1: dec %eax; jnz 1b; ret */
	static const unsigned char code[] = { 0xb8, 0x20, 0xa1, 0x07, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };
	char *at = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(name, "w");
	if (at == MAP_FAILED || !f)
		return 1;
	puts(name);
	memcpy(at + 64, code, sizeof(code));
	memcpy(at + 4096, code, sizeof(code));
	fprintf(f, "%lx %x Interpreter::one more\n%lx %x second\n", (long)at + 64, 16, (long)at + 4096, 16);
	fclose(f);
	((void (*)(void))(at + 64))();
	((void (*)(void))(at + 4096))();
	((void (*)(void))(at + 4096))();
	return 0;
}
END
gcc -O1 -o jit jit.c || exit 1
map=$("$ANYPERF" record -q -e instructions:u -c 10000 -o jit.data -- ./jit 2>err)
# 100 of each 1,000,001 instructions
names='s/.* [0-9][0-9]*  *\[JIT\] tid [0-9]*  *\[\.\] \(.*[^ ]\) *$/\1/p'
"$ANYPERF" report --stdio -n -s dso,sym -i jit.data 2>/dev/null | sed -n "$names" | sort >got
printf '%s\n' 'Interpreter::one more' second >want
same got want "functions of /tmp/perf-PID.map" || note "$(cat err)"
is "$("$ANYPERF" report --stdio -n -s sym -i jit.data 2>/dev/null | awk '/second/ { n = $2 } /one more/ { m = $2 } END { print n >= 199 && n <= 201, m >= 99 && m <= 101 }')" \
	"1 1" "have their samples"
if command -v perf >/dev/null; then
	perf report --stdio -n -s dso,sym -i jit.data 2>/dev/null </dev/null | sed -n "$names" | sort >got
	same got want "in perf, too"
fi
rm -f "$map"

# --- functions that were expanded in others: those that binutils finds at each sampled address
cat >inl.c <<'END'
static volatile unsigned long s;
static inline __attribute__((always_inline)) void deep(int n) { s += (unsigned long)n * 3; }
static inline __attribute__((always_inline)) void mid(int n) { for (int i = 0; i < n; i++) deep(i); s++; }
__attribute__((noinline)) void outer(int n) { mid(n); s += 2; }
int main(void) { for (int i = 0; i < 300; i++) outer(1000); return 0; }
END
gcc -O2 -g -no-pie -fno-omit-frame-pointer -o inl inl.c || exit 1
"$ANYPERF" record -q -g -e instructions:u -c 1009 -o inl.data -- ./inl 2>err || cat err
# each sample's innermost frames, up to the function that is one: address, then names
"$ANYPERF" script --inline -i inl.data -F ip,sym 2>/dev/null | awk '
	!NF { at = "" ; next }
	at == "done" { next }
	{ names = at == "" ? $1 " " $2 : names " " $2; at = "some" }
	!/\(inlined\)/ { print names; at = "done" }' | grep ' outer$' | sort | uniq -c >got
bias=$(readelf -lW inl | awk '$1 == "LOAD" && / R E / { print $3 " " $2; exit }')
bias=$((${bias% *} - ${bias#* }))
while read -r n offset _; do
	printf '%7d %s %s\n' "$n" "$offset" "$(addr2line -i -f -e inl "$(printf %x $((0x$offset + bias)))" | awk 'NR % 2' | xargs)"
done <got >want
is "$(($(grep -c ' deep mid outer$' got) > 1))" 1 "instructions of a function in a function in a function are sampled"
same got want "--inline: the functions that addr2line tells of"
has_not <("$ANYPERF" script -i inl.data -F ip,sym 2>/dev/null) inlined "only if they are asked for"
has <("$ANYPERF" report --stdio --inline --no-children -i inl.data 2>/dev/null) '-deep \(inlined\)' "report --inline: in trees"

# --- functions without a name begin, and end, where the unwinding tables say
cat >parts.c <<'END'
static volatile unsigned long s;
__attribute__((noinline)) static void one(int n) { while (n--) s += n; }
__attribute__((noinline)) static void two(int n) { while (n--) s ^= n; }
__attribute__((noinline)) static int three(int n) { one(n); two(n); return 0; }
int main(void) { return three(2000); }
END
gcc -O1 -fno-ipa-cp -o parts parts.c || exit 1
# by address: the functions of the program that have samples, as report and nm have them.  All samples have room in the ring
functions()
{
	"$ANYPERF" record -q -m 16M -e instructions:u -c 1 -o parts.data -- ./parts 2>/dev/null
	"$ANYPERF" script -F ip,sym,dso -i parts.data | sed -n "s|^ *[0-9a-f]* \\([^ ]*\\) (.*/parts)\$|\\1|p" | sort -u
}
functions >named
want=$(nm parts | awk '$3 ~ /^(one|two|three|main|_start)/ { sub(/^0*/, "", $1); print "sub_" $1 }' | sort)
is "$(grep -cxE '(one|two|three|main|_start)(\..*)?' named)" 5 "the program's own names"
strip parts
is "$(functions | grep -xF "$want")" "$want" "stripped: each begins where it did"
# what neither a table nor the unwinding knows has its address
is "$(functions | grep -c '^sub_')" "$(functions | grep '^sub_' | sort -u | wc -l)" "each once"
is "$("$ANYPERF" annotate -i parts.data --stdio -n "$(echo "$want" | tail -n 1)" | awk '/ <sub_/ && / : [0-9a-f]+ </ { n++ } END { print n + 0 }')" 1 \
	"and can be annotated"

# --- stubs of a PLT are called by what they lead to: lazy ones, bound at start, with endbr64, of functions whose address
# is taken, and of those that a resolver chooses
cat >stubs.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern char **environ;
int main(int argc, char **argv)
{
	int (*volatile put)(const char *) = puts;
	unsigned long n = 0;
	for (int i = 0; i < 5000; i++) {
		n += strlen(argv[0]) + !strchr(argv[0], argc);
		if (getenv("NOTHING"))
			qsort(argv, argc, 8, (void *)strcmp);
	}
	put("x");
	puts(argv[0]);
	printf("%lu\n", n);
	return 0;
}
END
for flags in "-Wl,-z,lazy" "-Wl,-z,now" "-fcf-protection -Wl,-z,ibtplt,-z,lazy" "-fcf-protection -Wl,-z,ibtplt,-z,now" "-no-pie -Wl,-z,lazy" -static; do
	# shellcheck disable=SC2086
	gcc -O1 -fno-builtin -w $flags -o stubs stubs.c || exit 1
	"$ANYPERF" record -q -m 16M -e instructions:u -c 101 -o stubs.data -- ./stubs >/dev/null 2>&1
	[ "$flags" = -static ] || is "$("$ANYPERF" annotate -i stubs.data --stdio main -d stubs | sed -n 's/.*call .*<\(.*@plt\)>.*/\1/p' | sort -u)" \
		"$(objdump -d --no-show-raw-insn stubs | sed -n '/<main>:/,/^$/s/.*call .*<\(.*@plt\)>.*/\1/p' | sort -u)" "$flags: main calls what objdump says"
	"$ANYPERF" script -F ip,sym,dso -i stubs.data | sed -n 's/.* \([^ ]*@plt\) (.*/\1/p' | sort -u >ran
	[ "$flags" = -static ] || has ran '^strlen@plt$' "$flags: strlen's stub has run"
	has_not ran '^@plt' "$flags: none is without a name"
	has_not ran '@plt.*@plt' "$flags: none is named twice"
done
has ran '^str[a-z]*@plt$' "stubs of a static program are named by their resolvers"
done_testing
