"""The parts of a tensor that are not ops: requires_grad, grad, grad_fn, hooks, detach, conversions, and Python's protocols."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad

FLOATING = [mg.float16, mg.float32, mg.float64, mg.complex64, mg.complex128]
OTHERS = [mg.bool, mg.uint8, mg.int8, mg.int16, mg.int32, mg.int64]


def leaf(*shape):
    return mg.ones(*shape or (2,), requires_grad=True)


# ---- requires_grad, is_leaf ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_requires_grad_of_floating_dtypes(dtype):
    """tensor_surface/R-01 tensor_surface/Z-01"""
    x = mg.zeros(2, dtype=dtype)
    assert x.requires_grad is False and x.is_leaf and x.grad_fn is None
    x.requires_grad = True
    assert x.requires_grad and x.is_leaf
    assert mg.tensor([1], dtype=dtype, requires_grad=True).requires_grad
    assert (x * 2).requires_grad and not (x * 2).is_leaf


@pytest.mark.parametrize("dtype", OTHERS, ids=str)
def test_requires_grad_of_other_dtypes(dtype):
    """tensor_surface/R-01 tensor_surface/Z-01"""
    x = mg.zeros(2, dtype=dtype)
    with pytest.raises(RuntimeError, match="floating point dtype can require gradients"):
        x.requires_grad = True
    with pytest.raises(RuntimeError, match="floating point dtype can require gradients"):
        x.requires_grad_()
    x.requires_grad = False
    for make in (lambda: mg.tensor([1], dtype=dtype, requires_grad=True), lambda: mg.zeros(1, dtype=dtype, requires_grad=True)):
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
            make()


def test_requires_grad_of_a_non_leaf():
    """tensor_surface/R-02"""
    y = leaf() * 2
    for set_flag in (lambda: y.requires_grad_(False), *[lambda v=v: setattr(y, "requires_grad", v) for v in (False, True)]):
        with pytest.raises(RuntimeError, match=r"requires_grad flags of leaf variables[\s\S]*detach\(\)"):
            set_flag()
    assert y.requires_grad_() is y and y.requires_grad and y.grad_fn is not None


@pytest.mark.parametrize("value", [1, 0, None, "True", 1.0, np.True_], ids=repr)
def test_requires_grad_wants_a_bool(value):
    """tensor_surface/R-03"""
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        mg.zeros(2).requires_grad = value


def test_requires_grad_of_a_view():
    """tensor_surface/R-08: a view requires a gradient by itself or by its base, also if the base does so later or under no_grad."""
    x = mg.zeros(2, 2)
    view = x[0]
    assert not view.requires_grad
    x.requires_grad_()
    assert view.requires_grad and view.is_leaf and view.grad_fn is None
    with mg.no_grad():
        quiet = (x * 1)[0], x[1]
    assert [v.requires_grad for v in quiet] == [False, True]


def test_requires_grad_returns_self_and_is_no_write():
    """tensor_surface/R-04"""
    x = mg.zeros(2)
    assert x.requires_grad_() is x and x.requires_grad_(False) is x
    assert x._version == 0


def test_switched_off_leaf_is_skipped():
    """tensor_surface/R-05"""
    x, y = leaf(), leaf()
    z = (x * y).sum()
    x.requires_grad = False
    z.backward()
    assert x.grad is None and y.grad.tolist() == [1.0, 1.0]


def test_is_leaf():
    """tensor_surface/R-06"""
    x = leaf()
    assert x.is_leaf and mg.zeros(2).is_leaf and (mg.zeros(2) * 2).is_leaf
    assert not (x * 2).is_leaf and (x * 2).detach().is_leaf


@pytest.mark.parametrize("op", [lambda x: x > 0, lambda x: x == x, lambda x: x.argmax(), lambda x: x.long(), lambda x: x.bool(),
                                lambda x: x.max(0)[1]])
def test_results_without_gradient(op):
    """tensor_surface/R-07"""
    z = op(leaf())
    assert not z.requires_grad and z.grad_fn is None


def test_result_requires_grad_if_an_input_does():
    """tensor_surface/R-07"""
    x, c = leaf(), mg.ones(2)
    assert (c * x).requires_grad and not (c * c).requires_grad
    with mg.no_grad():
        assert not (x * c).requires_grad
    assert (mg.where(c > 0, x, c)).requires_grad


# ---- grad ---------------------------------------------------------------------------------------------


def test_grad_is_none_at_first():
    """tensor_surface/G-01"""
    x = leaf()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and mg.zeros(2).grad is None


def test_grad_of_a_non_leaf_warns():
    """tensor_surface/G-01"""
    y = leaf() * 2
    with pytest.warns(UserWarning, match=r"\.grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


@pytest.mark.parametrize("value", [1.0, "x", np.ones(2), [1.0, 1.0]], ids=repr)
def test_assigned_grad_is_a_tensor(value):
    """tensor_surface/G-02"""
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None"):
        leaf().grad = value


def test_assigned_grad_fits():
    """tensor_surface/G-03"""
    x = leaf()
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        x.grad = mg.ones(3)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = mg.ones(2, dtype=mg.float64)
    assert x.grad is None


def test_assigned_grad_is_kept_by_identity():
    """tensor_surface/G-04: `.grad` can also be set on a tensor that requires no gradient; del resets it."""
    for x in (leaf(), mg.zeros(2)):
        g = mg.ones(2)
        x.grad = g
        assert x.grad is g
        del x.grad
        assert x.grad is None
        del x.grad
        x.grad = g
        x.grad = None
        assert x.grad is None


def test_grad_is_an_ordinary_tensor():
    """tensor_surface/G-05: a hook may write to `.grad`, and set it to None."""
    x = leaf()
    (x * 3).sum().backward()
    x.grad.zero_()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    seen = []

    def clear(t):
        seen.append(t.grad.tolist())
        t.grad = None
    x.register_post_accumulate_grad_hook(clear)
    (x * 2).sum().backward()
    assert seen == [[5.0, 5.0]] and x.grad is None


# ---- grad_fn, version, base ---------------------------------------------------------------------------


def test_grad_fn_is_read_only():
    """tensor_surface/F-01"""
    x = leaf()
    y = x * 2
    assert x.grad_fn is None and x.output_nr == 0
    assert y.grad_fn.name() == "MulBackward0" and y.output_nr == 0
    assert [piece.output_nr for piece in y.unbind()] == [0, 1]
    for name in ("grad_fn", "output_nr", "_version", "_base", "is_leaf", "shape", "dtype", "ndim", "device"):
        with pytest.raises(AttributeError):
            setattr(y, name, None)


def test_version():
    """tensor_surface/F-02: one per write, shared by views and detach(), not by .data."""
    x = mg.zeros(2, 2)
    view, alias, data = x[0], x.detach(), x.data
    x.add_(1)
    view.mul_(2)
    assert x._version == view._version == alias._version == 2
    assert data._version == 0
    data.add_(1)
    assert x._version == 2 and x.tolist() == [[3.0, 3.0], [2.0, 2.0]]


def test_base():
    """tensor_surface/F-03: `_base` is the root of all views; a copy has no base."""
    x = mg.zeros(2, 2)
    view = x[0][1:]
    assert view._base is x and view._is_view()
    assert x._base is None and not x._is_view()
    assert not x.clone()._is_view() and x.clone()._base is None
    assert (x[0] * 1)._base is None
    assert x.detach()._base is None


def test_backward_hooks():
    """tensor_surface/F-04"""
    x = leaf()
    assert x._backward_hooks is None
    handle = x.register_hook(lambda g: g)
    assert list(x._backward_hooks) == [handle.id]
    y = x * 1
    y.register_hook(lambda g: g)
    y.add_(1)
    assert y._backward_hooks is None, "an in-place op makes it another value"


# ---- retain_grad, hooks -------------------------------------------------------------------------------


def test_retain_grad_of_leaves():
    """tensor_surface/T-01"""
    x = leaf()
    x.retain_grad()
    assert x.retains_grad is False
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor"):
        mg.zeros(2).retain_grad()


def test_retain_grad_sums_out_of_place():
    """tensor_surface/T-02"""
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    first = y.grad
    assert first.tolist() == [3.0, 3.0]
    z.backward()
    assert y.grad.tolist() == [6.0, 6.0] and first.tolist() == [3.0, 3.0]


def test_retain_grad_holds_weakly():
    """tensor_surface/T-03"""
    x = leaf()
    y = x * 2
    y.retain_grad()
    z = (y * 3).sum()
    dead = weakref.ref(y)
    del y
    gc.collect()
    assert dead() is None
    z.backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_retain_grad_and_autograd_grad():
    """tensor_surface/T-04"""
    x = leaf()
    y = x * 2
    y.retain_grad()
    mg.autograd.grad((y * 3).sum(), x)
    assert x.grad is None and y.grad.tolist() == [3.0, 3.0]
    y.grad = None
    mg.autograd.grad((y * 3).sum(), y)
    assert y.grad.tolist() == [3.0, 3.0]


def test_retain_grad_and_writes():
    """tensor_surface/T-05: after a write, .grad is the gradient of the latest value; on a view, retain_grad survives a write to the base."""
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0] and x.grad.tolist() == [30.0, 30.0]
    base = leaf() * 1
    view = base[0:1]
    view.retain_grad()
    base.mul_(2)
    (view * 7).sum().backward()
    assert view.grad.tolist() == [7.0]


@pytest.mark.parametrize("register, refused_on_non_leaf", [("register_hook", False), ("register_post_accumulate_grad_hook", True)])
def test_hooks(register, refused_on_non_leaf):
    """tensor_surface/H-01 tensor_surface/H-02 tensor_surface/H-03"""
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor"):
        getattr(mg.zeros(2), register)(print)
    seen = []
    x = leaf()
    handle = getattr(x, register)(lambda t: seen.append(t.tolist()))
    x.sum().backward()
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert len(seen) == 1
    with getattr(x, register)(lambda t: seen.append(0)):
        x.sum().backward()
    x.sum().backward()
    assert len(seen) == 2
    if refused_on_non_leaf:
        with pytest.raises(RuntimeError, match="cannot be registered on non-leaf tensors"):
            getattr(x * 2, register)(print)


# ---- detach -------------------------------------------------------------------------------------------


def test_detach():
    """tensor_surface/X-01"""
    x = leaf()
    y = (x * 2).detach()
    assert not y.requires_grad and y.is_leaf
    alias = x.detach()
    assert alias.data_ptr() == x.data_ptr() and not alias.requires_grad
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(forward_ad.make_dual(x, mg.ones(2)).detach()).tangent is None


def test_detach_in_place():
    """tensor_surface/X-02"""
    y = leaf() * 2
    y.retain_grad()
    y.register_hook(lambda g: g)
    assert y.detach_() is y
    assert y.is_leaf and not y.requires_grad and y.retains_grad and y._backward_hooks
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        leaf()[0:1].detach_()


def test_assigning_data():
    x = leaf()
    x.data = mg.zeros(3)
    assert x.shape == (3,) and x.requires_grad and x._version == 0
    x.sum().backward()
    assert x.grad.shape == (3,)
    with pytest.raises(TypeError, match="data has to be a tensor"):
        x.data = np.ones(2)
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = mg.ones(2, dtype=mg.int64)


# ---- conversions --------------------------------------------------------------------------------------


def test_numpy_of_what_requires_grad():
    """tensor_surface/C-01"""
    x = leaf()
    for convert in (x.numpy, lambda: np.asarray(x), lambda: np.array(x), lambda: x.__array__()):
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor"):
            convert()
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    assert np.shares_memory(x.numpy(force=True), x.detach().numpy())


def test_python_numbers():
    """tensor_surface/C-02"""
    x = mg.tensor([2.5], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.item() == 2.5 and x.tolist() == [2.5] and bool(x) is True
    for convert in (float, int, complex):
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            assert convert(x) == convert(2.5)


def test_copy_construction():
    """tensor_surface/C-03"""
    x = leaf()
    with pytest.warns(UserWarning, match=r"sourceTensor.detach\(\).clone\(\)"):
        y = mg.tensor(x)
    assert not y.requires_grad and y.data_ptr() != x.data_ptr() and y.tolist() == x.tolist()
    assert mg.as_tensor(x) is x
    assert mg.as_tensor(x, dtype=mg.float64).dtype is mg.float64


def test_backward_arguments():
    """tensor_surface/C-05: by position and by name, as torch's."""
    x = leaf()
    y = x * x
    y.backward(mg.ones(2), True)
    y.backward(gradient=mg.ones(2), retain_graph=None, create_graph=False, inputs=[x])
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="can be implicitly created only for scalar outputs"):
        (x * x).backward()


