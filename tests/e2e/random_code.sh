#!/bin/bash
# SPDX-License-Identifier: MIT
# Random instruction sequences (programs/random_code.c): registers, flags, vector registers and
# memory come out counted as they do natively, also with signals in between and under stress.
# SEEDS, ROUNDS and STRESS (rounds under eviction at every block) may be set;
# random_code.long.sh runs many more.
. "$(dirname "$0")/lib.sh"
: "${FIRST:=1}" "${SEEDS:=6}" "${ROUNDS:=300}" "${STRESS:=1}"

[ -x "$PROGRAMS/random_code" ] || skip_all "no Zydis"
cd "$tmp" || exit 1
# what logs for the models and what does not, in turns of some thousand instructions
gaps=(--stress gaps --model-sample 3 -e cycles)

# counted NAME SEED ROUNDS [OPTION...]
counted()
{
	local name="seed $2, $3 rounds: $1" seed=$2 rounds=$3
	shift 3
	"$PROGRAMS/random_code" "$seed" "$rounds" >want || not_ok "$name: natively"
	run timeout -k 5 250 "$(anyperf_for "$@")" stat -o table -e instructions,branches "$@" -- \
		"$PROGRAMS/random_code" "$seed" "$rounds"
	is "$status $(wc -l <out)" "0 $rounds" "$name: runs"
	same want out "$name: the same state"
	has_not table 'not counted: .*random_code' "$name: counted"
}

for ((seed = FIRST; seed < FIRST + SEEDS; seed++)); do
	counted "as it is" "$seed" "$ROUNDS"
	counted "unlinked" "$seed" "$((ROUNDS / 10))" --stress unlinked
	counted "checks of accesses" "$seed" "$ROUNDS" --stress checks
	counted "nothing below 4 GiB" "$seed" "$((ROUNDS / 10))" --stress far
	counted "nothing below 4 GiB, checks" "$seed" "$((ROUNDS / 10))" --stress far,checks
	RANDOM_CODE_TICK=1 counted "signals" "$seed" "$ROUNDS"
	counted "two versions of code" "$seed" "$((ROUNDS / 3))" "${gaps[@]}"
	RANDOM_CODE_TICK=1 counted "two versions, signals" "$seed" "$((ROUNDS / 10))" "${gaps[@]}"
	counted "a small cache" "$seed" "$((ROUNDS / 30))" --cache-limit 64K
done

# These have found what others did not: loop behind a comparison of rcx, kortest behind one.
for seed in 1027 1036 1042 1050; do
	counted "as it is" "$seed" 300
done

# A block at a time is slow, Zydis' own work included.
for ((seed = FIRST; seed < FIRST + 2; seed++)); do
	counted "evict" "$seed" "$STRESS" --stress evict
	counted "evict, unlinked" "$seed" "$STRESS" --stress evict,unlinked
done
done_testing
