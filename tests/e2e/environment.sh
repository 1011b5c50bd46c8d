#!/bin/bash
# SPDX-License-Identifier: MIT
# Variables: --env sets what is the program's alone, LD_PRELOAD and LD_AUDIT above all; what has more rights than its user believes
# none of that user's.
. "$(dirname "$0")/lib.sh"
need gcc

cd "$tmp" || exit 1
cat >pre.c <<'END2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void tell(void)
{
	const char *log = getenv("PRE_LOG");
	char exe[300], line[320];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = log && n > 0 ? open(log, O_WRONLY | O_APPEND) : -1;

	exe[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		(void)!write(fd, line, snprintf(line, sizeof(line), "%s\n", exe));
}
#ifdef AUDIT
unsigned int la_version(unsigned int version)
{
	tell();
	return version;
}
#else
__attribute__((constructor)) static void begin(void)
{
	tell();
}
#endif
END2
gcc -shared -fPIC -o pre.so pre.c && gcc -DAUDIT -shared -fPIC -o audit.so pre.c || exit 1
prog=$PROGRAMS/c_dynamic

# loaded: the processes that $log says have the library
loaded() { sort -u log | xargs; }
for how in LD_PRELOAD=$tmp/pre.so LD_AUDIT=$tmp/audit.so; do
	for command in run "stat -e instructions" "stat -e task-clock" "record -q -e instructions -o data" "gate record --baseline base"; do
		: >log
		# shellcheck disable=SC2086 # words
		run "$ANYPERF" $command --env "$how" --env PRE_LOG="$tmp/log" -- "$prog"
		is "$status $(loaded)" "0 $prog" "$command --env ${how%%=*}: the program has it, and nothing of ours" || note "$(cat err)"
	done
done
# in front of anyperf they are the program's as well: what counts it is one static file (sanitizers need the loader)
if ! grep -aq /lib64/ld-linux <(head -c 4096 "$ANYPERF"); then
	for how in LD_PRELOAD=$tmp/pre.so LD_AUDIT=$tmp/audit.so; do
		for command in run "stat -e instructions" "stat -e task-clock" "record -q -e instructions -o data" "gate record --baseline base"; do
			: >log
			# shellcheck disable=SC2086 # words
			run env "$how" PRE_LOG="$tmp/log" "$ANYPERF" $command -- "$prog"
			is "$status $(loaded | tr ' ' '\n' | grep -v /env$)" "0 $prog" "${how%%=*} in front of $command: the program has it, and nothing of ours" || note "$(cat err)"
		done
		: >log
		env "$how" PRE_LOG="$tmp/log" "$ANYPERF" report -i data --stdio >/dev/null 2>&1
		is "$(loaded | tr ' ' '\n' | grep -v /env$)" "" "${how%%=*} in front of report: nothing of ours"
	done
	mkdir libs
	cp pre.so libs/libpfm.so.4
	cp pre.so libs/libc.so.6
	: >log
	run env LD_LIBRARY_PATH="$tmp/libs" PRE_LOG="$tmp/log" "$ANYPERF" doctor
	is "$(loaded | tr ' ' '\n' | grep -v /env$)" "" "LD_LIBRARY_PATH in front of doctor, which asks libpfm4: no library of that folder"
else
	lack "LD_PRELOAD in front of anyperf is the program's alone" "anyperf is built with a sanitizer"
fi
: >log
run "$ANYPERF" gate record --functions --baseline base --env LD_PRELOAD="$tmp/pre.so" --env PRE_LOG="$tmp/log" -- "$prog"
is "$status $(loaded) $(wc -l <log)" "0 $prog 2" "gate --functions: in the run for samples, too"

# shellcheck disable=SC2016 # the inner shell's
run env X=1 Y=1 "$ANYPERF" run --env X=2 --env Z= --env W=a=b -- sh -c 'echo $X $Y ${Z-unset} $W'
is "$(cat out)" "2 1 a=b" "it goes before ours, may be empty, and has its own ="
run env -i "$ANYPERF" run --env A=b -- /usr/bin/env
is "$(cat out)" "A=b" "and nothing else comes along"
run env -i "$ANYPERF" run -- /usr/bin/env
is "$(cat out)" "" "nor without"
for wrong in A =b; do
	run "$ANYPERF" run --env "$wrong" -- true
	is "$status" 129 "--env $wrong: refused"
	has err '^anyperf run: --env: needs NAME=VALUE' "in a line"
done

# rights that come with the file: the kernel says so (AT_SECURE), and PATH, HOME and TMPDIR are those of somebody with fewer
if [ "$(id -u)" = 0 ] && cp "$ANYPERF" capable && setcap cap_perfmon=ep capable 2>/dev/null || setcap cap_sys_admin=ep capable 2>/dev/null; then
	chmod 755 capable
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	mkdir planted mine
	chmod 777 mine
	printf '#!/bin/sh\necho ran >>%s/ran\n' "$tmp/mine" >planted/objdump
	chmod 755 planted/objdump
	cp -p planted/objdump planted/objdump-of-mine
	chown -R 65534 planted
	"${as_nobody[@]}" "$ANYPERF" record -q -e instructions -o mine/data -- "$PROGRAMS/c_static" >/dev/null
	for who in "$ANYPERF" ./capable; do
		rm -f mine/ran
		run "${as_nobody[@]}" env PATH="$tmp/planted:$PATH" "$who" annotate --stdio -i mine/data
		is "$status $(sort -u mine/ran 2>/dev/null)" "0 $([ "$who" = ./capable ] || echo ran)" "${who##*/}: a helper from its user's PATH"
		# the program that is counted, too
		for command in "stat -e task-clock" "record -q -e task-clock -o mine/own"; do
			rm -f mine/ran
			# shellcheck disable=SC2086 # words
			run "${as_nobody[@]}" env PATH="$tmp/planted:$PATH" "$who" $command -- objdump-of-mine
			is "$status $(sort -u mine/ran 2>/dev/null)" "$([ "$who" = ./capable ] && echo "127 " || echo "0 ran")" \
				"${who##*/} ${command%% *}: a program from its user's PATH" || note "$(cat err)"
		done
	done
else
	lack "rights that come with the file" "not root, or files here have no capabilities"
fi
done_testing
