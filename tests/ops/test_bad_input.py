"""Bad input to every public op: minigrad refuses what PyTorch refuses, with the same class of error, and accepts the rest.

Each op of CALLS runs on all combinations of good and bad values of its arguments. Without torch, a combination must end in a
result, or in an error of an ordinary class with a message.
"""

import itertools
import warnings

import numpy as np
import pytest

import minigrad as mg

try:
    import torch
except ImportError:
    torch = None

# The values of each kind of argument; each library `m` makes its own.
TENSORS = {
    "matrix": lambda m: m.tensor([[1.5, -2.0, 3.0], [0.0, 5.0, -6.0]]),
    "square": lambda m: m.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "row": lambda m: m.tensor([1.0, 2.0, 3.0]),
    "pair": lambda m: m.tensor([1.0, 2.0]),
    "strided": lambda m: m.tensor([[1.0, 2.0, 9.0], [3.0, 4.0, 9.0]]).t(),
    "cube": lambda m: m.arange(12.0).reshape(2, 3, 2),
    "0-d": lambda m: m.tensor(2.0),
    "empty": lambda m: m.zeros(0),
    "no rows": lambda m: m.zeros(0, 3),
    "float64": lambda m: m.tensor([1.0, 2.0, 3.0], dtype=m.float64),
    "nan": lambda m: m.tensor([float("nan"), float("inf"), -1.0]),
    "int": lambda m: m.tensor([[1, 0, 2], [2, 1, 0]]),
    "int32": lambda m: m.tensor([1, 0, 1], dtype=m.int32),
    "int8": lambda m: m.tensor([1, 0, -2], dtype=m.int8),
    "far": lambda m: m.tensor([0, 9]),
    "negative": lambda m: m.tensor([0, -1]),
    "bool": lambda m: m.tensor([True, False, True]),
    "complex": lambda m: m.tensor([1 + 2j, 3 - 1j, 0j]),
}
OTHERS = {
    "None": lambda m: None, "str": lambda m: "x", "list": lambda m: [1.0, 2.0], "object": lambda m: object(),
    "2": lambda m: 2, "-1": lambda m: -1, "0.5": lambda m: 0.5, "True": lambda m: True, "1j": lambda m: 1j,
    "array": lambda m: np.ones(3),
}
OPERANDS = TENSORS | OTHERS


def values(*items):
    """A slot that takes these plain values."""
    return {repr(v): (lambda m, v=v: v) for v in items}


DIM = values(0, 1, -1, 2, -3, 7, None, "x", 1.5, True, [0], (0, 1), (0, 0), (), (0, 9))
ONE_DIM = values(0, 1, -1, 3, -4, None, "x", 1.5, (0,), True)
COUNT = values(0, 1, 2, 5, -1, None, "x", 1.5)
SHAPE = values((6,), (3, 2), (-1,), (-1, 2), (4,), (-1, -1), (-2, 3), (), (1,), (0,), (0, -1), (2, 3), (2, 2, 3), (-1, 3),
               (-1, 2, 3), "x",
               None, (1.5,), (None,), 6)
FLAG = values(False, True)
INDEX = {k: OPERANDS[k] for k in ("int", "int32", "int8", "far", "negative", "row", "bool", "0-d", "empty", "None", "list",
                                  "2")} | {
    "zeros": lambda m: m.zeros(3, dtype=m.int64), "one": lambda m: m.tensor(0), "none": lambda m: m.zeros(0, dtype=m.int64),
    "plane": lambda m: m.zeros(1, 2, dtype=m.int64)}
