# rematd: one non-recursive Makefile. `make help` lists the targets.
#
# VARIANT picks a build: release (default), asan, tsan, fuzz, coverage. Each has
# its own folder under build/; the release programs are also build/rematd and
# build/remat.

VERSION := 0.3.0
VARIANT ?= release
B       := build/$(VARIANT)
PREFIX  ?= /usr/local
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow \
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
  -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla \
  -Wswitch-enum -Wnull-dereference -Wimplicit-fallthrough -Wdouble-promotion \
  -Wdate-time
ifeq ($(WERROR),1)
WARNINGS += -Werror
endif

# -ffp-contract=off: weights are specified in double arithmetic, step by step.
BASE := -std=c11 -D_POSIX_C_SOURCE=200809L -g -ffp-contract=off -fPIE $(WARNINGS)
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong
ifeq ($(VARIANT),release)
OPT  := -O2 $(HARDEN)
LINK := -pie -Wl,-z,relro,-z,now
else ifeq ($(VARIANT),asan)
OPT  := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -DREMAT_SLOW_CHECKS=1
LINK := -fsanitize=address,undefined
else ifeq ($(VARIANT),tsan)
OPT  := -O1 -fno-omit-frame-pointer -fsanitize=thread
LINK := -fsanitize=thread
else ifeq ($(VARIANT),fuzz)
CC   := clang
OPT  := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -DREMAT_SLOW_CHECKS=1 -fprofile-instr-generate -fcoverage-mapping
LINK := -fsanitize=address,undefined -fprofile-instr-generate
else ifeq ($(VARIANT),coverage)
OPT  := -O0 --coverage
LINK := --coverage
else
$(error VARIANT must be release, asan, tsan, fuzz or coverage)
endif
CFLAGS  ?=
LDFLAGS ?=

PKGS   := jansson libcrypto
SPKGS  := libmicrohttpd libuv sqlite3 zlib libzstd gnutls
pkgcfg  = $(shell pkg-config $(1) $(2) 2>/dev/null)

CORE_INC   := -Icore -Icore/include
PROTO_INC  := -Iproto -Iproto/include -Icore/include
SERVER_INC := -Iserver -Iproto/include -Icore/include

CORE_SRC   := $(sort $(wildcard core/*.c))
PROTO_SRC  := $(sort $(wildcard proto/*.c))
CLI_SRC    := server/remat_main.c $(sort $(wildcard server/cli*.c))
SERVER_SRC := $(filter-out $(CLI_SRC) server/main.c,$(sort $(wildcard server/*.c)))
obj = $(patsubst %.c,$(B)/%.o,$(1))

.PHONY: all
all: $(B)/rematd $(B)/remat ## build build/rematd and build/remat
ifeq ($(VARIANT),release)
all: build/rematd build/remat
build/rematd: $(B)/rematd
	@cp -f $< $@
build/remat: $(B)/remat
	@cp -f $< $@
endif

$(B)/libremat.a: $(call obj,$(CORE_SRC))
	@rm -f $@
	ar rcs $@ $^
$(B)/libproto.a: $(call obj,$(PROTO_SRC))
	@rm -f $@
	ar rcs $@ $^
$(B)/libserver.a: $(call obj,$(SERVER_SRC))
	@rm -f $@
	ar rcs $@ $^
$(B)/rematd: $(B)/server/main.o $(B)/libserver.a $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS) $(SPKGS)) -lpthread
$(B)/remat: $(call obj,$(CLI_SRC)) $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS))

$(B)/core/%.o: core/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(CORE_INC) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/proto/%.o: proto/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(PROTO_INC) $(call pkgcfg,--cflags,$(PKGS)) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/server/%.o: server/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(SERVER_INC) $(call pkgcfg,--cflags,$(PKGS) $(SPKGS)) $(CFLAGS) -MMD -MP -c -o $@ $<

# They hold the files.
$(B)/server/openapi.o: server/openapi.json
$(B)/proto/page_assets.o: $(wildcard proto/pages/*.* proto/pages/vendor/*/*)
$(B)/server/site.o: $(wildcard server/pages/*)

-include $(wildcard build/$(VARIANT)/*/*.d) $(wildcard build/$(VARIANT)/*/*/*.d)

# Further targets live beside what they are about: every *.mk is read here.
include $(sort $(wildcard tests/*.mk) $(wildcard deploy/*.mk))

.PHONY: clean help
clean: ## remove everything that was built
	rm -rf build
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18 | sort
