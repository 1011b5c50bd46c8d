#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Writes src/model/gen/cost_rows.inc: what llvm-mca (of LLVM, Apache-2.0 with LLVM exception) says of one instruction that
# stands for each class of x86/cost.h, for the generations of model/cost.c.  Classes that it is known to be wrong about, or
# that no one instruction stands for, are not here: cost.c has them.
#
# make gen runs it.

set -eu -o pipefail
: "${MCA:=llvm-mca-14}"

# class, instruction (AT&T), by the class's order
classes()
{
	cat <<-'END'
	ALU add %rax, %rbx
	SHIFT shl $3, %rax
	BITS popcnt %rax, %rbx
	MUL imul %rax, %rbx
	BRANCH jne 1f
	VLOGIC pand %xmm0, %xmm1
	VINT paddd %xmm0, %xmm1
	VMUL pmuludq %xmm0, %xmm1
	SHUFFLE pshufd $27, %xmm0, %xmm1
	CROSS vpermq $27, %ymm0, %ymm1
	FADD addsd %xmm0, %xmm1
	FMUL mulsd %xmm0, %xmm1
	FMA vfmadd231sd %xmm0, %xmm1, %xmm2
	FDIV32 divss %xmm0, %xmm1
	FDIV64 divsd %xmm0, %xmm1
	FSQRT32 sqrtss %xmm0, %xmm1
	FSQRT64 sqrtsd %xmm0, %xmm1
	CONVERT cvtsi2sd %rax, %xmm0
	ROUND roundsd $1, %xmm0, %xmm1
	END
}

# table CPU: class, micro-operations, latency, then NAME=CYCLES of each resource that is used
table()
{
	{
		classes | cut -d ' ' -f 2-
		echo 1:
	} | "$MCA" -mtriple=x86_64 -mcpu="$1" -instruction-tables -iterations=1 2>/dev/null |
		awk -v classes="$(classes | cut -d ' ' -f 1 | tr '\n' ' ')" '
		BEGIN { n = split(classes, class, " ") }
		/^\[[0-9.]+\] +- / { name[resources++] = $3; next }
		/^\[1\] +\[2\]/ { part = "info"; next }
		/^Resource pressure by instruction/ { part = "pressure"; getline; next }
		/^ *$/ || /^Resource/ { if (part == "info") part = ""; next }
		part == "info" { ops[++i] = $1; latency[i] = $2 }
		part == "pressure" {
			line = ++k
			for (f = 1; f <= resources; f++)
				if ($f != "-")
					used[line] = used[line] " " name[f - 1] "=" $f
		}
		END {
			if (i != n || k != n)
				exit 1
			for (line = 1; line <= n; line++)
				print class[line], ops[line], latency[line] used[line]
		}'
}

# The three tables to rows.  Ports are written with the names of cost.c.
rows()
{
	awk '
	function port(resource) {
		if (resource ~ /^(SKL|ICX)Port[0156]$/)
			return "P" substr(resource, length(resource))
		if (resource ~ /FPDivider$/)
			return "FDIV"
		if (resource ~ /^Zn3ALU[0-3]$/)
			return "A_" substr(resource, length(resource))
		if (resource ~ /^Zn3BRU1$/)
			return "A_BR"
		if (resource ~ /^Zn3FPP[0-3]$/)
			return "F" substr(resource, length(resource))
		return ""
	}
	{
		class = $1
		if (!(class in seen)) {
			seen[class] = ++classes
			order[classes] = class
			ops[class] = 0
		}
		lat[FILENAME, class] = $3
		if (FILENAME == "skylake")
			ops[class] = $2
		set = ""; most = 0; divider = class ~ /^F(DIV|SQRT)/
		for (f = 4; f <= NF; f++) {
			split($f, pair, "=")
			name = port(pair[1])
			if (name == "")
				continue
			if (divider) {
				if (name == "FDIV" || FILENAME == "znver3")
					most = pair[2]
				set = "FDIV"
				continue
			}
			set = set (set == "" ? "" : " | ") name
		}
		busy[FILENAME, class] = int(most + 0.5)
		ports[FILENAME, class] = set == "" ? 0 : set
	}
	END {
		print "/* SPDX-License-Identifier: MIT */"
		print "/* Written by tools/gen-costs.sh from LLVM 14.  Latency, operations, ports, cycles that a port is taken. */"
		for (i = 1; i <= classes; i++) {
			c = order[i]
			printf "[AP_COST_%s] = { { %d, %d, %d }, %d, %s, %s, { %d, %d, %d } },\n", c,
				lat["skylake", c], lat["icelake-server", c], lat["znver3", c], ops[c],
				ports["skylake", c], ports["znver3", c], busy["skylake", c],
				busy["icelake-server", c], busy["znver3", c]
		}
	}' skylake icelake-server znver3
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for cpu in skylake icelake-server znver3; do
	found=$(table "$cpu") || {
		echo "gen-costs: $MCA says nothing of $cpu (Debian: apt-get install llvm-14)" >&2
		exit 1
	}
	echo "$found" >"$cpu"
done
rows
