# What must be on the machine, as Debian package=probe.  A probe is a command or an absolute path;
# the package is asked for only where its probe finds nothing, so tools from elsewhere will do.

# profile: elfutils reads ELF and DWARF, libiberty's demangler names, zstd packed files, libtraceevent what
# tracepoints record; tui: ncursesw
PKG_BUILD := gcc=gcc binutils=objcopy libc6-dev=/usr/include/stdio.h make=make \
	libzydis-dev=/usr/include/Zydis/Zydis.h libzycore-dev=/usr/include/Zycore/Types.h \
	libdw-dev=/usr/include/elfutils/libdw.h libelf-dev=/usr/include/libelf.h \
	libiberty-dev=/usr/include/libiberty/demangle.h libzstd-dev=/usr/include/zstd.h \
	liblzma-dev=/usr/include/lzma.h libbz2-dev=/usr/include/bzlib.h zlib1g-dev=/usr/include/zlib.h \
	libjansson-dev=/usr/include/jansson.h \
	libprotobuf-c-dev=/usr/include/protobuf-c/protobuf-c.h \
	libtraceevent-dev=/usr/include/traceevent/event-parse.h \
	libncurses-dev=/usr/include/ncurses.h

# unit tests: the decoder is compared with Zydis, raw event codes with libpfm4; prove runs them
PKG_UNIT := libzydis-dev=/usr/include/Zydis/Zydis.h libzycore-dev=/usr/include/Zycore/Types.h \
	libpfm4-dev=/usr/include/perfmon/pfmlib.h \
	perl=prove coreutils=timeout

# unit tests of the portable layers on other machines: 32 bits, and 32 bits with the other byte order
PKG_PORTS := perl=prove coreutils=timeout qemu-user=qemu-ppc \
	gcc-i686-linux-gnu=i686-linux-gnu-gcc libc6-dev-i386-cross=/usr/i686-linux-gnu/lib/libc.a \
	gcc-powerpc-linux-gnu=powerpc-linux-gnu-gcc \
	libc6-dev-powerpc-cross=/usr/powerpc-linux-gnu/lib/libc.a

# e2e: the real programs that must behave as natively
PKG_TEST := $(PKG_UNIT) g++=g++ bash=bash util-linux=unshare procps=pgrep libcap2-bin=setcap \
	valgrind=callgrind_annotate protobuf-compiler=protoc \
	python3=python3 xz-utils=xz gzip=gzip bzip2=bzip2 sqlite3=sqlite3 openssl=openssl \
	nodejs=node git=git curl=curl gdb=gdb strace=strace default-jdk-headless=javac \
	ruby=ruby lua5.4=lua5.4 luajit=luajit php-cli=php guile-3.0=guile tcl=tclsh sbcl=sbcl \
	golang-go=go busybox=busybox zstd=zstd jq=jq bc=bc m4=m4 vim-tiny=vim.tiny ed=ed rsync=rsync \
	gawk=gawk redis-server=redis-server redis-tools=redis-cli nginx-light=nginx \
	postgresql-15=/usr/lib/postgresql/15/bin/initdb \
	libpython3.11-testsuite=/usr/lib/python3.11/test/test_mmap.py \
	tmux=tmux linux-perf=perf papi-tools=papi_avail libpapi-dev=/usr/include/papi.h

# what is large, for tests that lack it otherwise: the flame graph's page in a browser
PKG_LONG := chromium=chromium

PKG_LINT := clang-format-14=clang-format-14 shellcheck=shellcheck man-db=man
PKG_CLANG := clang=clang
# the committed tables
PKG_GEN := llvm-14=llvm-mca-14
# libFuzzer comes with clang's runtime
PKG_FUZZ := $(PKG_CLANG)
PKG_BENCH := time=/usr/bin/time linux-perf=perf valgrind=valgrind qemu-user=qemu-x86_64 g++=g++ python3=python3 perl=perl \
	xz-utils=xz gzip=gzip bzip2=bzip2 sqlite3=sqlite3 openssl=openssl nodejs=node
