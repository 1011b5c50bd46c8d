#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/ci.md: the shell of its workflows does what the page says.  Each step is taken out of the page and run; apt-get,
# git and make are stand-ins that write down how they were called, for a test installs nothing, and `make bench` puts a
# program whose instructions are known at ./bench.  anyperf is the real one.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need python3

page=$root/docs/ci.md
[ -e "$page" ] || skip_all "the documentation is not here"
cd "$tmp" || exit 1

# Writes steps/NAME.N, one file for each step, and artifacts.NAME, what the workflow keeps; commands: those of the text.
cat >take.py <<'END_PY'
import os, re, sys

def block(lines, at, first, column):
    """The scalar that begins with first and goes on while lines are further in than column, and where it ends."""
    more = []
    while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > column):
        more.append(lines[at].strip())
        at += 1
    if first == '|':
        return '\n'.join(more), at
    return ' '.join(([] if first == '>' else [first]) + [x for x in more if x]), at

def github(lines):
    steps, kept, at = [], [], 0
    while at < len(lines):
        m = re.match(r'( *)(?:- )?run: *(.*)', lines[at])
        kept += re.findall(r'^ *path: (.*)', lines[at])
        at += 1
        if m:
            text, at = block(lines, at, m[2], len(m[1]))
            steps.append(text)
    return steps, kept

def gitlab(lines):
    script, kept = [], []
    at = lines.index('  script:') + 1
    while at < len(lines):
        m = re.match(r'( *)- (.*)', lines[at])
        kept += [x for p in re.findall(r'^ *paths: \[(.*)\]', lines[at]) for x in p.split(', ')]
        at += 1
        if m:
            text, at = block(lines, at, m[2], len(m[1]))
            script.append(text)
    return ['\n'.join(script)], kept

page = open(sys.argv[1]).read()
os.mkdir('steps')
for text in re.findall(r'^```yaml\n(.*?)^```', page, re.M | re.S):
    name, take = ('github', github) if 'runs-on:' in text else ('gitlab', gitlab)
    steps, kept = take(text.splitlines())
    for n, step in enumerate(steps):
        open(f'steps/{name}.{n}', 'w').write(step + '\n')
    open('artifacts.' + name, 'w').write('\n'.join(kept) + '\n')
open('commands', 'w').write('\n'.join(re.findall(r'^    (anyperf .*)', page, re.M)) + '\n')
open('record', 'w').write('\n'.join(re.findall(r'`(record -e .*?)`', page)) + '\n')
END_PY
python3 take.py "$page" || exit 1

mkdir bin work
cat >bin/called <<'END_SH'
#!/bin/sh
echo "${0##*/} $*" >>"$CALLS"
[ "${0##*/} $*" != "make bench" ] || cp "$BENCH" bench
END_SH
chmod +x bin/called
for name in apt-get git make; do
	ln -s called bin/$name
done
printf '#!/bin/sh\nexec "%s" "$@"\n' "$ANYPERF" >bin/anyperf
chmod +x bin/anyperf
export CALLS=$tmp/calls GITHUB_STEP_SUMMARY=$tmp/summary ANYPERF_REPO=https://example.org/anyperf.git
export BENCH=$PROGRAMS/gate_loop PATH=$tmp/bin:$PATH

# workflow NAME: its steps one after the other, as a runner has them: the first that fails ends it
workflow()
{
	local step
	rm -f calls summary work/gate.* work/bench
	for step in steps/"$1".*; do
		(cd work && run timeout -k 5 300 bash -e -o pipefail "../$step" && exit "$status")
		status=$?
		[ "$status" = 0 ] || return
	done
}

# kept NAME: what of its artifacts is not there
kept()
{
	local path
	while read -r path; do
		[ -s "work/$path" ] || echo "$path"
	done <"artifacts.$1"
}

verdict()
{
	python3 -c 'import json; o = json.load(open("work/gate.json")); print(o["verdict"], o["limits"])'
}

is "$(find steps -type f -printf '%f\n' | sort | tr '\n' ' ')" "github.0 github.1 github.2 github.3 gitlab.0 " "the page's steps"

# --- the two commands that the page begins with
is "$(wc -l <commands)" 2 "the page begins with two commands"
cp "$BENCH" work/bench
(cd work && timeout -k 5 300 bash -e ../commands >../out 2>../err)
is $? 0 "they run" || note "$(cat err)"
has err '^ instructions +20000 +20000 +none +\+0\.5% +within +# exact$' "and nothing has changed"

# --- both workflows, for a change that costs nothing and for one that does: 400,006 instructions for 20,000
for name in github gitlab; do
	BENCH=$PROGRAMS/gate_loop workflow $name
	is "$status" 0 "$name: within" || note "$(cat err)"
	is "$(verdict)" "within 2" "$name: within: the verdict"
	is "$(kept $name)" "" "$name: within: the artifacts are there"
	is "$(grep -v bench calls | sort -u)" "$(sort <<-'CALLS'
		apt-get install -y git make gcc
		apt-get update
		git clone --depth 1 https://example.org/anyperf.git /opt/anyperf
		make -C /opt/anyperf -j2
		make -C /opt/anyperf deps
		make -C /opt/anyperf install PREFIX=/usr/local
	CALLS
	)" "$name: what is installed"
	[ $name = gitlab ] || has summary '^### Performance gate: within' "$name: within: the summary page"
	BENCH=$PROGRAMS/and_loop workflow $name
	is "$status $(verdict)" "1 exceeded 2" "$name: exceeded"
	is "$(kept $name)" "" "$name: exceeded: the artifacts are there"
	[ $name = gitlab ] || has summary '^### Performance gate: .*exceeded' "$name: exceeded: the summary page"
done
for target in deps install; do
	is "$(cat "$root/Makefile" "$root"/mk/*.mk | grep -c "^$target:")" 1 "there is a target $target"
done

# --- modelled events, as the page has them
while read -r _ options; do
	cp "$PROGRAMS/gate_loop" work/bench
	# shellcheck disable=SC2086 # words
	(cd work && timeout -k 5 300 anyperf gate record --baseline model.json $options -- ./bench >../out 2>../err)
	is $? 0 "record $options" || note "$(cat err)"
done < <(grep -v '^ *$' record)
is "$(grep -c 'cycles.*--machine' record)" 1 "the page tells of modelled events"
done_testing
