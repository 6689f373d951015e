"""The installation: the mode, the modules that an import loads, and the detection of stale or missing modules."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import minigrad as mg
from minigrad import kernels
from minigrad._build import config as _config
from minigrad._build import pure as _pure

PACKAGE = Path(mg.__file__).parent
compiled = pytest.mark.skipif(_pure.mode() != "compiled", reason="needs the extension modules")


def python(*arguments, root=None, **environment):
    """Run Python on a copy of the package under `root`, or on this one: a CompletedProcess."""
    path = str(root or PACKAGE.parent)
    return subprocess.run([sys.executable, *arguments], env={**os.environ, "PYTHONPATH": path, **environment}, cwd=path,
                          check=False,
                          capture_output=True, text=True, timeout=300)


def code(text, **kwargs):
    done = python("-c", text, **kwargs)
    assert done.returncode == 0, done.stderr
    return done


# ---- doctor ------------------------------------------------------------------------------------------------


def test_doctor_runs_and_says_the_mode():
    done = python("-m", "minigrad.doctor")
    assert done.returncode == 0 and not done.stderr
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines() if line.strip())
    assert lines["mode"].startswith(_pure.mode()) and lines["gradients"] == "right" and lines["minigrad"] == mg.__version__
    assert "nodes a second" in lines["speed"]


def test_doctor_notices_wrong_gradients(monkeypatch, capsys):
    from minigrad import doctor
    monkeypatch.setattr(doctor, "speed", lambda: 1.0)
    assert doctor.main() == 0 and doctor.check() is None
    monkeypatch.setattr(doctor, "check", lambda: "a gradient is off by 3")
    assert doctor.main() == 1 and "WRONG: a gradient is off by 3" in capsys.readouterr().out


def test_doctor_knows_which_pythons_are_tested(monkeypatch):
    def found():
        return [(what, remedy) for what, remedy in _config.problems() if "has not been tested" in what]

    assert found() == []        # a run on a newer Python fails here: extend `UNTESTED`, pyproject.toml and the Makefile together
    monkeypatch.setattr(_config, "UNTESTED", (3, 11))
    assert [remedy for _, remedy in found()] == ["use Python 3.11 to 3.10"]


def test_show_config():
    facts = dict(_config.facts())
    assert facts["mode"].startswith(_pure.mode()) and facts["NumPy"] and facts["threads"].startswith(f"{mg.get_num_threads()} of ")
    assert all(name in mg.show_config() for name in facts)
    count = sum(o != "minigrad.kernels.numpy_ref" for o in kernels.CPU.origin.values())
    assert facts["kernels"].startswith(f"{count} of ") and (count == 0) == (_pure.mode() == "interpreted")


def test_threads():
    before = mg.get_num_threads()
    try:
        mg.set_num_threads(2)
        assert mg.get_num_threads() == 2
        for bad, error in ((0, RuntimeError), (-1, RuntimeError), ("2", TypeError), (1.5, TypeError)):
            with pytest.raises(error):
                mg.set_num_threads(bad)
        assert mg.get_num_threads() == 2
    finally:
        mg.set_num_threads(before)


# ---- imports -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pure", ["0", "1"])
def test_import_brings_only_numpy(pure):
    """A student waits for every import: optional packages come when they are used."""
    heavy = ("numba", "torch", "matplotlib", "sklearn", "safetensors", "tqdm", "pygraphviz", "threadpoolctl", "numpy.random",
             "Cython.Compiler",
             "unittest", "asyncio", "multiprocessing")
    done = code(f"import sys, minigrad; print([m for m in {heavy!r} if m in sys.modules])", MINIGRAD_PURE=pure)
    assert done.stdout.strip() == "[]"


def test_random_numbers_do_not_change_with_when_they_are_first_asked_for():
    """The generator is made on first use; its stream follows from the seed."""
    a, b = mg.Generator(), mg.Generator()
    a.manual_seed(5)
    b.manual_seed(5).get_state()
    assert mg.rand(3, generator=a).tolist() == mg.rand(3, generator=b).tolist()
    assert mg.Generator().initial_seed() == mg.Generator().initial_seed()


def test_pure_mode_loads_no_binary():
    done = code("import minigrad, sys; from minigrad._build import pure as _pure; print(_pure.mode(), [m for m, v in sys.modules.items() "
                "if m.startswith('minigrad') and not (getattr(v, '__file__', None) or '.py').endswith('.py')])", MINIGRAD_PURE="1")
    assert done.stdout.split(None, 1) == ["interpreted", "[]\n"] and not done.stderr


def test_pure_mode_can_be_switched_off():
    for value in ("", "0"):
        assert code("from minigrad._build import pure as _pure; print(_pure.PURE)", MINIGRAD_PURE=value).stdout.strip() == "False"


FORBID_GIL = '''import sys, types; sys.flags = types.SimpleNamespace(**{n: getattr(sys.flags, n) for n in dir(sys.flags) if n[0] != "_"} | {"gil": 0}); '''


def test_without_the_gil_no_binary_is_loaded():
    """The extension modules need the GIL. Here a variable stands for python -X gil=0, which only a free-threaded Python has."""
    done = code(FORBID_GIL + "import minigrad; from minigrad._build import pure; print(pure.mode(), pure.compiled_modules())",
                MINIGRAD_PURE="0")
    assert done.stdout == "interpreted []\n"
    assert ("its extension modules need the GIL" in done.stderr) == any(_pure.compiled_here().values())
    done = code(FORBID_GIL + "import minigrad; print(minigrad.show_config())", MINIGRAD_PURE="1")     # asked for: no warning
    assert "interpreted: pure Python and NumPy (the GIL is forced off)" in done.stdout and not done.stderr


@pytest.mark.skipif(not _pure.FREE_THREADED, reason="needs a free-threaded Python")
@pytest.mark.parametrize("pure, gil, said", [
    ("1", None, "off: threads run in parallel"), ("1", "1", "on, as PYTHON_GIL=1"), ("0", "0", "off: threads run in parallel"),
    pytest.param("0", None, "on: our extension modules need it", marks=compiled)])
def test_the_doctor_says_whether_the_gil_is_on(pure, gil, said, monkeypatch):
    monkeypatch.delenv("PYTHON_GIL", raising=False)     # tools/python_table.py sets it
    done = python("-m", "minigrad.doctor", MINIGRAD_PURE=pure, **({} if gil is None else {"PYTHON_GIL": gil}))
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines() if line.strip())
    assert done.returncode == 0 and lines["GIL"].startswith(said) and lines["gradients"] == "right"
    assert lines["mode"].startswith("interpreted" if pure == "1" or gil == "0" else "compiled")


def test_a_kernel_without_source_says_why():
    done = code("import minigrad\ntry:\n    import minigrad.kernels.cpu.pool\nexcept ModuleNotFoundError as e: print(e)",
                MINIGRAD_PURE="1")
    assert "has no interpreted form (MINIGRAD_PURE=1)" in done.stdout


# ---- stale and missing modules ---------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path):
    """A copy of the package, with its times."""
    shutil.copytree(PACKAGE, tmp_path / "minigrad", ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copy2)
    return tmp_path


def edit(path):
    with open(path, "a") as file:
        file.write("\n# edited\n")
    os.utime(path)


@compiled
@pytest.mark.parametrize("name, module", [("_core/engine/execute.py", "minigrad._core.engine.execute"), ("_core/graph/node.pxd", "minigrad._core.graph.node"),
                                          ("ops/elementwise/arithmetic.py", "minigrad.ops.elementwise.arithmetic"), ("kernels/cpu/layout.pyx",
                                                  "minigrad.kernels.cpu.layout")])
def test_an_edited_source_is_noticed(copied, name, module):
    assert not code("import minigrad", root=copied).stderr
    edit(copied / "minigrad" / name)
    done = code("import minigrad", root=copied)
    assert f"the sources of {module} have been edited since they were compiled" in done.stderr and "MINIGRAD_PURE=1" in done.stderr
    report = python("-m", "minigrad.doctor", root=copied).stdout
    assert f"problem:  the sources of {module}" in report and "remedy:   rebuild" in report
    assert not code("import minigrad", root=copied, MINIGRAD_PURE="1").stderr


@compiled
def test_a_source_that_is_only_younger_is_no_cause_for_alarm(copied):
    """As after a git checkout: the fingerprint decides."""
    for path in (copied / "minigrad").rglob("*.p*"):
        if path.suffix in (".py", ".pyx", ".pxd"):
            os.utime(path)
    assert not code("import minigrad", root=copied).stderr


@compiled
def test_missing_modules_are_noticed(copied):
    """If one module that others call in C is missing, or all are, minigrad runs interpreted, and the report says what to do."""
    binaries = [p for p in (copied / "minigrad").rglob("*") if p.suffix in (".so", ".pyd")]
    next(p for p in binaries if p.name.startswith("hooks.")).unlink()
    done = python("-m", "minigrad.doctor", root=copied)
    assert done.returncode == 0 and "mode      interpreted" in done.stdout
    assert "problem:  extension modules are missing, so all of minigrad runs interpreted: minigrad._core.graph.hooks" in done.stdout
    for path in binaries:
        path.unlink(missing_ok=True)
    done = python("-m", "minigrad.doctor", root=copied)
    assert done.returncode == 0 and "mode      interpreted" in done.stdout and "install a C compiler" in done.stdout


@compiled
def test_binaries_of_another_python(copied):
    """A source tree that another Python has compiled: minigrad runs interpreted, and says so once; the report says what to do."""
    for path in [*(copied / "minigrad").rglob("*.so"), *(copied / "minigrad").rglob("*.pyd")]:
        stem, _, suffix = path.name.partition(".")
        path.rename(path.with_name(f"{stem}.{'pypy310-pp73-x86_64-linux-gnu.so' if suffix.endswith('so') else 'cp39-win32.pyd'}"))
    program = "import minigrad as mg; from minigrad._build import pure; x = mg.ones(2, requires_grad=True); (x * x).sum().backward(); " \
              "print(pure.mode(), pure.compiled_modules(), x.grad.tolist())"
    done = code(program, root=copied, MINIGRAD_PURE="0")
    assert done.stdout == "interpreted [] [2.0, 2.0]\n"
    assert done.stderr.count("RuntimeWarning: minigrad runs interpreted") == 1 and "were built for another Python (.pypy310-" in done.stderr
    report = python("-m", "minigrad.doctor", root=copied, MINIGRAD_PURE="0")
    assert report.returncode == 0 and "problem:  the extension modules were built for another Python" in report.stdout
    assert "remedy:   build them for this Python: make build" in report.stdout
    assert not code(program, root=copied, MINIGRAD_PURE="1").stderr


def test_rules_that_are_not_compiled_take_nothing_from_c():
    """In the compiled build a C function of the core cannot be imported by a file that is not compiled."""
    setup = (PACKAGE.parent / "setup.py")
    if not setup.exists():
        pytest.skip("needs setup.py")
    often = re.search(r"^OFTEN = (\{.*?\})", setup.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert often
    names = ast.literal_eval(often[1])
    others = [path for path in (PACKAGE / "ops").rglob("*.py") if path.stem not in names]
    assert others and [str(path) for path in others if "cython.cimports" in path.read_text("utf-8")] == []


@compiled
def test_build_notes_every_module():
    """_built.json has the fingerprint of each binary, so that a stale binary is found."""
    built = _pure.built_from()
    assert set(_pure.compiled_modules()) <= set(built)
    for name in _pure.compiled_modules():
        if name != "minigrad._build._cython_minigrad":      # Cython writes it
            assert _pure.sources(str(PACKAGE.parent / name.replace(".", "/"))), name


@pytest.mark.skipif(not (PACKAGE.parent / "setup.py").exists(), reason="only in a source tree")
def test_an_optimized_build_says_what_it_needs(monkeypatch):
    pytest.importorskip("setuptools")
    monkeypatch.chdir(PACKAGE.parent)
    monkeypatch.setattr("sys.argv", ["setup.py", "--version"])
    monkeypatch.setenv("MINIGRAD_PROFILE", "often")
    with pytest.raises(SystemExit, match="MINIGRAD_PROFILE=often: it is generate or use"):
        runpy.run_path("setup.py")
    monkeypatch.setenv("MINIGRAD_PROFILE", "use")
    setup = runpy.run_path("setup.py")
    assert setup["PROFILES"]["use"][0] == "-fprofile-use"
    setup["extensions"].__globals__["compiles"] = lambda flag="", include="": False
    with pytest.raises(SystemExit, match="MINIGRAD_PROFILE=use needs gcc 10"):
        setup["extensions"]()


@pytest.mark.skipif(not (PACKAGE.parent / "setup.py").exists(), reason="only in a source tree")
def test_a_build_removes_what_it_no_longer_makes(tmp_path, monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    monkeypatch.chdir(PACKAGE.parent)
    monkeypatch.setattr("sys.argv", ["setup.py", "--version"])
    commands = runpy.run_path("setup.py")
    build = commands["BuildExtensions"](setuptools.Distribution({"ext_modules": [setuptools.Extension("minigrad.ops.made", [])]}))
    build.build_lib = str(tmp_path)
    build.ensure_finalized()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    made, other, foreign = [tmp_path / "minigrad/ops" / name for name in (
        "made" + suffix, "other" + suffix, "other.another-python.so")]
    made.parent.mkdir(parents=True)
    for path in (made, other, foreign):
        path.touch()
    build.remove_others()
    assert made.exists() and foreign.exists() and not other.exists()
