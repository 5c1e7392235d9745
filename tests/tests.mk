# Tests: a file test_x.c in tests/core, tests/proto or tests/server is a suite, and so is
# any tests/*/test_x.py. tests/run.py finds, runs and counts them.

JOBS ?= 2
CK_CFLAGS  = $(call pkgcfg,--cflags,check)
# Our check.h must not hide that of the library Check: "" looks into server, <>
# does not.
SERVER_TEST_INC := -iquote server -Iproto/include -Icore/include
CK_LIBS    = $(call pkgcfg,--libs,check)

TEST_SUPPORT := $(call obj,$(sort $(wildcard tests/support/*.c)))
CORE_TESTS   := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/core/test_*.c)))
SERVER_TESTS := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/server/test_*.c)))
PROTO_TESTS  := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/proto/test_*.c)))
TEST_TOOLS   := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/*/*_lines.c)))
FUZZERS      := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

.PHONY: tests
tests: $(CORE_TESTS) $(PROTO_TESTS) $(SERVER_TESTS) $(TEST_TOOLS) ## build the C test programs
.SECONDARY:

$(B)/tests/core/%.o: tests/core/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(CORE_INC) -Itests/support $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/support/%.o: tests/support/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -Icore/include -Itests/support $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/server/%.o: tests/server/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(SERVER_TEST_INC) -Itests/support $(call pkgcfg,--cflags,$(PKGS) $(SPKGS)) $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/fuzz/fuzz_codec.o: PROTO_INC += -iquote server
$(B)/tests/budget/knapsack_lines.o: PROTO_INC := $(CORE_INC)
$(B)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(PROTO_INC) -Itests/support $(call pkgcfg,--cflags,$(PKGS)) $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/core/test_%: $(B)/tests/core/test_%.o $(TEST_SUPPORT) $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(CK_LIBS)
$(B)/tests/proto/test_%: $(B)/tests/proto/test_%.o $(TEST_SUPPORT) $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(CK_LIBS) $(call pkgcfg,--libs,$(PKGS)) -lpthread
$(B)/tests/server/test_%: $(B)/tests/server/test_%.o $(TEST_SUPPORT) $(B)/libserver.a $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(CK_LIBS) $(call pkgcfg,--libs,$(PKGS) $(SPKGS)) -lpthread
$(TEST_TOOLS): %: %.o $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS))
$(B)/tests/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(TEST_SUPPORT) $(B)/libserver.a $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS) $(SPKGS)) -lpthread

.PHONY: fuzzers
fuzzers: $(FUZZERS)

.PHONY: check
check: all tests ## the quick suites on the release build
	python3 tests/run.py --level quick $(SUITES)

SUBMAKE = $(MAKE) --no-print-directory -s -j$(JOBS)
.PHONY: test-builds
test-builds:
	$(SUBMAKE) VARIANT=release all tests
	$(SUBMAKE) VARIANT=asan all tests
	$(SUBMAKE) VARIANT=tsan all tests
	$(SUBMAKE) VARIANT=fuzz fuzzers

# What comes from PyPI is fetched and unpacked by one processor; the builds keep
# the other busy meanwhile.
.PHONY: test-ready
test-ready: deps-test-packages
	@{ sh deploy/test-tools.sh && $(MAKE) --no-print-directory -s deps-torch; } & fetched=$$!; \
	$(MAKE) --no-print-directory test-builds || { kill $$fetched; exit 1; }; \
	wait $$fetched

.PHONY: test
test: test-ready ## everything, from nothing: packages, builds, all suites, sanitizers, fuzz smoke
	python3 tests/run.py --level full --variants asan,tsan,valgrind

.PHONY: torture
torture: test-ready ## the complete versions of what `make test` samples; hours
	python3 tests/run.py --level torture --variants asan,tsan,valgrind

.PHONY: fuzz-smoke
fuzz-smoke: ## each fuzz target for 30 s, with line coverage of core and proto
	$(SUBMAKE) VARIANT=fuzz fuzzers
	python3 tests/fuzz/smoke.py
