# SPDX-License-Identifier: MIT
# completions.awk: completion of command lines, for a shell, from what `anyperf --list-opts` prints.
#
#	anyperf --list-opts | awk -v shell=bash|zsh|fish -f tools/completions.awk tools/completions.SHELL -
#
# The skeleton, tools/completions.SHELL, has what is the same for all options; its line "@TABLE@" becomes the tables.

BEGIN { FS = "\t" }

FILENAME ~ /completions\.(bash|zsh|fish)$/ { skeleton[++lines] = $0; next }

$1 == "cmd" {
	command[++ncommands] = $2
	words[$2] = $3
	operands[$2] = $4
	help[$2] = $5
}

$1 == "opt" {
	n = ++noptions[$2]
	letter[$2, n] = $3
	name[$2, n] = $4
	has_value[$2, n] = $5
	value[$2, n] = $6
	text[$2, n] = $7
}

# In single quotes: a shell's way to write one is q.
function quoted(s, q)
{
	gsub(/'/, q, s)
	return "'" s "'"
}

function identifier(s)
{
	gsub(/[^a-z0-9]/, "_", s)
	return s
}

function spaced(s)
{
	gsub(/,/, " ", s)
	return s
}

# --- bash: functions that answer by words

function bash_table(	i, c, n, list)
{
	print "_anyperf_commands=" quoted(bash_commands())
	print "\n_anyperf_options()\n{\n\tcase $1 in"
	for (i = 1; i <= ncommands; i++) {
		c = command[i]
		list = ""
		for (n = 1; n <= noptions[c]; n++)
			list = list (letter[c, n] != "-" ? "-" letter[c, n] " " : "") "--" name[c, n] " "
		print "\t" quoted(c) ") echo " quoted(list) " ;;"
	}
	print "\tesac\n}\n\n_anyperf_value()\n{\n\tcase \"$1 $2\" in"
	for (i = 1; i <= ncommands; i++) {
		c = command[i]
		for (n = 1; n <= noptions[c]; n++) {
			if (has_value[c, n] == "no")
				continue
			list = letter[c, n] == "-" ? "" : "'" c " -" letter[c, n] "' | "
			print "\t" list "'" c " --" name[c, n] "') echo '" \
				(has_value[c, n] == "maybe" ? "maybe " : "yes ") value[c, n] "' ;;"
		}
	}
	print "\t*) return 1 ;;\n\tesac\n}\n\n_anyperf_words()\n{\n\tcase $1 in"
	for (i = 1; i <= ncommands; i++)
		if (words[command[i]] != "")
			print "\t" quoted(command[i]) ") echo '" spaced(words[command[i]]) "' ;;"
	print "\tesac\n}\n\n_anyperf_operands()\n{\n\tcase $1 in"
	for (i = 1; i <= ncommands; i++)
		print "\t" quoted(command[i]) ") echo '" operands[command[i]] "' ;;"
	print "\tesac\n}"
}

function bash_commands(	i, list)
{
	for (i = 1; i <= ncommands; i++)
		if (command[i] !~ / /)
			list = list " " command[i]
	return substr(list, 2)
}

# --- zsh: specs of _arguments

function zsh_text(s)
{
	gsub(/\\/, "\\\\", s)
	gsub(/\[/, "\\[", s)
	gsub(/\]/, "\\]", s)
	gsub(/:/, "\\:", s)
	gsub(/'/, "'\\''", s)
	return s
}

function zsh_action(what)
{
	if (what ~ /^words:/)
		return "(" spaced(substr(what, 7)) ")"
	if (what == "file")
		return "_files"
	if (what == "dir")
		return "_files -/"
	if (what == "pid")
		return "_pids"
	if (what == "command")
		return "_command_names -e"
	if (what == "event")
		return "_anyperf_events"
	if (what == "metric")
		return "_anyperf_metrics"
	return " "
}

function zsh_spec(c, n,	v, l, h)
{
	l = letter[c, n]
	h = "[" zsh_text(text[c, n]) "]"
	v = has_value[c, n] == "no" ? "" : (has_value[c, n] == "yes" ? "" : ":") ":" name[c, n] ":" zsh_action(value[c, n])
	print "\t\t'*--" name[c, n] (has_value[c, n] == "no" ? "" : has_value[c, n] == "maybe" ? "=-" : "=") h v "'"
	if (l != "-")
		print "\t\t'*-" l (has_value[c, n] == "no" ? "" : has_value[c, n] == "maybe" ? "-" : "+") h v "'"
}

function zsh_table(	i, c, n)
{
	print "_anyperf_commands=("
	for (i = 1; i <= ncommands; i++)
		if (command[i] !~ / /)
			print "\t'" command[i] ":" zsh_text(help[command[i]]) "'"
	print ")"
	for (i = 1; i <= ncommands; i++) {
		c = command[i]
		print "\n_anyperf_specs_" identifier(c) "()\n{\n\tspecs=("
		for (n = 1; n <= noptions[c]; n++)
			zsh_spec(c, n)
		print "\t)\n\twords_after=(" spaced(words[c]) ")\n\toperands=" operands[c] "\n}"
	}
}

# --- fish: a call of complete for each option

function fish_quoted(s)
{
	gsub(/\\/, "\\\\", s)
	gsub(/'/, "\\'", s)
	return "'" s "'"
}

function fish_value(has, what)
{
	if (has != "yes")
		return ""
	if (what ~ /^words:/)
		return " -x -a " fish_quoted(spaced(substr(what, 7)))
	if (what == "file")
		return " -r -F"
	if (what == "dir")
		return " -x -a '(__fish_complete_directories)'"
	if (what == "pid")
		return " -x -a '(__fish_complete_pids)'"
	if (what == "command")
		return " -x -a '(__fish_complete_command)'"
	if (what == "event")
		return " -x -a '(__anyperf_events)'"
	if (what == "metric")
		return " -x -a '(__anyperf_metrics)'"
	return " -x"
}

function fish_table(	i, c, n, l, list, w)
{
	for (i = 1; i <= ncommands; i++) {
		c = command[i]
		list = ""
		for (n = 1; n <= noptions[c]; n++)
			if (has_value[c, n] == "yes")
				list = list (letter[c, n] != "-" ? " -" letter[c, n] : "") " --" name[c, n]
		print "set -g __anyperf_valued_" identifier(c) list
	}
	print ""
	for (i = 1; i <= ncommands; i++) {
		c = command[i]
		if (c !~ / /)
			print "complete -c anyperf -n '__anyperf_in' -a " c " -d " fish_quoted(help[c])
		if (words[c] != "")
			print "complete -c anyperf -n '__anyperf_first " c "' -a '" spaced(words[c]) "'"
		if (operands[c] == "command")
			print "complete -c anyperf -n '__anyperf_operand " c "' -a '(__anyperf_command)'"
		else if (operands[c] == "file")
			print "complete -c anyperf -n '__anyperf_operand " c "' -F"
		else if (operands[c] == "event")
			print "complete -c anyperf -n '__anyperf_operand " c "' -a '(__anyperf_events)'"
		else if (operands[c] == "anyperf")
			print "complete -c anyperf -n '__anyperf_operand " c "' -a '(__anyperf_names)'"
		for (n = 1; n <= noptions[c]; n++) {
			l = letter[c, n]
			print "complete -c anyperf -n '__anyperf_in " c "'" (l == "-" ? "" : " -s " l) " -l " name[c, n] \
				fish_value(has_value[c, n], value[c, n]) " -d " fish_quoted(text[c, n])
		}
	}
	list = ""
	for (i = 1; i <= ncommands; i++)
		if (command[i] !~ / /)
			list = list " " command[i]
	print "\nset -g __anyperf_commands" list
}

END {
	if (!ncommands) {
		print "completions.awk: no table" >"/dev/stderr"
		exit 1
	}
	for (i = 1; i <= lines; i++) {
		if (skeleton[i] != "@TABLE@")
			print skeleton[i]
		else if (shell == "bash")
			bash_table()
		else if (shell == "zsh")
			zsh_table()
		else
			fish_table()
	}
}
