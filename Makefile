# Two commands: `make demo` shows what isoscope does, `make test` checks that it is right.
# Both first set everything up in .venv, at the versions locked in requirements/.
# CONTRIBUTING.md describes the other targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
# A lock names every package with its hash, so pip has nothing to resolve and nothing to choose.
# Source distributions are built with the locked setuptools, not with the newest one.
INSTALL := $(PIP) install --quiet --no-deps --no-build-isolation
LOCKED := $(INSTALL) --require-hashes --requirement
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
PYTEST := $(BIN)/python -m pytest
SUITE := -n auto --dist loadgroup --no-loadscope-reorder --durations 20

# Without compiled modules every process of the tests would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint rules format types quick fuzz benchmark docs docs-test wheel licences lock test-newest test-lowest clean

demo: $(VENV)/demo
	$(BIN)/isoscope measure package:glove
	$(BIN)/isoscope measure package:minilm

test: $(VENV)/test $(VENV)/browser lint
	$(PYTEST) $(SUITE)

lint: rules format types

rules: $(VENV)/test
	$(BIN)/ruff check .

format: $(VENV)/test
	$(BIN)/ruff format --check .

types: $(VENV)/test
	$(BIN)/mypy

quick: $(VENV)/test
	$(BIN)/python tools/quick.py

# So many cases of each target, going on where the last run stopped: FUZZ_CASES=5000 make fuzz
fuzz: $(VENV)/test
	$(BIN)/python tests/fuzz --cases $${FUZZ_CASES:-100000}
	ISOSCOPE_FUZZ_CASES=$${FUZZ_CASES:-50000} $(PYTEST) $(SUITE) -m fuzz tests/data

benchmark: $(VENV)/benchmark
	$(BIN)/python benchmarks/measure.py
	$(BIN)/python benchmarks/sources.py
	$(BIN)/python benchmarks/correct.py
	$(BIN)/python benchmarks/profiling.py speed
	$(BIN)/python benchmarks/evaluate.py
	$(BIN)/python benchmarks/advice.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/postgres_reading.py
	$(BIN)/python benchmarks/threshold_simulation.py
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/pretrain.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/faults.py every
	$(BIN)/python benchmarks/faults.py postgres
	$(BIN)/python benchmarks/random_kills.py
	$(BIN)/python benchmarks/guards_overhead.py
	$(BIN)/python benchmarks/wide.py

# Without --quiet, which would keep --strict from seeing warnings.
docs: $(VENV)/docs
	$(BIN)/python -m mkdocs build --strict

# Runs every block of the README and the guides as it is printed, and lists those that cannot run here.
docs-test: $(VENV)/test
	$(BIN)/python tools/docs_commands.py

# Builds the wheel and the source distribution, and installs them as a user would: into empty
# environments, without extras and with each extra alone.
wheel: $(VENV)/test
	$(BIN)/python tools/wheel.py

licences: $(VENV)/test
	$(BIN)/python tools/licences.py

$(VENV)/build: requirements/build.txt
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) requirements/build.txt
	touch $@

$(VENV)/demo: $(VENV)/build pyproject.toml requirements/demo.txt
	$(LOCKED) requirements/demo.txt
	$(INSTALL) --editable .
	touch $@

# The CPU build, where an index offers it. Elsewhere the default build comes with its own
# dependencies, which on Linux are several gigabytes of CUDA libraries.
$(VENV)/torch: $(VENV)/build constraints.txt
	$(INSTALL) "torch==$(TORCH)+cpu" || $(PIP) install --quiet "torch==$(TORCH)"
	touch $@

$(VENV)/test: $(VENV)/demo $(VENV)/torch requirements/test.txt
	$(LOCKED) requirements/test.txt
	touch $@

# Tests of pages need Chromium. It is installed where that is allowed; elsewhere they skip.
$(VENV)/browser: $(VENV)/build
	@if ! command -v chromedriver > /dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && apt-get install -y -qq chromium chromium-driver > /dev/null; \
	  fi || echo "Chromium could not be installed: tests of pages will skip"; \
	fi
	touch $@

$(VENV)/benchmark: $(VENV)/test requirements/benchmark.txt
	$(LOCKED) requirements/benchmark.txt
	touch $@

$(VENV)/docs: $(VENV)/test requirements/docs.txt
	$(LOCKED) requirements/docs.txt
	touch $@

$(VENV)/lock: $(VENV)/build requirements/lock.txt
	$(LOCKED) requirements/lock.txt
	touch $@

# One resolution for Linux, macOS and Windows and for every supported version of Python.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate --upgrade
lock: $(VENV)/lock
	$(COMPILE) --group build --output-file requirements/build.txt
	$(COMPILE) --group lock --output-file requirements/lock.txt
	$(COMPILE) pyproject.toml --extra zoo --excludes requirements/demo.in \
	  --output-file requirements/demo.txt
	$(COMPILE) pyproject.toml --all-extras --group test --excludes requirements/torch.in \
	  --constraints requirements/build.txt --constraints requirements/demo.txt \
	  --output-file requirements/test.txt
	$(COMPILE) --group docs --constraints requirements/test.txt \
	  --output-file requirements/docs.txt
	$(COMPILE) --group benchmark --excludes requirements/torch.in \
	  --constraints requirements/test.txt --output-file requirements/benchmark.txt
	$(COMPILE) pyproject.toml --all-extras --group test --excludes requirements/torch.in \
	  --resolution lowest-direct --output-file requirements/lowest.txt

# The newest release of everything, in an environment of its own. Linters, type checks and tests
# all run, whatever fails: the end of the output says what broke.
test-newest:
	$(MAKE) VENV=.venv-newest .venv-newest/torch
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager \
	  --constraint constraints.txt --group test --editable '.[all]'
	$(MAKE) --keep-going VENV=.venv-newest -o .venv-newest/demo -o .venv-newest/test lint || failed=" lint"; \
	.venv-newest/bin/python -m pytest $(SUITE) || failed="$$failed tests"; \
	[ -z "$$failed" ] || { echo "Failed with the newest releases:$$failed"; exit 1; }

# The lowest versions that pyproject.toml allows. Old releases warn about each other, which is no
# failure here.
test-lowest:
	$(MAKE) VENV=.venv-lowest .venv-lowest/torch
	.venv-lowest/bin/python -m pip install --quiet --no-deps --no-build-isolation --require-hashes \
	  --requirement requirements/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	.venv-lowest/bin/python -m pytest $(SUITE) -W default

clean:
	rm -rf .venv .venv-newest .venv-lowest site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
