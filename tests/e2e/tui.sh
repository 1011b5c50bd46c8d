#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf report` and `annotate` on a terminal: tmux is the terminal, keys are sent to it and what it shows is
# compared with lines written down here.  The program's instructions are counted by reading it.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need tmux gcc taskset
# shellcheck source=tests/e2e/screen.bash
. "$(dirname "$0")/screen.bash"
cd "$tmp" || exit 1

make_work
"$ANYPERF" record -q -g -e instructions:u -c 1000 -o one.data -- ./work 2>err
[ -s one.data ] || exit 1
"$ANYPERF" record -q -e instructions:u,branches:u -c 1000 -o two.data -- ./work 2>err
[ -s two.data ] || exit 1

# --- the table
terminal 100 14
enter "$ANYPERF report -i one.data"
sees "the table" <<'END'
Samples: 150 of event 'instructions:u', Event count (approx.): 150000
  Children      Self  Command  Shared Object  Symbol
+  100.00%     0.00%  work     work           [.] _start
+  100.00%    20.00%  work     work           [.] top
+   80.00%    80.00%  work     work           [.] leaf








Enter: menu  a: annotate  +/e/E/C: call trees  d/t: zoom  /: search  ?: help  q: quit
END
tm capture-pane -e -p -t "$pane" >coloured
has coloured $'\e\\[31m +80.00%' "percentages are coloured"
press e
sees "e opens the call tree" <<'END'
Samples: 150 of event 'instructions:u', Event count (approx.): 150000
  Children      Self  Command  Shared Object  Symbol
-  100.00%     0.00%  work     work           [.] _start
     _start
   - top
        80.00% leaf
+  100.00%    20.00%  work     work           [.] top
+   80.00%    80.00%  work     work           [.] leaf





Enter: menu  a: annotate  +/e/E/C: call trees  d/t: zoom  /: search  ?: help  q: quit
END
press E
sees_line '^-   80.00%    80.00% ' "E opens all"
press C
sees_line '^\+   80.00%    80.00% ' "C folds all"
press e
sees_line '^-  100.00%     0.00% ' "e opens one's"
press c
sees_line '^\+  100.00%     0.00% ' "c folds it"
press c V
sees_line "^\+  100.00%     0.00%  work     /[^ ]*/work  0x[0-9a-f]+ .*_start" "and it stays folded; V: the program's path"
sees_line 'With paths and addresses' "and says so"
press V
sees_line '^\+  100.00%     0.00%  work     work  *\[' "V: its name"
press / l e a f Enter
tm send-keys -t "$pane" d
sees_line "DSO: work$" "d zooms into the file"
press t
sees_line "DSO: work, Command: work" "t zooms into the command"
press Escape
sees_line "DSO: work$" "Esc takes one filter off"
press Left
sees_line "approx.\): 150000$" "Left takes the other off"
press n
press +
sees_line '^-   80.00%    80.00% .* leaf' "n stays on the only line, + opens it"
press '?'
sees_line '^The table$' "? lists the keys"
press q
press i
sees_line '^# captured on' "i shows the header"
press q
press C P
sees_line 'lines were written to perf.hist' "P writes a file"
cat >want <<'END'
Samples: 150 of event 'instructions:u', Event count (approx.): 150000
  Children      Self  Command  Shared Object  Symbol
+  100.00%     0.00%  work     work           [.] _start
+  100.00%    20.00%  work     work           [.] top
+   80.00%    80.00%  work     work           [.] leaf
END
same want perf.hist "it holds the lines of the table"

# --- other sizes
press Down
tm resize-window -t "$pane" -x 20 -y 5
sees "20 columns, 5 lines" <<'END'
Samples: 150 of even
  Children      Self
+  100.00%    20.00%
+   80.00%    80.00%
Enter: menu  a: anno
END
tm resize-window -t "$pane" -x 1 -y 1
press Down Up E / x Enter '?' q
tm resize-window -t "$pane" -x 100 -y 14
press C Home
sees_line 'Samples: 150 of event' "it goes on after a terminal of one cell"
sees_line '^\+   80.00%    80.00% .* leaf$' "and shows the table"

