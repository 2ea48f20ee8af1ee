# Every task of the project; `make help` lists them.
PYTHON ?= python3
RELEASE := -c 'import sys; print("%d.%d" % sys.version_info[:2] + sys.abiflags)'
ifneq ($(origin PYTHON),file)
# Named by whoever runs make: where .venv is of another Python, this one gets an environment of its own, .venv-3.13.
NAMED := $(shell $(PYTHON) $(RELEASE))
VENV ?= .venv$(if $(filter-out $(NAMED),$(shell test ! -x .venv/bin/python || .venv/bin/python $(RELEASE))),-$(NAMED))
FOUND := $(shell test ! -x $(VENV)/bin/python || $(VENV)/bin/python $(RELEASE))
ifneq ($(FOUND),$(if $(FOUND),$(NAMED)))
$(error $(VENV) is of Python $(FOUND), and $(PYTHON) is $(NAMED): name another VENV, or remove this one)
endif
endif
VENV ?= .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
MOTO := .venv-moto
AUDIT := .venv-audit
FLOWER := .venv-flower
BRIDGE := bridges/flower
SDK := sdk/typescript
SURVEY := src/treetop/services/local/survey_page
SHIPPED := survey campaigns itemLists rounds sets textCode
SCIENCE := src/treetop/encoding/*,src/treetop/privacy/*,src/treetop/oracles/*,src/treetop/trie/*,src/treetop/mechanisms/*
# These say nothing of the science's coverage and take the time: they run without measuring it.
LONG := tests/statistical tests/equivalence tests/end_to_end tests/faults tests/browser $(addprefix tests/unit/,adapters audit cli datasets evaluation planning reproduction services web)
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11

.PHONY: help demo test lint sdk sdk-copy unit check-slow bench flower lock docs site dist sbom audit-dependencies changelog clean

help:  ## list the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Treetop needs Python 3.11 or newer, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

demo: $(VENV)/.runtime  ## all mechanisms on the built-in federation
	$(BIN)/treetop demo --seed 1

test: lint sdk unit  ## everything that must pass before a change lands

lint: $(VENV)/.dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache

# The device for browsers and Node: built and tested where Node 20 or newer is, with a browser where there is one.
NODE_IS_NEW := $(shell node -e 'process.stdout.write(Number(process.versions.node.split(".")[0]) >= 20 ? "yes" : "")' 2>/dev/null)

$(SDK)/node_modules/.installed: $(SDK)/package-lock.json
	cd $(SDK) && npm ci --loglevel=error
	@touch $@

ifeq ($(NODE_IS_NEW),yes)
sdk: $(SDK)/node_modules/.installed  ## build and test the device for browsers and Node
	cd $(SDK) && npm run --silent check && npm run --silent build
	cd $(SDK) && node --no-warnings --test --test-reporter=dot build/tests/*.test.js

sdk-copy: $(SDK)/node_modules/.installed  ## build the survey page's scripts into src, where they are kept for machines without Node
	cd $(SDK) && npm run --silent build
	$(foreach name,$(SHIPPED),cp $(SDK)/dist/$(name).js $(SURVEY)/$(name:survey=treetop-survey).js &&) true
else
sdk sdk-copy:
	@$(if $(filter required,$(TREETOP_BROWSER)),echo "the device for browsers needs Node 20 or newer" >&2; exit 1,echo "sdk skipped: Node 20 or newer is not installed")
endif

# Object storage for the tests, in an environment of its own: its libraries hold some of ours back.
$(MOTO)/.moto: requirements/moto.txt
	$(PYTHON) -m venv $(MOTO)
	$(MOTO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/moto.txt
	@touch $@

unit: $(VENV)/.dev $(MOTO)/.moto
	@rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -q -n 2 --dist worksteal $(foreach room,$(LONG),--ignore=$(room))
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='$(SCIENCE)' --fail-under=100
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(LONG)

check-slow: $(VENV)/.dev $(MOTO)/.moto  ## the checks that take minutes
	$(BIN)/python -m pytest -q -m slow

$(BENCH)/.bench: requirements/bench.txt pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

bench: $(BENCH)/.bench  ## measure ratios against peers and limits and rewrite docs/benchmarks.md; NAME=counting measures one
	$(BENCH)/bin/python -m benchmarks.report $(NAME)

$(FLOWER)/.flower: $(BRIDGE)/requirements.txt $(BRIDGE)/pyproject.toml
	$(PYTHON) -m venv $(FLOWER)
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(BRIDGE)/requirements.txt
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e $(BRIDGE)
	@touch $@

flower: $(FLOWER)/.flower  ## install the bridge to Flower into an environment of its own, for `treetop up --carrier flower`

docs: $(VENV)/.dev  ## write the reference pages that come from the code
	$(BIN)/python -m tools.reference_pages

lock: $(VENV)/.dev  ## pin every dependency with its hashes, without addresses
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(COMPILE) pyproject.toml --extra plot --extra federation --extra postgres --group build --output-file requirements/runtime.txt
	$(COMPILE) pyproject.toml --extra plot --extra federation --extra postgres --group build --group dev --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --extra federation --constraint requirements/runtime.txt --output-file requirements/party.txt
	$(COMPILE) pyproject.toml --extra words --constraint requirements/dev.txt --output-file requirements/words.txt
	$(COMPILE) --group moto --output-file requirements/moto.txt
	$(COMPILE) pyproject.toml --extra federation --extra postgres --group build --group bench --output-file requirements/bench.txt
	$(COMPILE) --group audit --output-file requirements/audit.txt
	$(COMPILE) $(BRIDGE)/pyproject.toml --group $(BRIDGE)/pyproject.toml:build --output-file $(BRIDGE)/requirements.txt
	cd $(SDK) && node lock.mjs

site: $(VENV)/.dev  ## build the documentation as a site in build/site; every link must lead somewhere
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "build/site/index.html"

dist: $(VENV)/.runtime  ## build wheel and sdist; the same commit gives the same bytes
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist

sbom: $(VENV)/.dev  ## list all that the locks name in build/sbom.json (CycloneDX)
	$(BIN)/python -m tools.supply_chain.sbom

$(AUDIT)/.audit: requirements/audit.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
	@touch $@

# Strict: a version that no database knows is a failure, not a pass.
audit-dependencies: $(AUDIT)/.audit  ## look every locked version up in advisory databases
	for lock in requirements/*.txt $(BRIDGE)/requirements.txt; do \
	  $(AUDIT)/bin/pip-audit --strict --disable-pip --progress-spinner off -r $$lock || exit 1; done

changelog: $(VENV)/.dev  ## move the fragments of changes/ into CHANGELOG.md
	$(BIN)/python -m tools.changelog

clean:  ## remove the virtual environment and caches
	rm -rf $(SDK)/node_modules $(SDK)/build $(SDK)/dist dist $(VENV) .venv-3.* $(BENCH) $(MOTO) $(AUDIT) $(FLOWER) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
