#!/bin/bash
# SPDX-License-Identifier: MIT
# docs/abi.md and docs/perfctr.md by tables of what a program does and what it must see (tests/programs/abi.h), in sessions and,
# where a kernel without a PMU can show it, natively.
. "$(dirname "$0")/lib.sh"

exec 3>&- 4>&- 5>&- 6>&-
cd "$tmp" || exit 1

# rows NAME COMMAND...: a test for each line that the program prints; $natively asks the kernel what a session lacks
rows()
{
	local name=$1 line told=0 want
	shift
	run timeout -k 5 120 "$@"
	want=$(sed -n 's/^1\.\.//p' out)
	while IFS= read -r line; do
		case $line in
		"ok "*" # SKIP "*)
			line=${line% # SKIP *}
			line=${line#ok }
			if [ "$("${natively[@]}" asks "${line%% *}" 2>/dev/null)" = has ]; then
				not_ok "$name: $line: the session lacks what the kernel has"
			else
				lack "$name: $line" "this machine cannot show it"
			fi
			;;
		"ok "*) ok "$name: ${line#ok }" ;;
		"not ok "*) not_ok "$name: ${line#not ok }" ;;
		"# "*)
			note "${line#\# }"
			continue
			;;
		*) continue ;;
		esac
		told=$((told + 1))
	done <out
	is "$status $told" "0 $want" "$name: all rows were told" || note "$(head -n 20 err)"
}

user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
cp "$ANYPERF" .
native=yes
"$PROGRAMS/perf_native" reset >out 2>&1 || native=
for source in "$root"/tests/programs/abi_*.c; do
	name=$(basename "$source" .c)
	program=$PROGRAMS/$name
	while read -r mode options; do
		natively=("$program")
		case $mode in
		native)
			if [ -n "$native" ]; then
				rows "$name natively" "$program" native
			else
				lack "$name natively" "the kernel does not let us open software events"
			fi
			;;
		session)
			rows "$name" "$ANYPERF" run -- "$program" session
			[ "$(id -u)" = 0 ] && "${user[@]}" true 2>/dev/null || continue
			cp "$program" .
			natively=("${user[@]}" "./$name")
			rows "$name of a user" "${user[@]}" ./anyperf run -- "./$name" session
			;;
		*)
			# shellcheck disable=SC2086 # each option is a word
			rows "$name $mode" "$ANYPERF" run $options -- "$program" "$mode"
			;;
		esac
	done < <("$program" modes)
done
done_testing