# --- a function
tm resize-window -t "$pane" -x 100 -y 20
press / l e a f Enter a
sees_line '^leaf  work  \[120 samples' "a annotates"
sees_line '^ +33.33 \| +[0-9a-f]+:  dec +%ecx' "a third of the samples is at dec"
sees_line '^ +33.33 \| +[0-9a-f]+:  jne .*<leaf\+0x9>' "and one at jnz, which names where it goes"
sees_line '\| +31 +mov \$40000, %ecx # the hot loop' "source lines are there"
press s
sees_gone '# the hot loop' "s takes them away"
press t t
sees_line '^ +40 \| +[0-9a-f]+:  dec +%ecx' "t: samples"
press Home H
is_at '^ +40 \| .* dec +%ecx' "H goes to the hottest"
press Tab
is_at '^ +40 \| .* nop' "Tab to the next"
press Tab
is_at '^ +40 \| .* jne ' "and the one after it"
press Enter
is_at ' dec +%ecx' "Enter goes where it jumps"
press /
press p u s h Enter
is_at ' push +%rbp' "/ searches"
press '>'
sees_line '^top  work  \[30 samples' "> goes to the next function"
press / c a l l Space Space Enter Enter
sees_line '^leaf  work  \[120 samples' "Enter on a call opens what it calls"
press s j
sees_gone '# the hot loop' "instructions alone"
sees_line '^ +33.33 \| +[0-9a-f]+:  dec +%ecx' "still percents"
press / j n e Enter
is_at '\| +[0-9a-f]+:  jne ' "without an arrow (j)"
press j
is_at '\| \+-- +[0-9a-f]+:  jne ' "j: the arrow begins at the jump"
sees_line '\| \+-> +[0-9a-f]+:  dec +%ecx' "and ends where it goes"
sees_line '\| \|   +[0-9a-f]+:  nop' "and passes what is between"
press J
sees_line '\|   1 \+-> +[0-9a-f]+:  dec +%ecx' "J: how many come here"
sees_line '\|     \|   +[0-9a-f]+:  nop' "and none elsewhere"
press J
press o
sees_line '\| \+-- {11}jne +\^ 9$' "o: the offset in place of the address"
sees_line '\| \+-> {7}9:  dec +%ecx' "and the offset where it goes"
sees_line '\| +nop$' "but nowhere else"
press O
sees_line 'Offsets of where instructions jump to, and of calls' "O: of calls as well"
press O
sees_line '\| \| {9}b:  nop$' "O: of all"
press O o
sees_line '\| \+-- +[0-9a-f]+:  jne +[0-9a-f]+ <leaf\+0x9>' "o: addresses again"
press s
sees_line '\| +work.S:' "the source file's name"
press l
sees_line "\\| +$PWD/work.S:" "l: its whole path"
press l
press q
sees_line '^top  work  \[30 samples' "q goes back"
press o O
sees_line '\| {11}[0-9a-f]+:  call +leaf$' "o: a call by its name"
press o
press q
sees_line '^\+   80.00%    80.00% .* leaf$' "and back to the table"
press q
is_back "q"

# --- several events
terminal 90 12
enter "$ANYPERF report -i two.data"
sees_line '^ +150 samples of instructions:u$' "of two events one chooses"
press Down Enter
sees_line "of event 'branches:u'" "the second"
press Tab
sees_line "of event 'instructions:u'" "Tab: the other"
press C-c
is_back "Ctrl-C"

# --- samples as text, other files
cp one.data third
head -c 100 one.data >cut.data
echo no profile >text.data
enter "$ANYPERF report -i two.data"
sees_line '^ +150 samples of instructions:u$' "two events again"
press Enter / l e a f Enter r
sees 'r: a menu of samples' <<'END'
Samples as 'anyperf script' prints them
  Of command work
  Of function leaf
  All







Enter: take it  q: back
END
press Down Enter
sees_line '^Samples of leaf$' "of the function"
press End
"$ANYPERF" script -i two.data -S leaf >leaf.txt
sees_line "^$(tail -n 1 leaf.txt | sed 's/ (.*//; s/[][+.()]/\\&/g')" "are those of anyperf script -S"
press q r End Enter
sees_line '^All samples$' "all of them"
press P
sees_line 'lines were written to' "to a file"
f=$(shown | sed -n 's/.*lines were written to \([^ ]*\).*/\1/p')
is "$(grep -c ' work ' "$f")" "$("$ANYPERF" script -i two.data | wc -l)" "as many as anyperf script has"
press q s
sees_line '^Data files of this folder$' "s: a menu of data files"
for f in *; do
	[ "$(head -c 8 "$f" 2>/dev/null)" = PERFILE2 ] || continue
	sees_line "^  $f$([ "$f" = two.data ] && echo '  \(shown\)')$" "it has $f"
done
sees_gone 'text.data' "and nothing else"
press / t h i r d Enter Enter
sees_line "^Samples: 150 of event 'instructions:u'" "the other file is shown"
press s / c u t Enter Enter
sees_line 'cut.data cannot be shown' "one that is cut is not"
sees_line '^ +150 samples of instructions:u$' "and the first is there again"
press q
is_back "q after other files"
enter "$ANYPERF report -i - <one.data"
sees_line '^\+   80.00%    80.00% .* leaf$' "a profile from standard input"
press s
sees_line 'not from a file that could be left' "s: cannot be left"
press r
sees_line 'no file whose samples' "r: nor read again"
press S
sees_line 'sort by socket' "S: needs the key"
press q
is_back "q of standard input"
# on one CPU: a row has the samples of one, so a program that moves has two of each function
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
taskset -c "$cpu" "$ANYPERF" record -q -a -e instructions:u -c 1000 -o cpu.data -- ./work 2>err
enter "$ANYPERF report --no-children -s socket,cpu,sym -i cpu.data"
sees_line '^ +Overhead  Socket  CPU  Symbol$' "sockets"
press / l e a f Enter S
sees_line ', Processor Socket: 0$' "S zooms into the socket"
sees_line ' 80.00% .*leaf' "its lines stay"
press Escape q
is_back "q of sockets"

