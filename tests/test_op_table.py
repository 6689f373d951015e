"""The table of ops is right: every op has a row, and the tests check each claim of the row."""

import importlib.util
import itertools
import json
import re
from types import SimpleNamespace

import pytest

import minigrad as mg
from minigrad.kernels import CPU
from minigrad.kernels.contract import CONTRACT
from tests.ops.cases import CASES, COMPLEX, OURS, PLAIN
from tests.ops.test_jvp import has_jvp

if importlib.util.find_spec("tools") is None:
    pytest.skip("an installed minigrad, without the tool that makes the table", allow_module_level=True)

from tools import op_facts, op_table

OPS = op_facts.our_ops()

# The kernels that the core itself calls around an op: for promotion, and for the write of an in-place op.
AROUND = {"cast", "copy_", "number"}


@pytest.fixture(scope="module")
def found():
    return op_facts.facts(op_table.every_case())


@pytest.mark.parametrize("name", OPS)
def test_every_op_is_reached_by_a_case(found, name):
    """An op that no case reaches has no dtypes, and its row is unchecked."""
    fact = found[name]
    assert fact.depth < op_facts.UNCHECKED + 1, f"no case of tests/ops/cases.py reaches {name}"
    assert fact.dtypes and fact.formula, name
    assert fact.depth < op_facts.UNCHECKED or not fact.vjp, f"the vjp of {name} is used, and never differentiated, by the cases"


def test_the_table_is_complete(found):
    table = op_table.rows(found)
    assert [row["op"] for row in table] == list(OPS)
    assert all(set(row) == set(op_table.COLUMNS) and all(row.values()) for row in table)
    assert not [row["op"] for row in table if row["double backward"] == "unchecked"]


def test_what_is_claimed_is_checked(found):
    """gradcheck has checked each vjp: the cases of these names are the ones of tests/ops/test_gradients.py."""
    checked = {case.name for case in (*CASES, *COMPLEX, *OURS)}
    twice = {case.name for case in (*CASES, *COMPLEX, *OURS) if case.double}
    for fact in found.values():
        first = set().union(*fact.cases[:op_facts.UNCHECKED])
        if fact.vjp:
            assert first & checked, f"{fact.name}: no gradcheck"
        if fact.double in ("yes", "linear"):
            assert fact.cases[0] & twice, f"{fact.name}: no gradgradcheck"
        if fact.double == "in formulas":
            assert fact.cases[1] & twice, f"{fact.name}: no gradgradcheck of what uses it"


def test_no_derivative_is_claimed_where_there_is_none(found):
    for case in PLAIN:
        assert not case.derivative
    for fact in found.values():
        assert bool(fact.vjp) == (OPS[fact.name].differentiable and fact.double != "none"), fact.name


def test_where_a_jvp_comes_from(found):
    """An op with a vjp has a jvp; "derived" is one that the class does not write."""
    for name, fact in found.items():
        assert (fact.jvp == "none") == (not fact.vjp), name
        if fact.vjp and not OPS[name].variadic:
            assert all(has_jvp(OPS[name].rule, i) for i in range(OPS[name].inputs)), name
    assert (found["mul"].jvp, found["view"].jvp, found["softmax"].jvp, found["eq"].jvp) == ("derived", "derived", "written", "none")


def test_linear_means_that_the_gradient_does_not_depend_on_the_operands(found):
    """Where all ops of a case are linear, its gradient has no gradient."""
    linear = {name for name, fact in found.items() if fact.double == "linear"}
    compared = 0
    for case in CASES:
        if {name for name, fact in found.items() if case.name in fact.cases[0]} <= linear:
            xs = [mg.tensor(a, requires_grad=True) for a in case.arrays()]
            out = case.run(mg, *xs)
            grads = mg.autograd.grad(out, xs, mg.ones_like(out), create_graph=True, allow_unused=True)
            assert not any(g is not None and g.requires_grad for g in grads), case.name
            compared += 1
    assert compared > 100
    assert found["mul"].double == found["exp"].double == "yes" and found["add"].double == found["sum"].double == "linear"


