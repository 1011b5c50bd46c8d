# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Programs that once broke under anyperf, one for each kind of fault: tests/programs/cases.  A program says itself how
# it is run, in lines of the form
#
#	/* CASE: [nobody] counted|session [OPTIONS] -- [ARGUMENTS] */
#
# counted: it runs natively and under `anyperf stat -e instructions OPTIONS`: same output, same status.
# session: it runs under `anyperf run OPTIONS`, judges what it sees by itself, and ends with status 0.
# nobody: all of it runs as user 65534 where the test runs as root.
# CASE=word picks the cases whose name has that word.

. "$(dirname "$0")/lib.sh"

# as_user NOBODY COMMAND...
as_user()
{
	local nobody=$1
	shift
	if [ "$nobody" = 1 ] && [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# counted NOBODY NAME: with "${options[@]}" and "${arguments[@]}"
counted()
{
	local nobody=$1 program=$PROGRAMS/cases/$2 name="$2 ${arguments[*]}" native
	run as_user "$nobody" "$program" "${arguments[@]}"
	native=$status
	mv "$tmp/out" "$tmp/native"
	run as_user "$nobody" "$(anyperf_for "${options[@]}")" stat -e instructions "${options[@]}" -- "$program" "${arguments[@]}"
	is "$status" "$native" "$name: status as natively" || sed 's/^/#   /' "$tmp/err"
	same "$tmp/out" "$tmp/native" "$name: output as natively"
	has "$tmp/err" '^ *[1-9][0-9,]* +instructions' "$name: counted"
	has_not "$tmp/err" 'not counted' "$name: counted to its end"
}

# session NOBODY NAME: the same
session()
{
	run as_user "$1" "$(anyperf_for "${options[@]}")" run "${options[@]}" -- "$PROGRAMS/cases/$2" "${arguments[@]}"
	is "$status" 0 "$2 ${options[*]} ${arguments[*]}: all that it checks holds" || sed 's/^/#   /' "$tmp/out" "$tmp/err"
}

# one WORD...: of a line that says how a program is run, behind "CASE:"
one()
{
	local nobody=0 how
	if [ "$1" = nobody ]; then
		nobody=1
		shift
	fi
	how=$1 options=() arguments=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	arguments=("${@:2}")
	case $how in
	counted | session) "$how" "$nobody" "$name" ;;
	*) not_ok "$name: CASE line: $how" ;;
	esac
}

for source in "$root"/tests/programs/cases/*.{c,cc}; do
	[ -e "$source" ] || continue
	name=$(basename "${source%.*}")
	[[ $name == *"${CASE:-}"* ]] || continue
	while read -ra words; do
		one "${words[@]}"
	done < <(sed -n 's|.*/\* CASE: *\(.*[^ ]\) *\*/.*|\1|p' "$source")
done
done_testing
