#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make install` leaves is what a stranger needs: the program runs alone, a program of others builds against the
# library by pkg-config and by CMake, and uninstall takes all of it back.
. "$(dirname "$0")/lib.sh"
need make gcc cmake pkg-config dpkg-parsechangelog

cd "$tmp" || exit 1
# make is called by a test of make: nothing of the outer one is for it
unset MAKEFLAGS MFLAGS MAKELEVEL
version=$(sed -n 's/^VERSION := //p' "$root/Makefile")
is "$(dpkg-parsechangelog -l "$root/debian/changelog" -S Version)" "$version" "debian/changelog has the Makefile's version"
is "$(sed -n 's/^\.TH .* "anyperf \(.*\)" .*/\1/p' "$root"/docs/man/*.[13] | sort -u)" "$version" "and so have the man pages"

cat >program.c <<'END'
#include <anyperf/legacy.h>
#include <anyperf/perfctr.h>
#include <stdio.h>

int main(void)
{
	printf("%zu %u\n", anyperf_legacy_sync(), perfctr_mk_cstatus(1, 0, 0) >> 31);
	return 0;
}
END
gcc -I"$root/include" program.c "$(dirname "$(readlink -f "$ANYPERF")")/libanyperf.a" -o want || exit 1
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(program C)
find_package(anyperf ${WANTED} REQUIRED)
add_executable(program program.c)
target_link_libraries(program anyperf::anyperf)
END

# installed LIBDIR: into a folder, from which all is used
installed()
{
	local dir=$tmp/root.${1//\//_} lib=$1
	run make -C "$root" -s install DESTDIR="$dir" PREFIX=/usr LIBDIR="$lib"
	is "$status" 0 "$lib: make install" || { cat "$tmp/err"; return; }
	is "$("$dir/usr/bin/anyperf" --version | head -n 1)" "anyperf version $version" "$lib: the program runs"
	is "$(readelf -l "$dir/usr/bin/anyperf" | grep -c INTERP)" 0 "$lib: and needs no loader"
	(cd / && PATH=$dir/usr/bin anyperf stat -x, -e instructions -o "$tmp/counts" -- "$PROGRAMS/branches" >/dev/null)
	has counts '^[0-9]+,,instructions,' "$lib: and counts"
	is "$(PKG_CONFIG_LIBDIR=$dir$lib/pkgconfig pkg-config --modversion anyperf)" "$version" "$lib: pkg-config: the version"
	# shellcheck disable=SC2046 # words
	gcc program.c $(PKG_CONFIG_LIBDIR=$dir$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir pkg-config --cflags --libs anyperf) -o by-pkg-config
	is "$(./by-pkg-config)" "$(./want)" "$lib: pkg-config: a program builds and runs"
	for wanted in '' "${version%.*}"; do
		rm -rf tree
		run cmake -S . -B tree -DCMAKE_PREFIX_PATH="$dir/usr" -Danyperf_DIR="$dir$lib/cmake/anyperf" -DWANTED="$wanted"
		run cmake --build tree
		is "$(tree/program)" "$(./want)" "$lib: CMake: a program that wants version '$wanted' builds and runs"
	done
	rm -rf tree
	run cmake -S . -B tree -Danyperf_DIR="$dir$lib/cmake/anyperf" -DWANTED=99.0
	is "$((status != 0))" 1 "$lib: CMake: version 99 is refused"
	for file in share/bash-completion/completions/anyperf share/zsh/site-functions/_anyperf \
		share/fish/vendor_completions.d/anyperf.fish share/man/man1/anyperf-stat.1 share/doc/anyperf/README.md; do
		is "$(test -s "$dir/usr/$file" && echo there)" there "$lib: $file"
	done
	run make -C "$root" -s uninstall DESTDIR="$dir" PREFIX=/usr LIBDIR="$lib"
	is "$(find "$dir" ! -type d)" "" "$lib: make uninstall takes all of it back"
}
installed /usr/lib
installed /usr/lib/x86_64-linux-gnu
done_testing
