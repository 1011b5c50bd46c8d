#!/bin/bash
# SPDX-License-Identifier: MIT
# Files by name (docs/design/files.md): what another user left in a folder that all may write aims no output, whatever the command;
# inputs are never waited for; new files have the modes that they should; nothing of another user's is believed or run.
. "$(dirname "$0")/lib.sh"
need python3 gcc

cd "$tmp" || exit 1
umask 022
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
prog=$PROGRAMS/c_static
"$ANYPERF" record -q -e instructions -o p.data -- "$prog" >/dev/null
"$ANYPERF" stat record -o s.data -e instructions -- "$prog" >/dev/null 2>&1
"$ANYPERF" gate record --baseline base.json -- "$prog" >/dev/null 2>&1
is "$(stat -c %a p.data s.data base.json | xargs)" "600 600 644" "profiles are for their owner, baselines by umask"

# Commands that write: WRITE_TO is where the file's name goes.  LATE ones know only at their end that they cannot.
writers=(
	"stat -e instructions -o WRITE_TO -- $prog"
	"stat -e instructions --append -o WRITE_TO -- $prog"
	"stat record -e instructions -o WRITE_TO -- $prog"
	"stat report -i s.data -o WRITE_TO"
	"record -q -e instructions -o WRITE_TO -- $prog"
	"record -q -e instructions --switch-output=1M -o WRITE_TO -- $prog"
	"export -q -i p.data -f collapsed -o WRITE_TO"
	"export -q -i p.data -f flamegraph -o WRITE_TO"
	"perfex -e 0x004300c0 -o WRITE_TO -- $prog"
	"gate record --baseline WRITE_TO -- $prog"
	"gate --baseline base.json --max instructions=+5% --json WRITE_TO -- $prog"
	"gate --baseline base.json --max instructions=+5% --markdown WRITE_TO -- $prog"
)
# write_by COMMAND NAME
write_by()
{
	local words
	read -ra words <<<"$1"
	run timeout -k 5 60 env -u GITHUB_STEP_SUMMARY "$ANYPERF" "${words[@]/WRITE_TO/$2}"
}
# called COMMAND: what it is called in names of tests
called()
{
	local words
	read -ra words <<<"$1"
	echo "${words[*]:0:4} ${words[6]:-}"
}

