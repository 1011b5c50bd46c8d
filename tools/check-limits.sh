#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/limits.md and docs/limits-*.md are read by users: each row of their tables has less than 300 characters, and details stand
# in the note that the row names.  Such a name, `docs/design/NOTE.md` or `docs/design/NOTE.md`, "SECTION",
# leads to a note that is there, and to a heading or emphasized words of it.
set -eu
set -- docs/limits.md
for file in docs/limits-*.md; do
	[ ! -e "$file" ] || set -- "$@" "$file"
done
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

awk '/^\|/ && length($0) >= 300 { printf "limits: %s:%d: a row of %d characters, at most 299\n", FILENAME, FNR, length($0) }' \
	"$@" >"$bad"
# shellcheck disable=SC2016
grep -ohE '`docs/[a-z/-]+\.md`(, "[^"]+")?' "$@" | sort -u | while read -r link; do
	note=${link#?}
	note=${note%%\`*}
	section=${link#*\"}
	if [ ! -e "$note" ]; then
		echo "limits: there is no $note"
	elif [ "$section" != "$link" ] && ! grep -qF -e "# ${section%\"}" -e "*${section%\"}" "$note"; then
		echo "limits: $note has no section \"${section%\"}\""
	fi
done >>"$bad"
rows=$(cat "$@" | grep -c '^|') || :
if [ "$rows" -lt 50 ]; then
	echo "limits: $* have no tables" >>"$bad"
fi
if [ -s "$bad" ]; then
	cat "$bad"
	exit 1
fi
echo "limits: $rows rows"
