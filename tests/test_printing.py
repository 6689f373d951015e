"""How tensors print, character for character as in torch: dtypes, widths, abbreviation, suffixes, print options."""

import itertools

import numpy as np
import pytest

import minigrad as mg

NAN, INF = float("nan"), float("inf")
FLOATS = {
    "integral": [1, 2, 30], "negative": [-1.5, 2], "mixed": [1, 2.5, -30.125], "large": [1e9, 2], "wide": [1e-3, 10],
    "tiny": [1e-5, 2e-5],
    "tiny int": [0, 1e-8], "huge": [1e30, -1e30], "nan": [NAN, 1.0], "nan float": [NAN, 1.25], "inf": [INF, -INF, 2.0],
    "only nan": [NAN],
    "only inf": [-INF, NAN], "zeros": [0.0, 0.0], "minus zero": [-0.0, 0.0], "zero and float": [0.0, 0.3333],
    "thousands": [1234.5, 1.0],
    "ratio 1000": [1000.0, 1.0], "ratio 1001": [1001.5, 1.0], "1e8": [1e8, 1e8], "over 1e8": [1.0000001e8 * 2, 1e8],
    "single": [3.14159],
    "rounds up": [0.99999, 0.5], "nan and int": [NAN, 100.0], "inf and small": [INF, 1e-6],
    "long": [float(i) / 3 for i in range(40)],
    "many ints": [float(i) for i in range(60)], "denormal": [1e-40, 0.0],
}
WHOLE = {"ints": [1, -20, 300], "one": [7], "zeros": [0, 0], "many": list(range(50))}
SHAPES = [(), (1,), (3,), (0,), (2, 0), (0, 3), (2, 3), (2, 1, 3), (2, 2, 2, 2), (1, 1, 1)]
LARGE = [(1001,), (2000,), (40, 40), (1000,), (10, 101), (7, 7, 30), (8, 8, 20), (1, 1001), (1001, 1), (2, 3, 400), (0, 2000)]


def cases():
    """name -> function of the module that makes the tensor."""
    found = {}
    for name, values in FLOATS.items():
        for dtype in ("float32", "float64", "float16"):
            if dtype == "float16" and max(map(abs, [v for v in values if np.isfinite(v)]), default=0) > 6e4:
                continue
            found[f"{dtype} {name}"] = lambda m, v=values, d=dtype: m.tensor(v, dtype=getattr(m, d))
            found[f"{dtype} {name} column"] = lambda m, v=values, d=dtype: m.tensor(v, dtype=getattr(m, d)).reshape(-1, 1)
    for name, values in WHOLE.items():
        for dtype in ("int64", "int32", "int8", "int16", "uint8"):
            if dtype in ("int8", "uint8") and name == "ints":
                continue
            found[f"{dtype} {name}"] = lambda m, v=values, d=dtype: m.tensor(v, dtype=getattr(m, d))
    for shape, dtype in itertools.product(SHAPES + LARGE, ("float32", "int64", "bool")):
        found[f"{dtype} {shape}"] = lambda m, s=shape, d=dtype: (
            m.arange(int(np.prod(s))).reshape(s).to(getattr(m, d)) * (1 if d != "float32" else 0.37))
    for value in (1.5, -2.0, NAN, INF, 1e20, 3, True, -7, 0.0, 123456.789):
        found[f"scalar {value}"] = lambda m, v=value: m.tensor(v)
    for name, values in {"simple": [1 + 2j, 3 - 4j], "real": [1 + 0j], "floats": [0.5 - 1j, 10.25 + 3j],
                         "nan": [complex(NAN, 1), 2j],
                         "minus zero": [complex(1, -0.0)], "wide": [1e6 + 1j, 1e-3j], "matrix": [[1j, 2], [3, 40.5]]}.items():
        for dtype in ("complex64", "complex128"):
            found[f"{dtype} {name}"] = lambda m, v=values, d=dtype: m.tensor(v, dtype=getattr(m, d))
    return found


CASES = cases()


def without_module(text):
    return text.replace("torch.", "minigrad.")


def test_like_torch():
    """Every case: the same characters."""
    torch = pytest.importorskip("torch")
    wrong = []
    for name, make in CASES.items():
        ours, theirs = repr(make(mg)), without_module(repr(make(torch)))
        if ours != theirs:
            wrong.append(f"{name}:\n{ours}\nexpected:\n{theirs}")
    assert not wrong, f"{len(wrong)} of {len(CASES)}\n" + "\n\n".join(wrong[:20])


