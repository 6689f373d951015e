"""Builds the extension modules and the type stubs. Everything else is in pyproject.toml.

MINIGRAD_BUILD chooses between three builds:

    0           no extensions: minigrad runs interpreted
    (not set)   extensions if they compile; if not, the install succeeds interpreted, and says so
    require     extensions, or the install fails

MINIGRAD_SANITIZE=1 compiles them with AddressSanitizer and UndefinedBehaviorSanitizer, for `make sanitize`.
MINIGRAD_PLAIN=slots,counts compiles them without these groups of minigrad/_capi, and MINIGRAD_PLAIN=all without any.
MINIGRAD_OPTIMIZE=-O0 compiles everything at that level: a build for tests, in less time.
MINIGRAD_PROFILE=generate compiles them to count the branches that a run takes, and =use by these counts: `make optimized`.
"""

import gzip
import importlib.util
import json
import multiprocessing
import os
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

MODE = os.environ.get("MINIGRAD_BUILD", "")
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-O1", "-g1"] \
    if os.environ.get("MINIGRAD_SANITIZE") else []
# The macros that leave groups out of the headers in minigrad/_capi.
GROUPS = {"all": "MINIGRAD_PLAIN", **{group: f"MINIGRAD_PLAIN_{group.upper()}"
                                      for group in ("counts", "slots", "classes", "memory", "sizes", "arrays", "calls")}}
# Profile-guided optimization, by gcc. What no program of benchmarks/training.py runs is compiled as without it. The kernels are
# left out: what chooses a loop for the processor (simd.h) runs before gcc's counters are there, and a loop has few branches.
PROFILES = {"generate": ["-fprofile-generate"], "use": ["-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile"]}
PROFILE = os.environ.get("MINIGRAD_PROFILE", "")
if PROFILE and PROFILE not in PROFILES:
    raise SystemExit(f"MINIGRAD_PROFILE={PROFILE}: it is {' or '.join(PROFILES)}")
COUNTED = PROFILES.get(PROFILE, [])
PLAIN = [group for group in os.environ.get("MINIGRAD_PLAIN", "").split(",") if group]
if not set(PLAIN) <= set(GROUPS):
    raise SystemExit(f"MINIGRAD_PLAIN={','.join(PLAIN)}: the groups are {', '.join(GROUPS)}")
# Interpreted only: what a user's debugger or a spare moment reads, and what gains nothing from C.
INTERPRETED = {"__init__", "capi", "locks", "method_checks", "ownership", "private", "summary", "upcalls"}

# The files of rules that are compiled: what small networks run, and what checks many arguments before a short kernel (a gather of
# 64 numbers takes 2.4 us compiled, 5.5 us interpreted). The others mostly call NumPy and the core, and gain little.
OFTEN = {"activation", "arguments", "arithmetic", "averaging", "broadcasting", "cat_split", "clone_cast", "comparison",
         "contractions", "convolution", "convolution_checks", "counting", "einsum", "extrema", "functions", "getitem", "indexing",
         "inplace", "inplace_pairs", "interpolation", "keywords", "losses", "masking", "matrix", "out", "overwriting", "padding",
         "pointwise", "pooling", "precision", "predicates", "products", "reduction", "repeating", "reshaping", "rule",
         "scattering", "searching", "selection", "sorting", "strided", "unique", "variance", "views"}

# What is compiled of the functions that make tensors: it takes half as long as interpreted.
SURFACE = ("creation/_arrays", "creation/_filled", "creation/_from_data", "creation/_grids", "creation/_options",
           "creation/_ranges", "random/_inplace", "random/_sampling")

# The module of Cython's helper functions. While it loads, Cython also puts the last part of this name into sys.modules.
SHARED = "minigrad._build._cython_minigrad"

# nonecheck, binding=False on classes: see "What compiled code trusts" in minigrad/_core/README.md. The signatures of methods that
# do not bind are in their docstrings, where `inspect.signature` finds them.
# freethreading_compatible=False is Cython's default, and is here to be read: the modules do not declare Py_MOD_GIL_NOT_USED, so a
# free-threaded Python turns the GIL on when it loads one. They need it: pools and free lists, reference counts that tell who owns
# a gradient, cached thread states, and C fields that several threads read and write (docs/notes/threads.md).
DIRECTIVES = {"language_level": 3, "freethreading_compatible": False, "cdivision": True, "nonecheck": True, "auto_pickle": False,
              "embedsignature": True, "embedsignature.format": "clinic"}


