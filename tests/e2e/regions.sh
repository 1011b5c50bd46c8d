#!/bin/bash
# SPDX-License-Identifier: MIT
# Regions that programs name (include/anyperf/region.h): stat --regions, and what is wrong with them.  Each count is what the
# program's source says.
. "$(dirname "$0")/lib.sh"

# count WORD...: by CSV, into $tmp/regions its lines of regions and notes
count()
{
	run timeout -k 5 60 "$ANYPERF" stat --regions -x, -e instructions,branches -- "$PROGRAMS/regions" "$@"
	grep -E '^(region,|# )' "$tmp/err" >"$tmp/regions"
}

# gives NAME WORD...: standard input is what count gives
gives()
{
	local name=$1
	shift
	cat >"$tmp/want"
	count "$@"
	same "$tmp/regions" "$tmp/want" "$name"
}

gives "an empty region has no instructions" empty <<'END'
region,empty,2,0,instructions,0,0.00,0,exact
region,empty,2,0,branches,0,0.00,0,exact
END
is "$status" 0 "the status is the command's"

gives "a loop has its instructions, and an outer region not the inner one's markers" nested <<'END'
region,inner,3,0,instructions,623,207.67,21,exact
region,inner,3,0,branches,310,103.33,10,exact
region,outer,1,0,instructions,624,624.00,624,exact
region,outer,1,0,branches,310,310.00,310,exact
END

gives "a region within itself is in the sum once" recursive <<'END'
region,a,2,1,instructions,3,3.00,3,exact
region,a,2,1,branches,0,0.00,0,exact
region,b,1,0,instructions,3,3.00,3,exact
region,b,1,0,branches,0,0.00,0,exact
region,within,5,4,instructions,5,5.00,5,exact
region,within,5,4,branches,0,0.00,0,exact
END

gives "threads are added up" threads <<'END'
region,thread,400,0,instructions,40400,101.00,101,exact
region,thread,400,0,branches,20000,50.00,50,exact
END

count forks
grep ^region,child "$tmp/regions" >"$tmp/child"
printf 'region,child,1,0,%s,exact\n' instructions,61,61.00,61 branches,30,30.00,30 >"$tmp/want"
same "$tmp/child" "$tmp/want" "a fork's child has regions"
is "$(grep -c '^region,parent,1,0,' "$tmp/regions")" 2 "and the end of its parent's is no call"
is "$status" 0 "nothing is wrong with that"

