#!/bin/bash
# SPDX-License-Identifier: MIT
# The command line of `anyperf stat` and `anyperf list`: statuses, messages, columns, files.  What
# the counts are worth is other tests' business.
. "$(dirname "$0")/lib.sh"
need awk sed grep setsid

cd "$tmp" || exit 1
sw=task-clock,page-faults

# status WANT NAME COMMAND...
status()
{
	local want=$1 name=$2
	shift 2
	run "$@"
	is "$status" "$want" "$name" || note "$(head -n 5 "$tmp/err")"
}

# --- the command's status is ours, counted or not
for e in $sw instructions; do
	status 0 "$e: success" "$ANYPERF" stat -e $e true
	status 1 "$e: failure" "$ANYPERF" stat -e $e false
	status 42 "$e: any status" "$ANYPERF" stat -e $e sh -c 'exit 42'
	status 137 "$e: SIGKILL is 128 + 9" "$ANYPERF" stat -e $e sh -c 'kill -9 $$'
	has "$tmp/err" '^sh: Killed$' "$e: the signal is named"
	has "$tmp/err" 'Performance counter stats' "$e: the table is printed for a killed command"
	status 143 "$e: SIGTERM is 128 + 15" "$ANYPERF" stat -e $e sh -c 'kill -15 $$'
	status 127 "$e: no such command" "$ANYPERF" stat -e $e ./nonexistent
	is "$(wc -l <"$tmp/err")" 1 "$e: no such command: one line, no table"
	echo data >"$tmp/data"
	status 126 "$e: not executable" "$ANYPERF" stat -e $e ./data
	is "$(wc -l <"$tmp/err")" 1 "$e: not executable: one line, no table"
done
status 127 "no such command in PATH" "$ANYPERF" stat anyperf-nonexistent

# --- what is the matter with a command that is there
printf '#!/nonexistent/interpreter\n' >"$tmp/script"
chmod +x "$tmp/script"
mkdir "$tmp/folder"
for row in '126 data Permission denied (it is not executable: chmod +x makes it so)' \
	'126 folder Permission denied (it is a directory)' \
	'127 script No such file or directory (the interpreter that its first line or its ELF header names is missing)' \
	'127 none No such file or directory'; do
	read -r want name why <<<"$row"
	status "$want" "./$name: status $want" "$ANYPERF" stat -e instructions "./$name"
	is "$(cat "$tmp/err")" "anyperf: ./$name: $why" "./$name: what is the matter"
done

# --- to be told to end is meant for a series, whichever moment of a run it comes in
for e in $sw instructions; do
	statuses=
	for ((k = 0; k < 12; k++)); do
		start "$ANYPERF" stat -r 0 -x, -e $e true
		wait_for 20 grep -qs "^[0-9]" "$tmp/bg.err"
		kill -TERM "$pid"
		wait "$pid"
		statuses+=" $?"
	done
	is "$statuses" "$(printf ' 143%.0s' {1..12})" "$e: -r 0 ends when it is told to, with the signal's status"
	statuses=
	for ((k = 0; k < 12; k++)); do
		rm -f "$tmp/ran"
		start "$ANYPERF" stat -r 1000000 -x, -e $e --post "echo >>$tmp/ran" true
		wait_for 20 test -s "$tmp/ran"
		kill -TERM "$pid"
		wait "$pid"
		statuses+=" $? $(grep -c '^[0-9]' "$tmp/bg.err")"
	done
	rm -f "$tmp/ran"
	rows=$(tr , '\n' <<<$e | wc -l)
	is "$statuses" "$(printf " 143 $rows%.0s" {1..12})" "$e: -r prints what was counted until then"
done

