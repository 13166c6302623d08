# Set-up, tests and benchmarks; every target makes what it needs from a fresh clone.

PYTHON ?= python3
BIN := .venv/bin
# Without --no-compile pip compiles all of torch to bytecode, of which little is ever imported.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt

RELEASE := .venv/release/bin
WITH ?= $(PYTHON)

# The tests start some hundred processes. Without bytecode on the disk each would compile Numba and torch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: bench records docs examples check-examples test test-all mutants quick lint format quick-tests all-tests clean
.PHONY: wheel check-wheel check-lowest check-newest check-tag image audit constraints

# Every kind of agent on both games, judged and rated: build/bench/report.html. With yours among them:
# make bench AGENTS="my_agent.py:player" GAME=ConnectFour-v0. Without torch: make bench DEEP=no
BENCH := .venv/bench$(if $(filter no,$(DEEP)),-no-deep).done
bench:
	@began=$$(date +%s) && $(MAKE) --no-print-directory $(BENCH) && $(BIN)/tictac bench $(AGENTS) --began $$began \
		$(if $(GAME),--game $(GAME)) $(if $(filter no,$(DEEP)),--no-deep)

# The record of the last `make bench`, and what README and docs show of it.
records: .venv/bench.done
	cp build/bench/results.json benchmarks/results/tournament.json
	$(BIN)/python tools/results_tables.py

# Each example in an environment of its own, with the libraries it needs.
examples: .venv/dev.done
	$(BIN)/python tools/run_examples.py
	$(BIN)/python tools/results_tables.py

# Their types, against the libraries that each needs. Pyright fetches Node.js if it is missing.
check-examples: .venv/dev.done .venv/release.done
	$(BIN)/python tools/run_examples.py --types $(RELEASE)/pyright

# The tables in README and docs, and the documentation as a site in build/site, notebooks executed; open build/site/index.html, or, for the search field,
# python -m http.server --directory build/site. Without torch.
docs: .venv/docs.done
	$(BIN)/python tools/results_tables.py
	$(BIN)/python tools/docs_site.py
	$(BIN)/python tools/check_site.py build/site

# Minutes: compiled code for three games, and one of each kind of training, process and damage.
test: .venv/dev.done
	@$(MAKE) --jobs=2 lint quick-tests

# Adds the breadth: compiled code for every odd size of board, a million random plies a game, every learner killed and
# resumed, trainings to the verdict "unbeatable", games and levels by the thousand, all benchmarks in small, and a cluster
# of three make-believe machines, some of which are killed.
test-all: .venv/dev.done
	@$(MAKE) --jobs=2 lint all-tests

# Random edits that break the code, of which the quick tests must notice nine in ten: NUMBER=300 SEED=0 WORKERS=2
mutants: .venv/mutants.done
	$(BIN)/python tools/drawn_mutations.py --number $(or $(NUMBER),300) --seed $(or $(SEED),0) --workers $(or $(WORKERS),2)

# The tests of what you changed: make quick TESTS="tests/env/policies tests/env/test_storage.py"
quick: .venv/dev.done
	$(BIN)/python -m pytest -m "not slow" $(or $(TESTS),$(error say which tests, as in make quick TESTS=tests/env/policies))

# A file's tests run in one process: others would compile the same kernels, and make its fixtures again.
quick-tests: .venv/dev.done
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

all-tests: .venv/dev.done
	$(BIN)/python -m pytest -n 2 --dist loadfile --hypothesis-profile thorough

lint: .venv/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/dev.done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The wheel and the sdist in build/dist, and in build/placeholder the one that keeps the name "tictac-agents", all checked.
# What is in them is tested by tests/packaging/test_distributions.py.
wheel: .venv/release.done
	rm -rf build/dist build/placeholder
	$(RELEASE)/hatchling build -d build/dist
	cd tools/tictac-agents && "$(CURDIR)/$(RELEASE)/hatchling" build -t wheel -d "$(CURDIR)/build/placeholder"
	$(RELEASE)/twine check --strict build/dist/* build/placeholder/*

# In an empty environment, from outside the tree; WITH=python3.13 takes another interpreter.
check-wheel: wheel
	$(RELEASE)/python tools/check_wheel.py build/dist/*.whl --python $(WITH)

# The same with the oldest versions that pyproject.toml allows.
check-lowest: wheel
	$(RELEASE)/python tools/check_wheel.py build/dist/*.whl --lowest

# The same with the newest versions that there are, also those that are not pinned yet.
check-newest: wheel
	$(RELEASE)/python tools/check_wheel.py build/dist/*.whl --newest

# In the workflow "release": the tag is the version's, and what is published leads to this repository.
check-tag:
	@grep -qxF "__version__ = \"$${GITHUB_REF_NAME#v}\"" tictac_env/__init__.py || \
		{ echo "the tag $$GITHUB_REF_NAME is not that of __version__ in tictac_env/__init__.py"; exit 1; }
	@grep -qxF "Source = \"$$GITHUB_SERVER_URL/$$GITHUB_REPOSITORY\"" pyproject.toml || \
		{ echo "[project.urls] of pyproject.toml must name $$GITHUB_SERVER_URL/$$GITHUB_REPOSITORY"; exit 1; }

# The image that serves the page, and a position solved in it without a network; needs Docker.
image:
	docker build --tag tictac-env .
	docker run --rm --network none --cap-drop all --security-opt no-new-privileges --entrypoint tictac tictac-env solve 4453

# Known weaknesses of the pinned versions; asks PyPI's database, and fails if a package is not in it.
audit: .venv/release.done
	$(RELEASE)/pip-audit -r constraints.txt --no-deps --disable-pip --strict

# The newest versions that pyproject.toml allows, in constraints.txt: see docs/maintaining.md.
constraints: .venv/release.done
	$(RELEASE)/uv pip compile pyproject.toml --all-extras --group dev --group docs --group release --group mutants \
		--python-version 3.11 --upgrade --no-annotate --no-header --quiet --output-file build/constraints.txt
	(sed '/^#/!d' constraints.txt; cat build/constraints.txt) > build/new.txt
	mv build/new.txt constraints.txt

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"

.venv/bench.done: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) torch==2.13.0 -e ".[rl]"
	touch $@

.venv/bench-no-deep.done: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) -e .
	touch $@

# Apart, as these tools have many dependencies of their own.
.venv/release.done: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m venv --without-pip .venv/release
	$(BIN)/python -m pip --python $(RELEASE)/python install --quiet --no-compile --disable-pip-version-check \
		-c constraints.txt --group release
	mkdir -p build
	touch $@

.venv/docs.done: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) torch==2.13.0 -e ".[plot,notebook]" --group docs
	touch $@

.venv/mutants.done: .venv/dev.done
	$(INSTALL) --group mutants
	touch $@

.venv/dev.done: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) torch==2.13.0 -e ".[rl,human,plot,video,web,notebook,minari,openspiel,cluster]" --group dev
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
