#!/bin/bash
# SPDX-License-Identifier: MIT
# A root session counts programs of another user: what these can reach, that they are counted and sampled as any other,
# and that nothing that they write changes what root's own tasks count (docs/design/trust.md).
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || lack_all "only root can become another user"
need setpriv

cd "$tmp" || exit 1
chmod 755 .
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
insns=26125 # tests/programs/fork_count.S

# --- counted and sampled exactly
run "$ANYPERF" stat -x, -o own -e instructions -- "${nobody[@]}" true
is "$status" 0 "another user's program: status"
run "$ANYPERF" record -q -e instructions -c 100 -o data -- "${nobody[@]}" "$PROGRAMS/fork_count"
is "$status" 0 "another user's program is recorded"
"$ANYPERF" script -i data -F comm 2>/dev/null | grep -c fork_count >samples
# five tasks, each with its own period, and one begins in the middle of one
check "and each of its periods has its sample" test "$(cat samples)" -ge $((insns / 100 - 6)) -a "$(cat samples)" -le $((insns / 100 + 1))
run "$ANYPERF" stat -x, -o around -e instructions -- "${nobody[@]}" sh -c \
	"$ANYPERF stat -x, -e instructions -- $PROGRAMS/fork_count 2>&1; exit 0"
is "$(awk -F, '/instructions/ { print $1 }' out)" "$insns" "a nested table of another user"

# --- a process that changes its credentials by itself
run "$ANYPERF" stat -x, -o moved -e instructions,branches,syscalls -- "$PROGRAMS/setuid_count"
is "$status" 0 "it becomes another user: status"
is "$(stat_value moved instructions) $(stat_value moved branches) $(stat_value moved syscalls)" "5031 2502 6" \
	"and is counted on exactly, its child too"
samples_of()
{
	"$ANYPERF" script -i "$1" -F comm 2>/dev/null | grep -c setuid_count
}
"$ANYPERF" record -q -e instructions -c 100 -o moved.data -- "$PROGRAMS/setuid_count" >/dev/null
is "$(samples_of moved.data)" 50 "each period of both tasks has its sample"

# inodes PID HOW: of the session's files that it has mapped
inodes()
{
	awk -v how="$2" '/memfd:anyperf/ && $2 ~ how { print $5 }' "/proc/$1/maps" | sort -u
}
: >becomes
"$ANYPERF" stat -x, -o becomes.table -e instructions,cycles -- sh -c \
	"$PROGRAMS/trust_reach becomes >becomes; exit 0" 2>becomes.said &
session=$!
check "it is there" wait_for 20 test -s becomes
moved=$(cat becomes)
parent=$(awk '/^PPid/ { print $2 }' "/proc/$moved/status")
is "$(inodes "$moved" r--s)" "$(inodes "$parent" r--s)" "the head is its parent's"
is "$(inodes "$moved" rw-s | wc -l)" 1 "it has mapped one file for writing"
is "$(inodes "$moved" rw-s | grep -cFx "$(inodes "$parent" rw-s)")" 0 "which is not its parent's"
is "$(find "/proc/$moved/fd" -lname '*memfd:anyperf*' | wc -l)" 2 "and has no descriptor beside that and the head's"
kill -9 "$moved"
wait "$session"
is "$?$(grep -v Killed becomes.said)" 0 "its session ends as others do"

# --- several threads go at once, exactly
for i in 1 2 3; do
	run "$ANYPERF" stat -x, -o threads -e instructions,branches,syscalls -- "$PROGRAMS/setuid_threads"
	is "$(stat_value threads instructions) $(stat_value threads branches) $(stat_value threads syscalls)" "8010241 4005030 33" \
		"four threads change their credentials one after another, time $i"
	"$ANYPERF" record -q -e instructions -c 1000 -o threads.data -- "$PROGRAMS/setuid_threads" >/dev/null
	is "$("$ANYPERF" script -i threads.data -F comm 2>/dev/null | grep -c setuid_threads)" 8010 "and each period of each has its sample"
done
run "$ANYPERF" stat -x, -o helped --model-thread --model-sample 1 -e instructions,cycles -- "$PROGRAMS/setuid_threads"
is "$(stat_value helped instructions)" 8010241 "with models in helpers"

