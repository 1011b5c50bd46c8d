#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ABI of 2009: a program in its words compiles with <anyperf/legacy.h>, counts and samples exactly.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need gcc g++

design=$PROGRAMS/legacy_design
case_of() { run timeout -k 5 60 "$ANYPERF" run -- "$design" "$1"; }
# clean CASE NAME: it says nothing but its own name
clean()
{
	case_of "$1"
	is "$status $(cat "$tmp/out")" "0 -- $1" "$2"
}
clean count "values, times, ioctl and prctl"
clean group "groups are switched through their leader"
clean seqlock "the reading loop as it stands"
clean samples "overflow records: every field, in order, as many as periods"
clean around "data_head wraps, records wrap, lost ones are told"
clean forked "a child has no buffer"
case_of tracking
is "$status $(cat "$tmp/out")" "0 -- tracking
comm of 2009
mmap $(basename "$(readlink -f /bin/sh)") 4096" "records of names and mappings"
case_of errors
is "$(cat "$tmp/out")" "-- errors
flags: EINVAL
no attr: EFAULT
all tasks on all CPUs: EINVAL
any other negative pid: EINVAL
an event of later: EINVAL
a type of later: EINVAL
bus cycles while the lock is asserted: EINVAL
munmap records: opened
a reserved bit: EINVAL
extra configuration: EINVAL
kernel mode: EACCES" "errors of 2009"

# unmaps CASE NAME <LINES: the records that came, each; and the same under a seccomp filter, which kills whoever makes
# a call that the program does not make itself
unmaps()
{
	local lines
	lines=$(cat)
	run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/legacy_munmap" "$1"
	is "$status $(cat "$tmp/out")" "0 $lines" "$2"
	case $1 in
	parts | replaced | moved | inherited | brk | shared | pages)
		run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/legacy_munmap" "$1" filtered
		is "$status $(cat "$tmp/out")" "0 $lines" "under a seccomp filter: $1"
		;;
	esac
}
unmaps parts "munmap: the whole, parts, several at once" <<'END'
whole: map 0+4@0 unmap 0+4@0
middle, then the rest: map 0+6@0 unmap 2+2@2 unmap 0+2@0 unmap 4+2@4
several at once: map 0+2@0 map 2+2@0 map 6+2@6 unmap 1+1@1 unmap 2+2@0 unmap 6+1@6
what is left of them: unmap 0+1@0 unmap 7+1@7
nothing there:
END
unmaps written "munmap of code that was written and executed is one record" <<'END'
pages of executed code: map 0+6@0 unmap 1+4@1
both ends: unmap 0+1@0 unmap 5+1@5
END
unmaps data "munmap of data is none" <<'END'
data:
code that became data in the middle: map 0+4@0 unmap 0+1@0 unmap 3+1@3
END
unmaps refused "nor is one that fails" <<'END'
calls that fail: map 0+4@0
and one that may do half of its work: unmap 1+1@1
what it left: unmap 0+1@0 unmap 2+2@2
END
unmaps replaced "mmap over code: what was there goes first" <<'END'
mapped over: map 0+4@0 unmap 1+2@1 map 1+2@1
by data: unmap 0+1@0
all of it: unmap 1+2@1 unmap 3+1@3
END
unmaps moved "mremap" <<'END'
shrunk: map 0+4@0 unmap 1+3@1
moved: map 8+3@8 unmap 9+1@9 unmap 0+1@0
stays:
all three: unmap 8+1@8 unmap 9+1@0 unmap 10+1@10
END
unmaps brk "brk" <<'END'
it becomes code: map 0+6@0
two pages: unmap 4+2@4
a part of one stays: unmap 3+1@3
fails, and grows:
the rest: unmap 0+3@0
END
unmaps shared "shared memory of System V" <<'END'
twice, and as data: map 0+4@0 map 4+4@0
a part becomes data, and one goes: unmap 6+1@2
the first and the data: unmap 0+1@0 unmap 2+2@2
the second: unmap 4+2@0 unmap 7+1@3
END
unmaps pages "remap_file_pages" <<'END'
another page in the second's place: map 0+4@0 unmap 1+1@1 map 1+1@3
all of it: unmap 0+1@0 unmap 1+1@3 unmap 2+2@2
END
unmaps alone "an event that is off records none" <<'END'
off:
with: map 0+4@0 unmap 0+4@0
END
unmaps without "nor does one that did not ask" <<'END'
off:
without: map 0+4@0
END
unmaps inherited "inherited by a child" <<'END'
a child's own: map 0+4@0 child unmap 1+1@1 child map 8+1@0
and its parent's: unmap 0+4@0
END
unmaps threads "records of threads come in the order of what they did" <<'END'
400 maps, 400 unmaps, 0 wrong, 0 lost
END

# the kernel alone has no such records, and says so, where it counts for us at all
"$PROGRAMS/legacy_munmap" without >"$tmp/out" 2>&1
if grep -q '^FAILED: open' "$tmp/out"; then
	lack "natively they are refused" "the kernel opens no event: $(head -n 1 "$tmp/out")"
else
	run "$PROGRAMS/legacy_munmap" alone
	is "$status $(cat "$tmp/out")" "1 FAILED: open: Operation not supported" "natively they are refused"
fi

# compiles NAME COMPILER WORDS... <source: without a warning
compiles()
{
	local name=$1 out
	shift
	if out=$("$@" -Wall -Wextra -Werror -I"$root/include" -fsyntax-only - 2>&1); then
		ok "$name"
	else
		not_ok "$name" "$out"
	fi
}
for header in linux/perf_event.h linux/hw_breakpoint.h anyperf/legacy.h anyperf/perfctr.h; do
	for times in 1 2; do
		printf "#include <$header>\n%.0s" $(seq "$times") >"$tmp/once"
		compiles "$header, read $times times with nothing before it, in C" gcc -std=c99 -pedantic -x c <"$tmp/once"
		compiles "$header, read $times times with nothing before it, in C++" g++ -x c++ <"$tmp/once"
	done
done
compiles "beside today's header" gcc -std=c99 -pedantic -x c <<'END'
#include <linux/perf_event.h>
#include <anyperf/legacy.h>
struct perf_event_attr now;
struct anyperf_legacy_attr old;
int both[PERF_RECORD_LOST == 2 && ANYPERF_LEGACY_MUNMAP == 2 && PERF_RECORD_MISC_GUEST_KERNEL == 4 ? 1 : -1];
END
compiles "the old names as well in C++, and today's header then has none" g++ -x c++ <<'END'
#define ANYPERF_LEGACY_NAMES
#include <anyperf/legacy.h>
#include <linux/perf_event.h>
perf_event_attr attr;
static_assert(sizeof attr == 56 && PERF_RECORD_MUNMAP == 2 && PERF_RECORD_CALLCHAIN == 32, "2009");
unsigned int head(perf_event_mmap_page *pc) { return pc->data_head; }
END
run gcc -I"$root/include" -DANYPERF_LEGACY_NAMES -include linux/perf_event.h -include anyperf/legacy.h \
	-fsyntax-only -x c /dev/null
is "$status" 1 "one name cannot mean both"
has "$tmp/err" 'has the same names for another ABI; leave one of them out' "and the compiler says so"
done_testing
