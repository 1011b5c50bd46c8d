# SPDX-License-Identifier: MIT
#
# Lines "program column state cpu-seconds wall-seconds" (state ok or the reason why not) become a table of the
# median time natively and the ratio of medians for each other column.
# -v columns="native none ..." gives the order, -v time=5 the column of the time (4 unless told).

function median(list,    v, n, i, j, x)
{
	n = split(list, v, " ")
	for (i = 2; i <= n; i++) {
		x = v[i] + 0
		for (j = i - 1; j >= 1 && v[j] + 0 > x; j--)
			v[j + 1] = v[j]
		v[j + 1] = x
	}
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}

function unblank(text)
{
	gsub("_", " ", text)
	return text
}

function cell(program, column,    ratio)
{
	if ((program, column) in why)
		return unblank(why[program, column])
	if (!((program, column) in times))
		return "-"
	ratio = median(times[program, column]) / median(times[program, "native"])
	sum[column] += log(ratio)
	count[column]++
	if (ratio > worst[column]) {
		worst[column] = ratio
		who[column] = program
	}
	return sprintf("%.2f", ratio)
}

!($1 in seen) { seen[$1] = 1; order[++programs] = $1 }
$3 != "ok" { why[$1, $2] = $3 }
$3 == "ok" { times[$1, $2] = times[$1, $2] " " $(time ? time : 4) }

END {
	ncolumns = split(columns, name, " ")
	printf "| program | native s |"
	for (c = 2; c <= ncolumns; c++)
		printf " %s |", name[c]
	printf "\n|---|---:|"
	for (c = 2; c <= ncolumns; c++)
		printf "---:|"
	print ""
	for (p = 1; p <= programs; p++) {
		printf "| %s | %.2f |", order[p], median(times[order[p], "native"])
		for (c = 2; c <= ncolumns; c++)
			printf " %s |", cell(order[p], name[c])
		print ""
	}
	printf "| **geometric mean** | |"
	for (c = 2; c <= ncolumns; c++)
		printf count[name[c]] ? " **" sprintf("%.2f", exp(sum[name[c]] / count[name[c]])) "** |" : " - |"
	printf "\n| worst | |"
	for (c = 2; c <= ncolumns; c++)
		printf count[name[c]] ? " " sprintf("%.2f", worst[name[c]]) " " who[name[c]] " |" : " - |"
	printf "\n| programs | %d |", programs
	for (c = 2; c <= ncolumns; c++)
		printf " %d |", count[name[c]]
	print ""
}