# back and forth, with all kinds of things under way.  A new image of who is not wholly root is as of a set-uid program
run timeout 60 "$ANYPERF" stat -x, -o churn -e instructions -- "$PROGRAMS/setuid_churn" 20
is "$status $(cat out)" "0 setuid_churn: ok" "twenty times back and forth" || note "$(cat err)"
is "$(grep '^# not counted' churn | grep -v 'true: set-uid, set-gid or file')" "" "and all of it is counted"

# --- whatever it is in the middle of: it is in another file, or in none
# changes MODE PIDS COMMAND...: what trust_change says; $session and $pids are there then
changes()
{
	local mode=$1 n=$2
	shift 2
	: >"said.$mode"
	"$@" sh -c "$PROGRAMS/trust_change $mode >said.$mode; exit 0" 2>"err.$mode" &
	session=$!
	check "$mode: it has changed" wait_for 60 sh -c "[ \$(wc -l <said.$mode) = $n ]" || note "$(cat "err.$mode")"
	mapfile -t pids <"said.$mode"
	# a child's image first
	[ "$n" != 2 ] || [ "$mode" = family ] || [ "$(cat "/proc/${pids[0]}/comm")" = trust_reach ] || pids=("${pids[1]}" "${pids[0]}")
	shell=$(awk '/^PPid/ { print $2 }' "/proc/${pids[n - 1]}/status")
	[ "$mode" != traced ] || shell=$(awk '/^PPid/ { print $2 }' "/proc/$shell/status")
	party=$(inodes "$shell" rw-s)
}
# ends MODE: and its session, as others do
ends()
{
	kill -9 "${pids[@]}"
	wait "$session"
	is "$?" 0 "$1: the session ends" || note "$(cat "err.$1")"
}
# files PID: how many files of a session it has mapped or open for writing, and how many of these are its shell's
files()
{
	{
		inodes "$1" rw-s
		for fd in "/proc/$1/fd"/*; do
			case $(readlink "$fd") in
			*memfd:anyperf*) ! grep -q '^flags:.*2$' "/proc/$1/fdinfo/${fd##*/}" || stat -Lc %i "$fd" ;;
			esac
		done
	} | sort -u >writes
	echo "$(wc -l <writes) $(grep -cFx "$party" writes)"
}
for mode in threads raw jailed traced tracer filter narrow closed; do
	changes $mode 1 "$ANYPERF" stat -x, -o "table.$mode" -e instructions --
	is "$(files "${pids[0]}")" "1 0" "$mode: it writes one file, which is its own"
	is "$(grep -v Killed "err.$mode")" "" "$mode: nothing is said"
	ends $mode
done
changes same 1 "$ANYPERF" stat -x, -o table.same -e instructions --
is "$(files "${pids[0]}")" "1 1" "same: what changes nothing leaves it where it is"
ends same
for mode in vfork alone; do
	changes $mode 2 "$ANYPERF" stat -x, -o "table.$mode" -e instructions --
	is "$(files "${pids[0]}")" "1 0" "$mode: its child writes one file, which is not the shell's"
	[ $mode = vfork ] && want="1 1" || want="1 0"
	is "$(files "${pids[1]}")" "$want" "$mode: it writes one itself"
	is "$(inodes "${pids[0]}" rw-s | grep -cFx "$(inodes "${pids[1]}" rw-s)")" 0 "$mode: which is not the child's"
	ends $mode
done
# a child that another thread makes while one is on its way, after it has been decided that it stays
for mode in forks vforks; do
	: >said.$mode
	"$ANYPERF" stat -x, -o table.$mode -e instructions -- sh -c "$PROGRAMS/trust_change $mode >said.$mode; exit 0" 2>err.$mode &
	session=$!
	check "$mode: it has changed" wait_for 30 grep -q '^[0-9]' said.$mode || note "$(cat err.$mode)"
	main=$(grep '^[0-9]' said.$mode) child=$(awk '/before/ { print $2 }' said.$mode)
	is "${child:+$(inodes "$child" rw-s)}" "" "$mode: no child of before is in a file that the new user writes"
	pkill -9 -P "$main"
	kill -9 "$main"
	wait "$session"
	is "$?" 0 "$mode: the session ends" || note "$(cat "err.$mode")"
