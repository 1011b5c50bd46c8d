#!/bin/bash
# SPDX-License-Identifier: MIT
# The signal handler may have interrupted anything: it takes no lock, allocates nothing, and waits for nobody.  Walks the calls that the
# blob's code has from ap_sig_master() on, and fails at one of a function that mk/async.txt does not list.  Static functions
# need no line: they are walked through.
#
#	tools/check-async.sh BLOB [LIST]	the blob's ELF file, with its symbols
#
# LIST has a line for each:
#	FUNCTION		it may be called in the handler
#	fault FUNCTION		and what it calls is not looked at: only a fault of translated code leads there, where the thread holds no lock
#	hook CALLER HOOK	CALLER calls a pointer: each function that the sources put into ap_client.HOOK
set -eu
export LC_ALL=C
blob=$1 list=${2:-mk/async.txt}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# FILE FUNCTION of each registration's hooks: "hook HOOK FILE FUNCTION"
git ls-files -co --exclude-standard -- 'src/engine/*.c' | while IFS= read -r f; do [ -e "$f" ] && printf '%s\n' "$f"; done |
	xargs grep -HE '^	c->[a-z_0-9]+ = [a-z_0-9]+;' | sed -E 's,^.*/([^/:]+):	c->([a-z_0-9]+) = ([a-z_0-9]+);.*,hook \2 \1 \3,' >"$tmp/hooks"
readelf -sW "$blob" | awk '$4 == "FILE" { file = $8 } $4 == "FUNC" || $4 == "NOTYPE" { print "symbol", $2, ($5 == "LOCAL" && file != "" ? file : "-"), $8 }' >"$tmp/symbols"
objdump -d --no-show-raw-insn "$blob" >"$tmp/code"

awk -v list="$list" -v root=ap_sig_master '
	function bare(name) { sub(/\.(constprop|isra|part|cold).*/, "", name); return name }
	function number(hex, n, k) {
		n = 0
		for (k = 1; k <= length(hex); k++)
			n = n * 16 + index("0123456789abcdef", substr(hex, k, 1)) - 1
		return n
	}
	function say(f) { return file[f] == "-" || file[f] == "" ? name[f] : file[f] ": " name[f] }
	function trail(f, s) { for (s = say(f); f in from; f = from[f]) s = say(from[f]) " > " s; return s }
	BEGIN {
		while ((getline line < list) > 0) {
			split(line, w, " ")
			if (line ~ /^#/ || line == "")
				continue
			if (w[1] == "hook")
				hook_of[w[2]] = w[3]
			else if (w[1] == "fault")
				end[w[2]] = allowed[w[2]] = 1
			else
				allowed[w[1]] = 1
		}
	}
	$1 == "hook" { hooks[$2] = hooks[$2] " " $3 ":" $4; next }
	$1 == "symbol" {
		at = number(substr($2, 1 + length($2) - 12))
		if (!(at in name) || $3 == "-") {
			file[at] = $3
			name[at] = $4
		}
		where[($3 == "-" ? "" : $3 ":") bare($4)] = at
		next
	}
	/^[0-9a-f]+ <.*>:$/ { here = number(substr($1, length($1) - 11)); line_now = ""; next }
	{ before = line_now; line_now = $0 }
	/\t(notrack )?(call|jmp|j[a-z]+) / {
		if ($0 ~ /\t(call|jmp) +\*/) {
			# the jump of a switch: its table says how far from itself each case is
			if ($0 !~ /\tjmp +\*%/ || before !~ /\tadd +%[a-z0-9]+,%[a-z0-9]+/)
				indirect[here] = 1
			next
		}
		if (!match($0, /[0-9a-f]+ <[^>]+>/))
			next
		target = substr($0, RSTART, RLENGTH)
		split(target, p, " ")
		to = number(p[1])
		if (match(p[2], /\+0x[0-9a-f]+>/))
			to -= number(substr(p[2], RSTART + 3, RLENGTH - 4))
		if (to != here && !((here, to) in edge)) {
			edge[here, to] = 1
			out[here] = out[here] " " to
		}
	}
	function visit(f, by) {
		if (f in seen)
			return
		seen[f] = 1
		if (by != "")
			from[f] = by
		if (file[f] == "-" && !(name[f] in allowed)) {
			printf "async: the signal handler calls what mk/async.txt does not list: %s\n", trail(f)
			bad = 1
			return
		}
		used[name[f]] = 1
		if (!(name[f] in end) || file[f] != "-")
			queue[++last] = f
	}
	END {
		if (!(root in where)) {
			print "async: there is no " root "() in the blob"
			exit 1
		}
		visit(where[root], "")
		for (i = 1; i <= last; i++) {
			f = queue[i]
			n = split(out[f], t, " ")
			for (k = 1; k <= n; k++)
				visit(t[k] + 0, f)
			if (!(f in indirect))
				continue
			if (!(name[f] in hook_of)) {
				printf "async: a call through a pointer, of which mk/async.txt says nothing: %s\n", trail(f)
				bad = 1
				continue
			}
			hooked[name[f]] = 1
			n = split(hooks[hook_of[name[f]]], t, " ")
			for (k = 1; k <= n; k++) {
				key = t[k]
				if (!(key in where))
					sub(/.*:/, "", key)
				if (!(key in where)) {
					printf "async: no function of the blob is %s, which is a hook %s\n", t[k], hook_of[name[f]]
					bad = 1
					continue
				}
				visit(where[key], f)
			}
		}
		if (bad)
			exit 1
		# what is inlined differs between compilers, so a line too many is no fault
		for (a in allowed)
			old += !(a in used)
		for (h in hook_of)
			old += !(h in hooked)
		printf "async: the signal handler reaches %d functions; lines that it does not need: %d\n", last, old
	}' "$tmp/hooks" "$tmp/symbols" "$tmp/code"
