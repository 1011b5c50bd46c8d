#!/bin/bash
# SPDX-License-Identifier: MIT
# session_scribble.sh with many more rounds.
export ROUNDS=40 SEED=100
. "$(dirname "$0")/session_scribble.sh"