done
# what cannot unmap what its relatives count in, is not read by the supervisor any more before it has changed
changes family 2 "$ANYPERF" stat -x, -o table.family -e instructions --
is "$(inodes "${pids[1]}" rw-s | wc -l) $(inodes "${pids[1]}" rw-s | grep -cFx "$party")" "1 0" "family: it has a file that is not its shell's"
is "$(inodes "${pids[1]}" rw-s)" "$(inodes "${pids[0]}" rw-s)" "family: which is its child's"
check "family: and not the supervisor's" test "$(inodes "$session" .w.s | grep -cFx "$(inodes "${pids[1]}" rw-s)")" = 0 -a \
	"$(inodes "$session" .w.s | grep -cFx "$party")" = 1
ends family
has table.family "tasks have changed their credentials under a seccomp filter that lets them unmap nothing: they and their children are not counted any more" \
	"family: which is said"
for mode in full again; do
	changes $mode 1 "$ANYPERF" stat -x, -o table.$mode -e instructions --
	is "$(files "${pids[0]}")" "0 0" "$mode: it can have none, and has nothing of the session"
	ends $mode
	has table.$mode "not counted from here on: .*trust_change: its credentials change, and it can make no memory of its own" \
		"$mode: which is said"
done
changes many 1 "$ANYPERF" stat -x, -o table.many -e instructions --
is "$(files "${pids[0]}")" "0 0" "many: more threads than a segment has places do not go, and have nothing of the session"
ends many
has table.many "not counted from here on: .*trust_change: its credentials change, and it has too many threads" "many: which is said"
changes shared 3 "$ANYPERF" stat -x, -o table.shared -e instructions --
for i in 0 1 2; do
	is "$(files "${pids[i]}")" "0 0" "shared: what shares descriptors with another's process has nothing of the session, process $i"
done
ends shared
is "$(grep -c "not counted from here on: .*trust_change: .*it shares its descriptors with " table.shared)" 2 "shared: which is said of both"
changes perf 1 "$ANYPERF" stat -x, -o table.perf -e instructions -- "$ANYPERF" run --
is "$(files "${pids[0]}")" "0 0" "perf: what it has mapped cannot go, and it has nothing of the session"
ends perf
has table.perf "not counted from here on: .*trust_change: its credentials change, and it has mapped perf events" "perf: which is said"

# --- processes that are attached to: those of another user are by themselves
"${nobody[@]}" "$PROGRAMS/trust_reach" stays >other 2>other.said &
"${nobody[@]}" "$PROGRAMS/trust_reach" stays >third 2>/dev/null &
"$PROGRAMS/trust_reach" stays >root 2>/dev/null &
check "they are there" wait_for 20 test -s other -a -s third -a -s root
other=$(cat other) third=$(cat third) root=$(cat root)
"$ANYPERF" stat -x, -o attached -e instructions -p "$other,$root,$third" 2>attached.said &
session=$!
check "they are attached to" wait_for 20 grep -q memfd:anyperf "/proc/$third/maps"
is "$(inodes "$other" r--s)" "$(inodes "$root" r--s)" "the head is the same"
is "$(inodes "$root" rw-s | wc -l) $(inodes "$other" rw-s | wc -l)" "1 1" "each has mapped one file for writing"
is "$(inodes "$other" rw-s | grep -cFx "$(inodes "$root" rw-s)")" 0 "which is not the same"
is "$(inodes "$other" rw-s)" "$(inodes "$third" rw-s)" "that of two processes of one user is"
"${nobody[@]}" "$PROGRAMS/trust_reach" takes "$other" >files
is "$?" "$([ -s files ] && echo 0 || echo 77)" "its user has taken its descriptors"
kill -9 "$other" "$third" "$root"
wait "$session"
is "$?" 0 "the session ends with them" || note "$(cat attached.said)"
has attached '^[0-9]+,,instructions' "and has its table"

