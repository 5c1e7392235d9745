# What the service promises, at size: figures for the record, no test.

.PHONY: slo soak
slo: deps-test ## overload, slow clients, SIGTERM under load, three runs each; writes tests/slo/RESULTS.md
	@$(MAKE) --no-print-directory -s VARIANT=release all
	@python3 tests/slo/slo.py
MINUTES ?= 10
soak: deps-test ## MINUTES=10 of mixed load: memory, descriptors and threads stay
	@$(MAKE) --no-print-directory -s VARIANT=release all
	@python3 tests/slo/soak.py $(MINUTES)
