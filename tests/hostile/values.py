"""The arguments of hostile calls: labels, and a function that makes each value for a library `m` (minigrad or torch).

    HOSTILE["unaligned"](m)     a tensor on memory that begins at an odd address
    plausible("dim")            the values that a parameter of this name usually has
"""

import array
import decimal
import fractions
import mmap
import random

import numpy as np

from tests.argument_pools import ALL, OTHERS, POOLS, TENSOR, values
from tests.hostile.late_values import LATE_INSTANCES, LATE_PLAUSIBLE


class HostileError(Exception):
    """The error of the hostile objects below: a call may raise it unchanged."""


class Raises:
    """An object every question to which raises."""

    def refuse(self, *args, **kwargs):
        raise HostileError
    __len__ = __iter__ = __index__ = __int__ = __float__ = __bool__ = __call__ = __getitem__ = __eq__ = __hash__ = __array__ = refuse
    __lt__ = __add__ = __mul__ = __contains__ = __enter__ = __str__ = __complex__ = refuse


class Lies:
    """A sequence with a wrong length, and a number that changes with each read."""

    def __init__(self):
        self.random = random.Random(1)

    def __len__(self):
        return 1 << 40

    def __getitem__(self, i):
        if i > 3:
            raise IndexError
        return i

    def __iter__(self):
        return iter([1, 2])

    def __index__(self):
        return self.random.choice([0, 1, -1, 1 << 62])


class Int(int):
    """A subclass of int."""


class Text(str):
    """A subclass of str."""


def contains_itself():
    inner = [1.0]
    inner.append(inner)
    return inner


def dict_in_itself():
    inner = {}
    inner["a"] = inner
    return inner


def nested(depth):
    inner = []
    for _ in range(depth):
        inner = [inner]
    return inner


def raises(*args, **kwargs):
    raise HostileError


# ---- arrays in unusual memory ------------------------------------------------------------------------------------------


def read_only():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x.flags.writeable = False
    return x


def mapped():
    """An array on a private map of zeros."""
    return np.frombuffer(mmap.mmap(-1, 4096), np.float32, 6).reshape(2, 3)


def unaligned(dtype="f4"):
    raw = np.zeros(6 * np.dtype(dtype).itemsize + 1, np.uint8)
    return raw[1:].view(dtype).reshape(2, 3)


def shared():
    """Rows that overlap in memory."""
    return np.lib.stride_tricks.as_strided(np.arange(5.0, dtype=np.float32), (2, 3), (4, 4))


ARRAYS = {
    "read-only": read_only, "mapped": mapped, "unaligned": unaligned, "unaligned float64": lambda: unaligned("f8"),
    "unaligned int64": lambda: unaligned("i8"), "backwards": lambda: np.arange(6.0, dtype=np.float32).reshape(2, 3)[::-1, ::-1],
    "swapped": lambda: np.arange(6.0).reshape(2, 3).astype(">f4"), "overlapping": shared,
    "far apart": lambda: np.zeros((1 << 12, 3), np.float32)[::1 << 11], "columns of a cut": lambda: np.zeros((3, 5), np.float32).T[1:3],
    "big float64": lambda: np.zeros(3000), "long double": lambda: np.ones(3, np.longdouble), "objects": lambda: np.array([None, 1]),
    "structured": lambda: np.zeros(2, [("a", "f4"), ("b", "i4")]), "uint16": lambda: np.ones(3, np.uint16),
    "uint64": lambda: np.full(3, (1 << 64) - 1, np.uint64), "dates": lambda: np.array(["2020-01-01"], "M8[D]"), "texts": lambda: np.array(["a"]),
}


def strange_tensor(m, name):
    array = ARRAYS[name]()
    return m.from_numpy(array)


