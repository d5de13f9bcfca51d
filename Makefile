# Every target does its own set-up in .venv; a second run finds it done.

PYTHON ?= python3
VENV   := .venv
BUILD  := build/release
PY     := $(VENV)/bin/python

# Whatever environment the caller has activated stays out of this one. Bytecode is written when a
# module is first imported, so it must be allowed to be.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

PYTEST     := -m pytest
PARALLEL   := -n auto --dist worksteal
SLOWEST    := --durations=20 --durations-min=1
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
BENCH_ARGS ?=
FUZZ_ARGS  ?= --minutes 10 --jobs 2
TEST_ARGS  ?=

.DEFAULT_GOAL := help
.PHONY: help demo test slow test-all coverage hostile fuzz checked asan tsan double oldest lint format bench bench-growth bench-lines bench-reading bench-approximate bench-kernels bench-cluster figures picture docs build dist sbom clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
	  awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: build  ## fit a whole path on data that ships with scikit-learn, print it and its certificate
	@$(VENV)/bin/taupath demo
	@echo
	@echo "The command is installed as $(VENV)/bin/taupath: try $(VENV)/bin/taupath --help"
	@echo "After  . $(VENV)/bin/activate  it is just taupath."

test: build $(VENV)/.test  ## the tests, without the slow ones
	@$(ONE_THREAD) $(PY) $(PYTEST) $(PARALLEL) -m "not slow" $(SLOWEST) $(TEST_ARGS)

slow: build $(VENV)/.test $(VENV)/.peers  ## the slow tests: about an hour on two cores
	@$(ONE_THREAD) $(PY) $(PYTEST) $(PARALLEL) -m slow $(SLOWEST) $(TEST_ARGS)

test-all:  ## all tests, also on the checked and the sanitised build of the core
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory slow
	@$(MAKE) --no-print-directory checked
	@$(MAKE) --no-print-directory asan

coverage: build $(VENV)/.test  ## line coverage of the tests, without the slow ones
	@$(ONE_THREAD) $(PY) $(PYTEST) $(PARALLEL) -m "not slow" --cov --cov-report=term $(TEST_ARGS)

hostile: build $(VENV)/.test  ## 10 000 damaged or hostile model files and tables: each refused, or read correctly
	@$(ONE_THREAD) $(PY) tools/hostile_files --kind model --count 5000
	@$(ONE_THREAD) $(PY) tools/hostile_files --kind table --count 5000

fuzz: build  ## random problems of many families, each answer judged in extended precision (more with TAUPATH_DATA)
	@$(ONE_THREAD) $(PY) tools/fuzz $(FUZZ_ARGS)

bench: build $(VENV)/.bench $(VENV)/.peers  ## every question beside every peer, well over an hour, one thread (needs TAUPATH_DATA)
	@$(ONE_THREAD) $(PY) benchmarks/run.py $(BENCH_ARGS)

bench-growth: build  ## time of a whole path against the number of samples, one thread
	@$(ONE_THREAD) $(PY) benchmarks/growth.py $(BENCH_ARGS)

bench-lines: build $(VENV)/.bench  ## kernels, the C path, quantile regression (needs TAUPATH_DATA)
	@$(ONE_THREAD) $(PY) benchmarks/run.py --question grid regression regularization -o build/benchmarks $(BENCH_ARGS)

bench-reading: build $(VENV)/.peers  ## time to read from a path, in solver runs and in fits, one thread (needs TAUPATH_DATA)
	@$(ONE_THREAD) $(PY) benchmarks/reading.py $(BENCH_ARGS)

bench-approximate: build $(VENV)/.bench  ## certified approximate paths beside LIBLINEAR, one thread (needs TAUPATH_DATA)
	@$(ONE_THREAD) $(PY) benchmarks/approximate.py $(BENCH_ARGS)

bench-kernels: build  ## certified approximate paths with an RBF kernel beside SVC, one thread (a9a needs TAUPATH_DATA)
	@$(ONE_THREAD) $(PY) benchmarks/kernels.py $(BENCH_ARGS)

bench-cluster: build $(VENV)/.test  ## paths of rows on a Dask cluster beside one process: rounds, bytes, time
	@$(ONE_THREAD) $(PY) benchmarks/cluster.py $(BENCH_ARGS)

figures: build $(VENV)/.test  ## all displays as pictures, in build/figures
	@$(PY) benchmarks/figures.py -o build/figures

picture: build $(VENV)/.test  ## the picture of the README, in docs/figures
	@$(ONE_THREAD) $(PY) tools/readme_picture.py

docs: build $(VENV)/.docs  ## the documentation, in build/docs; warnings are errors
	@$(ONE_THREAD) $(PY) -m sphinx -W --keep-going -E -a -q -b html -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

