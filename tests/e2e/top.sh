#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf top`: what it prints is what a recording of the same run says; on a terminal it is driven by keys.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need tmux gcc
# shellcheck source=tests/e2e/screen.bash
. "$(dirname "$0")/screen.bash"
cd "$tmp" || exit 1

make_work
# leaf until SIGUSR1, then other
cat >spin.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long s;
static volatile sig_atomic_t told;
static void on_signal(int sig) { told = sig; }
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void other(int n) { for (int i = 0; i < n; i++) s ^= i; }
int main(void)
{
	FILE *f = fopen("spin.pid", "w");
	signal(SIGUSR1, on_signal);
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	puts("spin's words");
	fflush(stdout);
	for (;;)
		if (told) other(3000); else leaf(3000);
}
END
gcc -O1 -g -o spin spin.c || exit 1

spins()
{
	test -s spin.pid && kill -0 "$(cat spin.pid)"
}
spins_no_more()
{
	! spins
}
# table FILE: from its title on
table()
{
	sed -n '/^# Samples/,$p' "$1"
}

# --- printed
"$ANYPERF" record -q -g -e instructions:u -c 1000 -o data -- ./work >/dev/null
[ -s data ] || exit 1
for how in "" "--no-children" "-s comm,dso,sym -n" "--percent-limit 5"; do
	# shellcheck disable=SC2086 # words
	run "$ANYPERF" top --stdio -d 1000 -g -e instructions:u -c 1000 $how -- ./work
	cp out top.out
	cp err top.err
	is "$status" 7 "top $how: the command's status"
	sorted=$how
	[[ $how == *-s* ]] || sorted="$how -s dso,sym"
	# shellcheck disable=SC2086
	"$ANYPERF" report --stdio -i data $sorted >want
	table want >want.table
	table top.out >top.table
	same top.table want.table "top $how: the table of the same run, recorded"
	has top.table '80.00% .*\[\.\] leaf$' "top $how: leaf has its share"
done
is "$(grep -cx 'from the command' top.out) $(cat top.err)" "1 " "the command's output goes where the tables go, and nothing to standard error"
run "$ANYPERF" top --stdio -e instructions:u,branches:u -c 1000 -- ./work
is "$(grep -c '^# Samples' out)" 2 "two events: two tables"
socket=$(cat /sys/devices/system/cpu/cpu*/topology/physical_package_id 2>/dev/null | sort -u)
if [[ $socket =~ ^[0-9]+$ ]]; then
	run "$ANYPERF" top --stdio -d 1000 -e instructions:u -c 1000 -s socket -- ./work
	has out "$(printf '^ *100.00%% +%03d *$' "$socket")" "-s socket: the one of all CPUs"
else
	lack "top -s socket" "several sockets, or nobody tells"
fi
run "$ANYPERF" top --stdio -d 1000 --machine zen4 -e cycles:u -c 1000 -- ./work
is "$status" 7 "--machine: the command's status"
has out '\[\.\] leaf$' "--machine: modelled on it"
run "$ANYPERF" top --stdio --machine nosuch -- ./work
is "$status" 129 "no such machine: status 129"
has err 'nosuch is no machine' "no such machine: says so"
run "$ANYPERF" top --stdio -- ./nosuch
is "$status" 127 "no such command: status 127"
has err 'nosuch: No such file' "no such command: says so"
run "$ANYPERF" top -e nosuch -- ./work
is "$status" 129 "an unknown event: status 129"
is "$(wc -l <err)" 1 "an unknown event: one line"
for bad in "" "-d 0 -- ./work" "-d x -- ./work" "-s nosuch -- ./work" "--percent-limit=-1 -- ./work"; do
	# shellcheck disable=SC2086
	run "$ANYPERF" top $bad
	is "$status" 129 "top $bad: wrong usage"
	is "$(wc -c <out)" 0 "top $bad: no table"
done

if is_filtered; then
	lack "-p" "a seccomp filter around us: nobody can be attached to"
else
	start ./spin
	wait_for 20 spins
	"$ANYPERF" top --stdio -d 0.2 -e instructions:u -p "$pid" >attached 2>attached.err &
	top=$!
	check "-p: a table comes" wait_for 20 grep -q '\[\.\] leaf' attached
	kill -TERM "$top"
	wait "$top"
	is "$?" 0 "-p: SIGTERM ends it in order"
	check "-p: the process goes on" spins
	is "$(cat attached.err)" "" "-p: nothing else is said"
	kill -9 "$pid"
	rm -f spin.pid
fi

# --- on a terminal
terminal 100 14
enter "$ANYPERF top -d 0.3 -g -e instructions:u -- ./spin; echo status \$?"
sees_line '^[-+ ] .*[0-9]% +[0-9.]+% +spin +\[\.\] leaf$' "the table is there"
check "the program runs" spins
press / l e a f Enter a
sees_line '^leaf  spin  \[[1-9][0-9]* samples of' "annotated while it runs"
n=$(shown | sed -n '1s/.*\[\([0-9]*\) samples.*/\1/p')
more()
{
	local now
	now=$(shown | sed -n '1s/.*\[\([0-9]*\) samples.*/\1/p')
	[ "$now" ] && [ "$now" != "$n" ]
}
check "its numbers change" wait_for 20 more
press q z
sees_line 'Each refresh forgets what was before' "z"
kill -USR1 "$(cat spin.pid)"
sees_line '\[\.\] other$' "another function runs"
sees_gone '\[\.\] leaf$' "and the first is forgotten"
press q
sees_line '^status 0$' "q: status 0"
sees_line "^spin's words$" "q: the command's output is shown then"
check "q: the program has ended" wait_for 20 spins_no_more
enter clear
is_back "q"
rm -f spin.pid

enter "$ANYPERF top -d 0.3 -- ./work; echo status \$?"
sees_line '^status 7$' "the command's end ends it, with its status"
sees_line '^from the command$' "and its output is shown"
enter clear
is_back "the command's end"

# --- ways out
for sig in INT TERM HUP; do
	enter "sh -c 'echo \$\$ >pid; exec $ANYPERF top -d 0.3 -- ./spin'"
	sees_line '\[\.\] leaf$' "SIG$sig: the screen is there"
	kill -$sig "$(cat pid)"
	check "SIG$sig: the program ends" wait_for 20 spins_no_more
	wait_for 20 line_is_there "^spin's words$"
	enter clear
	is_back "SIG$sig"
	rm -f spin.pid
done
enter "sh -c 'echo \$\$ >pid; exec $ANYPERF top -d 0.3 -- ./spin'"
sees_line '\[\.\] leaf$' "SIGKILL: the screen is there"
kill -KILL "$(cat pid)"
check "SIGKILL: the program ends too" wait_for 20 spins_no_more
rm -f spin.pid
enter "$(printf '\003')"
enter "reset; clear"

# --- a command that does not listen is left
cat >deaf.sh <<'END'
trap '' TERM
echo $$ >spin.pid
while :; do :; done
END
terminal 100 14
enter "$ANYPERF top -d 0.3 -- sh deaf.sh; echo status \$?"
sees_line '\[\.\]' "deaf: the table is there"
press q
sees_line '^status 0$' "deaf: q ends top"
check "deaf: the command goes on" spins
kill -9 "$(cat spin.pid)"
done_testing
