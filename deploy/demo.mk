# make demo: from nothing to a plan over HTTP, on a fresh Debian 12.

.PHONY: demo
demo: deps-demo ## build, start rematd, send it a Llama graph and a faulty one
	@$(MAKE) --no-print-directory -s VARIANT=release -j2 all
	@sh deploy/demo.sh
