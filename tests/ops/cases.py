"""One line per way to use an op. Gradient checks, parity with PyTorch and kernel tests all walk over CASES.

    case("mul broadcast", lambda m, x, y: x * y, (3, 4), (4,))

The function gets a module, minigrad or torch, and one float64 tensor for each shape. All of them require a gradient.
The kind of numbers is one at which the op can be checked: `positive` for the domain of log; `apart` without ties, and away from the
kink of abs; `small` inside (-1, 1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from minigrad._core.graph.metadata import Backend, Device
from minigrad.kernels import numpy_ref
from minigrad.kernels.contract import Kernels
from minigrad.random._stream import RandomStream

CASES = []
COMPLEX = []        # of complex numbers
PLAIN = []          # without a derivative
OURS = []           # ops called by their names: PyTorch has no function for them, or no derivative


@dataclass
class Case:
    """A function of tensors, and the shapes and kind of numbers to call it on."""

    name: str
    run: Callable
    shapes: tuple
    numbers: str = "any"
    double: bool = True         # has a second derivative worth checking
    writes: bool = False        # in place
    name_differs: bool = False  # the grad_fn has another name in PyTorch, which splits the work differently
    derivative: bool = True     # has a first one
    dtype: str = "float64"      # complex128: the numbers are complex

    def arrays(self, dtype=np.float64):
        """The inputs, the same each time."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        found = [numbers(self.numbers, shape, rng) for shape in self.shapes]
        if self.numbers == "apart":     # from each other too
            found = [a + 0.05 * i for i, a in enumerate(found)]
        if self.dtype == "complex128":
            return [a + 1j * numbers(self.numbers, a.shape, rng) for a in found]
        return [a.astype(dtype) for a in found]


def numbers(kind, shape, rng):
    """Random numbers of a kind, of one shape."""
    n = int(np.prod(shape))
    if kind == "positive":
        return rng.uniform(0.5, 2.0, shape)
    if kind == "apart":     # at least 0.1 between any two, and none near 0
        return (rng.permutation(n) * 0.2 + 0.13 - 0.1 * n).reshape(shape)
    if kind == "small":
        return rng.uniform(-0.8, 0.8, shape)
    if kind == "nonzero":
        return rng.uniform(0.5, 2.0, shape) * rng.choice([-1, 1], shape)
    return rng.standard_normal(shape)


def case(name, run, *shapes, **options):
    CASES.append(Case(name, run, shapes, **options))


def writing(name, run, *shapes, **options):
    """A case that writes in place."""
    case(name, run, *shapes, writes=True, **options)


def F(m):
    return m.nn.functional


def of_complex(name, run, *shapes, **options):
    """A case on complex numbers."""
    COMPLEX.append(Case(name, run, shapes, dtype="complex128", **options))


def plain(name, run, *shapes, **options):
    """A case without a derivative."""
    PLAIN.append(Case(name, run, shapes, derivative=False, double=False, **options))


def ours(name, run, *shapes, **options):
    """A case of an op that has no function, or one that PyTorch has no derivative of: `run` gets the op instead of a library."""
    def called(m, *xs):
        from minigrad.utils._python_dispatch import operator
        return run(operator(name), *xs)
    OURS.append(Case(name, called, shapes, **options))


INDEX = [[0, 1, 1], [2, 0, 2]]

# ---- elementwise ----------------------------------------------------------------------------------------
case("add", lambda m, x, y: x + y, (2, 3), (2, 3))
case("add broadcast", lambda m, x, y: x + y, (2, 3), (3,))
case("add column", lambda m, x, y: x + y, (2, 1), (1, 3))
case("add scalar", lambda m, x: x + 2.5, (2, 3))
case("radd scalar", lambda m, x: 2 + x, (2, 3))
case("add alpha", lambda m, x, y: m.add(x, y, alpha=3), (2, 3), (2, 3))
case("add 0-d", lambda m, x, y: x + y, (2, 3), ())
case("add empty", lambda m, x, y: x + y, (0, 3), (3,))
case("sub", lambda m, x, y: x - y, (2, 3), (3,))
case("sub scalar", lambda m, x: x - 1, (3,))
case("rsub scalar", lambda m, x: 1 - x, (3,))
case("sub alpha", lambda m, x, y: m.sub(x, y, alpha=2), (3,), (3,))
case("mul", lambda m, x, y: x * y, (2, 3), (2, 3))
case("mul itself", lambda m, x: x * x, (2, 3))
case("mul broadcast both", lambda m, x, y: x * y, (2, 1, 3), (4, 1))
case("mul scalar", lambda m, x: 3 * x, (2, 3))
case("mul transposed", lambda m, x, y: x.t() * y, (3, 2), (2, 3))
case("div", lambda m, x, y: x / y, (2, 3), (3,), numbers="nonzero")
case("div floor", lambda m, x, y: m.div(x, y, rounding_mode="floor") * x, (3, 4), (4,), numbers="nonzero")
case("div trunc", lambda m, x: m.div(x, 0.3, rounding_mode="trunc") * x, (3, 4), numbers="nonzero")
case("div scalar", lambda m, x: x / 4, (2, 3))
case("rdiv scalar", lambda m, x: 2 / x, (2, 3), numbers="nonzero")
case("neg", lambda m, x: -x, (2, 3))
case("reciprocal", lambda m, x: x.reciprocal(), (3,), numbers="nonzero")
case("square", lambda m, x: m.square(x), (3,))
case("pow 2", lambda m, x: x ** 2, (2, 3))
case("pow 3", lambda m, x: x ** 3, (2, 3))
case("pow 0", lambda m, x: x ** 0, (3,))
case("pow 1", lambda m, x: x ** 1, (3,))
case("pow half", lambda m, x: x ** 0.5, (3,), numbers="positive")
case("pow negative", lambda m, x: x ** -1.5, (3,), numbers="positive")
case("pow tensor", lambda m, x, y: x ** y, (2, 3), (3,), numbers="positive")
case("pow of scalar", lambda m, x: 2.5 ** x, (3,))
case("pow function", lambda m, x: m.pow(x, 4), (3,))
for _name in ("exp", "sin", "cos", "tanh", "sigmoid"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3))
    case(_name + " method", lambda m, x, f=_name: getattr(x, f)(), (40,))
for _name in ("log", "log1p", "sqrt", "rsqrt"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3), numbers="positive")
case("relu", lambda m, x: m.relu(x), (2, 3), numbers="apart")
case("relu squared", lambda m, x: m.relu(x) ** 2, (2, 3), numbers="apart")
case("abs", lambda m, x: m.abs(x), (2, 3), numbers="apart")
case("abs operator", lambda m, x: abs(x), (3,), numbers="apart")
case("sign", lambda m, x: m.sign(x), (3,), numbers="apart")
case("maximum", lambda m, x, y: m.maximum(x, y), (2, 3), (2, 3), numbers="apart")
case("maximum ties", lambda m, x: m.maximum(x, x * 1), (3,), double=False)
case("minimum", lambda m, x, y: m.minimum(x, y), (2, 3), (3,), numbers="apart")
case("where", lambda m, x, y: m.where(x > 0, x, y), (2, 3), (3,), numbers="apart")
case("where scalar", lambda m, x: m.where(x > 0, x, 0.5), (2, 3), numbers="apart")
case("where method", lambda m, x, y: x.where(x > 0, y), (3,), (3,), numbers="apart")
case("clamp", lambda m, x: m.clamp(x, -0.3, 0.5), (2, 3), numbers="apart")
case("clamp min", lambda m, x: x.clamp(min=0.1), (2, 3), numbers="apart")
case("clamp max", lambda m, x: x.clamp(max=0.1), (2, 3), numbers="apart")
case("clamp tensors", lambda m, x, y: m.clamp(x, y, y + 0.35), (2, 3), (3,), numbers="apart")

for _name in ("floor", "ceil", "trunc", "round"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x) * x, (3, 4), numbers="nonzero")
case("round decimals", lambda m, x: m.round(x, decimals=1) * x, (3, 4), numbers="nonzero")
case("frac", lambda m, x: m.frac(x), (3, 4), numbers="nonzero")
case("fmod", lambda m, x, y: m.fmod(x, y), (3, 4), (4,), numbers="nonzero")
case("fmod scalar", lambda m, x: x.fmod(0.3), (3, 4), numbers="nonzero")
case("remainder", lambda m, x, y: m.remainder(x, y), (3, 4), (4,), numbers="nonzero")
case("remainder scalar", lambda m, x: x % 0.3, (3, 4), numbers="nonzero")
for _name in ("exp2", "expm1", "sinh", "cosh", "atan", "asinh"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3))
for _name in ("tan", "asin", "acos", "atanh"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3), numbers="small")
for _name in ("log2", "log10"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3), numbers="positive")
case("acosh", lambda m, x: m.acosh(x + 1), (2, 3), numbers="positive")
case("atan2", lambda m, x, y: m.atan2(x, y), (2, 3), (3,), numbers="nonzero")
case("hypot", lambda m, x, y: m.hypot(x, y), (2, 3), (3,), numbers="nonzero")
case("clamp_min", lambda m, x: m.clamp_min(x, 0.1), (2, 3), numbers="apart")
case("clamp_max", lambda m, x: x.clamp_max(0.1), (2, 3), numbers="apart")
case("clamp_min tensor", lambda m, x, y: m.clamp_min(x, y), (2, 3), (3,), numbers="apart")
case("clamp_max tensor", lambda m, x, y: x.clamp_max(y), (2, 3), (3,), numbers="apart")
case("nan_to_num", lambda m, x: m.nan_to_num(m.where(x > 0, x, float("inf")), 3.0, 2.0, 1.0), (2, 3), numbers="apart")
case("lerp", lambda m, x, y, w: m.lerp(x, y, w), (2, 3), (3,), (2, 1))
case("lerp scalar", lambda m, x, y: x.lerp(y, 0.3), (2, 3), (3,))
case("addcmul", lambda m, b, x, y: m.addcmul(b, x, y, value=3), (2, 3), (3,), (2, 1))
case("addcdiv", lambda m, b, x, y: b.addcdiv(x, y, value=0.5), (2, 3), (3,), (2, 1), numbers="nonzero")
for _name in ("erf", "erfc", "logit", "sinc"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(m.sigmoid(x)), (2, 3))
case("erfinv", lambda m, x: m.erfinv(x), (2, 3), numbers="small")
for _name in ("lgamma", "digamma"):
    case(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3), numbers="nonzero")
case("polygamma", lambda m, x: m.polygamma(2, x), (2, 3), numbers="positive")
case("polygamma 1", lambda m, x: m.polygamma(1, x), (2, 3), numbers="positive")
case("mvlgamma", lambda m, x: x.mvlgamma(2), (2, 3), numbers="positive", name_differs=True)
case("logit eps", lambda m, x: x.logit(0.3), (2, 3), numbers="positive")
case("xlogy", lambda m, x, y: m.xlogy(x, y), (2, 3), (3,), numbers="positive")
case("xlogy of a number", lambda m, x: m.xlogy(2.5, x), (2, 3), numbers="positive")
case("xlogy by a number", lambda m, x: x.xlogy(2.5), (2, 3))
case("special.xlog1py", lambda m, x, y: m.special.xlog1py(x, y), (2, 3), (2, 1), numbers="positive")
case("special.entr", lambda m, x: m.special.entr(x), (2, 3), numbers="positive")
case("special.ndtr", lambda m, x: m.special.ndtr(x), (2, 3), name_differs=True)
case("sgn", lambda m, x: m.sgn(x) * x, (2, 3), numbers="apart")
case("copysign", lambda m, x, y: m.copysign(x, y), (2, 3), (3,), numbers="apart")
case("copysign number", lambda m, x: x.copysign(-2.0), (2, 3), numbers="apart")
case("fmax", lambda m, x, y: m.fmax(x, y), (2, 3), (3,), numbers="apart")
case("fmin", lambda m, x, y: m.fmin(x, y), (2, 3), (2, 1), numbers="apart")
case("logaddexp", lambda m, x, y: m.logaddexp(x, y), (2, 3), (3,))
case("logaddexp2", lambda m, x, y: m.logaddexp2(x, y), (2, 3), ())
case("rad2deg", lambda m, x: m.rad2deg(x), (2, 3))
case("deg2rad", lambda m, x: m.deg2rad(x), (2, 3))
case("positive", lambda m, x: m.positive(x * 2), (2, 3))
case("float_power", lambda m, x, y: m.float_power(x, y), (2, 3), (3,), numbers="positive")
case("masked_fill", lambda m, x: x.masked_fill(m.tensor([True, False, True]), 2.0), (2, 3))
case("masked_fill tensor", lambda m, x, y: m.masked_fill(x, m.tensor([True, False, True]), y), (2, 3), ())
case("masked_fill broadcast", lambda m, x: x.masked_fill(m.tensor([[True], [False]]), 2.0), (3,))
case("masked_scatter", lambda m, x, y: x.masked_scatter(m.tensor([True, False, True]), y), (2, 3), (2, 3))
case("masked_select", lambda m, x: m.masked_select(x, m.tensor([True, False, True])), (2, 3))
case("masked_select broadcast", lambda m, x: m.masked_select(x, m.tensor([[True, False, True], [True, True, False]])) ** 2, (3,))
case("tril", lambda m, x: m.tril(x, -1), (2, 3, 3))
case("triu", lambda m, x: x.triu(1), (3, 4))
case("cumsum", lambda m, x: x.cumsum(1), (2, 3))
case("cumsum squared", lambda m, x: m.cumsum(x, 0) ** 2, (3, 2))
case("cumprod", lambda m, x: m.cumprod(x, 0), (3, 2), numbers="nonzero")
case("cumprod with zeros", lambda m, x: m.cumprod(x * m.tensor([1.0, 0.0, 1.0, 0.0], dtype=m.float64), 0), (4,), numbers="nonzero")

