"""The measurements of the page about performance: they run at toy size, say what they leave out, and can be drawn. No time is asserted."""

import importlib.util
import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import minigrad as mg
from benchmarks import growth, records, rival_programs, rivals
from benchmarks.rival_programs import KITS, PROGRAMS, SMALL
from tools.docs import drawing, measurements, stage
from tools.docs.picture import DARK, LIGHT

SVG = "{http://www.w3.org/2000/svg}"
LACKING = [module for module in ("fontTools", *[package for package, _ in drawing.FACES.values()])
           if importlib.util.find_spec(module) is None]
needs_fonts = pytest.mark.skipif(bool(LACKING), reason="the drawing needs the extra `docs`")
LIBRARIES = {"minigrad", "torch"} if importlib.util.find_spec("torch") else {"minigrad"}


@pytest.fixture
def one_thread():
    before = mg.get_num_threads()
    yield
    mg.set_num_threads(before)


@pytest.fixture
def in_less_time(monkeypatch):
    """Memory is measured of few nodes, and nothing that other tests have left is collected before each turn."""
    monkeypatch.setattr(growth, "ENOUGH", 10_000)
    monkeypatch.setattr(growth.gc, "collect", lambda: 0)


# ---- growth -----------------------------------------------------------------------------------------------

def count(root):
    """The number of nodes of a graph, without the leaves'."""
    found, stack = set(), [root.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in found and "AccumulateGrad" not in node.name():
            found.add(node)
            stack += [following for following, _ in node.next_functions]
    return len(found)


@pytest.mark.parametrize("name", growth.PROGRAMS)
@pytest.mark.parametrize("nodes", [1, 2, 9, 100])
def test_a_graph_has_as_many_nodes_as_it_says(name, nodes):
    build, leaf, number = growth.PROGRAMS[name](mg, nodes)
    root, _ = build()
    assert count(root) == number and nodes - number <= nodes // 3 + 1 and number <= nodes
    root.backward()
    assert leaf.grad.item() == {"chain": 1.0, "tree": nodes + 1, "fan-in": (nodes + 1) // 2}.get(name, leaf.grad.item())


def test_growth_measures_all_programs_and_both_libraries(tmp_path, capsys, one_thread, in_less_time):
    pytest.importorskip("rich")
    file = tmp_path / "growth.json"
    assert growth.main(["--sizes", "20", "9", "--seconds", "0", "--turns", "1", "--output", str(file)]) == 0
    record = json.loads(file.read_text("utf-8"))
    assert record["command"] == "python -m benchmarks.growth --sizes 20 9 --seconds 0 --turns 1"
    assert [(p["program"], p["nodes"]) for p in record["points"]] == [
        ("chain", 9), ("chain", 20), ("tree", 9), ("tree", 20), ("fan-in", 9), ("fan-in", 19), ("grid", 9), ("grid", 16)]
    for point in record["points"]:
        assert {name.partition(",")[0] for name in point["nanoseconds"]} == LIBRARIES and len(point["nanoseconds"]) == 2 * len(LIBRARIES)
        for figures in point["nanoseconds"].values():
            assert all([0 < lower <= median <= upper for median, lower, upper in figures.values()])
        assert set(point["bytes"]) in (set(), LIBRARIES) and all([40 < number < 4000 for number in point["bytes"].values()])
    assert re.search(r"^chain +20 ", capsys.readouterr().out, re.MULTILINE)
    check_growth(record)


def test_what_would_take_too_long_is_named(tmp_path, capsys, one_thread, in_less_time):
    pytest.importorskip("rich")
    pytest.importorskip("torch")
    file = tmp_path / "growth.json"
    growth.main(["--sizes", "8", "16", "--programs", "chain", "--seconds", "0", "--turns", "1", "--limit", "0", "--output", str(file)])
    record = json.loads(file.read_text("utf-8"))
    assert record["left_out"] == [f"torch, chain, {n} nodes: a turn would take more than 0 s" for n in (8, 16)]
    assert all([set(point["nanoseconds"]) == set(growth.VARIANTS[:2]) for point in record["points"]])
    assert "left out: torch, chain" in capsys.readouterr().out


def test_the_collector_is_on_again_after_an_error(monkeypatch):
    import gc

    def fail():
        raise ValueError("no graph")
    monkeypatch.setitem(growth.PROGRAMS, "chain", lambda m, n: (fail, None, n))
    with pytest.raises(ValueError, match="no graph"):
        growth.Variant(mg, "chain", 3, collector=False).turn()
    assert gc.isenabled()


def test_wrong_sizes_are_refused(capsys):
    assert growth.main(["--sizes", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err


# ---- rivals -----------------------------------------------------------------------------------------------

EAGER = [kit for kit in KITS if not kit.compiles]


@pytest.fixture(scope="module")
def kits():
    threads = mg.get_num_threads()
    found, _ = rivals.ready(EAGER)
    yield found
    mg.set_num_threads(threads)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_all_libraries_that_are_here_get_the_same_numbers(program, kits):
    """`measure` compares them with minigrad's, and would leave a library out."""
    record = rivals.measure(program, kits, SMALL, 0)
    assert set(record["microseconds"]) == set(record["first"]) and "minigrad" in record["microseconds"]
    assert set(record["microseconds"]) | set(record["left_out"]) == {kit.name for kit in kits}
    assert set(record["left_out"].values()) <= {"single numbers only", "no second derivatives"}


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.kind != "step"], ids=lambda program: program.name)
def test_minigrad_gets_what_finite_differences_get(program, kits):
    kit = kits[0]
    constants, parameters, vectors = program.make(SMALL, np.random.default_rng(0))

    def gradients(parameters):
        return rivals.numbers(kit, kit.gradients(lambda c, p: program.loss(kit, c, p), constants, parameters)())

    def moved(i, step):
        return [p + step * (np.ones_like(p) if j == i else 0) for j, p in enumerate(np.asarray(q, dtype=np.float64) for q in parameters)]
    if program.kind == "product":
        sides = [[p + np.float32(step) * v for p, v in zip(parameters, vectors)] for step in (1e-3, -1e-3)]
        above, below = [gradients(side)[1] for side in sides]
        found = kit.product(lambda c, p: program.loss(kit, c, p), constants, parameters, vectors)()[1]
        for a, b, product in zip(above, below, found):
            np.testing.assert_allclose(product.numpy(), (a - b) / 2e-3, rtol=0.02, atol=0.02)
        return
    constants64 = [np.asarray(c, dtype=np.float64) if isinstance(c, np.ndarray) else c for c in constants]
    _, grads = gradients(parameters)
    for i in range(len(parameters)):
        above, below = [float(kit.number(program.loss(kit, kit.arrays(constants64), kit.arrays(moved(i, step))))) for step in (1e-4, -1e-4)]
        assert np.sum(grads[i]) == pytest.approx((above - below) / 2e-4, rel=0.02, abs=0.02)


class Absent(rival_programs.Kit):
    name, package, modules = "Absent", "absent-library", ("no_such_library",)


class Broken(rival_programs.Kit):
    name = "Broken"

    def prepare(self):
        raise OSError("its library cannot be loaded\nmore")


class Wrong(rival_programs.Minigrad):
    """Gets another result."""

    name = "Wrong"

    def number(self, value):
        return super().number(value) + 1.0


class Failing(rival_programs.Minigrad):
    """Fails when it runs."""

    name = "Failing"

    def gradients(self, loss, constants, parameters):
        raise RuntimeError("no C++ compiler works\nhere")


def test_what_is_missing_or_fails_is_named_with_the_reason(kits):
    found, missing = rivals.ready([Absent, Broken])
    assert found == [] and missing == {"Absent": "not installed: pip install absent-library",
                                       "Broken": "OSError: its library cannot be loaded"}
    more, _ = rivals.ready([Wrong, Failing])
    record = rivals.measure(PROGRAMS[0], [kits[0], *more], SMALL, 0)
    assert list(record["microseconds"]) == list(record["first"]) == ["minigrad"]
    assert record["left_out"] == {"Wrong": "ValueError: its results are not minigrad's", "Failing": "RuntimeError: no C++ compiler works"}


def test_without_a_compiler_torch_compile_is_left_out(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(rival_programs.shutil, "which", lambda name: None)
    assert rival_programs.TorchCompile().why_not() == "no C++ compiler"


def test_rivals_writes_a_record(tmp_path, capsys, one_thread):
    pytest.importorskip("rich")
    others = [kit.name for kit in KITS if kit.name != "minigrad"]
    file = tmp_path / "rivals.json"
    assert rivals.main(["--small", "--seconds", "0", "--without", *others, "--output", str(file)]) == 0
    record = json.loads(file.read_text("utf-8"))
    assert record["left_out"] == dict.fromkeys(others, "left out by --without")
    assert [program["program"] for program in record["programs"]] == [program.name for program in PROGRAMS]
    assert "JAX is left out: left out by --without" in capsys.readouterr().out
    check_rivals(record)


# ---- the files and the page -------------------------------------------------------------------------------

def check_growth(record):
    assert set(record) == {"command", "machine", "load_at_end", "left_out", "points"}
    assert {point["program"] for point in record["points"]} <= set(growth.PROGRAMS)
    for point in record["points"]:
        assert set(point) == {"program", "nodes", "turns", "nanoseconds", "bytes"}
        assert set(growth.VARIANTS[:2]) <= set(point["nanoseconds"]) <= set(growth.VARIANTS)


def check_rivals(record):
    assert set(record) == {"command", "machine", "load_at_end", "left_out", "programs"}
    names = {kit.name for kit in KITS}
    for program in record["programs"]:
        assert set(program) == {"program", "turns", "microseconds", "first", "left_out"}
        assert set(program["microseconds"]) == set(program["first"]) and "minigrad" in program["microseconds"]
        assert {*program["microseconds"], *program["left_out"], *record["left_out"]} == names


def test_the_saved_records_are_whole():
    """A library is measured, or left out with a reason, in each program."""
    found = measurements.read("growth")
    check_growth(found)
    assert {point["program"] for point in found["points"]} == set(growth.PROGRAMS)
    found = measurements.read("rivals")
    check_rivals(found)
    assert [program["program"] for program in found["programs"]] == [program.name for program in PROGRAMS]


def test_a_record_of_a_busy_machine_says_so():
    at = {"day": "2026-11-02", "processor": "X", "cores": 2, "load": 0.5, "python": "3.11", "minigrad": "0.1.0 (compiled)"}
    quiet = records.describe({"command": "c", "machine": at, "load_at_end": 0.6})
    busy = records.describe({"command": "c", "machine": at, "load_at_end": 6.5})
    assert quiet.startswith("Measured on 2 November 2026 by `c`") and "busy" not in quiet
    assert busy.startswith(quiet) and "up to 6.5 processes" in busy


def test_the_table_of_benchmarks_is_written_as_the_page_reads_it(monkeypatch, tmp_path):
    """The picture of the page finds the ratios in the file; the saved file has the same columns."""
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")      # the import sets them
    import benchmarks.__main__ as command
    text = command.markdown("Measured.", [(f"chain of 200 ops, {shape}, forward + backward", *["1"] * 7) for shape in ("()", "(8,)", "(64,)")],
                            ["bytes per node: 3"])
    heads = "\n".join(text.splitlines()[2:4])
    assert heads in (records.RESULTS / "cpu.md").read_text("utf-8") and heads.count("|") == 18
    monkeypatch.setattr(stage, "ROOT", tmp_path)
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    (tmp_path / "benchmarks/results/cpu.md").write_text(text, "utf-8")
    assert "64 numbers" in stage.speed() and text.endswith("* bytes per node: 3\n")


def test_quartiles():
    assert records.quartiles([5, 1, 2, 4, 3]) == [3.0, 2.0, 4.0]
    assert records.quartiles([1234567.0]) == [1235000.0] * 3


def test_a_line_is_level_or_not():
    assert measurements.level([(10, 300.0), (100, 250.0), (1000, 310.0)]) == ((100, 250.0), (1000, 310.0), 1.24)


@pytest.mark.parametrize("factor, text", [(0.034, "0.034"), (0.994, "0.99"), (1.02, "1.0"), (9.5, "9.5"), (623.4, "623"), (1234.0, "1,234")])
def test_factors_have_no_exponents(factor, text):
    assert measurements.times(factor) == text


@pytest.mark.parametrize("low, high", [(3.0, 4.0), (200.0, 12_345.0), (1.0, 1.0), (0.02, 50.0)])
def test_ticks_enclose_what_is_drawn(low, high):
    found = measurements.ticks(low, high)
    assert len(found) >= 2 and found == sorted(found) and found[0] <= low * 1.01 and found[-1] >= high * 0.99
    assert {f"{tick:.0e}"[0] for tick in found} <= set("125")


@needs_fonts
def test_the_pictures_can_be_read():
    drawn = [*measurements.growth_pictures(measurements.read("growth")), measurements.rivals_picture(measurements.read("rivals"))]
    assert [picture.name for picture in drawn] in (["growth-time", "growth-free", "growth-memory", "rivals"],
                                                   ["growth-time", "growth-free", "rivals"])
    for picture in drawn:
        picture.check()         # no text outside, on another or on an edge
        root = ElementTree.fromstring(picture.svg())
        assert root.attrib["role"] == "img" and len(root.findtext(f"{SVG}desc")) > 200
        used = set(re.findall(r"var\(--([\w-]+)\)", picture.svg()))
        assert used <= set(LIGHT) == set(DARK)
        assert not re.findall(r'(?:fill|stroke)="#', picture.svg()), "a colour that stays the same in the dark"


@needs_fonts
def test_the_page_has_pictures_with_tables_beside_them():
    text = stage.measurements.growth()
    assert text.count("<svg") in (2, 3) and "| graph | least | most |" in text and ":::{dropdown} All figures" in text
    points = measurements.read("growth")["points"]
    assert len(re.findall(r"^\| (?:chain|tree|fan-in|grid) \| [\d,]+ \|", text, re.MULTILINE)) == len(points)
    text = stage.measurements.rivals()
    assert text.count("<svg") == 1 and all([text.count(f"| {program.name} |") == 2 for program in PROGRAMS])
    for reason in measurements.read("rivals")["left_out"].values():
        assert reason in text


def test_a_training_run_runs_all_programs(capsys):
    from benchmarks import training

    assert training.main(["--patience", "0"]) == 0
    made = training.programs(mg)
    assert len(made) > 400 and sum(seconds for seconds, _ in made) < 40
