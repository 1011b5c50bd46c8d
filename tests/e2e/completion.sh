#!/bin/bash
# SPDX-License-Identifier: MIT
# What the shells offer: bash, zsh and fish load what `make completions` wrote, and are asked by their own means.  What
# an option's list of words offers, the command takes.
. "$(dirname "$0")/lib.sh"

made=$(dirname "$(readlink -f "$ANYPERF")")/completions
mkdir "$tmp/bin" "$tmp/home"
ln -s "$ANYPERF" "$tmp/bin/anyperf"
export PATH=$tmp/bin:$PATH HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home
cd "$tmp" || exit 1
: >a-file

in_bash()
{
	LINE=$1 bash --norc --noprofile -c '. "$0"
		COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_WORDS=($LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_anyperf
		printf "%s\n" "${COMPREPLY[@]}"' "$made/anyperf.bash" 2>"$tmp/err"
	[ ! -s "$tmp/err" ] || cat "$tmp/err"
}

# fish prints what replaces the word; -e=x is the word there
in_fish()
{
	LINE=$1 fish --no-config -c 'source $argv[1]; complete "-C$LINE"' "$made/anyperf.fish" 2>&1 | cut -f1
}

# zsh completes in a line editor only, which zpty gives it; compadd is asked what matches, and the editor ends with that
cat >complete.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
functions_dir=$1 line=$2
zpty -w z "PS1= PROMPT_EOL_MARK= TERM=dumb; stty -echo; unsetopt zle_bracketed_paste; fpath=($functions_dir \$fpath)"
zpty -w z 'autoload -U compinit; compinit -u -D; zstyle ":completion:*" list-grouped false'
cat >z.setup <<'IN'
hits=()
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
	local -a __found
	builtin compadd -A __found "$@"
	hits+=($__found)
	builtin compadd "$@"
}
show() { print -rl -- $hits >z.out; print done >z.done; exit }
compprefuncs=() comppostfuncs=(show)
bindkey '^I' complete-word
IN
zpty -w z 'source ./z.setup; print READY$((1 + 1))'
zpty -r z out '*READY2*'
zpty -w -n z "$line"$'\t'
while zpty -t z && [[ ! -e z.done ]]; do zpty -r z out 2>/dev/null || break; done
zpty -d z
cat z.out
END
in_zsh()
{
	rm -f z.out z.done
	timeout 60 zsh -f complete.zsh "$tmp/functions" "$1" 2>&1
}
mkdir functions
cp "$made/anyperf.zsh" functions/_anyperf

offers()
{
	local line=$1 want=$2 not=$3 shell got
	for shell in "${shells[@]}"; do
		got=$("in_$shell" "$line" | tr '\n' ' ')
		case " $got " in
		*" $not "*) not_ok "$shell: $line: not $not" "$got" ;;
		*" $want "*) ok "$shell: $line: $want" ;;
		*) not_ok "$shell: $line: $want" "$got" ;;
		esac
	done
}

for shell in bash zsh fish; do
	run "$shell" -n "$made/anyperf.$shell"
	is "$status $(cat "$tmp/err")" "0 " "$shell: its own parser takes the file"
done

shells=(bash zsh fish)
offers 'anyperf st' stat record
offers 'anyperf stat --interval-c' --interval-clear --input
offers 'anyperf stat report --inp' --input --interval-clear
offers 'anyperf stat -e instr' instructions branches
offers 'anyperf help c2' c2c stat
offers 'anyperf list ref-c' ref-cycles instructions
offers 'anyperf stat -M insn_per_c' insn_per_cycle ipc
offers 'anyperf stat --output a-f' a-file complete.zsh
offers 'anyperf stat --machine skyl' skylake zen4
offers 'anyperf stat -- anyp' anyperf complete.zsh
offers 'anyperf gate rec' record report
shells=(bash fish)
offers 'anyperf stat -e instructions,ref-c' instructions,ref-cycles ref-cycles
offers 'anyperf stat -i -- cat a-f' a-file --input
shells=(bash)
offers 'anyperf stat -e syscalls:sys_enter_openat' sys_enter_openat2 instructions
offers 'anyperf stat --event=instr' instructions branches
offers 'anyperf record -g -p 1234 --cal' --call-graph --comms
offers 'anyperf mem record --ty' --type --false-only

# --- nothing is forgotten: what --help has, the tables have, and what they have the shells have
"$ANYPERF" --list-opts >table
while IFS=$'\t' read -r kind command _; do
	[ "$kind" = cmd ] && [ "$command" != help ] && [ "$command" != version ] || continue
	# shellcheck disable=SC2086 # words
	"$ANYPERF" $command --help | grep -oE -- '^    (-., |    )--[a-zA-Z0-9_-]+' | sed 's/.*--/--/' | sort >want
	awk -F'\t' -v c="$command" '$1 == "opt" && $2 == c { print "--" $4 }' table | sort >got
	same got want "$command: the table has what help shows"
	in_bash "anyperf $command --" | grep '^--' | sort >got
	same got want "$command: bash offers all of it"
	in_fish "anyperf $command --" | sort >got
	same got want "$command: and fish"
done <table

# --- words that are offered are taken
true_words()
{
	awk -F'\t' -v c="$1" -v o="$2" '$1 == "opt" && $2 == c && $4 == o { sub("words:", "", $6); gsub(",", "\n", $6); print $6 }' table
}
for option in machine cpu-id code-cache; do
	is "$(true_words stat "$option" | grep -c .)" "$(true_words stat "$option" | while read -r word; do
		"$ANYPERF" stat --"$option" "$word" -e instructions -o /dev/null -- true && echo .
	done | grep -c .)" "stat --$option takes what is offered"
done
"$ANYPERF" record -q -o data -- true
for word in $(true_words export format); do
	run "$ANYPERF" export -q -i data -f "$word" -o "out.$word"
	is "$status" 0 "export -f $word"
done

# --- a word that is nearly right
for what in "repotr:report" "recrod:record" "annotat:annotate"; do
	run "$ANYPERF" "${what%:*}"
	has err "did you mean '${what#*:}'" "a command: ${what%:*}"
done
run "$ANYPERF" stat --repaet 3 true
has err 'did you mean --repeat\?' "an option"
for what in instructoins:instructions ref-cycels:ref-cycles L1-dcache-lods:L1-dcache-loads; do
	run "$ANYPERF" stat -e "${what%:*}" true
	has err "did you mean '${what#*:}'" "an event: ${what%:*}"
done

# --- what is said first
run "$ANYPERF"
is "$status" 129 "without a word: usage"
has err '^   anyperf stat -- COMMAND ' "and what to do first"
run "$ANYPERF" --version
is "$(head -n 1 out)" "anyperf version $(sed -n 's/^VERSION := //p' "$root/Makefile")" "--version: of the Makefile"
has out '^engine: code cache ' "the engine"
has out '^features: ' "features"
# git says nothing of a checkout that is another user's, here as where anyperf is built
if [ -e "$root/.git" ] && commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null); then
	has out "^commit: $commit(-dirty)?\$" "the commit"
fi
# two examples for each command, which run if they may: those that read no file and want no program
while IFS=$'\t' read -r kind command _; do
	[ "$kind" = cmd ] && [ "$command" != help ] && [ "$command" != version ] || continue
	# shellcheck disable=SC2086 # words
	"$ANYPERF" $command --help >out
	is "$(sed -n '/^ Examples:/,$p' out | grep -c "^    anyperf $command")" 2 "$command: two examples"
done <table
done_testing
