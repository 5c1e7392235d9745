# What can be proved without running anything: the layers, and lint.

LAYERS := includes depends symbols names globals headers
layer_env = B=$(B) CC="$(CC)" FLAGS_CORE="$(BASE) $(CORE_INC)" \
  FLAGS_PROTO="$(BASE) $(PROTO_INC) $(call pkgcfg,--cflags,$(PKGS))" \
  FLAGS_SERVER="$(BASE) $(SERVER_INC) $(call pkgcfg,--cflags,$(PKGS) $(SPKGS))"

.PHONY: layers layers-built
layers: deps ## prove core <- proto <- server (see deploy/layers.sh)
	@$(MAKE) --no-print-directory VARIANT=release layers-built
	@echo "layers: core <- proto <- server holds"
layers-built: $(B)/rematd $(B)/remat
	@$(layer_env) sh deploy/layers.sh $(LAYERS)
layers-depends: $(B)/rematd $(B)/remat
layers-%: $(B)/libremat.a $(B)/libproto.a
	@$(layer_env) sh deploy/layers.sh $*

C_FILES := $(CORE_SRC) $(PROTO_SRC) $(SERVER_SRC) $(CLI_SRC)
H_FILES := $(wildcard core/*.h core/include/*.h proto/*.h proto/include/*.h \
  server/*.h)
T_FILES := $(wildcard tests/*.[ch] tests/*/*.[ch])
tidy_flags = -std=c11 -D_POSIX_C_SOURCE=200809L

.PHONY: lint lint-format lint-rules lint-tidy lint-cppcheck lint-analyzer \
  lint-shell lint-spelling
lint: deps-lint ## style, size, static analysis, spelling
	@$(MAKE) --no-print-directory lint-format lint-rules lint-shell \
	  lint-spelling lint-cppcheck lint-tidy lint-analyzer
	@echo "lint: clean"
lint-format:
	clang-format --dry-run -Werror $(sort $(C_FILES) $(H_FILES) $(T_FILES))
lint-rules:
	sh deploy/lint-rules.sh
lint-shell:
	shellcheck deploy/*.sh
lint-spelling:
	codespell --skip='*.xz,*.json,*.ndjson,*.inc,build,.git' \
	  --ignore-words-list=crate,fo,te,nd \
	  core proto server tests deploy Makefile Dockerfile $(wildcard *.md)
lint-cppcheck:
	cppcheck --quiet --enable=warning,style,performance,portability \
	  --std=c11 --inline-suppr --suppress=missingIncludeSystem \
	  --error-exitcode=1 $(CORE_INC) -Iproto -Iproto/include -Iserver \
	  core proto server
lint-tidy:
	clang-tidy --quiet $(CORE_SRC) -- $(tidy_flags) $(CORE_INC)
	clang-tidy --quiet $(PROTO_SRC) -- $(tidy_flags) $(PROTO_INC) \
	  $(call pkgcfg,--cflags,$(PKGS))
	clang-tidy --quiet $(SERVER_SRC) $(CLI_SRC) -- $(tidy_flags) \
	  $(SERVER_INC) $(call pkgcfg,--cflags,$(PKGS) $(SPKGS))
lint-analyzer:
	@for f in $(CORE_SRC); do \
	  $(CC) $(BASE) -O2 -Werror -fanalyzer $(CORE_INC) -c -o /dev/null $$f \
	    || exit 1; done
	@for f in $(PROTO_SRC); do \
	  $(CC) $(BASE) -O2 -Werror -fanalyzer $(PROTO_INC) -c -o /dev/null $$f \
	    || exit 1; done
	@for f in $(SERVER_SRC) $(CLI_SRC); do \
	  $(CC) $(BASE) -O2 -Werror -fanalyzer $(SERVER_INC) -c -o /dev/null $$f \
	    || exit 1; done
