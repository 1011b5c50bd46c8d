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

# counted NOBODY NAME OPTIONS -- ARGUMENTS
counted()
{
	local nobody=$1 name=$2 options=() native
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	run as_user "$nobody" "$PROGRAMS/cases/$name" "$@"
	native=$status
	mv "$tmp/out" "$tmp/native"
	run as_user "$nobody" "$ANYPERF" stat -e instructions "${options[@]}" -- "$PROGRAMS/cases/$name" "$@"
	is "$status" "$native" "$name $*: status as natively" || sed 's/^/#   /' "$tmp/err"
	same "$tmp/out" "$tmp/native" "$name $*: output as natively"
	has "$tmp/err" '^ *[1-9][0-9,]* +instructions' "$name $*: counted"
	has_not "$tmp/err" 'not counted' "$name $*: counted to its end"
}

# session NOBODY NAME OPTIONS -- ARGUMENTS
session()
{
	local nobody=$1 name=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	run as_user "$nobody" "$ANYPERF" run "${options[@]}" -- "$PROGRAMS/cases/$name" "$@"
	is "$status" 0 "$name ${options[*]} $*: all that it checks holds" || sed 's/^/#   /' "$tmp/out" "$tmp/err"
}

for source in "$root"/tests/programs/cases/*.{c,cc}; do
	[ -e "$source" ] || continue
	name=$(basename "${source%.*}")
	[[ $name == *"${CASE:-}"* ]] || continue
	while read -ra words; do
		nobody=0
		if [ "${words[0]}" = nobody ]; then
			nobody=1
			words=("${words[@]:1}")
		fi
		case ${words[0]} in
		counted | session) "${words[0]}" "$nobody" "$name" "${words[@]:1}" ;;
		*) not_ok "$name: CASE line: ${words[*]}" ;;
		esac
	done < <(sed -n 's|.*/\* CASE: *\(.*[^ ]\) *\*/.*|\1|p' "$source")
done
done_testing