HISTORY = {
    "leaf": lambda m: m.tensor([1.0, 2.0], requires_grad=True),
    "float64 leaf": lambda m: m.tensor([1.0], dtype=m.float64, requires_grad=True),
    "result": lambda m: m.tensor([1.0, 2.0], requires_grad=True) * 2,
    "view": lambda m: m.tensor([[1.0, 2.0]], requires_grad=True)[0],
    "long row": lambda m: m.arange(11.0).requires_grad_() * 1.5,
    "lines": lambda m: m.arange(40.0).requires_grad_() / 3,
    "matrix": lambda m: m.arange(6.0).reshape(2, 3).requires_grad_(),
    "empty": lambda m: m.zeros(0, 2, requires_grad=True),
    "detached": lambda m: (m.tensor([1.0], requires_grad=True) * 2).detach(),
    "unbind": lambda m: m.ones(2, 2, requires_grad=True).unbind()[0],
    "complex": lambda m: m.tensor([1j], requires_grad=True),
    "empty int": lambda m: m.zeros(0, dtype=m.int64), "empty float64": lambda m: m.zeros(0, 1, dtype=m.float64),
    "empty bool": lambda m: m.zeros(0, dtype=m.bool), "empty complex": lambda m: m.zeros(0, dtype=m.complex64),
}


@pytest.mark.parametrize("name", HISTORY)
def test_history_like_torch(name):
    """tensor_surface/F-05: requires_grad=True for leaves, the name of the node for others."""
    torch = pytest.importorskip("torch")
    assert repr(HISTORY[name](mg)) == without_module(repr(HISTORY[name](torch)))


def test_history():
    """tensor_surface/F-05, also where torch is not installed."""
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr(x.detach()) == "tensor([1., 2.])"
    assert str(x) == repr(x)


def test_invalid_history():
    """tensor_surface/F-05: after a write to the base, the grad_fn of one of several views cannot be regenerated."""
    base = mg.ones(2, 2, requires_grad=True) * 1
    first, _ = base.unbind()
    assert repr(first) == "tensor([1., 1.], grad_fn=<UnbindBackward0>)"
    base.mul_(2)
    assert repr(first) == "tensor([2., 2.], grad_fn=<Invalid>)"


OPTIONS = [{}, {"precision": 2}, {"precision": 8}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1}, {"linewidth": 30},
           {"linewidth": 200},
           {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"}, {"profile": "full"},
           {"edgeitems": 2, "threshold": 10, "linewidth": 40}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options_like_torch(options):
    torch = pytest.importorskip("torch")
    makers = [lambda m: m.tensor([1e-5, 1.0, 12345.678]), lambda m: m.arange(20.0) / 7, lambda m: m.arange(60).reshape(3, 20),
              lambda m: m.tensor([[1.5, -2.25]], dtype=m.float64), lambda m: m.tensor([1 + 2.5j, 1e5j]), lambda m: m.tensor(2.5)]
    try:
        mg.set_printoptions(**options)
        torch.set_printoptions(**options)
        for make in makers:
            assert repr(make(mg)) == without_module(repr(make(torch)))
    finally:
        mg.set_printoptions(profile="default")
        torch.set_printoptions(profile="default")


def test_print_options_are_put_back():
    mg.set_printoptions(precision=1)
    assert repr(mg.tensor([0.25])) == "tensor([0.2])"
    mg.set_printoptions(profile="default")
    assert repr(mg.tensor([0.25])) == "tensor([0.2500])"


def test_bad_profile():
    with pytest.raises(ValueError, match="profile"):
        mg.set_printoptions(profile="nonsense")


@pytest.mark.parametrize("value, spec, expected", [(2.5, ".2f", "2.50"), (3, "d", "3"), (1.0, "", "1.0"), (True, "", "True")])
def test_format(value, spec, expected):
    """A 0-d tensor formats as its number, others only without a format."""
    assert format(mg.tensor(value), spec) == expected
    assert f"{mg.tensor([1, 2])}" == "tensor([1, 2])"
    with pytest.raises(TypeError):
        format(mg.tensor([1.0]), ".2f")


def test_print_does_not_change_the_graph():
    x = mg.tensor([1.0], requires_grad=True)
    y = x * 2
    node = y.grad_fn
    repr(y)
    assert y.grad_fn is node and y._version == 0
