# uprobe_exporter: build, test and run. `make help` lists the targets. Everything built goes to
# build/; sources are found by their folders, so a new file needs no line here.

MAKEFLAGS += --no-builtin-rules
SHELL     := /bin/bash
V         ?= 0
Q         := $(if $(filter 1,$(V)),,@)
say        = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(2)';)

BUILD   := build
PREFIX  ?= /usr/local
DESTDIR ?=
DOCDIR  ?= $(PREFIX)/share/doc/uprobe_exporter
ARCH    := $(shell uname -m)
CC      := gcc
CXX     := g++
CLANG   ?= clang
VERSION := $(shell cat VERSION 2>/dev/null || echo 0.0.0)
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

PKGS     := libbpf libelf libmicrohttpd libseccomp yaml-0.1 zlib
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
# Zydis and libiberty come without a .pc file.
PKG_LIBS   = $(shell pkg-config --libs $(PKGS)) -lZydis -liberty

WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
            -Wpointer-arith -Wcast-qual -Wundef -Werror=implicit-function-declaration
CPPFLAGS += -Iexporter -I. -D_GNU_SOURCE
CFLAGS   ?= -O2 -g
BASE_CFLAGS = -std=gnu17 $(WARN) -fno-omit-frame-pointer -fstack-protector-strong

.DEFAULT_GOAL := all
.PHONY: all
all: $(BUILD)/uprobe_exporter

# ---- kernel programs ---------------------------------------------------------------------------
# One source, one object a tier: an object that merely contains a kfunc the kernel does not have
# does not load, so the tiers must not share one.
BPF_ARCH_x86_64  := x86
BPF_ARCH_aarch64 := arm64
# v3: compare-and-exchange, from kernel 5.12
BPF_FLAGS := -g -O2 -std=gnu17 -Wall -Wextra -Wno-unused-parameter --target=bpf -mcpu=v3 \
             -D__TARGET_ARCH_$(BPF_ARCH_$(ARCH)) -I. -I/usr/include/$(ARCH)-linux-gnu
BPF_TIERS := session session_ctx multi perf
BPF_DEFS_session     := -DTIER_SESSION
BPF_DEFS_session_ctx := -DTIER_SESSION -DSESSION_KFUNC_TAKES_CTX
BPF_DEFS_multi       := -DTIER_MULTI
BPF_DEFS_perf        := -DTIER_PERF
BPF_OBJS := $(BPF_TIERS:%=$(BUILD)/bpf/%.bpf.o) $(BUILD)/bpf/mapping.bpf.o

$(BPF_TIERS:%=$(BUILD)/bpf/%.bpf.o): $(BUILD)/bpf/%.bpf.o: bpf/probe.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) $(BPF_DEFS_$*) -c $< -o $@

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) -c $< -o $@

# Written anew only when it changes, so that nothing is built for nothing.
VERSION_C = printf '\#include "base/version.h"\nconst char version_%s[] = "%s";\nconst char version_%s[] = "%s";\n' \
            number '$(VERSION)' revision '$(REVISION)'
.PHONY: always
$(BUILD)/version.c: always
	@mkdir -p $(@D)
	@$(VERSION_C) | cmp -s - $@ || $(VERSION_C) > $@

