#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf export`: each format is read by somebody else, and finds the totals that perf finds.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

command -v perf >/dev/null || skip_all "no perf"
command -v gcc >/dev/null || skip_all "no gcc"

cat >"$tmp/work.c" <<'END'
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
__attribute__((noinline)) void again(int n) { mid(10000); if (n) again(n - 1); s++; }
int main(void) { for (int i = 0; i < 100; i++) { mid(100000); leaf(50000); again(5); } return 0; }
END
gcc -O0 -g -o "$tmp/work" "$tmp/work.c" || exit 1
perf record -q -e cpu-clock:u,page-faults:u -F 10000 -g -o "$tmp/data" -- "$tmp/work" >/dev/null 2>"$tmp/why" ||
	perf_refused "$tmp/why"

# what perf finds: samples and periods of the first event
perf script -i "$tmp/data" -F event,period 2>/dev/null | awk '/cpu-clock/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) { n++; sum += $i } }
	END { print n, sum }' >"$tmp/totals"
read -r samples period <"$tmp/totals"
if [ "${samples:-0}" -gt 10 ]; then
	ok "perf has $samples samples"
else
	not_ok "perf has samples" "$samples"
fi

x()
{
	run "$ANYPERF" export -i "$tmp/data" "$@"
	is "$status" 0 "export $*"
}

# --- collapsed
x -f collapsed -o -
is "$(awk '{ sum += $NF } END { print sum }' "$tmp/out")" "$period" "collapsed: periods"
has "$tmp/out" '^work;.*;main;mid;leaf [0-9]+$' "collapsed: a stack from the thread to the leaf"
x -f collapsed --weight samples -o "$tmp/c"
is "$(awk '{ sum += $NF } END { print sum }' "$tmp/c")" "$samples" "collapsed: samples"
x -f collapsed --weight samples -e page-faults:u -o "$tmp/c"
is "$(awk '{ sum += $NF } END { print sum }' "$tmp/c")" \
	"$(perf script -i "$tmp/data" -F event 2>/dev/null | grep -c page-faults)" "collapsed: another event"

# --- JSON, as python reads it
x -f speedscope -o "$tmp/s.json"
python3 - "$tmp/s.json" >"$tmp/got" <<'END'
import json, sys
f = json.load(open(sys.argv[1]))
p = f["profiles"][0]
n = len(f["shared"]["frames"])
assert f["$schema"] == "https://www.speedscope.app/file-format-schema.json"
assert p["type"] == "sampled" and p["unit"] == "none" and p["startValue"] == 0
assert len(p["samples"]) == len(p["weights"])
assert all(0 <= i < n for s in p["samples"] for i in s)
names = {";".join(f["shared"]["frames"][i]["name"] for i in s) for s in p["samples"]}
assert any(s.endswith("main;mid;leaf") for s in names), names
print(sum(p["weights"]), p["endValue"], len(f["profiles"]))
END
is "$(cat "$tmp/got")" "$period $period 2" "speedscope: weights, and a profile for each event"

x -f firefox --weight samples -o "$tmp/f.json"
python3 - "$tmp/f.json" >"$tmp/got" <<'END'
import json, sys
f = json.load(open(sys.argv[1]))
assert f["meta"]["preprocessedProfileVersion"] == 48
sums = []
for t in f["threads"]:
	stack, frame, func, sample = t["stackTable"], t["frameTable"], t["funcTable"], t["samples"]
	for table in (stack, frame, func, sample, t["resourceTable"], t["markers"], t["nativeSymbols"]):
		for column, values in table.items():
			if isinstance(values, list):
				assert len(values) == table["length"], column
	assert all(p is None or p < i for i, p in enumerate(stack["prefix"]))
	assert all(i < frame["length"] for i in stack["frame"])
	assert all(i < func["length"] for i in frame["func"])
	assert all(i < len(t["stringArray"]) for i in func["name"])
	assert all(i < t["resourceTable"]["length"] for i in func["resource"])
	assert all(i < len(f["libs"]) for i in t["resourceTable"]["lib"])
	assert all(i < stack["length"] for i in sample["stack"])
	assert t["name"].startswith("work"), t["name"]
	lines = {frame["line"][i] for i in range(frame["length"])
		 if t["stringArray"][func["name"][frame["func"][i]]] == "leaf"}
	if "cpu-clock" in t["name"]:
		assert 2 in lines, lines
		sums.append(sum(sample["weight"]))
