# What a newcomer, a developer and the CI run. Needs make, a POSIX shell and Python 3.11 or newer; all else is installed
# into .venv. `make help` lists the targets.

VENV = .venv
BIN = $(VENV)/bin
PYTHON = python3.11
DATA_DIR = .ragcorp
PAGE = apps/frontend-stub
BUILT_PAGE = apps/backend/ragcorp/interface/http/page

# Else each process compiles anew what it imports, and pytest its plugins too.
unexport PYTHONDONTWRITEBYTECODE

# Node is the machine's, or what `.ci/page-tools install` has put into .venv.
NPM = PATH="$(CURDIR)/$(VENV)/node/bin:$$PATH" npm --prefix $(PAGE)

# On a terminal pip shows its own progress; elsewhere it is quiet.
PIP = $(BIN)/python -m pip --disable-pip-version-check --no-input $$([ -t 2 ] || echo --quiet)
# pip compiles on one core
COMPILE = $(BIN)/python -m compileall -qq -j 0 -x /tests/ $(VENV)/lib || true
PIP_COMPILE = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --strip-extras --generate-hashes \
	--allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.DEFAULT_GOAL = help
.PHONY: run test test-page test-server page-tools page-client page-build page-screenshots soak lint lint-container audit sbom format lock clean help

run: $(VENV)/.run  ## install, start everything, ingest the demo corpus, answer three questions, and serve on port 8000
	@exec $(BIN)/ragcorp demo --data-dir $(DATA_DIR)

test: lint  ## everything that must hold before a change goes in
	@$(BIN)/pytest -m "not soak and not page" --numprocesses 3 --dist loadfile --no-loadscope-reorder; \
		code=$$?; .ci/page-tools notice; exit $$code

test-page: $(PAGE)/node_modules/.package-lock.json  ## the web page: its types, its drift, and a real browser on it
	$(NPM) run check
	$(NPM) test
	$(NPM) run drift
	$(BIN)/pytest -m page --numprocesses 2 --dist loadfile apps/backend/tests/page

# One worker: the server is one. RAGCORP_TEST_DATABASE_URL is its superuser `postgres`, on 127.0.0.1; it is thrown away.
test-server: $(VENV)/.dev  ## what the SQL does, on a server of another version: RAGCORP_TEST_DATABASE_URL
	@test -n "$$RAGCORP_TEST_DATABASE_URL" || { echo "error: RAGCORP_TEST_DATABASE_URL is not set" >&2; exit 1; }
	$(BIN)/pytest -m "not soak" $(foreach level,conformance migrations postgres,$(wildcard apps/backend/tests/*/$(level) apps/backend/tests/*/*/$(level)))

lint: $(VENV)/.dev  ## style, types and the arrows between the layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

lint-container: $(VENV)/.dev  ## the rules of hadolint, on Containerfile
	$(BIN)/hadolint Containerfile

audit: $(VENV)/.audit  ## known vulnerabilities of what is pinned; asks PyPI's advisories over the network
	$(VENV)/audit/bin/pip-audit --require-hashes --disable-pip --requirement requirements/all.lock
	$(VENV)/audit/bin/pip-audit --require-hashes --disable-pip --requirement requirements/dev.lock

sbom: $(VENV)/.audit  ## what is pinned, as a CycloneDX bill of materials: build/ragcorp.cdx.json
	@mkdir -p build
	$(VENV)/audit/bin/cyclonedx-py requirements --pyproject pyproject.toml --of JSON \
		--output-file build/ragcorp.cdx.json requirements/all.lock

format: $(VENV)/.dev  ## put the code into shape
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

soak: $(VENV)/.dev  ## the long counts and the benchmarks (an hour and more)
	$(BIN)/pytest -m soak
	$(BIN)/pytest -m "hypothesis and not soak and not page" --hypothesis-profile thorough --timeout 1800
	cd apps/backend && ../../$(BIN)/python -m benchmarks.search --chunks 10000
	cd apps/backend && ../../$(BIN)/python -m benchmarks.search --chunks 100000
	cd apps/backend && ../../$(BIN)/python -m benchmarks.load --chunks 100000 --seconds 300

page-client: $(PAGE)/node_modules/.package-lock.json  ## describe the service anew, and generate the page's client from that
	cd apps/backend && PYTHONPATH=.:tests ../../$(BIN)/python -m support.page.client
	$(NPM) run client

page-build: $(PAGE)/node_modules/.package-lock.json  ## build the web page, whose files are committed
	$(NPM) run build

page-screenshots: page-tools  ## take the pictures of docs/page anew, from the real service with the page as built
	cd apps/backend && PYTHONPATH=.:tests ../../$(BIN)/python -m support.page.screenshots

lock: $(VENV)/.dev  ## pin every dependency anew, in requirements/
	@echo "Resolving requirements/all.lock ..."
	@$(PIP_COMPILE) --upgrade --build-deps-for editable --output-file requirements/all.lock pyproject.toml \
		$$($(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*(f"--extra={name}" for name in extras if name != "all"))')
	@echo "Resolving requirements/dev.lock ..."
	@$(BIN)/python -c 'import tomllib; print("-r all.lock", *tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' \
		> requirements/dev.in
	@$(PIP_COMPILE) --upgrade --output-file requirements/dev.lock requirements/dev.in

clean:  ## remove what was installed and cached; the data folder stays
	rm -rf $(VENV) $(PAGE)/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find apps -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

$(VENV)/.python:
	@found=; for python in $(PYTHON) python3 python3.14 python3.13 python3.12; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "error: ragcorp needs Python 3.11 or newer, and there is none on the PATH. Install it, or name it: make run PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	echo "Making a virtual environment in $(VENV) with $$("$$found" --version) ..."; \
	"$$found" -m venv $(VENV) || { \
		rm -rf $(VENV); \
		echo "error: The virtual environment could not be made. On Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; \
	}
	@touch $@

$(VENV)/.run: $(VENV)/.python requirements/all.lock pyproject.toml
	@echo "Installing ragcorp with what it needs (about 1 minute on a fast line) ..."
	@$(PIP) install --no-compile -r requirements/all.lock
	@$(COMPILE)
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.python requirements/dev.lock pyproject.toml
	@echo "Installing ragcorp with the tools of its developers (about 2 minutes on a fast line) ..."
	@$(PIP) install --no-compile -r requirements/dev.lock
	@$(COMPILE)
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.run

page-tools: $(VENV)/.dev
	@.ci/page-tools install

$(PAGE)/node_modules/.package-lock.json: $(PAGE)/package-lock.json | page-tools
	@echo "Installing the tools of the page ..."
	@$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(VENV)/.audit: $(VENV)/.python
	@echo "Installing the tools of the supply chain, away from what they look at ..."
	@$(BIN)/python -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip --disable-pip-version-check --no-input --quiet install \
		pip-audit==2.10.1 cyclonedx-bom==7.5.0
	@touch $@