# --- where all is well
mkdir own
for command in "${writers[@]}"; do
	rm -rf own/*
	write_by "$command" own/file
	found=$(find own -type f | head -n 1)
	is "$status $([ -s "$found" ] && echo some)" "0 some" "$(called "$command"): writes its file" || note "$(cat err)"
	is "$(find own -name '*.??????' | grep -v 'json$' | wc -l)" 0 "and leaves nothing beside it"
	case $command in
	record* | 'stat record'*) want=600 ;;
	*) want=644 ;;
	esac
	is "$(stat -c %a "$found")" "$want" "its mode is $want"
	# shellcheck disable=SC2216 # to see that it is not read
	case $command in
	*switch-output*) ;;
	*)
		rm -rf own/*
		ln -s file own/link
		write_by "$command" own/link
		is "$status $(readlink own/link) $(find own -name file -type f -size +0)" "0 file own/file" \
			"through a link of one's own, which stays one"
		;;
	esac
done
(umask 077 && write_by "${writers[0]}" own/narrow)
is "$(stat -c %a own/narrow)" 600 "a narrow umask is kept"
: >own/mine && chmod 4751 own/mine
write_by "${writers[0]}" own/mine
is "$(stat -c %a own/mine)" 751 "a file that is replaced keeps its mode, without set-uid"
chmod 666 own/mine
write_by "${writers[4]}" own/mine
is "$(stat -c %a own/mine)" 600 "but where it is a profile"
ln -s /dev/stdout own/out
write_by "${writers[0]}" own/out
has out 'instructions' "a link to /dev/stdout is standard output"
write_by "${writers[0]}" /dev/full
has err 'No space left' "a device is written straight"
is "$(ls -l /dev/full | cut -c1)" c "and stays one"
"$ANYPERF" stat -e instructions -o /dev/fd/7 -- "$prog" 7>own/seven >/dev/null
has own/seven instructions "a descriptor's name is its file"
name=$(printf 'n%.0s' {1..255})
write_by "${writers[0]}" "own/$name"
is "$status $([ -s "own/$name" ] && echo some)" "0 some" "a name as long as one may be"
mkdir goes
run "$ANYPERF" stat -e instructions -o goes/file -- rmdir goes
is "$status $(cat err)" "125 anyperf: cannot write output file goes/file: No such file or directory" "a folder that has gone meanwhile is said"
write_by "${writers[0]}" own/
has err 'cannot write output file own/: Is a directory' "a folder is refused"
write_by "${writers[0]}" none/file
has err 'cannot write output file none/file: No such file' "as is one in no folder"

# --- what another user left in a folder that all may write
mkdir shared private
chmod 1777 shared
if [ "$(id -u)" = 0 ]; then
	echo precious >victim
	chmod 600 victim
	chmod 755 "$tmp"
	cp victim was
	# what there is, beside what tests write
	all()
	{
		find . -mindepth 1 \( -name out -o -name err \) -prune -o -printf '%p %y %s %u %m %n %T@ %l\n' | sort
	}
	# refused NAME WHY all|append: by every command, or those that append, at once, and nothing is different
	refused()
	{
		local command before
		before=$(all)
		for command in "${writers[@]}"; do
			case $command in
			*--append*) ;;
			*) [ "$3" != append ] || continue ;;
			esac
			write_by "$command" "$1"
			is "$([ "$status" != 0 ] && grep -cE "$2" err)" 1 "$(called "$command"): $1 is refused" || note "$status $(cat err)"
			same victim was "and nothing of it has reached the file behind"
		done
		run env GITHUB_STEP_SUMMARY="$1" "$ANYPERF" gate --baseline base.json --max instructions=+5% --github-summary -- "$prog"
		has err "$2" "GITHUB_STEP_SUMMARY: $1 is refused"
		is "$(all)" "$before" "no file has come, gone or changed"
	}
	link_of='another user.s link, in a folder that others may write, is not followed'
	file_of='another user.s file, in a folder that others may write, is not written to'
	"${as_nobody[@]}" ln -s "$tmp/victim" shared/link
	"${as_nobody[@]}" ln -s "$tmp/private/new" shared/dangling
	"${as_nobody[@]}" ln -s "$tmp/private" shared/folder
	"${as_nobody[@]}" ln -s link shared/twice
	"${as_nobody[@]}" sh -c 'umask 0; echo theirs >shared/theirs; mkfifo shared/fifo'
	refused shared/link "$link_of" all
	refused shared/dangling "$link_of" all
	refused shared/folder/new "$link_of" all
	refused shared/twice "$link_of" all
	refused shared/theirs "$file_of" all
	refused shared/fifo "$file_of" all
	chmod 1775 shared
	refused shared/link "$link_of" all
	chmod 1777 shared
	# as what fs.protected_hardlinks=0 lets anybody make, whosever the folder is; a new file of that name is no matter
	ln victim shared/hard
	for owner in 0 65534; do
		chown "$owner" shared
		refused shared/hard "$file_of" append
	done
	chown 0 shared
	rm shared/hard

	# what the kernel's rule lets pass: a link of ours, of the folder's owner, and any link elsewhere
	ln -s "$tmp/own/through" shared/ours
	write_by "${writers[0]}" shared/ours
	is "$status $([ -s own/through ] && echo some)" "0 some" "a link of ours is followed"
	mkdir theirs
	chown 65534 theirs
	"${as_nobody[@]}" ln -s "$tmp/own/elsewhere" theirs/link
	write_by "${writers[0]}" theirs/link
	is "$status $([ -s own/elsewhere ] && echo some)" "0 some" "one in a folder that is its owner's alone, too"
	echo '#' >theirs/root
	chmod 666 theirs/root
	ln -s "$tmp/theirs/root" shared/roots
	run "${as_nobody[@]}" "$ANYPERF" stat -e instructions --append -o shared/roots -- "$prog"
	is "$status $(grep -c instructions theirs/root)" "0 1" "and for others one of the folder's owner"
	run timeout -k 5 60 "$ANYPERF" record -q --control fifo:shared/fifo -e instructions -o own/file -- "$prog"
	has err "shared/fifo: $file_of" "--control: another user's FIFO is not listened to"

	# what cannot be replaced at the end is said before the command is begun
	# shellcheck disable=SC2016 # the inner shell's
	"${as_nobody[@]}" sh -c 'umask 0; echo mine >"$1"/prof; echo mine >"$1"/prof2' sh "$tmp/shared"
	echo old >shared/prof.old
	mkdir shared/prof2.old
	echo root >shared/of_root
	before=$(ls -lR shared)
	for name in prof prof2 of_root; do
		rm -f shared/ran
		run "${as_nobody[@]}" "$ANYPERF" record -q -e instructions -o "shared/$name" -- touch shared/ran
		is "$status $(ls -lR shared)" "125 $before" "$name, which cannot be replaced: nothing is run, and all is as it was"
		case $name in
		prof*) has err "shared/$name: its .old, which would be replaced, is another user's or a folder" "and a line says so" ;;
		*) has err "shared/$name: $file_of" "and a line says so" ;;
		esac
	done
	rm -r shared/prof* shared/of_root
	mkdir open
	chmod 777 open
	run env TMPDIR="$tmp/open" "$ANYPERF" gate record --functions --baseline own/f.json -- "$prog"
	has err 'TMPDIR: others may rename files there' "TMPDIR: a folder where others rename what is there is refused"
	run env TMPDIR="$tmp/open" "$ANYPERF" doctor
	has out "^ less +temporary files +$tmp/open: others may rename files there" "doctor says so"
	is "$(ls -A open)" "" "and left alone"
	for mode in 755 1777; do
		chmod $mode theirs
		run env TMPDIR="$tmp/theirs" "$ANYPERF" gate record --functions --baseline own/f.json -- "$prog"
		has err 'TMPDIR: others may rename files there' "so is another user's, of mode $mode"
	done
	chmod 755 theirs
	mkdir temporary
	# shellcheck disable=SC2016 # the inner shell's
	run env TMPDIR="$tmp/temporary" "$ANYPERF" gate record --functions --baseline own/f.json -- \
		sh -c 'find "$TMPDIR" -mindepth 1 >>seen; exec "$1"' sh "$prog"
	is "$status $(wc -c <seen) $(grep -c functions own/f.json)" "0 0 1" \
		"what is recorded for it has no name there that could be given to another file" || note "$(cat err seen)"
else
	lack "links, files and FIFOs of other users" "only root can be somebody else"
fi

# --- inputs
readers=(
	"report --stdio -i READ" "script -i READ" "annotate --stdio -i READ" "diff READ p.data" "diff p.data READ" "evlist -i READ"
	"export -q -o - -i READ" "mem report --stdio -i READ" "c2c report --stdio -i READ" "stat report -i READ"
	"gate --baseline READ --max instructions=+5% -- $prog" "stat --machine READ -- $prog" "stat --metric-file READ -M x -- $prog" "list metrics --metric-file READ" "report --stdio -i p.data --kallsyms READ" "script -i p.data --kallsyms READ"
)
# read_by COMMAND NAME
read_by()
{
	local words
	read -ra words <<<"$1"
	run timeout -k 5 60 "$ANYPERF" "${words[@]/#READ/$2}"
}
mkfifo fifo
for command in "${readers[@]}"; do
	read_by "$command" fifo
	is "$([ "$status" != 0 ] && grep -cE 'fifo:? .*is a FIFO, which may never have a writer' err)" 1 \
		"$(called "$command"): a FIFO is refused at once" || note "$status $(cat err)"
	is "$(grep -c . err | sed 's/^[12]$/few/')" few "in a line"
	read_by "$command" /dev/zero
	is "$([ "$status" != 0 ] && grep -cE '/dev/zero:? .*is no regular file' err)" 1 "and a device" || note "$status $(cat err)"
done
"$ANYPERF" record -q -e instructions -o - -- "$prog" >stream 2>/dev/null
"$ANYPERF" script -i stream >want 2>/dev/null
cat stream >fifo &
run timeout -k 5 60 "$ANYPERF" script --force -i fifo
same out want "--force: a FIFO that has a writer is read"
wait
run timeout -k 5 60 bash -c '"$0" script -i <(cat stream)' "$ANYPERF"
same out want "a pipe that a shell made is read as it is"
if [ "$(id -u)" = 0 ]; then
	cp p.data other.data
	chown 65534 other.data
	for command in "${readers[@]:0:9}"; do
		read_by "$command" other.data
		has err 'other.data: is not owned by the current user or root \(--force reads it\)$' \
			"$(called "$command"): another user's profile is refused"
		read_by "${command/ / --force }" other.data
		has_not err 'not owned' "and read with --force"
	done
	# as record --threads writes it: a folder, whose files are judged, too
	mkdir other.folder
	cp p.data other.folder/data
	chown 65534 other.folder
	run "$ANYPERF" script -i other.folder
	is "$status $(wc -c <out)" "125 0" "another user's folder is refused"
	has err 'other.folder: is not owned by the current user or root \(--force reads it\)$' "and a line says so"
	chown 0 other.folder
	chown 65534 other.folder/data
	run "$ANYPERF" script -i other.folder
	is "$status $(wc -c <out)" "125 0" "so is another user's file in a folder of ours"
	has err 'data: is not owned by the current user or root' "and a line says so"
	run "$ANYPERF" script --force -i other.folder
	is "$status $(wc -l <err)" "0 0" "--force reads both" || note "$(cat err)"
	run "$ANYPERF" script -i p.data
	cp out plain
	run "$ANYPERF" script --force -i other.folder
	same out plain "as if it were no folder"
	chown 0 other.folder/data
	: >other.folder/data.0
	chown 65534 other.folder/data.0
	run "$ANYPERF" script -i other.folder
	has err 'data.0 cannot be read: is not owned by the current user or root' "nor is one of its parts read"

	# another user's pipe, by a link that leads to that user's descriptor
	python3 -c 'import os, time; os.setuid(65534); os.dup2(os.pipe()[0], 7); os.write(1, b"%d" % os.getpid()); time.sleep(300)' >started &
	wait_for 60 test -s started
	theirs=$(cat started)
	ln -s "/proc/$theirs/fd/7" pipe
	run timeout -k 5 20 "$ANYPERF" script -i pipe
	is "$status" 125 "another user's pipe, through a link to its descriptor, is not waited for"
	has err 'pipe: is not owned by the current user or root' "and a line says so"
	run timeout -k 5 20 "$ANYPERF" script -i p.data --kallsyms pipe
	has err 'pipe:? .*is a FIFO, which may never have a writer' "nor where the owner is no matter"
	kill "$theirs"
	wait
	# but given to us it is an input as any
	cat >given.py <<'END2'
import os, sys
os.seteuid(65534)
r, w = os.pipe()
os.seteuid(0)
if not os.fork():
    os.close(r)
    os.write(w, open('stream', 'rb').read(60000))
    os._exit(0)
os.close(w)
os.dup2(r, 0)
os.execv(sys.argv[1], sys.argv[1:])
END2
	run python3 given.py "$ANYPERF" script -i /dev/stdin
	same out want "a pipe of another user's that is our standard input is read as it is"
else
	lack "profiles of other users" "only root can be somebody else"
fi

# --- what is believed, and run
cat >jit.c <<'END2'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	/* mov $500000, %eax; 1: dec %eax; jnz 1b; ret */
	static const unsigned char code[] = { 0xb8, 0x20, 0xa1, 0x07, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };
	char *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), name[64];
	FILE *f;
	memcpy(at, code, sizeof(code));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(name, "w");
	fprintf(f, "%lx 10 made_by_jit\n", (long)at);
	fclose(f);
	puts(name);
	((void (*)(void))at)();
	return 0;
}
END2
gcc -O1 -o jit jit.c || exit 1
map=$("$ANYPERF" record -q -e instructions -c 10000 -o jit.data -- ./jit 2>err)
"$ANYPERF" report --stdio -i jit.data >out 2>err
has out made_by_jit "a perf map of ours names code"
if [ "$(id -u)" = 0 ]; then
	chown 65534 "$map"
	for command in "report --stdio" script "export -q -f collapsed -o -" "annotate --stdio"; do
		# shellcheck disable=SC2086 # words
		run "$ANYPERF" $command -i jit.data
		has_not out made_by_jit "$command: another user's does not"
		[[ $command = annotate* ]] ||
			is "$(grep -c "^anyperf: $map: is not owned by the current user or root; it was not used$" err)" 1 "and a line says so"
	done
	run "$ANYPERF" report --stdio -f -i jit.data
	has out made_by_jit "with --force it does"
	# its owner's own process, while it lives: of the pid in the map's name
	# shellcheck disable=SC2016 # the inner shell's
	"${as_nobody[@]}" sh -c 'echo $$; read -r _ <"$1"' sh fifo >alive &
	wait_for 60 test -s alive
	own=/tmp/perf-$(cat alive).map
	python3 - "$map" "$own" jit.data <<'END2'
