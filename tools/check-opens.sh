#!/bin/bash
# SPDX-License-Identifier: MIT
# Files are opened in one place (src/files): no call of open(2) and its kin elsewhere in what a user starts.  May stay: a path
# that is a literal of the kernel's or a device (/proc, /sys, /dev, "/"), one that ap_proc_path() makes, a name in a
# folder of descriptors that is open, and memory.  check-opens.sh [FILE...]: these instead of all.
set -eu
calls='fopen|fopen64|freopen|open|open64|openat|openat2|creat|mkstemp|mkostemp|mkstemps|mkdtemp|tempnam|tmpnam|tmpfile|popen'
allowed='"(/proc/|/sys/|/dev/|/")|ap_proc_path\('
folder='host->(self_)?fds,'
# programs that are looked up in PATH.  perfex executes its user's own command, as every other does by ap_program_find()
lookups='execvp|execlp|execvpe|posix_spawnp'
users='^src/cli/cmd_perfex\.c:'
bad=0

if [ $# = 0 ]; then
	mapfile -t files < <(git ls-files -co --exclude-standard -- src/{cli,profile,linux,tui,service,inject} | grep '\.[ch]$')
else
	files=("$@")
fi
there=()
for file in "${files[@]}"; do
	[ ! -e "$file" ] || there+=("$file")
done

# calls_of NAMES: lines with a call that is neither allowed nor part of a comment
calls_of()
{
	local call="(^|[^A-Za-z0-9_.>])($1)[(]"
	grep -nHE "$call" "${there[@]}" | grep -vE '^[^:]*:[0-9]+:[[:space:]]*/?\*' |
		sed -E "s@($calls)[(]($allowed)@@g; s@openat[(]$folder@@g" | grep -E "$call" || :
}

found=$(calls_of "$calls")
if [ -n "$found" ]; then
	echo "opens: these pass src/files by (ap_in_open, ap_out_begin, ap_kernel_open ...):"
	printf '%s\n' "$found"
	bad=1
fi
found=$(calls_of "$lookups" | grep -vE "$users" || :)
if [ -n "$found" ]; then
	echo "opens: these look a helper up in PATH (ap_helper_find, execve):"
	printf '%s\n' "$found"
	bad=1
fi
# what counted code opens by number would be inherited by a program that another thread executes in that moment
if [ $# = 0 ]; then
	found=$(git grep -nE -A1 'AP_NR_open(at)?, *\(' -- 'src/engine/*.c' 'src/service/*.c' |
		awk '/AP_NR_open(at)?, *\(/ { if (call != "") print call; call = /CLOEXEC/ ? "" : $0; next } /CLOEXEC/ { call = "" }
			END { if (call != "") print call }')
	if [ -n "$found" ]; then
		echo "opens: these lack AP_O_CLOEXEC:"
		printf '%s\n' "$found"
		bad=1
	fi
fi
[ $bad = 0 ] || exit 1
echo "opens: all of ${#there[@]} files go through src/files"
