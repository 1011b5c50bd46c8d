# SPDX-License-Identifier: MIT
# fish completion for anyperf: commands, options and events.  Made from the tables of options by `make completions`.

# The words before the cursor as far as they are anyperf's: the command, then what it is given; __anyperf_rest are those
# of the command that is measured.
function __anyperf_parse
    set -g __anyperf_own
    set -g __anyperf_rest
    set -l words (commandline -opc)
    set -e words[1]
    set -q words[1]; or return
    set -g __anyperf_own $words[1]
    set -e words[1]
    if test "$__anyperf_own[1]" = stat; and test "$words[1]" = report
        set __anyperf_own 'stat report'
        set -e words[1]
    else if contains -- "$__anyperf_own[1]" stat gate mem c2c; and contains -- "$words[1]" record report
        set -a __anyperf_own $words[1]
        set -e words[1]
    end
    set -l valued __anyperf_valued_(string replace -ra '[^a-z0-9]' _ -- $__anyperf_own[1])
    while set -q words[1]
        switch $words[1]
            case --
                set -g __anyperf_rest $words
                return
            case '-*'
                set -a __anyperf_own $words[1]
                contains -- $words[1] $$valued; and set -e words[1]
            case '*'
                set -g __anyperf_rest -- $words
                return
        end
        set -e words[1]
    end
end

# Is an option of this command, or without a word a command, to be completed?
function __anyperf_in
    __anyperf_parse
    test "$__anyperf_own[1]" = "$argv"; and not set -q __anyperf_rest[1]
end

function __anyperf_first
    __anyperf_parse
    test "$__anyperf_own" = "$argv"; and not set -q __anyperf_rest[1]
end

function __anyperf_operand
    __anyperf_parse
    test "$__anyperf_own[1]" = "$argv"
end

function __anyperf_command
    __anyperf_parse
    set -l words $__anyperf_rest[2..-1]
    complete -C(string join ' ' -- (string escape -- $words) (commandline -ct) | string collect -a)
end

# The last of a list, with what is before it.
function __anyperf_list
    set -l cur (commandline -ct | string replace -r '^-[^=]*=' '')
    set -l before (string match -r '^.*[,{]' -- $cur; or echo)
    printf '%s\n' $before$argv
end

function __anyperf_events
    __anyperf_list (anyperf list --raw-dump hw sw cache raw tracepoint 2>/dev/null | string split -n ' ')
end

function __anyperf_metrics
    __anyperf_list (anyperf list --raw-dump metrics 2>/dev/null | string split -n ' ')
end

function __anyperf_names
    printf '%s\n' $__anyperf_commands
end

complete -c anyperf -f
complete -c anyperf -n __anyperf_in -l help -d 'print the commands'
complete -c anyperf -n __anyperf_in -l version -d 'print the version'
@TABLE@