# --- one that changes its credentials while it is attached to is left all the same
mkfifo later.in
exec 7<>later.in
"$PROGRAMS/trust_change" later <later.in >later.said 2>/dev/null 7>&- &
check "later: it is there" wait_for 20 test -s later.said
later=$(cat later.said)
"$ANYPERF" stat -x, -o later -e instructions -p "$later" 2>later.err 7>&- &
session=$!
check "later: it is attached to" wait_for 20 grep -q memfd:anyperf "/proc/$later/maps"
was=$(inodes "$later" rw-s)
printf x >&7
check "later: it has changed" wait_for 20 sh -c '[ $(wc -l <later.said) = 2 ]'
is "$(inodes "$later" rw-s | wc -l) $(inodes "$later" rw-s | grep -cFx "$was")" "1 0" "later: it is in another file"
kill -INT "$session"
wait "$session"
is "$(cat later.err)" "" "later: nothing is said"
is "$(grep -c 'rw-s.*memfd:anyperf' "/proc/$later/maps") $(find "/proc/$later/fd" -lname '*memfd:anyperf*' | wc -l)" "0 0" \
	"later: nothing of the session is left in it"
kill -9 "$later"
exec 7>&-

# --- what it can ask for
run "$ANYPERF" stat -x, -o asks -e instructions -- "${nobody[@]}" "$PROGRAMS/trust_reach" asks
is "$status" 0 "another user's program reaches nothing that it could write"
is "$(grep -c refused out)" 5 "by none of five ways"

# --- a file system that does not answer: who names a file of it waits, and the session ends as others do
mkdir silent
"$PROGRAMS/fuse_silent" serves silent >serves 7>&- &
fuse=$!
if ! wait_for 20 sh -c "[ -s serves ] || ! kill -0 $fuse 2>/dev/null" || [ ! -s serves ]; then
	lack "a file system that does not answer" "none can be mounted here"
else
	run timeout 60 "$ANYPERF" run -- "$PROGRAMS/fuse_silent" probes silent/file "$PROGRAMS/fork_count" silent/none
	umount -l silent
	kill -9 "$fuse"
	if [ "$status" = 77 ]; then
		lack "a probe of what does not answer" "the kernel has no uprobes"
	else
		is "$status $(tr '\n' ' ' <out)" "0 Connection timed out open No such file or directory " \
			"a probe of what does not answer is refused, and others are served" || note "$(cat err)"
	fi
fi

# --- what its user can take of it natively: root's counts beside it are the same
cat >victims <<END
n=0
while [ ! -e over ]; do
	$ANYPERF stat -x, -o count.\$\$ -e instructions -- $PROGRAMS/fork_count >/dev/null || echo "status \$?"
	awk -F, '/instructions/ { print \$1 }' count.\$\$ >>counts
	n=\$((n + 1))
done
echo "\$n" >done.\$1
END
cat >session <<END
sh victims 1 & v1=\$!
sh victims 2 & v2=\$!
${nobody[*]} sh -c 'echo \$\$ >&3; while :; do sleep .1; done' 3>target 2>/dev/null & t=\$!
wait \$v1 \$v2
kill -9 \$t
wait \$t 2>/dev/null
$PROGRAMS/fork_count >/dev/null
END
"$ANYPERF" stat -x, -o table -e instructions -- sh session >said 2>&1 &
session=$!
check "the target is there" wait_for 20 test -s target
check "and is another user's image" wait_for 20 sh -c '[ "$(awk "/^Uid/ { print \$2 }" /proc/$(cat target)/status)" = 65534 ]'
"${nobody[@]}" "$PROGRAMS/trust_reach" takes "$(cat target)" >files
taken=$?
: >over
check "the session ends" wait_for 60 sh -c "! kill -0 $session 2>/dev/null"
wait "$session"
is "$?" 0 "its status"
if [ "$taken" = 77 ]; then
	skip "root's counts beside a scribbler" "the kernel has no pidfd_getfd"
else
	is "$taken" 0 "a task's user has taken its descriptors"
	is "$(cat files)" 1 "one file can be written: its own party's"
fi
is "$(sort -u counts)" "$insns" "root's counts beside it are exact"
is "$(grep -v Killed said)" "" "and nothing else is said"
has table '^[0-9]+,,instructions' "the session has its table"

done_testing
