#!/bin/sh
# SPDX-License-Identifier: MIT
# The engine's image is copied into somebody else's process and started without a loader: it may
# miss no symbol, need no relocation and no thread-local storage.
set -eu
elf=$1
bad=0

undefined=$(nm -u "$elf")
if [ -n "$undefined" ]; then
	echo "blob: undefined symbols (no libc in the blob; mem* belong to src/base):"
	echo "$undefined"
	bad=1
fi
relocs=$(readelf -rW "$elf" | grep R_X86_64_ || :)
if [ -n "$relocs" ]; then
	echo "blob: relocations (a pointer in static data? use an offset or a switch):"
	echo "$relocs"
	bad=1
fi
if readelf -lW "$elf" | grep -qE '^ +(TLS|INTERP|DYNAMIC)'; then
	echo "blob: has a TLS, INTERP or DYNAMIC segment:"
	readelf -lW "$elf" | grep -E '^ +(TLS|INTERP|DYNAMIC)'
	bad=1
fi
if [ "$bad" = 1 ]; then
	exit 1
fi
