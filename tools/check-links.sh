#!/bin/sh
# SPDX-License-Identifier: MIT
# Links of the Markdown pages that lead into the repository: the file is there, and has the heading that is named behind #.
# A heading's anchor is the one that GitHub gives it: small letters, no punctuation, "-" for a blank, "-1" for the second one.
set -eu
git ls-files -co --exclude-standard -- '*.md' | {
	while read -r file; do
		[ ! -e "$file" ] || printf '%s\n' "$file"
	done
} | xargs awk '
	function anchor(text)
	{
		gsub(/`/, "", text)
		text = tolower(text)
		gsub(/[^a-z0-9 _-]/, "", text)
		gsub(/ /, "-", text)
		return text
	}
	# the path of a link in the page FILE, without "." and ".."
	function path(file, link,	part, n, i, out, top)
	{
		if (!sub(/\/[^\/]*$/, "", file))
			file = ""
		n = split((file == "" ? "" : file "/") link, part, "/")
		top = 0
		for (i = 1; i <= n; i++)
			if (part[i] == "..")
				top--
			else if (part[i] != "." && part[i] != "")
				out[++top] = part[i]
		file = ""
		for (i = 1; i <= top; i++)
			file = file (i > 1 ? "/" : "") out[i]
		return file
	}
	function complain(what)
	{
		printf "links: %s: %s\n", where[i], what
		bad = 1
	}
	FNR == 1 { code = 0; page[FILENAME] = 1 }
	/^ *```/ { code = !code; next }
	code || /^    / { next }
	/^#+ / {
		text = $0
		sub(/^#+ /, "", text)
		text = anchor(text)
		has[FILENAME "#" text (seen[FILENAME, text]++ ? "-" (seen[FILENAME, text] - 1) : "")] = 1
	}
	{
		text = $0
		gsub(/`[^`]*`/, "code", text)
		while (match(text, /\]\([^) ]+\)/)) {
			link = substr(text, RSTART + 2, RLENGTH - 3)
			text = substr(text, RSTART + RLENGTH)
			if (link ~ /^[a-z]+:/)
				continue
			where[++n] = FILENAME ":" FNR
			from[n] = FILENAME
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
			if (!(file in page) && system("test -e \"" file "\""))
				complain("there is no " file)
			else if (heading != "" && !((file "#" heading) in has))
				complain(file " has no heading #" heading)
		}
		if (bad)
			exit 1
		printf "links: %d of %d pages lead somewhere\n", n, ARGC - 1
	}'