# --- the command's output is untouched, its arguments are its own
run "$ANYPERF" stat -e instructions -- printf '%s\n' -e --help
is "$(cat "$tmp/out")" "$(printf '%s\n' -e --help)" "options after the command are the command's"
run "$ANYPERF" stat -e instructions sh -c 'echo out; echo err >&2'
is "$(cat "$tmp/out")" out "stdout has the command's output only"
is "$(head -n 1 "$tmp/err")" err "stderr has the command's errors, then the table"
has "$tmp/err" "^ Performance counter stats for 'sh -c echo out; echo err >&2':" "the title"
echo input | "$ANYPERF" stat -e instructions cat >"$tmp/out" 2>/dev/null
is "$(cat "$tmp/out")" input "stdin reaches the command"

# --- the default table
run "$ANYPERF" stat true
defaults=(task-clock context-switches cpu-migrations page-faults cycles instructions branches branch-misses)
for e in "${defaults[@]}"; do
	has "$tmp/err" "^ .* $e  .* # (exact|modelled|kernel|rusage|proc)\$" "default event $e says what it is"
done
named() { sed -n 's/^ *[0-9.]* \(msec \)\? *\([a-zA-Z-]*\) .*# [a-z]*$/\2/p' "$tmp/err" | paste -sd' '; }
is "$(named)" "${defaults[*]}" "perf's order, and no other"
has "$tmp/err" '^ +[0-9]+ +instructions .*insn per cycle \(modelled\) # exact$' "instructions are exact, what a cycle has of them is not"
has_not "$tmp/err" GHz "no frequency: the cycles are a model's, the time is not"
run "$ANYPERF" stat --exact true
is "$(named)" "task-clock context-switches cpu-migrations page-faults instructions branches" "--exact: nothing modelled"
has "$tmp/err" '^ +[0-9.]+ seconds time elapsed$' "elapsed"
has "$tmp/err" '^ +[0-9.]+ seconds user$' "user"
has "$tmp/err" '^ +[0-9.]+ seconds sys$' "sys"

# --- CSV: perf's columns and one more
run "$ANYPERF" stat -x, -e task-clock,instructions:u,bpf-output,branches:k,page-faults true
is "$(awk -F, 'NF != 8' "$tmp/err")" "" "8 fields in each line"
is "$(cut -d, -f3 "$tmp/err" | paste -sd' ')" \
	"task-clock instructions:u bpf-output branches:k page-faults" "events in the order asked for"
is "$(cut -d, -f8 "$tmp/err" | paste -sd' ')" "kernel exact   kernel" "the kinds"
is "$(grep -c '^<not supported>,,' "$tmp/err")" 2 "not supported is in field 1"
is "$(awk -F, '{ print $5 }' "$tmp/err" | sort -u)" 100.00 "nothing is multiplexed"
has "$tmp/err" '^[0-9.]+,msec,task-clock,[0-9]+,100.00,[0-9.]+,CPUs utilized,kernel$' "task-clock"
run "$ANYPERF" stat -x ';' -r 2 -e instructions,cycles true
is "$(awk -F';' 'NF != 9' "$tmp/err")" "" "-r adds the deviation"
run "$ANYPERF" stat -x '\t' -e task-clock true
is "$(awk -F'\t' '{ print NF }' "$tmp/err")" 8 "a tabulator"
if command -v perf >/dev/null && perf stat -x, -e task-clock true 2>"$tmp/perf"; then
	"$ANYPERF" stat -x, -e task-clock true 2>"$tmp/ours"
	is "$(cut -d, -f2,3,5,7 "$tmp/ours")" "$(cut -d, -f2,3,5,7 "$tmp/perf")" "fields as perf has them"
	is "$(awk -F, '{ print NF }' "$tmp/ours")" "$(awk -F, '{ print NF + 1 }' "$tmp/perf")" \
		"one column more than perf"
else
	lack "fields as perf has them" "no perf that counts here"
fi

