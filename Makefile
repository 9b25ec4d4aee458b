# Everything runs in a virtual environment of the project's own, installed through constraints.txt.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help install demo test test-slow lint format bench golden-record golden-check clean
help:
	@echo "make demo       install, run the main job on the built-in data, leave something to look at"
	@echo "make test       install, run the tests (minutes)"
	@echo "make test-slow  the tests that take longer"
	@echo "make lint       ruff (format and lint) and mypy --strict"
	@echo "make bench      what it costs, as ratios"
	@echo "make golden-record / golden-check  before and after a change that must not alter results"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

install: $(STAMP)

demo: install
	$(BIN)/towpath demo

test: install
	$(BIN)/python -m pytest -n auto --dist loadfile --durations=40

test-slow: install
	$(BIN)/python -m pytest -m slow

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	$(BIN)/python -m benchmarks

FILE ?= .golden/traces.json
golden-record golden-check: golden-%: install
	$(BIN)/python -m tests.golden $* $(FILE)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .golden towpath-demo
