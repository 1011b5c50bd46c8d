#!/bin/sh
# SPDX-License-Identifier: MIT
# Costs that the documents name are figures of bench/RESULTS.md.  A figure stands there on a line
# "- figure KEY: VALUE (how it was made)".  A document names KEY=VALUE in a comment of the same
# paragraph, below the text: "<!-- figure: KEY=VALUE -->", or ".\" figure: KEY=VALUE" in a man page.
# VALUE has to be the one of RESULTS.md, and to stand in the paragraph's text.  A paragraph that says
# "times native" or the like and has no such comment is refused.
set -eu
results=bench/RESULTS.md
git ls-files -co --exclude-standard -- README.md 'docs/*.md' 'docs/man/*' | grep -v '^docs/design/' | {
	while read -r file; do
		[ ! -e "$file" ] || printf '%s\n' "$file"
	done
} | xargs awk -v results="$results" '
	function complain(line, what)
	{
		printf "figures: %s:%d: %s\n", name, line, what
		bad = 1
	}
	# holds TEXT VALUE: VALUE stands in TEXT as a whole number
	function holds(text, value,	at, before, after)
	{
		while ((at = index(text, value)) > 0) {
			before = at > 1 ? substr(text, at - 1, 1) : " "
			after = substr(text, at + length(value), 2)
			if (before !~ /[0-9.]/ && after !~ /^([0-9]|[.,][0-9])/)
				return 1
			text = substr(text, at + length(value))
		}
		return 0
	}
	function end_paragraph(	i, part)
	{
		for (i = 1; i <= nclaims; i++) {
			split(claim[i], part, "=")
			claimed++
			if (!(part[1] in figure))
				complain(claim_line[i], "no figure \"" part[1] "\" in " results)
			else if (figure[part[1]] != part[2])
				complain(claim_line[i], part[1] " is " figure[part[1]] " in " results ", not " part[2])
			else if (!holds(text, part[2]))
				complain(claim_line[i], "the paragraph does not say " part[2])
		}
		if (cost_line && !nclaims)
			complain(cost_line, "a cost without a figure of " results)
		text = ""
		nclaims = cost_line = 0
	}
	BEGIN {
		while ((got = (getline line < results)) > 0)
			if (line ~ /^- figure [^ :]+: [0-9.]+/) {
				key = line
				sub(/^- figure /, "", key)
				value = key
				sub(/:.*/, "", key)
				sub(/^[^:]*: */, "", value)
				sub(/[^0-9.].*/, "", value)
				if (key in figure) {
					printf "figures: %s has two of %s\n", results, key
					bad = 1
				}
				figure[key] = value
			}
	}
	FNR == 1 { end_paragraph(); name = FILENAME; files++ }
	/^[ \t]*$/ || /^\.(PP|P|TP|SH|SS|IP)/ { end_paragraph(); next }
	/^(<!--|\.\\") figure: / {
		line = $0
		sub(/.*figure: */, "", line)
		sub(/ *-->.*/, "", line)
		n = split(line, some, /[ ,]+/)
		for (i = 1; i <= n; i++) {
			claim[++nclaims] = some[i]
			claim_line[nclaims] = FNR
		}
		next
	}
	{
		text = text " " $0
		if (!cost_line && /times (native|its native|as slow|slower|as long|as much time)|[0-9] (times|ms) over native/)
			cost_line = FNR
	}
	END {
		end_paragraph()
		if (bad)
			exit 1
		printf "figures: %d of %d documents are those of %s\n", claimed, files, results
	}'