lint: $(VENV)/.lint $(VENV)/.installed  ## ruff, mypy, cython-lint and oxlint
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/cython-lint src/taupath/_core
	@$(PY) tools/lint_scripts.py
	@$(VENV)/bin/mypy

format: $(VENV)/.lint  ## let ruff put the files in order
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .

build: $(VENV)/.installed  ## compile what has changed
	@ninja -C $(BUILD) --quiet

dist: $(VENV)/.test  ## source distribution and wheel of the last commit, in dist
	@rm -rf dist
	@$(PY) -m build --outdir dist

sbom: dist $(VENV)/.sbom  ## the wheel and all that it needs, as a CycloneDX file, in dist
	@rm -rf build/sbom-venv && $(PY) -m venv --without-pip build/sbom-venv
	@$(PIP) --python build/sbom-venv/bin/python install --no-compile dist/*.whl
	@$(VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library \
	  --output-reproducible -o dist/taupath.cdx.json build/sbom-venv/bin/python

clean:  ## remove everything the other targets have made
	rm -rf $(VENV) build dist docs/gallery docs/sg_execution_times.rst .coverage .hypothesis .pytest_cache .ruff_cache .mypy_cache
	find src tests tools benchmarks docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up: one stamp per group of requirements -------------------------------------------------

PIP := $(PY) -m pip --disable-pip-version-check -qq

# $(call install,groups,purpose): the requirements of these groups, as pyproject.toml gives them.
# Most modules of the large packages are never imported, so none is compiled beforehand: that
# would take longer than the rest of the installation.
define install
	@echo "set-up: packages to $(2)"
	@$(PY) tools/requirements.py $(1) > $@.txt
	@$(PIP) install --no-compile -r $@.txt
	@touch $@
endef

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "taupath needs Python 3.11 or later, this is " + sys.version.split()[0] + \
	  "; try: make PYTHON=python3.12")'
	@echo "set-up: this is done once, and usually takes one to two minutes with two cores"
	@echo "set-up: virtual environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.run: pyproject.toml | $(VENV)/.created
	$(call install,build run builder,build and run (mostly downloads))
# LIBLINEAR is C++: without a compiler for it nothing of this group is installed, and the tests
# that compare with it or with others of the group are skipped.
$(VENV)/.test: pyproject.toml | $(VENV)/.run
	$(call install,test release,test)
	@$(PY) tools/requirements.py bench > $@.txt
	@$(PIP) install -r $@.txt 2> $@.log || \
	  echo "set-up: no LIBLINEAR and other peers here (see $@.log); tests against them will be skipped"
$(VENV)/.bench: pyproject.toml | $(VENV)/.run
	$(call install,bench,benchmark)
$(VENV)/.peers: pyproject.toml | $(VENV)/.run
	@echo "set-up: packages to compare with"
	@$(PY) tools/requirements.py peers > $@.txt
	@$(PIP) install -r $@.txt 2> $@.log || echo "set-up: not all peers are to be had here (see $@.log)"
	@touch $@
$(VENV)/.docs: pyproject.toml | $(VENV)/.run
	$(call install,docs,write the documentation)
$(VENV)/.sbom: pyproject.toml | $(VENV)/.created
	$(call install,sbom,list what a release consists of)
$(VENV)/.lint: pyproject.toml | $(VENV)/.created
	$(call install,lint,lint)

# Editable: Python files are used where they lie, and an import recompiles an edited .pyx.
$(VENV)/.installed: pyproject.toml meson.options $(VENV)/.run
	@echo "set-up: compiling taupath in $(BUILD): usually half a minute with two cores"
	@$(PIP) install --no-deps --no-build-isolation --config-settings=build-dir=$(BUILD) --editable .
	@touch $@

# --- second builds of the core, each with an interpreter of its own that borrows .venv's packages --

# $(call second_build,name,meson options)
define second_build
	@if [ ! -e build/$(1)/build.ninja ]; then \
	  echo "set-up: second build in build/$(1)"; \
	  rm -rf build/$(1) && $(PY) -m venv --without-pip build/$(1)-venv && \
	  lib=$$(build/$(1)-venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") && \
	  $(PY) -c "import sysconfig; print(sysconfig.get_path('purelib'))" > "$$lib/borrowed.pth" && \
	  meson setup build/$(1) $(2) -Dpython.purelibdir="$$lib" -Dpython.platlibdir="$$lib" > build/$(1).log \
	  || { cat build/$(1).log; exit 1; }; \
	fi
	@ninja -C build/$(1) --quiet
	@meson install -C build/$(1) --no-rebuild --quiet
endef

CORE_TESTS := $(PYTEST) $(PARALLEL) -m "core and not slow" -p no:cacheprovider $(TEST_ARGS)

checked: build $(VENV)/.test  ## the core's tests with every index checked
	$(call second_build,checked,-Dchecked=true -Dbuildtype=debugoptimized)
	@$(ONE_THREAD) build/checked-venv/bin/python $(CORE_TESTS)

CC      ?= cc
LIBASAN  = $(shell $(CC) -print-file-name=libasan.so)
LIBCXX   = $(shell $(CC) -print-file-name=libstdc++.so.6)

asan: build $(VENV)/.test  ## the core's tests under the address sanitiser
	@[ -e "$(LIBASAN)" ] || { echo "asan: $(CC) comes without libasan.so"; exit 1; }
	$(call second_build,asan,-Db_sanitize=address -Db_lundef=false -Dbuildtype=debugoptimized)
	@LD_PRELOAD="$(LIBASAN) $(LIBCXX)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc $(ONE_THREAD) \
	  build/asan-venv/bin/python $(CORE_TESTS)

LIBTSAN  = $(shell $(CC) -print-file-name=libtsan.so)

# Without address space randomisation, which ThreadSanitizer does not cope with on all kernels. It
# cannot follow a fork with threads: tests of forks are left out.
tsan: build $(VENV)/.test  ## the tests of threads under the thread sanitiser
	@[ -e "$(LIBTSAN)" ] || { echo "tsan: $(CC) comes without libtsan.so"; exit 1; }
	$(call second_build,tsan,-Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized)
	@LD_PRELOAD="$(LIBTSAN)" TSAN_OPTIONS=halt_on_error=1 $(ONE_THREAD) setarch -R \
	  build/tsan-venv/bin/python $(PYTEST) -s -p no:cacheprovider -p no:faulthandler -k "not fork and not child" \
	  tests/test_threads.py tests/test_together.py $(TEST_ARGS)

# The same source with plain doubles: what long double is with MSVC and on Apple's processors.
PLAIN := build/double-source

$(PLAIN)/.written: meson.build meson.options $(wildcard src/taupath/*.build src/taupath/*.py src/taupath/*/*)
	@rm -rf $(PLAIN) && mkdir -p $(PLAIN) && cp -pR meson.build meson.options src tools $(PLAIN)
	@for file in $(PLAIN)/src/taupath/_core/*.p[yx][xd]; do \
	  sed 's/long double/double/g; s/LDBL_/DBL_/g; s/np\.longdouble/np.float64/g' $$file > $(PLAIN)/sums && mv $(PLAIN)/sums $$file; \
	done
	@touch $@

# All tests of the core and of the solutions themselves.
NUMERICS := $(shell grep -l "mark.core" tests/test_*.py) $(addprefix tests/test_,$(addsuffix .py,\
  bad_input bad_kernels bad_responses classifier conformal constructed exactness input_storage kernel_invariance \
  kernels oracle_agreement regression regression_invariance regressor regularization selection))

double: build $(VENV)/.test $(PLAIN)/.written  ## tests with sums in plain double, as on other platforms
	$(call second_build,double,$(PLAIN))
	@$(ONE_THREAD) build/double-venv/bin/python $(PYTEST) $(PARALLEL) -m "not slow" -p no:cacheprovider \
	  $(sort $(NUMERICS)) $(TEST_ARGS)

# --- the oldest requirements, in an environment of their own -------------------------------------

OLD := build/oldest-venv

$(OLD)/.installed: pyproject.toml tools/requirements.py | $(VENV)/.created
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and \
	  "the oldest requirements need Python 3.11; try: make oldest PYTHON=python3.11")'
	@echo "set-up: the oldest requirements, in $(OLD)"
	@$(PYTHON) -m venv --clear $(OLD)
	@$(PY) tools/requirements.py --oldest run plot parquet test > build/oldest.txt
	@$(OLD)/bin/python -m pip --disable-pip-version-check -qq install -r build/oldest.txt
	@touch $@

# What is compiled with the newest must run with the oldest. These use each other in ways that have
# been deprecated since (matplotlib pyparsing, pandas numpy), which is not ours to mend; and
# matplotlib 3.8 was about to deprecate `allsegs`, which it has kept.
oldest: build $(OLD)/.installed  ## the tests, without the slow ones, with the oldest requirements
	@rm -rf build/oldest && $(PIP) wheel --no-deps --no-build-isolation \
	  --config-settings=build-dir=$(BUILD) --wheel-dir build/oldest .
	@$(OLD)/bin/python -m pip --disable-pip-version-check -qq install --no-deps --force-reinstall build/oldest/*.whl
	@$(ONE_THREAD) $(OLD)/bin/python $(PYTEST) $(PARALLEL) -m "not slow" -p no:cacheprovider \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning $(TEST_ARGS)