# ---- reductions -----------------------------------------------------------------------------------------
case("sum", lambda m, x: x.sum(), (2, 3))
case("sum 0-d", lambda m, x: x.sum(), ())
case("sum dim", lambda m, x: x.sum(1), (2, 3, 4))
case("sum dims", lambda m, x: x.sum((0, 2)), (2, 3, 4))
case("sum keepdim", lambda m, x: m.sum(x, -1, keepdim=True), (2, 3))
case("sum transposed", lambda m, x: x.t().sum(0), (2, 3))
case("sum empty dims", lambda m, x: x.sum(()), (2, 3))
case("sum of nothing", lambda m, x: x.sum(0), (0, 3))
case("mean", lambda m, x: x.mean(), (2, 3))
case("mean dim", lambda m, x: x.mean(1), (2, 3))
case("mean keepdim", lambda m, x: x.mean((0, 1), True), (2, 3))
case("prod", lambda m, x: x.prod(), (4,), numbers="nonzero")
case("prod dim", lambda m, x: x.prod(1), (2, 3), numbers="nonzero")
case("prod keepdim", lambda m, x: x.prod(0, keepdim=True), (2, 3), numbers="nonzero")
case("prod with a zero", lambda m, x: (x * m.tensor([1.0, 0.0, 1.0], dtype=m.float64)).prod(), (3,), numbers="nonzero")
case("prod with two zeros", lambda m, x: (x * m.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], dtype=m.float64)).prod(1), (2, 3),
     numbers="nonzero")
case("var", lambda m, x: x.var(), (5,))
case("var dim", lambda m, x: x.var(0), (4, 3))
case("var correction", lambda m, x: m.var(x, 1, correction=0, keepdim=True), (2, 5))
case("std", lambda m, x: x.std(1), (2, 5))
case("std all", lambda m, x: m.std(x, correction=0), (2, 5))
case("amax", lambda m, x: x.amax(1), (2, 3), numbers="apart")
case("amax all", lambda m, x: m.amax(x), (2, 3), numbers="apart")
case("amin dims", lambda m, x: m.amin(x, (0, 1), keepdim=True), (2, 3), numbers="apart")
case("max", lambda m, x: x.max(), (2, 3), numbers="apart")
case("max dim", lambda m, x: x.max(1)[0], (2, 3), numbers="apart")
case("max keepdim", lambda m, x: m.max(x, 0, keepdim=True)[0], (2, 3), numbers="apart")
case("min", lambda m, x: x.min(), (2, 3), numbers="apart")
case("min dim", lambda m, x: x.min(0).values, (2, 3), numbers="apart")
case("max of two", lambda m, x, y: m.max(x, y), (3,), (3,), numbers="apart")
case("logsumexp", lambda m, x: m.logsumexp(x, 1), (2, 3))
case("logsumexp dims", lambda m, x: x.logsumexp((0, 1), keepdim=True), (2, 3))

# ---- matrices -------------------------------------------------------------------------------------------
case("mm", lambda m, x, y: m.mm(x, y), (2, 3), (3, 4))
case("mm transposed", lambda m, x, y: x.t() @ y.t(), (3, 2), (4, 3))
case("bmm", lambda m, x, y: m.bmm(x, y), (2, 3, 4), (2, 4, 2))
case("mv", lambda m, x, y: m.mv(x, y), (2, 3), (3,))
case("dot", lambda m, x, y: m.dot(x, y), (4,), (4,))
case("addmm", lambda m, b, x, y: m.addmm(b, x, y), (4,), (2, 3), (3, 4))
case("addmm scaled", lambda m, b, x, y: m.addmm(b, x, y, beta=2, alpha=3), (2, 4), (2, 3), (3, 4))
case("addmv", lambda m, b, x, y: m.addmv(b, x, y, beta=2, alpha=3), (2,), (2, 3), (3,))
case("addmv plain", lambda m, b, x, y: b.addmv(x, y), (), (2, 3), (3,))
case("addr", lambda m, b, x, y: m.addr(b, x, y, alpha=2), (2, 3), (2,), (3,))
case("baddbmm", lambda m, b, x, y: m.baddbmm(b, x, y, beta=0.5), (2, 3, 2), (2, 3, 4), (2, 4, 2))
case("matmul 1 1", lambda m, x, y: m.matmul(x, y), (3,), (3,))
case("matmul 2 1", lambda m, x, y: x @ y, (2, 3), (3,))
case("matmul 1 2", lambda m, x, y: x @ y, (3,), (3, 2))
case("matmul 3 2", lambda m, x, y: x @ y, (2, 3, 4), (4, 2))
case("matmul 3 1", lambda m, x, y: x @ y, (2, 3, 4), (4,))
case("matmul 3 3", lambda m, x, y: x @ y, (2, 3, 4), (2, 4, 2))
case("matmul broadcast", lambda m, x, y: x @ y, (2, 1, 3, 4), (5, 4, 2))
case("matmul 1 3", lambda m, x, y: x @ y, (4,), (2, 4, 3))
case("matmul 2 3", lambda m, x, y: x @ y, (3, 4), (2, 4, 2))
case("linear", lambda m, x, w, b: F(m).linear(x, w, b), (5, 3), (2, 3), (2,))
case("linear no bias", lambda m, x, w: F(m).linear(x, w), (5, 3), (2, 3))
case("linear 3-d", lambda m, x, w, b: F(m).linear(x, w, b), (2, 5, 3), (2, 3), (2,))
case("linear vector", lambda m, x, w, b: F(m).linear(x, w, b), (3,), (2, 3), (2,))

