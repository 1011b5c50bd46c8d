#!/bin/bash
# SPDX-License-Identifier: MIT
# session_kill.sh with many more rounds.
export ROUNDS=60 SEED=1000
. "$(dirname "$0")/session_kill.sh"