def test_kernels_named_are_the_kernels_called(found):
    """The list of kernels for a new device, read from the sources, has all kernels that ran."""
    for name, fact in found.items():
        assert fact.called <= fact.kernels | AROUND, name
        assert fact.kernels <= set(CONTRACT)
    assert found["mul"].kernels == {"mul"} and found["std"].kernels >= {"sqrt", "var"}
    assert [name for name, fact in found.items() if not fact.kernels] == [], "ops that compute without a kernel"


def test_the_kernels_in_c():
    """The C kernels in the sources are the compiled ones; interpreted, all kernels are NumPy."""
    compiled = {name for name in CONTRACT if ".cpu" in CPU.origin[name]}
    assert compiled in (op_facts.in_c(), set())
    assert {"mul", "sum", "matmul", "softmax"} <= op_facts.in_c()


def test_what_a_gpu_has(found):
    """The column CUDA; tests/cuda/test_ops.py compares `on_cuda` with the kernels on the GPU."""
    table = {row["op"]: row["CUDA"] for row in op_table.rows(found)}
    assert table["mul"] == table["convolution"] == "yes"
    assert table["linalg_svd"] == "no: svd, svdvals"
    assert {name for name, text in table.items() if text != "yes"} == {name for name, lacks in op_table.coverage(
        op_facts.on_cuda()).items() if lacks}


def test_coverage_of_a_device():
    lacking = op_table.coverage(set(CONTRACT) - {"exp", "sqrt"})
    assert lacking["exp"] == {"exp"} and lacking["std"] == {"sqrt"} and not lacking["mul"]
    assert not any(op_table.coverage().values())


def test_every_method_in_place_is_in_the_table(found):
    """Every in-place method is in the table, except those that are not ops or that are composed of other ops."""
    written = set().union(*[fact.in_place for fact in found.values()])
    methods = {vars(mg.Tensor)[n].__name__ for n in vars(mg.Tensor) if n.endswith("_") and not n.startswith("_")}
    assert methods - written == {"apply_", "bitwise_left_shift_", "bitwise_right_shift_", "gcd_", "lcm_", "ldexp_", "map2_", "map_", "requires_grad_", "resize_", "resize_as_", "set_", "share_memory_",
                                 "swapaxes_"}


def test_dtypes(found):
    assert found["mul"].dtypes == set(op_facts.DTYPES) and found["softmax"].dtypes == {"float16", "float32", "float64"}
    assert op_table.dtypes(found["bitwise_and"].dtypes) == "bool, int"
    assert op_table.dtypes({"float32", "float64", "bool"}) == "bool, float32, float64"


def test_markdown(found):
    text = op_table.markdown(op_table.rows(found))
    lines = text.splitlines()
    assert len(lines) == len(OPS) + 2
    assert all(len(re.split(r"(?<!\\)\|", line)) == len(op_table.COLUMNS) + 2 for line in lines)
    assert any(line.startswith("| `mul` | z = x y | x, y | derived | yes | mul_ | mul (C) | yes | all | ") for line in lines)


def test_equal_errors_give_the_same_text_in_each_order():
    errors = [(2.0, 3.0, "vjp"), (2.0, None, "value"), (2.0, 4.0, "jvp"), (1.0, 9.0, "value")]
    assert {op_table.shown(list(some)) for some in itertools.permutations(errors)} == {"2 (4)"}


@pytest.mark.parametrize("form", ["--json", "--markdown", None, "--kernels"])
def test_the_program(form, capsys, monkeypatch, found):
    monkeypatch.setattr(op_table, "facts", lambda cases: found)     # it takes seconds to find them
    if form in (None, "--kernels"):
        pytest.importorskip("rich")
    op_table.main([form] if form else [])
    said = capsys.readouterr().out
    assert "addmm" in said
    if form == "--json":
        assert len(json.loads(said)) == len(OPS)


def test_nothing_stays_behind():
    """The survey replaces methods and kernels while it runs, and restores them, even after an error."""
    before = dict(vars(mg.Tensor)), mg.device("cpu").backend.kernels
    with pytest.raises(ZeroDivisionError):
        op_facts.facts([SimpleNamespace(name="bad", arrays=list, run=lambda m: 1 / 0, dtype="float64", derivative=False)])
    assert (dict(vars(mg.Tensor)), mg.device("cpu").backend.kernels) == before
