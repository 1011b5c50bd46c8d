#!/bin/bash
# SPDX-License-Identifier: MIT
# docs/abi.md, docs/perfctr.md and docs/programs.md name no test that is not there, and leave no rule and no
# program without a word.
. "$(dirname "$0")/lib.sh"
need awk grep

# what no test can show has a table of its own, of three columns
sed -s '/^## Not shown by a test/,$d' "$root/docs/abi.md" "$root/docs/perfctr.md" |
	grep -E '^\| [A-Z]-[0-9]' >"$tmp/rows"
cut -d'|' -f2 "$tmp/rows" | sort | uniq -d >"$tmp/twice"
is "$(cat "$tmp/twice")" "" "no rule has two rows"
awk -F'|' 'NF != 6 || $3 ~ /^ *$/ || $4 ~ /^ *$/ || $5 ~ /^ *$/' "$tmp/rows" >"$tmp/holes"
is "$(cat "$tmp/holes")" "" "every row has a rule, an answer and who shows it"

# rules <RANGES: a line for each
rules()
{
	local letter ranges range first
	while read -r letter ranges; do
		for range in $ranges; do
			first=${range%-*}
			seq -f "$letter-%0${#first}.0f" "$first" "${range#*-}"
		done
	done | sort -u
}

# what a program sees is shown by one that looks; what no program can see says why
sed -s '/^## Not shown by a test/,$d' "$root/docs/abi.md" "$root/docs/perfctr.md" | grep -E '^\| ([A-Z]-[0-9]|- )' |
	awk -F'|' '$5 !~ /`e2e\// && $5 !~ /inside: ./' >"$tmp/unseen"
is "$(cat "$tmp/unseen")" "" "every rule is shown by a program, or says why none sees it"

# The rules that there are.
rules >"$tmp/rules" <<'END'
A 001-016 020-028 030-033 040-045 050-061 070-079 100-139
B 001-022 030-035 040-050 060-062 070-074 080-080
C 001-005 020-031 040-053 060-062
D 001-004 010-025 030-035 040-059 060-073 080-084
E 001-004 010-013 020-022 030-039 090-100
F 001-004 010-014 020-024 030-035 040-042 050-054
G 001-008 010-015 020-025 030-036 040-043
H 001-011
I 001-014
X 01-45
Y 01-16
Z 001-004 010-016 020-027
END
sed 's/ //g' <(cut -d'|' -f2 "$tmp/rows") | sort -u >"$tmp/have"
is "$(comm -23 "$tmp/rules" "$tmp/have" | xargs)" "" "every rule has its row"
is "$(wc -l <"$tmp/rules")" 440 "and none was forgotten here"

# perfctr's, with those that no test shows; 088 and 089 of K have parts
rules >"$tmp/rules" <<'END'
J 001-008 010-010 020-026 030-041 050-061
K 001-006 010-019 030-030 040-047 050-055 060-065 070-070 075-076 078-078 080-087 090-096 100-110
L 001-001 010-018 030-033 040-050
M 001-006 010-020
N 001-005 010-017 020-024 030-034 040-048 050-060 070-073 080-084 100-107 110-111
END
printf 'K-08%s\n' 8a 8b 8c 9a 9b 9c 9d 9e >>"$tmp/rules"
sed -n '/^| [A-Z]-[0-9]/s/^| \([^|]*\) |.*/\1/p' "$root/docs/perfctr.md" | tr -d ' ' | tr , '\n' | sort -u >"$tmp/have"
is "$(sort -u "$tmp/rules" | comm -23 - "$tmp/have" | xargs)" "" "every rule of perfctr has its row, or its reason"
is "$(wc -l <"$tmp/rules")" 219 "and none of these was forgotten"

# shellcheck disable=SC2016 # backticks of the document
grep -oE '`[a-z0-9]+/[a-z0-9_]+::[^`]+`' "$tmp/rows" | tr -d '`' | sort -u >"$tmp/named"
# by its whole name: as a script has it between quotes, or as a word of a list that one goes through
while IFS= read -r ref; do
	file=${ref%%::*}
	name=${ref#*::}
	whole=$(printf '%s' "$name" | sed 's/[][\.*^$+?(){}|/]/\\&/g')
	case $file in
	e2e/abi) # rows of tables, by the rule's id
		grep -qE "^	(\{ |BOTH\(|RULE\(|SWEEP\()\"$name\"," "$root"/tests/programs/abi_*.[ch]
		;;
	e2e/cases)
		ls "$root/tests/programs/cases/$name".c* >"$tmp/case"
		;;
	e2e/*)
		grep -v '^[[:space:]]*#' "$root/tests/$file.sh" |
			grep -qE -e "(^|[[:space:]\"}])$whole(\$|[[:space:]\";])"
		;;
	*)
		grep -qF -e "TAP($name)" -- "$root/tests/unit/${file}_test.c"
		;;
	esac 2>/dev/null || echo "$ref"
done <"$tmp/named" >"$tmp/lost"
is "$(cat "$tmp/lost")" "" "every test that is named exists" || note "$(cat "$tmp/lost")"
sed -nE 's/^	(\{ |BOTH\(|RULE\(|SWEEP\()"([A-Z]-[0-9a-z]+)",.*/\2/p' "$root"/tests/programs/abi_*.[ch] | sort -u >"$tmp/tabled"
# shellcheck disable=SC2016 # backticks of the document
awk -F'|' '{ gsub(/ /, "", $2); if (index($5, "`e2e/abi::" $2 "`")) print $2 }' "$tmp/rows" | sort -u >"$tmp/told"
same "$tmp/told" "$tmp/tabled" "the rules that abi.sh has tables of name it, and no others"
is "$(($(wc -l <"$tmp/named") > 50))" 1 "and they are many"

# real programs: those that run twice, and no others
# shellcheck disable=SC2016 # backticks of the document
sed -n 's/^| .* | `e2e\/\(.*\)` |$/\1/p' "$root/docs/programs.md" | sort >"$tmp/told"
grep -l -e '/twice\.bash"$' -e 'after twice\.bash' "$root"/tests/e2e/*.{sh,bash} | while IFS= read -r file; do
	name=$(basename "$file" .sh)
	grep -oE '^[[:space:]]*both(_if "[^"]+")? "[^"]+"' "$file" |
		sed -E "s/.*\"(.*)\"/${name%.bash}::\1/; s/[$]1$//"
done | sort -u >"$tmp/run"
same "$tmp/told" "$tmp/run" "the programs that docs/programs.md names are those that run"
is "$(($(wc -l <"$tmp/told") >= 40))" 1 "and they are forty"
done_testing
