#!/bin/bash
# SPDX-License-Identifier: MIT
# Holds every #include of src/, tests/unit and tests/oracle to mk/layers.mk:
#   - project headers are named "module/file.h", from src/ (tests: tap/ too, or a file beside them);
#   - a module includes itself and its DEPS, or its facade where there is one, whose headers are there;
#   - internal.h stays inside its folder;
#   - abi/switches.h, whose meaning depends on the build, is included by .c files alone;
#   - freestanding modules include no libc header (their *_hosted.c may).
set -eu
layers=${1:-mk/layers.mk}
declare -A var
while IFS= read -r line; do
	[[ $line =~ ^([A-Za-z0-9_]+)\ *:=\ *(.*)$ ]] && var[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
done <"$layers"

# headers that a compiler gives without a libc, and the kernel's own
free_headers='^(std(bool|def|int|arg|atomic|noreturn|align)|limits|float|cpuid|immintrin|x86intrin)\.h$|^(linux|asm|asm-generic)/'
bad=0

complain()
{
	echo "layers: $1: $2"
	bad=1
}

has_word()
{
	[[ " $1 " == *" $2 "* ]]
}

# check_project FILE LINE MODULE HEADER
check_project()
{
	local where=$1:$2 module=$3 header=$4 owner
	owner=${header%%/*}
	if [[ $header != */* ]]; then
		[[ $1 == tests/* && -e ${1%/*}/$header ]] ||
			complain "$where" "\"$header\": write \"module/$header\""
		return
	fi
	if [[ $owner == tap && $1 == tests/* ]]; then
		return
	fi
	if ! has_word "${var[MODULES]}" "$owner"; then
		[[ $1 == tests/* && (-e tests/$header || -e ${1%/*}/$header) ]] ||
			complain "$where" "\"$header\": no module \"$owner\" in $layers"
		return
	fi
	if [[ $header == abi/switches.h && $1 != *.c ]]; then
		complain "$where" "what it has is compiled twice: only .c files may include \"$header\""
	fi
	[[ $owner == "$module" ]] && return
	if ! has_word "${var[DEPS_$module]:-}" "$owner"; then
		complain "$where" "$module may not use $owner (\"$header\"); it may use: ${var[DEPS_$module]:-nothing}"
	elif [[ -n ${var[FACADE_$owner]:-} ]] && ! has_word "${var[FACADE_$owner]}" "$header"; then
		complain "$where" "$owner is met through ${var[FACADE_$owner]}, not \"$header\""
	elif [[ $header == */internal.h ]]; then
		complain "$where" "\"$header\" belongs to $owner alone"
	fi
}

# check_system FILE LINE MODULE HEADER
check_system()
{
	[[ $1 == src/* && $1 != *_hosted.c ]] || return 0
	has_word "${var[FREESTANDING]}" "$3" || return 0
	has_word "${var[LIBC_DOORS]}" "$1" && return
	[[ $4 =~ $free_headers ]] ||
		complain "$1:$2" "<$4>: $3 is freestanding, no libc (a *_hosted.c may)"
}

# module_of FILE: in $module
module_of()
{
	local rest=${1#*/}
	case $1 in
	tests/oracle/*) module=oracle ;;
	tests/unit/*) rest=${rest#*/} module=${rest%%/*} ;;
	*) module=${rest%%/*} ;;
	esac
}

for m in ${var[MODULES]}; do
	for d in ${var[DEPS_$m]}; do
		before=" ${var[MODULES]} "
		has_word "${before#* "$m" }" "$d" || complain "$layers" "$m uses $d, which stands above it"
	done
	for header in ${var[FACADE_$m]:-}; do
		[ -e "src/$header" ] || complain "$layers" "there is no \"$header\" to meet $m through"
	done
done

mapfile -t files < <(git ls-files -co --exclude-standard -- 'src/*.[chS]' 'tests/unit/*.[chS]' 'tests/oracle/*.[chS]')
n=0
there=()
for file in "${files[@]}"; do
	[ -e "$file" ] || continue
	module_of "$file"
	n=$((n + 1))
	if [[ $module != oracle ]] && ! has_word "${var[MODULES]}" "$module"; then
		complain "$file" "no module \"$module\" in $layers"
		continue
	fi
	there+=("$file")
done
include='^[ 	]*#[ 	]*include[ 	]*(["<])([^">]+)[">].*'
while IFS=: read -r file number kind header; do
	module_of "$file"
	if [ "$kind" = '"' ]; then
		check_project "$file" "$number" "$module" "$header"
	else
		check_system "$file" "$number" "$module" "$header"
	fi
done < <(grep -nHE "$include" "${there[@]}" | sed -E "s/^([^:]*:[0-9]+:)${include#^}/\\1\\2:\\3/")
[ $bad = 0 ] || exit 1
echo "layers: $n files keep to $layers"