FEW = {k: OPERANDS[k] for k in ("matrix", "row", "0-d", "no rows", "int", "bool", "None", "2")}
PLANES = {
    "batch": lambda m: m.arange(32.0).reshape(1, 2, 4, 4), "one": lambda m: m.arange(32.0).reshape(2, 4, 4),
    "two": lambda m: m.ones(4, 4), "five": lambda m: m.ones(1, 1, 1, 4, 4), "no batch": lambda m: m.zeros(0, 2, 4, 4),
    "double": lambda m: m.ones(1, 2, 4, 4, dtype=m.float64), "whole": lambda m: m.ones(1, 2, 4, 4, dtype=m.int64),
    "None": lambda m: None,
}
WEIGHTS = {
    "3x2x2x2": lambda m: m.ones(3, 2, 2, 2), "2x1x2x2": lambda m: m.ones(2, 1, 2, 2), "too large": lambda m: m.ones(1, 2, 7, 7),
    "flat": lambda m: m.ones(3, 2, 2), "double": lambda m: m.ones(3, 2, 2, 2, dtype=m.float64), "None": lambda m: None,
}
WINDOW = values(1, 2, 3, 0, -1, (2, 1), (1,), (1, 2, 3), "x", None, 1.5, 9)
LISTS = {
    "matrices": lambda m: [m.ones(2, 3), m.zeros(2, 3)], "rows and int": lambda m: (m.ones(3), m.tensor([1, 2, 3])),
    "uneven": lambda m: [m.ones(2, 3), m.ones(2, 2)], "dims": lambda m: [m.ones(3), m.ones(1, 3)],
    "0-d": lambda m: [m.tensor(1.0)] * 2,
    "with empty": lambda m: [m.zeros(0), m.ones(2, 3)], "none": lambda m: [], "None inside": lambda m: [m.ones(2), None],
    "numbers": lambda m: [1.0, 2.0], "tensor": lambda m: m.ones(2, 3), "None": lambda m: None, "one": lambda m: (m.ones(1, 2),),
    "2": lambda m: 2,
}
TARGETS = {
    "right": lambda m: m.tensor([0, 2]), "outside": lambda m: m.tensor([0, 3]), "below": lambda m: m.tensor([0, -1]),
    "ignored": lambda m: m.tensor([0, -100]), "one": lambda m: m.tensor(1), "long": lambda m: m.tensor([0, 1, 2]),
    "float": lambda m: m.tensor([0.0, 1.0]), "spread": lambda m: m.full((2, 3), 1 / 3),
    "int32": lambda m: m.tensor([0, 1], dtype=m.int32),
    "None": lambda m: None, "list": lambda m: [0, 1],
}
REDUCTION = values("mean", "sum", "none", "x", None)
DTYPE = {"None": lambda m: None, "float64": lambda m: m.float64, "int64": lambda m: m.int64, "bool": lambda m: m.bool,
         "str": lambda m: "float",
         "complex": lambda m: m.complex64}

CALLS = {}


def calls(name, function, *slots):
    CALLS[name] = (function, slots)


for _name in ("neg", "exp", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "abs", "sign", "sin", "cos", "tanh", "sigmoid", "relu",
              "square",
              "t", "clone", "ravel", "logical_not", "sum", "mean", "prod", "var", "std", "amax", "amin", "max", "min", "argmax",
              "argmin",
              "flatten", "squeeze", "unbind", "all", "any"):
    calls(_name, lambda m, x, f=_name: getattr(m, f)(x), OPERANDS)
for _name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "lt", "ge", "matmul", "mm", "bmm", "mv", "dot",
              "rsub"):
    calls(_name, lambda m, x, y, f=_name: getattr(m, f)(x, y), OPERANDS, OPERANDS)
for _name in ("erf", "erfinv", "lgamma", "digamma", "logit", "sgn", "sinc", "isnan", "isinf", "isfinite", "isposinf", "isreal", "signbit",
              "angle", "positive", "rad2deg", "real", "imag", "view_as_real", "view_as_complex", "conj_physical", "is_nonzero", "numel"):
    calls(_name, lambda m, x, f=_name: getattr(m, f)(x), OPERANDS)
for _name in ("logaddexp", "logaddexp2", "copysign", "fmax", "fmin", "heaviside", "xlogy", "isclose", "equal", "complex", "polar"):
    calls(_name, lambda m, x, y, f=_name: getattr(m, f)(x, y), OPERANDS, OPERANDS)
for _symbol in ("+", "-", "*", "/", "**", "@", "<", "&", "|", "^"):
    calls(f"operator {_symbol}", eval(f"lambda m, x, y: x {_symbol} y"), OPERANDS, TENSORS)
    calls(f"operator {_symbol} reversed", eval(f"lambda m, x, y: x {_symbol} y"), TENSORS, OTHERS)
