#!/bin/sh
# SPDX-License-Identifier: MIT
# make-docs.sh FOLDER: the documentation as a static site, Markdown by lowdown, man pages by mandoc.  Links between pages are
# links between their .html; one to what is not on the site, or to a heading that is not there, is an error.
set -eu
out=$1
rm -rf "$out"
mkdir -p "$out"
cat >"$out/style.css" <<'END'
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
pre, code, .Li { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; padding: .7rem; border: 1px solid #8886; border-radius: 4px; }
table { border-collapse: collapse; }
.manual-text { margin-left: 0; }
td, th { border: 1px solid #8886; padding: .2rem .5rem; vertical-align: top; text-align: left; }
table.head, table.foot { width: 100%; }
table.head td, table.foot td { border: 0; }
nav { border-bottom: 1px solid #8886; padding-bottom: .4rem; }
END

# up PATH: the way from its folder to the top
up()
{
	printf '%s' "$1" | sed 's,[^/]*$,,; s,[^/]*/,../,g'
}

# the page's first heading, for the browser's title
title()
{
	sed -n 's/^# //p' "$1" | head -n 1 | tr -d '`' | sed 's/&/\&amp;/g; s/</\&lt;/g'
}

pages=0
for page in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md docs/design/*.md bench/*.md; do
	top=$(up "$page")
	mkdir -p "$out/$(dirname "$page")"
	{
		printf '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
		printf '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
		printf '<title>%s</title>\n<link rel="stylesheet" href="%sstyle.css">\n</head>\n<body>\n' "$(title "$page")" "$top"
		printf '<nav><a href="%sREADME.html">anyperf</a> · <a href="%sdocs/index.html">All pages</a></nav>\n' "$top" "$top"
		# links to pages and man pages of the repository; LICENSE stands there as it is
		lowdown -Thtml "$page" | sed -E 's,(<a href="[^":]*)\.md(#[^"]*)?",\1.html\2",g; s,(<a href="[^":]*man/[a-z0-9-]+\.[13])",\1.html",g'
		printf '</body>\n</html>\n'
	} >"$out/${page%.md}.html"
	pages=$((pages + 1))
done
mkdir -p "$out/docs/man"
for page in docs/man/*.[13]; do
	# names of other pages of ours become links
	mandoc -Thtml -O style=../../style.css "$page" |
		sed -E 's,<b>(anyperf(-[a-z0-9-]+)?)</b>\(([13])\),<a href="\1.\3.html"><b>\1</b></a>(\3),g' >"$out/$page.html"
	pages=$((pages + 1))
done
cp LICENSE "$out/"
cat >"$out/index.html" <<'END'
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=README.html">
<title>anyperf</title>
</head>
<body>
<a href="README.html">anyperf</a>
</body>
</html>
END

# --- links: a file, and what has that id
cd "$out"
find . -name '*.html' | sort | xargs awk '
	function path(file, link,	part, n, i, kept, top)
	{
		sub(/[^\/]*$/, "", file)
		n = split(file link, part, "/")
		top = 0
		for (i = 1; i <= n; i++)
			if (part[i] == "..")
				top--
			else if (part[i] != "." && part[i] != "")
				kept[++top] = part[i]
		file = "."
		for (i = 1; i <= top; i++)
			file = file "/" kept[i]
		return file
	}
	FNR == 1 { page[FILENAME] = 1 }
	{
		text = $0
		while (match(text, /id="[^"]*"/)) {
			has[FILENAME "#" substr(text, RSTART + 4, RLENGTH - 5)] = 1
			text = substr(text, RSTART + RLENGTH)
		}
		text = $0
		while (match(text, /href="[^"]*"/)) {
			link = substr(text, RSTART + 6, RLENGTH - 7)
			text = substr(text, RSTART + RLENGTH)
			if (link ~ /^[a-z]+:/)
				continue
			from[++n] = FILENAME
			to[n] = link
		}
	}
	END {
		for (i = 1; i <= n; i++) {
			name = to[i]
			heading = ""
			if ((at = index(name, "#"))) {
				heading = substr(name, at + 1)
				name = substr(name, 1, at - 1)
			}
			file = name == "" ? from[i] : path(from[i], name)
			if (!(file in page) && system("test -f \"" file "\"")) {
				printf "docs: %s: a link to %s, which is not on the site\n", from[i], to[i]
				bad = 1
			} else if (heading != "" && !((file "#" heading) in has)) {
				printf "docs: %s: a link to %s, which has no such heading\n", from[i], to[i]
				bad = 1
			}
		}
		if (bad)
			exit 1
		printf "docs: %d links\n", n
	}'
echo "docs: $pages pages in $out, from index.html on"
