#!/bin/sh
# SPDX-License-Identifier: MIT
# Output passes through src/print (docs/design/print.md): in the modules that print no call of the C library
# writes what is not there to be read as it stands.  Complained about are
#   - printf, fprintf and their kin with a %s, or with a format that is no literal;
#   - puts, fputs, fputc, putc, putchar, fwrite, perror, psignal with anything but literals;
#   - ap_write_all() of anything but literals;
#   - ap_text_str(), which does not escape, of anything but literals;
#   - a literal with a line end or a tab that ap_print() and its kin are given as an argument: it would be escaped.
# A call that may have its way says so beside it: /* raw: why */.
# With files as arguments these are checked, and no others.
set -eu
if [ $# = 0 ]; then
	# shellcheck disable=SC2046 # no name has blanks (check-shell.sh)
	set -- $(git ls-files -co --exclude-standard -- 'src/cli/*.[ch]' 'src/files/*.[ch]' 'src/linux/*.[ch]' 'src/print/*.[ch]' \
		'src/profile/*.[ch]' 'src/tui/*.[ch]' 'src/legacy/*.[ch]' 'src/calls/*.[ch]' \
		'src/perfctr/*.[ch]' 'src/pmu/*.[ch]' 'src/core/*.[ch]')
fi
awk '
function complain(what)
{
	printf "print: %s:%d: %s\n", FILENAME, begun, what
	bad = 1
}

# The arguments of a call in text, which begins behind the parenthesis: in arg[], how many in nargs.
function split_args(text,    i, c, depth, quote, one)
{
	nargs = 0
	depth = 0
	quote = ""
	one = ""
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (quote != "") {
			if (c == "\\") {
				one = one c
				c = substr(text, ++i, 1)
			} else if (c == quote)
				quote = ""
		} else if (c == "\"" || c == "\047")
			quote = c
		else if (c == "(" || c == "[" || c == "{")
			depth++
		else if (c == ")" || c == "]" || c == "}") {
			if (!depth--) {
				arg[++nargs] = one
				return 1
			}
		} else if (c == "," && !depth) {
			arg[++nargs] = one
			one = ""
			continue
		}
		one = one c
	}
	return 0
}

# Nothing but literals, macros in capitals, and a choice of them.
function is_literal(text)
{
	gsub(/"([^"\\]|\\.)*"/, "L", text)
	gsub(/\047([^\047\\]|\\.)*\047/, "L", text)
	gsub(/PRI[a-zA-Z0-9]+|COMMAND|AP_[A-Z_]+/, "L", text)
	sub(/^.*\?/, "", text)
	gsub(/[ \t()]/, "", text)
	return text ~ /^L+(:L+)*$/
}

function has_string(text)
{
	return text ~ /%[-+ #0-9*.\047]*l?s/
}

function check(name, text,    first, i)
{
	if (!split_args(text))
		return
	if (name == "ap_text_str") {
		if (arg[1] !~ /^struct / && !is_literal(arg[2]))
			complain("ap_text_str() of what is no literal; ap_text_name() escapes")
		return
	}
	if (name == "ap_write_all") {
		if (arg[1] !~ /^int / && !is_literal(arg[2]))
			complain("ap_write_all() of what is no literal; print/text.h makes what is escaped")
		return
	}
	if (name ~ /^ap_/) {
		for (i = name == "ap_print_fields" ? 4 : 3; i <= nargs; i++)
			if (arg[i] ~ /"([^"\\]|\\.)*\\[nt]([^"\\]|\\.)*"/)
				complain("a line end or a tab in an argument of " name "() is escaped")
		return
	}
	first = name ~ /^(fprintf|vfprintf|dprintf|vdprintf)$/ ? 2 : 1
	if (name ~ /printf$/) {
		if (!is_literal(arg[first]))
			complain(name "() with a format that is no literal")
		else if (has_string(arg[first]))
			complain(name "() with %s; ap_print() escapes")
	} else if (name ~ /^(perror|psignal|fwrite|fwrite_unlocked)$/ || !is_literal(arg[1]))
		complain(name "() of what is no literal; print/print.h escapes")
}

# Text of a file without its comments, but for those that say "raw:", as one line for each call.
function look(line,    name, at)
{
	while (match(line, /(^|[^A-Za-z0-9_])(v?printf|v?fprintf|v?dprintf|f?puts|f?putc|putchar|fwrite|perror|psignal|ap_write_all|ap_print|ap_print_fields|ap_text_printf|ap_text_str)(_unlocked)?\(/)) {
		name = substr(line, RSTART, RLENGTH - 1)
		sub(/^[^A-Za-z0-9_]/, "", name)
		line = substr(line, RSTART + RLENGTH)
		check(name, line)
	}
}

FNR == 1 {
	held = ""
	in_comment = 0
	raw = 0
}

{
	line = $0
	if (in_comment) {
		if (!sub(/^.*\*\//, "", line))
			next
		in_comment = 0
	}
	if (held == "")
		begun = FNR
	raw = raw || line ~ /\/\* raw: [^*]/
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
	# one that goes on, and is no string
	bare = line
	gsub(/"([^"\\]|\\.)*"/, "", bare)
	if (bare ~ /\/\*/) {
		in_comment = 1
		sub(/\/\*.*$/, "", line)
	}
	# a comment alone on a line is about what follows
	if (held == "" && line ~ /^[ \t]*$/ && $0 !~ /^[ \t]*$/)
		next
	sub(/^[ \t]+/, " ", line)
	held = held line
	# a statement ends, or a block begins
	if (line ~ /[;{}][ \t]*$/ || line ~ /^[ \t]*#/ || line ~ /:[ \t]*$/ || line ~ /^[ \t]*$/) {
		if (!raw)
			look(held)
		held = ""
		raw = 0
	}
}

END {
	exit bad
}
' "$@" || exit 1
echo "print: $# files print through src/print"
