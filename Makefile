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
ARCH    := $(shell uname -m)
CC      := gcc
CLANG   ?= clang
VERSION := $(shell cat VERSION 2>/dev/null || echo 0.0.0)
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

PKGS     := libbpf libelf libmicrohttpd yaml-0.1 zlib
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS   = $(shell pkg-config --libs $(PKGS))

WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
            -Wpointer-arith -Wcast-qual -Wundef -Werror=implicit-function-declaration
CPPFLAGS += -Iexporter -I. -D_GNU_SOURCE
CFLAGS   ?= -O2 -g
BASE_CFLAGS = -std=gnu17 $(WARN) -fno-omit-frame-pointer -fstack-protector-strong
VERSION_FLAGS = -DVERSION='"$(VERSION)"' -DREVISION='"$(REVISION)"'

.DEFAULT_GOAL := all
.PHONY: all
all: $(BUILD)/uprobe_exporter

# ---- kernel programs ---------------------------------------------------------------------------
# One source, one object a tier: an object that merely contains a kfunc the kernel does not have
# does not load, so the tiers must not share one.
BPF_ARCH_x86_64  := x86
BPF_ARCH_aarch64 := arm64
BPF_FLAGS := -g -O2 -std=gnu17 -Wall -Wextra -Wno-unused-parameter --target=bpf \
             -D__TARGET_ARCH_$(BPF_ARCH_$(ARCH)) -I. -I/usr/include/$(ARCH)-linux-gnu
BPF_TIERS := session session_ctx multi perf
BPF_DEFS_session     := -DTIER_SESSION
BPF_DEFS_session_ctx := -DTIER_SESSION -DSESSION_KFUNC_TAKES_CTX
BPF_DEFS_multi       := -DTIER_MULTI
BPF_DEFS_perf        := -DTIER_PERF
BPF_OBJS := $(BPF_TIERS:%=$(BUILD)/bpf/%.bpf.o)

$(BUILD)/bpf/%.bpf.o: bpf/probe.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) $(BPF_DEFS_$*) -c $< -o $@

# ---- the exporter, once a variant ----------------------------------------------------------------
SRCS      := $(sort $(wildcard exporter/*.c exporter/*/*.c))
LIB_SRCS  := $(filter-out exporter/main.c,$(SRCS))
UNIT_SRCS := $(sort $(wildcard tests/unit/*/*_test.c))
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/*_fuzz.c))
HAVE_BPF  := $(wildcard exporter/kernel/objects.S)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -O1 -g
VARIANTS := release gcc-asan clang-asan fuzz
CC_release    := $(CC)
CC_gcc-asan   := gcc
CC_clang-asan := $(CLANG)
CC_fuzz       := $(CLANG)
CFLAGS_release    = $(CFLAGS) -D_FORTIFY_SOURCE=2
CFLAGS_gcc-asan   = $(SANITIZE)
CFLAGS_clang-asan = $(SANITIZE)
CFLAGS_fuzz       = $(SANITIZE) -fsanitize=fuzzer-no-link

# $(1) the variant, $(2) its folder
define variant
$(1)_LIB := $(BUILD)/$(1)/libexporter.a
$(1)_OBJS := $(LIB_SRCS:%.c=$(BUILD)/$(1)/%.o) $(if $(HAVE_BPF),$(BUILD)/$(1)/exporter/kernel/objects.o)

$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(CC_$(1)) $$(CPPFLAGS) $$(VERSION_FLAGS) $$(BASE_CFLAGS) $$(CFLAGS_$(1)) $$(PKG_CFLAGS) -MMD -MP -c $$< -o $$@

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

.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)
