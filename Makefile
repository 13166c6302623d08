# Set-up, tests and benchmarks; every target makes what it needs from a fresh clone.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: bench test test-all lint format clean

bench: .venv/bench.done
	$(BIN)/python benchmarks/tournament.py

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: lint
	$(BIN)/python -m pytest -n 2

lint: .venv/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/dev.done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"

.venv/bench.done: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) -e ".[plot]"
	touch $@

.venv/dev.done: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) torch==2.13.0 -e ".[rl,human,plot,video]" --group dev
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
