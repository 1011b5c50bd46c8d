# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# What run.sh, startup.sh and threads.sh share: places, programs and inputs, one measured run.
# Everything made lies in $work; nothing is downloaded.

set -eu -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bench=$root/bench
: "${BUILD:=$root/build}"
: "${ANYPERF:=$BUILD/anyperf}"
work=$BUILD/bench
# The system's own programs: shims of version managers run a shell first.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C TZ=UTC0

modelled_events=cycles,instructions,branches,branch-misses,L1-dcache-load-misses,LLC-load-misses,L1-icache-load-misses,dTLB-load-misses,iTLB-load-misses
all_events=instructions,branches,cond-branches,taken-branches,calls,returns,indirect-branches,syscalls

die()
{
	echo "bench: $*" >&2
	exit 1
}

# build TARGET SOURCE COMMAND...: unless it is there and newer than its source
build()
{
	local target=$1 source=$2
	shift 2
	[ "$target" -nt "$source" ] || "$@" -o "$target" "$source" "${libs[@]}" ||
		die "cannot build $target"
}

prepare()
{
	local p=$bench/programs libs=()
	[ -x "$ANYPERF" ] || die "no $ANYPERF: run make first"
	mkdir -p "$work/bin" "$work/out"
	build "$work/cputime" "$bench/cputime.c" gcc -O2 -Wall
	libs=(-lm)
	build "$work/bin/nbody" "$p/nbody.c" gcc -O2 -Wall
	libs=()
	build "$work/bin/matmul" "$p/matmul.c" gcc -O2 -Wall -mavx2 -mfma
	build "$work/bin/stl" "$p/stl.cc" g++ -O2 -Wall -std=c++17
	build "$work/bin/pth" "$p/pth.c" gcc -O2 -Wall -pthread
	if ! [ "$work/in/.made" -nt "$bench/generate.py" ]; then
		python3 "$bench/generate.py" "$work/in" || die "cannot make the inputs"
		touch "$work/in/.made"
	fi
}

# measure LIMIT STDIN COMMAND...: fills $cpu $wall $status; stdout is in $work/out/stdout
measure()
{
	local limit=$1 in=$2 user system
	shift 2
	"$work/cputime" -t "$limit" -i "$in" -o "$work/out/stdout" -e "$work/out/stderr" \
		"$work/out/times" "$@"
	read -r user system wall status <"$work/out/times"
	cpu=$(awk -v u="$user" -v s="$system" 'BEGIN { printf "%.4f", u + s }')
}

# median: of the numbers on stdin, one per line
median()
{
	sort -g | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
