#!/bin/bash
# SPDX-License-Identifier: MIT
# stress.sh with more work and more programs
LENGTH=long . "$(dirname "$0")/stress.sh"
