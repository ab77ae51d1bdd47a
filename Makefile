# A newcomer needs two commands: make demo and make test. Each installs what it needs into .venv first.
PYTHON ?= python3
BIN := .venv/bin
export OMP_WAIT_POLICY ?= PASSIVE
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

NAME ?= table-2

.PHONY: demo test check test-slow test-faults bench reproduce docs clean

demo: .venv/ready
	$(BIN)/distpu demo

test: check
	$(BIN)/python -m pytest

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-slow: .venv/ready
	$(BIN)/python -m pytest -m slow

# Kills, full disks, signals and made-up inputs, within the budget in tests/faults/conftest.py; writes docs/faults.md.
test-faults: .venv/ready
	$(BIN)/python tools/faults.py

bench: .venv/ready
	$(BIN)/python tools/bench.py

# make reproduce NAME=figure-1 makes a table or figure of the paper. `distpu reproduce` lists the names.
reproduce: .venv/ready
	$(BIN)/distpu reproduce $(NAME)

# Builds the site into site/. The site's search needs a server: .venv/bin/python -m http.server -d site
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,docs]'
	touch $@

clean:
	rm -rf .venv runs site .pytest_cache .mypy_cache .ruff_cache