gives "names are escaped" names <<'END'
region,50% {load|x},1,0,instructions,0,0.00,0,exact
region,50% {load|x},1,0,branches,0,0.00,0,exact
region,a\x1b[31m.b"c\\x09,1,0,instructions,0,0.00,0,exact
region,a\x1b[31m.b"c\\x09,1,0,branches,0,0.00,0,exact
END

gives "a region that does not end" unended <<'END'
region,unended,0,0,instructions,,,,exact
region,unended,0,0,branches,,,,exact
# region 'unended': 1 begun, 0 ended: what was not ended is not counted
END
is "$status" 125 "has a status of its own"

gives "an end without a beginning" unbegun <<'END'
region,unbegun,0,0,instructions,,,,exact
region,unbegun,0,0,branches,,,,exact
# region 'unbegun': ends without a beginning: 1
END
is "$status" 125 "likewise"

count left
is "$(grep -c '^region,outer,1,0,' "$tmp/regions")" 2 "the end of an outer region ends the inner one"
has "$tmp/regions" "# region 'left': 1 begun, 0 ended: what was not ended is not counted" "which is told"

count many 600
is "$(grep -c ',instructions,2,2.00,2,exact$' "$tmp/regions")" 512 "so many regions are counted"
has "$tmp/regions" '^# too many regions: 176 beginnings and ends of others than the first 512 are not counted$' \
	"and those beyond are told"
is "$status" 125 "with the status"

count deep 20
is "$(grep -c '20,19,instructions' "$tmp/regions")" 2 "regions in each other, 40 deep"
count deep 40
is "$(grep -c '24,23,instructions' "$tmp/regions")" 2 "48 deep at most"
has "$tmp/regions" '^# regions too deep: 32 within 48 others are not counted$' "and those beyond are told"

count fails
is "$status" 3 "a command that fails has its own status"
has "$tmp/regions" '^# no region was begun$' "a program without regions is told"

# --- other forms

run timeout -k 5 60 "$ANYPERF" stat --regions -j -e instructions -- "$PROGRAMS/regions" nested
grep '"region"' "$tmp/err" >"$tmp/regions"
cat >"$tmp/want" <<'END'
{"region" : "inner", "calls" : 3, "within" : 0, "event" : "instructions", "sum" : 623, "mean" : 207.67, "minimum" : 21, "kind" : "exact"}
{"region" : "outer", "calls" : 1, "within" : 0, "event" : "instructions", "sum" : 624, "mean" : 624.00, "minimum" : 624, "kind" : "exact"}
END
same "$tmp/regions" "$tmp/want" "JSON has a line for each"

run timeout -k 5 60 "$ANYPERF" stat --regions -e instructions -- "$PROGRAMS/regions" nested
sed -n '/^ Regions:/,$p' "$tmp/err" | grep . >"$tmp/regions"
cat >"$tmp/want" <<'END'
 Regions:
               sum               mean            minimum      event
 inner: 3 calls
               623             207.67                 21      instructions             # exact
 outer: 1 call
               624             624.00                624      instructions             # exact
END
same "$tmp/regions" "$tmp/want" "the table"

run timeout -k 5 60 "$ANYPERF" stat --regions -x, -e instructions,cycles,branch-misses -- "$PROGRAMS/regions" nested
is "$(grep -cE '^region,(inner|outer),.*,(cycles|branch-misses),.*,modelled$' "$tmp/err")" 4 "what is modelled says so"

# --- what changes nothing

run timeout -k 5 60 "$ANYPERF" stat -x, --deterministic -e instructions -- "$PROGRAMS/regions" nested
cut -d, -f1 "$tmp/err" >"$tmp/without"
run timeout -k 5 60 "$ANYPERF" stat -x, --deterministic -e instructions --regions -- "$PROGRAMS/regions" nested
grep -v ^region "$tmp/err" | cut -d, -f1 >"$tmp/with"
same "$tmp/with" "$tmp/without" "the whole program's count is the same with and without regions"
run timeout -k 5 60 "$PROGRAMS/regions" nested
is "$status" 0 "natively it runs as it is"

for stress in evict unlinked shapes requests; do
	run timeout -k 5 100 "$ANYPERF_TEST" stat --stress "$stress" --regions -x, -e instructions -- "$PROGRAMS/regions" nested
	is "$(grep -cE '^region,(inner,3,0,instructions,623,207.67,21|outer,1,0,instructions,624,624.00,624),exact$' "$tmp/err")" 2 \
		"the same with --stress $stress"
done

run timeout -k 5 60 "$ANYPERF" stat --regions -x, -e instructions -- "$PROGRAMS/regions_cc"
grep ^region "$tmp/err" | grep -v template >"$tmp/regions"
cat >"$tmp/want" <<'END'
region,guard,1,0,instructions
region,inline,3,0,instructions,6,2.00,2,exact
region,lambda,1,0,instructions,1,1.00,1,exact
END
sed -i 's/^\(region,guard,1,0,instructions\),.*/\1/' "$tmp/regions"
same "$tmp/regions" "$tmp/want" "in C++, with a region that an exception leaves"

# --- bad input

refuses()
{
	local what=$1
	shift
	run timeout -k 5 60 "$ANYPERF" stat "$@" -- true
	is "$status" 129 "$what: status"
	has "$tmp/err" "$what" "$what"
}
refuses '--regions and -r do not go together' --regions -r 2
refuses '--regions needs an event that the engine counts, as instructions' --regions -e task-clock
refuses '--regions needs an event that the engine counts, as instructions' --regions -e instructions:k
refuses '--regions of modelled events needs --model-sample 1' --regions -e cycles --model-sample 5
refuses 'record and --regions do not go together' record --regions -o "$tmp/perf.data"
run timeout -k 5 60 "$ANYPERF" stat -e instructions -- "$ANYPERF" stat --regions -e instructions -- true
is "$status" 125 "within a session regions are refused"
has "$tmp/err" 'cannot answer client requests: we are in a session ourselves' "with the reason"
done_testing