for _name in ("sum", "mean", "amax", "amin", "var", "logsumexp", "squeeze", "all", "any"):
    calls(f"{_name} dim", lambda m, x, dim, f=_name: getattr(m, f)(x, dim), TENSORS, DIM)
for _name in ("prod", "argmax", "argmin", "max", "min", "unbind", "unsqueeze", "softmax", "log_softmax"):
    calls(f"{_name} dim", lambda m, x, dim, f=_name: getattr(m, f)(x, dim), TENSORS, ONE_DIM)
for _name in ("sum", "mean", "prod", "argmax", "amin", "var", "logsumexp", "max"):
    calls(f"{_name} keepdim", lambda m, x, dim, keep, f=_name: getattr(m, f)(x, dim, keepdim=keep), FEW, ONE_DIM,
          values(True, "x", 2.5))
for _name in ("sum", "mean", "prod"):
    calls(f"{_name} dtype", lambda m, x, dtype, f=_name: getattr(m, f)(x, dtype=dtype), FEW, DTYPE)
for _name in ("softmax", "log_softmax"):
    calls(f"{_name} dtype", lambda m, x, dtype, f=_name: getattr(m, f)(x, 0, dtype=dtype), FEW, DTYPE)
for _name in ("add", "sub"):
    calls(f"{_name} alpha", lambda m, x, y, a, f=_name: getattr(m, f)(x, y, alpha=a), FEW, FEW, values(2, 0.5, True, 1j, "x", None))
calls("div rounding_mode", lambda m, x, y, mode: m.div(x, y, rounding_mode=mode), OPERANDS, OPERANDS,
      values("trunc", "floor", "x", 1))
calls("var correction", lambda m, x, dim, c: m.var(x, dim, correction=c), FEW, ONE_DIM, values(0, 1, 2, 9, None, "x"))
calls("var unbiased", lambda m, x, flag: m.var(x, flag), FEW, FLAG)
calls("clamp", lambda m, x, low, high: m.clamp(x, low, high), TENSORS, FEW, values(None, 1, 0.5, "x"))
calls("clamp max", lambda m, x, high: m.clamp(x, max=high), TENSORS, OPERANDS)
calls("where", lambda m, c, x, y: m.where(c, x, y), OPERANDS, FEW, FEW)
for _name in ("reshape", "view", "expand", "permute"):
    calls(f"{_name} shape", lambda m, x, shape, f=_name: getattr(x, f)(shape), TENSORS, SHAPE)
calls("view sizes", lambda m, x, a, b: x.view(a, b), FEW, ONE_DIM, COUNT)
calls("permute dims", lambda m, x, a, b: x.permute(a, b), FEW, ONE_DIM, COUNT)
calls("permute function", lambda m, x, dims: m.permute(x, dims), FEW, DIM)
calls("transpose", lambda m, x, a, b: m.transpose(x, a, b), TENSORS, ONE_DIM, ONE_DIM)
calls("flatten dims", lambda m, x, a, b: m.flatten(x, a, b), TENSORS, ONE_DIM, ONE_DIM)
calls("select", lambda m, x, dim, i: m.select(x, dim, i), FEW, ONE_DIM, COUNT)
calls("narrow", lambda m, x, dim, a, n: m.narrow(x, dim, a, n), FEW, ONE_DIM, COUNT, COUNT)
calls("chunk", lambda m, x, n, dim: m.chunk(x, n, dim), FEW, COUNT, ONE_DIM)
calls("split", lambda m, x, n, dim: m.split(x, n, dim), FEW, COUNT | values([1, 1], [1, 2], [], [3, -1], [1.5, 0.5], "x"), ONE_DIM)
calls("cat", lambda m, xs, dim: m.cat(xs, dim), LISTS, ONE_DIM)
calls("stack", lambda m, xs, dim: m.stack(xs, dim), LISTS, ONE_DIM)
calls("contiguous", lambda m, x: x.contiguous(), TENSORS)
calls("gather", lambda m, x, dim, i: m.gather(x, dim, i), TENSORS, ONE_DIM, INDEX)
calls("index_select", lambda m, x, dim, i: m.index_select(x, dim, i), TENSORS, ONE_DIM, INDEX)
calls("addmm", lambda m, b, x, y: m.addmm(b, x, y), FEW | {"pair": TENSORS["pair"]}, FEW, FEW | {"strided": TENSORS["strided"]})
calls("linear", lambda m, x, w, b: m.nn.functional.linear(x, w, b), FEW, FEW | {"square": TENSORS["square"]},
      values(None) | {"pair": TENSORS["pair"], "row": TENSORS["row"], "2": OTHERS["2"]})
