#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make docs: each page of the documentation is on the site, and a link that leads nowhere is an error.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need lowdown mandoc

[ -e "$root/docs/index.md" ] || skip_all "the documentation is not here"
mkdir "$tmp/tree"
cp -r "$root"/{README.md,CHANGELOG.md,CONTRIBUTING.md,SECURITY.md,LICENSE,docs,bench} "$tmp/tree" || exit 1
cd "$tmp/tree" || exit 1

run "$root/tools/make-docs.sh" "$tmp/site"
is "$status" 0 "the site is made" || note "$(cat "$tmp/out" "$tmp/err")"
pages=$(find . -name '*.md' -o -name '*.[13]' | sed 's/\.md$//' | sort)
is "$(cd "$tmp/site" && find . -name '*.html' ! -path ./index.html | sed 's/\.html$//' | sort)" "$pages" "each page is there, and no other"
has "$tmp/site/README.html" '<a href="docs/recipes.html#in-a-container">' "links to pages lead to pages of the site"
has "$tmp/site/docs/index.html" '<a href="man/anyperf-stat.1.html">' "and to man pages"
has "$tmp/site/docs/man/anyperf.1.html" '<a href="anyperf-stat.1.html"><b>anyperf-stat</b></a>\(1\)' "man pages name each other"

cp README.md README
# broken LINK WHAT NAME: a link that README.md has besides
broken()
{
	{ cat README; printf '\n[a](%s)\n' "$1"; } >README.md
	run "$root/tools/make-docs.sh" "$tmp/site"
	isnt0=$((status != 0))
	is "$isnt0 $(grep -c "^docs: ./README.html: a link to $2" "$tmp/out")" "1 1" "$3"
}
broken docs/none.md 'docs/none.html, which is not on the site' "a link to a page that is not there"
broken docs/index.md#none 'docs/index.html#none, which has no such heading' "a link to a heading that is not there"
broken src/cli/main.c 'src/cli/main.c, which is not on the site' "a link to a file that is no page"
done_testing
