#!/bin/bash
# SPDX-License-Identifier: MIT
# What samples of probes in text have of their arguments: strings, arrays, bit fields, what is at an address, the task's name.  The bytes
# are those that the kernel's trace_probe.c makes of tests/programs/probe_args.c, written down, and natively the same.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
program=$PROGRAMS/probe_args
probes=/sys/kernel/tracing/uprobe_events
group=anyperf$$

address_of()
{
	echo $((0x$(nm "$program" | awk -v name="$1" '$3 == name { print $1 }')))
}
read -r load_offset load_address < <(readelf -lW "$program" | awk '$1 == "LOAD" && $8 == "E" { print $2, $3 }')
offset_of()
{
	printf '0x%x' $(($(address_of "$1") - load_address + load_offset))
}
at_global=@$(printf '0x%x' "$(address_of global)")
at_text=@$(printf '0x%x' "$(address_of text)")
at_texts=@$(printf '0x%x' "$(address_of texts)")
# repeat HEX TIMES
repeat()
{
	printf "$1%.0s" $(seq "$2")
}

# a name, p or r, its arguments, the bytes: first the fields, then strings, then up to a multiple of 8 with 4 in front.  Of strings a
# field has where they begin (16 are in front, of r 24) and in its upper half how many bytes they have with their end.
probe=() made=() want=()
row()
{
	probe+=("$1")
	made+=("$2:$group/$1 $program:$(offset_of probed) $3")
	want+=("$4")
}
hello=68656c6c6f00 name=697473206f776e206e616d6500
row text p 's=+0(%si):string n=%dx:s32' "18000600fdffffff$hello$(repeat 00 6)"
row user p 's=+u0(%si):ustring t=+1(%si):ustring' "180006001e000500${hello}656c6c6f00$(repeat 00 1)"
row comm p 'a=$comm b=%dx:x8 c=$COMM:string' "19000d00fd26000d00$name$name$(repeat 00 1)"
row array p 'v=+4(%di):s16[5] w=+4(%di):s16' "0100feff0300fcff05000100"
row chars p 'c=+0(%si):char[3] d=%dx:char' "68656cfd"
row names p 'n=+16(%di):string[3] c=$comm' "2000040024000000240012003600""0d00""6f6e6500""746872656520776f72647320746865726500""${name}00"
row unread p 's=+0(+40(%di)):string t=+0(+0(+40(%di))):string c=$comm' "1c0000001c000d00""1c000d00$name$(repeat 00 3)"
row nothing p 'u=+0(+0(+40(%di))):u32 n=%dx:s32' "00000000fdffffff$(repeat 00 4)"
row bits p 'a=+0(%di):b4@4/32 b=+0(%di):b12@20/32 c=%dx:b3@1/8 d=+0(%di):b4@4/8[3] e=%dx:b1@31/64' "09000000ed0f0000""06""090b0d""0100000000000000"
row place p "g=$at_global:string n=$at_global:u16 h=+2($at_global):string" "1a0009006120""23000000""6120676c6f62616c00""00"
row file p "f=@+$(offset_of in_text):string g=@+$(offset_of in_text):char[2]" "16000c00696e""696e207468652066696c6500$(repeat 00 2)"
row fixed p 'i=\"imm" j=\-5:s16 k=$comm' "1a000000fbff1a000d00$name$(repeat 00 5)"
# more than a record holds: 4096 with the fields
row long p "a=$at_text:string b=$at_text:string c=\$comm" "1c00b90bd50b3b0410100000$(repeat 42 3000)00$(repeat 42 1082)00$(repeat 00 4)"
row longer p "a=$at_texts:string c=\$comm" "18000d0025000000$(repeat 41 12)00$(repeat 00 7)"
row return r 's=+0($retval):string f=@+'"$(offset_of in_text):string" "20000500250""00c00""656c6c6f00""696e207468652066696c6500$(repeat 00 3)"

# a long line by its length and its sum
short()
{
	[ ${#1} -lt 300 ] && echo "$1" || echo "${1:0:40}... ${#1} $(echo "$1" | cksum)"
}
told()
{
	short "$(sed -n "$(($2 + 1))p" "$1")"
}
for i in "${!made[@]}"; do
	echo "${made[i]}" 2>/dev/null >>$probes || break
done
ids=()
for name in "${probe[@]}"; do
	fields=16
	[ "$name" != return ] || fields=24
	ids+=("$(cat "/sys/kernel/tracing/events/$group/$name/id" 2>/dev/null):$fields")
done
if "$program" "${ids[@]}" >native 2>/dev/null; then
	run timeout -k 5 60 "$ANYPERF" run -- "$program" "${ids[@]}"
	is "$status" 0 "samples of probes with arguments are taken" || note "$(cat err)"
	for i in "${!probe[@]}"; do
		is "$(told out "$i")" "$(short "${want[i]}")" "${probe[i]}: its bytes are those of the arguments"
		# the kernel leaves in that field what its buffer had before
		[ "${probe[i]}" = nothing ] ||
			is "$(told native "$i")" "$(short "${want[i]}")" "${probe[i]}: natively as well"
	done
else
	lack "arguments of probes" "no uprobes here, or not for this user"
fi
for name in "${probe[@]}"; do
	echo "-:$group/$name" 2>/dev/null >>$probes
done
done_testing
