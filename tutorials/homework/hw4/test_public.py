"""The public checks of homework 4. Run them with ``python -m pytest -q test_public.py``."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, same, used, weight

SAVED, PACKING, VERSIONS = "07_saved_tensors", "08_packing", "09_version_counters"


@weight(10)
@number("1.1")
def test_view_and_copy():
    """A view shares memory and version, a copy has its own"""
    a = adapters.array()([1.0, 2.0, 3.0])
    b, c = a.view(1, 3), a.copy()
    b.write(0, 20.0)
    for what, found, expected in (("a", a.tolist(), [1.0, 20.0, 3.0]), ("a[1:3]", b.tolist(), [20.0, 3.0]),
                                  ("the copy", c.tolist(), [1.0, 2.0, 3.0])):
        if list(found) != expected:
            fail(f"a = [1, 2, 3]; a[1:3][0] = 20. Expected {what} to be {expected}, found {found}", read=VERSIONS)
    if (a.version, b.version, c.version) != (1, 1, 0):
        fail(f"after one write through a view: expected the versions 1 of a, 1 of the view, 0 of the copy; found {a.version}, "
             f"{b.version}, {c.version}", read=VERSIONS)


@weight(10)
@number("2.1")
def test_gradient_with_saved():
    """Gradients with your saved tensors are right"""
    x = mg.tensor([0.5, -1.0], requires_grad=True)
    expected, = mg.autograd.grad((x.exp() * x).sum(), x)
    with mg.grading.swap("saved_tensor", adapters.saved()) as part:
        y = (x.exp() * x).sum()
        y.backward(retain_graph=True)
    used(part, "the graph was recorded without it", y, SAVED)
    same(x.grad, expected, "x.grad", y, SAVED)


@weight(10)
@number("3.1")
def test_half_keeps_half():
    """Half keeps a float32 tensor as float16, and gives float32 back"""
    half, x = adapters.half()(), mg.tensor([1.0, 0.3333, -2.5])
    packed = half.pack(x)
    kept = [each for each in (packed if isinstance(packed, tuple) else (packed,)) if isinstance(each, mg.Tensor)]
    if [each.dtype for each in kept] != [mg.float16]:
        fail(f"expected one float16 tensor in what pack returns, found {[str(each.dtype) for each in kept]}", read=PACKING)
    found = half.unpack(packed)
    if found.dtype is not mg.float32:
        fail(f"unpack: expected float32, found {found.dtype}", read=PACKING)
    same(found, x, "unpack(pack(x))", read=PACKING, tolerance=1e-3)
