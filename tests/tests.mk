# Tests: a file tests/core/test_x.c or tests/proto/test_x.c is a suite, and so is
# any tests/*/test_x.py. tests/run.py finds, runs and counts them.

JOBS ?= 2
CK_CFLAGS  = $(call pkgcfg,--cflags,check)
CK_LIBS    = $(call pkgcfg,--libs,check)

TEST_SUPPORT := $(call obj,$(sort $(wildcard tests/support/*.c)))
CORE_TESTS   := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/core/test_*.c)))
PROTO_TESTS  := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/proto/test_*.c)))
TEST_TOOLS   := $(B)/tests/diff/plan_lines $(B)/tests/diff/table_lines \
  $(B)/tests/passes/tags_lines
FUZZERS      := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

.PHONY: tests
tests: $(CORE_TESTS) $(PROTO_TESTS) $(TEST_TOOLS) ## build the C test programs
.SECONDARY:

$(B)/tests/core/%.o: tests/core/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(CORE_INC) -Itests/support $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/support/%.o: tests/support/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -Icore/include -Itests/support $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(PROTO_INC) -Itests/support $(call pkgcfg,--cflags,$(PKGS)) $(CK_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/core/test_%: $(B)/tests/core/test_%.o $(TEST_SUPPORT) $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(CK_LIBS)
$(B)/tests/proto/test_%: $(B)/tests/proto/test_%.o $(TEST_SUPPORT) $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(CK_LIBS) $(call pkgcfg,--libs,$(PKGS)) -lpthread
$(TEST_TOOLS): %: %.o $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS))
$(B)/tests/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(TEST_SUPPORT) $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS))

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

.PHONY: test
test: deps-test ## everything, from nothing: packages, builds, all suites, sanitizers, fuzz smoke
	$(MAKE) --no-print-directory test-builds
	python3 tests/run.py --level full --variants asan,tsan,valgrind

.PHONY: torture
torture: deps-test ## the complete versions of what `make test` samples; hours
	$(MAKE) --no-print-directory test-builds
	python3 tests/run.py --level torture --variants asan,tsan,valgrind

.PHONY: fuzz-smoke
fuzz-smoke: ## each fuzz target for 30 s, with line coverage of core and proto
	$(SUBMAKE) VARIANT=fuzz fuzzers
	python3 tests/fuzz/smoke.py
