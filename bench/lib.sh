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

programs=(xz gzip bzip2 python3 cc1 sqlite3 perl openssl sort nbody matmul stl pth node)

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

# command_of PROGRAM: fills cmd and in; some native second of fixed work, result on stdout
command_of()
{
	local i=$work/in p=$bench/programs
	in=/dev/null
	case $1 in
	xz) cmd=(/usr/bin/xz -6 -T1 -c "$i/text.2m") ;;
	gzip) cmd=(/usr/bin/gzip -9 -n -c "$i/text.8m") ;;
	bzip2) cmd=(/usr/bin/bzip2 -9 -c "$i/text") ;;
	python3) cmd=(/usr/bin/python3 -S -E "$p/work.py" 55) ;;
	cc1) cmd=("$(gcc -print-prog-name=cc1)" -quiet -O2 "$i/big.c" -o -) ;;
	sqlite3) cmd=(/usr/bin/sqlite3 :memory:) in=$i/work.sql ;;
	perl) cmd=(/usr/bin/perl "$p/work.pl") in=$i/text.3m ;;
	openssl) cmd=(/usr/bin/openssl enc -aes-256-ctr -pbkdf2 -iter 1900000 -md sha512
		-S 0011223344556677 -pass pass:x -in "$i/text") ;;
	sort) cmd=(/usr/bin/sort --parallel=1 -S 512M '-k1,1n' '-k2,2' "$i/table") ;;
	nbody) cmd=("$work/bin/nbody" 15000000) ;;
	matmul) cmd=("$work/bin/matmul" 120) ;;
	stl) cmd=("$work/bin/stl" 85) ;;
	pth) cmd=("$work/bin/pth" 2 850) ;;
	node) cmd=(/usr/bin/node "$p/work.js" 45) ;;
	*) die "no program '$1'; there are: ${programs[*]}" ;;
	esac
}

# measure LIMIT STDIN COMMAND...: fills $cpu $wall $status $faults; stdout is in $work/out/stdout
measure()
{
	local limit=$1 in=$2 user system
	shift 2
	"$work/cputime" -t "$limit" -i "$in" -o "$work/out/stdout" -e "$work/out/stderr" \
		"$work/out/times" "$@"
	{
		read -r user system wall status
		read -r faults
	} <"$work/out/times"
	cpu=$(awk -v u="$user" -v s="$system" 'BEGIN { printf "%.4f", u + s }')
}

# median: of the numbers on stdin, one per line
median()
{
	sort -g | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
