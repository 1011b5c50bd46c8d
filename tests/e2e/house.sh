#!/bin/bash
# SPDX-License-Identifier: MIT
# The house checks itself: what make lint and the blob's check refuse is really refused, and the
# TAP producer tells failures, crashes and skips apart.
. "$(dirname "$0")/lib.sh"
need git gcc ld
unset AP_NO_SKIP AP_TAP_DIR

tools=$root/tools
mkdir -p "$tmp/tree/mk" "$tmp"/tree/src/{base,engine,linux,pmu,cli}
cd "$tmp/tree" || exit 1
git init -q .
cp "$root/mk/layers.mk" mk/
echo '#include "base/a.h"' >src/engine/good.c
echo '#include <stdint.h>' >src/base/a.h
for header in $(sed -n 's/^FACADE_[a-z]* := //p' mk/layers.mk); do
	mkdir -p "src/${header%/*}"
	: >"src/$header"
done

run "$tools/check-layers.sh"
is "$status" 0 "layers: a downward include passes"

# refused FILE LINE REGEX NAME: a file with this line in it fails the layer check for this reason
refused()
{
	printf '%s\n' "$2" >"$1"
	run "$tools/check-layers.sh"
	if [ "$status" != 0 ]; then
		has "$tmp/out" "$1:1: .*$3" "$4"
	else
		not_ok "$4" "accepted: $2"
	fi
	rm "$1"
}
refused src/base/up.c '#include "engine/x.h"' 'base may not use engine' "layers: an upward include fails"
refused src/engine/side.c '#  include "linux/run/run.h"' 'engine may not use' "layers: engine may not use linux"
refused src/engine/libc.c '#include <stdio.h>' 'freestanding' "layers: no libc in the engine"
refused src/linux/in.c '#include "engine/runtime/thread.h"' 'may not use engine' "layers: linux sees no engine code"
refused src/pmu/in.c '#include "linux/host/host.h"' 'pmu may not use linux' "layers: nor does a driver see its host"
refused src/cli/side.c '#include "linux/host/host.h"' 'linux is met through' "layers: a facade is the way into a module"
echo 'FACADE_cli := cli/none.h' | cat mk/layers.mk - >more.mk
run "$tools/check-layers.sh" more.mk
has "$tmp/out" 'there is no "cli/none.h"' "layers: a facade that is not there fails"
rm more.mk
refused src/base/bare.c '#include "a.h"' 'write "module/a.h"' "layers: includes name their module"
printf '%s\n' '#include <stdio.h>' >src/engine/x_hosted.c
run "$tools/check-layers.sh"
is "$status" 0 "layers: a hosted file may use libc"

# function LINES: a C function with a body of so many lines
function_of()
{
	echo "int f(void)"
	echo "{"
	yes "	;" | head -n "$1"
	echo "}"
}
function_of 60 >src/base/f.c
run "$tools/check-sizes.sh"
is "$status" 0 "sizes: a function of 60 lines passes"
function_of 61 >src/base/f.c
run "$tools/check-sizes.sh"
has "$tmp/out" 'f.c:2: f has 61 lines, at most 60' "sizes: one of 61 fails"
yes '' | head -n 801 >src/base/f.c
run "$tools/check-sizes.sh"
has "$tmp/out" 'f.c: more than 800' "sizes: a file of 801 lines fails"
rm src/base/f.c