# --- -v, -n, -r
run "$ANYPERF" stat -v -e bpf-output,branches:k,node-load-misses,L1-dcache-loads,cycles true
has "$tmp/err" '^bpf-output: <not supported>: .' "-v: why what counts nothing is not supported"
has "$tmp/err" '^branches:k: <not supported>: kernel-mode work is never counted$' "-v: why :k is not"
has "$tmp/err" '<not supported>      node-load-misses' "perf's cache events are known"
has "$tmp/err" '[0-9] +L1-dcache-loads .*# exact' "references are exact"
has "$tmp/err" '[0-9] +cycles .*# modelled' "and cycles modelled"
run "$ANYPERF" stat -e cycles,instructions,branches,stalled-cycles-frontend true
has "$tmp/err" '# {1,4}[0-9]{1,4}[.][0-9]{2}  insn per cycle \(modelled\) ' "insn per cycle is there"
is "$(grep -o '# *[0-9.]*' "$tmp/err" | grep '[.]' | awk '{ print length }' | sort -u)" 9 "ratios end in perf's column"
run "$ANYPERF" stat -n -x, -e instructions:u,cs true
is "$status $(cut -d, -f3 "$tmp/err" | xargs)" "0 instructions:u cs" "-n: what was asked for is counted"
run "$ANYPERF" stat -a -e instructions:u true
has "$tmp/err" "stats for 'system wide' \(what the command makes\)" "-a: says of what"
run "$ANYPERF" stat -n true
has_not "$tmp/err" '#' "-n: no events"
has "$tmp/err" 'seconds time elapsed' "-n: times"
cat >"$tmp/thrice" <<'EOF'
echo run >>"$1"
[ "$(wc -l <"$1")" -lt 3 ] || kill -INT $$
exit 5
EOF
for where in "" "-o $tmp/endless"; do
	rm -f "$tmp/endless" "$tmp/runs"
	# shellcheck disable=SC2086 # two words or none
	run timeout --foreground -k 5 60 env --default-signal=INT "$ANYPERF" stat -r 0 $where -x, -e instructions:u sh "$tmp/thrice" "$tmp/runs"
	is "$status" 130 "-r 0 $where: until it is interrupted"
	[ -z "$where" ] || mv "$tmp/endless" "$tmp/err"
	is "$(grep -c '^[1-9][0-9]*,,instructions:u,' "$tmp/err")" 2 "-r 0 $where: each run that ended" || note "$(cat "$tmp/err")"
	is "$(awk -F, '/instructions/ { v[++n] = $1 } END { print v[2] < v[1] * 1.5 }' "$tmp/err")" 1 "-r 0 $where: by itself"
done
rm -f "$tmp/thrice" "$tmp/runs"
# shellcheck disable=SC2016 # the inner shell's
run sh -c 'timeout -k 5 60 "$0" stat -r 0 -e page-faults true 2>/dev/full' "$ANYPERF"
is "$status" 125 "-r 0 that cannot be shown ends"

run "$ANYPERF" stat -r 3 -e page-faults sh -c 'echo run; exit 3'
is "$status" 3 "-r: the last run's status"
is "$(grep -c run "$tmp/out")" 3 "-r: so many runs"
has "$tmp/err" "' \(3 runs\):\$" "-r: the title"
has "$tmp/err" '[0-9.]+ \+- [0-9.]+ seconds time elapsed  \( \+- +[0-9.]+% \)$' "-r: the deviation"

# --- what the kernel alone counts, where it lets us; what it tells of user mode only, where that is all it tells
run "$ANYPERF" stat -x, -e alignment-faults,emulation-faults,cgroup-switches true
is "$(cut -d, -f3 "$tmp/err" | xargs)" "alignment-faults emulation-faults cgroup-switches" "rare events of the kernel's"
if "$PROGRAMS/perf_native" software >"$tmp/out" 2>&1; then
	is "$(cut -d, -f1,8 "$tmp/err" | head -n 2 | xargs)" "0,kernel 0,kernel" "are counted by it"
else
	lack "are counted by it" "the kernel does not let us count its own"
