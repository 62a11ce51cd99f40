# Two commands work on a bare machine with Python >= 3.11, pip and make:
#   make demo    make test
PYTHON ?= python3
CODE := src tests benchmarks docs examples
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= demo-out
READY := $(VENV)/.ready

.PHONY: help demo test test-tools test-all test-faults check format tables docs clean

help:            ## list the commands
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY)   ## run the main job end to end on the embedded survey, into OUT=demo-out
	$(BIN)/tabsoda demo -o $(OUT) --force

# One thread a worker: two workers with two threads each would wait for each other.
test: $(READY)   ## run the quick tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# Tests that need a browser or R are skipped where these are absent; so is this, without apt and root.
# R's mice imputes factors with nnet and MASS, and trees with rpart, which its package only recommends.
TOOLS := chromium chromium-driver r-cran-mice r-cran-nnet r-cran-mass r-cran-rpart r-cran-haven r-cran-jsonlite r-cran-survey r-cran-mitools
test-tools:      ## install the browser and the R packages that some tests use (Debian, as root)
	@absent=$$(for tool in $(TOOLS); do dpkg -s $$tool >/dev/null 2>&1 || echo $$tool; done); \
	if [ -z "$$absent" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "Not installed, so their tests are skipped:" $$absent; exit 0; fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq >/dev/null 2>&1; \
	for tool in $$absent; do \
		apt-get install -y -qq --no-install-recommends $$tool >/dev/null 2>&1 \
			|| echo "Not installed, so its tests are skipped: $$tool"; done

test-all: $(READY) ## run every test, the slow ones too
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m ''

test-faults: $(READY) ## interrupt, starve and damage the commands; prints tries and failures
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/faults/campaign.py

check: $(READY)  ## format, lint, types, import order, quick tests
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(MAKE) test

format: $(READY) ## reformat the code
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

tables: $(READY) ## rebuild the tables and pictures of the documentation from results
	$(BIN)/python benchmarks/imputation/make_tables.py
	$(BIN)/python benchmarks/paper/tables.py

docs: $(READY)   ## build the documentation as a site, into site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

clean:           ## remove the environment and what runs left behind
	rm -rf $(VENV) $(OUT) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