# --- names lead to one thing
: >mk/names.txt
# names FILE LINE...: what the check says of a file that begins with these lines and has 200 more
names()
{
	local file=$1
	shift
	{
		printf '%s\n' "$@"
		yes '' | head -n 200
	} >"$file"
	run "$tools/check-names.sh"
}
names src/base/one.h 'struct pair {' '};'
names src/linux/two.c 'struct pair {' '};'
has "$tmp/out" 'two have the tag pair: src/base/one.h:1 and src/linux/two.c:1' "names: a tag that two structs share fails"
names src/linux/two.c 'static int take(void)' '{' '}'
has "$tmp/out" 'src/linux/two.c:1: take\(\) is a bare verb' "names: a bare verb in a long file fails"
echo 'verb two.c take' >mk/names.txt
run "$tools/check-names.sh"
is "$status" 0 "names: one that is listed passes"
names src/linux/two.c 'static int take_two(void)' '{' '}'
has "$tmp/out" 'left: 0; not needed any more .*: 1$' "names: and is counted when it is gone"
run "$tools/check-names.sh" --trim
is "$(cat mk/names.txt)" "" "names: so that it can go from the list"
names src/linux/memory_maps.c
names src/linux/mem_map.c
has "$tmp/out" 'nearly the same name: src/linux/mem_map and src/linux/memory_maps' "names: files that differ by a synonym fail"
rm src/base/one.h src/linux/two.c src/linux/mem*.c

# passed_by LINE REGEX NAME: a file that prints past src/print fails for this reason
passed_by()
{
	printf 'void f(FILE *out, const char *name)\n{\n\t%s\n}\n' "$1" >src/linux/p.c
	run "$tools/check-print.sh"
	if [ "$status" != 0 ]; then
		has "$tmp/out" "src/linux/p.c:3: .*$2" "$3"
	else
		not_ok "$3" "accepted: $1"
	fi
	rm src/linux/p.c
}
passed_by 'fprintf(out, "of %s\n", name);' 'ap_print\(\) escapes' "print: a %s fails"
passed_by 'printf("%-*.5s", 3, name);' 'ap_print\(\) escapes' "print: one with a width fails"
passed_by $'fprintf(out,\n\t\t"of %d "\n\t\t"%s", 1,\n\t\tname);' 'ap_print\(\) escapes' "print: one of several lines fails"
passed_by 'fprintf(out, name);' 'no literal' "print: a format from elsewhere fails"
passed_by 'fputs(*name ? name : "-", out);' 'no literal' "print: fputs of a name fails"
passed_by 'while (*name) putc(*name++, out);' 'no literal' "print: its characters fail"
passed_by 'fwrite(name, 1, 5, out);' 'no literal' "print: its bytes fail"
passed_by 'ap_print(out, "%s%s", name, *name ? "\n" : "");' 'is escaped' "print: a line end that would be escaped fails"
passed_by 'fputs(name, out); /* raw: */' 'no literal' "print: a mark without a reason fails"
passed_by '/* out */ fputs(name, out);' 'no literal' "print: code behind a comment fails"
passed_by '*n = fprintf(out, "%s", name);' 'with %s' "print: as does code that begins with a star"
passed_by 'f("/*"); fputs(name, out);' 'no literal' "print: and what is behind a string that begins no comment"
passed_by 'ap_write_all(1, name, strlen(name));' 'no literal' "print: ap_write_all() of a name fails"
cat >src/linux/p.c <<'END'
/* fprintf(out, "%s", name) */
/*
 * fprintf(out, "%s", name)
 fputs(name, out); */
void f(FILE *out, const char *name, int n)
{
	ap_print(out, "of %s\n", name);
	fprintf(out, "%d %llx %5.1f%%\n", n, 1ULL, 2.0);
	fputs(n ? "\n" : ";", out);
	fputs(name, out); /* raw: was escaped when it was read */
}
END
run "$tools/check-print.sh"
is "$status" 0 "print: what escapes, numbers, literals and a mark with a reason pass" || note "$(cat "$tmp/out")"
rm src/linux/p.c

