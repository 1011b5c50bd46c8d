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

list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
git ls-files -co --exclude-standard -- '*.c' '*.h' | grep -v '/gen/' | while read -r file; do
	[ ! -e "$file" ] || printf '%s\n' "$file"
done >"$list"

# many files a process: all are well as a rule
if ! xargs -P "$(nproc)" -n 64 "$formatter" --dry-run -Werror <"$list" >/dev/null 2>&1; then
	echo "format: not as $formatter writes it (repair: make format):"
	while read -r file; do
		"$formatter" --dry-run -Werror "$file" >/dev/null 2>&1 && continue
		line=$("$formatter" "$file" | diff "$file" - | sed -n '1s/^\([0-9]*\).*/\1/p')
		echo "  $file:$line"
	done <"$list"
	exit 1
fi
echo "format: $(wc -l <"$list") files as they should be"
