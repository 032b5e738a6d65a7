# SPDX-License-Identifier: MIT
#
# trialsd: one plain GNU makefile. `make help` lists what it can do.
#
# New .c files in the folders below are picked up by themselves. Everything is built under build/.
#
#   CC=gcc|clang               the compiler
#   CFLAGS, CPPFLAGS, LDFLAGS  yours; what the project needs is added to them
#   V=1                        show the commands
#   WERROR=1                   warnings are errors
#   SANITIZE=address,undefined builds under build/asan; SANITIZE=thread under build/tsan
#   BUILD=DIR                  another build folder, below this one
#   PREFIX, DESTDIR            where install puts things (default /usr/local)

VERSION := 0.1
SOVERSION := 0

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DELETE_ON_ERROR:

# --- Tools and flags ------------------------------------------------------------------------------

ifeq ($(filter-out undefined default,$(origin CC)),)
CC := gcc
endif
AR := ar
LD := ld
OBJCOPY := objcopy
PKG_CONFIG ?= pkg-config
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy

SANITIZE ?=
BUILD ?= build$(if $(SANITIZE),/$(if $(findstring thread,$(SANITIZE)),tsan,asan))
B := $(patsubst %/,%,$(BUILD))

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/lib/trialsd
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/trialsd
# Below somebody's home the user manager looks in one place alone.
user_data = $(or $(XDG_DATA_HOME),$(HOME)/.local/share)
UNITDIR ?= $(if $(filter $(HOME)/%,$(PREFIX)),$(user_data),$(PREFIX)/lib)/systemd/user
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d

# What a variable needs a program for is asked once, when it is first used, so that `make help` or
# `make clean` work without any of the libraries.
once = $(eval $1 := $(shell $2))$($1)

MACHINE = $(call once,MACHINE,$(CC) -dumpmachine 2>/dev/null)
# msgpack-c calls its C library `msgpack` up to version 4, `msgpack-c` from 5 on.
MSGPACK = $(call once,MSGPACK,command -v $(PKG_CONFIG) >/dev/null && $(PKG_CONFIG) --exists msgpack-c 2>/dev/null && echo msgpack-c || \
	echo msgpack)
PACKAGES = libuv $(MSGPACK) libsystemd sqlite3 jansson libseccomp inih nettle
PACKAGE_CFLAGS = $(call once,PACKAGE_CFLAGS,$(PKG_CONFIG) --cflags $(PACKAGES))
DAEMON_LIBS = $(call once,DAEMON_LIBS,$(PKG_CONFIG) --libs $(PACKAGES))
CLIENT_LIBS = $(call once,CLIENT_LIBS,$(PKG_CONFIG) --libs $(MSGPACK) jansson)
WIRE_LIBS = $(call once,WIRE_LIBS,$(PKG_CONFIG) --libs $(MSGPACK))
CHECK_CFLAGS = $(call once,CHECK_CFLAGS,$(PKG_CONFIG) --cflags check)
CHECK_LIBS = $(call once,CHECK_LIBS,$(PKG_CONFIG) --libs check)

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wvla -Wformat=2 $(if $(filter 1,$(WERROR)),-Werror)
HARDENING = -fstack-protector-strong \
	$(if $(filter x86_64-% i%86-%,$(MACHINE)),-fcf-protection -fstack-clash-protection)
# The sanitizers replace what _FORTIFY_SOURCE checks and dislike it.
FORTIFY := -U_FORTIFY_SOURCE $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer \
	$(if $(findstring undefined,$(SANITIZE)),-fno-sanitize-recover=undefined) \
	$(if $(filter 1,$(FUZZ)),-fsanitize=fuzzer-no-link))