# --- costs that documents name are figures of bench/RESULTS.md
mkdir -p bench docs/man
printf '%s\n' '- figure true-exact: 3.4 (wall)' '- figure table-mean: 4.15 (bench/run.sh)' >bench/RESULTS.md
# figures TEXT...: what the check says of a README of these lines
figures()
{
	printf '%s\n' "$@" >README.md
	run "$tools/check-figures.sh"
}
figures 'It takes 3.4 times native.' '<!-- figure: true-exact=3.4 -->'
is "$status" 0 "figures: one of the file passes"
has "$tmp/out" '^figures: 1 of 1 documents' "figures: and is counted"
figures 'It takes 3.4 times native.' '<!-- figure: true-exact=3.5 -->'
has "$tmp/out" 'README.md:2: true-exact is 3.4 in .*, not 3.5' "figures: another value fails"
figures 'It takes 13.4 times native, 3.41 or 3.' '<!-- figure: true-exact=3.4 -->'
has "$tmp/out" 'README.md:2: the paragraph does not say 3.4' "figures: the text has to say it"
figures 'It takes 3.4 times native.' '<!-- figure: no-such=3.4 -->'
has "$tmp/out" 'README.md:2: no figure "no-such"' "figures: a key that the file has not fails"
figures 'It takes 3.4 times native.' '' '<!-- figure: true-exact=3.4 -->'
has "$tmp/out" 'README.md:1: a cost without a figure' "figures: a cost without one fails"
figures 'Nothing.'
printf '%s\n' '.PP' 'Some 4.15 times native.' '.\" figure: table-mean=4.15' >docs/man/a.1
run "$tools/check-figures.sh"
is "$status" 0 "figures: man pages too"
echo '- figure true-exact: 3.5 (again)' >>bench/RESULTS.md
run "$tools/check-figures.sh"
has "$tmp/out" 'two of true-exact' "figures: a key that stands there twice fails"
rm -r README.md bench docs

# --- rows of docs/limits.md are short, and name notes that are there
mkdir -p docs/design
printf '%s\n' '# A note' '## A section' '**Bold words** are named, too.' >docs/design/note.md
# limits ROW: what the check says of a page of tables in which one row is this
limits()
{
	{
		yes '| what | why | what you see |' | head -n 60
		printf '%s\n' "$1"
	} >docs/limits.md
	run "$tools/check-limits.sh"
}
# shellcheck disable=SC2016 # Markdown
{
	limits '| a | `docs/design/note.md`, "A section" | `docs/design/note.md`, "Bold words" |'
	is "$status" 0 "limits: sections that are there pass"
	limits "| $(yes x | head -n 296 | tr -d '\n')|"
	is "$status" 0 "limits: a row of 299 characters passes"
	limits "| $(yes x | head -n 297 | tr -d '\n')|"
	has "$tmp/out" 'limits.md:61: a row of 300 characters' "limits: one of 300 fails"
	limits '| a | `docs/design/none.md` |'
	has "$tmp/out" 'there is no docs/design/none.md' "limits: a note that is not there fails"
	limits '| a | `docs/design/note.md`, "Another" |'
	has "$tmp/out" 'note.md has no section "Another"' "limits: and a section"
	limits '| a |'
	echo '| b | `docs/design/gone.md` |' >docs/limits-more.md
	run "$tools/check-limits.sh"
	has "$tmp/out" 'there is no docs/design/gone.md' "limits: a second page is looked at, too"
}
rm -r docs

# --- links of pages lead to files and headings that are there
mkdir -p docs
printf '%s\n' '# A page' '## What `it` is, and why' '## Again' '## Again' >docs/page.md
# links TEXT...: what the check says of a README of these lines
links()
{
	printf '%s\n' "$@" >README.md
	run "$tools/check-links.sh"
}
links '[a](docs/page.md) [b](docs/page.md#what-it-is-and-why) [c](docs/page.md#again-1) [d](docs) [e](https://example.org/none)'
is "$status" 0 "links: those that lead somewhere pass" || note "$(cat "$tmp/out")"
# shellcheck disable=SC2016 # Markdown
links '```' '[a](none.md)' '```' '    [a](none.md)' 'as `[a](none.md)` is'
is "$status" 0 "links: code has none" || note "$(cat "$tmp/out")"
links 'Look' '[there](docs/none.md).'
has "$tmp/out" '^links: README.md:2: there is no docs/none.md' "links: a file that is not there fails"
links '[a](docs/page.md#again-2)'
has "$tmp/out" 'README.md:1: docs/page.md has no heading #again-2' "links: and a heading"
links '# Top' '[a](#top) [b](#bottom)'
has "$tmp/out" 'README.md has no heading #bottom' "links: of the page itself, too"
is "$(wc -l <"$tmp/out")" 1 "links: and nothing else does"
rm README.md
rm -r docs