# ---- shape ----------------------------------------------------------------------------------------------
case("reshape", lambda m, x: x.reshape(3, 2), (2, 3))
case("reshape copies", lambda m, x: x.t().reshape(-1), (2, 3))
case("view", lambda m, x: x.view(-1), (2, 3))
case("view 0-d", lambda m, x: x.view(()), (1,))
case("transpose", lambda m, x: x.transpose(0, 2), (2, 3, 4))
case("permute", lambda m, x: x.permute(2, 0, 1), (2, 3, 4))
case("t", lambda m, x: x.t(), (2, 3))
case("T", lambda m, x: x.T, (2, 3))
case("mT", lambda m, x: x.mT, (2, 3, 4))
case("expand", lambda m, x: x.expand(4, 2, 3), (2, 1))
case("expand -1", lambda m, x: x.expand(-1, 3), (2, 1))
case("expand_as", lambda m, x, y: x.expand_as(y) * y, (3,), (2, 3))
case("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3)), (3,))
case("squeeze", lambda m, x: x.squeeze(), (1, 3, 1))
case("squeeze dim", lambda m, x: x.squeeze(0), (1, 3, 1))
case("squeeze dims", lambda m, x: x.squeeze((0, 2)), (1, 3, 1))
case("squeeze nothing", lambda m, x: x.squeeze(1), (1, 3))
case("unsqueeze", lambda m, x: x.unsqueeze(1), (2, 3))
case("unsqueeze last", lambda m, x: x.t().unsqueeze(-1), (2, 3))
case("flatten", lambda m, x: x.flatten(1), (2, 3, 4))
case("flatten 0-d", lambda m, x: (x * 1).flatten(), ())
case("unflatten", lambda m, x: x.unflatten(1, (2, -1)), (2, 6))
case("movedim", lambda m, x: m.movedim(x, 0, 2), (2, 3, 4))
case("ravel", lambda m, x: m.ravel(x), (2, 3))
case("select", lambda m, x: x.select(1, 2), (2, 3))
case("narrow", lambda m, x: x.narrow(1, 1, 2), (2, 3))
case("chunk", lambda m, x: x.chunk(2, 1)[0], (2, 5))
case("chunk all", lambda m, x: x.chunk(2, 1)[0].sum() * x.chunk(2, 1)[1].sum(), (2, 5))
case("split", lambda m, x: x.split(2)[1], (5, 2))
case("split sizes", lambda m, x: x.split([1, 2, 2])[2], (5, 2))
case("unbind", lambda m, x: x.unbind(1)[1] * x.unbind(1)[0], (2, 3))
case("iterate", lambda m, x: sum(row * (i + 1) for i, row in enumerate(x)), (3, 2))
case("cat", lambda m, x, y: m.cat([x, y], 1), (2, 3), (2, 1))
case("cat one", lambda m, x: m.cat([x, x]), (2, 3))
case("stack", lambda m, x, y: m.stack([x, y], -1), (2, 3), (2, 3))
case("clone", lambda m, x: x.clone(), (2, 3))
case("clone transposed", lambda m, x: x.t().clone(), (2, 3))
case("contiguous", lambda m, x: x.t().contiguous(), (2, 3))
case("to", lambda m, x: x.to(m.float32).to(m.float64) * 0 + x.double(), (2, 3), double=False)

# ---- indexing -------------------------------------------------------------------------------------------
case("x[0]", lambda m, x: x[0], (2, 3))
case("x[-1, 1]", lambda m, x: x[-1, 1], (2, 3))
case("x[:, 1]", lambda m, x: x[:, 1], (2, 3))
case("x[1:, ::2]", lambda m, x: x[1:, ::2], (3, 5))
case("x[..., None]", lambda m, x: x[..., None], (2, 3))
case("x[None, :, 0]", lambda m, x: x[None, :, 0], (2, 3))
case("x[:]", lambda m, x: x[:], (2, 3))
case("x[...]", lambda m, x: x[...], (2, 3))
case("x[index]", lambda m, x: x[m.tensor([1, 0, 1])], (2, 3))
case("x[:, index]", lambda m, x: x[:, m.tensor([[1, 0], [2, 2]])], (2, 3))
case("x[i, j]", lambda m, x: x[m.tensor([0, 1]), m.tensor([2, 0])], (2, 3))
case("x[i, :, j]", lambda m, x: x[m.tensor([0, 1]), :, m.tensor([2, 0])], (2, 3, 4))
case("x[mask]", lambda m, x: x[x > 0], (2, 3), numbers="apart")
case("x[:, mask]", lambda m, x: x[:, m.tensor([True, False, True])], (2, 3))
case("x[negative index]", lambda m, x: x[m.tensor([-1, 0])], (2, 3))
case("x[0, index]", lambda m, x: x[0, m.tensor([1, 1])], (2, 3))
case("gather", lambda m, x: m.gather(x, 1, m.tensor(INDEX)), (2, 3))
case("gather small", lambda m, x: x.gather(0, m.tensor([[1, 0]])), (2, 3))
case("index_select", lambda m, x: m.index_select(x, 1, m.tensor([2, 0, 2])), (2, 3))
case("scatter_add", lambda m, x, y: m.scatter_add(x, 1, m.tensor(INDEX), y), (2, 3), (2, 3))
case("scatter_reduce prod", lambda m, x, y: x.scatter_reduce(1, m.tensor(INDEX), y, "prod"), (2, 3), (2, 3), numbers="positive")
case("scatter_reduce amax", lambda m, x, y: x.scatter_reduce(1, m.tensor(INDEX), y, "amax"), (2, 3), (2, 3), numbers="apart")
case("scatter_reduce amin", lambda m, x, y: x.scatter_reduce(1, m.tensor(INDEX), y, "amin"), (2, 3), (2, 3), numbers="apart")
case("index_add", lambda m, x, y: m.index_add(x, 0, m.tensor([0, 0]), y), (3, 2), (2, 2))
case("index_copy", lambda m, x, y: m.index_copy(x, 1, m.tensor([2, 0]), y), (2, 3), (2, 2))
case("index_fill", lambda m, x: x.index_fill(1, m.tensor([2, 0]), 3.0), (2, 3))
case("index_fill tensor", lambda m, x, y: m.index_fill(x, 0, m.tensor([1]), y), (2, 3), ())
case("index_fill tensor twice", lambda m, x, y: m.index_fill(x, 0, m.tensor([1, 1]), y), (2, 3), ())
case("index_add 0-d", lambda m, x, y: m.index_add(x, 0, m.tensor([0]), y, alpha=2), (), ())
case("index_copy 0-d", lambda m, x, y: m.index_copy(x, 0, m.tensor([0]), y), (), ())
case("index_fill 0-d", lambda m, x, y: m.index_fill(x, 0, m.tensor([0]), y), (), ())
case("scatter", lambda m, x, y: m.scatter(x, 1, m.tensor([[0, 2], [1, 0]]), y), (2, 3), (2, 2))
case("scatter number", lambda m, x: x.scatter(0, m.tensor([[0, 1, 0]]), 3.0), (2, 3))
case("index_put", lambda m, x, y: x.index_put((m.tensor([1, 0]),), y), (2, 3), (2, 3))
case("as_strided", lambda m, x: (x * 1).as_strided((2, 2), (3, 1), 1), (2, 3))
case("diagonal", lambda m, x: x.diagonal(), (3, 4))
case("diagonal of two dimensions", lambda m, x: m.diagonal(x, -1, 2, 0).exp(), (3, 2, 4))
case("as_strided overlapping", lambda m, x: (x * 1).as_strided((3, 3), (1, 1)), (2, 3))

# ---- order and number ---------------------------------------------------------------------------------
case("flip", lambda m, x: m.flip(x, (0, 2)) ** 2, (2, 3, 2))
case("flip method", lambda m, x: x.flip(1), (2, 3))
case("fliplr", lambda m, x: m.fliplr(x), (2, 3))
case("flipud", lambda m, x: x.flipud(), (2, 3))
case("roll", lambda m, x: m.roll(x, 2, 1), (2, 3))
case("roll dims", lambda m, x: x.roll((1, -1), (0, 1)) ** 2, (3, 4))
case("roll flat", lambda m, x: m.roll(x, 4), (2, 3))
case("roll flat squared", lambda m, x: m.roll(x, -1) ** 2, (2, 3))
for _turns in (-1, 1, 2, 4):
    case(f"rot90 {_turns}", lambda m, x, n=_turns: m.rot90(x, n, (2, 0)), (2, 3, 4))
case("repeat", lambda m, x: x.repeat(2, 1, 3), (2, 3))
case("repeat squared", lambda m, x: x.repeat(2, 2) ** 2, (3,))
case("repeat 0 times", lambda m, x: x.repeat(2, 0), (2, 3))
case("tile", lambda m, x: m.tile(x, (2,)), (2, 3))
case("repeat_interleave", lambda m, x: m.repeat_interleave(x, 2, 1), (2, 3))
case("repeat_interleave flat", lambda m, x: x.repeat_interleave(3), (2, 3))
case("repeat_interleave tensor", lambda m, x: x.repeat_interleave(m.tensor([2, 0, 1]), 1), (2, 3))
case("moveaxis", lambda m, x: m.moveaxis(x, 0, 2), (2, 3, 4))
case("hstack", lambda m, x, y: m.hstack([x, y]), (2, 3), (2, 1))
case("hstack vectors", lambda m, x, y: m.hstack([x, y]), (2,), ())
case("vstack", lambda m, x, y: m.vstack((x, y)), (2, 3), (3,))
case("dstack", lambda m, x, y: m.dstack((x, y)), (2, 3), (2, 3))
case("column_stack", lambda m, x, y: m.column_stack((x, y)), (2,), (2, 3))
case("tensor_split", lambda m, x: m.tensor_split(x, 3)[1], (5, 2))
case("tensor_split indices", lambda m, x: x.tensor_split((1, -1), 1)[1], (2, 4))
case("hsplit", lambda m, x: m.hsplit(x, 2)[1], (2, 4))
case("vsplit", lambda m, x: x.vsplit([1])[1], (3, 2))
case("dsplit", lambda m, x: m.dsplit(x, 2)[1], (1, 2, 4))
case("meshgrid ij", lambda m, x, y: m.meshgrid(x, y, indexing="ij")[0], (2,), (3,))
case("meshgrid xy", lambda m, x, y: m.meshgrid(x, y, indexing="xy")[1], (2,), (3,), name_differs=True)
case("broadcast_tensors", lambda m, x, y: m.broadcast_tensors(x, y)[1], (2, 3), (3,))
case("atleast_3d", lambda m, x: m.atleast_3d(x), (3,))
case("cartesian_prod", lambda m, x, y: m.cartesian_prod(x, y), (2,), (3,))
case("combinations", lambda m, x: m.combinations(x), (4,))
case("combinations with_replacement", lambda m, x: m.combinations(x, 3, True), (3,))
case("unfold", lambda m, x: x.unfold(1, 3, 2), (2, 7))
case("unfold overlapping", lambda m, x: x.t().unfold(0, 2, 1) ** 2, (2, 4))
case("diag of vector", lambda m, x: m.diag(x, 1), (3,))
case("diag of matrix", lambda m, x: m.diag(x, -1) ** 2, (3, 4))
case("diag_embed", lambda m, x: m.diag_embed(x, -1, 0, 2), (2, 3))
case("diagflat", lambda m, x: x.diagflat(), (2, 2))
case("trace", lambda m, x: x.trace() ** 2, (2, 3))
case("block_diag", lambda m, x, y: m.block_diag(x, y), (2, 3), (3,))

# ---- order and search -----------------------------------------------------------------------------------
for _down in (False, True):
    case(f"sort {_down}", lambda m, x, d=_down: m.sort(x, 1, d)[0] ** 2, (2, 4), numbers="apart")
case("sort stable", lambda m, x: x.sort(stable=True, dim=0).values, (3, 2), numbers="apart")
case("msort", lambda m, x: m.msort(x), (3, 2), numbers="apart")
case("sort 0-d", lambda m, x: m.sort(x).values * 2, (), numbers="apart")
case("topk", lambda m, x: m.topk(x, 2)[0], (2, 4), numbers="apart")
case("topk smallest", lambda m, x: x.topk(2, 0, largest=False)[0] ** 2, (3, 2), numbers="apart")
case("kthvalue", lambda m, x: m.kthvalue(x, 2)[0], (2, 3), numbers="apart")
case("kthvalue keepdim", lambda m, x: x.kthvalue(1, 0, True)[0] ** 2, (3, 2), numbers="apart")
case("median", lambda m, x: m.median(x), (3, 3), numbers="apart")
case("median dim", lambda m, x: x.median(1)[0], (2, 4), numbers="apart")
case("nanmedian", lambda m, x: x.nanmedian() ** 2, (2, 3), numbers="apart")
case("nanmedian dim", lambda m, x: m.nanmedian(x, 0, True)[0], (3, 2), numbers="apart")
case("mode", lambda m, x: m.mode(x)[0], (2, 3), numbers="apart")
case("quantile", lambda m, x: m.quantile(x, 0.3), (2, 3), numbers="apart", name_differs=True)
case("quantile dim", lambda m, x: x.quantile(m.tensor([0.3, 0.9], dtype=m.float64), 1), (2, 4), numbers="apart", name_differs=True)
case("quantile of q", lambda m, x, q: m.quantile(x, q.abs() / (q.abs() + 1), 0, keepdim=True), (4, 2), (2,), numbers="apart",
     name_differs=True)
case("nanquantile", lambda m, x: m.nanquantile(x, 0.7, 1, interpolation="midpoint") ** 2, (2, 4), numbers="apart",
     writes=True)       # it takes away dimensions of its result in place, as in PyTorch
case("take", lambda m, x: m.take(x, m.tensor([[0, -1], [2, 2]])), (2, 3))
case("take squared", lambda m, x: x.take(m.tensor([5, 0, 5])) ** 2, (2, 3))
case("put", lambda m, x, y: m.put(x, m.tensor([1, -1]), y) ** 2, (2, 3), (2,))
case("put accumulate", lambda m, x, y: x.put(m.tensor([[1, 1]]), y, True), (2, 3), (1, 2))
case("take_along_dim", lambda m, x: m.take_along_dim(x, m.tensor([[2, 0]]), 1), (2, 3))
case("split_with_sizes", lambda m, x: sum(p.sum() * i for i, p in enumerate(x.split_with_sizes([1, 2], 1), 1)), (2, 3))
case("unsafe_split", lambda m, x: sum((p ** 2).sum() * i for i, p in enumerate(m.unsafe_split(x, 2), 1)), (3, 2))
case("unsafe_split_with_sizes", lambda m, x: (m.unsafe_split_with_sizes(x, [1, 2])[1]) ** 2, (3, 2))
case("unsafe_chunk", lambda m, x: m.unsafe_chunk(x, 2, 1)[0] ** 2, (2, 3))
case("fill", lambda m, x: m.fill(x, 2.0) * x, (2, 3))
case("fill tensor", lambda m, x, y: m.fill(x, y) * x, (2, 3), ())
for _name in ("prod", "mean", "amax", "amin"):
    case(f"index_reduce {_name}", lambda m, x, y, f=_name: m.index_reduce(x, 1, m.tensor([2, 0, 2]), y, f), (2, 3), (2, 3),
         numbers="apart", name_differs=True)
    case(f"index_reduce {_name} alone", lambda m, x, y, f=_name: x.index_reduce(1, m.tensor([2, 0, 2]), y, f, include_self=False),
         (2, 3), (2, 3), numbers="apart", name_differs=True)
case("igamma", lambda m, x: m.igamma(m.tensor([0.5, 3.0, 30.0]).double(), x * 3), (2, 3), numbers="positive")
case("igammac", lambda m, x: m.igammac(m.tensor([0.5, 3.0, 30.0]).double(), x * 3), (2, 3), numbers="positive")
case("special_zeta", lambda m, x: m.special.zeta(m.tensor([1.5, 3.0, 30.0]).double(), x), (2, 3), numbers="positive")
writing("igamma_", lambda m, y: m.full((2, 3), 2.0, dtype=y.dtype).igamma_(y * 3), (2, 3), numbers="positive")
writing("igammac_", lambda m, y: m.full((2, 3), 2.0, dtype=y.dtype).igammac_(y * 3), (2, 3), numbers="positive")
writing("i0_", lambda m, x: (x * 4).i0_(), (2, 3))
writing("nextafter_", lambda m, x, y: (x * 1).nextafter_(y), (2, 3), (2, 3), numbers="apart", double=False)
writing("index_reduce_", lambda m, x, y: (x * 1).index_reduce_(1, m.tensor([2, 0, 2]), y, "amax"), (2, 3), (2, 3), numbers="apart",
        name_differs=True)
case("i0", lambda m, x: m.i0(x * 4), (2, 3))
case("special_i1", lambda m, x: m.special.i1(x * 4), (2, 3), numbers="nonzero")
case("special_i0e", lambda m, x: m.special.i0e(x * 4), (2, 3), numbers="nonzero")
case("special_i1e", lambda m, x: m.special.i1e(x * 4), (2, 3), numbers="nonzero")
case("nextafter", lambda m, x, y: m.nextafter(x, y) * x * y, (2, 3), (2, 3), numbers="apart")
case("frexp", lambda m, x: m.frexp(x).mantissa ** 2, (2, 3), numbers="nonzero")
case("pdist", lambda m, x: m.pdist(x), (4, 3), name_differs=True, double=False)     # in PyTorch
for _p in (0.5, 1, 3):
    case(f"pdist {_p}", lambda m, x, p=_p: m.pdist(x, p), (4, 3), name_differs=True, double=False)
case("bilinear", lambda m, x, y, w, b: m.bilinear(x, y, w, b), (2, 3), (2, 2), (4, 3, 2), (4,), name_differs=True)
case("local_response_norm", lambda m, x: F(m).local_response_norm(x, 3, alpha=0.5), (2, 4, 3), name_differs=True)
for _shape in ((3, 3), (2, 3), (4, 2), (2, 3, 3)):
    case(f"lu {_shape}", lambda m, x: sum((t ** 2 * i).sum() for i, t in enumerate(m.linalg.lu(x)[1:], 1)), _shape, numbers="apart")
case("take_along_dim negative", lambda m, x: m.take_along_dim(x, m.tensor([[2, -3]]), 1), (2, 3))
case("take_along_dim flat", lambda m, x: x.take_along_dim(m.tensor([[2, 0]])) ** 2, (2, 3))

# ---- products and norms ----------------------------------------------------------------------------------
case("outer", lambda m, x, y: m.outer(x, y), (2,), (3,))
case("inner", lambda m, x, y: m.inner(x, y), (2, 3), (3,), name_differs=True)
case("vdot", lambda m, x, y: m.vdot(x, y), (3,), (3,), name_differs=True)
case("tensordot", lambda m, x, y: m.tensordot(x, y, 2), (2, 3, 4), (3, 4, 2))
case("tensordot lists", lambda m, x, y: m.tensordot(x, y, ([0, -1], [1, 0])), (2, 3, 4), (4, 2))
case("tensordot none", lambda m, x, y: m.tensordot(x, y, 0), (2,), (3,))
case("kron", lambda m, x, y: m.kron(x, y), (2, 3), (2,), name_differs=True)
case("cross", lambda m, x, y: m.cross(x, y, 1), (2, 3), (2, 3))
case("linalg.cross", lambda m, x, y: m.linalg.cross(x, y), (2, 1, 3), (1, 4, 3))
case("matrix_power", lambda m, x: m.matrix_power(x, 5), (3, 3))
case("matrix_power 1", lambda m, x: m.linalg.matrix_power(x, 1), (2, 2, 2))
case("multi_dot", lambda m, x, y, z: m.linalg.multi_dot([x, y, z]), (2, 3), (3, 4), (4,))
for _equation, _shapes in {
        "ij,jk": [(2, 3), (3, 4)], "ij,jk->ki": [(2, 3), (3, 4)], "ii": [(3, 3)], "ii->i": [(3, 3)], "ij->ji": [(2, 3)],
        "i,j->ij": [(2,), (3,)], "bij,bjk->bik": [(2, 2, 3), (2, 3, 2)], "...ij,...kj->...ik": [(2, 2, 3), (3, 3)],
        "ij,j,k->ik": [(2, 3), (3,), (2,)], "ijk->j": [(2, 3, 2)], ",i->i": [(), (3,)], "i,i": [(3,), (3,)],
        "...i->i...": [(2, 3)], "ij,ij->ij": [(2, 1), (1, 3)], "abc,cd,be->ade": [(2, 3, 2), (2, 2), (3, 2)],
}.items():
    case(f"einsum {_equation}", lambda m, *xs, e=_equation: m.einsum(e, *xs), *_shapes, name_differs=True)
for _p in (2, 1, 3, 1.5, float("inf"), float("-inf"), 0.5):
    case(f"vector_norm {_p}", lambda m, x, p=_p: m.linalg.vector_norm(x, p), (2, 3), numbers="apart")
    case(f"norm {_p} dim", lambda m, x, p=_p: m.norm(x, p, 1, True) ** 2, (2, 3), numbers="apart")
case("norm", lambda m, x: x.norm(), (2, 3))
for _p in ("fro", 1, -1, float("inf")):
    case(f"matrix_norm {_p}", lambda m, x, p=_p: m.linalg.matrix_norm(x, p), (2, 3, 2), name_differs=True)
case("dist", lambda m, x, y: m.dist(x, y, 3), (2, 3), (3,), numbers="apart")
case("renorm", lambda m, x: m.renorm(x, 2, 0, 1.0), (2, 3))
case("renorm 3", lambda m, x: m.renorm(x, 3, 1, 0.7), (2, 3, 2), numbers="apart")

# ---- summaries and running ones -----------------------------------------------------------------------------
case("nansum", lambda m, x: m.nansum(x, 1), (2, 3))
case("nansum all", lambda m, x: m.nansum(m.cat([x ** 2, x.new_full((1, 3), float("nan"))])), (2, 3))
case("nansum dtype", lambda m, x: m.nansum(x ** 2, 0, dtype=m.float64), (2, 3))
case("nanmean", lambda m, x: x.nanmean(), (2, 3), name_differs=False)
case("var_mean", lambda m, x: m.var_mean(x, 1)[0] + m.var_mean(x, 1)[1], (2, 3), name_differs=True)
case("var_mean of all", lambda m, x: m.var_mean(x, correction=0)[0], (2, 3))
case("var_mean, the mean", lambda m, x: m.var_mean(x, (0, 2), keepdim=True)[1] ** 2, (2, 3, 2))
case("std_mean of all", lambda m, x: m.std_mean(x)[0], (2, 3))
case("std_mean, the mean", lambda m, x: m.std_mean(x, 1)[1] ** 2, (2, 3))
case("std_mean", lambda m, x: m.std_mean(x)[0] * m.std_mean(x)[1], (2, 3), name_differs=True)
case("aminmax", lambda m, x: x.aminmax(dim=1)[0] * m.aminmax(x)[1], (2, 3), numbers="apart")
case("aminmax, the least", lambda m, x: m.aminmax(x, dim=0, keepdim=True)[0] ** 2, (2, 3), numbers="apart")
case("diff", lambda m, x: m.diff(x), (2, 3))
case("diff 2", lambda m, x, y: x.diff(2, 0, prepend=y) ** 2, (3, 2), (1, 2))
case("trapezoid", lambda m, y, x: m.trapezoid(y, x), (2, 3), (3,), name_differs=True)
case("trapezoid dx", lambda m, y: m.trapz(y, dx=0.5, dim=0) ** 2, (3, 2))
case("cumulative_trapezoid", lambda m, y: m.cumulative_trapezoid(y), (2, 3))
case("cummax", lambda m, x: m.cummax(x, 1)[0], (2, 4), numbers="apart")
case("cummin", lambda m, x: x.cummin(0).values ** 2, (3, 2), numbers="apart")
case("logcumsumexp", lambda m, x: m.logcumsumexp(x, 1), (2, 4))
case("logcumsumexp dim 0", lambda m, x: x.logcumsumexp(0) ** 2, (3, 2))

# ---- writing --------------------------------------------------------------------------------------------
writing("add_", lambda m, x, y: (x * 1).add_(y), (2, 3), (3,))
writing("addmm_", lambda m, b, x, y: (b * 1).addmm_(x, y, beta=2, alpha=3), (2, 4), (2, 3), (3, 4))
writing("mul_", lambda m, x, y: (x * 1).mul_(y), (2, 3), (2, 3))
writing("div_ and sub_", lambda m, x, y: (x * 1).div_(y).sub_(y, alpha=2), (2, 3), (3,), numbers="nonzero")
writing("pow_", lambda m, x: (x * 1).pow_(3), (3,))
writing("exp_", lambda m, x: (x * 1).exp_(), (3,))
writing("tanh_", lambda m, x: (x * 1).tanh_(), (3,))
writing("sigmoid_", lambda m, x: (x * 1).sigmoid_(), (3,))
writing("relu_", lambda m, x: (x * 1).relu_(), (3,), numbers="apart")
writing("elu_", lambda m, x: F(m).elu(x * 1, 0.7, inplace=True), (2, 3), numbers="apart")
writing("selu_", lambda m, x: F(m).selu(x * 1, inplace=True), (2, 3), numbers="apart")
writing("celu_", lambda m, x: F(m).celu(x * 1, 0.5, inplace=True), (2, 3), numbers="apart")
writing("silu_", lambda m, x: F(m).silu(x * 1, inplace=True), (2, 3))
writing("mish_", lambda m, x: F(m).mish(x * 1, inplace=True), (2, 3))
writing("leaky_relu_", lambda m, x: F(m).leaky_relu(x * 1, 0.2, inplace=True) ** 2, (2, 3), numbers="apart")
writing("threshold_", lambda m, x: F(m).threshold(x * 1, 0.2, 0.7, inplace=True) ** 2, (2, 3), numbers="apart")
writing("hardtanh_", lambda m, x: F(m).hardtanh(x * 1, -0.4, 0.3, inplace=True) ** 2, (2, 3), numbers="apart")
writing("hardswish_", lambda m, x: F(m).hardswish(x * 4, inplace=True), (2, 3), numbers="apart")
writing("clamp_", lambda m, x: (x * 1).clamp_(-0.3, 0.5), (4,), numbers="apart")
writing("copy_", lambda m, x, y: (x * 1).copy_(y), (2, 3), (3,))
writing("fill_", lambda m, x, y: (x * 1).fill_(y), (2, 3), ())
writing("zero_", lambda m, x: (x * 1).zero_() + x, (2, 3))


for _name in ("t_", "squeeze_"):
    writing(_name, lambda m, x, f=_name: getattr(x * 1, f)(), (1, 3))
writing("transpose_", lambda m, x: (x * 1).transpose_(0, 2), (2, 3, 4))
writing("unsqueeze_", lambda m, x: (x * 1).unsqueeze_(1), (2, 3))
writing("squeeze_ dim", lambda m, x: (x * 1).squeeze_(0), (1, 3))
writing("squeeze_ dims", lambda m, x: (x * 1).squeeze_((0, 1)), (1, 3))
writing("as_strided_", lambda m, x: (x * 1).as_strided_((2, 2), (3, 1), 1), (2, 3))
for _name in ("eq_", "ne_", "lt_", "le_", "gt_", "ge_"):
    writing(_name, lambda m, x, f=_name: getattr(x * 1, f)(0.1), (2, 3), numbers="apart")
    writing(_name + " tensor", lambda m, x, y, f=_name: getattr(x * 1, f)(y) + y, (2, 3), (3,), numbers="apart")


def _written(m, x, write):
    y = x * 1
    write(y)
    return y


writing("x[0] = y", lambda m, x, y: _written(m, x, lambda z: z.__setitem__(0, y)), (2, 3), (3,))
writing("x[:, 1] = 2", lambda m, x: _written(m, x, lambda z: z.__setitem__((slice(None), 1), 2.0)), (2, 3))
writing("x[mask] = y", lambda m, x, y: _written(m, x, lambda z: z.__setitem__(x > 0, y)), (2, 3), (), numbers="apart")
writing("x[index] = y", lambda m, x, y: _written(m, x, lambda z: z.__setitem__(m.tensor([2, 0]), y)), (3, 2), (2, 2))
writing("x[0].mul_(y)", lambda m, x, y: _written(m, x, lambda z: z[0].mul_(y)), (2, 3), (3,))
writing("x.t()[1:].exp_()", lambda m, x: _written(m, x, lambda z: z.t()[1:].exp_()), (2, 3))
writing("index_put_ accumulate", lambda m, x, y: _written(
    m, x, lambda z: z.index_put_((m.tensor([0, 0]),), y, accumulate=True)), (2, 3), (2, 3))

writing("put_", lambda m, x, y: (x * 1).put_(m.tensor([1, 0]), y), (2, 3), (2,))

# ---- neural networks ------------------------------------------------------------------------------------
case("softmax", lambda m, x: m.softmax(x, 1), (2, 3))
case("softmax dim 0", lambda m, x: x.softmax(0), (3, 2))
case("F.softmax", lambda m, x: F(m).softmax(x, dim=-1), (2, 3))
case("log_softmax", lambda m, x: F(m).log_softmax(x, 1), (2, 3))
case("log_softmax dim 0", lambda m, x: m.log_softmax(x, 0), (3, 2))
case("embedding", lambda m, w: F(m).embedding(m.tensor([[1, 0], [3, 1]]), w) ** 2, (4, 3))
case("embedding of none", lambda m, w: F(m).embedding(m.zeros(0, 2, dtype=m.int64), w), (4, 3))
case("elu", lambda m, x: F(m).elu(x, 0.7), (2, 3), numbers="apart")
case("selu", lambda m, x: F(m).selu(x), (2, 3), numbers="apart")
case("celu", lambda m, x: F(m).celu(x, 0.5), (2, 3), numbers="apart")     # PyTorch has 1 / 0.7 in float32
case("gelu", lambda m, x: F(m).gelu(x), (2, 3))
case("gelu tanh", lambda m, x: F(m).gelu(x, approximate="tanh"), (2, 3))
case("gelu of nothing", lambda m, x: F(m).gelu(x), (0, 3))
case("silu", lambda m, x: F(m).silu(x), (2, 3))
case("mish", lambda m, x: F(m).mish(x), (2, 3))
case("softplus", lambda m, x: F(m).softplus(x, 2, 1.1), (2, 3), numbers="apart")
case("logsigmoid", lambda m, x: F(m).logsigmoid(x), (2, 3), numbers="apart")
case("glu", lambda m, x: F(m).glu(x), (2, 4))
case("glu dim 0", lambda m, x: F(m).glu(x, 0), (4, 3))
case("leaky_relu", lambda m, x: F(m).leaky_relu(x, 0.2), (2, 3), numbers="apart")
case("leaky_relu squared", lambda m, x: F(m).leaky_relu(x, 0.2) ** 2, (2, 3), numbers="apart")
case("threshold", lambda m, x: F(m).threshold(x, 0.2, 0.7) ** 2, (2, 3), numbers="apart")
case("hardtanh", lambda m, x: F(m).hardtanh(x, -0.4, 0.3) ** 2, (2, 3), numbers="apart")
case("relu6", lambda m, x: F(m).relu6(x) ** 2, (2, 3), numbers="apart")
case("softshrink", lambda m, x: F(m).softshrink(x, 0.3) ** 2, (2, 3), numbers="apart")
case("hardshrink", lambda m, x: F(m).hardshrink(x, 0.3) ** 2, (2, 3), numbers="apart")
case("hardswish", lambda m, x: F(m).hardswish(x * 4), (2, 3), numbers="apart")
case("prelu", lambda m, x, w: F(m).prelu(x, w) ** 2, (2, 3), (1,), numbers="apart")
case("prelu of channels", lambda m, x, w: F(m).prelu(x, w), (2, 3, 2), (3,), numbers="apart")
case("layer_norm", lambda m, x, w, b: F(m).layer_norm(x, (3,), w, b), (4, 3), (3,), (3,))
case("layer_norm plain", lambda m, x: F(m).layer_norm(x, (3,)) ** 2, (4, 3))
case("layer_norm two dims", lambda m, x, w, b: F(m).layer_norm(x, (2, 3), w, b), (2, 2, 3), (2, 3), (2, 3))
case("layer_norm of all", lambda m, x, w: F(m).layer_norm(x, (3, 2), w) ** 2, (3, 2), (3, 2))
case("layer_norm transposed", lambda m, x, w, b: F(m).layer_norm(x.transpose(0, 1), (4,), w, b), (4, 3), (4,), (4,))
case("rms_norm", lambda m, x, w: F(m).rms_norm(x, (3,), w), (4, 3), (3,))
case("rms_norm two dims", lambda m, x, w: F(m).rms_norm(x, (2, 3), w, eps=0.1), (2, 2, 3), (2, 3))
case("attention", lambda m, q, k, v: F(m).scaled_dot_product_attention(q, k, v), (2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3),
     name_differs=True)
case("attention causal", lambda m, q, k, v: F(m).scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.7),
     (2, 3, 4), (2, 3, 4), (2, 3, 2), name_differs=True)
