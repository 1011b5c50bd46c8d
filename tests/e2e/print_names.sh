#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program all of whose names want to do more than be read: command, threads, functions of its file and of its JIT,
# file, folder, arguments, source lines, and the event too.  Whatever is printed of it has no byte that a terminal
# obeys (tests/programs/obeyed.c looks), and as many lines, and fields, as are printed of its twin, which differs
# by plain names alone.

# shellcheck disable=SC2034 # names are found by name

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need gcc objcopy python3
cd "$tmp" || exit 1
export HOME=$tmp
trap 'xargs -r rm -f <"$tmp/maps"; tap_cleanup' EXIT

# ESC, a line end, C1 as a byte and as UTF-8, broken UTF-8, DEL, a tab; what separates fields, frames and markup
odd=$'e\e[2J\nX 9\x9b1m\xc2\x9b\xff\xc3,;|`\x7f\tz\r</script><!--\xc3\xa9'
plain=plain
odd_comm=$'c\e[m\n\x9b,;\xff' plain_comm=comm
odd_thread=$'t\e\n\x9b,;' plain_thread=thread
odd_file=$'f\e[2J\n\x9b,;\xff<script>.x' plain_file=file.x
odd_dir=$'d\e[2J\n\x9b,;\xff' plain_dir=dir
odd_event=$'v\e[2J\n\x9b;' plain_event=event