STRANGE = {f"tensor {name}": (lambda m, name=name: strange_tensor(m, name)) for name in ARRAYS}
STRANGE |= {
    "63-d": lambda m: m.ones((1,) * 63), "64-d": lambda m: m.ones((1,) * 64), "many empty": lambda m: m.zeros((0,) * 9),
    "huge empty": lambda m: m.zeros(0, 1 << 40), "large view": lambda m: m.ones(1).expand(1 << 17), "flat view": lambda m: m.ones(1).expand(1 << 17, 0),
    "indices far": lambda m: m.tensor([10 ** 9, -(10 ** 9), 1 << 62]), "index least": lambda m: m.tensor([-(1 << 63)]),
    "all nan": lambda m: m.full((2, 3), float("nan")), "all inf": lambda m: m.full((3, 3), float("inf")),
    "largest": lambda m: m.full((2, 3), 3e38), "subnormal": lambda m: m.full((2, 3), 1e-45), "requires": lambda m: m.ones(2, 3, requires_grad=True),
    "computed": lambda m: m.ones(2, 3, requires_grad=True) * 2, "computed view": lambda m: (m.ones(2, 3, requires_grad=True) * 2)[0],
    "parameter": lambda m: m.nn.Parameter(m.ones(3)), "strided view": lambda m: m.arange(30.0).as_strided((2, 3), (7, 2), 3),
    "freed": lambda m: freed(m),
}


