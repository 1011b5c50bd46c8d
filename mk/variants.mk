# Build variants: VARIANT=release|asan|ubsan|tsan|fuzz, CC=gcc|clang.  Each pair has its own folder, so
# that switching never rebuilds and lanes never meet.  The blob is always plain: sanitizers need
# a libc, and the process that the blob lives in is not ours.

COMMA := ,
BUILD ?= build
VARIANT ?= release
ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif
IS_CLANG := $(findstring clang,$(CC))
CC_SUFFIX := $(if $(filter gcc,$(CC)),,-$(notdir $(firstword $(CC))))

SAN_release :=
SAN_asan := -fsanitize=address -fno-omit-frame-pointer
SAN_ubsan := -fsanitize=undefined -fno-sanitize-recover=all
# fences are what it does not know: seqlocks, whose readers are in other processes
SAN_tsan := -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan
# libFuzzer is clang's; with the faults that fuzzers must find (src/base/plant.h)
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ifeq ($(filter $(VARIANT),release asan ubsan tsan fuzz),)
$(error VARIANT=$(VARIANT): choose release, asan, ubsan, tsan or fuzz)
endif
ifeq ($(VARIANT),fuzz)
OPT := -O1 -gline-tables-only -DAP_FUZZ_PLANT=1
endif
SAN := $(SAN_$(VARIANT))

B := $(BUILD)/$(VARIANT)$(CC_SUFFIX)
BLOB_B := $(BUILD)/release$(CC_SUFFIX)/blob

WARN := -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes \
	-Wwrite-strings -Wpointer-arith -Werror
CSTD := -std=c11 -D_GNU_SOURCE -fno-strict-aliasing
CPPFLAGS_ALL := -Isrc -Iinclude $(CPPFLAGS)
OPT ?= -O2 -g
CFLAGS_HOSTED := $(CSTD) $(OPT) $(WARN) $(SAN) $(CFLAGS)
ASFLAGS_HOSTED := -g -Wa,--noexecstack
LDFLAGS_HOSTED := $(SAN) -Wl,-z,noexecstack $(LDFLAGS)
# Its relocations take a seventieth of the room where the C library knows them in that form.
RELR := $(if $(shell printf '\043include <features.h>\n\043if __GLIBC_PREREQ(2, 36)\nyes\n\043endif\n' | \
	$(CC) -E -P - 2>/dev/null | grep -x yes),-Wl$(COMMA)-z$(COMMA)pack-relative-relocs)
# The program is one static file (docs/design/startup.md); sanitizers need the loader.  ld would warn of dlopen(), which
# src/files/library.c knows how to use.
LDFLAGS_PROGRAM := $(if $(SAN),,-static-pie -Wl,--no-warnings $(RELR))

# General registers only and no red zone: the program's vector state stays untouched, and a
# signal of the program may land on any stack that it likes.  gcc must not make mem* of their own
# loops; clang must not make tables of pointers of switches, nor reach other files through a GOT.
CFLAGS_BLOB := $(CSTD) -O2 -g $(WARN) -DAP_BLOB=1 -ffreestanding -nostdlib -fno-stack-protector \
	-fPIE -fvisibility=hidden -mgeneral-regs-only -mno-red-zone \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -fcf-protection=none \
	-ffunction-sections -fdata-sections \
	$(if $(IS_CLANG),-fno-jump-tables -fdirect-access-external-data,-fno-tree-loop-distribute-patterns)
LDFLAGS_BLOB := -static -pie --no-dynamic-linker -z text -z noexecstack --gc-sections \
	--no-warn-rwx-segments --build-id=none
