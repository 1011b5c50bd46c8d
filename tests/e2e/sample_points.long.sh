#!/bin/bash
# SPDX-License-Identifier: MIT
#
# As sample_points.sh, with more periods.

export MORE=yes
# shellcheck source=tests/e2e/sample_points.sh
. "$(dirname "$0")/sample_points.sh"
