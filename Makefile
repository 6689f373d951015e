# The two commands of the README, and those that CI runs. Everything happens in .venv, which the first call
# makes; later calls only rebuild what has changed.

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c \
	'import sys; (3, 11) <= sys.version_info < (3, 14) and print("$(p)")' 2>/dev/null)))
PY := .venv/bin/python
SOURCES := $(wildcard minigrad/_core/*.py minigrad/_core/*.pxd minigrad/ops/*.py minigrad/ops/*.pxd minigrad/kernels/cpu/*.p* \
	minigrad/kernels/cpu/*.h) setup.py
PYTEST_ARGS ?=

.PHONY: demo test test-pure parity lint types bench build wheel clean

demo: .venv/demo .venv/build        ## Train a network on handwritten digits.
	$(PY) -m minigrad.demo

test: .venv/test .venv/build        ## Run the tests, compiled and interpreted.
	MINIGRAD_EXPECT=compiled $(PY) -m pytest tests $(PYTEST_ARGS)
	MINIGRAD_PURE=1 $(PY) -m pytest tests $(PYTEST_ARGS)

parity: .venv/parity test           ## The tests again, with PyTorch as the oracle: `make test` collects more once it is installed.

lint: .venv/lint
	.venv/bin/ruff check .

types: .venv/lint .venv/build
	.venv/bin/pyright

bench: .venv/parity .venv/build     ## Speed, as ratios to PyTorch in one process.
	$(PY) -m benchmarks

build: .venv/build

wheel: .venv/lint
	.venv/bin/python -m build

clean:
	rm -rf .venv build dist *.egg-info
	find minigrad -name '*.so' -delete

# ---- what stands behind them --------------------------------------------------------------------------------

.venv/made:
	@test -n "$(PYTHON)" || { echo "minigrad needs Python 3.11 to 3.13, and none was found; name one: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check "setuptools>=77" "Cython>=3.3,<3.4" "numpy>=2.0"
	touch $@

.venv/build: .venv/made $(SOURCES)
	MINIGRAD_BUILD=require $(PY) setup.py --quiet build_ext --inplace
	touch $@

.venv/demo .venv/test .venv/parity .venv/lint: .venv/%: .venv/made pyproject.toml setup.py
	MINIGRAD_BUILD=0 $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[$*]"
	touch $@