import re, struct, sys
pid = lambda name: int(re.search(r'perf-(\d+)\.map', name).group(1))
data = open(sys.argv[3], 'rb').read()
# every record that has the pid has it as an aligned word
open('alive.data', 'wb').write(data.replace(struct.pack('<I', pid(sys.argv[1])), struct.pack('<I', pid(sys.argv[2]))))
END2
	chmod 600 alive.data
	cp -p "$map" "$own"
	run "$ANYPERF" report --stdio -i alive.data
	has out made_by_jit "a map of its process's owner is believed while that lives"
	echo >fifo
	wait
	run "$ANYPERF" report --stdio -i alive.data
	has_not out made_by_jit "and no longer"
	rm -f "$own"
	mkdir home
	chown 65534 home
	run env HOME="$tmp/home" "$ANYPERF" report --stdio -i p.data
	is "$(grep -c "^anyperf: $tmp/home: is not owned by the current user or root; it was not used$" err)" 1 \
		"HOME that is another user's is not looked into, and a line says so"
	has_not out "$tmp/home" "(nothing else is said)"

	if command -v objdump >/dev/null; then
		mkdir planted
		printf '#!/bin/sh\necho "$0" >>%s/ran\nexec %s "$@"\n' "$tmp" "$(command -v objdump)" >planted/objdump
		chmod 755 planted/objdump
		# tried HOW NAME: with PATH beginning so
		tried()
		{
			rm -f ran
			run env PATH="$1:$PATH" "$ANYPERF" annotate --stdio -i p.data
			is "$status $(sort -u ran 2>/dev/null)" "0 ${3:-}" "$2"
		}
		chmod 755 planted
		tried "$tmp/planted" "an objdump of ours, in a folder of ours" "$([ -k "$tmp/.." ] && echo "$tmp/planted/objdump")"
		chown 65534 planted
		tried "$tmp/planted" "not in a folder of another user's"
		chown 0 planted
		chown 65534 planted/objdump
		tried "$tmp/planted" "nor one that is another user's"
		chown 0 planted/objdump
		chmod 777 planted
		tried "$tmp/planted" "nor in one that all may write"
		chmod 755 planted
		cd planted || exit 1
		run env PATH=".:$PATH" "$ANYPERF" annotate --stdio -i ../p.data
		cd .. || exit 1
		is "$(cat ran 2>/dev/null)" "" "nor in the working folder"
	else
		skip "a planted objdump" "no objdump"
	fi
else
	lack "maps, a home and helpers of other users" "only root can be somebody else"
fi
rm -f "$map"

# --- lint finds calls that pass it by
cat >passes.c <<'END2'
/* fopen(path, "r") */
static int f(const char *path) { return open(path, 0); }
static void *g(const char *path) { return fopen(path, "w"); }
static int h(char *path) { return mkostemp(path, 0); }
static int i(char *path) { return openat(AT_FDCWD, path, 0); }
static void *j(void) { return fopen("/proc/self/stat", "r") ? popen("x", "r") : 0; }
static int k(void) { return ap_in_open("x", 0) + reopen(1) + execvp("objdump", 0); }
END2
run "$root/tools/check-opens.sh" passes.c
is "$status $(grep -oE 'passes.c:[0-9]+' out | cut -d: -f2 | xargs)" "1 2 3 4 5 6 7" "lint: each call, and no comment"
run "$root/tools/check-opens.sh"
is "$status" 0 "lint: there is none in the tree" || note "$(cat out)"
done_testing