# ---- Python's protocols ---------------------------------------------------------------------------------


def test_len_iter_contains():
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert len(x) == 3 and [row.tolist() for row in x] == x.tolist()
    assert next(iter(x))._is_view()
    assert 4.0 in x and 4 in x and 7.0 not in x and mg.tensor(4.0) in x
    for call in (len, iter, list):
        with pytest.raises(TypeError, match="0-d tensor"):
            call(mg.tensor(1.0))
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        assert "x" in x
    _, _, c = x
    assert c.tolist() == [5.0, 6.0]
    assert list(reversed(mg.tensor([1, 2]))) == [2, 1]


@pytest.mark.parametrize("shape, words", [((0,), "no values is ambiguous"), ((2,), "more than one value is ambiguous")])
def test_bool_is_ambiguous(shape, words):
    with pytest.raises(RuntimeError, match=words):
        bool(mg.zeros(shape))
    assert not mg.zeros(1, 1) and mg.ones(())


def test_index_protocol():
    """A whole number counts as an int, nothing else does."""
    assert list(range(10))[mg.tensor(3)] == 3 and "ab" * mg.tensor([2], dtype=mg.uint8).item() == "abab"
    assert range(mg.tensor(3))[-1] == 2
    for bad in (mg.tensor(1.0), mg.tensor([1, 2])):
        with pytest.raises(TypeError, match="only integer tensors of a single element"):
            range(bad)


