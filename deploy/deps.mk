# Debian 12 packages by purpose. Each target installs what is missing and does
# nothing, without network, when all is there. As root, or through sudo.

DEPS_BUILD := gcc libc6-dev make pkg-config libmicrohttpd-dev libjansson-dev \
  libuv1-dev libssl-dev libsqlite3-dev zlib1g-dev libzstd-dev \
  libgnutls28-dev uthash-dev
DEPS_DEMO  := $(DEPS_BUILD) curl xz-utils
# What checks the files of deploy/, each kind by its tool.
DEPS_DEPLOY := python3-yaml python3-venv mandoc systemd docker-compose \
  debhelper lintian mmdebstrap util-linux bash fish zsh strace
# What looks at the pages, with letters of both directions.
DEPS_PAGES := chromium fonts-dejavu-core
# What PyTorch's Inductor compiles with.
DEPS_TORCH := g++ python3-dev
DEPS_TEST  := $(DEPS_DEMO) $(DEPS_TORCH) binutils check python3 openssl zstd \
  python3-jsonschema python3-networkx python3-scipy graphviz clang \
  libclang-rt-14-dev llvm valgrind procps $(DEPS_DEPLOY) $(DEPS_PAGES)
DEPS_LINT  := $(DEPS_BUILD) binutils clang-format clang-tidy cppcheck \
  shellcheck codespell
DEPS_BENCH := $(DEPS_BUILD) g++ libboost-graph-dev python3 wrk curl
DEPS_IMAGE := $(DEPS_DEMO) mmdebstrap util-linux python3
DEPS_DEB   := $(DEPS_BUILD) debhelper lintian mmdebstrap util-linux python3

.PHONY: deps deps-demo deps-test deps-test-packages deps-lint deps-bench deps-image deps-deb
deps: ## install what the build needs (Debian 12, root or sudo)
	@sh deploy/install-packages.sh $(DEPS_BUILD)
deps-demo:
	@sh deploy/install-packages.sh $(DEPS_DEMO)
deps-test-packages:
	@sh deploy/install-packages.sh $(DEPS_TEST)
deps-test: deps-test-packages ## install what the tests need too
	@sh deploy/test-tools.sh
deps-lint: ## install what `make lint` needs
	@sh deploy/install-packages.sh $(DEPS_LINT)
deps-bench: ## install what `make bench` needs
	@sh deploy/install-packages.sh $(DEPS_BENCH)
deps-deb:
	@sh deploy/install-packages.sh $(DEPS_DEB)
deps-image:
	@sh deploy/install-packages.sh $(DEPS_IMAGE)
