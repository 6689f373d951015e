"""The storage of a tensor and its place there: `as_strided` beyond a slice, and tangents with the layout of their tensors."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad

WAYS = {
    "detach": lambda s: s.detach(), "data": lambda s: s.data, "twice": lambda s: s.detach().detach(), "data of data": lambda s: s.data.data,
    "view": lambda s: s.detach().view(3, 1)[:, 0], "slice": lambda s: s.detach()[1:], "contiguous": lambda s: s.contiguous().detach(),
    "set_": lambda s: mg.ones(1).set_(s), "no history": lambda s: s, "expanded": lambda s: s.detach().expand(2, 3),
    "of a graph": lambda s: (mg.arange(10.0, requires_grad=True) * 1)[2:5].detach(),
}


@pytest.mark.parametrize("way", WAYS)
def test_as_strided_beyond_a_slice(way):
    """differences/S-05: the memory is the whole one."""
    s = WAYS[way](mg.arange(10.0)[2:5])
    assert s.as_strided((2,), (1,), 8).tolist() == [8, 9] and s.as_strided((3,), (2,), 5).tolist() == [5, 7, 9]
    assert s.as_strided((2,), (1,)).tolist() == [s.storage_offset(), s.storage_offset() + 1]
    with pytest.raises(RuntimeError, match="out of bounds"):
        s.as_strided((3,), (1,), 8)


def test_what_is_beyond_shares_memory_and_version():
    """differences/S-05."""
    x = mg.arange(10.0)
    s = x[2:5].detach()
    beyond = s.as_strided((2,), (1,), 8)
    beyond.fill_(7)
    assert x.tolist()[8:] == [7, 7] and (x._version, s._version, beyond._version) == (1, 1, 1)
    assert s.as_strided_((2,), (1,), 0).tolist() == [0, 1] and s.storage_offset() == 0


def test_other_dtypes():
    """differences/S-05: parts of complex numbers count in real ones."""
    x = mg.arange(10.0).to(mg.complex64)
    s = x[2:5].detach()
    assert s.as_strided((2,), (1,), 8).tolist() == [8, 9] and s.real.detach().as_strided((2,), (1,), 16).tolist() == [8, 0]


def test_memory_of_numpy():
    """differences/S-05: read backwards by NumPy, every second number, or without any order: no byte beyond is reached."""
    a = np.arange(12.0)
    x = mg.from_numpy(a.reshape(3, 4)[:, 1::2])
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((13,), (1,), 0)
    assert mg.zeros(0).as_strided((0,), (1,)).shape == (0,)


def test_a_history_keeps_to_the_tensor():
    """differences/S-05: elements beyond the slice get no gradient."""
    p = mg.arange(10.0)[2:5].detach().requires_grad_()
    with pytest.raises(RuntimeError, match="requires grad"):
        p.as_strided((2,), (1,), 8)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(mg.arange(10.0)[2:5].detach(), mg.ones(3))
        with pytest.raises(RuntimeError, match="out of bounds"):
            dual.as_strided((2,), (1,), 8)


def ten():
    return mg.arange(10.0)


# name -> primal, tangent, whether PyTorch keeps the tangent itself
TANGENTS = {
    "same": (lambda: mg.ones(3), lambda: mg.arange(3.0), True), "larger memory": (lambda: mg.ones(3), lambda: ten()[:3], False),
    "offset": (lambda: mg.ones(3), lambda: ten()[2:5], False), "both slices": (lambda: ten()[2:5], lambda: ten()[2:5], True),
    "slice": (lambda: ten()[2:5], lambda: mg.arange(3.0), False), "detached tangent": (lambda: mg.ones(3), lambda: ten()[:3].detach(), False),
    "detached slices": (lambda: ten()[2:5].detach(), lambda: ten()[2:5].detach(), True),
    "other offset": (lambda: ten()[2:5].detach(), lambda: ten()[3:6].detach(), False),
    "detached slice": (lambda: ten()[2:5].detach(), lambda: mg.arange(3.0), False), "data": (lambda: ten()[2:5].data, lambda: mg.arange(3.0), False),
    "other size": (lambda: ten()[2:5].data, lambda: mg.arange(11.0)[2:5], False),
    "detached and slice": (lambda: ten()[2:5].data, lambda: ten()[2:5], True), "strides": (lambda: mg.ones(2, 3), lambda: mg.ones(3, 2).t(), False),
    "float64": (lambda: mg.ones(3), lambda: mg.ones(3).double(), True), "larger float64": (lambda: mg.ones(3), lambda: mg.ones(6).double()[:3], False),
    "one row": (lambda: mg.ones(1, 3), lambda: mg.ones(1, 6)[:, :3], False),
}


@pytest.mark.parametrize("name", TANGENTS)
def test_tangents_are_kept_or_copied(name):
    """differences/S-05: a tangent with another size of storage, or another offset in it, is copied."""
    primal, tangent, kept = (f() if callable(f) else f for f in TANGENTS[name])
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(forward_ad.make_dual(primal, tangent)).tangent
        assert (found.data_ptr() == tangent.data_ptr()) == kept and found.tolist() == tangent.tolist()
        assert (found.storage_offset(), found.stride()) == (primal.storage_offset(), primal.stride())