# source COMMENT
source_of()
{
	cat <<END
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static const uint8_t code[] = { 0xb9, 0, 0, 8, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
__attribute__((noinline)) void hot(unsigned long n)
{
	while (n--)	/* $1 */
		__asm__ volatile("");
}
static void *other(void *name)
{
	prctl(PR_SET_NAME, name);
	hot(500000);
	return NULL;
}
int main(int argc, char **argv)
{
	(void)argc;
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	pthread_t t;
	FILE *f, *list;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	fprintf(f, "%lx %zx jit_%s\n", (unsigned long)p, sizeof(code), argv[1]);
	fclose(f);
	list = fopen("maps", "a"); /* to be removed */
	fprintf(list, "%s\n", path);
	fclose(list);
	memcpy(p, code, sizeof(code));
	prctl(PR_SET_NAME, argv[2]);
	hot(1000000);
	((void (*)(void))p)();
	pthread_create(&t, NULL, other, argv[3]);
	pthread_join(t, NULL);
	return 0;
}
END
}

# name WHICH WHAT: a name of the odd one or of the plain one
name()
{
	local all=${1}${2:+_$2}
	printf %s "${!all}"
}

for which in odd plain; do
	dir=$(name $which dir) file=$(name $which file) what=${!which}
	mkdir "$dir" || exit 1
	(
		cd "$dir" || exit 1
		source_of "${what//[$'\n\r']/ }" >"$file.c"
		gcc -O1 -g -static -fno-omit-frame-pointer -pthread -o "$file" "$file.c" &&
			objcopy --redefine-sym "hot=hot_$what" "$file"
	) || exit 1
	"$ANYPERF" record -q -g -e "instructions/name=$(name $which event),period=1000003/u,branches/period=100003/u" -o $which.data -- \
		"$dir/$file" "${what//$'\n'/ }" "$(name $which comm)" "$(name $which thread)" "$what" \
		>$which.out 2>$which.err </dev/null || note "$(cat $which.err)"
	"$ANYPERF" record -q -e instructions:u -c 1000003 -o $which.ins -- "$dir/$file" a "$(name $which comm)" \
		"$(name $which thread)" "$what" 2>/dev/null </dev/null
	"$ANYPERF" record -q -d -e mem-loads,mem-stores -c 5003 -o $which.mem -- "$dir/$file" a \
		"$(name $which comm)" "$(name $which thread)" "$what" 2>/dev/null </dev/null
done

# printed TABS FILE NAME: nothing in the file is obeyed
printed()
{
	local found
	found=$("$PROGRAMS/obeyed" "$2" "$1")
	is "$found" "" "$3: nothing to obey"
}

# both TABS NAME COMMAND...: %w is which of the two, %c its command, %n and %e its names; as many lines on both outputs
both()
{
	local tabs=$1 name=$2 which word words lines=()
	shift 2
	for which in odd plain; do
		words=()
		for word; do
			case $word in
			%c) words+=("$(name $which dir)/$(name $which file)" "${plain}" "$(name $which comm)" "$(name $which thread)" "${!which}") ;;
			*)
				word=${word//%w/$which}
				word=${word//%e/$(name $which event)}
				words+=("${word//%n/${!which}}")
				;;
			esac
		done
		"$ANYPERF" "${words[@]}" >$which.out 2>$which.err </dev/null
		statuses=$?
		lines+=("$statuses $(wc -l <$which.out) $(wc -l <$which.err)")
	done
	printed "$tabs" odd.out "$name"
	printed no odd.err "$name, standard error"
	is "${lines[0]}" "${lines[1]}" "$name: the status and the lines of a plain one"
	[ "${lines[0]}" = "${lines[1]}" ] || note "$(diff plain.out odd.out | head -20; tail -n 3 odd.err)"
}

# fields SEPARATOR NAME: each line of odd.out has as many of them as plain.out's
fields()
{
	is "$(awk -F"$1" '!/^#/ { print NF }' odd.out | sort | uniq -c)" \
		"$(awk -F"$1" '!/^#/ { print NF }' plain.out | sort | uniq -c)" "$2: as many fields"
}

both no "report" report --stdio -i %w.data
has odd.out 'hot_e\\x1b\[2J\\x0aX 9\\x9b1m\\xc2\\x9b\\xff\\xc3,;.*\\x7f\\x09z\\x0d</script><!--é' \
	"report: the name is there, escaped, with its é"
both no "report by all" report --stdio -i %w.data -g none -s comm,dso,sym,srcfile,srcline,pid,tid
both no "report -t ," report --stdio -i %w.data -g none -t , -s comm,dso,sym
fields , "report -t ,"
both no "report -t ;" report --stdio -i %w.data -g none -t ';' -s comm,dso,sym
fields ';' "report -t ;"
both no "report -g folded" report --stdio -i %w.data -g folded
both no "report -g flat" report --stdio -i %w.data -g flat
both no "report -v" report --stdio -i %w.data -v -g caller
both no "report --header" report --stdio --header -i %w.data
both no "report --header-only -I" report --stdio --header-only -I -i %w.data
both no "report --tasks" report --tasks -i %w.data
both no "report --mmaps" report --mmaps -i %w.data
both no "report --stats" report --stats -i %w.data
"$ANYPERF" report -D -i odd.data >odd.out && "$ANYPERF" report -D -i plain.data >plain.out
printed no odd.out "report -D"
is "$(grep -c '^0x.*: event: ' odd.out)" "$(grep -c '^0x.*: event: ' plain.out)" "report -D: as many records"
both no "report of data" report --stdio -i %w.mem --mem-mode
both tab "script" script -i %w.data
has odd.out '\\x0aX 9\\x9b1m' "script: the name is escaped"
both tab "script -F" script -i %w.data -F comm,tid,ip,sym,symoff,dso,srcline,event
both tab "script of records" script -i %w.data --show-mmap-events --show-task-events
both tab "annotate" annotate --stdio -i %w.data
has odd.out 'while \(n--\)	/\* e\\x1b\[2J X' "annotate: source lines have their tabs and escapes"
both tab "annotate -l -P" annotate --stdio -l -P -i %w.data
both tab "annotate of one" annotate --stdio -i %w.data "hot_%n"
both no "diff" diff %w.data %w.data
both no "evlist" evlist -i %w.data
both no "evlist -v -g" evlist -v -g -i %w.data
for format in flamegraph collapsed speedscope firefox callgrind cachegrind; do
	data=data
	[ $format != cachegrind ] || data=ins # it has columns for events that it knows
	both no "export $format" export -i %w.$data -f $format -o %w.export
	mv odd.export odd.out && mv plain.export plain.out
	tabs=no
	[ $format != flamegraph ] || tabs=tab # the page has its own
	printed $tabs odd.out "export $format"
	is "$(wc -l <odd.out)" "$(wc -l <plain.out)" "export $format: as many lines"
	case $format in
	speedscope | firefox)
		check "export $format: valid JSON" python3 -c 'import json; json.load(open("odd.out", encoding="utf-8"))'
		has_not odd.out '</script|<!--' "export $format: ends no script"
		;;
	collapsed)
		fields ';' "export collapsed"
		;;
	flamegraph)
		is "$(grep -c '</script>' odd.out)" "$(grep -c '</script>' plain.out)" "export flamegraph: ends no script"
		;;
	esac
