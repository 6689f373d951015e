"""The kernels of the device "meta" give the shapes and dtypes of the reference, for every sample of every kernel."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import kernels
from minigrad.kernels.contract import CONTRACT
from minigrad.random._stream import RandomStream
from tests.kernels.samples import DTYPES, FLOATS, SAMPLES

DEVICE = mg.device("meta")
META = DEVICE.backend.kernels
ADDRESS = {"geometry", "storage", "owns", "obeys_layout", "contiguous", "by_columns"}     # arrays that tests make from others may share memory
NUMBERS_DECIDE = {"nonzero", "to_host", "class_outside", "equal"}


def moved(x):
    """The arrays of an argument without their memory; the rest stays."""
    if isinstance(x, np.ndarray):
        return META.from_host(x, True)
    return type(x)(map(moved, x)) if type(x) in (list, tuple) else x


def described(z):
    """Shapes and dtypes instead of arrays."""
    if isinstance(z, (list, tuple)):
        return [described(each) for each in z]
    return (tuple(z.shape), str(z.dtype)) if hasattr(z, "dtype") else z


def host_arguments(name, args):
    """The positions of the arguments that are tables of the host, not arrays of the device."""
    return {"max_pool": (1,), "resample": (2, 3, 4)}.get(name, ())


@pytest.mark.parametrize("name", [name for name in CONTRACT if name in SAMPLES and name not in NUMBERS_DECIDE | ADDRESS])
def test_shapes_and_dtypes_are_those_of_the_reference(name):
    compared = 0
    for label, make in SAMPLES[name]:
        for dtype in DTYPES.get(name, FLOATS):
            args = make(dtype, "contiguous", 0)
            try:
                expected = getattr(kernels.NUMPY, name)(*args)
            except (ValueError, IndexError, TypeError, np.linalg.LinAlgError):
                continue
            args = make(dtype, "contiguous", 0)
            host = host_arguments(name, args)
            found = getattr(META, name)(*[x if i in host else moved(x) for i, x in enumerate(args)])
            assert described(found) == described(expected), (name, label, dtype)
            compared += 1
    assert compared


def test_kernels_whose_result_depends_on_numbers_raise():
    x = META.empty((2, 3), np.dtype("float32"))
    with pytest.raises(NotImplementedError, match="nonzero: attempted to run this operator with meta tensors"):
        META.nonzero(x)
    with pytest.raises(NotImplementedError, match="no data!"):
        META.to_host(x)


def test_more_numbers_than_any_memory_has():
    side = 10 ** 6
    x = mg.randn(side, side, device="meta", requires_grad=True)
    (mg.softmax(x @ x.t(), 1) * 2 + x[0]).exp().sum(0).mean().backward()
    assert x.grad.shape == (side, side)


def test_a_shape_that_no_tensor_can_have():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        mg.zeros(1 << 40, 1 << 40, device="meta")


def test_each_array_has_its_own_addresses():
    x, y = mg.zeros(3, device="meta"), mg.zeros(3, device="meta")
    assert x.untyped_storage() != y.untyped_storage() and x[1:].untyped_storage() == x.untyped_storage()
    assert x.data_ptr() == 0 and x[1:].storage_offset() == 1
    x.add_(y)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        mg.zeros(1, device="meta").expand(3).add_(1)


def test_views_share_a_version():
    x = mg.ones(2, 3, device="meta", requires_grad=True)
    y = x * 2
    z = y * y
    y.t()[0].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_random_numbers_leave_the_generator_alone():
    assert isinstance(mg.default_generator.stream, RandomStream)
    before = mg.get_rng_state().tolist()
    mg.nn.Linear(3, 4, device="meta")
    mg.nn.functional.dropout(mg.randn(5, device="meta"))
    assert mg.get_rng_state().tolist() == before


def test_copies_between_devices():
    """The source moves to the device of the tensor, and its gradient moves back."""
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = mg.zeros(2, device="meta").copy_(x)
    assert y.is_meta and y.grad_fn.name() == "CopyBackwards"
    with pytest.raises(NotImplementedError, match="no data!"):
        y.sum().backward()
    with pytest.raises(NotImplementedError, match="no data!"):
        mg.ones(2).copy_(mg.ones(2, device="meta"))
