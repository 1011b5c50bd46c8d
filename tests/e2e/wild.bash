# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests of programs that write into the session's memory: writes wild.py, for the scripts in $tmp that start them.  It says where a
# process may write, and how a session has to end whatever was written.

cat >"$tmp/wild.py" <<'PY'
import re

def areas(pid):
    """Of the session's files: begin, end and offset, in hex, and the whole line, of each mapping that can be written."""
    for line in open('/proc/%d/maps' % pid):
        m = re.match(r'(\w+)-(\w+) .w.. (\w+) \S+ \S+ +/memfd:anyperf', line)
        if m:
            yield m[1], m[2], m[3], line

def text_of(name):
    try:
        return open(name, errors='replace').read()
    except OSError:
        return ''

def complaints(status, never='Sanitizer'):
    """Of a session whose command says 'over' at its end, and nothing that looks like never; its table is in the file report."""
    if status:
        yield 'status %s' % status
    out, report = text_of('out'), text_of('report')
    if not out.endswith('over\n') or re.search('^(stat|record): |Sanitizer|runtime error|' + never, out, re.M):
        yield 'output: ' + out
    if not re.search(r'^\d+,.*instructions', report, re.M):
        yield 'report: ' + report
PY
