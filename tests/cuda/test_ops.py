"""Every op on a GPU: the cases of tests/ops/cases.py, values and gradients, against the kernels of the CPU in float64.

    inputs      made on the CPU, moved to the GPU, and leaves there; what a case itself makes (`m.tensor([2, 0])`) is made there too,
                but nothing inside minigrad is told of a device: an op that makes a tensor must put it where its operands are
    compared    by relative norm, ‖a - b‖ / ‖b‖, of the whole result
    no kernel   the op must say so, and which one is missing; the summary of the run counts these cases and names the kernels

A GPU, or ``MINIGRAD_EVERY=1`` on the simulator, runs each case with its inputs stored column by column as well.
"""

import importlib.util
import os
import re
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.contract import CONTRACT
from minigrad.kernels.cuda.runtime.missing import Missing
from tests.cuda.conftest import SIMULATED
from tests.ops.cases import CASES, COMPLEX, OURS, PLAIN

DEVICE = mg.device("cuda")
KERNELS = DEVICE.backend.kernels
MISSING = {name for name in CONTRACT if KERNELS.origin[name] == Missing.__name__}
# Kernels that are there, but not for complex numbers.
NOT_COMPLEX = {"angle", "silu", "silu_backward"}
# to_device copies to a device that the case makes, and which lies on the CPU: test_tensors.py moves tensors. A GPU draws other
# numbers than the CPU: test_randoms.py has dropout.
EVERY = [case for case in (*CASES, *COMPLEX, *PLAIN, *OURS) if case.name not in ("to_device", "native_dropout")]
LAYOUTS = ["rows"] if SIMULATED and os.environ.get("MINIGRAD_EVERY") != "1" else ["rows", "columns"]
FACTORIES = {"arange", "as_tensor", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "tensor",
             "tril_indices", "triu_indices", "zeros"}
TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float32": 2e-5}
SMALL = 1e-3        # a result smaller than this is compared as if it were this large: rounding alone may be all of it


class OnDevice:
    """minigrad, as a case sees it: what makes a tensor makes it on the GPU."""

    def __getattr__(self, name):
        found = getattr(mg, name)
        return (lambda *args, **options: found(*args, **{"device": DEVICE} | options)) if name in FACTORIES else found


def inputs(case, dtype, layout, device):
    """The inputs of a case as leaves on `device`."""
    found = []
    for array in case.arrays():
        x = mg.tensor(array.astype(dtype).T if layout == "columns" else array.astype(dtype)).to(device)
        x = x.permute(*reversed(range(x.ndim))).detach() if layout == "columns" else x
        found.append(x.requires_grad_(case.derivative))
    return found


def weights(z):
    """Fixed numbers in the shape of `z`, so that its gradient is no sum."""
    return mg.tensor(np.cos(np.arange(z.numel(), dtype=float)).reshape(tuple(z.shape))).to(z.dtype).to(z.device)