# ---- the exporter, once a variant ----------------------------------------------------------------
SRCS      := $(sort $(wildcard exporter/*.c exporter/*/*.c))
LIB_SRCS  := $(filter-out exporter/main.c,$(SRCS))
UNIT_SRCS := $(sort $(wildcard tests/unit/*/*_test.c))
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/*_fuzz.c))
HAVE_BPF  := $(wildcard exporter/kernel/objects.S)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g
VARIANTS := release gcc-asan clang-asan tsan fuzz
CC_release    := $(CC)
CC_gcc-asan   := gcc
CC_clang-asan := $(CLANG)
CC_tsan       := gcc
CC_fuzz       := $(CLANG)
CFLAGS_release    = $(CFLAGS) -D_FORTIFY_SOURCE=2
CFLAGS_gcc-asan   = $(SANITIZE)
CFLAGS_clang-asan = $(SANITIZE)
CFLAGS_tsan       = -fsanitize=thread -O1 -g
CFLAGS_fuzz       = $(SANITIZE) -fsanitize=fuzzer-no-link

# $(1) the variant, $(2) its folder
define variant
$(1)_LIB := $(BUILD)/$(1)/libexporter.a
$(1)_OBJS := $(LIB_SRCS:%.c=$(BUILD)/$(1)/%.o) $(BUILD)/$(1)/version.o $(if $(HAVE_BPF),$(BUILD)/$(1)/exporter/kernel/objects.o)

$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(CC_$(1)) $$(CPPFLAGS) $$(BASE_CFLAGS) $$(CFLAGS_$(1)) $$(PKG_CFLAGS) -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/version.o: $(BUILD)/version.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(CC_$(1)) $$(CPPFLAGS) $$(BASE_CFLAGS) $$(CFLAGS_$(1)) -c $$< -o $$@

$(BUILD)/$(1)/exporter/kernel/objects.o: exporter/kernel/objects.S $(BPF_OBJS)
	@mkdir -p $$(@D)
	$$(call say,AS,$$@)$$(CC_$(1)) -I$(BUILD)/bpf -c $$< -o $$@

$$($(1)_LIB): $$($(1)_OBJS)
	@rm -f $$@
	$$(call say,AR,$$@)ar rcs $$@ $$($(1)_OBJS)

$(BUILD)/$(1)/uprobe_exporter: $(BUILD)/$(1)/exporter/main.o $$($(1)_LIB)
	$$(call say,LD,$$@)$$(CC_$(1)) $$(CFLAGS_$(1)) $$(LDFLAGS) $$^ $$(PKG_LIBS) -lm -lpthread -o $$@

$(BUILD)/$(1)/tests/unit/%_test: $(BUILD)/$(1)/tests/unit/%_test.o $$($(1)_LIB)
	$$(call say,LD,$$@)$$(CC_$(1)) $$(CFLAGS_$(1)) $$^ $$(PKG_LIBS) -lcmocka -lm -lpthread -o $$@

-include $$($(1)_OBJS:.o=.d) $(BUILD)/$(1)/exporter/main.d $$(UNIT_SRCS:%.c=$(BUILD)/$(1)/%.d)
endef
$(foreach v,$(VARIANTS),$(eval $(call variant,$(v))))

.SECONDARY:
.DELETE_ON_ERROR:

$(BUILD)/uprobe_exporter: $(BUILD)/release/uprobe_exporter
	$(Q)ln -f $< $@

# `make unit` builds and runs the unit tests under both compilers' sanitizers;
# `make unit UNIT=config/parse` runs one.
UNIT ?= *
UNIT_BINS = $(foreach v,gcc-asan clang-asan,$(patsubst %.c,$(BUILD)/$(v)/%,$(filter tests/unit/$(if $(filter *,$(UNIT)),%,$(UNIT)%)_test.c,$(UNIT_SRCS))))
.PHONY: unit
unit: $(UNIT_BINS)
	$(Q)for t in $(UNIT_BINS); do echo "== $$t"; $$t || exit 1; done

# A fuzz target links the fuzz variant of the library: build/fuzz/<name>_fuzz CORPUS
$(BUILD)/fuzz/%_fuzz: $(BUILD)/fuzz/tests/fuzz/%_fuzz.o $(fuzz_LIB)
	$(call say,LD,$@)$(CLANG) $(CFLAGS_fuzz) -fsanitize=fuzzer $^ $(PKG_LIBS) -lm -lpthread -o $@

# ---- victims: programs with known calls, for the tests and the demo ------------------------------
# tests/victims/NAME.c → build/victims/NAME, and the same as NAME.nopie, NAME.static, … for the
# files that a linker can make, and NAME.risky; NAME.cc, NAME.rs and NAME.go where there is a
# compiler; libNAME.c and libNAME.cc → libNAME.so; genlib.sh writes further libraries.
VICTIM_FLAGS := -O2 -g -Wall -Wextra -pthread
VICTIM_STD.c  := -std=gnu17
VICTIM_STD.cc := -std=gnu++20
VICTIM_FLAGS_nopie     := -no-pie
VICTIM_FLAGS_static    := -static -DSTATIC
VICTIM_FLAGS_staticpie := -static-pie
VICTIM_FLAGS_endbr     := -fcf-protection=full
VICTIM_FLAGS_risky     := -DRISKY
VICTIM_FLAGS_private   := -DPRIVATE
# Debian's compilers before others: what the tests say is about those.
RUSTC := $(firstword $(wildcard /usr/bin/rustc) $(shell command -v rustc))
GO    := $(firstword $(wildcard /usr/bin/go) $(shell command -v go))
VICTIM_KINDS := c cc $(if $(RUSTC),rs) $(if $(GO),go)
VICTIM_LIBS  := libmarks libplugin libswaps libvisit
VICTIM_NAMES := $(foreach k,$(VICTIM_KINDS),$(patsubst tests/victims/%.$k,%,$(wildcard tests/victims/*.$k)))
VICTIMS := $(addprefix $(BUILD)/victims/,$(filter-out $(VICTIM_LIBS),$(VICTIM_NAMES)) \
             $(addsuffix .so,$(VICTIM_LIBS)) \
             $(addprefix threads.,nopie static staticpie endbr) \
             $(addprefix marks.,nopie static) \
             plain.endbr $(addsuffix .risky,plain procs) switches.private \
             $(addprefix libmany,1000.so 10000.so bad.so))

.PHONY: victims
victims: $(VICTIMS)

# $(1) the kind of source, $(2) the compiler, $(3) a variant or nothing
define victim
$(BUILD)/victims/%$(if $(3),.$(3)): tests/victims/%.$(1) $(wildcard tests/victims/*.h)
	@mkdir -p $$(@D)
	$$(call say,VICTIM,$$@)$(2) $(VICTIM_STD.$(1)) $(VICTIM_FLAGS) $(VICTIM_FLAGS_$(3)) $$< -ldl -o $$@
endef
$(foreach v,nopie static staticpie endbr risky private,$(eval $(call victim,c,$(CC),$v)))
$(eval $(call victim,c,$(CC),))
$(eval $(call victim,cc,$(CXX),))

$(BUILD)/victims/lib%.so: tests/victims/lib%.c $(wildcard tests/victims/*.h)
	@mkdir -p $(@D)
	$(call say,VICTIM,$@)$(CC) $(VICTIM_STD.c) $(VICTIM_FLAGS) -shared -fPIC $< -o $@

$(BUILD)/victims/lib%.so: tests/victims/lib%.cc
	@mkdir -p $(@D)
	$(call say,VICTIM,$@)$(CXX) $(VICTIM_STD.cc) $(VICTIM_FLAGS) -shared -fPIC $< -o $@

$(BUILD)/victims/%: tests/victims/%.rs
	@mkdir -p $(@D)
	$(call say,VICTIM,$@)$(RUSTC) --edition 2021 -O -g $< -o $@

$(BUILD)/victims/%: tests/victims/%.go
	@mkdir -p $(@D)
	$(call say,VICTIM,$@)GO111MODULE=off CGO_ENABLED=0 GOCACHE=$(abspath $(BUILD))/go $(GO) build -o $@ $<

LIBMANY_1000.so  := 1000
LIBMANY_10000.so := 10000
LIBMANY_bad.so   := 1000 500
$(BUILD)/victims/libmany%: tests/victims/genlib.sh
	@mkdir -p $(@D)
	$(call say,VICTIM,$@)tests/victims/genlib.sh $(LIBMANY_$*) | $(CC) -O1 -w -shared -fPIC -x c - -o $@

# ---- benchmark -----------------------------------------------------------------------------------
# `make bench` measures against the kernel's limit and other tools and writes build/bench/results.*;
# `make bench-document` writes docs/benchmarks.md as well.
BENCH_FILES := $(addprefix $(BUILD)/bench/,calls callsxx empty empty.bpf.o) \
               $(if $(GO),$(BUILD)/bench/callsgo)
BENCH_FLAGS ?=

$(BUILD)/bench/calls: tests/bench/calls.c tests/bench/calls.h
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(VICTIM_STD.c) $(VICTIM_FLAGS) $< -o $@

$(BUILD)/bench/callsxx: tests/bench/callsxx.cc tests/bench/calls.h
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CXX) $(VICTIM_STD.cc) $(VICTIM_FLAGS) $< -o $@

$(BUILD)/bench/callsgo: tests/bench/callsgo.go
	@mkdir -p $(@D)
	$(call say,BENCH,$@)GO111MODULE=off CGO_ENABLED=0 GOCACHE=$(abspath $(BUILD))/go $(GO) build -o $@ $<

$(BUILD)/bench/empty: tests/bench/empty.c $(release_LIB)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) $^ $(PKG_LIBS) -o $@

$(BUILD)/bench/empty.bpf.o: tests/bench/empty.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) -c $< -o $@

.PHONY: bench bench-document bench-build
bench:
	$(Q)deploy/deps.sh bench
	$(Q)$(MAKE) -s --no-print-directory -j$(JOBS) bench-build
	$(Q)$(PYTHON) tests/bench/run.py --build $(BUILD) $(BENCH_FLAGS)

bench-document:
	$(Q)$(MAKE) --no-print-directory bench BENCH_FLAGS='--document docs/benchmarks.md $(BENCH_FLAGS)'

bench-build: $(BUILD)/uprobe_exporter $(BENCH_FILES) victims

# ---- tests ---------------------------------------------------------------------------------------
# What `make test` runs must all be built before; a second make does that, once the packages that
# the first one installed are there.
JOBS      ?= $(shell nproc)
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_SECONDS ?= 60
PYTHON    := /usr/bin/python3
SUITES    ?= unit fuzz check bpf e2e

.PHONY: test test-build check fuzz
test:
	$(Q)deploy/deps.sh test
	$(if $(filter kernels,$(SUITES)),$(Q)deploy/deps.sh kernels)
	$(Q)$(MAKE) -s --no-print-directory -j$(JOBS) test-build $(if $(filter kernels,$(SUITES)),test-kernels-build)
	$(Q)$(PYTHON) tests/run.py --build $(BUILD) $(SUITES)

test-build: $(BUILD)/uprobe_exporter $(BUILD)/gcc-asan/uprobe_exporter $(BUILD)/tsan/uprobe_exporter $(UNIT_BINS) $(FUZZ_BINS) victims

check:
	$(Q)$(PYTHON) tests/run.py --build $(BUILD) check

fuzz: $(FUZZ_BINS)
	$(Q)$(PYTHON) tests/run.py --build $(BUILD) --fuzz-seconds $(FUZZ_SECONDS) fuzz

# The same on Debian's kernels, in an emulated machine whose first process is our test program.
GUEST_SRCS := $(wildcard tests/kernels/guest/*.c)
GUEST_VICTIMS := $(addprefix $(BUILD)/victims/,threads threads.nopie threads.static threads.endbr \
                 shapes leaves procs blocked library libmany1000.so marks)
KERNELS ?= 5.10 6.1 6.12 sid

$(BUILD)/kernels/guest: $(GUEST_SRCS) tests/kernels/guest/guest.h
	@mkdir -p $(@D)
	$(call say,GUEST,$@)$(CC) -std=gnu17 -O2 -g $(WARN) -Wno-missing-field-initializers -D_GNU_SOURCE -static $(GUEST_SRCS) -o $@

.PHONY: test-kernels test-kernels-build
test-kernels:
	$(Q)deploy/deps.sh kernels
	$(Q)$(MAKE) -s --no-print-directory -j$(JOBS) test-kernels-build
	$(Q)$(PYTHON) tests/run.py --build $(BUILD) --kernels '$(KERNELS)' kernels

test-kernels-build: $(BUILD)/uprobe_exporter $(BUILD)/kernels/guest $(GUEST_VICTIMS)

# ---- man pages -----------------------------------------------------------------------------------
# Made from docs/ and the program's own --help; see deploy/man/man.py.
MAN_PAGES := $(BUILD)/man/uprobe_exporter.8 $(BUILD)/man/uprobe_exporter.yaml.5

.PHONY: man
man: $(MAN_PAGES)

$(BUILD)/man/%: deploy/man/%.md deploy/man/man.py README.md docs/config.md docs/metrics.md VERSION $(BUILD)/uprobe_exporter
	@mkdir -p $(@D)
	$(call say,MAN,$@)$(PYTHON) deploy/man/man.py --binary $(BUILD)/uprobe_exporter $< >$@

# ---- set-up, demo, install -------------------------------------------------------------------------
.PHONY: deps run install help
deps:
	$(Q)deploy/deps.sh test

run:
	$(Q)deploy/deps.sh build
	$(Q)$(MAKE) -s --no-print-directory -j$(JOBS) $(BUILD)/uprobe_exporter $(BUILD)/victims/demo
	$(Q)env --default-signal=INT,TERM,HUP deploy/demo.sh $(BUILD)

install: all man
	install -D -m 755 $(BUILD)/uprobe_exporter $(DESTDIR)$(PREFIX)/bin/uprobe_exporter
	install -d $(DESTDIR)$(DOCDIR) $(DESTDIR)$(PREFIX)/share/man/man{5,8}
	install -m 644 $(wildcard README.md ARCHITECTURE.md CHANGELOG.md docs/*.md config/*.yaml) \
	        $(DESTDIR)$(DOCDIR)/
	install -d $(DESTDIR)$(PREFIX)/share/uprobe_exporter/{dashboards,rules}
	install -m 644 dashboards/*.json $(DESTDIR)$(PREFIX)/share/uprobe_exporter/dashboards/
	install -m 644 dashboards/rules/*.yaml $(DESTDIR)$(PREFIX)/share/uprobe_exporter/rules/
	for page in $(MAN_PAGES); do gzip -9n <$$page | install -m 644 /dev/stdin \
	        $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}.gz || exit 1; done
	install -d $(DESTDIR)$(PREFIX)/lib/{systemd/system,sysusers.d,tmpfiles.d}
	sed 's|@BINDIR@|$(PREFIX)/bin|' deploy/systemd/uprobe_exporter.service | install -m 644 \
	        /dev/stdin $(DESTDIR)$(PREFIX)/lib/systemd/system/uprobe_exporter.service
	install -m 644 deploy/systemd/uprobe_exporter.socket $(DESTDIR)$(PREFIX)/lib/systemd/system/
	install -m 644 deploy/systemd/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/uprobe_exporter.conf
	install -m 644 deploy/systemd/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/uprobe_exporter.conf
	install -m 644 deploy/systemd/perf-tier.conf $(DESTDIR)$(DOCDIR)/
	install -d $(DESTDIR)/etc/{default,uprobe_exporter}
	[ -e $(DESTDIR)/etc/uprobe_exporter/uprobe_exporter.yaml ] || \
	        sed 's|@BINDIR@|$(PREFIX)/bin|' deploy/uprobe_exporter.yaml.in | install -m 644 \
	        /dev/stdin $(DESTDIR)/etc/uprobe_exporter/uprobe_exporter.yaml
	[ -e $(DESTDIR)/etc/default/uprobe_exporter ] || \
	        install -m 644 deploy/systemd/default $(DESTDIR)/etc/default/uprobe_exporter

# A Debian package for this machine's release and architecture.
DEB_VERSION ?= $(VERSION)

.PHONY: deb
deb: all man
	$(Q)rm -rf $(BUILD)/deb/tree
	$(Q)$(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(BUILD))/deb/tree PREFIX=/usr \
	        DOCDIR=/usr/share/doc/uprobe-exporter
	$(Q)deploy/deb/build.sh $(BUILD)/deb/tree $(DEB_VERSION) $(BUILD)/deb

# A container image (in the docker format, which has health checks). BASE is a Debian or Ubuntu image; IMAGE_FLAGS go to `build`.
IMAGE_TOOL  ?= $(firstword $(notdir $(shell command -v podman docker)) podman)
IMAGE       ?= uprobe_exporter:$(VERSION)
BASE        ?=
IMAGE_FLAGS ?=

.PHONY: image
image:
	$(IMAGE_TOOL) build $(if $(filter podman,$(IMAGE_TOOL)),--format docker) -f deploy/container/Dockerfile -t $(IMAGE) $(IMAGE_FLAGS) \
	        $(if $(BASE),--build-arg BASE=$(BASE)) \
	        --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) .

help:
	@printf '%s\n' \
	  'make              build the exporter: $(BUILD)/uprobe_exporter (V=1 shows the commands)' \
	  'make deps         install the Debian packages for building and testing' \
	  'sudo make run     install what is missing, build, start the demo and the exporter on it' \
	  'sudo make test    install what is missing, build, run every test' \
	  '                  SUITES="unit fuzz check bpf e2e" chooses among them' \
	  'sudo make test-kernels  the same on other kernels, emulated: KERNELS="5.10 6.1 6.12 sid"' \
	  'make unit         unit tests under both sanitizers; UNIT=config/ runs a part of them' \
	  'make check        house rules: format, clang-tidy, cppcheck, includes' \
	  'make fuzz         fuzz every target for FUZZ_SECONDS (60)' \
	  'sudo make bench   measure against bpftrace, BCC and libbpf-tools: $(BUILD)/bench/' \
	  'make man          the man pages: $(BUILD)/man/' \
	  'make install      to DESTDIR and PREFIX ($(PREFIX))' \
	  'make deb          a Debian package: $(BUILD)/deb/' \
	  'make image        a container image, with podman or docker: BASE=, IMAGE=' \
	  'make clean        remove $(BUILD)/'

.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)
