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
munmap records: EOPNOTSUPP
a reserved bit: EINVAL
extra configuration: EINVAL
kernel mode: EACCES" "errors of 2009"

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