calls("cross_entropy", lambda m, x, t, r: m.nn.functional.cross_entropy(x, t, reduction=r), FEW, TARGETS, REDUCTION)
calls("cross_entropy smoothing", lambda m, x, t, s: m.nn.functional.cross_entropy(x, t, label_smoothing=s), FEW, TARGETS,
      values(0.5, -0.5, 1.5))
calls("nll_loss", lambda m, x, t, r: m.nn.functional.nll_loss(x, t, reduction=r), FEW, TARGETS, REDUCTION)
calls("nll_loss weight", lambda m, x, t, w: m.nn.functional.nll_loss(x, t, w), FEW, TARGETS,
      {"row": TENSORS["row"], "pair": TENSORS["pair"], "2": OTHERS["2"]})
calls("mse_loss", lambda m, x, t, r: m.nn.functional.mse_loss(x, t, reduction=r), OPERANDS, FEW, REDUCTION)
calls("conv2d", lambda m, x, w: m.nn.functional.conv2d(x, w), PLANES, WEIGHTS)
calls("conv2d options", lambda m, s, p, d, g: m.nn.functional.conv2d(m.ones(1, 2, 4, 4), m.ones(2, 1, 2, 2), None, s, p, d, g),
      values(1, 0, (1, 2), "x", 1.5), values(0, 1, -1, "same", "valid", "x", (1, 0, 1)), values(1, 2, 0), values(2, 1, 0, -1, 3))
calls("conv2d bias", lambda m, b: m.nn.functional.conv2d(m.ones(1, 2, 4, 4), m.ones(3, 2, 2, 2), b), OPERANDS)
calls("max_pool2d", lambda m, x, k: m.nn.functional.max_pool2d(x, k), PLANES, WINDOW)
calls("avg_pool2d", lambda m, x, k: m.nn.functional.avg_pool2d(x, k), PLANES, WINDOW)
calls("max_pool2d options", lambda m, s, p, d: m.nn.functional.max_pool2d(m.ones(1, 1, 5, 5), 2, s, p, d), WINDOW, WINDOW,
      values(1, 2, 0))
calls("avg_pool2d options", lambda m, s, p, d: m.nn.functional.avg_pool2d(m.ones(1, 1, 5, 5), 2, s, p, divisor_override=d), WINDOW,
      WINDOW,
      values(None, 1, 3, 0))
calls("conv_transpose2d", lambda m, x, w: m.nn.functional.conv_transpose2d(x, w), PLANES, WEIGHTS)
calls("conv_transpose2d options", lambda m, s, p, o, g: m.nn.functional.conv_transpose2d(m.ones(1, 2, 4, 4), m.ones(2, 1, 2, 2), None, s, p, o, g),
      values(1, 0, (1, 2), "x", 1.5), values(0, 1, -1, "same", (1, 0, 1), 9), values(0, 1, -1, 1.5), values(2, 1, 0, -1, 3))
IMAGES = {key: make for key, make in PLANES.items() if key not in ("two", "five")}
calls("adaptive_avg_pool2d", lambda m, x, k: m.nn.functional.adaptive_avg_pool2d(x, k), IMAGES, WINDOW)
calls("adaptive_max_pool2d", lambda m, x, k: m.nn.functional.adaptive_max_pool2d(x, k), PLANES, WINDOW)
calls("unfold image", lambda m, x, k: m.nn.functional.unfold(x, k), PLANES, WINDOW)
calls("unfold image options", lambda m, d, p, s: m.nn.functional.unfold(m.ones(1, 1, 5, 5), 2, d, p, s), WINDOW, WINDOW, WINDOW)
calls("interpolate", lambda m, x, k, mode: m.nn.functional.interpolate(x, k, mode=mode), PLANES, WINDOW,
      values("nearest", "linear", "bilinear", "area", "x"))
