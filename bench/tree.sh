#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Trees of short processes: what they cost (CPU time over native, of the whole tree), and how far estimates of the models are
# off against all of it modelled, beside the error that they print themselves.
#
#	bench/tree.sh [-n RUNS] [-q] [tree...]	trees: true configure make; -q: no estimates

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"

runs=5 quick=
while getopts n:q o; do
	case $o in
	n) runs=$OPTARG ;;
	q) quick=1 ;;
	*) die "see the head of $0" ;;
	esac
done
shift $((OPTIND - 1))
trees=("$@")
[ $# -gt 0 ] || trees=(true configure make)
limit=900
events=cycles,branch-misses,L1-dcache-load-misses,LLC-load-misses

# sources FOLDER N: N small C files and a Makefile
sources()
{
	local i
	rm -rf "$1"
	mkdir -p "$1"
	for ((i = 0; i < $2; i++)); do
		printf '#include <stdio.h>\n#include <string.h>\nint f%d(const char *s)\n{\n\tchar b[64];\n\tsnprintf(b, sizeof(b), "%%s %d", s);\n\treturn (int)strlen(b) + %d;\n}\n' "$i" "$i" "$i" >"$1/f$i.c"
	done
	printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\tgcc -O2 -c -o $@ $<\nclean:\n\trm -f *.o\n' >"$1/Makefile"
}

# What configure scripts do: small programs, pipes, here-documents, a compiler now and then.
configure_script()
{
	cat <<'EOF'
cd "$1" || exit 1
for ((i = 0; i < 40; i++)); do
	case $(uname -s) in Linux) ;; *) exit 1 ;; esac
	x=$(echo "checking for thing$i" | sed 's/thing/header/' | tr a-z A-Z)
	expr "X$x" : 'X\(.*\)' >/dev/null
	test -f /usr/include/stdio.h && grep -c printf /usr/include/stdio.h >/dev/null
	if ((i % 10 == 0)); then
		echo "int main(void) { return $i - $i; }" >conftest.c
		gcc -o conftest conftest.c && ./conftest && rm -f conftest conftest.c
	fi
	awk 'BEGIN { print 1 + 1 }' </dev/null >/dev/null
done
EOF
}

tree_of()
{
	case $1 in
	true) cmd=(/bin/bash -c 'for ((i = 0; i < 200; i++)); do /bin/true; done') ;;
	configure) cmd=(/bin/bash "$work/configure" "$work/tree") ;;
	make) cmd=(/bin/sh -c "cd '$work/sources' && make -s clean && make -s -j2") ;;
	*) die "no tree '$1'" ;;
	esac
}

# estimates N FILE: lines of EVENT COUNT ERROR
estimates()
{
	measure "$limit" /dev/null "$ANYPERF" stat --model-sample "$1" -x, -o "$work/out/csv" -e "$events" -- "${cmd[@]}"
	[ "$status" = 0 ] || die "$tree: status $status"
	awk -F, '$3 && !/^#/ { print $3, $1, $(NF - 1) }' "$work/out/csv" >"$2"
}

# cost FILE COMMAND...: CPU seconds, a line for each run
cost()
{
	local file=$1
	shift
	measure "$limit" /dev/null "$@"
	[ "$status" = 0 ] || die "$tree: status $status"
	echo "$cpu" >>"$file"
}

prepare
mkdir -p "$work/tree"
sources "$work/sources" 60
configure_script >"$work/configure"
echo "| tree | native s | exact | table |"
echo "|---|---:|---:|---:|"
for tree in "${trees[@]}"; do
	tree_of "$tree"
	rm -f "$work"/out/cost.*
	for ((n = 0; n < runs; n++)); do
		cost "$work/out/cost.native" "${cmd[@]}"
		cost "$work/out/cost.exact" "$ANYPERF" stat --exact -o /dev/null -- "${cmd[@]}"
		cost "$work/out/cost.table" "$ANYPERF" stat -o /dev/null -- "${cmd[@]}"
	done
	native=$(median <"$work/out/cost.native")
	printf '| %s | %.2f |' "$tree" "$native"
	for what in exact table; do
		median <"$work/out/cost.$what" | awk -v n="$native" '{ printf " %.1f |", $1 / n }'
	done
	echo
done
[ -z "$quick" ] || exit 0
echo
echo "| tree | ${events//,/ | } |"
echo "|---|---:|---:|---:|---:|"
for tree in "${trees[@]}"; do
	tree_of "$tree"
	estimates 1 "$work/out/all"
	for ((n = 0; n < runs; n++)); do
		estimates 24 "$work/out/part"
		awk -v t="$tree" 'NR == FNR { want[$1] = $2; next }
			FNR == 1 { printf "| %s |", t }
			{ printf " %+.1f %% (+- %s) |", 100 * ($2 / want[$1] - 1), $3 }
			END { print "" }' "$work/out/all" "$work/out/part"
	done
done