# blob SOURCE: what the blob's check says of it
blob()
{
	printf '%s\n' "$1" >b.c
	gcc -O2 -ffreestanding -fPIE -fcf-protection=none -c -o b.o b.c &&
		ld -static -pie --no-dynamic-linker -z text -e entry --no-warn-rwx-segments \
			-T "$tmp/blob.lds" -o b.elf b.o &&
		run "$tools/check-blob.sh" b.elf
}
echo 'SECTIONS { . = 0; .text : { *(.text*) } .rodata : { *(.rodata*) } .data : { *(.data*) }
	/DISCARD/ : { *(.dynamic) *(.dynsym) *(.dynstr) *(.hash) *(.gnu.hash) *(.interp) *(.note*) } }' \
	>"$tmp/blob.lds"
blob 'int entry(int x); int entry(int x) { return x + 1; }'
is "$status" 0 "blob: plain code passes"
echo 'int away(void); int entry(void) { return away(); }' >b.c
gcc -O2 -ffreestanding -c -o b.o b.c
run "$tools/check-blob.sh" b.o
has "$tmp/out" 'undefined' "blob: a missing symbol fails"
blob 'const char *n[] = { "a", "b" }; const char *entry(int i); const char *entry(int i) { return n[i]; }'
has "$tmp/out" 'relocations' "blob: a static pointer fails"
blob '__thread int t; int entry(void); int entry(void) { return ++t; }'
has "$tmp/out" 'TLS' "blob: thread-local storage fails"

# --- what the signal handler may reach
# handler CODE: what the check says of a handler that does this, by way of a static function
handler()
{
	printf '\tc->on_signal = hooked;\n' >src/engine/x_client.c
	{
		echo '#define ALONE __attribute__((noipa)) '
		echo 'void (*volatile pointer)(void); ALONE void ap_lock_take(void) { __asm__ volatile("nop"); } ALONE void listed(void) { pointer = 0; }'
		echo 'ALONE void by_pointer(void) { pointer(); __asm__ volatile("nop"); } ALONE void hooked(void) { ap_lock_take(); __asm__ volatile("nop"); }'
		echo 'ALONE void full(void) { ap_lock_take(); __asm__ volatile("nop"); }'
		printf 'static ALONE void inner(int x) { (void)x; %s }\n' "$1"
		echo 'void ap_sig_master(int x); void ap_sig_master(int x) { inner(x); __asm__ volatile("nop"); inner(x + 1); }'
		echo 'void entry(void); void entry(void) { hooked(); full(); by_pointer(); ap_sig_master(1); }'
	} >h.c
	gcc -O2 -w -ffreestanding -fPIE -fcf-protection=none -c -o h.o h.c &&
		ld -static -pie --no-dynamic-linker -e entry --no-warn-rwx-segments -T "$tmp/blob.lds" -o h.elf h.o &&
		run "$tools/check-async.sh" h.elf async.txt
}
printf '%s\n' '# listed' ap_sig_master listed by_pointer >async.txt
handler 'listed();'
is "$status" 0 "async: a listed function passes"
has "$tmp/out" 'reaches 3 functions; lines that it does not need: 1$' "async: and they are counted"
handler 'listed(); ap_lock_take();'
has "$tmp/out" 'does not list: ap_sig_master > h.c: inner > ap_lock_take$' "async: a lock that is taken two calls away fails"
is "$status" 1 "async: with a status that says so"
handler 'switch (x) { case 0: listed(); break; case 1: by_pointer(); break; case 2: pointer = listed; break;
	case 3: pointer = full; break; case 4: pointer = hooked; break; case 5: __asm__("hlt"); break; case 6: full(); }'