calls("interpolate factor", lambda m, x, f: m.nn.functional.interpolate(x, scale_factor=f), PLANES, values(2, 0.5, 0, -1, (2, 1.5), (2,), "x", None))
calls("pixel_shuffle", lambda m, x, r: m.nn.functional.pixel_shuffle(x, r), PLANES, values(1, 2, 0, -1, 1.5, None, "x"))
calls("channel_shuffle", lambda m, x, n: m.nn.functional.channel_shuffle(x, n), PLANES, values(1, 2, 0, -1, 1.5, None, "x"))
calls("dropout", lambda m, x, p: m.nn.functional.dropout(x, p, False), OPERANDS, values(0.5, 0, 1, -0.1, 1.5, None, "x"))
calls("dropout all", lambda m, x: m.nn.functional.dropout(x, 1.0), TENSORS)

for _name in ("add_", "sub_", "mul_", "div_", "pow_", "copy_", "fill_"):
    calls(_name, lambda m, x, y, f=_name: getattr(x, f)(y), TENSORS, OPERANDS)
for _name in ("zero_", "neg_", "exp_", "log_", "sqrt_", "tanh_", "relu_", "abs_", "sigmoid_"):
    calls(_name, lambda m, x, f=_name: getattr(x, f)(), TENSORS)
for _name in ("item", "tolist", "__len__", "__bool__", "__float__", "__int__", "__index__", "__complex__", "numel", "dim",
              "is_contiguous",
              "stride", "size", "element_size", "storage_offset", "float", "double", "int", "long", "bool", "half", "byte", "char",
              "short"):
    calls(f"Tensor.{_name}", lambda m, x, f=_name: getattr(x, f)(), TENSORS)
calls("Tensor.size dim", lambda m, x, dim: x.size(dim), FEW, ONE_DIM)
calls("Tensor.stride dim", lambda m, x, dim: x.stride(dim), FEW, ONE_DIM)
calls("Tensor.__contains__", lambda m, x, y: y in x, TENSORS, OTHERS | {"0-d": TENSORS["0-d"]})
calls("Tensor.__format__", lambda m, x, s: format(x, s), TENSORS, values("", ".2f", "d", "x"))
calls("Tensor.to", lambda m, x, dtype: x.to(dtype), TENSORS, DTYPE)
calls("Tensor.view_as", lambda m, x, y: x.view_as(y), FEW, FEW)
calls("Tensor.expand_as", lambda m, x, y: x.expand_as(y), FEW, FEW)
calls("Tensor.requires_grad_", lambda m, x: x.requires_grad_().requires_grad, TENSORS)

FACTORY_SIZE = values(3, (2, 3), (2, -1), [2], 1.5, "x", None, (1.5,), 0, (), -1, True, (2, "x"))
for _name in ("zeros", "ones", "rand", "randn"):
    calls(f"{_name} size", lambda m, size, f=_name: getattr(m, f)(size) * 0, FACTORY_SIZE)
calls("empty size", lambda m, size: m.empty(size).shape, FACTORY_SIZE)
calls("full", lambda m, size, v, dtype: m.full(size, v, dtype=dtype), FACTORY_SIZE, values(1, 2.5, True, 1j, "x", None), DTYPE)
calls("zeros_like", lambda m, x, dtype: m.zeros_like(x, dtype=dtype), OPERANDS, DTYPE)
calls("arange", lambda m, a, b, s: m.arange(a, b, s), values(0, 5, 1.5, "x", None),
      values(0, 4, -3, float("nan"), float("inf"), "x"),
      values(1, -1, 0, 0.5, 2, "x"))
calls("linspace", lambda m, a, b, n: m.linspace(a, b, n), values(0, 1.5, "x", None), values(0, 4, -3),
      values(0, 1, 5, -1, None, "x", 1.5))
