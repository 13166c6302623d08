# Set-up, tests and benchmarks; every target makes what it needs from a fresh clone.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: bench test test-all lint format clean

bench: .venv/bench.done
	$(BIN)/python benchmarks/tournament.py

# Minutes: compiled code for four games, and one of each kind of training, process and damage.
test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

# Adds the breadth: compiled code for every odd size of board, a million random plies a game, every learner killed and
# resumed, trainings to the verdict "infallible", games and levels by the thousand, all benchmarks in small.
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
