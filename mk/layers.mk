# Which module may use which.  This file is the only place that says it: mk/rules.mk orders archives and
# links each unit test by it, so that an upward call does not link, and tools/check-layers.sh
# holds every #include to it.  Keep each line a plain "NAME := words".

# Top down: whoever stands left may be served by whoever stands right, never the other way.
MODULES := cli tui profile linux print calls legacy pmu perfctr core engine model service sampling inject x86 sys abi files base

DEPS_base :=
DEPS_files := base
DEPS_abi := base
DEPS_sys := abi base
DEPS_x86 := base
DEPS_model := x86 base
DEPS_inject := abi base
DEPS_sampling := abi base
DEPS_service := sampling abi sys base
DEPS_engine := model service sampling inject x86 abi sys base
DEPS_core := sampling abi base
DEPS_pmu := core sampling abi base
DEPS_perfctr := abi base
# what programs link: libanyperf.a
DEPS_legacy := abi base
DEPS_calls := legacy perfctr abi base
DEPS_print := base
DEPS_linux := print pmu perfctr core model sampling inject abi files base
DEPS_profile := print abi files base
DEPS_tui := profile print abi files base
DEPS_cli := tui profile linux print calls perfctr abi files base

# Folders inside a module, top down as above.  tools/check-folders.sh holds includes and calls to it; what still
# points upward is listed in mk/upward.txt, which only shrinks.
FOLDERS_engine := request watch trace access sample dispatch process ptrace syscall task transparency signal thread translate count cache runtime emit
FOLDERS_linux := run client host session task
FOLDERS_profile := gate export script hist symbols data text

# Libraries of a module.  All from archives: the program is static (docs/design/startup.md), and tests pay for no shared
# library that they do not use.
LIBS_profile := -l:libjansson.a -l:libprotobuf-c.a -l:libtraceevent.a -l:libdw.a -l:libelf.a -l:libiberty.a -l:libzstd.a -l:liblzma.a -l:libbz2.a -l:libz.a
LIBS_tui := -l:libncursesw.a -l:libtinfo.a

# A module named here is met through these headers only.  No module includes the engine's headers:
# linux maps its image as bytes (src/linux/session/blob_image.h), and both use src/abi.
FACADE_linux := linux/run/run.h linux/client/client.h linux/run/doctor.h

# What becomes the blob that lives inside the counted process: no libc, no TLS.
# *_hosted.c stays out of the blob, *_blob.c and *_blob.S stay out of hosted archives, *_switch.c (of any
# module) is in the program for tests alone.
FREESTANDING := engine model service sampling x86 abi sys base
# Files of these that may name libc headers, because they stand in for them in the blob.
LIBC_DOORS := src/base/mem.h

# The injection code is in the blob as well, for tasks that trace themselves into an exec.  It takes
# types and constants from libc headers, and no function: tools/check-blob.sh would see one.
BLOB_EXTRA := $(wildcard src/inject/*.c)

# The oracle must owe nothing to what it judges.
DEPS_oracle := abi base