print(*sums)
END
is "$(cat "$tmp/got")" "$samples" "firefox: tables fit together, samples"

# --- protobuf, as protoc reads it
if command -v protoc >/dev/null; then
	x -f pprof -o "$tmp/p.gz"
	gzip -dc "$tmp/p.gz" | protoc -I "$root/src/profile/export" --decode=perftools.profiles.Profile \
		pprof.proto >"$tmp/decoded"
	awk '/^sample \{/ { v = 0 } /^  value:/ { sum[v++] += $2 } END { print sum[0], sum[1] }' \
		"$tmp/decoded" >"$tmp/got"
	is "$(cat "$tmp/got")" "$samples $period" "pprof: both values"
	is "$(grep -c '^string_table: ""' "$tmp/decoded")" "$(grep -c '^string_table: ""$' "$tmp/decoded")" \
		"pprof: strings"
	is "$(grep -m 1 '^string_table' "$tmp/decoded")" 'string_table: ""' "pprof: the first string is empty"
	has "$tmp/decoded" '^string_table: "leaf"' "pprof: names"
else
	skip "pprof" "no protoc"
fi

# --- callgrind, as valgrind reads it
if command -v callgrind_annotate >/dev/null; then
	x -f callgrind -o "$tmp/callgrind.out"
	callgrind_annotate --threshold=100 --auto=no "$tmp/callgrind.out" >"$tmp/self" 2>&1
	callgrind_annotate --threshold=100 --auto=no --inclusive=yes "$tmp/callgrind.out" >"$tmp/incl" 2>&1
	is "$(sed -n 's/^ *\([0-9,]*\).*PROGRAM TOTALS.*/\1/p' "$tmp/self" | tr -d ,)" "$period" \
		"callgrind: total"
	is "$(awk '/file:function/ { on = 1 } on && /^ *[0-9]/ { gsub(",", "", $1); sum += $1 } END { print sum }' \
		"$tmp/self")" "$period" "callgrind: own costs add up"
	main=$(perf script -i "$tmp/data" -F event,ip,sym 2>/dev/null |
		awk -v RS= '/cpu-clock/ && / main\n?/ { n++ } END { print n * 100000 }')
	is "$(awk '/work.c:main/ { gsub(",", "", $1); print $1; exit }' "$tmp/incl")" "$main" \
		"callgrind: main with all that it calls, recursion counted once"
else
	skip "callgrind" "no callgrind_annotate"
fi

# --- the page
x -o "$tmp/flame.html"
python3 - "$tmp/flame.html" >"$tmp/got" <<'END'
import json, re, sys
page = open(sys.argv[1]).read()
assert "http://" not in page and "https://" not in page, "a reference to elsewhere"
data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S).group(1))
n = len(data["parent"])
assert all(len(data[c]) == n for c in ("name", "weight", "kernel"))
assert all(p <= i for i, p in enumerate(data["parent"]))
print(sum(w for w, p in zip(data["weight"], data["parent"]) if p == 0))
END
is "$(cat "$tmp/got")" "$period" "flamegraph: the tree in the page"

# --- the image: shapes and text, as wide as what they stand for
x -o "$tmp/flame.svg" --weight samples
python3 - "$tmp/flame.svg" >"$tmp/got" <<'END'
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
kinds = {e.tag.removeprefix(svg) for e in root.iter()}
assert kinds == {"svg", "title", "style", "rect", "text", "g", "script"}, kinds
boxes = []
for g in root.find(f"{svg}g[@id='boxes']"):
	title, rect, text = g
	name, said = title.text.rsplit(" (", 1)
	boxes.append((name, int(said.split()[0].replace(",", "")), *(float(rect.get(k)) for k in ("x", "y", "width")), text.text))
all = boxes[0]
assert all[0] == "all" and all[4] == 1200, all
for name, n, x, y, width, text in boxes:
	assert abs(width - 1200 * n / all[1]) < 0.02, (name, n, width)
	# it stands on one that is no narrower
	assert name == "all" or [b for b in boxes if b[3] == y + 17 and b[2] <= x + 0.02 and x + width <= b[2] + b[4] + 0.02], name
	assert width < 100 or text == name or text.endswith(".."), (name, text)
print(all[1], sum(1 for b in boxes if b[0] == "main"))
END
is "$(cat "$tmp/got")" "$samples 1" "flamegraph, as an image: boxes are as wide as their samples"

