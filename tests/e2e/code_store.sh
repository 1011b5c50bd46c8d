#!/bin/bash
# SPDX-License-Identifier: MIT
# Translated code that processes of a session share: they count what the oracle counts, whatever comes and goes at an address and
# under a name, and what is shut off from its user has none of it (docs/design/code-store.md).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/oracle.bash"

p=$PROGRAMS/store_code
cd "$tmp" || exit 1
same_size()
{
	"$p" make a 100 7 make b 100 11 make c 37 7
	"$p" make d 100 7 make e 61 13
}

# agrees NAME WORDS...: a chain of images, one at each "|"
events="instructions branches cond-branches taken-branches calls returns indirect-branches syscalls"
agrees()
{
	local name=$1 how event
	shift
	set -- "$p" "${@/#|/exec $p}"
	rm -f ./*.table ./*.out
	same_size
	# shellcheck disable=SC2068 # words
	in_same_place "$ORACLE" -o oracle.table -- $@ >oracle.out 2>&1 </dev/null
	for how in cold warm; do
		# cold: most is translated once and found from then on.  warm: each block comes out of the store.
		local options=(--code-cache session)
		[ $how = cold ] || options+=(--stress store)
		same_size
		# shellcheck disable=SC2068
		in_same_place "$(anyperf_for "${options[@]}")" stat --deterministic "${options[@]}" -x, -e "${events// /,}" -o $how.table -- \
			$@ >$how.out 2>&1 </dev/null
		is "$?" 0 "$name: status ($how)"
		same $how.out oracle.out "$name: output ($how)"
		for event in $events; do
			is "$event $(stat_value $how.table "$event")" "$(awk -v e="$event" '$1 == e { print $1, $2 }' oracle.table)" \
				"$name: $event ($how)"
		done
	done
}

agrees "the same program again and again" call a "|" call a "|" call a "|" call a
agrees "other code of the same beginning at the same address" call a call c "|" call c call a "|" call b call a
agrees "two mappings of one file" twice a "|" call a twice a "|" twice d call a
agrees "a file that is written over, with size and dates as before" call a into a e call a "|" into a d "|" call a into a c

# --- what is in it is found: a process that came again and again adds next to nothing
cat >again.sh <<END
for n in 0 1 2 3 4; do
	$p call a hold pid\$n go\$n
done
END
same_size
"$ANYPERF" stat --code-cache session -e instructions -o table -- sh again.sh >again.out 2>&1 </dev/null &
session=$!
for n in 0 1 2 3 4; do
	check "process $n waits" wait_for 60 test -s pid$n
	"$p" used "$(cat pid$n)" >used$n
	touch go$n
done
wait "$session"
is "$?" 0 "all have ended"
check "there is code in the store" test "$(cat used1)" -gt 1000
check "what ran again was found there" test "$(($(cat used4) - $(cat used3)))" -lt "$(($(cat used1) / 50))"

# --- who has none.  has_store WHAT WANT WORDS...: a process that holds behind these words
has_store()
{
	local what=$1 want=$2 status
	shift 2
	rm -f pid go used
	"$ANYPERF" stat --code-cache "${where:-session}" -e instructions -o table -- sh -c 'true; "$@"; exit $?' - "$@" hold pid go \
		>out 2>err </dev/null &
	session=$!
	wait_for 60 test -s pid || ! kill -0 "$session" 2>/dev/null
	if [ ! -s pid ]; then
		touch go
		wait "$session"
		status=$?
		[ "$status" = 77 ] && skip 1 "$what: there is no Landlock" || not_ok "$what: it holds"
		return
	fi
	"$p" used "$(cat pid)" >used 2>&1
	touch go
	wait "$session"
	case $want in
	yes) has used '^[0-9]+$' "$what: has the store" ;;
	*) is "$(cat used)" none "$what: has no store" ;;
	esac
}

has_store "an image" yes "$p"
where=off has_store "with --code-cache=off" no "$p"
has_store "behind a seccomp filter" no "$p" seccomp
has_store "what is executed there" no "$p" seccomp exec "$p"
has_store "in a Landlock domain" no "$p" landlock
has_store "what is executed in a Landlock domain" no "$p" landlock exec "$p"
has_store "and by that" no "$p" landlock exec "$p" exec "$p"
if [ "$(id -u)" = 0 ]; then # others cannot look at it
	chmod 777 .
	has_store "who cannot be traced" no "$p" undumpable
	has_store "another user's image" yes setpriv --reuid 65534 --regid 65534 --clear-groups -- "$p"
fi
run "$ANYPERF" stat --code-cache nowhere true
is "$status" 129 "a store that there is not"
has err 'needs off or session' "and it says so"

done_testing