case("attention causal, few keys", lambda m, q, k, v: F(m).scaled_dot_product_attention(q, k, v, is_causal=True),
     (2, 4, 3), (2, 2, 3), (2, 2, 3), name_differs=True)
case("attention negative scale", lambda m, q, k, v: F(m).scaled_dot_product_attention(q, k, v, scale=-0.7),
     (3, 4), (2, 4), (2, 3), name_differs=True)
def recurrent(m, kind, x, weights, state=None, **options):
    """The outputs of a layer with these weights, and its last states, side by side in a row for each step of the batch."""
    layer = getattr(m.nn, kind)(x.shape[-1], weights[1].shape[-1], bias=len(weights) > 2, dtype=m.float64, **options)
    with_names = dict(zip([name for name, _ in layer.named_parameters()], weights))
    z, last = m.func.functional_call(layer, with_names, (x, state))
    return m.cat([z, *(last if kind == "LSTM" else (last,))], 0)


for _kind, _gates, _options in (("LSTM", 4, {}), ("GRU", 3, {}), ("RNN", 1, {}), ("RNN", 1, {"nonlinearity": "relu"})):
    case(f"{_kind} layer {_options}", lambda m, x, *ws, k=_kind, o=_options: recurrent(m, k, x, ws, **o), (3, 2, 3), (_gates * 2, 3),
         (_gates * 2, 2), (_gates * 2,), (_gates * 2,), name_differs=True)
    case(f"{_kind} layer, no bias {_options}", lambda m, x, *ws, k=_kind, o=_options: recurrent(m, k, x, ws, **o), (2, 1, 2),
         (_gates * 2, 2), (_gates * 2, 2), name_differs=True)
    case(f"{_kind} layer from a state {_options}", lambda m, x, *ws, k=_kind, o=_options: recurrent(
        m, k, x, ws[:4], ws[4:] if k == "LSTM" else ws[4], **o), (2, 2, 2), (_gates * 2, 2), (_gates * 2, 2), (_gates * 2,),
        (_gates * 2,), *[(1, 2, 2)] * (2 if _kind == "LSTM" else 1), name_differs=True)


