# Everything a fresh clone needs: `make study` and `make test` set up their own environment in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SCALECURVE := $(BIN)/scalecurve
OUT := out
PARALLEL := -n auto --dist loadfile
ALONE := "not engine and not browser and not data"

.PHONY: help install study test calibration coverage mutants test-data test-lowest test-pythons check test-engines explore faults format lock docs site release-check sbom licences bench clean

help: ## what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

install: $(VENV)/.core ## create .venv and install the package in it

$(BIN)/python:
	@echo "== creating $(VENV) (once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; try: make PYTHON=python3.12 study" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: requirements/core.txt pyproject.toml | $(BIN)/python
	@echo "== installing scalecurve and what it runs on (once; about a minute)"
	@$(PIP) install --quiet --require-hashes -r requirements/core.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.core
	@echo "== installing the test tools (once; about a minute)"
	@$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

study: $(VENV)/.core ## measure a real job on this machine and show how it scales
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/study $(OUT)

test: $(VENV)/.dev ## run all tests that need no engine
	@mkdir -p $(OUT)
	@SCALECURVE_TEST_BILL=$(OUT)/tests.json $(BIN)/python -m pytest $(PARALLEL) -m $(ALONE)

coverage: $(VENV)/.dev ## the same with branch coverage, which must not fall below the floor in pyproject.toml
	@$(BIN)/python -m pytest $(PARALLEL) -m $(ALONE) --cov --cov-context=test --cov-report=term

mutants: $(VENV)/.dev ## break the code on purpose; at least 9 of 10 of MUTANTS=400 faults must be noticed (after make coverage)
	@$(BIN)/python tools/mutants.py --count $(or $(MUTANTS),400) --least $(or $(LEAST),0.9)

test-data: $(VENV)/.dev ## judge the shipped calibrations on the published data (../shared/data or SCALECURVE_DATA)
	@$(BIN)/python -m pytest $(PARALLEL) -m data

test-lowest: ## run the tests with the lowest versions that pyproject.toml admits
	@tools/test-matrix lowest

test-pythons: $(VENV)/.dev ## run the tests on every other Python of 3.11 to 3.14 on this machine
	@tools/test-matrix pythons

check: $(VENV)/.dev ## lint, types, layers, generated pages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; $(BIN)/lint-imports && $(BIN)/python tools/generate_docs.py --check; pages=$$?; wait $$types && exit $$pages

$(VENV)/.engines: requirements/engines.txt $(VENV)/.dev
	@echo "== installing the engines: mpi, dask, ray, torch, Slurm, Chromium (once; several minutes)"
	@tools/engines-install $(BIN)/python
	@touch $@

test-engines: $(VENV)/.engines ## run the tests that drive real engines and a real browser
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m engine
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n auto -m browser  # engines are timed and need the machine alone

$(VENV)/.web: requirements/dev.txt $(VENV)/.core
	@echo "== installing the web page's server (once)"
	@$(PIP) install --quiet --require-hashes -r requirements/web.txt
	@touch $@

explore: $(VENV)/.web ## open the interactive page on this machine
	@$(SCALECURVE) explore

docs: $(VENV)/.dev ## rewrite the generated parts of docs/ and README
	@$(BIN)/python tools/generate_docs.py

.venvs/site/.ready: requirements/site.txt
	@echo "== installing what builds the site (once)"
	@$(PYTHON) -m venv .venvs/site
	@.venvs/site/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/site.txt
	@.venvs/site/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
	@touch $@

faults: $(VENV)/.dev ## the long harnesses: kills of measurements, random command lines (docs/reliability.md)
	@$(BIN)/python -m bench.kill_harness --kills 520 --parallel 4
	@$(BIN)/python -m bench.cli_fuzz --count 50000
	@SCALECURVE_DRAG=5 $(BIN)/python -m pytest tests/browser/test_drag.py -k random_states

calibration: $(VENV)/.dev ## rebuild the shipped calibration of forecasts from the published curves
	@$(BIN)/python -m tools.calibrate_forecast

site: .venvs/site/.ready ## build the site into out/site: pages, reports of the gallery, static explorer; links checked
	@.venvs/site/bin/python tools/site.py

release-check: $(VENV)/.core ## all of a release but the upload: build, install each in an empty environment, try it, look inside
	@$(BIN)/python tools/release_check.py

sbom: requirements/release.txt ## the bill of materials (CycloneDX) as out/sbom.json
	@$(PYTHON) -m venv .venvs/release
	@.venvs/release/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/release.txt
	@mkdir -p $(OUT)
	@.venvs/release/bin/cyclonedx-py requirements requirements/core.txt --of JSON -o $(OUT)/sbom.json
	@echo "$(OUT)/sbom.json"

licences: $(VENV)/.core ## rewrite docs/reference/licences.md from the installed packages
	@$(BIN)/python tools/licences.py

format: $(VENV)/.dev ## format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lock: $(VENV)/.dev ## pin all requirements anew, with hashes and without any address
	@$(PIP) install --quiet uv
	@tools/lock

clean: ## remove what make made
	rm -rf $(VENV) .venvs $(OUT)
