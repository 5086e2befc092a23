# Every target brings its own environment: a fresh clone needs python3 (3.11 or newer), venv and make.

PYTHON ?= python3
UV_VERSION := 0.13.9
BIN := .venv/bin
PACKAGES := domain projections replay palacelog
SUITE := tests/conformance
PARALLEL := --numprocesses auto --dist worksteal

# Tests start hundreds of processes: none of them need compile what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

UV := $(BIN)/uv
UV_READY := .venv/.uv-$(UV_VERSION)
READY := .venv/.ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Runs pytest over a folder. A folder without tests is an error; a folder that does not exist is not.
define pytest_over
	@if [ -d $(1) ]; then $(BIN)/pytest $(1) $(ARGS); else echo "$(1): no such folder, nothing to run"; fi
endef

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Make .venv with the locked dependencies and the palacelog command

$(UV_READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "palacelog needs Python 3.11 or newer: make setup PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

$(READY): $(UV_READY) requirements.lock pyproject.toml
	$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: demo
demo: setup ## Show what palacelog does, on a palace made for the purpose
	$(BIN)/palacelog demo $(ARGS)

.PHONY: test
test: setup ## Run the unit and integration tests
	$(BIN)/pytest $(PARALLEL) $(ARGS)

.PHONY: processes
processes: setup ## Run the tests that start real processes: commands, sessions, servers, hosts
	$(BIN)/pytest $(PARALLEL) tests/processes $(ARGS)

.PHONY: check
check: setup ## Lint, check format, types, import contracts and house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict $(PACKAGES:%=--package %)
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest --quiet tests/unit/test_tidy.py

.PHONY: format
format: setup ## Mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: faults
faults: setup ## Run the tests that kill, fill disks and flip bits
	$(call pytest_over,tests/faults)

.PHONY: simulate
simulate: setup ## Run the random histories of several devices
	$(call pytest_over,tests/simulation)

$(SUITE)/node_modules/.ready: $(SUITE)/package.json $(SUITE)/package-lock.json
	npm ci --prefix $(SUITE) --silent --no-audit --no-fund
	@touch $@

.PHONY: conformance
conformance: setup $(SUITE)/node_modules/.ready ## Run the protocol's conformance suite (needs npm)
	$(BIN)/python -m tests.conformance $(ARGS)

.PHONY: hosts
hosts: setup ## Run real agent hosts on what we install (needs npm, 1.5 GB; one: make hosts ARGS=pi)
	$(BIN)/python -m tests.conformance.hosts $(ARGS)

.PHONY: fuzz
fuzz: setup ## Draw many requests from the OpenAPI document (more: make fuzz EXAMPLES=500)
	OPENAPI_EXAMPLES=$(or $(EXAMPLES),100) $(BIN)/pytest tests/integration/test_openapi.py $(ARGS)

.PHONY: bench
bench: setup ## Measure speed, as ratios (small sizes: make bench ARGS=--quick)
	$(BIN)/python -m tests.benchmarks $(ARGS)

.PHONY: eval
eval: setup ## Score search (conversations in a file: make eval DATA=FILE)
	$(BIN)/python -m tests.evaluation $(if $(DATA),--data $(DATA)) $(ARGS)

.PHONY: fixtures
fixtures: setup ## Make the golden files in fixtures/ again
	$(BIN)/python fixtures/regenerate.py

.PHONY: lock
lock: $(UV_READY) ## Resolve requirements.lock (all newest: make lock ARGS=--upgrade)
	$(UV) pip compile --quiet pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-header --output-file requirements.lock $(ARGS)

.PHONY: clean
clean: ## Remove caches and build outputs; .venv stays
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(PACKAGES) tests fixtures -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