fi
cp "$ANYPERF" "$PROGRAMS/perf_native" "$tmp"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] && "${user[@]}" "$tmp/perf_native" reset >"$tmp/out" 2>&1; then
	"${user[@]}" sleep 1000 &
	pid=$!
	tap_reaped+=("$pid")
	wait_for 20 grep -qx sleep "/proc/$pid/comm"
	for i in 1 2; do # the second time the events are known to be of user mode
		run "${user[@]}" "$tmp/anyperf" stat -x, -r "$i" -p "$pid" -e task-clock,page-faults,context-switches,minor-faults:u -- true
		is "$(cut -d, -f3 "$tmp/err" | xargs)" "task-clock page-faults:u context-switches minor-faults:u" \
			"another process, not as root, -r $i: faults of user mode"
		is "$(sed -n 's/^<not supported>,,\([^,]*\),.*/\1/p' "$tmp/err" | xargs)" context-switches \
			"another process, not as root, -r $i: what user mode has none of is not supported"
	done
	kill "$pid"
else
	lack "another process, not as root" "needs root, and a kernel that tells others of user mode"
fi

# --- -o
umask 022
run "$ANYPERF" stat -o report -e $sw sh -c 'echo e >&2'
is "$(cat "$tmp/err")" e "-o: nothing on stderr"
has report '^# started on ' "-o: the date"
has report ' task-clock ' "-o: the table"
is "$(stat -c %a report)" 644 "-o: the umask's mode"
echo old >report
"$ANYPERF" stat -o report -e $sw sh -c 'cat report; ls report*' >"$tmp/out" 2>"$tmp/err"
is "$(cat "$tmp/out")" "$(printf 'old\nreport')" "-o: the old file stands while the command runs"
has_not report '^old$' "-o: and is replaced"
(echo before; "$ANYPERF" stat -o /dev/stdout -x, -e $sw echo within; echo after) >shared
is "$(grep -xE '[a-z]+' shared | xargs) $(grep -c ',task-clock,' shared)" "before within after 1" \
	"-o /dev/stdout: a file that others write too is not replaced"
is "$(echo report*)" report "-o: no temporary file is left"
cp report before
status 127 "-o: with a command that is missing" "$ANYPERF" stat -o report ./nonexistent
same report before "-o: the old file stands when nothing was run"
status 125 "-o: a folder that is missing" "$ANYPERF" stat -o ./none/report sh -c 'echo ran'
is "$(cat "$tmp/out")" "" "-o: is found out before the command runs"
is "$(wc -l <"$tmp/err")" 1 "-o: in one line"
status 0 "-o: /dev/null stays a device" "$ANYPERF" stat -o /dev/null true
check "-o: it does" test -c /dev/null

for path in /proc/report /proc/self/report /sys/report; do
	status 125 "-o: $path cannot be made" "$ANYPERF" stat -o $path -e $sw sh -c 'echo ran'
	is "$(cat "$tmp/out")" "" "-o: $path: before the command runs"
	is "$(wc -l <"$tmp/err")" 1 "-o: $path: in one line"
done

# --- what cannot be said is a failure
for e in $sw instructions; do
	for format in '' '-x,'; do
		status 125 "-o /dev/full $format: $e" "$ANYPERF" stat $format -o /dev/full -e $e true
		has "$tmp/err" '^anyperf: cannot write output file /dev/full: No space' "and says so"
		is "$(wc -l <"$tmp/err")" 1 "in one line"
		"$ANYPERF" stat $format -e $e true 2>/dev/full
		is $? 125 "a full standard error: $format $e"
		"$ANYPERF" stat $format -e $e sh -c 'echo $0; echo err >&2' >"$tmp/out" 2>&-
		is $? 125 "a closed standard error: $format $e"
		is "$(cat "$tmp/out")" sh "and the command did run"
	done
done
for what in list --version help "stat -h"; do
	# shellcheck disable=SC2086 # words
	"$ANYPERF" $what >/dev/full 2>"$tmp/err"
	is $? 125 "$what: a full standard output"
	is "$(cat "$tmp/err")" "anyperf: cannot write to standard output" "$what: says so"
done
fds='for i in 0 1 2; do [ ! -e /proc/$$/fd/$i ] || echo $i; done >fds'
"$ANYPERF" stat -o report -e instructions sh -c "$fds" <&- 2>&-
is "$? $(paste -sd' ' fds)" "0 1" "closed descriptors are closed for the command"

