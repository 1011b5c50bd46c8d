# How files become programs.  One set of rules for every module; mk/layers.mk says what exists.

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# --- flag stamps: objects depend on them, so a changed flag rebuilds and an unchanged does not
define stamp
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(2)' | cmp -s - $$@ || printf '%s\n' '$(2)' >$$@
endef
$(eval $(call stamp,$(B)/.flags,$(CC) $(CPPFLAGS_ALL) $(CFLAGS_HOSTED) $(LDFLAGS_HOSTED) $(LDFLAGS_PROGRAM)))
$(eval $(call stamp,$(BLOB_B)/.flags,$(CC) $(LD) $(CPPFLAGS_ALL) $(CFLAGS_BLOB) $(LDFLAGS_BLOB)))

# --- sources and archives, one per module
sources = $(foreach d,src/$(1) src/$(1)/* src/$(1)/*/*,$(wildcard $(d)/*.c $(d)/*.S))
hosted = $(filter-out %_blob.c %_blob.S %_switch.c src/cli/main.c,$(call sources,$(1)))
in_blob = $(filter-out %_hosted.c %_hosted.S %_switch.c,$(call sources,$(1)))
# what the program for tests has of its own (src/abi/switches.h): compiled again, or compiled for it alone
SWITCHED := $(shell grep -lE '"abi/switches\.h"|AP_TEST_OPTIONS' -r src --include='*.c')
obj = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))
# a module and everything it may use, in link order
reach = $(filter $(1) $(DEPS_$(1)) $(foreach d,$(DEPS_$(1)),$(DEPS_$(d))),$(MODULES))
# what the modules that a module reaches need of the machine
libraries = $(foreach m,$(call reach,$(1)),$(LIBS_$(m)))
archives = $(foreach m,$(1),$(if $(call hosted,$(m)),$(B)/lib/lib$(m).a))

define module_rules
OBJ_$(1) := $$(call obj,$$(call hosted,$(1)))
OBJS += $$(OBJ_$(1))
$(B)/lib/lib$(1).a: $$(OBJ_$(1))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcsD $$@ $$(OBJ_$(1))
# an archive must also forget the objects of files that are gone
$(B)/lib/lib$(1).a: $(B)/lib/.$(1).list
$$(eval $$(call stamp,$(B)/lib/.$(1).list,$$(OBJ_$(1))))
endef
OBJS :=
$(foreach m,$(MODULES),$(eval $(call module_rules,$(m))))

# version.c alone knows version and commit: no other file is compiled again for a commit
$(B)/obj/src/cli/version.o: CPPFLAGS_ALL += -DAP_VERSION='"$(VERSION)"' -DAP_COMMIT='"$(COMMIT)"'
$(B)/obj/src/cli/version.o: $(B)/.version
$(eval $(call stamp,$(B)/.version,$(VERSION) $(COMMIT)))

$(B)/obj/%.o: %.c $(B)/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_HOSTED) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: %.S $(B)/.flags
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(ASFLAGS_HOSTED) -MMD -MP -c -o $@ $<

# what it includes is no dependency that the assembler tells
$(B)/obj/src/cli/metrics_text.o: src/cli/metrics.txt

# a page that is embedded as it is
$(B)/obj/src/profile/export/flamegraph_page.o: src/profile/export/flamegraph.html

# --- the blob: the engine as one image that can be mapped into any process
BLOB_OBJS := $(patsubst %,$(BLOB_B)/%.o,$(basename $(foreach m,$(FREESTANDING),$(call in_blob,$(m))) $(BLOB_EXTRA)))
HAVE_BLOB := $(if $(BLOB_OBJS),$(wildcard src/engine/blob.lds))

$(BLOB_B)/src/%.o: src/%.c $(BLOB_B)/.flags
	$(call say,CC\ blob,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_BLOB) -MMD -MP -c -o $@ $<

$(BLOB_B)/src/%.o: src/%.S $(BLOB_B)/.flags
	$(call say,AS\ blob,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -DAP_BLOB=1 -g -Wa,--noexecstack -fPIE -MMD -MP -c -o $@ $<

$(eval $(call stamp,$(BLOB_B)/.list,$(BLOB_OBJS)))
# link_blob OBJECTS
define link_blob
	$(call say,LD\ blob,$@)
	$(Q)$(LD) $(LDFLAGS_BLOB) -T src/engine/blob.lds -Map=$@.map -o $@.tmp $(1)
	$(Q)tools/check-blob.sh $@.tmp
	$(Q)mv $@.tmp $@
endef
$(BLOB_B)/blob.elf: $(BLOB_OBJS) $(BLOB_B)/.list src/engine/blob.lds tools/check-blob.sh
	$(call link_blob,$(BLOB_OBJS))

%/blob.bin: %/blob.elf
	$(Q)objcopy -O binary $< $@

define embed_blob
	$(call say,EMBED,$<)
	@mkdir -p $(@D)
	$(Q)printf '%s\n' '.section .rodata.ap_blob,"a"' '.balign 4096' \
		'.globl ap_blob_start, ap_blob_end' 'ap_blob_start:' '.incbin "$<"' 'ap_blob_end:' \
		'.byte 0' '.section .note.GNU-stack,"",@progbits' | \
		$(CC) -c -x assembler -o $@ -
endef
$(B)/blob.o: $(BLOB_B)/blob.bin
	$(embed_blob)

# the same for tests: what has switches is compiled again, all else is shared
BLOB_SWITCHED := $(foreach m,$(FREESTANDING),$(filter src/$(m)/%,$(SWITCHED)))
BLOB_TEST_OBJS := $(patsubst %.c,$(BLOB_B)/test/%.o,$(BLOB_SWITCHED)) \
	$(filter-out $(patsubst %.c,$(BLOB_B)/%.o,$(BLOB_SWITCHED)),$(BLOB_OBJS))

$(BLOB_B)/test/src/%.o: src/%.c $(BLOB_B)/.flags
	$(call say,CC\ test,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -DAP_TEST_SWITCHES=1 $(CFLAGS_BLOB) -MMD -MP -c -o $@ $<

$(eval $(call stamp,$(BLOB_B)/test/.list,$(BLOB_TEST_OBJS)))
$(BLOB_B)/test/blob.elf: $(BLOB_TEST_OBJS) $(BLOB_B)/test/.list src/engine/blob.lds tools/check-blob.sh
	$(call link_blob,$(BLOB_TEST_OBJS))

$(B)/test/blob.o: $(BLOB_B)/test/blob.bin
	$(embed_blob)

BLOB_O := $(if $(HAVE_BLOB),$(B)/blob.o)
# whoever links linux links the image that it maps
blob_for = $(if $(filter linux,$(1)),$(BLOB_O))

# --- the program
MAIN_O := $(if $(wildcard src/cli/main.c),$(B)/obj/src/cli/main.o)
OBJS += $(MAIN_O)
ANYPERF := $(B)/anyperf
$(ANYPERF): $(MAIN_O) $(call archives,$(call reach,cli)) $(BLOB_O)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_HOSTED) $(LDFLAGS_PROGRAM) -o $@ $^ $(call libraries,cli) -lm

# --- completions of shells: what --help tells of, by the program itself
SHELLS := bash zsh fish
COMPLETIONS := $(SHELLS:%=$(B)/completions/anyperf.%)
$(B)/completions/anyperf.%: $(ANYPERF) tools/completions.awk tools/completions.%
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)set -o pipefail; $(ANYPERF) --list-opts | \
		awk -v shell=$* -f tools/completions.awk tools/completions.$* - >$@

# --- the program for tests: never installed.  An object in front of the archives stands in for its member there.
ANYPERF_TEST := $(B)/anyperf-test
HOSTED_TEST_OBJS := $(patsubst %.c,$(B)/test/obj/%.o,$(filter-out $(BLOB_SWITCHED),$(SWITCHED)))
$(B)/test/obj/%.o: %.c $(B)/.flags
	$(call say,CC\ test,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -DAP_TEST_SWITCHES=1 $(CFLAGS_HOSTED) -MMD -MP -c -o $@ $<
$(ANYPERF_TEST): $(MAIN_O) $(HOSTED_TEST_OBJS) $(call archives,$(call reach,cli)) $(B)/test/blob.o
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_HOSTED) $(LDFLAGS_PROGRAM) -o $@ $^ $(call libraries,cli) -lm

# --- the library that programs link (include/anyperf): plain code in every variant, as they are
LIB_C := $(foreach m,legacy calls,$(call sources,$(m))) src/perfctr/codec.c
LIB_OBJS := $(patsubst %.c,$(B)/libobj/%.o,$(LIB_C))
LIBANYPERF := $(B)/libanyperf.a
$(B)/libobj/%.o: %.c $(B)/.flags
	$(call say,CC\ lib,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CSTD) -O2 -g $(WARN) -fPIC -MMD -MP -c -o $@ $<
$(LIBANYPERF): $(LIB_OBJS)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar rcsD $@ $^

# --- unit tests: tests/unit/<module>/<name>_test.c, other .c files beside them are shared
TESTS_C := $(wildcard tests/unit/*/*_test.c)
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(TESTS_C))
TAP_O := $(B)/obj/tests/tap/tap.o
UNIT_HELPERS := $(filter-out $(TESTS_C),$(wildcard tests/unit/*/*.c))
# tests/unit/<module>/rig/*.c: an archive, so a test is linked with what it names of it
UNIT_RIG := $(wildcard tests/unit/*/rig/*.c)
rig_of = $(if $(filter tests/unit/$(1)/%,$(UNIT_RIG)),$(B)/lib/rig/lib$(1).a)
OBJS += $(TAP_O) $(call obj,$(TESTS_C) $(UNIT_HELPERS) $(UNIT_RIG))
$(call obj,$(TESTS_C) $(UNIT_HELPERS) $(UNIT_RIG) tests/tap/tap.c): CPPFLAGS_ALL += -Itests

# words of a "/* NAME: words */" line of a source
marker = $$(sed -n 's|.*/\* $(1): *\(.*[^ ]\) *\*/.*|\1|p' $(2))

define unit_rules
$$(filter $(B)/tests/unit/$(1)/%,$$(UNIT_TESTS)): $(B)/tests/unit/$(1)/%: \
		$(B)/obj/tests/unit/$(1)/%.o $$(call obj,$$(filter tests/unit/$(1)/%,$$(UNIT_HELPERS))) \
		$$(call rig_of,$(1)) $(TAP_O) $$(call archives,$$(call reach,$(1))) $$(call blob_for,$(1))
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(CC) $(LDFLAGS_HOSTED) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) \
		$$(call marker,LIBS,tests/unit/$(1)/$$*.c) $$(call libraries,$(1)) -lm $(LDLIBS)
	$$(Q)printf '%s\n' "$$(call marker,LONG,tests/unit/$(1)/$$*.c)" >$$@.long
$(B)/lib/rig/lib$(1).a: $$(call obj,$$(filter tests/unit/$(1)/%,$$(UNIT_RIG)))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcsD $$@ $$^
endef
$(foreach m,$(MODULES),$(eval $(call unit_rules,$(m))))

# --- programs that end-to-end tests run: plain, whatever the variant; never warnings as errors
# of ours, they are odd on purpose
PROGRAM_SRC := $(foreach d,tests/programs tests/programs/cases,$(wildcard $(d)/*.c $(d)/*.S $(d)/*.cc))
PROGRAMS := $(patsubst tests/programs/%,$(B)/programs/%,$(basename $(PROGRAM_SRC)))
# gcc and g++ in every lane: what they test is the engine, not the compiler
PROGRAM_CC ?= gcc
PROGRAM_CXX ?= g++
PROGRAM_FLAGS := -O2 -g -Wall -D_GNU_SOURCE -Isrc -Iinclude
define program_rule
$(B)/programs/%: tests/programs/%.$(1) $(B)/.flags
	$$(call say,$(2),$$<)
	@mkdir -p $$(@D)
	$$(Q)$(3) $(PROGRAM_FLAGS) -MMD -MP -MF $$@.d $$(call marker,FLAGS,$$<) -o $$@ $$< \
		$$(PROGRAM_LIBS) $$(call marker,LIBS,$$<)
endef
$(filter $(B)/programs/legacy_% $(B)/programs/perfctr_api $(B)/programs/abi_perfctr $(B)/programs/abi_legacy $(B)/programs/cases/perfctr_%,$(PROGRAMS)): $(LIBANYPERF)
$(B)/programs/legacy_% $(B)/programs/perfctr_api $(B)/programs/abi_perfctr $(B)/programs/abi_legacy $(B)/programs/cases/perfctr_%: PROGRAM_LIBS = $(LIBANYPERF)
$(eval $(call program_rule,c,CC,$(PROGRAM_CC)))
$(eval $(call program_rule,S,AS,$(PROGRAM_CC)))
$(eval $(call program_rule,cc,CXX,$(PROGRAM_CXX)))

# --- the single-step oracle
ORACLE_SRC := $(wildcard tests/oracle/*.c)
ORACLE := $(if $(ORACLE_SRC),$(B)/oracle)
OBJS += $(call obj,$(ORACLE_SRC))
$(call obj,$(ORACLE_SRC)): CPPFLAGS_ALL += -Itests
$(B)/oracle: $(call obj,$(ORACLE_SRC)) $(call archives,$(DEPS_oracle))
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_HOSTED) -o $@ $^ -lZydis

# --- generators: their output is committed, a normal build never runs them
$(B)/tools/%: tools/%.c $(B)/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_HOSTED) -MMD -MP -MF $@.d -o $@ $< -lZydis

-include $(OBJS:.o=.d) $(LIB_OBJS:.o=.d) $(BLOB_OBJS:.o=.d) $(BLOB_TEST_OBJS:.o=.d) $(HOSTED_TEST_OBJS:.o=.d) \
	$(addsuffix .d,$(PROGRAMS)) $(wildcard $(B)/tools/*.d)
