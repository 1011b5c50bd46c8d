#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf report` and `annotate` on a terminal: tmux is the terminal, keys are sent to it and what it shows is
# compared with lines written down here.  The program's instructions are counted by reading it.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need tmux gcc
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
sees_line '^ +33.33 \| +[0-9a-f]+:  dec %ecx' "a third of the samples is at dec"
sees_line '^ +33.33 \| +[0-9a-f]+:  jnz .*<leaf\+0x9>' "and one at jnz, which names where it goes"
sees_line '\| 31 +mov \$40000, %ecx # the hot loop' "source lines are there"
press s
sees_gone '# the hot loop' "s takes them away"
press t t
sees_line '^ +40 \| +[0-9a-f]+:  dec %ecx' "t: samples"
press Home H
is_at '^ +40 \| .* dec %ecx' "H goes to the hottest"
press Tab
is_at '^ +40 \| .* nop' "Tab to the next"
press Tab
is_at '^ +40 \| .* jnz ' "and the one after it"
press Enter
is_at ' dec %ecx' "Enter goes where it jumps"
press /
press p u s h Enter
is_at ' push %rbp' "/ searches"
press '>'
sees_line '^top  work  \[30 samples' "> goes to the next function"
press / c a l l Space 0 x Enter Enter
sees_line '^leaf  work  \[120 samples' "Enter on a call opens what it calls"
press q
sees_line '^top  work  \[30 samples' "q goes back"
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
sees_line '^ +26.67 \| +[0-9a-f]+:  dec %ecx' "p: percent of all"
sees_line 'percent of all periods' "as the heading says"
press b
sees_line 'percent of all samples' "b: of samples"
press p
sees_line '^ +33.33 \| +[0-9a-f]+:  dec %ecx' "p: of the function again"
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
