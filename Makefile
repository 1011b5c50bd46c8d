# SPDX-License-Identifier: MIT
# anyperf.  `make help` names the targets; mk/layers.mk the modules and who may use whom,
# mk/variants.mk the flags, mk/rules.mk the rules, mk/deps.mk the packages.

MAKEFLAGS += -rR
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SECONDARY:
LD := ld

# the only place that has it; debian/changelog is held to it by a test
VERSION := 0.1.0
# of this checkout, not of one around a tarball that was unpacked in it
COMMIT := $(if $(wildcard .git),$(shell git describe --always --dirty --exclude='*' --abbrev=12 2>/dev/null))
PREFIX ?= /usr/local
NPROC := $(shell nproc 2>/dev/null || echo 1)

.PHONY: all
all:

include mk/layers.mk
include mk/variants.mk
include mk/deps.mk
include mk/rules.mk
include mk/install.mk

# Stages (packages, then a build, then a run) call make again, on all CPUs unless told otherwise.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(NPROC))
STAGE = +@$(MAKE) --no-print-directory $(JOBS)

# --- build
# Said before the first command fails; goals that fetch their packages need no asking.
missing = $(shell tools/deps.sh missing $(1))
GOALS := $(or $(MAKECMDGOALS),all)
ifneq ($(filter all test unit e2e tests-build install $(BUILD)/%,$(GOALS)),)
MISSING := $(call missing,$(PKG_BUILD))
ifneq ($(MISSING),)
$(error missing packages: $(MISSING)- get them with `make deps`)
endif
endif
ifneq ($(filter test unit e2e tests-build,$(GOALS)),)
MISSING := $(call missing,$(PKG_TEST))
ifneq ($(MISSING),)
$(warning some tests will miss packages: $(MISSING)- get them with `make deps-test`)
endif
endif

all: $(if $(and $(MAIN_O),$(HAVE_BLOB)),$(ANYPERF),$(foreach m,$(MODULES),$(call archives,$(m)))) \
	$(if $(HAVE_BLOB),$(B)/blob.o) $(LIBANYPERF)
	@$(if $(and $(MAIN_O),$(HAVE_BLOB)),:,echo "no program yet: needs src/cli/main.c and src/engine/blob.lds")
ifeq ($(B),$(BUILD)/release)
	@$(if $(MAIN_O),ln -sfn release/anyperf $(BUILD)/anyperf)
endif

.PHONY: tests-build oracle
oracle: $(ORACLE)
.PHONY: completions
completions: $(COMPLETIONS)
tests-build: all $(COMPLETIONS) $(ANYPERF_TEST) $(UNIT_TESTS) $(PROGRAMS) $(ORACLE)

# --- packages
.PHONY: deps deps-unit deps-ports deps-test deps-long deps-lint deps-clang deps-gen deps-bench deps-docs
deps:
	@tools/deps.sh install $(PKG_BUILD)
deps-unit:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_UNIT)
deps-ports:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_PORTS)
deps-test:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_TEST)
deps-long:
	@tools/deps.sh install $(PKG_LONG)
deps-lint:
	@tools/deps.sh install $(PKG_LINT)
deps-clang:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_CLANG)
deps-gen:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_GEN)
deps-bench:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_BENCH)
deps-docs:
	@tools/deps.sh install $(PKG_DOCS)