# --- numbers of the kernel include the engine
run "$ANYPERF" stat -v -e task-clock,instructions true
is "$(grep -c "^kernel: .* engine's own work included" "$tmp/err")" 1 "-v: says whose work it is"
run "$ANYPERF" stat -v -e task-clock,page-faults true
has_not "$tmp/err" 'engine' "-v: there is no engine for the kernel's events alone"

# --- Ctrl-C goes to the command, the table is printed
cat >"$tmp/ctrl-c" <<'EOF'
trap 'exit 5' INT
kill -INT 0
exit 6
EOF
for e in $sw instructions; do
	# a process group of its own, SIGINT as at a terminal whatever started this test
	setsid -w env --default-signal=INT "$ANYPERF" stat -x, -e $e bash "$tmp/ctrl-c" 2>"$tmp/err"
	is $? 5 "Ctrl-C: the command decides ($e)"
	has "$tmp/err" ",${e%%,*}," "Ctrl-C: the table is printed ($e)"
done

# --- and where it kills the command, we die of it, too: a shell's loop ends only then
cat >"$tmp/loop" <<'EOF'
for i in 1 2; do
	"$@"
	echo "after $i: $?"
done
EOF
# interrupted COMMAND...: what a loop around it prints, and how the loop ends
interrupted()
{
	setsid -w env --default-signal=INT bash "$tmp/loop" "$@" -- sh -c 'kill -INT 0; exit 6' 2>/dev/null
	echo "status $?"
}
is "$(interrupted env)" "status 130" "a loop at Ctrl-C"
for c in run "stat -e instructions" "stat -e task-clock" "stat -r 3 -e instructions" "record -o $tmp/int.data"; do
	# shellcheck disable=SC2086 # words
	is "$(interrupted "$ANYPERF" $c)" "status 130" "a loop around anyperf $c"
done
# shellcheck disable=SC2016 # the inner shell expands it
is "$(setsid -w env --default-signal=INT bash "$tmp/loop" "$ANYPERF" run sh -c 'exit 130')" \
	"after 1: 130
after 2: 130" "a status of 130 is no signal"

# --- whoever tells us to end means all runs, whatever the command makes of it
for s in TERM HUP; do
	cat >"$tmp/told" <<-EOF
		trap 'exit 0' $s
		echo run >>"$tmp/told.runs"
		[ "\$(wc -l <"$tmp/told.runs")" = 1 ] || exit 0
		kill -$s \$PPID
		while :; do read -r -t 1 <>"$tmp/told.fifo"; done
	EOF
	rm -f "$tmp/told.runs" "$tmp/told.fifo"
	mkfifo "$tmp/told.fifo"
	run timeout -k 5 60 "$ANYPERF" stat -r 3 -e $sw bash "$tmp/told"
	is "$(wc -l <"$tmp/told.runs")" 1 "SIG$s: no further run of -r"
done

# --- --timeout
run "$ANYPERF" stat --timeout 100 -e $sw sleep 100
is "$status" 0 "--timeout ends the command, which is no failure"
# shellcheck disable=SC2016 # the inner shell's
for ms in 200 2000 20000; do
	run "$ANYPERF" stat --timeout $ms -e $sw sh -c 'trap "exit 7" TERM; : >"$1"; while :; do sleep 0.05; done' - "$tmp/ready"
	[ -e "$tmp/ready" ] && break
done
is "$status" 7 "--timeout: a status of the command's own"
run "$ANYPERF" stat --timeout 10000 -e $sw sh -c 'kill -TERM $$'
is "$status" 143 "--timeout: somebody else's signal"
has "$tmp/err" ' task-clock ' "--timeout: the table is printed"

