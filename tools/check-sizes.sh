#!/bin/sh
# SPDX-License-Identifier: MIT
# Files of at most 800 lines; functions of at most 100 (aim at 60: longer ones are listed, not
# refused).  A function is what stands between a brace in column 0 and the next closing one.
# Generated tables are not asked.
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
		if (n > 100) {
			printf "sizes: %s:%d: %s has %d lines, at most 100\n", FILENAME, open, name, n
			bad = 1
		} else if (n > 60) {
			long[++nlong] = sprintf("%s:%d: %s has %d lines", FILENAME, open, name, n)
		}
		open = 0
	}
	END {
		for (i = 1; i <= nlong; i++)
			printf "sizes: (aim at 60) %s\n", long[i]
		if (bad)
			exit 1
		printf "sizes: %d files, %d functions, %d of them longer than 60 lines\n",
			files, functions, nlong
	}'