# --- threads of one name are one frame, however many they are
cat >"$tmp/threads.c" <<'END'
#include <pthread.h>
static volatile unsigned long s;
static void *run(void *arg) { for (int i = 0; i < 1000000; i++) s += i; return arg; }
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
gcc -O0 -o "$tmp/threads" "$tmp/threads.c" || exit 1
"$ANYPERF" record -q -e instructions:u -c 100003 -g -o "$tmp/threads.data" -- "$tmp/threads" || exit 1
run "$ANYPERF" export -i "$tmp/threads.data" -o "$tmp/threads.speedscope.json"
is "$(python3 - "$tmp/threads.speedscope.json" <<'END'
import json, sys
f = json.load(open(sys.argv[1]))
frames = [x["name"] for x in f["shared"]["frames"]]
stacks = f["profiles"][0]["samples"]
print(frames.count("threads"), sorted({frames[s[0]] for s in stacks}), len({s[0] for s in stacks}))
END
)" "1 ['threads'] 1" "speedscope: one root"
run "$ANYPERF" export -i "$tmp/threads.data" -o "$tmp/threads.svg"
is "$(grep -c '<title>threads (' "$tmp/threads.svg")" 1 "the image: one box"
run "$ANYPERF" export -i "$tmp/threads.data" -f collapsed -o -
is "$(sed 's/ [0-9]*$//' "$tmp/out" | sort | uniq -d)" "" "collapsed: each stack once"

# --- it says what it wrote, and what had the name is kept
echo mine >"$tmp/kept"
run "$ANYPERF" export -i "$tmp/threads.data" -f pprof -o "$tmp/kept"
has "$tmp/err" '^\[ anyperf export: Wrote .*/kept, [0-9.]+ MB: pprof of instructions:u \([0-9]+ samples\) \]$' "what was written"
has "$tmp/err" '^\[ anyperf export: What was .*/kept is .*/kept.old \]$' "what was there"
is "$(cat "$tmp/kept.old")" mine "is kept"
run "$ANYPERF" export -q -i "$tmp/threads.data" -o "$tmp/quiet"
is "$(cat "$tmp/err")" "" "-q: nothing"
run "$ANYPERF" export -i "$tmp/threads.data" -f collapsed -o -
is "$(cat "$tmp/err")" "" "and nothing of what went to standard output"
ln -sf /dev/null "$tmp/device"
run "$ANYPERF" export -i "$tmp/threads.data" -o "$tmp/device"
[ -L "$tmp/device" ] && [ ! -e "$tmp/device.old" ]
is $? 0 "a device is written to as it is"

# --- names say the format
for name in a.folded a.speedscope.json a.pb.gz callgrind.out.a a.html; do
	case $name in
	*.folded) format=collapsed ;;
	*.json) format=speedscope ;;
	*.gz) format=pprof ;;
	call*) format=callgrind ;;
	*) format=flamegraph ;;
	esac
	"$ANYPERF" export -i "$tmp/data" -f $format -o "$tmp/want" 2>/dev/null
	run "$ANYPERF" export -i "$tmp/data" -o "$tmp/$name"
	cmp -s "$tmp/want" "$tmp/$name"
	is $? 0 "$name is of $format"
done
run "$ANYPERF" export -i "$tmp/data" -o "$tmp/a.json"
is "$status" 129 "a.json may be one of two"
[ -e "$tmp/a.json" ]
is $? 1 "and is not written"

# --- what is refused
run "$ANYPERF" export -i "$tmp/nothing"
is "$status" 125 "no such file"
run "$ANYPERF" export -f svg -i "$tmp/data"
is "$status" 129 "no such format"
has "$tmp/err" 'flamegraph, collapsed' "formats are named"
run "$ANYPERF" export -e cycles -i "$tmp/data" -o "$tmp/not"
is "$status" 125 "no such event"
[ -e "$tmp/not" ]
is $? 1 "and no file"
run "$ANYPERF" export -i "$tmp/data" -o /dev/full
is "$status" 125 "a full disk"
head -c 3000 "$tmp/data" >"$tmp/cut"
run "$ANYPERF" export -i "$tmp/cut" -f collapsed -o -
is "$status" 125 "a file that is cut"
has "$tmp/err" 'anyperf export: ' "says so"
done_testing
