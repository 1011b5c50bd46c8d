# SPDX-License-Identifier: MIT
# bash completion for anyperf: commands, options and events.  Made from the tables of options by `make completions`.
# shellcheck shell=bash

@TABLE@

# _anyperf_reply WORDS: those that begin as the last of a list does, with what is before it
_anyperf_list()
{
	local before=${cur%"${cur##*[,\{]}"} word
	for word in $1; do
		[[ $word != "${cur#"$before"}"* ]] || COMPREPLY+=("$before$word")
	done
	compopt -o nospace 2>/dev/null
}

# _anyperf_kind KIND: what a value or an operand may be
_anyperf_kind()
{
	case $1 in
	event) _anyperf_list "$(anyperf list --raw-dump hw sw cache raw tracepoint 2>/dev/null)" ;;
	metric) _anyperf_list "$(anyperf list --raw-dump metrics 2>/dev/null)" ;;
	words:*)
		local words=${1#words:}
		mapfile -t COMPREPLY < <(compgen -W "${words//,/ }" -- "$cur")
		;;
	pid) mapfile -t COMPREPLY < <(cd /proc && compgen -G "${cur}*" | grep -x "[0-9]*") ;;
	file)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	dir)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		;;
	command) mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u) ;;
	anyperf) mapfile -t COMPREPLY < <(compgen -W "$_anyperf_commands" -- "$cur") ;;
	esac
}

# What follows the command that is measured is that command's.
_anyperf_delegate()
{
	local word=$1 i
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == "$word" ]] && declare -F _command_offset >/dev/null; then
			_command_offset "$i"
			return
		fi
	done
	_anyperf_kind file
}

# bash parts words at "=" and ":", and replaces the last part only.
_anyperf_ltrim()
{
	local i before=
	[[ $cur != *:* || $COMP_WORDBREAKS != *:* ]] || before=${cur%"${cur##*:}"}
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"$before"}
	done
}

_anyperf()
{
	local cur words cmd value at=2 n
	COMPREPLY=()
	read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
	[[ ${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]] || words+=('')
	n=$((${#words[@]} - 1))
	cur=${words[n]}
	if ((n <= 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$_anyperf_commands --help --version" -- "$cur")
		return
	fi
	cmd=${words[1]}
	if ((n > 2)) && [[ " $(_anyperf_words "$cmd") " == *" ${words[2]} "* ]]; then
		at=3
		[[ "$cmd ${words[2]}" != 'stat report' ]] || cmd='stat report'
	fi
	while ((at < n)); do
		case ${words[at]} in
		--)
			at=$((at + 1))
			if ((at < n)); then
				_anyperf_delegate "${words[at]}"
			else
				_anyperf_kind "$(_anyperf_operands "$cmd")"
			fi
			return
			;;
		-*)
			value=$(_anyperf_value "$cmd" "${words[at]}")
			[[ $value != yes* ]] || at=$((at + 1))
			if ((at == n)); then
				_anyperf_kind "${value#* }"
				_anyperf_ltrim
				return
			fi
			;;
		*)
			[[ $(_anyperf_operands "$cmd") != command ]] || { _anyperf_delegate "${words[at]}"; return; }
			;;
		esac
		at=$((at + 1))
	done
	case $cur in
	--*=*)
		value=$(_anyperf_value "$cmd" "${cur%%=*}") || return
		cur=${cur#*=}
		_anyperf_kind "${value#* }"
		_anyperf_ltrim
		;;
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_anyperf_options "$cmd")" -- "$cur") ;;
	*)
		_anyperf_kind "$(_anyperf_operands "$cmd")"
		((n != 2)) || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_anyperf_words "$cmd")" -- "$cur")
		;;
	esac
}
complete -F _anyperf anyperf
