#!/bin/bash
# SPDX-License-Identifier: MIT
# random_code.sh with many more seeds, and eviction for longer
export FIRST=1000 SEEDS=100 ROUNDS=300 STRESS=8
. "$(dirname "$0")/random_code.sh"