calls("eye", lambda m, n, k: m.eye(n, k), values(0, 2, -1, "x", 1.5), values(0, 3, -1, 2))
DATA = values([1, 2.0], [[1, 2], [3]], [[1], 2], [1, [2]], None, "x", ["x"], [None], [], [[]], [[], []], [[1], []], 3, True,
              [True, 2], [1, 2j], {},
              object, [object], 2**63, -2**63, [2**64], 1e400, b"x", (1, (2,)), [[1, 2], (3, 4)], range(3), [1.0, None],
              float("nan")) | {
    "tensors": lambda m: [m.tensor(1.0), m.tensor(2)], "vectors": lambda m: [m.ones(2), m.ones(2)],
    "array": lambda m: np.ones((2, 2), "i2"),
    "arrays": lambda m: [np.ones(2), np.zeros(2)], "texts": lambda m: np.array(["a"]), "objects": lambda m: np.array([object()]),
    "reversed": lambda m: np.arange(3)[::-1], "fortran": lambda m: np.asfortranarray(np.ones((2, 3))),
    "float128": lambda m: np.ones(2, np.longdouble),
    "dates": lambda m: np.array(["2020-01-01"], "M8[D]"), "number": lambda m: np.float32(2),
    "generator": lambda m: (i for i in range(3))}
calls("tensor", lambda m, data, dtype: m.tensor(data, dtype=dtype), DATA, DTYPE)
calls("as_tensor", lambda m, data: m.as_tensor(data), DATA)
calls("from_numpy", lambda m, data: m.from_numpy(data), DATA)
calls("tensor requires_grad", lambda m, data: m.tensor(data, requires_grad=True).requires_grad, DATA)
calls("new_tensor", lambda m, x, data: x.new_tensor(data), FEW, DATA)
calls("new_zeros", lambda m, x, size: x.new_zeros(size), FEW, FACTORY_SIZE)
calls("new_full", lambda m, x, size, v: x.new_full(size, v), FEW, FACTORY_SIZE, values(1, 2.5, "x"))
calls("randint", lambda m, a, b, size: m.randint(a, b, size).shape, values(0, 5, "x"), values(3, 6, None), FACTORY_SIZE)
calls("randperm", lambda m, n: m.randperm(n).sort if n != n else m.randperm(n).shape, values(0, 3, -1, "x", None, 1.5))
calls("manual_seed", lambda m, s: m.manual_seed(s) and None, values(0, -1, 2**63, "x", None, 1.5))
calls("bernoulli", lambda m, x: m.bernoulli(x).shape, OPERANDS)



def excused(name, combination, ours, our_error, theirs, their_error):
    """The reason why minigrad may differ from torch here, or None."""
    both_numbers = len(combination) >= 2 and all(key in ("2", "-1", "0.5", "True", "1j") for key in combination[:2])
    if isinstance(their_error, NotImplementedError) and our_error is None:
        return "torch has no kernel for the dtype, NumPy has"
    if isinstance(their_error, AttributeError) and isinstance(our_error, TypeError):
        return "torch stumbles over a missing attribute where we say what type is wrong"
    if both_numbers and name.split()[0] in ("add", "sub", "mul", "div"):
        return "torch makes tensors of two Python numbers, we want one tensor"
    if "None" in combination and not isinstance(our_error, TypeError) and isinstance(their_error, TypeError) and name in (
            "logsumexp dim", "squeeze dim", "prod dim", "max dim", "min dim", "logsumexp keepdim", "prod keepdim", "max keepdim"):
        return "dim=None means all dimensions everywhere"
    if name == "where" and combination[1:] == ("None", "None"):
        return "None for both operands is the same as leaving them out"
    if name == "logsumexp dim" and "()" in combination:
        return "torch fails on its own output shape"
    if name == "permute function" and isinstance(their_error, TypeError):
        return "our function takes the dims one by one too, as the method does"
    if "complex" in combination or "1j" in combination:
        if "nan" in combination:
            return "torch adds nan 1 times, which spreads to the imaginary part"
        if name.startswith(("pow", "operator **")):
            return "rounding, and 0 to the power 0, which is 1 here and nan there"
    if name == "gather" and combination[2] in ("empty", "none"):
        return "torch accepts an empty index of any shape and dtype"
    if name == "var correction" and combination[1:] == ("True", "None"):
        return "correction=None is as good as none"
    if name == "expand shape" and combination == ("0-d", "(0, -1)"):
        return "torch makes a tensor of a negative size"
    if "number" in combination and our_error is None:
        return "we convert a NumPy number as we convert an array"
    if "vectors" in combination:
        return "we take lists of tensors with dimensions, as of arrays"
    if name in ("conv2d", "softmax dtype", "log_softmax dtype") and combination[0] in ("no batch", "no rows"):
        return "torch looks at the dtype only if there is something to compute"
    if name == "avg_pool2d" and "whole" in combination:
        return "torch divides integers by integers, we take no mean of them"
    if name in ("adaptive_avg_pool2d", "interpolate") and combination[:2] == ("whole", "0"):
        return "torch looks at the dtype only if there is something to compute"
    if name == "avg_pool2d" and "two" in combination:
        return "torch looks for the channels first"
    if name == "Tensor.__format__":
        return "the dtype is called minigrad.float64"
    if name == "manual_seed":
        return "torch calls int() on whatever it gets"
    return None


