# Debian 12 packages by purpose. Each target installs what is missing and does
# nothing, without network, when all is there. As root, or through sudo.

DEPS_BUILD := gcc libc6-dev make pkg-config libmicrohttpd-dev libjansson-dev \
  libuv1-dev libssl-dev
DEPS_DEMO  := $(DEPS_BUILD) curl xz-utils
DEPS_TEST  := $(DEPS_DEMO) binutils check python3 \
  python3-jsonschema clang libclang-rt-14-dev llvm valgrind procps
DEPS_LINT  := $(DEPS_BUILD) binutils clang-format clang-tidy cppcheck \
  shellcheck codespell
DEPS_BENCH := $(DEPS_BUILD) g++ libboost-graph-dev python3
DEPS_IMAGE := $(DEPS_DEMO) mmdebstrap util-linux python3

.PHONY: deps deps-demo deps-test deps-lint deps-bench deps-image
deps: ## install what the build needs (Debian 12, root or sudo)
	@sh deploy/install-packages.sh $(DEPS_BUILD)
deps-demo:
	@sh deploy/install-packages.sh $(DEPS_DEMO)
deps-test: ## install what the tests need too
	@sh deploy/install-packages.sh $(DEPS_TEST)
deps-lint: ## install what `make lint` needs
	@sh deploy/install-packages.sh $(DEPS_LINT)
deps-bench: ## install what `make bench` needs
	@sh deploy/install-packages.sh $(DEPS_BENCH)
deps-image:
	@sh deploy/install-packages.sh $(DEPS_IMAGE)