# --- wrong usage is 129 and one line
wrong()
{
	local regex=$1
	shift
	run "$ANYPERF" "$@"
	is "$status" 129 "129: $*"
	has "$tmp/err" "$regex" "said: $regex"
}
wrong 'Usage: anyperf '
wrong "'sttat' is not an anyperf command, did you mean 'stat'\?" sttat
wrong "'xyzzy' is not an anyperf command" help xyzzy
wrong 'no command to count' stat
wrong 'record and -r do not go together' stat -r 2 record true
wrong '-e: unknown option' stat -e cs report
wrong 'no command to count' stat -e instructions --
wrong "'foo' is not an anyperf command \('anyperf help'" foo
for command in trace sched lock probe kvm kwork kmem ftrace timechart inject data bench test config daemon buildid-list buildid-cache archive iostat kallsyms; do
	wrong "'$command' is a command of perf that is not here; [^ ]" $command
done
wrong 'anyperf stat -e syscalls' trace ls
wrong '--bogus: unknown option$' stat --bogus true
wrong '--intervall: unknown option, did you mean --interval-' stat --intervall true
wrong '--repaet=3: unknown option, did you mean --repeat\?' stat --repaet=3 true
wrong '--call-grpah: unknown option, did you mean --call-graph\?' record --call-grpah fp true
wrong '-e: needs a value' stat -e
wrong "no event is called 'bogus' \('anyperf list'" stat -e bogus true
is "$(wc -l <"$tmp/err")" 1 "an unknown event: one line"
wrong "did you mean 'branches'" stat -e instructions -e brnaches true
wrong "a group is not closed" stat -e '{instructions,branches' true
wrong "bad modifier 'q' of a group" stat -e '{instructions,branches}:q' true
wrong '-A needs -a or -C' stat -A true
wrong '--per-thread and -I go together with' stat --per-thread -I 100 true
wrong '--per-thread does not go together with -a' stat -a --per-thread true
wrong '-p and -t do not go together' stat -p 1 -t 1 true
wrong '--interval-count needs -I' stat --interval-count 2 true
wrong '-j and -x do not go together' stat -j -x, true
wrong 'needs numbers of processes' stat -p 1,x true
wrong 'needs a list of CPUs from 0 to' stat -C 100000 true
wrong 'needs milliseconds, or -1' stat -D -2 true
wrong 'needs milliseconds, or -1' stat -D 5s true
wrong 'needs a number from 1' stat -I 0 true
for ms in 9 2147483648 99999999999999999999 1s; do
	wrong '--timeout: needs milliseconds, from 10 to 2147483647$' stat --timeout $ms true
done
wrong 'needs fd:CTL' stat --control 7 true
wrong '--control: ./nonexistent: No such file' stat --control fifo:./nonexistent true
wrong "bad modifier 'q'" stat -e instructions:q true
wrong 'needs a number from 0' stat -r -1 true
wrong '--per-thread and -r do not' stat --per-thread -p $$ -r 0 true
wrong '--per-thread and -r do not' stat --per-thread -r 2 true
wrong 'needs a number' stat -r x true
wrong 'milliseconds' stat --timeout 5 true
wrong 'size' stat --cache-limit 3X true
status 0 "--cache-limit takes a suffix" "$ANYPERF" stat --cache-limit 4M -e $sw true

# --- list, help, version
run "$ANYPERF" list
is "$status" 0 "list"
has "$tmp/out" '^  instructions +exact +.' "list: exact"
has "$tmp/out" '^  context-switches OR cs +kernel +.' "list: kernel"
has "$tmp/out" '^  cycles OR cpu-cycles +modelled +.' "list: modelled"
has "$tmp/out" '^  bpf-output +unsupported +.' "list: unsupported"
"$ANYPERF" list -x'|' | awk -F'|' 'NF != 5' >"$tmp/short"
is "$(cat "$tmp/short")" "" "list -x: five fields"
is "$("$ANYPERF" list hw -x'|')" "$("$ANYPERF" list -x'|' hw)" "options behind words"
"$ANYPERF" list -x'|' | cut -d'|' -f1 | paste -sd, >"$tmp/all"
# one that has all that is modelled: several nodes, which no machine that is built in has
printf '%s\n' 'base = skylake' 'name = nodes' 'nodes = 2' >"$tmp/machine"
run "$ANYPERF" stat -x, --machine "$tmp/machine" -e "$(cat "$tmp/all")" true
is "$status" 0 "every event that list names can be asked for"
is "$(wc -l <"$tmp/err")" "$(tr , '\n' <"$tmp/all" | wc -l)" "and has its line"
"$ANYPERF" list -x'|' | awk -F'|' '$3 != "kernel" { print $1, $3 }' >"$tmp/want"
awk -F, 'NR == FNR { split($1, w, " "); kind[w[1]] = w[2]; next }
	$3 in kind { print $3, $1 == "<not supported>" ? "unsupported" : $1 ~ /^[0-9]+$/ ? $NF : "?" }' \
	"$tmp/want" "$tmp/err" >"$tmp/got"
