#!/bin/bash
# SPDX-License-Identifier: MIT
# The packages of Debian build from a clean copy of the sources, lintian minds nothing, and what they hold does the job of
# debian/tests, from a folder.  The short form, without a build, is install.sh.
. "$(dirname "$0")/lib.sh"
need dpkg-buildpackage dh lintian cmake pkg-config

# an outer make has no say in the package's, nor have its flags and caches
unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS LDFLAGS CPPFLAGS
cd "$tmp" || exit 1
mkdir sources
(cd "$root" && tar --exclude=./build --exclude=./.git -cf - .) | tar -xf - -C sources
(cd sources && dpkg-buildpackage -us -uc -b) >log 2>&1
if ! is $? 0 "dpkg-buildpackage"; then
	note "$(tail -n 20 log)"
	exit 1
fi
is "$(printf '%s\n' ./*.deb | grep -v dbgsym | sed 's,^./,,; s/_.*//' | sort | paste -sd' ')" "anyperf anyperf-doc libanyperf-dev" "three packages"
run lintian --allow-root --fail-on error,warning ./*.changes
is "$status $(cat out err)" "0 " "lintian minds nothing"
is "$(dpkg-deb -f anyperf_*.deb Depends)" "" "anyperf depends on nothing"
mkdir root job
for deb in anyperf_*.deb libanyperf-dev_*.deb; do
	dpkg -x "$deb" root
done
PATH=$tmp/root/usr/bin:$PATH AUTOPKGTEST_TMP=$tmp/job CMAKE_PREFIX_PATH=$tmp/root/usr PKG_CONFIG_SYSROOT_DIR=$tmp/root \
	PKG_CONFIG_LIBDIR=$tmp/root/usr/lib/x86_64-linux-gnu/pkgconfig sh sources/debian/tests/counts >log 2>&1
is $? 0 "debian/tests/counts" || note "$(tail -n 20 log)"
done_testing
