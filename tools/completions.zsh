#compdef anyperf
# SPDX-License-Identifier: MIT
# zsh completion for anyperf: commands, options and events.  Made from the tables of options by `make completions`.

local -a _anyperf_commands

@TABLE@

_anyperf_events()
{
	local -a names
	names=(${=$(_call_program events anyperf list --raw-dump hw sw cache raw tracepoint 2>/dev/null)})
	_sequence compadd - $names
}

_anyperf_metrics()
{
	local -a names
	names=(${=$(_call_program metrics anyperf list --raw-dump metrics 2>/dev/null)})
	_sequence compadd - $names
}

# What stands behind the options: a word of the command's own, or the command that is measured.
_anyperf_operand()
{
	if [[ $words[1] == -- ]]; then
		shift words
		(( CURRENT-- ))
	fi
	if (( CURRENT == 1 && $#words_after )); then
		compadd - $words_after
	elif (( CURRENT > 1 && ${words_after[(Ie)$words[1]]} )); then
		local sub=$service_command
		(( ! $+functions[_anyperf_specs_${sub}_$words[1]] )) || sub=${sub}_$words[1]
		_anyperf_options $sub
		return
	fi
	case $operands in
	command) _normal ;;
	file) _files ;;
	event) _anyperf_events ;;
	anyperf) _describe -t commands command _anyperf_commands ;;
	esac
}

_anyperf_options()
{
	local -a specs words_after
	local operands service_command=$1
	_anyperf_specs_$1
	_arguments -s -S -A '-*' $specs '*:: :_anyperf_operand'
}

_anyperf()
{
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C -A '-*' '(- *)--help[print the commands]' '(- *)--version[print the version]' \
		'1: :->command' '*:: :->options' && return
	case $state in
	command) _describe -t commands command _anyperf_commands ;;
	options)
		(( $+functions[_anyperf_specs_$words[1]] )) || return 1
		_anyperf_options $words[1]
		;;
	esac
}

_anyperf "$@"