same "$tmp/got" "$tmp/want" "of the kind that list says, and nothing but what list calls unsupported is <not supported>"
# what list says of kinds and encodings is what counting says: each event again by its code, in one run
"$ANYPERF" list -x'|' raw | awk -F'|' '$3 == "exact" { print $1 }' >"$tmp/names"
"$ANYPERF" list -x'|' raw | awk -F'|' '$3 == "exact" { print $4 }' >"$tmp/codes"
"$ANYPERF" stat -x'|' -e "$(paste -sd, "$tmp/names"),$(paste -sd, "$tmp/codes")" -o "$tmp/raw" "$PROGRAMS/branches" >"$tmp/out"
n=$(wc -l <"$tmp/names")
sed '/^#/d; /^$/d' "$tmp/raw" | cut -d'|' -f1,8 >"$tmp/counts"
is "$((n > 3)) $(head -n "$n" "$tmp/counts")" "1 $(tail -n "$n" "$tmp/counts")" "list: encodings count what names do"
is "$(grep -c '^[0-9]*|exact' "$tmp/counts")" "$((2 * n))" "and are exact"
# all that the PMU's own table names, under the name that it has there
"$ANYPERF" run -- ls /sys/bus/event_source/devices/cpu/events | sort >"$tmp/names"
"$ANYPERF" list -x'|' | cut -d'|' -f1,2 | tr '|' '\n' | sort -u >"$tmp/listed"
is "$(comm -23 "$tmp/names" "$tmp/listed" | paste -sd' ')" "" "list: all of the session's events/"
is "$("$ANYPERF" list -x'|' mem-loads | cut -d'|' -f1,3,4)" 'mem-loads|modelled|cpu/anyperf=0x36/' "list: one of them"
is "$("$ANYPERF" list -x'|' | cut -d'|' -f1 | sort | uniq -d)" "" "list: each once"
is "$("$ANYPERF" list -x'|' 'ref-*' sw | awk -F'|' '$1 == "ref-cycles" || $1 == "task-clock" { print $1, $4 }' | paste -sd,)" \
	"ref-cycles type=0 config=0x9,task-clock type=1 config=0x1" "list: a pattern, a section"
is "$("$ANYPERF" list -x'|' SYS_ENTER_OPENAT2 | cut -d'|' -f1)" syscalls:sys_enter_openat2 "list: tracepoints"
# a pattern is all tracepoints that match: those of the calls by name are those of all
"$ANYPERF" stat -x, -e 'syscalls:sys_enter_*,raw_syscalls:sys_*' -o "$tmp/calls" sh -c 'true; true | true'
is "$(awk -F, '$3 ~ /^syscalls:/ { n += $1 } END { print (n > 9), n }' "$tmp/calls")" \
	"1 $(awk -F, '$3 == "raw_syscalls:sys_enter" { print $1 }' "$tmp/calls")" "patterns of tracepoints"
is "$(grep -c raw_syscalls "$tmp/calls")" 2 "a pattern of two"
run "$ANYPERF" stat -e syscalls:sys_enter_nosuch true
is "$status $(cat "$tmp/err")" "129 anyperf stat: -e: no tracepoint is called 'syscalls:sys_enter_nosuch' ('anyperf list tracepoint' names all)" \
	"no such tracepoint"
