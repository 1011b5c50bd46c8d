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

# the site of the documentation: Markdown, and man pages
PKG_DOCS := lowdown=lowdown mandoc=mandoc

# unit tests: the decoder is compared with Zydis, raw event codes with libpfm4; prove runs them
PKG_UNIT := libzydis-dev=/usr/include/Zydis/Zydis.h libzycore-dev=/usr/include/Zycore/Types.h \
	libpfm4-dev=/usr/include/perfmon/pfmlib.h \
	perl=prove coreutils=timeout

# unit tests of the portable layers on other machines: 32 bits, and 32 bits with the other byte order
PKG_PORTS := perl=prove coreutils=timeout qemu-user=qemu-ppc \
	gcc-i686-linux-gnu=i686-linux-gnu-gcc libc6-dev-i386-cross=/usr/i686-linux-gnu/lib/libc.a \
	gcc-powerpc-linux-gnu=powerpc-linux-gnu-gcc \
	libc6-dev-powerpc-cross=/usr/powerpc-linux-gnu/lib/libc.a

# e2e: the real programs that must behave as natively.  Those that tests take from the system's folders
# (tests/e2e/twice.bash) are looked for there: elsewhere on PATH may be a version manager's script
PKG_TEST := $(PKG_UNIT) $(PKG_DOCS) g++=/usr/bin/g++ bash=bash util-linux=unshare procps=pgrep libcap2-bin=setcap \
	valgrind=callgrind_annotate protobuf-compiler=protoc \
	python3=/usr/bin/python3 xz-utils=/usr/bin/xz gzip=gzip bzip2=/usr/bin/bzip2 sqlite3=/usr/bin/sqlite3 \
	openssl=/usr/bin/openssl nodejs=/usr/bin/node git=/usr/bin/git curl=/usr/bin/curl gdb=/usr/bin/gdb \
	strace=/usr/bin/strace default-jdk-headless=/usr/bin/javac ruby=/usr/bin/ruby lua5.4=/usr/bin/lua5.4 \
	luajit=/usr/bin/luajit php-cli=/usr/bin/php guile-3.0=/usr/bin/guile tcl=/usr/bin/tclsh \
	sbcl=/usr/bin/sbcl golang-go=/usr/bin/go busybox-static=/usr/bin/busybox zstd=/usr/bin/zstd \
	jq=/usr/bin/jq bc=/usr/bin/bc m4=/usr/bin/m4 vim-tiny=/usr/bin/vim.tiny ed=/usr/bin/ed \
	rsync=/usr/bin/rsync gawk=/usr/bin/gawk redis-server=/usr/bin/redis-server \
	redis-tools=/usr/bin/redis-cli nginx-light=/usr/sbin/nginx \
	postgresql-15=/usr/lib/postgresql/15/bin/initdb \
	libpython3.11-testsuite=/usr/lib/python3.11/test/test_mmap.py \
	liburing-dev=/usr/include/liburing.h libgc-dev=/usr/include/gc.h \
	zsh=/usr/bin/zsh fish=/usr/bin/fish cmake=/usr/bin/cmake pkg-config=/usr/bin/pkg-config dpkg-dev=/usr/bin/dpkg-parsechangelog \
	tmux=tmux linux-perf=perf papi-tools=papi_avail libpapi-dev=/usr/include/papi.h

PKG_DEB := debhelper=/usr/bin/dh dpkg-dev=/usr/bin/dpkg-buildpackage
# what is large, for tests that lack it otherwise: the flame graph's page in a browser, and the programs of
# tests/e2e/more_programs.long.sh and perf_readers.long.sh
PKG_LONG := chromium=chromium bubblewrap=/usr/bin/bwrap memcached=/usr/bin/memcached \
	apache2-bin=/usr/sbin/apache2 apache2-utils=/usr/bin/ab openssh-server=/usr/sbin/sshd mold=/usr/bin/mold \
	libboost-context-dev=/usr/include/boost/context/fiber.hpp clang=/usr/bin/clang++ lld=/usr/bin/ld.lld \
	python3-numpy=/usr/lib/python3/dist-packages/numpy \
	libopenblas0-pthread=/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0 \
	ocaml-nox=/usr/bin/ocaml erlang-base=/usr/bin/erl ffmpeg=/usr/bin/ffmpeg x264=/usr/bin/x264 x265=/usr/bin/x265 \
	octave=/usr/bin/octave-cli emacs-nox=/usr/bin/emacs r-base-core=/usr/bin/Rscript \
	mariadb-server-core=/usr/sbin/mariadbd mariadb-client-core=/usr/bin/mariadb rustc=/usr/bin/rustc cargo=/usr/bin/cargo \
	wine=/usr/bin/wine wine64=/usr/lib/wine/wine64 qemu-system-x86=/usr/bin/qemu-system-x86_64 ghc=/usr/bin/ghc \
	texlive-latex-base=/usr/bin/pdflatex firefox-esr=/usr/bin/firefox-esr unzip=/usr/bin/unzip \
	libreoffice-writer-nogui=/usr/bin/soffice stress-ng=/usr/bin/stress-ng \
	$(PKG_DEB) lintian=/usr/bin/lintian \
	hotspot=/usr/bin/hotspot autofdo=/usr/bin/create_gcov

PKG_LINT := clang-format-14=clang-format-14 shellcheck=shellcheck man-db=man
PKG_CLANG := clang=clang
# the committed tables
PKG_GEN := llvm-14=llvm-mca-14 protobuf-c-compiler=protoc-c
# libFuzzer comes with clang's runtime
PKG_FUZZ := $(PKG_CLANG)
PKG_BENCH := time=/usr/bin/time linux-perf=perf valgrind=valgrind qemu-user=qemu-x86_64 g++=g++ python3=python3 perl=perl \
	xz-utils=xz gzip=gzip bzip2=bzip2 sqlite3=sqlite3 openssl=openssl nodejs=node
