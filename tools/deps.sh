#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh missing PACKAGE=PROBE...   print the packages whose probe finds nothing
# deps.sh install PACKAGE=PROBE...   install those with apt-get, nothing else
# A probe is a command or an absolute path.  mk/deps.mk has the lists.
set -eu
verb=$1
shift

missing()
{
	for entry in "$@"; do
		probe=${entry#*=}
		case $probe in
		/*) [ -e "$probe" ] ;;
		*) command -v "$probe" >/dev/null 2>&1 ;;
		esac || echo "${entry%%=*}"
	done | sort -u | tr '\n' ' '
}

PATH=$PATH:/usr/sbin:/sbin
list=$(missing "$@")
[ -n "$list" ] || exit 0

case $verb in
missing)
	echo "$list"
	;;
install)
	sudo=
	if [ "$(id -u)" != 0 ]; then
		if ! command -v sudo >/dev/null 2>&1; then
			echo "anyperf: not root and no sudo; install these yourself: $list" >&2
			exit 1
		fi
		sudo=sudo
	fi
	export DEBIAN_FRONTEND=noninteractive
	echo "installing: $list"
	# shellcheck disable=SC2086 # a list of words
	{
		$sudo apt-get update -q
		$sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -q -y --no-install-recommends $list
	} </dev/null
	;;
*)
	echo "deps.sh: unknown verb $verb" >&2
	exit 2
	;;
esac