run "$ANYPERF" list no-such-event hw
is "$status $(cat "$tmp/err")" "125 anyperf list: no event's name matches 'no-such-event'" "list: nothing matches"
has "$tmp/out" '^  instructions ' "and the rest is listed"
run "$ANYPERF" --version
has "$tmp/out" '^anyperf version [0-9]+\.[0-9]+' "--version"
run "$ANYPERF" help stat
cp "$tmp/out" "$tmp/help"
run "$ANYPERF" stat -h
same "$tmp/out" "$tmp/help" "help stat is stat -h"
has_not "$tmp/out" 'stress' "help hides what is for tests"
run "$ANYPERF" list -v --no-desc --details --deprecated hw
has "$tmp/out" '^  instructions ' "list: perf's options"
run "$ANYPERF" list --raw-dump hw sw
is "$(tr ' ' '\n' <"$tmp/out" | grep -cx 'instructions\|page-faults') $(wc -l <"$tmp/out")" "2 1" "list --raw-dump: names in a line"

# --- manual pages name what help names
for cmd in $("$ANYPERF" --help | awk '/^   [a-z0-9]+ / && $1 != "help" && $1 != "version" { print $1 }') stat-report; do
	page=$root/docs/man/anyperf-$cmd.1
	"$ANYPERF" ${cmd/-/ } --help | grep -o -- '--[a-z][a-z0-9-]*' | sed 's/^--//' | sort -u >"$tmp/options"
	missing=
	while read -r o; do
		sed 's/\\-/-/g' "$page" | grep -q -- "--$o" || missing="$missing $o"
	done <"$tmp/options"
	is "$missing" "" "anyperf-$cmd.1 has every option"
	# and help what the page has a paragraph of
	"$ANYPERF" ${cmd/-/ } --help | grep -o -- '--[a-z][a-z0-9-]*' | sort -u >"$tmp/options"
	sed 's/\\-/-/g; s/\\f[BIRP]//g' "$page" | awk 'heads && /^[.][BI]/ { print } { heads = /^[.]TP/ }' |
		grep -o -- '--[a-z][a-z0-9-]*' | sort -u >"$tmp/headings"
	is "$(comm -13 "$tmp/options" "$tmp/headings" | tr '\n' ' ')" "" "$cmd --help has every option of anyperf-$cmd.1"
done
if command -v groff >/dev/null; then
	for page in "$root"/docs/man/*.[13]; do
		is "$(groff -man -ww -T utf8 -z "$page" 2>&1)" "" "$(basename "$page") is clean"
	done
else
	lack "manual pages are clean" "no groff"
fi
echo nonsense >machine
run "$ANYPERF" stat --machine ./machine -- true
is "$status $(cat "$tmp/err")" '129 anyperf stat: --machine: ./machine: line 1: want "key = value"' \
	"a machine's file that is wrong is named"
# machine TEXT WHY NAME: refused in one line, which says why, and nothing is run
machine()
{
	run "$ANYPERF" stat --machine "$1" -- touch ran
	is "$status $(cat "$tmp/err") $(find . -name ran)" "129 anyperf stat: --machine: $1$2 " "--machine: $3"
}
printf 'base = zen3\n\0l1d.size = 1\n' >machine
machine ./machine ': no text: it has a zero byte' "a zero byte hides no line"
{ echo 'base = zen3'; yes '#' | head -c 70000; echo nonsense; } >machine
machine ./machine ': too long for a machine'\''s file: it has 64 KiB at least' "the end of a long file is not left out"
machine / ': Is a directory' "a folder"
: >machine
machine ./machine ': a line has 32, 64 or 128 bytes' "an empty file"
printf 'base = zen3\npipe.issue = 0\n' >machine
machine ./machine ': line 2: pipe.issue: not from 1 to 64' "a figure out of range"
machine ./none " is no machine that is built in ('anyperf stat --help' lists them), nor a file: No such file or directory" \
	"no file"
echo 'base = zen3' >machine
run "$ANYPERF" stat --machine ./machine -e cycles -x, -- true
is "$status $(grep -c cycles "$tmp/err")" "0 1" "--machine: a file that is right"

done_testing
