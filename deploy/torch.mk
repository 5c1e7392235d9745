# The Python client's tests against a real PyTorch. `make test` does all this by
# itself; the environment stays under build/.

TORCH_VERSION := 2.13.0
TORCH_VENV    := build/torch-venv
NEWEST_VENV   := build/torch-newest-venv

.PHONY: deps-torch deps-torch-newest
deps-torch: ## install PyTorch for the client's tests, under build/
	@sh deploy/torch-venv.sh "$(TORCH_VENV)" "torch==$(TORCH_VERSION)"
deps-torch-newest:
	@sh deploy/torch-venv.sh "$(NEWEST_VENV)" --upgrade torch

.PHONY: test-torch test-torch-newest
test-torch: deps-test deps-torch all tests ## the client's suites, the long ones included
	python3 tests/run.py --level torture client/
test-torch-newest: deps-test deps-torch-newest all ## the client with the newest PyTorch: trains, and says what is decided differently
	REMAT_TORCH_PYTHON=$(NEWEST_VENV)/bin/python REMAT_TORCH_NEWEST=1 \
	  python3 tests/run.py --level torture client/test_newest

.PHONY: bench-client
bench-client: deps-test deps-torch all ## what a decision through the Python client costs beside PyTorch's own
	$(TORCH_VENV)/bin/python -W ignore tests/client/bench.py
