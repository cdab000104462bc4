# Everything a contributor runs. `make help` lists it.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# No bytecode ahead of time: it would take as long as the rest of an installation, and most of it is of modules that nobody imports.
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile
# Imported modules leave theirs behind, whatever the caller's environment says: without it every process would take 10 s and not 4 to begin.
unexport PYTHONDONTWRITEBYTECODE
PROJECT := pyproject.toml src/manyboost/__init__.py
KERNELS := src/manyboost/compiled.py $(foreach module,rows decisions lasting_weights,src/manyboost/$(module).py) $(foreach folder,trees learners maths svm,$(wildcard src/manyboost/$(folder)/*.py))
# One thread for the libraries beneath: two test workers are enough for two cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Two at a time: the kernels compile while what the tests need is installed, and styles and types are looked at.
MAKEFLAGS += --jobs=2

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench trust clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/stamp-demo $(VENV)/stamp-demo-kernels  ## compare four algorithms with scikit-learn's boosters on bundled data: a table, learning curves, a report
	@$(VENV)/bin/manyboost compare digits wine --folds 2 --output demo \
		--algorithms samme,adaboost_mh,piboost,rebel,HistGradientBoosting,scikit-learn-AdaBoost

test: lint $(VENV)/stamp-kernels  ## style, types, import rules, unit tests and doctests
	@$(ONE_THREAD) $(RUN) -m pytest -n 2 --dist worksteal -q

lint: $(VENV)/stamp-test  ## style, types, import rules and spelling alone
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check --quiet .
	@$(RUN) -m mypy
	@$(VENV)/bin/lint-imports --no-logo
	@$(VENV)/bin/codespell

format: $(VENV)/stamp-test  ## put the sources into the house style
	@$(RUN) -m ruff check --fix --quiet . ; $(RUN) -m ruff format .

bench: $(VENV)/stamp-bench  ## time, memory and accuracy beside LightGBM, XGBoost and scikit-learn
	@for part in startup speed memory accuracy seeds; do \
		echo "benchmarks/$$part.py" >&2; MANYBOOST_DATA="$(or $(DATA),$(MANYBOOST_DATA))" $(RUN) benchmarks/$$part.py || exit 1; done
	@$(RUN) benchmarks/report.py

trust: $(VENV)/stamp-test $(VENV)/stamp-kernels  ## the slow tests behind the promises; each prints a figure
	@$(RUN) -m pytest -m trust -s -q tests

clean:  ## remove everything that was made, the environment included
	@rm -rf $(VENV) demo comparison dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# ---- the environment ---------------------------------------------------------------------------------------------------------

$(VENV)/stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "ManyBoost needs Python 3.11 or later. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make a virtual environment because its modules venv and ensurepip are missing." >&2; \
		echo "Install them (on many systems the package python3-venv), or name another Python: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making $(VENV) ..." >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/stamp-demo: $(VENV)/stamp-core $(PROJECT)
	@echo "Installing ManyBoost and its command line into $(VENV) ..." >&2
	@$(PIP) -e ".[cli]"
	@touch $@

$(VENV)/stamp-core: $(VENV)/stamp-venv $(PROJECT)
	@echo "Installing ManyBoost into $(VENV) ..." >&2
	@$(PIP) -e .
	@touch $@

$(VENV)/stamp-test: $(VENV)/stamp-core $(PROJECT)
	@echo "Installing ManyBoost and what its tests need into $(VENV) ..." >&2
	@$(PIP) -e ".[test,lint]"
	@touch $@

$(VENV)/stamp-bench: $(VENV)/stamp-venv $(PROJECT)
	@echo "Installing ManyBoost and its peers into $(VENV) ..." >&2
	@$(PIP) -e ".[bench]"
	@touch $@

# Compiled once before the test workers start, which would otherwise all do it at the same time. The sources are named because ManyBoost is
# installed once more meanwhile, with what its tests or its command line need.
$(VENV)/stamp-kernels: $(VENV)/stamp-core $(KERNELS)
	@PYTHONPATH=src $(RUN) .ci/compile_kernels.py
	@touch $@

$(VENV)/stamp-demo-kernels: $(VENV)/stamp-core $(KERNELS)
	@PYTHONPATH=src $(RUN) .ci/compile_kernels.py SAMME AdaBoostMH PIBoost Rebel
	@touch $@