def test_item_of_many():
    with pytest.raises(RuntimeError, match="2 elements cannot be converted to Scalar"):
        mg.zeros(2).item()


def test_geometry():
    x = mg.arange(24.0).reshape(2, 3, 4)
    assert (x.dim(), x.ndim, x.numel(), x.nelement(), x.size(), x.size(-1)) == (3, 3, 24, 24, mg.Size([2, 3, 4]), 4)
    assert (x.stride(), x.stride(0), x.storage_offset(), x.element_size(), x.itemsize, x.nbytes) == ((12, 4, 1), 12, 0, 4, 4, 96)
    y = x[1, :, ::2]
    assert (y.stride(), y.storage_offset(), y.is_contiguous()) == ((4, 2), 12, False)
    assert y.data_ptr() == x.data_ptr() + 48
    assert x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert x.is_cpu and not x.is_cuda and x.is_floating_point() and not x.is_complex()
    assert str(x.device) == "cpu" and repr(x.device) == "device(type='cpu')"


def test_size():
    """A Size is a tuple with numel."""
    s = mg.zeros(2, 3).shape
    assert s == (2, 3) and isinstance(s, tuple) and s.numel() == 6 and hash(s) == hash((2, 3))
    assert repr(s) == "minigrad.Size([2, 3])"
    assert isinstance(s[1:], mg.Size) and isinstance(s + (1,), mg.Size) and isinstance(2 * s, mg.Size) and s[0] == 2


