#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Modelled cycles against time: kernels (programs/kernels.c, with and without optimization) and real programs, natively
# and under anyperf.  The clock is what the kernel `adds`, a chain of additions, makes it; the error of a row is how far
# cycles / clock is from the least time.  Wants an idle machine, and a --machine that resembles it.
#
#	bench/cycles.sh [-n runs] [-m machine] [-p program,...] [-k kernel,...]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"

runs=5
machine=host
plain=(adds adds4 imul fadd fmul fdiv div64 decjnz stack shuffles)
compiled=(chase chase-l2 chase-big independent stream sieve sorts crc fib mm mm-rows bubble
	histogram fnv lcs collatz bodies branches copies)
unoptimized=(sieve sorts crc fib mm mm-rows bubble histogram fnv lcs collatz bodies)
programs=(xz gzip bzip2 python3 cc1 sqlite3 perl openssl sort nbody matmul stl)

# kernel_time BINARY NAME: nanoseconds, the least of all runs
kernel_time()
{
	local n
	for ((n = 0; n < runs; n++)); do
		"$1" "$2"
	done | sort -n | head -n 1
}

# cycles_of STDIN COMMAND...
cycles_of()
{
	local in=$1
	shift
	"$ANYPERF" stat --machine "$machine" -x , -o "$work/out/cycles" -e cycles:u -- "$@" \
		<"$in" >/dev/null 2>"$work/out/stderr" || die "$*: $(head -n 1 "$work/out/stderr")"
	awk -F , '$3 ~ /^cycles/ { print $1 }' "$work/out/cycles"
}

# row KIND NAME CYCLES NANOSECONDS
row()
{
	echo "$*" >>"$raw"
	echo "bench: $2" >&2
}

kernel_rows()
{
	local binary=$1 suffix=$2 name cycles start
	shift 2
	start=$(cycles_of /dev/null "$binary" none)
	for name; do
		cycles=$(cycles_of /dev/null "$binary" "$name")
		row kernel "$name$suffix" $((cycles - start)) "$(kernel_time "$binary" "$name")"
	done
}

program_rows()
{
	local program cmd=() in="" n least
	for program in "${programs[@]}"; do
		small_command_of "$program"
		least=$(for ((n = 0; n < runs; n++)); do
			measure 120 "$in" "${cmd[@]}"
			[ "$status" = 0 ] || die "$program fails natively"
			cut -d ' ' -f 1 "$work/out/times"
		done | sort -g | head -n 1)
		row program "$program" "$(cycles_of "$in" "${cmd[@]}")" \
			"$(awk -v t="$least" 'BEGIN { printf "%d", t * 1e9 }')"
	done
}

# small_command_of PROGRAM: fills cmd and in; some tenths of a second, user time alone counts
small_command_of()
{
	local i=$work/in p=$bench/programs
	in=/dev/null
	case $1 in
	xz) cmd=(/usr/bin/xz -3 -T1 -c "$i/text.2m") ;;
	gzip) cmd=(/usr/bin/gzip -6 -n -c "$i/text.8m") ;;
	bzip2) cmd=(/usr/bin/bzip2 -9 -c "$i/text.2m") ;;
	python3) cmd=(/usr/bin/python3 -S -E "$p/work.py" 8) ;;
	cc1) cmd=("$(gcc -print-prog-name=cc1)" -quiet -O0 "$i/big.c" -o -) ;;
	sqlite3) cmd=(/usr/bin/sqlite3 :memory:) in=$i/work.sql ;;
	perl) cmd=(/usr/bin/perl "$p/work.pl") in=$i/text.3m ;;
	openssl) cmd=(/usr/bin/openssl dgst -sha3-256 "$i/text") ;;
	sort) cmd=(/usr/bin/sort --parallel=1 -S 512M '-k1,1n' '-k2,2' "$i/table") ;;
	nbody) cmd=("$work/bin/nbody" 2000000) ;;
	matmul) cmd=("$work/bin/matmul" 20) ;;
	stl) cmd=("$work/bin/stl" 12) ;;
	*) die "no program '$1'; there are: ${programs[*]}" ;;
	esac
}

while [ $# -gt 0 ]; do
	case $1 in
	-n) runs=$2 && shift ;;
	-m) machine=$2 && shift ;;
	-p) IFS=, read -ra programs <<<"$2" && shift ;;
	-k) IFS=, read -ra plain <<<"$2" && compiled=() unoptimized=() && shift ;;
	*) die "usage: bench/cycles.sh [-n runs] [-m machine] [-p program,...] [-k kernel,...]" ;;
	esac
	shift
done
prepare
# shellcheck disable=SC2034 # build reads it
libs=()
build "$work/bin/kernels" "$bench/programs/kernels.c" gcc -O2 -Wall
build "$work/bin/kernels-O0" "$bench/programs/kernels.c" gcc -O0 -Wall
raw=$work/out/cycles.raw
: >"$raw"
kernel_rows "$work/bin/kernels" "" "${plain[@]}" "${compiled[@]}"
[ ${#unoptimized[@]} = 0 ] || kernel_rows "$work/bin/kernels-O0" -O0 "${unoptimized[@]}"
program_rows
awk -v machine="$machine" -f "$bench/cycles.awk" "$raw"