ALL_CPPFLAGS = -I. -Idaemon -D_GNU_SOURCE $(FORTIFY) -DTRIALSD_VERSION='"$(VERSION)"' \
	-DTRIALSD_LIBEXECDIR='"$(LIBEXECDIR)"' $(PACKAGE_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=gnu17 -pthread $(WARNINGS) $(HARDENING) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(LDFLAGS)

# --- What there is to build -----------------------------------------------------------------------

objects = $(patsubst %.c,$(B)/obj/%.o,$1)

proto := $(call objects,$(wildcard proto/*.c))
client_library := $(call objects,$(wildcard client/lib*.c))
client_program := $(call objects,$(filter-out client/lib%.c,$(wildcard client/*.c)))
base := $(call objects,$(wildcard daemon/base/*.c))
keeper := $(call objects,$(filter-out daemon/keeper/main.c,$(wildcard daemon/keeper/*.c)) \
	daemon/init/children.c)
daemon := $(call objects,$(foreach folder,serve doctor queue plan launch ledger, \
	$(wildcard daemon/$(folder)/*.c)) daemon/options.c)
init := $(call objects,$(wildcard daemon/init/*.c))
mains := $(call objects,daemon/main.c daemon/keeper/main.c)

# A test program is one file, tests/unit/test_NAME.c; make_*.c, protocol_tables.c and what is in the
# other folders are helper programs; any other file beside them is shared by the programs of all
# folders. Of each shared tests/fuzz/target_NAME.c a program fuzz_NAME is made.
test_sources := $(wildcard tests/unit/*.c tests/daemon/*.c tests/sandbox/*.c tests/fuzz/*.c \
	tests/bench/*.c)
unit_sources := $(wildcard tests/unit/test_*.c)
helper_sources := $(wildcard tests/unit/make_*.c tests/unit/protocol_tables.c tests/fuzz/make_*.c \
	tests/daemon/*.c tests/sandbox/*.c tests/bench/*.c)
shared := $(call objects,$(filter-out $(unit_sources) $(helper_sources) tests/fuzz/replay.c, \
	$(test_sources)))
unit_tests := $(unit_sources:%.c=$(B)/%)
test_helpers := $(helper_sources:%.c=$(B)/%)
fuzzers := $(patsubst tests/fuzz/target_%.c,$(B)/tests/fuzz/fuzz_%, \
	$(wildcard tests/fuzz/target_*.c))
test_objects := $(call objects,$(unit_sources) $(helper_sources) tests/fuzz/replay.c)
# What runs in the virtual machine of check-vm: each a small static program.
vm_programs := $(patsubst %.c,$(B)/%,$(wildcard tests/vm/*.c))
vm_objects := $(call objects,$(wildcard tests/vm/*.c))

all_objects := $(proto) $(client_library) $(client_program) $(base) $(keeper) $(daemon) $(init) \
	$(mains) $(shared) $(test_objects) $(vm_objects)

programs := $(B)/trialsd $(B)/trialctl $(B)/trial-keeper $(B)/trials-init
# Where trialsd finds them in a build tree: beside itself.
harness_files := toolchains.conf providers.conf $(patsubst daemon/%,%,$(wildcard daemon/harness.d/*.harness))
libraries := $(B)/libtrials.so $(B)/libtrials.a $(B)/libtrials.pc

# --- Targets --------------------------------------------------------------------------------------

.PHONY: all
all: $(programs) $(libraries) $(addprefix $(B)/,$(harness_files)) ## every program and library (the default)

.PHONY: help
help: ## this list
	@echo 'make TARGET [CC=clang] [WERROR=1] [SANITIZE=address,undefined] [PREFIX=DIR] [DESTDIR=DIR]'
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: ## install what is missing, build, and show a real Trial and its Grader at work
	@contrib/install-deps
	@$(MAKE) --no-print-directory all
	@tests/as-user --build $(B) --keep $(B)/demo -- tests/demo $(B)

.PHONY: demo-experiment
demo-experiment: ## install what is missing, build, and show an Experiment with pretended Harnesses
	@contrib/install-deps
	@$(MAKE) --no-print-directory all
	@tests/as-user --build $(B) --keep $(B)/demo-experiment -- tests/demo-experiment $(B)

.PHONY: check
check: ## install what is missing, build, and run all tests
	@contrib/install-deps
	@$(MAKE) --no-print-directory tests
	@tests/as-user --build $(B) --manager -- tests/run --build $(B)

.PHONY: check-vm
check-vm: ## whether limits are real: boot a virtual machine with all controllers, and test there
	@contrib/install-deps
	@contrib/install-deps --vm || echo 'check-vm: going on with what is here' >&2
	@$(MAKE) --no-print-directory all $(vm_programs)
	@tests/vm/run $(B)

.PHONY: check-harnesses
check-harnesses: ## sessions of the real Harnesses, and Nodes old and new, fetched once with npm; with vendors made by the test
	@contrib/install-deps
	@contrib/install-deps --harnesses || echo 'check-harnesses: going on with what is here' >&2
	@$(MAKE) --no-print-directory all
	@tests/harnesses/fetch $(B)/harnesses
	@tests/as-user --build $(B) -- tests/run --build $(B) harnesses test-clients-inside

.PHONY: check-unit
check-unit: tests ## only the unit tests, as the user you are
	@tests/run --build $(B) unit

.PHONY: check-asan
check-asan: ## all tests with the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory check SANITIZE=address,undefined

.PHONY: check-tsan
check-tsan: ## the tests of the daemon and the ledger with the thread sanitizer
	@contrib/install-deps
	@$(MAKE) --no-print-directory SANITIZE=thread tests
	@tests/as-user --build build/tsan --manager -- tests/run --build build/tsan \
		test_ledger test-ledger test-lifecycle test-clients test-queue test-logs

.PHONY: check-includes
check-includes: ## that #include lines point only downwards
	@tests/check-includes

.PHONY: check-scripts
check-scripts: ## shellcheck over every shell script
	@tests/check-scripts

.PHONY: fuzzers
fuzzers: $(fuzzers)

.PHONY: fuzz
fuzz: ## build the fuzz targets with clang and libFuzzer, under build/fuzz
	@$(MAKE) --no-print-directory CC=clang BUILD=build/fuzz SANITIZE=address,undefined FUZZ=1 fuzzers
	@echo 'Run them: tests/fuzz/run [--seconds N] [NAME]...'

.PHONY: check-install
check-install: all ## that install and uninstall are complete, in a folder of its own
	@CC='$(CC)' tests/check-install

# The daemon once more, with the places where a test ends it (daemon/base/fault_point.h).
.PHONY: faults
faults:
	@$(MAKE) --no-print-directory BUILD=$(B)/faults CPPFLAGS='$(CPPFLAGS) -DTRIALSD_FAULT_POINTS' \
		$(addprefix $(B)/faults/,trialsd trial-keeper trials-init $(harness_files))

.PHONY: torture
torture: tests ## the long forms of some tests: kills, interleavings, a large log (about fifteen minutes)
	@TRIALS_TORTURE_KILLS=200 TRIALS_KILLS=200 TRIALS_INTERLEAVINGS=100000 TRIALS_LARGE_LOG=1024 TRIALS_TRANSFER=60 \
		tests/as-user --build $(B) --manager -- \
		tests/run --build $(B) --timeout 1800 test-torture test-kills test_interleavings test-large test-network-restart

.PHONY: tests
tests: all faults $(unit_tests) $(test_helpers) $(fuzzers) $(vm_programs) ## build all tests and what they test, run none

.PHONY: bench
bench: all $(test_helpers) ## the benchmarks
	@if [ -x tests/bench/run ]; then tests/bench/run $(B); else echo 'There are no benchmarks yet.'; fi

.PHONY: format
format: ## lay the sources out as .clang-format says
	@CLANG_FORMAT='$(CLANG_FORMAT)' tests/check-format --fix

.PHONY: format-check
format-check: ## say which lines are not laid out as .clang-format says
	@CLANG_FORMAT='$(CLANG_FORMAT)' tests/check-format

.PHONY: tidy
tidy: ## clang-tidy over every C source (ONLY=TEXT: whose path holds it)
	@CLANG_TIDY='$(CLANG_TIDY)' tests/check-tidy $(if $(ONLY),--only '$(ONLY)') -std=gnu17 -Wall -Wextra \
		$(filter-out $(FORTIFY),$(ALL_CPPFLAGS)) $(CHECK_CFLAGS) -DTRIALSD_FAULT_POINTS

.PHONY: vectors
vectors: $(B)/tests/unit/make_vectors ## write proto/vectors/ again from the tables
	$< proto/vectors

.PHONY: dict
dict: $(B)/tests/fuzz/make_dict ## write the fuzz dictionaries again from the tables
	@for name in wire json config harness launch; do $< $$name > tests/fuzz/$$name.dict || exit; done

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build $(if $(filter-out build build/%,$(B)),$(B))

# --- Compiling ------------------------------------------------------------------------------------

# Remembers the commands' flags: a build with others starts anew. It is also where a missing
# dependency is told in one line, before the first compiler error.
$(B)/flags: force
	@command -v $(CC) >/dev/null || { \
		echo 'trialsd cannot be built: there is no compiler "$(CC)". Run contrib/install-deps' >&2; exit 1; }
	@command -v $(PKG_CONFIG) >/dev/null || { \
		echo 'trialsd cannot be built: there is no pkg-config. Run contrib/install-deps' >&2; exit 1; }
	@missing=; for package in $(PACKAGES) check; do \
		$(PKG_CONFIG) --exists "$$package" || missing="$$missing $$package"; done; \
	test -z "$$missing" || { \
		echo "trialsd cannot be built: not installed:$$missing. Run contrib/install-deps" >&2; exit 1; }
	@mkdir -p $(@D)
	@new='$(subst ','\'',$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANITIZER) $(ALL_LDFLAGS))'; \
	test "$$new" = "$$(cat $@ 2>/dev/null)" || printf '%s\n' "$$new" > $@

# The same for which files there are: without a file that went, archives are made and linked anew.
$(B)/files: force
	@mkdir -p $(@D)
	@test '$(all_objects)' = "$$(cat $@ 2>/dev/null)" || printf '%s\n' '$(all_objects)' > $@

.PHONY: force
force:

quiet := $(if $(filter 1,$(V)),,@)
say = @$(if $(quiet),printf '  %-5s $@\n',:)

# What goes into libtrials.so is position-independent and exports only what trials.h marks.
$(proto) $(client_library): code_model := -fPIC -fvisibility=hidden
code_model := -fPIE
$(init): code_model := -fPIE -ffunction-sections -fdata-sections
# pid 1 of the sandbox is static, and the sanitizers' runtime is not.
$(init) $(vm_objects): SANITIZER :=
$(test_objects) $(shared): code_model := -fPIE $(CHECK_CFLAGS)

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(say) CC
	$(quiet)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANITIZER) $(code_model) -MMD -MP -c -o $@ $<

-include $(all_objects:.o=.d)

# --- Linking --------------------------------------------------------------------------------------

# q, not r: files of different folders may have one name, and all of them are wanted.
define archive
	@rm -f $@
	$(say) AR
	$(quiet)$(AR) qcs $@ $(filter %.o,$^)
endef

$(B)/obj/proto.a: $(proto) $(B)/files
	$(archive)
$(B)/obj/base.a: $(base) $(B)/files
	$(archive)
$(B)/obj/keeper.a: $(keeper) $(B)/files
	$(archive)
# All but the programs' main files and trials-init, which stands alone.
$(B)/obj/tests.a: $(proto) $(client_library) $(filter-out %/trialctl.o,$(client_program)) \
		$(base) $(keeper) $(daemon) $(shared) $(B)/files
	$(archive)

link = $(CC) $(CFLAGS) $(SANITIZER) -pie $(ALL_LDFLAGS) -o $@

$(B)/trialsd: $(B)/obj/daemon/main.o $(daemon) $(B)/obj/keeper.a $(B)/obj/base.a $(B)/obj/proto.a
	$(say) LINK
	$(quiet)$(link) $(filter %.o %.a,$^) $(DAEMON_LIBS) -lm

$(B)/trial-keeper: $(B)/obj/daemon/keeper/main.o $(B)/obj/keeper.a $(B)/obj/base.a $(B)/obj/proto.a
	$(say) LINK
	$(quiet)$(link) $(filter %.o %.a,$^) $(DAEMON_LIBS) -lm

$(B)/trialctl: $(client_program) $(client_library) $(B)/obj/proto.a $(B)/files
	$(say) LINK
	$(quiet)$(link) $(filter %.o %.a,$^) $(CLIENT_LIBS) -lm

$(B)/trials-init: $(init) $(B)/files
	$(say) LINK
	$(quiet)$(CC) $(CFLAGS) -static-pie $(ALL_LDFLAGS) -Wl,--gc-sections -o $@ $(filter %.o,$^)

soname := libtrials.so.$(SOVERSION)
$(B)/libtrials.so: $(client_library) $(B)/obj/proto.a client/libtrials.map
	$(say) LINK
	$(quiet)$(CC) $(CFLAGS) $(SANITIZER) -shared $(ALL_LDFLAGS) -Wl,-soname,$(soname) \
		-Wl,--version-script=client/libtrials.map -o $@ \
		$(client_library) $(B)/obj/proto.a $(CLIENT_LIBS) -lm
	@ln -sf libtrials.so $(B)/$(soname)

# One object in which everything hidden is made local: a program that links the archive sees the
# names of trials.h and no others.
$(B)/libtrials.a: $(client_library) $(proto) $(B)/files
	$(say) LINK
	$(quiet)$(LD) -r -o $(B)/obj/libtrials.o $(filter %.o,$^)
	$(quiet)$(OBJCOPY) --localize-hidden $(B)/obj/libtrials.o
	@rm -f $@
	$(quiet)$(AR) qcs $@ $(B)/obj/libtrials.o

$(B)/libtrials.pc: client/libtrials.pc.in $(B)/flags
	@sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,$(LIBDIR),' -e 's,@INCLUDEDIR@,$(INCLUDEDIR),' \
		-e 's,@VERSION@,$(VERSION),' -e 's,-lmsgpackc,$(strip $(WIRE_LIBS)),' $< > $@

$(B)/toolchains.conf $(B)/providers.conf: $(B)/%.conf: daemon/%.conf
	@mkdir -p $(@D)
	@cp $< $@

$(B)/harness.d/%.harness: daemon/harness.d/%.harness
	@mkdir -p $(@D)
	@cp $< $@

$(unit_tests) $(test_helpers): $(B)/%: $(B)/obj/%.o $(B)/obj/tests.a
	@mkdir -p $(@D)
	$(say) LINK
	$(quiet)$(link) $(filter %.o %.a,$^) $(CHECK_LIBS) $(DAEMON_LIBS) -lm

$(vm_programs): $(B)/%: $(B)/obj/%.o
	@mkdir -p $(@D)
	$(say) LINK
	$(quiet)$(CC) $(CFLAGS) -static-pie $(ALL_LDFLAGS) -o $@ $<

# Without libFuzzer a target is a program that runs the files it is given. In the one for NAME,
# fuzz_NAME has a second name: that of what libFuzzer and replay.c call.
$(fuzzers): $(B)/tests/fuzz/fuzz_%: $(B)/obj/tests.a \
		$(if $(filter 1,$(FUZZ)),,$(B)/obj/tests/fuzz/replay.o)
	@mkdir -p $(@D)
	$(say) LINK
	$(quiet)$(link) $(if $(filter 1,$(FUZZ)),-fsanitize=fuzzer) -Wl,--undefined=fuzz_$* \
		-Wl,--defsym=LLVMFuzzerTestOneInput=fuzz_$* $(filter %.o,$^) $(filter %.a,$^) \
		$(CHECK_LIBS) $(DAEMON_LIBS) -lm

# --- Installing -----------------------------------------------------------------------------------

man1 := $(wildcard client/*.1 daemon/*.1)
man5 := $(wildcard client/*.5 daemon/*.5)
man7 := $(wildcard client/*.7 daemon/*.7)
man8 := $(wildcard client/*.8 daemon/*.8)

# Each group is MODE, FOLDER, FILES; uninstall reads the same list.
installed = \
	$(call group,755,$(BINDIR),$(B)/trialsd $(B)/trialctl) \
	$(call group,755,$(LIBEXECDIR),$(B)/trial-keeper $(B)/trials-init) \
	$(call group,644,$(LIBEXECDIR)/harness.d,$(wildcard daemon/harness.d/*.harness)) \
	$(call group,644,$(LIBEXECDIR),daemon/toolchains.conf daemon/providers.conf) \
	$(call group,755,$(LIBDIR),$(B)/$(soname)) \
	$(call group,644,$(LIBDIR),$(B)/libtrials.a) \
	$(call group,644,$(LIBDIR)/pkgconfig,$(B)/libtrials.pc) \
	$(call group,644,$(INCLUDEDIR),client/trials.h) \
	$(call group,644,$(UNITDIR),$(wildcard systemd/*.service systemd/*.socket systemd/*.slice)) \
	$(call group,644,$(CATALOGDIR),$(wildcard systemd/*.catalog)) \
	$(call group,644,$(DOCDIR),README NEWS LICENSE proto/PROTOCOL daemon/SECURITY) \
	$(call group,644,$(MANDIR)/man1,$(man1)) \
	$(call group,644,$(MANDIR)/man5,$(man5)) \
	$(call group,644,$(MANDIR)/man7,$(man7)) \
	$(call group,644,$(MANDIR)/man8,$(man8)) \
	$(call group,644,$(BASHCOMPDIR),$(wildcard contrib/completions/bash/*)) \
	$(call group,644,$(ZSHCOMPDIR),$(wildcard contrib/completions/zsh/*)) \
	$(call group,644,$(FISHCOMPDIR),$(wildcard contrib/completions/fish/*))

# Programs find libtrials.so.0 through the linker's cache, which root alone can renew.
define tell_linker
if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then PATH="$$PATH:/usr/sbin:/sbin" ldconfig || :; \
else echo 'For programs linked with libtrials: ldconfig as root, or LD_LIBRARY_PATH=$(LIBDIR)'; fi
endef

# The journal reads catalogs below /usr and /usr/local, and of those what was compiled.
define tell_journal
if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ] && command -v journalctl >/dev/null; then \
journalctl --update-catalog || :; fi
endef

.PHONY: install
install: group = $(foreach file,$3,install -D -m $1 $(file) '$(DESTDIR)$2/$(notdir $(file))' &&)
install: all ## install below $(DESTDIR)$(PREFIX), /usr/local unless told
	@case '$(PREFIX)' in /*) ;; *) \
		echo 'PREFIX must be an absolute path, not "$(PREFIX)"' >&2; exit 64 ;; esac
	@$(installed) :
	@ln -sf $(soname) '$(DESTDIR)$(LIBDIR)/libtrials.so'
	@sed -i 's,/usr/bin/,$(BINDIR)/,' '$(DESTDIR)$(UNITDIR)/trialsd.service'
	@sed -i 's,/usr/local/share/doc/trialsd,$(DOCDIR),' '$(DESTDIR)$(MANDIR)/man1/trialctl.1'
	@sed -i 's,/usr/local/lib/trialsd,$(LIBEXECDIR),' '$(DESTDIR)$(MANDIR)/man5/trialsd.harness.5' \
		'$(DESTDIR)$(MANDIR)/man5/trialsd.conf.5' \
		'$(DESTDIR)$(MANDIR)/man5/trialsd.providers.5'
	@echo 'Installed below $(DESTDIR)$(PREFIX).'
	@$(tell_linker)
	@$(tell_journal)
	@echo 'As the user it is to serve: systemctl --user daemon-reload'
	@echo '                            systemctl --user enable --now trialsd.socket'

.PHONY: uninstall
uninstall: group = $(foreach file,$3,'$(DESTDIR)$2/$(notdir $(file))')
uninstall: ## remove what install put there; says what data stays behind
	@rm -f $(installed) '$(DESTDIR)$(LIBDIR)/libtrials.so'
	@rmdir '$(DESTDIR)$(LIBEXECDIR)/harness.d' '$(DESTDIR)$(LIBEXECDIR)' '$(DESTDIR)$(DOCDIR)' 2>/dev/null || :
	@$(tell_linker) >/dev/null
	@$(tell_journal)
	@echo 'Removed from $(DESTDIR)$(PREFIX). What stays behind, for each user who ran it:'
	@echo '  ~/.local/state/trialsd     the ledger, the output of every Trial, copies of logins'
	@echo '  ~/.thirdshift              keys, and the logins that Trials have'
	@echo '  ~/.config/trialsd          trialsd.conf, harness.d'
	@echo '  $$XDG_RUNTIME_DIR/trialsd   the socket; gone at the end of the session'
	@echo 'A daemon that runs goes on: trialctl is gone, so end it with'
	@echo '  systemctl --user disable --now trialsd.socket trialsd.service'
