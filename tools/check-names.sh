#!/bin/sh
# SPDX-License-Identifier: MIT
# Names lead to one thing:
#   - no two structs, unions or enums of src share a tag;
#   - no two files of a module have names that differ only in a plural, an underscore or a synonym;
#   - no static function is named by a bare verb in a file of more than 200 lines: take() of what?
# What breaks a rule today is listed in mk/names.txt, which only shrinks: "tag TAG", "verb FILE FUNCTION" with
# the file's name without its folder.  A line that nothing needs any more is counted, and
# check-names.sh --trim takes such lines out.
set -eu
list=mk/names.txt
verbs='abandon|abort|accept|add|advance|advise|allocate|announce|answer|append|apply|arm|arrive|ask|assign|attach|await'
verbs="$verbs|begin|bind|borrow|build|call|cancel|change|check|choose|claim|clear|close|collect|compare|complain|complete|compute|connect"
verbs="$verbs|copy|count|create|cut|decide|decode|delay|deliver|describe|detach|detect|disable|disarm|discard|dissolve|draw|drain|drop|dump"
verbs="$verbs|emit|enable|end|enlarge|enter|execute|expand|explain|fail|feed|fetch|fill|find|finish|fit|flush|fold|follow|force|forget|free|freeze"
verbs="$verbs|gather|get|give|go|grow|guess|handle|hear|heed|help|hide|hold|identify|init|inject|insert|install|join|judge|keep|kick|lay|learn|leave"
verbs="$verbs|lend|load|lock|look|make|mark|measure|mend|merge|mix|move|name|narrow|note|nudge|open|pack|parse|pass|pay|place|poll|pop|postpone|predict"
verbs="$verbs|prepare|print|promote|protect|prune|publish|push|put|read|reap|recall|receive|record|refill|refresh|refuse|release|reload|remember"
verbs="$verbs|remove|renew|replace|report|reserve|reset|resolve|restart|restore|retire|reverse|rotate|run|save|say|scale|scan|seal|search|seize|send"
verbs="$verbs|serve|set|settle|share|show|skip|sleep|sort|spin|spread|start|step|stop|store|subtract|suspend|swap|sweep|take|teach|tell|throttle"
verbs="$verbs|tidy|toggle|touch|trace|track|translate|trim|try|undo|unlock|unpack|unwind|update|use|wait|wake|walk|watch|weigh|withdraw|write|yield"

found=$(mktemp)
trap 'rm -f "$found"' EXIT
files=$(git ls-files -co --exclude-standard -- 'src/*.c' 'src/*.h' 'src/*.S' | sort -u | grep -v /gen/ | while read -r file; do
	[ ! -e "$file" ] || printf '%s\n' "$file"
done)

# shellcheck disable=SC2086 # no name has blanks (check-shell.sh)
awk -v verbs="^($verbs)\$" '
	FNR == 1 { lines[FILENAME] = 0 }
	{ lines[FILENAME]++ }
	/^[ \t]*(static |typedef )*(struct|union|enum) [a-z_0-9]+ \{/ {
		tag = $0
		sub(/ \{.*/, "", tag)
		sub(/.*[ \t]/, "", tag)
		if (tag in where)
			print "tag " tag " " where[tag] " and " FILENAME ":" FNR
		else
			where[tag] = FILENAME ":" FNR
	}
	FILENAME ~ /\.c$/ && /^static .*\(/ {
		name = $0
		sub(/\(.*/, "", name)
		sub(/.*[ *]/, "", name)
		if (name ~ verbs)
			bare[FILENAME " " name " " FNR] = 1
	}
	END {
		for (b in bare) {
			split(b, part, " ")
			base = part[1]
			sub(/.*\//, "", base)
			if (lines[part[1]] > 200)
				print "verb " base " " part[2] " " part[1] ":" part[3]
		}
	}' $files | sort >"$found"

# shellcheck disable=SC2086
printf '%s\n' $files | sed 's/\.[chS]$//' | sort -u | awk -F/ '
	{
		n = split($NF, word, "_")
		key = $2 ":"
		for (i = 1; i <= n; i++) {
			w = word[i]
			if (w !~ /ss$/)
				sub(/s$/, "", w)
			if (w == "memory") w = "mem"
			if (w == "tracing") w = "trace"
			if (w == "errno") w = "error"
			if (w == "buffer") w = "buf"
			if (w == "sig") w = "signal"
			if (w == "launch") w = "start"
			key = key w
		}
		if (key in name && base[key] != $NF)
			print "file " $NF " " name[key] " and " $0
		name[key] = $0
		base[key] = $NF
	}' >>"$found"

if [ "${1:-}" = --trim ]; then
	sed -n '/^#/p' "$list" >"$list.new"
	sed -E 's/^(tag [^ ]*|file [^ ]*|verb [^ ]* [^ ]*) .*/\1/' "$found" | sort -u >"$found.keys"
	sed '/^#/d' "$list" | sort -u | comm -12 - "$found.keys" >>"$list.new"
	mv "$list.new" "$list"
	rm "$found.keys"
fi
awk -v list="$list" '
	BEGIN {
		while ((getline line < list) > 0)
			if (line !~ /^#/ && line != "")
				listed[line] = 1
	}
	{
		key = $1 == "verb" ? $1 " " $2 " " $3 : $1 " " $2
		at = $0
		sub(key " ", "", at)
		if (key in listed) {
			used[key] = 1
			next
		}
		bad = 1
		if ($1 == "tag")
			printf "names: two have the tag %s: %s\n", $2, at
		else if ($1 == "file")
			printf "names: two files have nearly the same name: %s\n", at
		else
			printf "names: %s: %s() is a bare verb: say of what\n", at, $3
	}
	END {
		if (bad)
			exit 1
		for (key in listed) {
			n++
			if (!(key in used))
				old++
		}
		printf "names: exceptions that are left: %d; not needed any more (check-names.sh --trim): %d\n", n - old, old
	}' "$found"
