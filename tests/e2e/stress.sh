#!/bin/bash
# SPDX-License-Identifier: MIT
# Injected trouble: a code cache of 64 KiB, eviction at every block, no links between blocks, no room
# for new counters, checks of data accesses, a signal every 100 microseconds.  Programs behave as natively, counts do not
# change, nothing stays behind.  LENGTH=long is for stress.long.sh.
. "$(dirname "$0")/lib.sh"
need python3 bash sort
: "${LENGTH:=short}"
# against hanging: a busy machine takes minutes for what is evicted all the time
limit=$([ "$LENGTH" = short ] && echo 120 || echo 900)

mkdir "$tmp/work"
cd "$tmp/work" || exit 1
export TMPDIR=$tmp/work
mark=AP_STRESS_MARK_$BASHPID

small=(--cache-limit 64K)
evict=(--stress evict)
unlinked=(--stress unlinked)
shapes=(--stress shapes)
checks=(--stress checks)
gaps=(--stress gaps --model-sample 3 -e cycles)
all=(--cache-limit 64K --stress "evict,unlinked")

cat >../threads.py <<'END'
import hashlib, queue, sys, threading, zlib
n = int(sys.argv[1])
q, lock, sums = queue.Queue(), threading.Lock(), {}
def work(i):
    while True:
        job = q.get()
        if job is None:
            return
        data = (b'%d ' % job) * 200
        s = zlib.crc32(hashlib.sha1(data).digest()) ^ sum(data) ^ len(str(3 ** job))
        try:
            [][job]
        except IndexError:
            s += 1
        with lock:
            sums[job] = s
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for job in range(n): q.put(job)
for t in threads: q.put(None)
for t in threads: t.join()
print(len(sums), hashlib.md5(repr(sorted(sums.items())).encode()).hexdigest())
sys.exit(5)
END
cat >../pipes.sh <<'END'
n=$1
trap 'echo trapped' USR1
for ((i = 0; i < n; i++)); do
	seq $((i * 50)) | grep 7 | sort -rn | head -n 3 | tr '\n' ' ' | sed 's/ $/;/' &
	wait
	printf '%s\n' "$(echo "$i" | (read -r x && echo $((x * x))))"
done
(kill -USR1 $$)
cat <(echo a) <(echo b) | sort -r
yes | head -n 1000 | md5sum
(exit 3) | (exit 7)
exit $((PIPESTATUS[0] * 10 + PIPESTATUS[1]))
END

# natively COMMAND...: what it does, for the next troubled runs
natively()
{
	command=("$@")
	"$@" >../native.out 2>../native.err </dev/null
	native=$?
}

# troubled NAME OPTION...: the command of natively, with trouble
troubled()
{
	local name=$1
	shift
	run timeout -k 5 "$limit" env "$mark=1" "$(anyperf_for "$@")" stat -o ../table -e instructions "$@" -- \
		"${command[@]}"
	is "$status" "$native" "$name: $*: status"
	if cmp -s ../native.out ../out && cmp -s ../native.err ../err; then
		ok "$name: $*: output"
	else
		not_ok "$name: $*: output" "$(diff -a -u ../native.out ../out | head -n 20)" \
			"$(diff -a -u ../native.err ../err | head -n 20)"
	fi
	has ../table '^ *[0-9]+ +instructions .*exact' "$name: $*: counted"
	has_not ../table 'not counted|engine fault' "$name: $*: to the end"
}

# Eviction at every block costs some 50 microseconds a block, so it is for programs that are short.
troubled_all()
{
	troubled "$1" "${small[@]}"
	troubled "$1" "${unlinked[@]}"
	troubled "$1" "${shapes[@]}"
	troubled "$1" "${gaps[@]}"
	[ "$LENGTH ${1% *}" = "short python3" ] || troubled "$1" "${checks[@]}"
	case "$LENGTH $1" in
	*"nested_calls" | *"signal_mid" | *"smc_store" | *"sig_progress" | "long c_"* | "long cxx_"* | "long set"* | "long bash"*)
		troubled "$1" "${evict[@]}"
		troubled "$1" "${all[@]}"
		;;
	esac
}

# counts FILE OPTION...: all exact events of a program
counts()
{
	local file=$1
	shift
	timeout -k 5 "$limit" env -i "$(anyperf_for "$@")" stat --deterministic -x, -o ../csv -e \
		instructions,branches,cond-branches,taken-branches,calls,returns,indirect-branches,syscalls \
		"$@" >/dev/null 2>&1 </dev/null
	awk -F, '$NF == "exact" { print $3, $1 }' ../csv >"$file"
}

for program in c_static nested_calls signal_mid and_loop branches mid_insn page_cross smc_store \
	fault_mid fork_count vfork_exec threads_count odd_prefixes; do
	counts ../want -- "$PROGRAMS/$program"
	is "$(wc -l <../want)" 8 "$program: counted"
	troubles=("${small[*]}" "${unlinked[*]}" "${shapes[*]}" "${checks[*]}" "${evict[*]}" "${all[*]}" "${gaps[*]}")
	case "$LENGTH $program" in
	"short c_static" | "short and_loop") unset "troubles[5]" ;;
	esac
	for trouble in "${troubles[@]}"; do
		# shellcheck disable=SC2086 # options without blanks in them
		counts ../got $trouble -- "$PROGRAMS/$program"
		same ../want ../got "$program: $trouble: the same counts"
	done
done

for program in c_static c_dynamic cxx_throw nested_calls signal_mid smc_store setjmp_sig \
	ucontext_switch backtrace_check; do
	natively "$PROGRAMS/$program"
	troubled_all "$program"
done
natively bash ../pipes.sh "$([ "$LENGTH" = short ] && echo 3 || echo 4)"
troubled_all "bash pipelines"
natively python3 ../threads.py "$([ "$LENGTH" = short ] && echo 20 || echo 1000)"
troubled_all "python3 threads"

# every 100 microseconds: sig_storm checks its own results
seconds=$([ "$LENGTH" = short ] && echo 1 || echo 20)
natively "$PROGRAMS/sig_storm" "$seconds"
troubled_all "a storm of signals"
natively "$PROGRAMS/sig_progress"
troubled_all sig_progress
if [ "$LENGTH" = long ]; then
	for program in sig_frame sig_jump sig_threads sig_fault sig_queue sig_syscall sig_exec \
		task_fork task_threads task_exec; do
		natively "$PROGRAMS/$program"
		troubled_all "$program"
	done
fi

is "$(grep -lsa "$mark" /proc/[0-9]*/environ | tr '\n' ' ')" "" "no process stays"
is "$(ls -A .)" "" "no file stays"
done_testing