def first_gradients(m, kind, *xs):
    """The gradients of a layer's parameters, in a row, without a graph of them: those that the kernel of the backward computes."""
    with m.enable_grad():
        x, *weights = [x.detach().double().requires_grad_() for x in xs]      # other dtypes have no such kernel
        grads = m.autograd.grad(recurrent(m, kind, x, weights).pow(2).sum(), (x, *weights))
    return m.cat([g.reshape(-1) for g in grads])


for _kind, _gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    plain(f"gradients of {_kind}", lambda m, *xs, k=_kind: first_gradients(m, k, *xs), (3, 2, 3), (_gates * 2, 3), (_gates * 2, 2),
          (_gates * 2,), (_gates * 2,))
case("nll_loss", lambda m, x: F(m).nll_loss(x, m.tensor([1, 0])), (2, 3))
case("nll_loss weight", lambda m, x: F(m).nll_loss(x, m.tensor([1, 0, 2]), m.tensor([1.0, 2.0, 3.0], dtype=m.float64),
                                                   ignore_index=2), (3, 3))
case("nll_loss none", lambda m, x: F(m).nll_loss(x, m.tensor([1, 0]), reduction="none"), (2, 3))
case("nll_loss planes", lambda m, x: F(m).nll_loss(x, m.tensor([[1, 0], [2, 1]]), reduction="sum"), (2, 3, 2))
case("cross_entropy", lambda m, x: F(m).cross_entropy(x, m.tensor([1, 0])), (2, 3))
case("cross_entropy one", lambda m, x: F(m).cross_entropy(x, m.tensor(1)), (3,))
case("cross_entropy smooth", lambda m, x: F(m).cross_entropy(x, m.tensor([1, 0, 2]), label_smoothing=0.2, ignore_index=2,
                                                             weight=m.tensor([1.0, 2.0, 3.0], dtype=m.float64)), (3, 3))
case("cross_entropy smooth sum", lambda m, x: F(m).cross_entropy(x, m.tensor([1, 0]), label_smoothing=0.2, reduction="sum"), (2, 3))
case("cross_entropy smooth none", lambda m, x: F(m).cross_entropy(x, m.tensor([1, 0]), label_smoothing=0.2, reduction="none"),
     (2, 3))
case("cross_entropy probabilities", lambda m, x, y: F(m).cross_entropy(x, y), (2, 3), (2, 3), numbers="positive",
     name_differs=True)
case("cross_entropy probabilities smooth", lambda m, x, y: F(m).cross_entropy(x, y, label_smoothing=0.1, reduction="none",
     weight=m.tensor([1.0, 2.0, 3.0], dtype=m.float64)), (2, 3), (2, 3), numbers="positive")
case("mse_loss", lambda m, x, y: F(m).mse_loss(x, y), (2, 3), (2, 3))
case("mse_loss sum", lambda m, x, y: F(m).mse_loss(x, y, reduction="sum"), (2, 3), (2, 3))
case("mse_loss none", lambda m, x, y: F(m).mse_loss(x, y, reduction="none"), (2, 3), (2, 3))
case("mse_loss sum", lambda m, x, y: F(m).mse_loss(x, y, reduction="sum"), (2, 3), (2, 3))
case("smooth_l1_loss", lambda m, x, y: F(m).smooth_l1_loss(x, y, beta=0.7), (2, 3), (2, 3), numbers="apart")
case("smooth_l1_loss near", lambda m, x, y: F(m).smooth_l1_loss(x, y, beta=30.0, reduction="sum"), (2, 3), (2, 3))
case("smooth_l1_loss 0", lambda m, x, y: F(m).smooth_l1_loss(x, y, beta=0, reduction="none"), (2, 3), (2, 3), numbers="apart")
case("huber_loss", lambda m, x, y: F(m).huber_loss(x, y, delta=0.7), (2, 3), (2, 3), numbers="apart")
case("huber_loss near", lambda m, x, y: F(m).huber_loss(x, y, delta=30.0, reduction="none"), (2, 3), (2, 3))
case("binary_cross_entropy mean", lambda m, x, y: F(m).binary_cross_entropy(m.sigmoid(x), m.sigmoid(y), m.tensor([0.5, 2.0, 1.5], dtype=x.dtype)),
     (2, 3), (2, 3))
case("binary_cross_entropy_with_logits mean", lambda m, x, y: F(m).binary_cross_entropy_with_logits(x, m.sigmoid(y)), (2, 3), (2, 3))
case("binary_cross_entropy_with_logits weight", lambda m, x, y: F(m).binary_cross_entropy_with_logits(
    x, m.sigmoid(y), m.tensor([0.5, 2.0, 1.5], dtype=x.dtype), pos_weight=m.tensor([[2.0], [0.5]], dtype=x.dtype)), (2, 3), (2, 3))
case("binary_cross_entropy", lambda m, x, y: F(m).binary_cross_entropy(m.sigmoid(x), m.sigmoid(y), reduction="none"), (2, 3), (2, 3))
case("binary_cross_entropy_with_logits", lambda m, x, y: F(m).binary_cross_entropy_with_logits(x, m.sigmoid(y), reduction="none"), (2, 3), (2, 3))
case("binary_cross_entropy_with_logits pos_weight", lambda m, x, y: F(m).binary_cross_entropy_with_logits(
    x, m.sigmoid(y), pos_weight=m.tensor([1.0, 2.0, 0.5], dtype=m.float64), reduction="none"), (2, 3), (2, 3), name_differs=True)
ours("cdist", lambda f, x, y: (f(x, y, 2.0) * 1e-3) ** 2, (3, 2), (4, 2), numbers="apart")
ours("silu", lambda op, x: op(x), (2, 3), dtype="complex128")      # PyTorch computes it, and has no derivative
ours("hardsigmoid", lambda op, x: op(x * 4) ** 2, (2, 3), numbers="apart")     # PyTorch has no second derivative
ours("weighted_binary_cross_entropy_with_logits", lambda f, x, y, p: f(x, y, p), (2, 3), (2, 3), (3,))
case("conv2d", lambda m, x, w, b: F(m).conv2d(x, w, b), (2, 3, 5, 6), (4, 3, 3, 2), (4,))
case("group_norm", lambda m, x, w, b: F(m).group_norm(x, 2, w, b) ** 2, (2, 4, 3), (4,), (4,))
case("group_norm plain", lambda m, x: F(m).group_norm(x, 1) ** 2, (2, 4))
case("batch_norm", lambda m, x, w, b: F(m).batch_norm(x, None, None, w, b, training=True) ** 2, (3, 2, 2), (2,), (2,))
case("batch_norm plain", lambda m, x: F(m).batch_norm(x, None, None, training=True) ** 2, (4, 2))
case("batch_norm running", lambda m, x, w, b: F(m).batch_norm(
    x, m.tensor([0.5, -1.0], dtype=x.dtype), m.tensor([2.0, 0.5], dtype=x.dtype), w, b) ** 2, (3, 2, 2), (2,), (2,))
