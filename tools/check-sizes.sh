#!/bin/sh
# SPDX-License-Identifier: MIT
# Files of at most 800 lines, functions of at most 60.  A function is what stands between a brace in
# column 0 and the next closing one.  Generated tables may be longer.
set -eu
git ls-files -co --exclude-standard -- '*.c' '*.h' '*.S' '*.cc' '*.sh' '*.py' '*.mk' Makefile |
	grep -v '/gen/' | {
	while read -r file; do
		[ ! -e "$file" ] || printf '%s\n' "$file"
	done
} | xargs awk '
	function start()
	{
		files++
		open = 0
		name = ""
	}
	FNR == 1 { start() }
	FNR == 801 { printf "sizes: %s: more than 800 lines\n", FILENAME; bad = 1 }
	FILENAME !~ /\.(c|h|cc)$/ { next }
	/^[A-Za-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
	/^\{/ { open = FNR }
	/^\}/ && open {
		n = FNR - open - 1
		functions++
		if (n > 60) {
			printf "sizes: %s:%d: %s has %d lines, at most 60\n", FILENAME, open, name, n
			bad = 1
		}
		open = 0
	}
	END {
		if (bad)
			exit 1
		printf "sizes: %d files, %d functions\n", files, functions
	}'