def results(m, case, xs, second=False):
    """[value, first gradients] of a case, or with `second` the second gradients alone."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        z = case.run(m, *xs)
        if not (case.derivative and z.requires_grad):
            return [] if second else [z]
        grads = mg.autograd.grad(z, xs, weights(z), create_graph=second, allow_unused=True)
        if not second:
            return [z, *grads]
        total = [(g * g.conj()).real.sum() for g in grads if g is not None and g.requires_grad]
        return mg.autograd.grad(total, xs, allow_unused=True) if total else []


def distance(found, expected):
    """‖a - b‖ / ‖b‖; nan and infinity must be where they are expected. None is a gradient of zeros."""
    if found is None or expected is None:
        return float(sum(np.abs(x.detach().cpu().numpy()).sum() for x in (found, expected) if x is not None))
    assert found.device == DEVICE, f"the result is on {found.device}"
    assert found.shape == expected.shape
    a, b = found.detach().cpu().numpy().astype(complex), expected.detach().numpy().astype(complex)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite])
    return np.linalg.norm(a[finite] - b[finite]) / max(np.linalg.norm(b[finite]), SMALL)


def lacking(error):
    """The kernel that a `NotImplementedError` names, which must be one that is known not to be there."""
    found = re.match(r'"(\w+)" not implemented for (complex\w+ on )?\'cuda\'', str(error))
    assert found, f"an error that does not name the kernel: {error}"
    name, of_complex = found.groups()
    assert name in (NOT_COMPLEX if of_complex else MISSING), str(error)
    return name


def compare(case, dtype, layout, record_property, second=False):
    exact = "complex128" if case.dtype == "complex128" else "float64"
    try:
        expected = results(mg, case, inputs(case, exact, layout, "cpu"), second)
    except RuntimeError as error:       # such as a view that the layout does not allow
        with pytest.raises(type(error)):
            results(OnDevice(), case, inputs(case, dtype, layout, DEVICE), second)
        record_property("raised", type(error).__name__)
        return
    try:
        found = results(OnDevice(), case, inputs(case, dtype, layout, DEVICE), second)
    except NotImplementedError as error:
        record_property("lacking", lacking(error))
        return
    assert len(found) == len(expected)
    record_property("ran", dtype)
    for number, (a, b) in enumerate(zip(found, expected)):
        if dtype == exact and a is not None and b is not None:
            assert a.dtype is b.dtype
        apart = distance(a, b)
        assert apart <= TOLERANCE[dtype], f"{'value' if number == 0 and not second else f'gradient {number}'}: {apart:.1e} apart"


def makes_float64(case):
    return {"float64", "double"} & set(case.run.__code__.co_names)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", EVERY, ids=lambda c: c.name)
def test_case(case, layout, record_property):
    """Issue 8: "the op tests run on cuda as a device parameter ... compared with the CPU kernels in float64 by relative norm"."""
    compare(case, case.dtype, layout, record_property)


@pytest.mark.parametrize("case", [c for c in EVERY if c.dtype == "float64" and not makes_float64(c)], ids=lambda c: c.name)
def test_float32(case, record_property):
    """float32 on the GPU against float64 on the CPU."""
    compare(case, "float32", "rows", record_property)


@pytest.mark.parametrize("case", [c for c in EVERY if c.double and c.derivative], ids=lambda c: c.name)
def test_second_derivative(case, record_property):
    """The gradient of the gradient's length."""
    compare(case, case.dtype, "rows", record_property, second=True)


def test_what_is_missing():
    """The kernels that a GPU lacks are those that LAPACK computes on the CPU, some special functions and draws, and no others."""
    assert sorted(MISSING) == ["attention", "attention_backward", "cholesky", "cofactors", "det", "eig", "eigh", "eigvals", "eigvalsh", "fft_c2c",
                               "fft_c2r", "fft_r2c", "frexp", "gammainc", "gammaincc", "i0", "i0e", "i1", "i1e", "inv", "lu", "lu_rows", "matrix_exp", "nextafter",
                               "poisson", "qr", "rnn_layer", "rnn_layer_backward", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "zeta"]


@pytest.mark.skipif(importlib.util.find_spec("tools") is None, reason="an installed minigrad, without the tool that makes the table")
def test_the_table_of_ops_says_so():
    """Its column CUDA is read from the sources; here the kernels are."""
    from tools import op_facts
    assert set(CONTRACT) - op_facts.on_cuda() == MISSING


def test_a_scaled_sum_of_float16_is_rounded_once():
    """As on the CPU. Two kernels would round the product, and then the sum."""
    x, y = mg.randn(64).half(), mg.randn(64).half()
    for function in (lambda x: x.add(y.to(x.device), alpha=0.3), lambda x: x.sub(y.to(x.device), alpha=0.3),
                     lambda x: x.clone().add_(y.to(x.device), alpha=0.3), lambda x: x.clone().sub_(y.to(x.device), alpha=0.3)):
        assert function(x.to(DEVICE)).tolist() == function(x).tolist()
