#!/bin/bash
# SPDX-License-Identifier: MIT
# docs/abi.md and docs/perfctr.md name no test that is not there, and leave no rule without a word.
. "$(dirname "$0")/lib.sh"
need awk grep

# what no test can show has a table of its own, of three columns
sed -s '/^## Not shown by a test/,$d' "$root/docs/abi.md" "$root/docs/perfctr.md" |
	grep -E '^\| [A-Z]-[0-9]' >"$tmp/rows"
cut -d'|' -f2 "$tmp/rows" | sort | uniq -d >"$tmp/twice"
is "$(cat "$tmp/twice")" "" "no rule has two rows"
awk -F'|' 'NF != 6 || $3 ~ /^ *$/ || $4 ~ /^ *$/ || $5 ~ /^ *$/' "$tmp/rows" >"$tmp/holes"
is "$(cat "$tmp/holes")" "" "every row has a rule, an answer and who shows it"

# shellcheck disable=SC2016 # backticks of the document
grep -oE '`[a-z0-9]+/[a-z0-9_]+::[^`]+`' "$tmp/rows" | tr -d '`' | sort -u >"$tmp/named"
while IFS= read -r ref; do
	file=${ref%%::*}
	name=${ref#*::}
	case $file in
	e2e/*)
		grep -qF -e "$name" -- "$root/tests/$file.sh"
		;;
	*)
		grep -qF -e "TAP($name)" -- "$root/tests/unit/${file}_test.c"
		;;
	esac 2>/dev/null || echo "$ref"
done <"$tmp/named" >"$tmp/lost"
is "$(cat "$tmp/lost")" "" "every test that is named exists" || note "$(cat "$tmp/lost")"
is "$(($(wc -l <"$tmp/named") > 50))" 1 "and they are many"
done_testing
