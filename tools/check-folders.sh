#!/bin/bash
# SPDX-License-Identifier: MIT
# Holds the folders inside modules to their order in mk/layers.mk (FOLDERS_module, top down):
# a file may use what stands to the right of its folder, or in it.  What still points upward is listed
# in mk/upward.txt, one line each: a line that is missing fails, and so does one that nothing needs
# any more, so the list only shrinks.
#
#	tools/check-folders.sh			the #includes
#	tools/check-folders.sh BUILD		the #includes, and the calls and data that objects of a build have of each other
#	tools/check-folders.sh --graph BUILD	prints arrows between folders, and circles of files
#
# "call A B" is about objects, with A's path below src and without its ending; "include A B" about a file and a header.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
layers=mk/layers.mk list=mk/upward.txt
graph=
if [ "${1:-}" = --graph ]; then
	graph=1
	shift
fi
build=${1:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# module folder rank
sed -n 's/^FOLDERS_\([a-z0-9]*\) := /\1 /p' "$layers" |
	awk '{ for (i = 2; i <= NF; i++) print $1, $i, NF - i }' >"$tmp/rank"

# includes: file header, where both are in folders of one module
git ls-files -co --exclude-standard -- 'src/*/*/*.[chS]' | while IFS= read -r f; do [ -e "$f" ] && printf '%s\n' "$f"; done >"$tmp/files"
xargs grep -HoE '^[ 	]*#[ 	]*include[ 	]*"[^"]+"' <"$tmp/files" |
	sed -E 's/^src\/([^:]*):.*"([^"]+)"$/include \1 \2/' >"$tmp/arrows"

# what objects define and want
objects()
{
	local module=$1 dir
	for dir in "$build/blob/src/$module" "$build/obj/src/$module"; do
		[ -d "$dir" ] || continue
		# a build may still have objects of files that are gone
		find "$dir" -name '*.o' | sort | while IFS= read -r o; do
			f=${o#"$build"/}
			f=${f#blob/}
			f=${f#obj/}
			f=${f%.o}
			[ -e "$f.c" ] || [ -e "$f.S" ] || continue
			printf '%s\n' "$o"
		done
		return
	done
}
if [ -n "$build" ]; then
	for module in $(cut -d' ' -f1 "$tmp/rank" | sort -u); do
		objects "$module" >"$tmp/objects"
		[ -s "$tmp/objects" ] || {
			echo "folders: $build has no objects of $module: build first" >&2
			exit 1
		}
		xargs nm -A <"$tmp/objects" | sed -E "s,^[^:]*/src/([^:]*)\.o:,\1 ," | awk '
			$(NF - 1) == "U" { want[$1 " " $NF] = 1; next }
			$(NF - 1) ~ /^[TDBRVWC]$/ { home[$NF] = $1 }
			END {
				for (w in want) {
					split(w, p, " ")
					if ((p[2] in home) && home[p[2]] != p[1] && !seen[p[1] " " home[p[2]]]++)
						print "call", p[1], home[p[2]]
				}
			}' >>"$tmp/arrows"
	done
fi

# those of one module; from folder, to folder, upward or not
awk -v ranks="$tmp/rank" '
	BEGIN { while ((getline line < ranks) > 0) { split(line, r, " "); rank[r[1] "/" r[2]] = r[3] + 1 } }
	{
		split($2, a, "/"); split($3, b, "/")
		from = a[1] "/" a[2]; to = b[1] "/" b[2]
		if (a[1] != b[1] || !(from in rank) || !(to in rank)) next
		print $1, $2, $3, from, to, (rank[to] > rank[from] ? "up" : "down")
	}' "$tmp/arrows" | sort -u >"$tmp/known"

# folders that the order does not name
sed -E 's,^src/,,' "$tmp/files" | awk -F/ -v ranks="$tmp/rank" '
	BEGIN { while ((getline line < ranks) > 0) { split(line, r, " "); module[r[1]] = 1; has[r[1] "/" r[2]] = 1 } }
	($1 in module) && $2 != "gen" && !(($1 "/" $2) in has) && !told[$1 "/" $2]++ { print "folders: src/" $1 "/" $2 " is not in FOLDERS_" $1 " of mk/layers.mk" }' >"$tmp/bad"

if [ -n "$graph" ]; then
	awk '$1 == "call" && $4 != $5 { n[$4 " -> " $5 ($6 == "up" ? "  (upward)" : "")]++ } END { for (k in n) printf "%4d  %s\n", n[k], k }' "$tmp/known" | sort -k2,2 -k4,4
	# circles: files of a folder that reach each other
	awk '$1 == "call" && $4 == $5 { e[$2, $3] = 1; f[$2] = $4; f[$3] = $4 }
		END {
			for (x in f) for (y in f) if (f[x] == f[y] && (x, y) in e) r[x, y] = 1
			for (k in f) for (x in f) if (f[x] == f[k] && (x, k) in r) for (y in f) if (f[y] == f[k] && (k, y) in r) r[x, y] = 1
			for (x in f) {
				if (done[x] || !((x, x) in r)) continue
				n = 0; names = ""
				for (y in f) if (f[y] == f[x] && (x, y) in r && (y, x) in r) { done[y] = 1; n++; k = y; sub(/.*\//, "", k); names = names " " k }
				if (n > 1) printf "circle of %d in %s:%s\n", n, f[x], names
			}
		}' "$tmp/known" | sort
	awk '{ n[$1 " " ($4 == $5 ? "within" : $6)]++ } END { printf "calls: %d between folders, %d of them upward; includes: %d, %d of them upward\n",
		n["call up"] + n["call down"], n["call up"], n["include up"] + n["include down"], n["include up"] }' "$tmp/known"
	exit 0
fi

awk '$6 == "up" && $4 != $5 { print $1, $2, $3 }' "$tmp/known" | sort >"$tmp/up"
grep -v '^#' "$list" 2>/dev/null | sort >"$tmp/listed" || true
[ -n "$build" ] || sed -i '/^call /d' "$tmp/listed"
comm -23 "$tmp/up" "$tmp/listed" | sed 's,^,folders: points upward: ,' >>"$tmp/bad"
comm -13 "$tmp/up" "$tmp/listed" | sed "s,.*,folders: nothing needs this line of $list any more: &," >>"$tmp/bad"
if [ -s "$tmp/bad" ]; then
	cat "$tmp/bad"
	exit 1
fi
echo "folders: $(wc -l <"$tmp/known") arrows inside modules, $(wc -l <"$tmp/up") of them upward, as $list says"
