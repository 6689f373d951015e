# The README's two commands, `make demo` and `make test`, and those that CI runs. All of it happens in .venv, which the
# first call makes; later calls rebuild and reinstall only what has changed.

PYTHON ?= $(firstword $(foreach p,python3 python3.15 python3.14 python3.13 python3.12 python3.11,$(shell $(p) -c \
	'import sys; (3, 11) <= sys.version_info < (3, 16) and print("$(p)")' 2>/dev/null)))
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check $(PIP_ARGS)
SOURCES := $(wildcard minigrad/*.py minigrad/*/*.py minigrad/*/*/*.py minigrad/*/*.p[xy][dx] minigrad/*/*/*.p[xy][dx] \
	minigrad/*/*.h minigrad/kernels/cpu/*.h tools/*.py) setup.py
# Tests outside tests/parity that ask PyTorch too.
PARITY = tests/parity tests/accuracy tests/hostile $(shell grep -rl --include='test_*.py' 'importorskip("torch")' tests)
PYTEST_ARGS ?= -n auto
PYTEST = $(PY) -m pytest $(PYTEST_ARGS)

# Interpreter settings from outside must not reach into .venv. Without bytecode, each import compiles all that it needs again.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.PHONY: help demo test pythons test-pythons test-cuda test-mpi parity accuracy fuzz hostile sanitize plain lint types bench bench-docs perf-check build optimized homework class wheel wheels release lab sizes ops docs docs-serve docs-book docs-check editions clean

help:                               ## What there is to make.
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 14

# Interpreted until the first `make build`, which takes minutes; from then on compiled, and rebuilt if a source has changed.
demo: .venv/demo $(wildcard .venv/build)    ## Train a network on handwritten digits.
	$(PY) -m minigrad.demo

# The interpreted tests come first: they need no build.
test: .venv/test                    ## Run the tests, interpreted and compiled.
	MINIGRAD_PURE=1 $(PYTEST) tests
	$(MAKE) .venv/build
	MINIGRAD_PURE=0 MINIGRAD_EXPECT=compiled $(PYTEST) tests

# Of each Python that test-pythons names: 3.14 with the newest NumPy, or 3.12:2.0 with NumPy 2.0. tools/python_table.py has the defaults.
# 3.14t is the free-threaded Python, which `pythons` builds from Debian's source if it is not here: five minutes.
pythons: .venv/made                 ## Get Python 3.14 and 3.15 into build/pythons, or find them here. PYTHONS="3.14 3.15 3.14t"
	$(PY) -m tools.pythons $(PYTHONS)

test-pythons: .venv/made            ## Tests on several Pythons, a table. PYTHONS="3.14 3.12:2.0" PYTHONS_TESTS=tests/core PYTHONS_BUILDS=compiled
	$(PY) -m tools.python_table $(PYTHONS) $(if $(PYTHONS_TESTS),--tests "$(PYTHONS_TESTS)") $(if $(PYTHONS_BUILDS),--builds "$(PYTHONS_BUILDS)") \
		--pytest="$(PYTEST_ARGS)" $(PYTHONS_ARGS)

# Without a GPU, the simulator runs the kernels and does not compile them; the compiler does the other half.
test-cuda: .venv/test .venv/cuda .venv/build   ## Run the tests of the GPU's kernels: on a GPU, or else on numba's simulator, and compile them.
	@if $(PY) -c 'import minigrad as mg; raise SystemExit(not mg.cuda.is_available())'; then $(PYTEST) tests/cuda; else \
		$(PYTEST) tests/cuda/test_compile_*.py && \
		NUMBA_ENABLE_CUDASIM=1 $(PYTEST) --ignore-glob='*/test_compile_*' tests/cuda; fi

test-mpi: .venv/test .venv/mpi .venv/build     ## Run the tests of several ranks, which mpiexec starts.
	MINIGRAD_MPI=1 $(PY) -m pytest tests/distributed/test_ranks.py tests/distributed/test_training.py

parity: .venv/test .venv/parity .venv/build   ## Compare with PyTorch 2.13.0, which this installs: all tests that ask it.
	MINIGRAD_PURE=0 MINIGRAD_EXPECT=compiled $(PYTEST) $(PARITY)
	MINIGRAD_PURE=1 $(PYTEST) $(PARITY)

accuracy: .venv/test .venv/parity .venv/build     ## Compare the digits of all ops with PyTorch's, in all ways, not one way per op. Takes an hour.
	MINIGRAD_EVERY=1 MINIGRAD_PURE=0 MINIGRAD_EXPECT=compiled $(PYTEST) tests/accuracy
	MINIGRAD_EVERY=1 MINIGRAD_PURE=1 $(PYTEST) tests/accuracy

FUZZ = $(PY) -m tests.parity.test_random_programs
fuzz: .venv/test .venv/parity .venv/build     ## Run random programs on PyTorch and on minigrad, and compare every line. Takes half an hour.
	MINIGRAD_PURE=0 MINIGRAD_PROGRAMS=$${MINIGRAD_PROGRAMS:-20000} $(FUZZ)
	MINIGRAD_PURE=1 MINIGRAD_PROGRAMS=$$(( $${MINIGRAD_PROGRAMS:-20000} * 3 / 20 )) $(FUZZ)

HOSTILE = -m tests.hostile --seconds 60 --seed $${MINIGRAD_SEED:-1} --calls
hostile: .venv/test .venv/build     ## Call everything with whatever is wrong, each call in a process that may die. See tests/hostile.
	MINIGRAD_PURE=0 $(PY) $(HOSTILE) $${MINIGRAD_CALLS:-20000}
	MINIGRAD_PURE=1 $(PY) $(HOSTILE) $$(( $${MINIGRAD_CALLS:-20000} / 4 ))

# A second build in build/sanitize, with its own copy of the tests, which import minigrad from there.
SANITIZED = cd build/sanitize/lib && OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1 PYTHONMALLOC=malloc \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=64:max_allocation_size_mb=4096 UBSAN_OPTIONS=print_stacktrace=1 $(abspath $(PY))
sanitize: .venv/test .venv/build    ## The tests of core, ops, kernels, optim and nn, and hostile calls, under AddressSanitizer and UBSan.
	MINIGRAD_BUILD=require MINIGRAD_SANITIZE=1 $(PY) setup.py --quiet build --build-base build/sanitize --build-lib build/sanitize/lib
	rm -rf build/sanitize/lib/tests && cp -r tests build/sanitize/lib
	$(SANITIZED) -m pytest $(PYTEST_ARGS) -p no:cacheprovider $${MINIGRAD_SANITIZE_TESTS:-tests/kernels tests/core tests/optim tests/nn tests/ops}
	$(SANITIZED) $(HOSTILE) $${MINIGRAD_CALLS:-20000}

plain: .venv/test .venv/build       ## A build without CPython's and NumPy's internals (minigrad/_capi), and the tests of core, kernels, nn and optim.
	MINIGRAD_BUILD=require MINIGRAD_PLAIN=$${MINIGRAD_PLAIN:-all} $(PY) setup.py --quiet build --build-base build/plain --build-lib build/plain/lib
	rm -rf build/plain/lib/tests && cp -r tests build/plain/lib
	cd build/plain/lib && MINIGRAD_PURE=0 MINIGRAD_PLAIN=$${MINIGRAD_PLAIN:-all} $(abspath $(PY)) -m pytest $(PYTEST_ARGS) -p no:cacheprovider \
		tests/core tests/kernels tests/nn tests/optim

lint: .venv/lint                    ## ruff
	.venv/bin/ruff check .

types: .venv/lint .venv/test .venv/build      ## pyright, on the package and on a program that uses it.
	.venv/bin/pyright --pythonpath $(PY)
	$(PYTEST) tests/test_types.py

bench: .venv/bench .venv/build      ## Speed, as ratios to PyTorch in one process.
	$(PY) -m benchmarks

# cpu.md, growth.json and rivals.json. The build of the site makes the tables and pictures from them. torch.compile needs g++.
bench-docs: .venv/rivals .venv/build    ## Measure what docs/performance.md shows: speed, growth, other libraries. Half an hour; needs a quiet machine.
	$(PY) -m benchmarks --markdown benchmarks/results/cpu.md
	MINIGRAD_PURE=0 $(PY) -m benchmarks.everyday --markdown benchmarks/results/everyday.md
	MINIGRAD_PURE=0 $(PY) -m benchmarks.growth
	MINIGRAD_PURE=0 $(PY) -m benchmarks.rivals

perf-check: .venv/build             ## Count the instructions of small programs, by valgrind; 3% more than in the file is an error. PERF_ARGS="--accept 'why'"
	$(PY) -m benchmarks.instructions $(PERF_ARGS)

build: .venv/build                  ## Compile the extension modules and write the type stubs.

# The kernels stay as they are. A source that is edited later is compiled without the counts, until this is called again.
FORGET = find minigrad $(wildcard build/lib.* build/temp.*) \( -name '*.so' -o -name '*.o' \) -not -path '*/kernels/*' -delete
optimized: .venv/test .venv/build   ## Compile the core and the rules twice more: gcc sees which branches are taken, and small nets gain a tenth. Needs gcc.
	rm -f .venv/build && find build -name '*.gcda' -delete
	$(FORGET) && MINIGRAD_PROFILE=generate MINIGRAD_BUILD=require $(PY) setup.py --quiet build_ext --inplace
	MINIGRAD_PURE=0 OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.training
	$(FORGET) && MINIGRAD_PROFILE=use MINIGRAD_BUILD=require $(PY) setup.py --quiet build_ext --inplace
	touch .venv/build

# A set is refused if its solution, its skeleton or one of its wrong solutions is graded wrongly, or its solution is in what students get.
# A set may need the simulator of a GPU.
SETS ?= $(notdir $(patsubst %/,%,$(dir $(wildcard tutorials/homework/*/set.toml))))
homework: .venv/grading .venv/simulator $(wildcard .venv/build)     ## Build all homework sets; grade solutions, skeletons and wrong solutions. SETS="hw1 hw3"
	$(PY) -m minigrad.grading build $(sort $(SETS:%=tutorials/homework/%)) --out build/homework

SET ?= hw3
STUDENTS ?= 30
class: .venv/grading .venv/simulator $(wildcard .venv/build)        ## Grade a class that does not exist: build/class/report/index.html. SET=hw3 STUDENTS=30
	rm -rf build/class
	$(PY) -m tools.synthetic_class $(SET) build/class/submissions --students $(STUDENTS) --report build/class/report

wheel: .venv/lint                   ## dist/: an sdist, and a wheel made of it.
	.venv/bin/python -m build

wheels: .venv/release               ## build/wheels: compiled wheels for Linux, for each Python from 3.11 to 3.15, tested. PYTHONS="3.12 3.14"
	$(PY) -m tools.linux_wheels $(PYTHONS) $(WHEELS_ARGS)

release: .venv/release              ## build/release: all of a release except publishing. Needs a clone, and a network for the last check.
	$(PY) -m tools.release $(RELEASE_ARGS)

# A tutorial is a script; jupytext opens it as a notebook, and saves changes to the script.
LAB = .venv/share/jupyter/lab/settings
lab: .venv/lab $(wildcard .venv/build)      ## JupyterLab, in which the tutorials open as notebooks. Compiled once `make build` has run.
	@mkdir -p $(LAB) && echo '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"python": "Jupytext Notebook"}}}' \
		> $(LAB)/overrides.json
	$(PY) -m tools.docs.pictures
	$(PY) -m jupyterlab --ServerApp.root_dir=tutorials $(LAB_ARGS)

sizes: .venv/made                   ## Lines per file.
	@$(PY) -m tools.sizes

ops: .venv/test .venv/build         ## The table of all ops: derivatives, in-place forms, kernels, dtypes.
	@$(PY) -m tools.op_table

docs: .venv/docs                    ## The documentation, in build/docs/html. Needs no network once .venv/docs is there.
	MINIGRAD_PURE=1 $(PY) -m tools.docs

docs-serve: .venv/docs              ## The same, and show it in a browser: its programs and exercises run where they stand.
	MINIGRAD_PURE=1 $(PY) -m tools.docs --serve

docs-book: .venv/docs               ## The same, and the course as an EPUB and a PDF: build/docs/html/course. The PDF needs chromium.
	MINIGRAD_PURE=1 $(PY) -m tools.docs --book

docs-check: .venv/test .venv/browser .venv/build      ## Look at what `make docs` built with a browser. Needs chromium.
	MINIGRAD_BROWSER=1 $(PYTEST) tests/docs/test_browser.py tests/docs/test_live.py tests/viz/test_browser.py

# With the solutions: keep the folder where students cannot read. EDITIONS="tutorials/01_derivative_to_graph.py --teacher --out DIR"
editions: .venv/docs $(wildcard .venv/build)    ## The tutorials for students, for teachers, and as slides: build/editions.
	$(PY) -m tools.docs.make_editions $(EDITIONS)

clean:                              ## Remove all that was made.
	rm -rf .venv build dist *.egg-info demo-output minigrad/_built.json
	find minigrad \( -name '*.so' -o -name '*.pyi' \) -delete

# ---- what stands behind them -------------------------------------------------------------------------------------

.venv/made:
	@test -n "$(PYTHON)" || { echo "minigrad needs a Python from 3.11 to 3.15, and none was found." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 16))' || { \
		echo "minigrad needs a Python from 3.11 to 3.15; $(PYTHON) is not one." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) "setuptools>=77" "Cython>=3.3,<3.4" "numpy>=2.0"
	touch $@

.venv/build: .venv/made $(SOURCES)
	MINIGRAD_BUILD=require $(PY) setup.py --quiet build_ext --inplace
	touch $@

.venv/demo .venv/test .venv/parity .venv/lint .venv/release .venv/lab .venv/docs .venv/browser .venv/cuda .venv/mpi .venv/bench .venv/rivals .venv/grading .venv/simulator: .venv/%: .venv/made pyproject.toml setup.py
	MINIGRAD_BUILD=0 $(PIP) --no-build-isolation -e ".[$*]"
	touch $@
