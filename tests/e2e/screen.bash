# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A terminal for tests: tmux draws it, with a shell in it.
#
#	terminal 80 24			# a new one, columns and lines
#	enter "anyperf report"		# a command line for its shell
#	press e Down C-c		# keys, as tmux names them
#	sees NAME <<END			# all lines, from the first
#	sees_line REGEX NAME		# one line anywhere
#	is_back NAME			# the shell is there again, and the terminal is as it was

export TMUX_TMPDIR=$tmp
unset TMUX
pane=
npanes=0

tm()
{
	tmux -L test -f /dev/null "$@"
}

terminal()
{
	local old=$pane
	npanes=$((npanes + 1))
	pane=s$npanes
	tm new-session -d -x "$1" -y "$2" -s "$pane" \
		"cd $tmp; exec env -u ENV PS1='ready\$ ' HISTFILE= sh" || skip_all "tmux cannot start"
	[ "$old" ] && tm kill-session -t "$old"
	[ "$old" ] || tap_reaped+=("$(tm display -p '#{pid}')")
	wait_for 20 line_is_there '^ready\$'
	enter "stty -g >before"
	wait_for 20 test -s before
	enter clear
	wait_for 20 shows_prompt_only
}

shown()
{
	tm capture-pane -p -t "$pane"
}

line_is_there()
{
	shown | grep -qE -e "$1"
}

shows_prompt_only()
{
	[ "$(shown | sed '/^$/d')" = 'ready$' ]
}

enter()
{
	tm send-keys -t "$pane" -l "$1"
	tm send-keys -t "$pane" Enter
}

press()
{
	tm send-keys -t "$pane" "$@"
}

shows_wanted()
{
	shown >screen
	diff "$tmp/wanted" screen >"$tmp/diff"
}

sees()
{
	cat >"$tmp/wanted"
	if wait_for 20 shows_wanted; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$tmp/diff")"
	fi
}

sees_line()
{
	if wait_for 20 line_is_there "$1"; then
		ok "$2"
	else
		not_ok "$2" "no line matches: $1" "$(shown)"
	fi
}

line_is_gone()
{
	! line_is_there "$1"
}

sees_gone()
{
	if wait_for 20 line_is_gone "$1"; then
		ok "$2"
	else
		not_ok "$2" "a line matches: $1" "$(shown)"
	fi
}

# The line in reverse and bold that is neither the first nor the last.
cursor_is_at()
{
	tm capture-pane -e -p -t "$pane" | sed '1d;$d' | grep -a $'^\e\\[\\(1;7\\|7;1\\|1m\e\\[7\\|0;1;7\\)m' |
		sed $'s/\e\\[[0-9;]*m//g' | grep -qE -e "$1"
}

is_at()
{
	if wait_for 20 cursor_is_at "$1"; then
		ok "$2"
	else
		not_ok "$2" "the cursor is not at: $1" "$(tm capture-pane -e -p -t "$pane" | cat -v)"
	fi
}

restored()
{
	[ "$(tm display -p -t "$pane" '#{alternate_on} #{cursor_flag} #{keypad_flag}')" = '0 1 0' ] &&
		cmp -s before after
}

# In its first screen again, cursor shown, modes as before.
is_back()
{
	rm -f after
	wait_for 20 line_is_there '^ready\$ *$'
	enter "stty -g >after; clear"
	wait_for 20 test -s after
	if wait_for 20 restored; then
		ok "$1: the terminal is as it was"
	else
		not_ok "$1: the terminal is as it was" "$(shown)" \
			"$(tm display -p -t "$pane" '#{alternate_on} #{cursor_flag} #{keypad_flag}')" \
			"$(diff before after)"
	fi
	wait_for 20 shows_prompt_only
}

# A program whose instructions are counted by reading it: leaf has 120000 in its loop, a third each, top
# 30000; what is beside them is less than a period of 1000.  It says a line on standard output and returns 7.
make_work()
{
	cat >work.S <<'END'
	.globl _start
	.type _start, @function
_start:
	xor %ebp, %ebp
	call top
	mov $1, %eax
	mov $1, %edi
	lea text(%rip), %rsi
	mov $17, %edx
	syscall
	mov $60, %eax
	mov $7, %edi
	syscall
	.size _start, . - _start
	.type top, @function
top:
	push %rbp
	mov %rsp, %rbp
	call leaf
	mov $10000, %ecx
1:	dec %ecx
	nop
	jnz 1b
	pop %rbp
	ret
	.size top, . - top
	.type leaf, @function
leaf:
	push %rbp
	mov %rsp, %rbp
	mov $40000, %ecx # the hot loop
1:	dec %ecx
	nop
	jnz 1b
	pop %rbp
	ret
	.size leaf, . - leaf
	.section .rodata
text:	.ascii "from the command\n"
	.section .note.GNU-stack, "", @progbits
END
	gcc -g -nostdlib -static -o work work.S || exit 1
}