done
both no "export svg" export -i %w.data -f flamegraph -o %w.svg
printed tab odd.svg "export svg"
check "export svg: valid XML" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("odd.svg")'
is "$(grep -c '<g>' odd.svg)" "$(grep -c '<g>' plain.svg)" "export svg: as many boxes"
both no "export pprof" export -i %w.data -f pprof -o %w.pb.gz
cat >strings.py <<'END'
import gzip, sys
# the table of strings is field 6 of a message: all of its fields are known by their wire type
data, at = gzip.open(sys.argv[1]).read(), 0
def varint():
    global at
    n = shift = 0
    while True:
        b = data[at]; at += 1
        n |= (b & 127) << shift; shift += 7
        if b < 128: return n
while at < len(data):
    key = varint()
    if key & 7 == 0: varint()
    else:
        n = varint()
        if key >> 3 == 6: sys.stdout.buffer.write(data[at:at + n] + b"\n")
        at += n
END
python3 strings.py odd.pb.gz >odd.out && python3 strings.py plain.pb.gz >plain.out
printed no odd.out "export pprof: its strings"
is "$(wc -l <odd.out)" "$(wc -l <plain.out)" "export pprof: as many strings"

# --- stat
both no "stat" stat -e instructions:u -- %c
both no "stat --per-thread" stat --per-thread -e instructions:u -- %c
both no "stat -x ," stat -x , --per-thread -e instructions:u -- %c
cp odd.err odd.out && cp plain.err plain.out
fields , "stat -x ,"
both no "stat -x ;" stat -x ';' --per-thread -e instructions:u -- %c
cp odd.err odd.out && cp plain.err plain.out
fields ';' "stat -x ;"
both no "stat -j" stat -j --per-thread -e instructions:u -- %c
check "stat -j: valid JSON" python3 -c 'import json
for line in open("odd.err", encoding="utf-8"): json.loads(line)'
both no "stat -M of an odd one" stat -M "%n" -- %c
both no "stat -e of an odd name" stat -e instructions/name=%e/u -- %c
both no "stat -x of an odd name" stat -x , -e instructions/name=%e/u -- %c
cp odd.err odd.out && cp plain.err plain.out
fields , "stat -x , of an odd name"
both no "stat record" stat record -o %w.stat -e instructions:u -- %c
both no "stat report" stat report -i %w.stat
both no "stat report -x ," stat report -x , -i %w.stat
both no "top" top --stdio -d 1000 -e instructions:u -c 1000003 -- %c
both no "gate record" gate record -b %w.gate -r 2 --functions -- %c
printed no odd.gate "gate: the baseline"
check "gate: valid JSON" python3 -c 'import json; json.load(open("odd.gate", encoding="utf-8"))'
# what changed, and in which functions, is chance, as the threads meet each other in one place or another
"$ANYPERF" gate -b odd.gate -m instructions=+100% --markdown odd.md --json odd.json -- "$odd_dir/$odd_file" $plain "$odd_comm" "$odd_thread" "$odd" \
	>odd.out 2>odd.err </dev/null
for file in out err md json; do
	printed no odd.$file "gate of functions: $file"
done
both no "gate record, no functions" gate record -b %w.gate -r 1 -- %c
sed -i '0,/"count": /s//"count": 9/' odd.gate plain.gate # so each run has improved, and says so
both no "gate" gate -b %w.gate -m instructions=+100% --markdown %w.md --json %w.json -- %c
printed no odd.md "gate --markdown"
is "$(wc -l <odd.md)" "$(wc -l <plain.md)" "gate --markdown: as many lines"
printed no odd.json "gate --json"

# --- lists and errors
both no "list" list %n
both no "an odd command" %n
both no "an odd option" stat --%n
both no "an odd program" stat -- ./%n
both no "an odd program, recorded" record -o %w.none -- ./%n
both no "an odd event" stat -e %n -- true
both no "an odd tracepoint" record -e sched:%n -o %w.none -- true
both no "an odd file" report -i %n
both no "an odd folder to write into" record -o ./%n/x/y -- true
both no "an odd key" report -s %n -i %w.data
both no "an odd field" script -F %n -i %w.data
both no "an odd filter" record -e instructions --filter %n -o %w.none -- true
both no "an odd function" annotate -i %w.data -s %n
both no "an odd machine" stat --machine %n -- true
both no "an odd control" stat --control %n -- true
both no "an odd limit" gate -b %w.gate -m %n -- true
both no "an odd metric file" list metrics --metric-file %n
both no "help of an odd one" help %n
printf %s "$odd" >odd.bad
printf %s "$plain" >plain.bad
for what in report script annotate evlist; do
	both no "$what of no profile" $what -i %w.bad
done
both no "gate of no baseline" gate -b %w.bad -- true
done_testing