# --- groups, filters, branches
"$ANYPERF" record -q -e '{instructions:u,branches:u}' -c 1000 -o group.data -- ./work 2>err
"$ANYPERF" record -q -b -e branches:u -c 1000 -o branch.data -- ./work 2>err
enter "$ANYPERF report -i group.data"
sees_line "Samples: 200 of event 'instructions:u, branches:u', Event count \(approx.\): 200000" \
	"a group is one table"
sees_line '^ +80.00%  80.00%  work     work           \[\.\] leaf$' "with columns side by side"
press a
sees_line "^leaf  work  \[120 samples of 'instructions:u', 120000 events\]" "a function has its leader's"
press q q
is_back "q of a group"
enter "$ANYPERF report --no-children -S leaf -i one.data"
sees_line '^  Overhead  Command  Shared Object$' "-S leaf: no column for it"
sees_line '^\+   80.00%  work     work$' "-S leaf: its line"
sees_gone ' 20.00% ' "-S leaf: no other"
press q
is_back "q of a filtered one"
enter "$ANYPERF report -s symbol_from,symbol_to -i branch.data"
sees_line '\[\.\] leaf +\[\.\] leaf$' "branches are shown"
press a Escape q
is_back "q of branches"

# --- annotate
enter "$ANYPERF annotate -i one.data"
sees_line '^leaf  work  \[120 samples' "annotate begins with the heaviest function"
press p
sees_line '^ +26.67 \| +[0-9a-f]+:  dec +%ecx' "p: percent of all"
sees_line 'percent of all periods' "as the heading says"
press b
sees_line 'percent of all samples' "b: of samples"
press p
sees_line '^ +33.33 \| +[0-9a-f]+:  dec +%ecx' "p: of the function again"
press q
is_back "q of annotate"
enter "$ANYPERF annotate -i one.data top"
sees_line '^top  work  \[30 samples' "or with the one that is named"
press Escape
is_back "Esc of annotate"

# --- keys from the terminal while the profile comes from elsewhere
enter "$ANYPERF report -i - <one.data"
sees_line '^\+   80.00%    80.00% .* leaf$' "standard input is the profile"
press q
is_back "q, from /dev/tty"

# --- stopped and continued
enter "$ANYPERF report -i one.data"
sees_line '^\+   80.00%    80.00% .* leaf$' "before Ctrl-Z"
press e C-z
sees_line 'Stopped' "Ctrl-Z stops it"
is_back "Ctrl-Z"
enter fg
sees_line '^        80.00% leaf' "and it goes on where it was"
press q
is_back "q after Ctrl-Z"

# --- all ways out
for sig in TERM INT HUP QUIT SEGV ABRT; do
	enter "sh -c 'echo \$\$ >pid; exec $ANYPERF report -i one.data'"
	sees_line '^\+   80.00%    80.00% .* leaf$' "SIG$sig: the screen is there"
	kill -$sig "$(cat pid)"
	is_back "SIG$sig"
done

# --- no screen
for term in dumb nonsense ''; do
	enter "TERM='$term' $ANYPERF report -i one.data 2>err | cat; TERM='$term' $ANYPERF report -s sym -g none -i one.data 2>err"
	sees_line '^ +80.00% +80.00% +\[\.\] leaf' "TERM='$term': printed"
	has err '^anyperf report: TERM .*: printing, as with --stdio$' "TERM='$term': one line says so"
	is "$(wc -l <err)" 1 "TERM='$term': and only one"
	enter clear
	is_back "TERM='$term'"
done
enter "$ANYPERF report --stdio -g none -i one.data"
sees_line '^ +80.00% +80.00% +work' "--stdio prints"
enter "clear; $ANYPERF report --tui=no -s sym -g none -i one.data"
sees_line '^ +80.00% +80.00% +\[\.\] leaf' "--tui=no prints"
run "$ANYPERF" report --tui -s sym -g none -i one.data
is "$status" 0 "--tui without a terminal: status 0"
has "$tmp/err" 'standard output is no terminal: printing' "--tui without a terminal: says so"
has "$tmp/out" '80.00% .*leaf' "--tui without a terminal: prints"
run "$ANYPERF" report --tui=maybe -i one.data
is "$status" 129 "--tui=maybe: wrong usage"
done_testing
