# SPDX-License-Identifier: MIT
#
# The table of cycles.sh, of lines KIND NAME CYCLES NANOSECONDS: how far cycles at the clock of `adds` are from time,
# and Spearman's rank correlation of both.

{
	kind[NR] = $1; name[NR] = $2; cycles[NR] = $3; ns[NR] = $4
	if ($2 == "adds")
		clock = $3 / $4
}

# ranks(V, R, N): the rank of each; equal ones share theirs
function ranks(v, r, n,   i, k, below, same)
{
	for (i = 1; i <= n; i++) {
		below = same = 0
		for (k = 1; k <= n; k++) {
			below += v[k] < v[i]
			same += v[k] == v[i]
		}
		r[i] = below + (same + 1) / 2
	}
}

function correlation(a, b, n,   i, ma, mb, saa, sbb, sab)
{
	for (i = 1; i <= n; i++) {
		ma += a[i] / n
		mb += b[i] / n
	}
	for (i = 1; i <= n; i++) {
		saa += (a[i] - ma) ^ 2
		sbb += (b[i] - mb) ^ 2
		sab += (a[i] - ma) * (b[i] - mb)
	}
	return saa && sbb ? sab / sqrt(saa * sbb) : 1
}

function summary(which,   i, n, sum, within, c, t, rc, rt)
{
	for (i = 1; i <= NR; i++) {
		if (which != "" && kind[i] != which)
			continue
		n++
		c[n] = cycles[i]; t[n] = ns[i]
		sum += error[i] < 0 ? -error[i] : error[i]
		within += error[i] > -25 && error[i] < 25
	}
	if (!n)
		return
	ranks(c, rc, n)
	ranks(t, rt, n)
	printf "%s: %d rows, mean absolute error %.0f %%, within 25 %%: %d, rank correlation %.2f\n",
		which == "" ? "all" : which "s", n, sum / n, within, correlation(rc, rt, n)
}

END {
	if (!clock) {
		print "cycles.awk: no row adds, which gives the clock" > "/dev/stderr"
		exit 1
	}
	printf "machine %s, clock by adds %.2f GHz\n\n", machine, clock
	print "| | cycles, million | time, ms | cycles per ns | error |"
	print "|---|---|---|---|---|"
	for (i = 1; i <= NR; i++) {
		error[i] = 100 * (cycles[i] / clock / ns[i] - 1)
		printf "| %s | %.1f | %.2f | %.2f | %+.0f %% |\n",
			name[i], cycles[i] / 1e6, ns[i] / 1e6, cycles[i] / ns[i], error[i]
	}
	print ""
	summary("kernel")
	summary("program")
	summary("")
}
