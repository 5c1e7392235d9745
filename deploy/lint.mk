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

C_FILES := $(CORE_SRC) $(PROTO_SRC) $(SERVER_SRC) server/main.c $(CLI_SRC)
H_FILES := $(wildcard core/*.h core/include/*.h proto/*.h proto/include/*.h \
  server/*.h)
T_FILES := $(wildcard tests/*.[ch] tests/*/*.[ch])
tidy_flags = -std=c11 -D_POSIX_C_SOURCE=200809L

LINTS := lint-format lint-rules lint-shell lint-spelling lint-cppcheck \
  lint-tidy-core lint-tidy-proto lint-tidy-server lint-analyzer

.PHONY: format lint $(LINTS)
format: ## lay all C sources out as .clang-format says
	clang-format -i $(sort $(C_FILES) $(H_FILES) $(T_FILES))
lint: deps-lint ## style, size, static analysis, spelling
	@$(MAKE) --no-print-directory -k $(LINTS)
	@echo "lint: clean"
lint-format:
	@clang-format --dry-run -Werror $(sort $(C_FILES) $(H_FILES) $(T_FILES))
lint-rules:
	@sh deploy/lint-rules.sh
lint-shell:
	@shellcheck deploy/*.sh deploy/deb/*.sh
lint-spelling:
	@codespell --skip='*.xz,proto/pages/vendor,*.json,*.ndjson,*.inc,build,.git' \
	  --ignore-words-list=crate,fo,te,nd,statics,optoins,whats,nam,defult,evry \
	  core proto server tests deploy Makefile Dockerfile $(wildcard *.md)
# Off: variableScope, because declarations stand at the top of their block;
# unusedStructMember, which misses what goes through offsetof or a union;
# redundantContinue, because `continue` is how an empty loop is written.
lint-cppcheck:
	@cppcheck --quiet --enable=warning,style,performance,portability \
	  --std=c11 --inline-suppr --suppress=missingIncludeSystem \
	  --suppress=variableScope --suppress=unusedStructMember \
	  --suppress=redundantContinue \
	  --error-exitcode=1 $(CORE_INC) -Iproto -Iproto/include -Iserver \
	  core proto server
lint-tidy-core:
	@clang-tidy --quiet $(CORE_SRC) -- $(tidy_flags) $(CORE_INC)
lint-tidy-proto:
	@clang-tidy --quiet $(PROTO_SRC) -- $(tidy_flags) $(PROTO_INC) \
	  $(call pkgcfg,--cflags,$(PKGS))
lint-tidy-server:
	@clang-tidy --quiet $(SERVER_SRC) server/main.c $(CLI_SRC) -- $(tidy_flags) \
	  $(SERVER_INC) $(call pkgcfg,--cflags,$(PKGS) $(SPKGS))
# gcc 12 takes what hangs in a table or a group for lost; asan looks for leaks.
analyze = $(CC) $(BASE) -O2 -Werror -fanalyzer -c -o /dev/null
lint-analyzer:
	@set -e; for f in $(CORE_SRC); do $(analyze) $(CORE_INC) $$f; done
	@set -e; for f in $(PROTO_SRC); do $(analyze) $(PROTO_INC) $$f; done
	@set -e; for f in $(SERVER_SRC) server/main.c $(CLI_SRC); do \
	  leak=; ! grep -Eq 'HASH_ADD|"group\.h"' $$f || \
	    leak=-Wno-analyzer-malloc-leak; \
	  $(analyze) $$leak $(SERVER_INC) $$f; done
