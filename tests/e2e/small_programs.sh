#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Small real programs behave counted as they do natively: sanitizers, coroutines, a package manager, tools that trace
# a program.  tests/e2e/more_programs.long.sh has these and the large ones.  By hand, some: small_programs.sh WORD...

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/twice.bash
. "$(dirname "$0")/twice.bash"
# shellcheck source=tests/e2e/small.bash
. "$(dirname "$0")/small.bash"
# shellcheck disable=SC2034
chosen=("$@")

sanitizers
stacks_and_rings
tracers ""
done_testing