case("pad", lambda m, x: F(m).pad(x, (1, 2, 0, 1)) ** 2, (2, 3))
case("pad value", lambda m, x: F(m).pad(x, (1, 0), value=2.5) ** 2, (2, 3))
case("pad shorter", lambda m, x: F(m).pad(x, (-1, 2, 1, -1)) ** 2, (3, 4))
case("pad shorter only", lambda m, x: F(m).pad(x, (-1, 0)) ** 2, (3, 4))
case("pad reflect 1", lambda m, x: F(m).pad(x, (2, 1), mode="reflect") ** 2, (2, 3))
case("pad reflect 2", lambda m, x: F(m).pad(x, (1, 2, 0, 1), mode="reflect") ** 2, (1, 2, 3))
case("pad reflect 3", lambda m, x: F(m).pad(x, (1, 1, 1, 0, 0, 1), mode="reflect") ** 2, (1, 2, 2, 2))
case("pad replicate 1", lambda m, x: F(m).pad(x, (2, 1), mode="replicate") ** 2, (2, 3))
case("pad replicate 2", lambda m, x: F(m).pad(x, (1, 2, 0, 1), mode="replicate") ** 2, (1, 2, 3))
case("pad replicate 3", lambda m, x: F(m).pad(x, (1, 1, 1, 0, 0, 1), mode="replicate") ** 2, (1, 2, 2, 2))
case("pad reflect shorter", lambda m, x: F(m).pad(x, (-1, 2), mode="reflect") ** 2, (2, 4))
case("pad replicate shorter", lambda m, x: F(m).pad(x, (2, -1), mode="replicate") ** 2, (2, 4))
case("pad circular", lambda m, x: F(m).pad(x, (1, 2), mode="circular") ** 2, (2, 4), name_differs=True)
case("pad circular both", lambda m, x: F(m).pad(x, (2, -1, -1, 2), mode="circular") ** 2, (1, 1, 3, 4), name_differs=True)
case("conv2d strided", lambda m, x, w: F(m).conv2d(x, w, stride=(2, 1), padding=(1, 2)), (2, 2, 5, 6), (3, 2, 3, 3))
case("conv2d dilated", lambda m, x, w: F(m).conv2d(x, w, dilation=2, padding=1), (1, 2, 7, 6), (3, 2, 3, 2))
case("conv2d groups", lambda m, x, w, b: F(m).conv2d(x, w, b, groups=2), (2, 4, 4, 4), (6, 2, 3, 3), (6,))
case("conv2d same", lambda m, x, w: F(m).conv2d(x, w, padding="same"), (1, 2, 4, 5), (3, 2, 3, 2), name_differs=False)
case("conv2d unbatched", lambda m, x, w: F(m).conv2d(x, w), (2, 4, 5), (3, 2, 3, 3))
case("conv2d transposed input", lambda m, x, w: F(m).conv2d(x.transpose(2, 3), w), (1, 2, 5, 4), (3, 2, 3, 3))
case("max_pool2d", lambda m, x: F(m).max_pool2d(x, 2), (2, 2, 4, 5), numbers="apart")
case("max_pool2d padded", lambda m, x: F(m).max_pool2d(x, 3, stride=2, padding=1), (1, 2, 5, 6), numbers="apart")
case("max_pool2d ceil", lambda m, x: F(m).max_pool2d(x, (2, 3), ceil_mode=True), (1, 2, 5, 7), numbers="apart")
case("max_pool2d dilated", lambda m, x: F(m).max_pool2d(x, 2, stride=1, dilation=2), (1, 1, 5, 5), numbers="apart")
case("max_pool2d unbatched", lambda m, x: F(m).max_pool2d(x, 2), (2, 4, 4), numbers="apart")
case("avg_pool2d", lambda m, x: F(m).avg_pool2d(x, 2), (2, 2, 4, 5))
case("avg_pool2d padded", lambda m, x: F(m).avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False), (1, 2, 5, 6))
case("avg_pool2d ceil", lambda m, x: F(m).avg_pool2d(x, (2, 3), ceil_mode=True), (1, 2, 5, 7))
case("avg_pool2d divisor", lambda m, x: F(m).avg_pool2d(x, 2, divisor_override=3), (1, 1, 4, 4))
case("conv1d", lambda m, x, w, b: F(m).conv1d(x, w, b, stride=2, padding=1, dilation=2), (2, 2, 7), (3, 2, 2), (3,))
case("conv1d unbatched", lambda m, x, w: F(m).conv1d(x, w, groups=2), (4, 5), (2, 2, 3))
case("conv1d same", lambda m, x, w: F(m).conv1d(x, w, padding="same", dilation=3), (1, 2, 5), (1, 2, 2), name_differs=False)
case("conv3d", lambda m, x, w, b: F(m).conv3d(x, w, b, stride=(1, 2, 1), padding=(1, 0, 1)), (1, 2, 3, 4, 3), (2, 2, 2, 3, 2), (2,))
case("conv3d same", lambda m, x, w: F(m).conv3d(x, w, padding="same"), (1, 1, 2, 3, 2), (1, 1, 1, 3, 1), name_differs=False)
case("conv2d no batch", lambda m, x, w, b: F(m).conv2d(x, w, b), (0, 2, 4, 4), (3, 2, 2, 2), (3,))
case("conv_transpose1d", lambda m, x, w, b: F(m).conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1), (2, 3, 4), (3, 2, 3), (2,))
case("conv_transpose1d groups", lambda m, x, w, b: F(m).conv_transpose1d(x, w, b, groups=2, dilation=2), (4, 3), (4, 1, 2), (2,))
case("conv_transpose2d", lambda m, x, w, b: F(m).conv_transpose2d(x, w, b, stride=(2, 1), padding=(1, 0), output_padding=(1, 0)),
     (1, 2, 3, 2), (2, 3, 3, 2), (3,))
case("conv_transpose2d transposed input", lambda m, x, w: F(m).conv_transpose2d(x.transpose(2, 3), w), (1, 2, 3, 2), (2, 1, 2, 2))
case("conv_transpose2d no batch", lambda m, x, w: F(m).conv_transpose2d(x, w), (0, 2, 3, 2), (2, 1, 2, 2))
case("conv_transpose3d", lambda m, x, w, b: F(m).conv_transpose3d(x, w, b, stride=(1, 2, 1)), (1, 2, 2, 1, 3), (2, 1, 2, 2, 1), (1,))
case("max_pool1d", lambda m, x: F(m).max_pool1d(x, 2, stride=1, padding=1), (2, 2, 5), numbers="apart")
case("max_pool1d unbatched", lambda m, x: F(m).max_pool1d(x, 2, ceil_mode=True), (2, 5), numbers="apart")
case("max_pool3d", lambda m, x: F(m).max_pool3d(x, 2, stride=(1, 2, 1), padding=(1, 0, 1)), (1, 2, 2, 3, 3), numbers="apart")
case("max_pool3d unbatched squared", lambda m, x: F(m).max_pool3d(x, (1, 2, 2)) ** 2, (1, 2, 3, 4), numbers="apart")
case("max_pool2d transposed input", lambda m, x: F(m).max_pool2d(x.transpose(2, 3), 2), (1, 2, 5, 4), numbers="apart")
case("max_pool2d no batch", lambda m, x: F(m).max_pool2d(x, 2), (0, 2, 5, 4))
case("adaptive_max_pool1d", lambda m, x: F(m).adaptive_max_pool1d(x, 3), (2, 2, 5), numbers="apart")
case("adaptive_max_pool2d", lambda m, x: F(m).adaptive_max_pool2d(x, (2, None)) ** 2, (1, 2, 5, 3), numbers="apart")
case("adaptive_max_pool3d", lambda m, x: F(m).adaptive_max_pool3d(x, (2, 1, 3)), (2, 3, 2, 4), numbers="apart")
PLACES = [[[1, 2], [3, 0]]]
case("max_unpool1d", lambda m, x: F(m).max_unpool1d(x, m.tensor(PLACES), 2) ** 2, (1, 2, 2))
case("max_unpool2d", lambda m, x: F(m).max_unpool2d(x, m.tensor(PLACES), 2, output_size=(3, 4)), (1, 2, 2))
case("max_unpool3d", lambda m, x: F(m).max_unpool3d(x, m.tensor([PLACES]), (1, 2, 2)), (1, 1, 2, 2))
case("avg_pool1d", lambda m, x: F(m).avg_pool1d(x, 3, stride=2, padding=1), (2, 2, 6))
case("avg_pool1d unbatched", lambda m, x: F(m).avg_pool1d(x, 2, ceil_mode=True, count_include_pad=False), (2, 5))
case("avg_pool3d", lambda m, x: F(m).avg_pool3d(x, 2, stride=1, padding=(1, 0, 1), count_include_pad=False), (1, 2, 2, 3, 2))
case("avg_pool3d divisor", lambda m, x: F(m).avg_pool3d(x, 2, divisor_override=-3) ** 2, (1, 2, 3, 4))
case("avg_pool2d transposed input", lambda m, x: F(m).avg_pool2d(x.transpose(2, 3), 2), (1, 2, 5, 4))
case("avg_pool2d no batch", lambda m, x: F(m).avg_pool2d(x, 2), (0, 2, 5, 4))
case("adaptive_avg_pool1d", lambda m, x: F(m).adaptive_avg_pool1d(x, 3) ** 2, (2, 2, 5))
case("adaptive_avg_pool2d", lambda m, x: F(m).adaptive_avg_pool2d(x, (4, 2)), (1, 2, 3, 5))
case("adaptive_avg_pool2d to one", lambda m, x: F(m).adaptive_avg_pool2d(x, 1), (2, 3, 2))
case("adaptive_avg_pool2d none", lambda m, x: F(m).adaptive_avg_pool2d(x, (None, 2)), (1, 2, 3, 5))
case("adaptive_avg_pool3d", lambda m, x: F(m).adaptive_avg_pool3d(x, (2, 1, 3)), (2, 3, 2, 4))
case("lp_pool1d", lambda m, x: F(m).lp_pool1d(x, 3, 2), (1, 2, 4), numbers="positive")
case("lp_pool2d", lambda m, x: F(m).lp_pool2d(x, 2, (2, 1), stride=1), (1, 2, 3), numbers="positive")
case("lp_pool3d", lambda m, x: F(m).lp_pool3d(x, 1.5, 2, ceil_mode=True), (1, 2, 3, 2), numbers="positive")
for _name, _shape, _options in (
        ("nearest", (1, 2, 3), {"size": 5}), ("nearest", (2, 1, 3, 2), {"scale_factor": 1.7}), ("nearest", (1, 1, 2, 3, 2), {"size": (3, 2, 5)}),
        ("nearest-exact", (1, 2, 5), {"size": 3}), ("nearest-exact", (1, 1, 3, 2), {"scale_factor": (2, 1.5)}),
        ("nearest-exact", (1, 1, 2, 2, 2), {"scale_factor": 2}), ("linear", (1, 2, 3), {"size": 5}),
        ("linear", (1, 2, 3), {"size": 5, "align_corners": True}), ("linear", (0, 2, 3), {"size": 5}),
        ("bilinear", (1, 2, 3, 4), {"scale_factor": 1.6}), ("bilinear", (1, 1, 4, 3), {"scale_factor": 1.6, "recompute_scale_factor": True}),
        ("bilinear", (1, 1, 4, 5), {"size": (2, 7), "align_corners": True}), ("bilinear", (1, 1, 5, 2), {"size": 3, "antialias": True}),
        ("bicubic", (1, 1, 4, 3), {"size": (3, 6)}), ("bicubic", (1, 1, 3, 4), {"size": 5, "align_corners": True}),
        ("bicubic", (1, 1, 5, 2), {"size": (2, 3), "antialias": True}), ("trilinear", (1, 1, 2, 3, 2), {"size": 3}),
        ("lanczos", (1, 1, 5, 2), {"size": (4, 3), "antialias": True}), ("area", (1, 1, 5, 2), {"size": (2, 3)}), ("area", (1, 2, 5), {"scale_factor": 0.5})):
    case(f"interpolate {_name} {_shape} {_options}", lambda m, x, mode=_name, options=_options: F(m).interpolate(x, mode=mode, **options), _shape)