CONVERSIONS = {"half": mg.float16, "float": mg.float32, "double": mg.float64, "cfloat": mg.complex64, "cdouble": mg.complex128,
               "char": mg.int8,
               "byte": mg.uint8, "short": mg.int16, "int": mg.int32, "long": mg.int64, "bool": mg.bool}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name):
    """Each by its method, by to(), type() and type_as(); itself if nothing changes; with a gradient between floating dtypes."""
    dtype = CONVERSIONS[name]
    x = mg.tensor([0.0, 1.5], requires_grad=True)
    y = getattr(x, name)()
    assert y.dtype is dtype and getattr(y, name)() is y
    assert x.to(dtype).dtype is x.type(dtype).dtype is x.to(y).dtype is x.type_as(y).dtype is dtype
    assert y.requires_grad == (name in ("half", "float", "double", "cfloat", "cdouble"))
    assert mg.ones(1).type(y.type()).dtype is dtype
    if y.requires_grad:
        (y * 2).sum().backward() if dtype.is_floating_point else (y * 2).real.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0] and x.grad.dtype is mg.float32


def test_to():
    x = mg.ones(2)
    assert x.to("cpu") is x and x.to(mg.device("cpu")) is x and x.to("cpu", mg.float64).dtype is mg.float64 and x.cpu() is x
    copy = x.to(mg.float32, copy=True)
    assert copy is not x and copy.data_ptr() != x.data_ptr()
    assert x.to(dtype=mg.int64).dtype is mg.int64
    with pytest.raises(RuntimeError, match="device"):
        x.to("nonsense")
    with pytest.raises(TypeError):
        x.to(3.5)


