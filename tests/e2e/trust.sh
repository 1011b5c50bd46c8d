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

# --- what it can ask for
run "$ANYPERF" stat -x, -o asks -e instructions -- "${nobody[@]}" "$PROGRAMS/trust_reach" asks
is "$status" 0 "another user's program reaches nothing that it could write"
is "$(grep -c refused out)" 5 "by none of five ways"

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