case("interpolate squared", lambda m, x: F(m).interpolate(x.transpose(2, 3), (3, 5), mode="bilinear") ** 2, (1, 2, 2, 3))
case("unfold", lambda m, x: F(m).unfold(x, (2, 3), dilation=(2, 1), padding=1, stride=(1, 2)) ** 2, (2, 2, 4, 5))
case("unfold unbatched", lambda m, x: F(m).unfold(x, 2), (2, 3, 3))
case("unfold no batch", lambda m, x: F(m).unfold(x, 2), (0, 2, 3, 3))
case("fold", lambda m, x: F(m).fold(x, (4, 5), (2, 3), padding=1, stride=2) ** 2, (2, 12, 9))
case("fold unbatched", lambda m, x: F(m).fold(x, (3, 3), 2), (8, 4))
case("pixel_shuffle", lambda m, x: F(m).pixel_shuffle(x, 2) ** 2, (2, 8, 2, 3))
case("pixel_unshuffle", lambda m, x: F(m).pixel_unshuffle(x.transpose(1, 2), 2) ** 2, (2, 6, 4))
case("channel_shuffle", lambda m, x: F(m).channel_shuffle(x, 2) ** 2, (2, 6, 3))
case("dropout off", lambda m, x: F(m).dropout(x, 0.5, training=False) * 2, (2, 3))
case("dropout all", lambda m, x: F(m).dropout(x, 1.0), (2, 3))


# ---- decompositions of matrices ------------------------------------------------------------------------------
def _positive(m, x):
    """A positive-definite matrix."""
    return x @ x.mT.conj() + m.eye(x.shape[-1], dtype=x.dtype)


def _symmetric(x):
    return x + x.mT.conj()


case("det", lambda m, x: m.det(x), (3, 3))
case("linalg.det batch", lambda m, x: m.linalg.det(x), (2, 1, 3, 3))
case("det of a number", lambda m, x: m.linalg.det(x), (1, 1))
case("det of nothing", lambda m, x: m.linalg.det(x) * 1, (2, 0, 0))
case("det no batch", lambda m, x: m.linalg.det(x), (0, 2, 2))
case("slogdet", lambda m, x: m.slogdet(x)[1], (3, 3))
case("linalg.slogdet sign", lambda m, x: m.linalg.slogdet(x).sign * x[0, 0], (3, 3))
case("linalg.slogdet batch", lambda m, x: m.linalg.slogdet(x).logabsdet, (2, 3, 3))
case("logdet", lambda m, x: m.logdet(_positive(m, x)), (2, 3, 3))
case("inv", lambda m, x: m.linalg.inv(x), (3, 3))
case("inverse batch", lambda m, x: x.inverse(), (2, 3, 3))
case("inv_ex", lambda m, x: m.linalg.inv_ex(x).inverse, (2, 2))
case("inv of nothing", lambda m, x: m.linalg.inv(x), (2, 0, 0))
case("linalg.solve", lambda m, x, y: m.linalg.solve(x, y), (3, 3), (3, 2))
case("solve vector", lambda m, x, y: m.linalg.solve(x, y), (3, 3), (3,))
case("solve vectors", lambda m, x, y: m.linalg.solve(x, y), (2, 3, 3), (2, 3))
case("solve broadcast", lambda m, x, y: m.linalg.solve(x, y), (2, 1, 3, 3), (4, 3, 2))
case("solve right", lambda m, x, y: m.linalg.solve(x, y, left=False), (2, 3, 3), (4, 3))
case("solve_ex", lambda m, x, y: m.linalg.solve_ex(x, y).result, (3, 3), (3, 2))
case("solve no batch", lambda m, x, y: m.linalg.solve(x, y), (0, 3, 3), (0, 3, 2))
for _upper in (False, True):
    for _unit in (False, True):
        case(f"solve_triangular {_upper} {_unit}", lambda m, x, y, u=_upper, one=_unit: m.linalg.solve_triangular(
            x + 2 * m.eye(3, dtype=x.dtype), y, upper=u, unitriangular=one), (3, 3), (3, 2))
    case(f"solve_triangular right {_upper}", lambda m, x, y, u=_upper: m.linalg.solve_triangular(
        x + 2 * m.eye(3, dtype=x.dtype), y, upper=u, left=False), (2, 3, 3), (4, 3))
    case(f"cholesky {_upper}", lambda m, x, u=_upper: m.linalg.cholesky(_positive(m, x), upper=u), (2, 3, 3))
    case(f"cholesky old {_upper}", lambda m, x, u=_upper: m.cholesky(_positive(m, x), u), (3, 3))
    case(f"cholesky_solve {_upper}", lambda m, x, y, u=_upper: m.cholesky_solve(
        y, (m.triu if u else m.tril)(x + 2 * m.eye(3, dtype=x.dtype)), u), (3, 3), (2, 3, 2))
    case(f"cholesky_inverse {_upper}", lambda m, x, u=_upper: m.cholesky_inverse(
        (m.triu if u else m.tril)(x + 2 * m.eye(3, dtype=x.dtype)), u), (2, 3, 3))
case("cholesky_ex", lambda m, x: m.linalg.cholesky_ex(_positive(m, x)).L, (3, 3))
for _shape in ((3, 3), (2, 4, 3), (2, 4), (2, 0, 0)):
    case(f"qr {_shape} q", lambda m, x: m.linalg.qr(x).Q, _shape)
    case(f"qr {_shape} r", lambda m, x: m.linalg.qr(x)[1], _shape)
    case(f"qr {_shape} product", lambda m, x: (lambda q, r: q ** 2 @ m.exp(r))(*m.linalg.qr(x)), _shape)
case("qr complete", lambda m, x: m.linalg.qr(x, "complete")[1], (2, 3))
case("qr old", lambda m, x: m.qr(x)[1], (3, 2))
for _shape in ((3, 3), (4, 3), (2, 2, 4)):
    case(f"linalg.svdvals {_shape}", lambda m, x: m.linalg.svdvals(x), _shape)
    case(f"svd {_shape} u", lambda m, x: m.linalg.svd(x, full_matrices=False).U.abs() ** 2, _shape)
    case(f"svd {_shape} vh", lambda m, x: m.linalg.svd(x).Vh[..., :min(x.shape[-2:]), :].abs() ** 2, _shape)
    case(f"svd {_shape} all", lambda m, x: (lambda u, s, v: (u * m.sin(s).unsqueeze(-2)) @ v)(*m.linalg.svd(x, False)), _shape)
case("svd full", lambda m, x: m.linalg.svd(x)[1] ** 2, (2, 3))
case("svd old", lambda m, x: (lambda u, s, v: (u * s.exp()) @ v.mT.conj())(*m.svd(x)), (4, 3))
case("eigvalsh", lambda m, x: m.linalg.eigvalsh(_symmetric(x)), (2, 3, 3))
case("eigvalsh U", lambda m, x: m.linalg.eigvalsh(_symmetric(x), "U"), (3, 3))
case("eigh vectors", lambda m, x: m.linalg.eigh(_symmetric(x)).eigenvectors.abs() ** 2, (2, 3, 3))
case("eigh both", lambda m, x: (lambda w, v: (v * w.exp().unsqueeze(-2)) @ v.mT.conj())(*m.linalg.eigh(_symmetric(x))), (3, 3))
case("eigvals", lambda m, x: m.linalg.eigvals(x).abs().sum(-1), (2, 3, 3))
case("eig", lambda m, x: (lambda w, v: (v * w.exp().unsqueeze(-2)).abs().sum((-2, -1)))(*m.linalg.eig(x)), (2, 3, 3))
for _shape in ((3, 3), (2, 4, 3), (2, 3)):
    case(f"pinv {_shape}", lambda m, x: m.linalg.pinv(x), _shape)
case("pinv hermitian", lambda m, x: m.linalg.pinv(_symmetric(x), hermitian=True), (3, 3))
case("pinv low rank", lambda m, x, y: m.linalg.pinv(x @ y, rtol=1e-6), (4, 2), (2, 3))
case("pinverse", lambda m, x: x.pinverse(), (3, 2))
case("pinv of nothing", lambda m, x: m.linalg.pinv(x), (2, 0, 3))
for _ord in (2, -2, "nuc"):
    case(f"matrix_norm {_ord}", lambda m, x, o=_ord: m.linalg.matrix_norm(x, o), (2, 4, 3))
    case(f"matrix_norm {_ord} dims", lambda m, x, o=_ord: m.linalg.matrix_norm(x, o, dim=(2, 0), keepdim=True), (3, 2, 4))
    case(f"linalg.norm {_ord}", lambda m, x, o=_ord: m.linalg.norm(x, o), (3, 3))
case("norm nuc", lambda m, x: m.norm(x, "nuc"), (3, 2))
for _ord in (None, -2, "nuc"):      # PyTorch overwrites tensors that the other ops have saved
    case(f"cond {_ord}", lambda m, x, o=_ord: m.linalg.cond(x, o), (2, 3, 3))
for _n in (-1, -2, -3):
    case(f"matrix_power to {_n}", lambda m, x, n=_n: m.matrix_power(x, n), (3, 3))
for _a, _b in (((4, 3), (4, 2)), ((2, 3, 4), (2, 3, 2)), ((4, 3), (4,)), ((3, 3), (3, 2))):
    case(f"lstsq {_a} {_b}", lambda m, x, y: m.linalg.lstsq(x, y).solution, _a, _b)
for _shape in ((3, 3), (2, 2, 2), (2, 0, 0)):
    case(f"matrix_exp {_shape}", lambda m, x: m.matrix_exp(x), _shape)
for _n in (None, 3, 8):
    case(f"rfft {_n}", lambda m, x, n=_n: m.view_as_real(m.fft.rfft(x, n)), (2, 6))
    case(f"fft real {_n}", lambda m, x, n=_n: m.view_as_real(m.fft.fft(x, n, 0, "ortho")), (5, 2))
    case(f"irfft {_n}", lambda m, x, y, n=_n: m.fft.irfft(m.complex(x, y), n), (2, 5), (2, 5))
    of_complex(f"fft {_n}", lambda m, x, n=_n: m.fft.fft(x, n, 0), (5, 2))
    of_complex(f"ifft {_n}", lambda m, x, n=_n: m.fft.ifft(x, n), (2, 4))
    of_complex(f"irfft {_n}", lambda m, x, n=_n: m.fft.irfft(x, n, norm="forward"), (2, 4))
case("rfftn squared", lambda m, x: m.fft.rfftn(x, dim=(0, 2)).abs() ** 2, (3, 2, 4))
of_complex("irfft2 odd", lambda m, x: m.fft.irfft2(x, (3, 5)), (2, 3, 3))
of_complex("fftn", lambda m, x: m.fft.fftn(x, norm="ortho"), (2, 3, 4))
case("tensorinv", lambda m, x: m.linalg.tensorinv(x), (2, 3, 6), name_differs=True)
case("tensorsolve", lambda m, x, y: m.linalg.tensorsolve(x, y, dims=(1,)), (2, 6, 3), (2, 3))
case("vecdot", lambda m, x, y: m.linalg.vecdot(x, y, dim=0), (3, 2), (3, 1))
case("linalg.diagonal", lambda m, x: m.linalg.diagonal(x, offset=1) ** 2, (2, 3, 3))
case("lstsq residuals", lambda m, x, y: m.linalg.lstsq(x, y, driver="gelsd")[1], (4, 2), (4, 2))


