#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C file of ours is as clang-format 14 would write it; generated tables are not asked.
# `make format` repairs.
set -eu
formatter=${CLANG_FORMAT:-clang-format-14}
if ! command -v "$formatter" >/dev/null 2>&1; then
	echo "format: no $formatter; get it with \`make deps-lint\`" >&2
	exit 1
fi

git ls-files -co --exclude-standard -- '*.c' '*.h' | grep -v '/gen/' | {
	n=0
	bad=0
	while read -r file; do
		[ -e "$file" ] || continue
		n=$((n + 1))
		"$formatter" --dry-run -Werror "$file" >/dev/null 2>&1 && continue
		bad=$((bad + 1))
		[ $bad -gt 1 ] || echo "format: not as $formatter writes it (repair: make format):"
		line=$("$formatter" "$file" | diff "$file" - | sed -n '1s/^\([0-9]*\).*/\1/p')
		echo "  $file:$line"
	done
	[ $bad = 0 ] || exit 1
	echo "format: $n files as they should be"
}
