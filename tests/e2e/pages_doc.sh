#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/getting-started.md, docs/recipes.md and README.md: what they have the reader type works, and prints what they show.
# README's program is the one of getting-started.
#
# ```LANGUAGE FILE   is a file, which is written
# ```console [WORD]  are commands behind "$ ", and below each what it prints; each block is one shell's, all of a page are in one folder
#
# Words: loose, what is shown is not compared; attach, it attaches to a process, which a seccomp filter forbids;
# needs=COMMAND, from a package that tests install; if=COMMAND, from one that they do not: the system's, others may want a home.
# A line that is shown is one of those that are printed, whatever the numbers, and whether one says for how much of the time its
# event counted; what the kernel counts is the kernel's matter.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need python3 gcc

[ -e "$root/docs/getting-started.md" ] || skip_all "the documentation is not here"
cd "$tmp" || exit 1

cat >take.py <<'END_PY'
import os, re, sys

def plain(line):
    """A line whatever its numbers, and how they are set off."""
    line = re.sub(r'(0x)?[0-9a-f]*[0-9][0-9a-f.,]*[KMG]?', 'N', line).replace('+-N', '+- N')
    return ' '.join(re.sub(r' *\(N%\)$', '', line.rstrip()).split())

def take(page):
    """Files, and blocks as NUMBER.sh, .words and .want in the current folder."""
    at = 0
    for info, text in re.findall(r'^```(\S+.*)\n((?:.*\n)*?)```$', open(page).read(), re.M):
        language, _, more = info.partition(' ')
        if language != 'console':
            if more:
                open(os.path.join('typed', more), 'w').write(text)
            continue
        at += 1
        lines = text.splitlines()
        open(f'{at:02}.sh', 'w').write(''.join(x[2:] + '\n' for x in lines if x.startswith('$ ')))
        open(f'{at:02}.words', 'w').write(more + '\n')
        open(f'{at:02}.want', 'w').write(''.join(plain(x) + '\n' for x in lines
            if x.strip() and not x.startswith('$ ') and not x.endswith('# kernel')))

if sys.argv[1] == 'take':
    take(sys.argv[2])
else:
    had = {plain(x) for x in open(sys.argv[2], errors='replace')}
    print('\n'.join(x for x in open(sys.argv[3]).read().splitlines() if x not in had))
END_PY

mkdir bin
printf '#!/bin/sh\nexec "%s" "$@"\n' "$ANYPERF" >bin/anyperf
chmod +x bin/anyperf
# the system's programs first: elsewhere on PATH may be a version manager's scripts
export PATH=$tmp/bin:/usr/bin:/bin:$PATH HOME=$tmp
unset GOFLAGS RUSTFLAGS

# block FOLDER NUMBER NAME
block()
{
	local word said
	for word in $(cat "$2.words"); do
		case $word in
		needs=*) [ -x "/usr/bin/${word#*=}" ] || { skip "$3" "no ${word#*=}"; return; } ;;
		if=*) [ -x "/usr/bin/${word#*=}" ] || { lack "$3" "no ${word#*=}"; return; } ;;
		attach) ! is_filtered || { lack "$3" "a seccomp filter"; return; } ;;
		loose) : >"$2.want" ;;
		*) not_ok "$3" "no such word: $word"; return ;;
		esac
	done
	{
		# shellcheck disable=SC2016 # for that shell
		echo 'trap "kill \$(jobs -p) 2>/dev/null || :" EXIT'
		cat "$2.sh"
	} >"$2.run"
	(cd typed && timeout -k 5 300 bash -e -o pipefail "../$2.run" >"../$2.out" 2>&1 </dev/null) || {
		not_ok "$3" "status $?" "$(tail -n 20 "$2.out")"
		return
	}
	said=$(python3 "$tmp/take.py" compare "$2.out" "$2.want") || said="cannot compare"
	is "$said" "" "$3" || note "$(head -n 40 "$2.out")"
}

for page in getting-started recipes README; do
	text=$root/docs/$page.md
	[ $page != README ] || text=$root/README.md
	mkdir -p "$tmp/$page/typed"
	cd "$tmp/$page" || exit 1
	[ $page != README ] || cp "$tmp/getting-started/typed/matrix" typed/
	check "$page: its blocks" python3 "$tmp/take.py" take "$text"
	for words in [0-9]*.words; do
		n=${words%.words}
		block "$page" "$n" "$page $n: $(head -n 1 "$n.sh")"
	done
done

# --- a page that shows what is not printed does not pass
cd "$tmp/getting-started" || exit 1
echo 'something else' >none.out
is "$(python3 "$tmp/take.py" compare none.out 02.want | wc -l)" "$(wc -l <02.want)" "what is not printed is found"
is "$(python3 "$tmp/take.py" compare 02.out 02.want)" "" "and what is printed is not"
done_testing