def run(m, call, combination):
    """(result, error) of a call on one library."""
    function, slots = call
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(m, *[slot[key](m) for slot, key in zip(slots, combination)]), None
        except Exception as error:
            return None, error


def builtin(error):
    """The name of the ordinary class that an error is of."""
    if isinstance(error, NotImplementedError):
        return "RuntimeError"
    return next(c for c in (TypeError, ValueError, IndexError, OverflowError, RuntimeError, AttributeError, Exception)
                if isinstance(error, c)).__name__


def plain(value):
    """A result as something that can be compared and printed."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if hasattr(value, "detach"):
        if str(value.dtype).endswith("bfloat16"):       # NumPy has no such dtype
            return ["bfloat16", plain(value.float())]
        array = value.detach().resolve_conj().numpy() if hasattr(value, "resolve_conj") else value.detach().numpy()
        return array.copy()
    return value


def same(a, b):
    """Whether two results are: in type, shape, dtype and numbers."""
    if isinstance(a, list) or isinstance(b, list):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-6,
                                                                                                       equal_nan=True)
    return type(a) is type(b) and (a == b or a != a)


def faults(call, combination):
    """The errors of torch when some of the arguments are corrected: of several faults, minigrad may name any."""
    right = [next(iter(slot)) for slot in call[1]]
    errors = [run(torch, call, [key if keep else good for key, good, keep in zip(combination, right, kept)])[1]
              for kept in itertools.product((True, False), repeat=len(combination))]
    return {builtin(e) for e in errors if e is not None}


def report(name, combination):
    """A description of what minigrad does wrong with a combination, or None."""
    call = CALLS[name]
    ours, our_error = run(mg, call, combination)
    if our_error is not None and (not str(our_error) or builtin(our_error) == "Exception"):
        return f"{type(our_error).__name__} without words"
    if torch is None:
        return None
    theirs, their_error = run(torch, call, combination)
    if excused(name, combination, ours, our_error, theirs, their_error):
        return None
    if their_error is not None:
        if our_error is None:
            return f"gave {plain(ours)!r:.80}, torch: {type(their_error).__name__}: {str(their_error)[:110]}"
        if builtin(our_error) != builtin(their_error) and builtin(our_error) not in faults(call, combination):
            return f"{our_error!r:.110}, torch: {their_error!r:.140}"
    elif our_error is not None:
        return f"{type(our_error).__name__}: {str(our_error)[:110]!r}, torch: {plain(theirs)!r:.90}"
    elif not same(plain(ours), plain(theirs)):
        return f"gave {plain(ours)!r:.100}, torch: {plain(theirs)!r:.100}"
    return None


@pytest.mark.parametrize("name", CALLS)
def test_as_in_torch(name):
    wrong = []
    for combination in itertools.product(*CALLS[name][1]):
        if found := report(name, combination):
            wrong.append(f"  {', '.join(combination)}: {found}")
    assert not wrong, f"{len(wrong)} combinations:\n" + "\n".join(wrong[:40])