has "$tmp/out" 'does not list: ap_sig_master > h.c: inner > full$' "async: it is found in a case of a switch"
handler 'by_pointer();'
has "$tmp/out" 'call through a pointer, of which .* says nothing: ap_sig_master > h.c: inner > by_pointer$' "async: a call through a pointer fails"
echo 'hook by_pointer on_signal' >>async.txt
handler 'by_pointer();'
has "$tmp/out" 'does not list: ap_sig_master > h.c: inner > by_pointer > hooked$' "async: what clients have for a hook is followed"
echo hooked >>async.txt
handler 'by_pointer();'
has "$tmp/out" 'by_pointer > hooked > ap_lock_take$' "async: and what those call"
echo 'fault full' >>async.txt
handler 'full();'
is "$status" 0 "async: what only a fault of translated code leads to is not followed" || note "$(cat "$tmp/out")"
handler ';'
sed -i 's/ap_sig_master/ap_other/g' h.c
gcc -O2 -w -ffreestanding -fPIE -c -o h.o h.c && ld -static -pie --no-dynamic-linker -e entry --no-warn-rwx-segments -T "$tmp/blob.lds" -o h.elf h.o
run "$tools/check-async.sh" h.elf async.txt
is "$status" 1 "async: a blob without a handler fails"
rm src/engine/x_client.c

cat >t.c <<'END'
#include <signal.h>
#include "tap/tap.h"
static void holds(void) { EXPECT_U64(2 + 2, 4); EXPECT_STR("a", "a"); }
static void fails(void) { EXPECT_U64(2 + 2, 5); }
static void crashes(void) { raise(SIGSEGV); }
static void skips(void) { tap_skip("no such thing"); }
static void lacks(void) { tap_lack("no such machine"); }
static void requires(void) { REQUIRE(0); raise(SIGKILL); }
int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(holds), TAP(fails), TAP(crashes), TAP(skips),
						 TAP(lacks), TAP(requires), { 0 } };
	return tap_main(tests, argc, argv);
}
END
gcc -I"$root/tests" -o t t.c "$root/tests/tap/tap.c"
run ./t
is "$status" 1 "tap: a failure is the program's exit status"
is "$(grep -E '^(not )?ok|^1\.\.' "$tmp/out" | tr '\n' ';')" "1..6;ok 1 - holds;not ok 2 - fails;not ok 3 - crashes;ok 4 - skips # SKIP no such thing;ok 5 - lacks # SKIP no such machine;not ok 6 - requires;" \
	"tap: each test has its own verdict"
run ./t holds
is "$status" 0 "tap: an argument chooses tests"
AP_NO_SKIP=1 run ./t skips
is "$status" 1 "tap: AP_NO_SKIP=1 refuses a skip"
AP_NO_SKIP=1 run ./t lacks
is "$status" 0 "tap: but not what the machine cannot have"

# --- limits of tests: what a command takes, and that it goes on, whatever the clock says
run timeout 1 sleep 60
is "$status" 124 "timeout: nothing goes on"
has "$tmp/err" '^limited: nothing goes on for 1 s$' "timeout: says so"
run timeout 1 sh -c '(while :; do :; done)'
is "$status" 124 "timeout: a child takes too much"
has "$tmp/err" '^limited: has taken 1 s$' "timeout: says so"
run timeout -k 1 1 sh -c 'trap "" TERM; sleep 60 & wait; sleep 60'
is "$status" 137 "timeout: one that does not listen is killed"
run timeout 10 sh -c 'kill -SEGV $$'
is "$status" 139 "timeout: a command's signal"
run timeout 10 sh -c 'exit 77'
is "$status" 77 "timeout: its status"
start timeout 60 sh -c 'trap "exit 5" TERM; echo up >up; while :; do sleep 0.05; done'
wait_for 10 test -e up
kill "$pid"
wait "$pid"
is "$?" 5 "timeout: a signal is passed on"

run make -C "$root" -s --no-print-directory help
has "$tmp/out" '^make check ' "make help names the targets"
done_testing