def freed(m):
    """A node after the release of its saved values."""
    x = m.ones(3, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    return y


WRONG = {
    "None": lambda m: None, "object": lambda m: object(), "str": lambda m: "x", "no str": lambda m: "", "bytes": lambda m: b"x",
    "nul": lambda m: "a\0b", "surrogate": lambda m: "\udc80", "long str": lambda m: "x" * 100000, "type": lambda m: int, "module": lambda m: random,
    "function": lambda m: raises, "lambda": lambda m: (lambda *a, **k: None), "raises": lambda m: Raises(), "lies": lambda m: Lies(),
    "list": lambda m: [1.0, 2.0], "no list": lambda m: [], "tuple": lambda m: (), "dict": lambda m: {}, "set": lambda m: {1, 2}, "dict of str": lambda m: {"x": 1},
    "generator": lambda m: (i for i in range(3)), "range": lambda m: range(3), "slice": lambda m: slice(None), "ellipsis": lambda m: ...,
    "nested": lambda m: nested(100000), "in itself": lambda m: contains_itself(), "dict in itself": lambda m: dict_in_itself(),
    "ragged": lambda m: [[1.0], [1.0, 2.0]], "Nones": lambda m: [None, None], "tensors": lambda m: [m.ones(2), m.ones(3)],
    "class": lambda m: m.Tensor, "complex": lambda m: 1j, "array": lambda m: np.ones(3), "bytearray": lambda m: bytearray(8),
    "array.array": lambda m: array.array("d", [1.0, 2.0]), "NotImplemented": lambda m: NotImplemented,
}
HOSTILE_NUMBERS = {
    **values(0, -1, 1, 3, 1 << 31, -(1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63), 1 << 63, 1 << 64, 10 ** 400, 2.5, -0.0, 1e308, 5e-324,
             float("nan"), float("inf"), -float("inf"), True, False),
    "int subclass": lambda m: Int(2), "np.int64": lambda m: np.int64(2), "np.uint8": lambda m: np.uint8(255), "np.float16": lambda m: np.float16(0.5),
    "np.longdouble": lambda m: np.longdouble(2), "np.bool": lambda m: np.bool_(True), "Fraction": lambda m: fractions.Fraction(1, 3),
    "Decimal": lambda m: decimal.Decimal("0.1"), "str subclass": lambda m: Text("sum"),
}
HOSTILE_SIZES = values((1 << 31,), (1 << 40, 1 << 40), (1 << 63,), (-1, 0), (0, -1), (2, -2), (1,) * 64, (1,) * 65, (0,) * 100, (2,) * 40,
                       [2, 3], (True,), (2.0,), (None,), ("x",), ((2,),), (1 << 64,), (10 ** 400,), range(3))
HOSTILE = WRONG | HOSTILE_NUMBERS | HOSTILE_SIZES | STRANGE | ALL | OTHERS


# ---- objects that methods are called on ---------------------------------------------------------------------------------


def node(m):
    x = m.ones(2, 3, requires_grad=True)
    return (x * m.ones(3)).grad_fn


INSTANCES = {
    "Tensor": TENSOR, "Node": {"node": node, "leaf's": lambda m: m.ones(2, requires_grad=True).expand(2).grad_fn.next_functions[0][0]},
    "Module": {"linear": lambda m: m.nn.Linear(3, 2), "net": lambda m: m.nn.Sequential(m.nn.Linear(3, 3), m.nn.BatchNorm1d(3)),
               "module": lambda m: m.nn.Module()},
    "Optimizer": {"sgd": lambda m: m.optim.SGD([m.ones(3, requires_grad=True)], 0.1), "adam": lambda m: m.optim.Adam(m.nn.Linear(3, 2).parameters())},
    "Size": {"size": lambda m: m.ones(2, 3).shape}, "Generator": {"generator": lambda m: m.Generator()},
    "DType": {"dtype": lambda m: m.float32}, "Device": {"device": lambda m: m.device("cpu")},
    "RemovableHandle": {"handle": lambda m: m.ones(2, requires_grad=True).register_hook(lambda g: g)},
    "RawSavedTensor": {"saved": lambda m: m.ones(2, requires_grad=True).exp().grad_fn._raw_saved_result},
    **LATE_INSTANCES,
}


def instances(owner):
    """Labels of objects of a class or its bases; a class of minigrad alone is called without arguments."""
    for cls in owner.__mro__:
        for key in (cls.__name__, "Node" if cls.__name__ in ("OpNode", "PyNode", "AccumulateGrad") else "",
                    "Tensor" if cls.__name__ in ("TensorBase", "Variable", "Conversions") else ""):
            if key in INSTANCES:
                return INSTANCES[key]
    return {f"{owner.__name__}()": lambda m: owner()}


PLAUSIBLE = {**POOLS, **LATE_PLAUSIBLE,
    "module": INSTANCES["Module"], "model": INSTANCES["Module"], "modules": {"modules": lambda m: [m.nn.Linear(2, 2)]},
    "optimizer": INSTANCES["Optimizer"], "hook": {"function": lambda m: (lambda *a: None)}, "fn": {"function": lambda m: (lambda *a: a[0])},
    "func": {"function": lambda m: (lambda x, *a: x.sin())},
    "params": {"params": lambda m: [m.ones(3, requires_grad=True)]}, "parameters": {"params": lambda m: [m.ones(3, requires_grad=True)]},
    "node": INSTANCES["Node"], "device": values("cpu", None, "cuda", "x", 3), "requires_grad": values(True, False), "name": values("x", "weight"),
    "state_dict": {"dict": lambda m: m.nn.Linear(3, 2).state_dict()}, "prefix": values("", "x."), "recurse": values(True, False),
    "in_channels": values(1, 2, 4), "out_channels": values(1, 2, 4), "in_features": values(3), "out_features": values(2), "num_features": values(3),
    "input_size": values(3), "hidden_size": values(2), "num_embeddings": values(5), "embedding_dim": values(2), "lr": values(0.1, 1e-3),
    "shape": POOLS["size"], "p": POOLS["p"] | LATE_PLAUSIBLE["p"], "generator": {"None": lambda m: None, "generator": lambda m: m.Generator()},
    "inputs": {"tensors": lambda m: [m.ones(2, 3, requires_grad=True)], "tensor": lambda m: m.ones(3, requires_grad=True)},
    "A": {"square": lambda m: m.tensor([[2.0, 1.0], [1.0, 3.0]]), "wide": lambda m: m.ones(2, 3), "all inf": STRANGE["all inf"]},
    "B": {"square": lambda m: m.tensor([[2.0, 1.0], [1.0, 3.0]]), "row": lambda m: m.ones(2)}
}


def plausible(name):
    """Plausible values of a parameter; for an unknown name, any tensor, number or flag."""
    return PLAUSIBLE.get(name) or {**TENSOR, **values(0, 1, 2, 0.5, True)}
