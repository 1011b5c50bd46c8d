#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Samples that show no registers are taken where their block is left: they name the instructions that the oracle
# names all the same, however the block was left, and also where several fall into one.  The frame pointer that their
# callchains begin with is the one that a stop at the instruction finds.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"
# shellcheck source=tests/e2e/samples.bash
. "$(dirname "$0")/samples.bash"

# shellcheck disable=SC2034 # samples_like_oracle looks at it
STRESS=behind
for name in ${NAMES:-$sampled}; do
	samples_like_oracle "$name" instructions "1 7 64 149" "$PROGRAMS/$name"
done
# shellcheck disable=SC2034
for STRESS in behind,evict behind,unlinked behind,shapes; do
	for name in ${NAMES:-branches signal_mid smc_store flags_live}; do
		samples_like_oracle "$name" instructions 7 "$PROGRAMS/$name"
	done
done

# frames STRESS: each instruction of the program's own functions, with its frame pointer
frames()
{
	mkdir "$tmp/ours"
	in_same_place env ANYPERF_DEBUG="$tmp/ours" timeout -k 5 120 "$ANYPERF" stat --deterministic -o /dev/null \
		-e instructions --stress "sample=1,frames$1" -- "$PROGRAMS/chain" >"$tmp/out" 2>&1 </dev/null
	cat "$tmp"/ours/samples.* | awk -v functions="$functions" 'BEGIN { n = split(functions, f) }
		{ for (i = 1; i < n; i += 2) if ($1 "" >= f[i] "" && $1 "" < f[i + 1] "") print }'
	rm -r "$tmp/ours"
}
functions=$(nm -S "$PROGRAMS/chain" | grep -E ' (leaf|odd|even|main)$' | while read -r at size _; do
	printf '%x %x ' $((16#$at)) $((16#$at + 16#$size))
done)
frames "" >"$tmp/want"
frames ,behind >"$tmp/got"
same "$tmp/want" "$tmp/got" "frame pointers of $(wc -l <"$tmp/want") instructions"
is "$(($(wc -l <"$tmp/want") > 10000))" 1 "so many there are"

# Marks that had been passed when the thread first saw its sampler: where it is then, and not where it once stood.
cat >"$tmp/spin.c" <<'END'
volatile long n;
int main(void)
{
	while (n < 400000000)
		n++;
	return 0;
}
END
gcc -O1 -o "$tmp/spin" "$tmp/spin.c" || exit 1
for opts in "-F 5000" "-F 5000 -g" "-c 100003 -g" "-F 5000 -d"; do
	# shellcheck disable=SC2086 # words
	run timeout -k 5 60 "$ANYPERF" record -q -o "$tmp/data" -D 200 $opts -- "$tmp/spin"
	is "$("$ANYPERF" script -i "$tmp/data" -F ip,sym | awk 'NF == 2 && n++ < 8 { print $2 }' | sort -u | xargs)" main \
		"record -D $opts: the first samples are of the loop" || note "$("$ANYPERF" script -i "$tmp/data" -F ip,sym | head -n 8)"
done
done_testing
