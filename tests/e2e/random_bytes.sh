#!/bin/bash
# SPDX-License-Identifier: MIT
# --deterministic: random bytes are the same in each run, and so is the work that depends on them.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1
printf 'as it is' >plain

# counted NAME OPTION...: what the program prints, and its instructions
counted()
{
	local name=$1
	shift
	timeout -k 5 60 "$ANYPERF" stat "$@" -x, -o "$name.csv" -e instructions:u -- "$PROGRAMS/random_bytes" plain \
		</dev/urandom >"$name" 2>"$name.err"
	echo "status $?" >>"$name"
	stat_value "$name.csv" instructions >"$name.count"
}

"$PROGRAMS/random_bytes" plain </dev/urandom >native
echo "status $?" >>native
counted one --deterministic
counted two --deterministic
counted three
is "$(tail -n 1 native)" "status 0" "the program runs"

# without the bytes, and how the two of a fork take turns
shape() { sed -E 's/ [0-9a-f]{16,}$/ BYTES/' "$1" | sort; }
shape native >native.shape
shape one >one.shape
shape three >three.shape
is "$(grep -c BYTES one.shape)" 28 "fourteen ways to random bytes, in two images"
same native.shape one.shape "lengths, errors and other files are as natively"
same native.shape three.shape "without the option, too"

sort one >one.sorted
sort two >two.sorted
sort three >three.sorted
same one.sorted two.sorted "two runs have the same bytes"
check "and the same instructions" cmp one.count two.count || note "$(cat one.count two.count)"
is "$(($(cat one.count) > 2 * 2 * 1000 * 1000))" 1 "which are more than the loops'"
check "without the option they differ" test "$(cat one.sorted)" != "$(cat three.sorted)"

# long ones, beyond chance: none is another's, nor constant
grep -oE '[0-9a-f]{16,}$' one.sorted | cut -c1-16 | sort | uniq -d >twice
is "$(cat twice)" "" "each way, process and image has bytes of its own"
bytes=$(sed -n 's/^large //p' one.sorted | head -n 1 | fold -w 2 | sort | uniq -c | wc -l)
is "$((bytes > 230))" 1 "of a thousand bytes nearly every value" || note "$bytes"

# programs that one process starts by vfork
for i in 1 2; do
	timeout -k 5 60 "$ANYPERF" stat --deterministic -o table -- "$PROGRAMS/random_bytes" spawn >"spawned$i" 2>"spawned$i.err"
done
same spawned1 spawned2 "programs started by vfork have the same bytes in two runs"
is "$(grep -c '^one [0-9a-f]*$' spawned1) $(sort -u spawned1 | wc -l)" "2 2" "and each has its own" || note "$(cat spawned1)"

# a session of another command has them in the same way
for i in 1 2; do
	timeout -k 5 60 "$ANYPERF" run --deterministic -- sh -c "'$PROGRAMS/random_bytes' plain </dev/urandom | sort
		'$PROGRAMS/random_bytes' plain </dev/urandom | sort" >"shell$i" 2>"shell$i.err"
done
same shell1 shell2 "behind a shell, its pipes and its redirections, too"
is "$(grep -c '^again' shell1)" 4 "both of its programs, and what they execute"

# a filter of the program's
for input in /dev/urandom /dev/zero; do
	timeout -k 5 60 "$ANYPERF" run --deterministic -- "$PROGRAMS/random_bytes" narrow <"$input" >out 2>err
	is $? 23 "read where no other call may be made: $input" || note "$(cat err)"
done

# what the CPU and /proc give
fixed()
{
	"$ANYPERF" stat "$@" -e instructions:u -x, -o fixed.csv -- "$PROGRAMS/fixed_cpu" 2>&1
	echo "instructions $(stat_value fixed.csv instructions)"
}
"$PROGRAMS/fixed_cpu" >cpu.native
for i in 1 2; do
	fixed --deterministic=time >"cpu.time$i"
	fixed --deterministic | grep -v -e tsc -e '^instructions' >"cpu.$i"
done
fixed >cpu.free
same cpu.time1 cpu.time2 "rdrand, rdseed, names in /proc and the time stamp counter are the same in two runs"
same cpu.1 cpu.2 "without =time, too, but for the time stamp counter"
is "$(grep -c 'tsc grew by 13$' cpu.time1)" 4 "that counts instructions, and one for itself"
kinds() { sed -E -e '/^instructions/d; s/tsc.*/tsc/; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/' -e 's/[0-9a-f]{1,16} flags/N flags/' "$1"; }
kinds cpu.native >cpu.native.kinds
kinds cpu.time1 >cpu.time1.kinds
same cpu.native.kinds cpu.time1.kinds "their sizes and flags are as natively"
has cpu.time1 'uuid: .* [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' "names are as RFC 4122 has them"
is "$(grep -hE '^(uuid|rdrand 64)' cpu.time1 | sed -E 's/.*: //' | sort | uniq -d)" "" "each answer is another"
is "$(grep boot_id cpu.time1 | sed 's/.*: //' | sort -u | wc -l)" 1 "but the name of the boot"
check "without the option they differ" test "$(grep uuid cpu.free)" != "$(grep uuid cpu.time1)"

done_testing