def test_new():
    """new_* gives the dtype of the tensor by default, and never its history."""
    x = mg.ones(2, dtype=mg.float64, requires_grad=True)
    made = {"new_tensor": x.new_tensor([1, 2]), "new_zeros": x.new_zeros(2, 3), "new_ones": x.new_ones((2, 3)),
            "new_full": x.new_full((2,), 7),
            "new_empty": x.new_empty(3)}
    for name, y in made.items():
        assert y.dtype is mg.float64 and not y.requires_grad, name
    assert made["new_zeros"].tolist() == [[0.0] * 3] * 2 and made["new_ones"].shape == (2, 3) and made["new_full"].tolist() == [7.0,
                                                                                                                                7.0]
    assert x.new_zeros(2, dtype=mg.int64).dtype is mg.int64
    assert x.new_tensor(1.0, requires_grad=True).requires_grad and x.new_zeros(1, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="negative"):
        x.new_zeros(-1)


def test_hash_is_identity():
    x, y = mg.ones(2), mg.ones(2)
    assert len({x, y, x}) == 2 and hash(x) != hash(y)
    assert (x == y).tolist() == [True, True]
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == "text") is False


def test_inference_tensor():
    with mg.inference_mode():
        x = mg.ones(2)
    assert x.is_inference() and not mg.ones(2).is_inference()


def test_constructor():
    """``Tensor(2, 3)`` makes room, ``Tensor([1, 2])`` holds float32 numbers."""
    assert mg.Tensor(2, 3).shape == (2, 3) and mg.Tensor(2, 3).dtype is mg.float32
    assert mg.Tensor([1, 2]).tolist() == [1.0, 2.0] and mg.Tensor([1, 2]).dtype is mg.float32
    assert mg.Tensor().shape == (0,)


def test_attributes_of_torch():
    """Every public attribute that we have is one of torch's, and the properties agree in kind."""
    torch = pytest.importorskip("torch")
    ours = {n for n in dir(mg.Tensor) if not n.startswith("_")}
    extra = {"bump", "clear", "extras", "shared_counter", "version"}     # of the compiled base
    assert ours - set(dir(torch.Tensor)) <= extra