def cores():
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def compiles(flag="", include=""):
    """Whether there is a compiler that takes `flag` and finds the header `include`."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(f"{include and f'#include <{include}>'}\nint main(void) {{ return 0; }}\n")
        command = [*shlex.split(compiler), *shlex.split(flag), str(source), "-o", str(Path(folder, "probe"))]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False


def lacking():
    """What is not here that extensions need, or nothing. It takes a moment to see, and Cython's part of the work a minute."""
    if sys.platform == "win32":
        return ""       # setuptools finds MSVC
    if not compiles():
        return "no C compiler works here (CC, or cc)"
    if not compiles(f"-I{shlex.quote(sysconfig.get_path('include'))}", "Python.h"):
        return "the C compiler does not find Python.h, which a package such as python3-dev brings"
    return ""


# Modules of the core that run for every op, node or hook, and the rules of views, whose kernels compute nothing.
HOT = {"accumulate_grad", "apply", "cat_split", "dependencies", "graph_task", "handle", "hooks", "inplace", "metadata", "node",
       "op_node", "operators", "packed_tensor", "ready_queue", "saved_tensor", "tensor", "tensor_hooks", "thread_state", "validate",
       "variable", "version", "view_base", "views"}


def optimization(path):
    """gcc's level for a source. gcc takes most of the time of a build, so what runs seldom, or mostly calls, gets less of it.

    The other rules at -O1 compile in less than half of the time of -O3, and need at most 1.4% more instructions, because they
    mostly call. At -Og a small network would need 2% more, and views 4%. The core at -O2 would save 14 s, and a chain of small
    ops would need 2.4% more.
    """
    if "MINIGRAD_OPTIMIZE" in os.environ:
        return os.environ["MINIGRAD_OPTIMIZE"]
    seldom = path.parts[1] in ("_core", "ops", "creation", "random") and (path.stem not in HOT or PLAIN)
    return "-O1" if seldom or "cuda" in path.parts else "-O3"


def extensions():
    """The extension modules: the engine and the rules from .py, the kernels from .pyx."""
    import numpy
    from Cython.Build import cythonize

    if sys.platform == "linux":     # Cython's workers; what Python 3.14 starts instead of a fork would run this file again
        multiprocessing.set_start_method("fork", force=True)
    if PROFILE and not compiles(PROFILES["use"][1]):
        raise SystemExit(f"MINIGRAD_PROFILE={PROFILE} needs gcc 10 or later as C compiler (CC, or cc)")
    openmp = ["-fopenmp"] if sys.platform == "linux" and compiles("-fopenmp", "omp.h") else []
    windows = sys.platform == "win32"
    standard = ["/std:c11"]     # MSVC's default is older, and has no `restrict`
    sources = [path for path in Path("minigrad/_core").rglob("*.py") if path.stem not in INTERPRETED]
    sources += [path for path in Path("minigrad/ops").rglob("*.py") if path.stem in OFTEN]
    sources += [Path("minigrad", f"{name}.py") for name in SURFACE]
    sources += [*Path("minigrad/kernels/cpu").glob("*.pyx"), *Path("minigrad/nn/modules").glob("*.pyx"),
                *Path("minigrad/kernels/cuda").glob("*.pyx"), Path("minigrad/kernels/cuda/array.py")]
    shared = Extension(SHARED, [SHARED.replace(".", "/") + ".c"],
                       extra_compile_args=standard if windows else ["-O2", "-g0", *SANITIZE], extra_link_args=SANITIZE[:1])
    found = [
        Extension(
            ".".join(path.with_suffix("").parts), [str(path)],
            include_dirs=[numpy.get_include(), "minigrad/_capi", "minigrad/kernels/cpu"],
            depends=[*[f"minigrad/_capi/{name}.h" for name in ("accumulators", "internals", "memory", "nodes", "tensors")],
                     *(["minigrad/_capi/calls.h"] if path.stem == "keywords" else []),
                     *(sorted(map(str, Path("minigrad/kernels/cpu").glob("*.h"))) if path.suffix == ".pyx" else [])],
            # NumPy 2.0 is the oldest that minigrad accepts, so its headers should be enough, and all that they declare is used.
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
                           *[(GROUPS[group], "1") for group in PLAIN]],
            # -g0: Python's own flags ask for debug information, which takes as long as all else.
            extra_compile_args=standard if windows else [
                optimization(path), "-g0", "-fno-math-errno", "-fno-trapping-math", "-Wno-array-bounds",
                *(openmp if path.suffix == ".pyx" else COUNTED), *SANITIZE],
            extra_link_args=[*(openmp if path.suffix == ".pyx" else COUNTED[:1]), *SANITIZE[:1]])
        for path in sorted(sources)
    ]
    # The annotations of the rules and of the functions that make tensors are for readers; those of the core are C types.
    documented = ("minigrad.ops.", "minigrad.creation.", "minigrad.random.")
    rules = [extension for extension in found if extension.name.startswith(documented)]
    core = [extension for extension in found if extension not in rules]
    built = [module for group, typing in (([*core, shared], True), (rules, False)) for module in cythonize(
        group, shared_utility_qualified_name=SHARED, build_dir="build/cython",
        compiler_directives={**DIRECTIVES, "annotation_typing": typing}, annotate="MINIGRAD_ANNOTATE" in os.environ,
        nthreads=cores() if sys.platform == "linux" else 0, quiet=True)]
    for extension in built:     # cythonize() makes new objects and drops what was set on the old
        extension.optional = MODE != "require"
    return sorted(built, key=lambda extension: -os.path.getsize(extension.sources[0]))      # no long one is left for the end