# --- tests: T=pattern picks by path, LONG=1 adds what takes long
T ?=
TEST_JOBS ?= $(NPROC)
E2E := $(wildcard tests/e2e/*.sh)
E2E := $(filter-out tests/e2e/lib.sh $(if $(filter 1,$(LONG)),,%.long.sh),$(E2E))
pick = $(if $(T),$(foreach t,$(1),$(if $(findstring $(T),$(t)),$(t))),$(1))
SAN_ENV := ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1
PROVE = ANYPERF=$(abspath $(ANYPERF)) ANYPERF_TEST=$(abspath $(ANYPERF_TEST)) PROGRAMS=$(abspath $(B)/programs) \
	ORACLE=$(abspath $(B)/oracle) LONG=$(LONG) $(SAN_ENV) AP_EMULATOR=$(AP_EMULATOR) \
	prove -j$(TEST_JOBS) --timer -e tools/run-test.sh
prove = $(if $(strip $(1)),$(PROVE) $(1),{ echo "no test here$(if $(T), has '$(T)' in its path)"; exit 1; })

.PHONY: test unit e2e check check-long
PICKED_UNIT := $(call pick,$(UNIT_TESTS))
PICKED_E2E := $(call pick,$(E2E))
# with T= only what the picked tests need is built
test: $(if $(PICKED_E2E),tests-build) $(PICKED_UNIT)
	+@$(call prove,$(PICKED_UNIT) $(PICKED_E2E))
unit: $(PICKED_UNIT)
	+@$(call prove,$(PICKED_UNIT))
e2e: tests-build
	+@$(call prove,$(PICKED_E2E))

check: deps-test
	$(STAGE) check-folders check-async
	$(STAGE) test
	$(STAGE) check-fuzz
	$(STAGE) check-ports
check-long: deps-test deps-long
	$(STAGE) test LONG=1 AP_TEST_TIMEOUT=7200
	$(STAGE) check-fuzz LONG=1 AP_TEST_TIMEOUT=7200
	$(STAGE) VARIANT=asan e2e T=perf_fuzz LONG=1 AP_TEST_TIMEOUT=7200
	$(STAGE) VARIANT=asan e2e T=perfctr_fuzz LONG=1 AP_TEST_TIMEOUT=7200
	$(STAGE) VARIANT=asan e2e T=hostile LONG=1 AP_TEST_TIMEOUT=7200
	$(STAGE) check-ports

# --- the portable layers on other machines, under qemu
.PHONY: check-ports
PORTED := legacy pmu perfctr core model sampling abi base
# powerpc has no instruction that loads or stores 64 bits at once
port = $(STAGE) CC=$(1)-linux-gnu-gcc LDFLAGS=-static LDLIBS=$(3) AP_EMULATOR=$(2) ported
check-ports: deps-ports
	$(call port,i686,qemu-i386)
	$(call port,powerpc,qemu-ppc,-latomic)

.PHONY: ported
# without those that need a library, and without one that takes minutes under qemu and asks nothing of a machine
PORTED_C := $(filter-out %/keys_test.c,$(shell grep -L '^/\* LIBS:' $(wildcard $(PORTED:%=tests/unit/%/*_test.c))))
PICKED_PORTED := $(call pick,$(patsubst %.c,$(B)/%,$(PORTED_C)))
ported: $(PICKED_PORTED)
	+@$(if $(strip $(PICKED_PORTED))$(if $(T),,all),$(call prove,$(PICKED_PORTED)),:)

# --- sanitizers: hosted code and its unit tests
.PHONY: asan ubsan
asan ubsan: deps-unit
	$(STAGE) VARIANT=$@ unit
	$(STAGE) VARIANT=$@ e2e T=perf_fuzz
	$(STAGE) VARIANT=$@ e2e T=perfctr_fuzz
	$(STAGE) VARIANT=$@ e2e T=hostile

# What has threads; the engine's tests want addresses that this one's runtime has taken.
.PHONY: tsan
tsan: deps-unit
	$(STAGE) VARIANT=$@ unit T=unit/sampling
	$(STAGE) VARIANT=$@ unit T=unit/perfctr
	$(STAGE) VARIANT=$@ unit T=service/request_test
	$(STAGE) VARIANT=$@ unit T=model/coherence
	$(STAGE) VARIANT=$@ e2e T=perf_fuzz

# --- fuzzers: tests/fuzz/NAME.c with corpus/NAME, which libFuzzer and the sanitizers of clang drive.  check-fuzz runs
# each for a number of inputs, and looks that it finds the fault that is planted for it; fuzz, for FUZZ_TIME seconds each.
.PHONY: fuzz check-fuzz deps-fuzz fuzz-run fuzz-check
FUZZ_TIME ?= 60
FUZZERS := perf_data jitdump perf_map elf packed build_id gate filter trace_filter events metrics machine legacy
FUZZ_BINS := $(FUZZERS:%=$(B)/fuzz/%)
FUZZ_EXTRA_perf_data := tests/unit/profile/feed.c
FUZZ_EXTRA_packed := tests/unit/profile/feed.c tests/unit/profile/file.c
FUZZ_EXTRA_filter := tests/unit/profile/file.c
FUZZ_EXTRA_legacy := tests/unit/legacy/feed.c
FUZZ_EXTRA_events := tests/fuzz/no_engine.c
FUZZ_EXTRA_metrics := tests/fuzz/no_engine.c
FUZZ_OF_events := cli
FUZZ_OF_metrics := cli
FUZZ_OF_machine := model
FUZZ_OF_legacy := legacy
fuzz_of = $(or $(FUZZ_OF_$(1)),profile)
FUZZ_O := $(call obj,$(FUZZERS:%=tests/fuzz/%.c) tests/fuzz/fuzz.c tests/fuzz/no_engine.c)
$(FUZZ_O): CPPFLAGS_ALL += -Itests -Itests/fuzz
define fuzz_rules
$(B)/fuzz/$(1): $(call obj,tests/fuzz/$(1).c tests/fuzz/fuzz.c $(FUZZ_EXTRA_$(1))) \
		$(call archives,$(call reach,$(call fuzz_of,$(1))))
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(CC) $(patsubst -fsanitize=fuzzer-no-link%,-fsanitize=fuzzer%,$(SAN_fuzz)) \
		-o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $(call libraries,$(call fuzz_of,$(1))) -lm
endef
$(foreach f,$(FUZZERS),$(eval $(call fuzz_rules,$(f))))
deps-fuzz: deps-clang
	@tools/deps.sh install $(PKG_FUZZ)
fuzz-run: $(FUZZ_BINS)
	+@FUZZ_TIME=$(FUZZ_TIME) tests/fuzz/run.sh $(abspath $(B)/fuzz)
fuzz-check: $(FUZZ_BINS)
	+@FUZZ=$(abspath $(B)/fuzz) $(call prove,tests/fuzz/check.sh)
fuzz: deps-fuzz
	$(STAGE) CC=clang VARIANT=fuzz fuzz-run
check-fuzz: deps-fuzz
	$(STAGE) CC=clang VARIANT=fuzz fuzz-check

# --- the rest
.PHONY: demo bench gen check-gen ci help clean
demo:
	@tools/deps.sh install $(PKG_BUILD) python3=python3
	$(STAGE) all
	$(BUILD)/anyperf stat -- /usr/bin/python3 tests/programs/demo.py

bench: deps-bench
	$(STAGE) all
	ANYPERF=$(abspath $(ANYPERF)) bench/run.sh $(BENCH)

# the committed tables, and whether they are what the generator writes
GEN_OUT := opcodes.inc accesses.inc
gen: deps-gen $(addprefix $(B)/,$(GEN_OUT))
	cp $(addprefix $(B)/,$(GEN_OUT)) src/x86/gen/
	tools/gen-costs.sh >$(B)/cost_rows.inc
	cp $(B)/cost_rows.inc src/model/gen/
	cd src/profile/export && protoc-c --c_out=gen pprof.proto
	sed -i 's,"pprof.pb-c.h","profile/export/gen/pprof.pb-c.h",' src/profile/export/gen/pprof.pb-c.c
check-gen: deps-gen $(addprefix $(B)/,$(GEN_OUT))
	@for f in $(GEN_OUT); do cmp $(B)/$$f src/x86/gen/$$f || \
		{ echo "gen: make gen, and look at what changed"; exit 1; }; done
	@tools/gen-costs.sh | cmp - src/model/gen/cost_rows.inc || \
		{ echo "gen: make gen, and look at what changed"; exit 1; }
$(B)/%.inc: $(B)/tools/gen-%
	$(call say,GEN,$@)
	$(Q)$< >$@

# the documentation as a static site
.PHONY: docs
docs: deps-docs
	@tools/make-docs.sh $(BUILD)/site

ci:
	@bash .ci/run

clean:
	rm -rf $(BUILD)

.PHONY: lint format layers check-folders check-format check-layers check-sizes check-shell check-print check-figures check-limits check-links check-opens check-async
SOURCES_C = $(shell git ls-files -co --exclude-standard -- '*.c' '*.h' | grep -v '/gen/')
lint:
	$(STAGE) -k -Otarget check-format check-layers check-sizes check-shell check-print check-figures check-limits check-links check-opens check-async
check-format:
	@tools/check-format.sh
check-layers:
	@tools/check-layers.sh
	@tools/check-folders.sh
# the calls of objects as well, which need a build
check-folders: all
	@tools/check-folders.sh $(B)
# what the signal handler may reach; of the blob
check-async: $(BLOB_B)/blob.elf
	@tools/check-async.sh $<
layers: all
	@tools/check-folders.sh --graph $(B)
# the blocks that the engine writes, beside those of a revision
.PHONY: check-emitted
BASE ?= HEAD
check-emitted: tests-build
	@tools/check-emitted.sh $(B) $(BASE)
check-sizes:
	@tools/check-sizes.sh
	@tools/check-names.sh
check-shell:
	@tools/check-shell.sh
check-print:
	@tools/check-print.sh
check-figures:
	@tools/check-figures.sh
check-limits:
	@tools/check-limits.sh
check-links:
	@tools/check-links.sh
check-opens:
	@tools/check-opens.sh
format:
	clang-format-14 -i $(SOURCES_C)

help:
	@sed -n 's/^#: //p' Makefile

.PHONY: FORCE
FORCE:

#: make              build build/anyperf (gcc; CC=clang has its own folder)
#: make deps         install the packages of the build (apt-get; sudo when not root)
#: make demo         deps, build, and count a python3 program
#: make check        packages, build, every test; fuzzers for a moment (check-fuzz)
#: make check-long   the same with the stress and exhaustive tests
#: make test T=word  build and run the tests whose path has that word; also: unit, e2e
#: make check-ports  unit tests of the portable layers on 32 bits, both byte orders (qemu)
#: make asan|ubsan   unit tests under a sanitizer, and random calls on perf events
#: make tsan         what has threads, under the thread sanitizer
#: make lint         format, layers, sizes, scripts, output, links, who opens files; make format repairs the first
#: make check-emitted BASE=rev  are the blocks that the engine writes as they were at a revision?
#: make check-async  may the signal handler call what it calls?  mk/async.txt
#: make layers       arrows between the folders inside modules, those that point upward, and circles of files
#: make bench        speed against native, valgrind and qemu: bench/RESULTS.md (BENCH=options)
#: make gen          make the gen/ folders again by asking Zydis and llvm-mca
#: make completions  of bash, zsh and fish, from the tables of options
#: make docs         the documentation as a static site in build/site
#: make install      PREFIX=/usr/local DESTDIR=; make uninstall
#: make deb          packages of Debian, in the folder above
#: make ci           what CI runs: every lane, timed
#: make clean
#: V=1 shows commands; VARIANT=asan|ubsan|tsan, CC=clang and BUILD=dir choose where and how
