# numberline: two commands on a fresh machine are `make run` and `make test`. Needs Python 3.11 or newer, pip, venv, make.
#
# Everything is installed from constraints.txt, in .venv; torch first, so that nothing else decides which build of it is
# taken. Stamps in .venv say what is installed, so that a second call installs nothing.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt
TORCH := $(shell grep '^torch==' constraints.txt)
BUILD := $(shell grep -E '^(hatchling|editables)==' constraints.txt)
# A worker for each core; one that is done takes tests from the others, neighbours together, so that few fixtures are
# made twice.
CORES := --numprocesses logical --maxprocesses 8 --dist worksteal
export OMP_WAIT_POLICY ?= passive
export GOMP_SPINCOUNT ?= 10000

.DEFAULT_GOAL := help
.PHONY: help run test lint gallery fuzz kills bench train browser install

help: ## list what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 16

run: $(VENV)/.stamp-run ## install everything and run the main job on the built-in model (results in runs/tiny)
	$(BIN)/numberline run

test: lint browser ## install what tests need, check style and types, run the whole suite
	$(BIN)/python -m pytest $(CORES)

# The page of a run is tested in Chromium. Debian's is installed where this may be done; elsewhere those tests say that
# they were skipped, and under CI they fail.
browser:
	@command -v chromedriver >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; } || \
	echo "there is no Chromium with its driver here and it could not be installed: the page is not tested in a browser" >&2

lint: $(VENV)/.stamp-test ## ruff and strict type checking
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

gallery: $(VENV)/.stamp-run ## make the gallery of the documentation again from runs/tiny (after `make run`)
	$(BIN)/python docs/gallery.py runs/tiny

kills: $(VENV)/.stamp-run ## kill a run a hundred times and compare what it ends with (about ten minutes)
	$(BIN)/python scripts/kills.py --kills 100

fuzz: $(VENV)/.stamp-test ## a thousand damaged run folders through every command that reads one
	$(BIN)/python tests/fuzzing.py 1000

bench: $(VENV)/.stamp-test ## measure the engine's speed against other tools
	$(BIN)/python benchmarks/run.py

# One thread: a sum over threads depends on how many there are, and the models that ship are those that this makes.
train: export OMP_NUM_THREADS := 1
train: $(VENV)/.stamp-run ## make the built-in models again from scratch, and their cards (about two hours on one core)
	$(BIN)/python training/tokenizer.py $(addprefix src/numberline/models/builtin/,tiny direct)
	for name in tiny direct; do $(BIN)/python training/train.py $$name && $(BIN)/python training/card.py $$name || exit 1; done

install: $(VENV)/.stamp-test ## only install, with what tests need

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "numberline needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# The package is built with the pinned tools, not in an isolated environment that takes the newest ones.
$(VENV)/.stamp-run: $(INPUTS) | $(BIN)/python
	$(PIP) $(TORCH)
	$(PIP) $(BUILD)
	$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.stamp-test: $(INPUTS) $(VENV)/.stamp-run
	$(PIP) --no-build-isolation --editable '.[test,dev]'
	@touch $@