# ---- squares: the second derivative of a linear op is the derivative of its adjoint --------------------------------------
case("avg_pool2d squared", lambda m, x: F(m).avg_pool2d(x, 2) ** 2, (1, 1, 4, 4))
case("avg_pool2d unbatched squared", lambda m, x: F(m).avg_pool2d(x, 2, padding=1) ** 2, (2, 4, 4))
case("max_pool2d squared", lambda m, x: F(m).max_pool2d(x, 2) ** 2, (1, 2, 4, 4), numbers="apart")
case("max_pool2d unbatched squared", lambda m, x: F(m).max_pool2d(x, 2) ** 2, (2, 4, 4), numbers="apart")
case("nll_loss squared", lambda m, x: F(m).nll_loss(x, m.tensor([1, 0])) ** 2, (2, 3))
case("nll_loss none squared", lambda m, x: F(m).nll_loss(x, m.tensor([1, 0]), reduction="none") ** 2, (2, 3))
case("select squared", lambda m, x: x[1, 0] ** 2 + x[:, 2].sum() ** 2, (2, 3))
case("slice squared", lambda m, x: x[:, 1:] ** 2, (2, 3))
case("cat squared", lambda m, x, y: m.cat([x, y]) ** 2, (2, 3), (1, 3))
case("stack squared", lambda m, x, y: m.stack([x, y]) ** 2, (2, 3), (2, 3))
case("gather squared", lambda m, x: m.gather(x, 1, m.tensor(INDEX)) ** 2, (2, 3))
case("index squared", lambda m, x: x[m.tensor([1, 0, 1])] ** 2, (2, 3))
case("conv2d squared", lambda m, x, w, b: F(m).conv2d(x, w, b, padding=1) ** 2, (1, 2, 4, 4), (3, 2, 3, 3), (3,))
case("view squared", lambda m, x: x.t().reshape(-1)[1:] ** 2, (2, 3))
writing("stale view", lambda m, x, y: _stale(x, y), (2, 3), (3,))
writing("stale view squared", lambda m, x, y: _stale(x, y) ** 2, (2, 3), (3,))
writing("write squared", lambda m, x, y: _written(m, x, lambda z: z[:, 1:].mul_(y)) ** 2, (2, 3), (2,))
writing("fill_ number", lambda m, x: (x * 1).fill_(2.0) * x, (2, 3))


def _stale(x, y):
    """A view with a base that is written to: its grad_fn is regenerated."""
    z = x * 1
    v = z[:, 1:]
    z.mul_(y)
    return v


# ---- composed ops -----------------------------------------------------------------------------------------------
case("cov", lambda m, x: m.cov(x), (3, 4), name_differs=True)
case("cov weights", lambda m, x: m.cov(x, fweights=m.tensor([1, 2, 1]), aweights=m.tensor([0.5, 1.0, 2.0], dtype=m.float64)), (2, 3), name_differs=True)
case("cov vector", lambda m, x: x.cov(correction=0), (4,), name_differs=True)
case("corrcoef", lambda m, x: m.corrcoef(x) ** 2 * 0.5, (2, 4))
case("addbmm", lambda m, b, x, y: m.addbmm(b, x, y, beta=2, alpha=3), (2, 4), (3, 2, 5), (3, 5, 4))
case("addbmm row", lambda m, b, x, y: m.addbmm(b, x, y) ** 2, (4,), (3, 2, 5), (3, 5, 4))
writing("addbmm_", lambda m, b, x, y: (b * 1).addbmm_(x, y, beta=0.5, alpha=2), (2, 2), (3, 2, 3), (3, 3, 2))
case("select_scatter", lambda m, x, y: m.select_scatter(x, y, 1, -1) ** 2, (2, 3), (2,))
case("slice_scatter", lambda m, x, y: x.slice_scatter(y, 1, 0, 3, 2) ** 2, (2, 3), (2, 2))
case("diagonal_scatter", lambda m, x, y: m.diagonal_scatter(x, y, 1) ** 2, (3, 4), (3,))
case("adjoint", lambda m, x: m.adjoint(x) * x.mH, (2, 3, 2))
case("sum_to_size", lambda m, x: x.sum_to_size(1, 3) ** 2, (2, 4, 3))
ours("share_ties", lambda op, x: op(x, x.new_tensor([[1, 2, 2], [float("nan"), 1, 0]]), x.new_tensor([[2], [float("nan")]]), (1,)), (2, 1))
OURS.append(Case("vander", lambda m, x: m.vander(x, 4), ((3,),)))       # PyTorch overwrites a tensor that its backward needs
OURS.append(Case("multi_margin_loss", lambda m, x: F(m).multi_margin_loss(x, m.tensor([2, 0])), ((2, 3),), "apart"))   # no jvp there
case("multilabel_soft_margin_loss", lambda m, x, y: F(m).multilabel_soft_margin_loss(x, y), (2, 3), (2, 3), name_differs=True)

# ---- random numbers: the overwritten values get no gradient ------------------------------------------------------------
case("bernoulli", lambda m, x: x * m.bernoulli(x * 0), (2, 3), name_differs=True)
case("poisson", lambda m, x: x + m.poisson(x * 0), (2, 3), name_differs=True)
case("bernoulli_ tensor", lambda m, x, p: (x * 1).bernoulli_(p * 0), (2, 3), (3,))
case("normal of mean", lambda m, x: m.normal(x, 1.0) * 0, (2, 3))
case("normal of std", lambda m, x: m.normal(1.0, x) * 0, (2, 3), numbers="positive")
case("normal of both", lambda m, x, y: m.normal(x, y) * 0, (2, 3), (3,), numbers="positive")
for _name in ("uniform_", "normal_", "bernoulli_"):
    writing(_name, lambda m, x, f=_name: getattr(x * 1, f)() * 0 + x, (2, 3))

for _name, _args in (("exponential_", (2.0,)), ("geometric_", (0.5,)), ("log_normal_", ()), ("random_", ()), ("random_ to", (5,)), ("random_ range", (2, 5))):
    writing(_name, lambda m, x, f=_name, a=_args: getattr(x * 1, f.split()[0])(*a) * 0 + x, (2, 3))
writing("cauchy_", lambda m, x: (x * 1).cauchy_().clamp_(0, 0) + x, (2, 3))

writing("renorm_", lambda m, x: (x * 1).renorm_(2, 0, 1.0), (2, 3), name_differs=True)
writing("fill_diagonal_", lambda m, x: (x * 1).fill_diagonal_(2.0) ** 2, (3, 2))

# ---- complex numbers -------------------------------------------------------------------------------------------
of_complex("real", lambda m, z: z.real * 2, (2, 3))
of_complex("imag", lambda m, z: z.imag ** 2, (2, 3))
of_complex("conj", lambda m, z: z.conj() * z * 2j, (2, 3), name_differs=True)
of_complex("conj_physical", lambda m, z: m.conj_physical(z), (2, 3))
of_complex("view_as_real", lambda m, z: m.view_as_real(z) ** 2, (2, 3))
of_complex("view_as_complex", lambda m, z: m.view_as_complex(m.view_as_real(z) * 2), (2, 3))
of_complex("complex", lambda m, z: m.complex(z.real, z.imag * 2), (2, 3))
of_complex("polar", lambda m, z: m.polar(z.real.abs(), z.imag), (2, 3))     # PyTorch's gradient of negative ones has the wrong sign
of_complex("angle", lambda m, z: m.angle(z), (2, 3))
of_complex("abs of complex", lambda m, z: m.abs(z), (2, 3))
of_complex("write to a part", lambda m, z: _written(m, z, lambda y: y.imag.mul_(2)), (2, 3), name_differs=True)
of_complex("write to pairs", lambda m, z: _written(m, z, lambda y: m.view_as_real(y)[0].exp_()), (2, 3), name_differs=True)
of_complex("conj_physical_", lambda m, z: (z * 1j).conj_physical_(), (2, 3), name_differs=True)

# ---- without a derivative -----------------------------------------------------------------------------------
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "heaviside"):
    plain(_name, lambda m, x, y, f=_name: getattr(m, f)(x, y), (2, 3), (3,))
for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    plain(_name + "_", lambda m, *xs, f=_name: getattr(xs[0] * (xs[0] > 0), f + "_")(*xs[1:]), *[(2, 3)] * (1 + (_name != "logical_not")))
for _name in ("and", "or", "xor"):
    plain("bitwise_" + _name, lambda m, x, y, f=_name: getattr(m, "bitwise_" + f)(*[x > 0, y > 0] if x.is_floating_point() else [x, y]),
          (2, 3), (3,))
plain("bitwise_not", lambda m, x: m.bitwise_not(x > 0 if x.is_floating_point() else x), (2, 3))
for _name in ("isnan", "isinf", "isfinite", "signbit", "logical_not"):
    plain(_name, lambda m, x, f=_name: getattr(m, f)(x), (2, 3))
for _name in ("argmax", "argmin"):
    plain(_name, lambda m, x, f=_name: getattr(m, f)(x, 1), (2, 3), numbers="apart")
plain("heaviside_", lambda m, x, y: (x * 1).heaviside_(y), (2, 3), (3,))
plain("floor_divide_", lambda m, x, y: (x * 1).floor_divide_(y), (2, 3), (3,), numbers="nonzero")

plain("unique", lambda m, x: m.unique(x.round()), (4, 5))
plain("unique dim", lambda m, x: m.unique(x.round(), dim=1), (2, 9))
plain("unique_consecutive", lambda m, x: m.unique_consecutive((x * 0.7).round()), (20,))
plain("histogram", lambda m, x: m.histogram(x, 3, range=(-1.0, 1.0)).hist, (8,))
plain("F.one_hot", lambda m, x: x * F(m).one_hot(m.tensor([2, 0]), 3), (2, 3))
plain("bincount weights", lambda m, x: m.bincount(m.tensor([0, 3, 3]), x), (3,))

for _name in ("asin_", "acos_", "asinh_", "atanh_", "erfinv_", "digamma_", "lgamma_"):
    plain(_name, lambda m, x, f=_name: getattr(x * 1, f)(), (2, 3), numbers="small")
plain("acosh_", lambda m, x: (x + 1).acosh_(), (2, 3), numbers="positive")
plain("sgn_", lambda m, x: (x * 1).sgn_(), (2, 3))
plain("polygamma_", lambda m, x: (x * 1).polygamma_(1), (2, 3), numbers="positive")
plain("mvlgamma_", lambda m, x: (x + 2).mvlgamma_(2), (2, 3), numbers="positive")
plain("addmv_", lambda m, b, x, y: (b * 1).addmv_(x, y, beta=2), (2,), (2, 3), (3,))
plain("baddbmm_", lambda m, b, x, y: (b * 1).baddbmm_(x, y, alpha=2), (2, 2, 2), (2, 2, 3), (2, 3, 2))
plain("scatter_reduce_", lambda m, x, y: (x * 1).scatter_reduce_(1, m.tensor(INDEX), y, "amax"), (2, 3), (2, 3))
for _name in ("and", "or", "xor"):
    plain(f"bitwise_{_name}_", lambda m, x, y, f=_name: getattr(x.long(), f"bitwise_{f}_")(y.long()), (2, 3), (3,))
plain("bitwise_not_", lambda m, x: x.long().bitwise_not_(), (2, 3))

# ---- ops without a function or a derivative in PyTorch ------------------------------------------------------------


def elsewhere():
    """A second device on the CPU, which copies each tensor that is moved to it."""
    copying = SimpleNamespace(from_host=lambda x, wait: x.copy(), __name__="elsewhere")
    device = Device("elsewhere", None, Backend("elsewhere"))
    device.backend.use(Kernels("elsewhere", copying, numpy_ref))
    return device


ours("to_device", lambda f, x: f(x, elsewhere(), x.device, True), (2, 3))
ours("as_strided_parts", lambda f, z: f(z, (6, 2, 1), (2, 3), (6, 2), 1, False), (2, 3), dtype="complex128")
ours("logical_not_", lambda f, x: f(x * 1), (2, 3))
for _name in ("logical_and_", "logical_or_", "logical_xor_"):
    ours(_name, lambda f, x, y: f(x * 1, y), (2, 3), (3,))
ours("_fused_rms_norm", lambda f, x, w: f(x, w, 1, 1e-5)[0], (4, 3), (3,))
ours("_fused_rms_norm", lambda f, x: f(x, None, 2, 1e-5)[0] ** 2, (2, 2, 3))
ours("_fused_rms_norm", lambda f, x, w: f(x.transpose(0, 1), w, 1, 1e-5)[0], (4, 3), (4,))
ours("native_dropout", lambda f, x: f(x, RandomStream(0), 0.3)[0] ** 2, (4, 5))