class BuildExtensions(build_ext):
    """Compiles on all cores that it may use, and says in plain words when it could not."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or cores()

    def run(self):
        super().run()
        self.note_sources()
        self.remove_others()
        missing = [e.name for e in self.extensions if not Path(self.get_ext_fullpath(e.name)).exists()]
        if missing and MODE == "require":
            raise RuntimeError(f"MINIGRAD_BUILD=require, but these did not compile: {', '.join(missing)}")
        if missing:
            print(f"minigrad: {len(missing)} of {len(self.extensions)} extension modules did not compile; minigrad will run "
                  "interpreted, slower but complete. See `python -m minigrad.doctor`.", file=sys.stderr)

    def note_sources(self):
        """Write down what each module was built from, so that an edit since then is noticed (minigrad/_build/pure.py)."""
        spec = importlib.util.spec_from_file_location("_pure", "minigrad/_build/pure.py")
        assert spec and spec.loader
        pure = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(pure)
        built = {e.name: pure.fingerprint(e.name.replace(".", "/")) for e in self.extensions}
        target = Path(self.get_ext_fullpath("minigrad._built")).with_name("_built.json")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(built, indent=1))

    def remove_others(self):
        """Remove what earlier builds made of modules that are no longer compiled: Python would load it instead of the source."""
        made = {Path(self.get_ext_fullpath(e.name)) for e in self.extensions}
        for found in Path(self.get_ext_fullpath("minigrad._built")).parent.rglob("*" + sysconfig.get_config_var("EXT_SUFFIX")):
            if found not in made:
                found.unlink()


class ReproducibleSdist(sdist):
    """With SOURCE_DATE_EPOCH set, the same sources make the same bytes; setuptools does this for wheels only."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        target = f"{base_name}.tar.gz"
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as zipped, \
                tarfile.open(fileobj=zipped, mode="w") as archive:
            for path in sorted(Path(base_dir or ".").rglob("*")):
                entry = archive.gettarinfo(path, path.as_posix())
                entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = int(epoch), 0, 0, "", ""
                entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
                if entry.isfile():
                    with open(path, "rb") as content:
                        archive.addfile(entry, content)
                else:
                    archive.addfile(entry)
        return target


def write_stubs():
    """Write the ``.pyi`` files, which show type checkers the methods that `Tensor` gets when minigrad is imported."""
    done = subprocess.run([sys.executable, "-m", "tools.stubs"], env={**os.environ, "MINIGRAD_PURE": "1"}, check=False)
    if done.returncode != 0 and MODE == "require":
        raise RuntimeError("the type stubs could not be written (tools/stubs.py)")


def chosen():
    """The extensions that this build makes: see MINIGRAD_BUILD above."""
    if MODE == "0" or not BUILDING & set(sys.argv):     # pip asks for the name and the version alone before it builds
        return []
    reason = lacking()
    if reason and MODE == "require":
        raise SystemExit(f"MINIGRAD_BUILD=require, but {reason}.")
    if reason:
        print(f"minigrad: {reason}; minigrad will run interpreted, slower but complete. See `python -m minigrad.doctor`.",
              file=sys.stderr)
        return []
    return extensions()


BUILDING = {"build_ext", "build_py", "build", "bdist_wheel", "editable_wheel", "sdist", "install", "develop"}
modules = chosen()
if BUILDING & set(sys.argv):
    write_stubs()
setup(ext_modules=modules, cmdclass={"build_ext": BuildExtensions, "sdist": ReproducibleSdist})
