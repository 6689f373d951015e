"""What random programs of Functions, hooks, modules and odd shapes found: one test each, of minigrad and of PyTorch."""

import copy

import numpy as np
import pytest
import torch

import minigrad as mg

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])

# Ops that are made of several, or treat a number as a vector: their results are nobody's views.
NO_VIEWS = {
    "quantile": lambda m, x: x.quantile(0.5), "quantiles": lambda m, x: x.quantile(m.tensor([0.25, 0.5]), 1, True),
    "nanquantile": lambda m, x: x.nanquantile(0.5, 0), "kron": lambda m, x: m.kron(x, x),
    "gather": lambda m, x: x[0, 0].gather(0, m.tensor(0)), "median": lambda m, x: x[0, 0].median(0)[0],
    "nanmedian": lambda m, x: x[0, 0].nanmedian(0)[0], "mode": lambda m, x: x[0, 0].mode(0)[0], "kthvalue": lambda m, x: x[0, 0].kthvalue(1)[0],
    "nll_loss": lambda m, x: m.nn.functional.nll_loss(x[0], m.tensor(1), reduction="none"),
    "sum_to_size": lambda m, x: x[0].sum_to_size(1), "diff": lambda m, x: x.diff(n=0),
}


@BOTH
@pytest.mark.parametrize("op", NO_VIEWS.values(), ids=NO_VIEWS)
def test_the_result_is_no_view(op, m):
    """A view that was made under no_grad may not be written to with a gradient, and none may be detached in place."""
    factor = m.tensor(2.0, requires_grad=True)
    with m.no_grad():
        y = op(m, m.tensor([[1.0, 2.0, 3.0], [5.0, 4.0, 6.0]]))
    y.mul_(factor)
    x = m.tensor([[1.0, 2.0, 3.0], [5.0, 4.0, 6.0]], requires_grad=True)
    z = op(m, x)
    assert not z._is_view() and z.requires_grad and y.tolist() == (z * 2).tolist()
    z.detach_().zero_()
    assert not z.requires_grad and x.sum().item() == 21


@BOTH
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (1, 1), (2, 3, 4)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_shapes_of_quantiles(shape, keepdim, m):
    x = m.arange(float(torch.Size(shape).numel())).reshape(shape)
    ones = (1,) * len(shape) if keepdim else ()
    assert x.quantile(0.5, keepdim=keepdim).shape == ones and x.quantile(m.tensor([0.1, 0.2]), keepdim=keepdim).shape == (2, *ones)
    for dim in range(len(shape)):
        left = shape[:dim] + ((1,) if keepdim else ()) + shape[dim + 1:]
        assert x.quantile(0.5, dim, keepdim).shape == left and x.quantile(m.tensor([0.1, 0.2]), dim, keepdim).shape == (2, *left)


@BOTH
def test_covariance_of_one_variable_is_a_number(m):
    x = m.tensor([[1.0, 2.0, 4.0]], requires_grad=True)
    assert m.cov(x).shape == () and m.corrcoef(x).tolist() == 1 and m.cov(m.ones(1, 1), correction=0).shape == ()
    m.cov(x).backward()
    assert x.grad.shape == (1, 3)


@BOTH
def test_tensors_of_the_common_shape_stay_themselves(m):
    x, y = m.ones(2, 3), m.ones(3)
    first, second = m.broadcast_tensors(x, y)
    assert first is x and second._is_view()


@BOTH
@pytest.mark.parametrize("momentum", [0.1, None])
def test_an_empty_batch_leaves_the_running_statistics(momentum, m):
    layer = m.nn.BatchNorm1d(2, momentum=momentum)
    layer(m.ones(3, 2))
    before = layer.running_mean.tolist(), layer.running_var.tolist()
    x = m.ones(0, 2, requires_grad=True)
    layer(x).sum().backward()
    assert (layer.running_mean.tolist(), layer.running_var.tolist()) == before and layer.num_batches_tracked.item() == 2
    assert x.grad.shape == (0, 2) and layer.weight.grad.tolist() == [0, 0]
    layer.eval()
    assert layer(m.ones(0, 2)).shape == (0, 2) and m.nn.BatchNorm2d(3)(m.ones(2, 3, 0, 4)).shape == (2, 3, 0, 4)


@BOTH
def test_copies_of_parameters_have_no_gradient(m):
    """tensor_surface/H-04: that of a plain tensor has one."""
    p, x = m.nn.Parameter(m.ones(2)), m.ones(2, requires_grad=True)
    p.grad, x.grad = m.ones(2), m.ones(2)
    layer = m.nn.Linear(2, 1)
    layer(m.ones(2)).backward()
    assert copy.deepcopy(p).grad is None and copy.deepcopy(x).grad.tolist() == [1, 1]
    assert copy.deepcopy(layer).weight.grad is None and layer.weight.grad is not None


@BOTH
def test_deepcopy_keeps_the_strides_of_what_has_no_gaps(m):
    assert copy.deepcopy(m.arange(6).reshape(2, 3).T * 2).stride() == (1, 3)


@BOTH
def test_rrelu_at_zero_and_nan(m):
    """It draws a slope for 0 too, and none for nan."""
    x = m.tensor([0.0, float("nan"), 1.0, -1.0], requires_grad=True)
    y = m.nn.functional.rrelu(x, 0.5, 0.75, training=True)
    y.backward(m.ones(4))
    assert 0.5 <= x.grad[0] < 0.75 and x.grad[1:3].tolist() == [1, 1] and y[3] == -x.grad[3]


def test_random_numbers_of_rrelu():
    for kind in ("float32", "float64"):
        found = []
        for m in (mg, torch):
            m.manual_seed(5)
            x = m.randn(4, 5, dtype=getattr(m, kind))
            found.append(m.nn.functional.rrelu(x, training=True).tolist())
        assert mg.allclose(mg.tensor(found[0]), mg.tensor(found[1]))


@BOTH
def test_a_number_has_no_dimension_to_split(m):
    with pytest.raises(RuntimeError, match=r"Dimension specified as 0 but tensor has no dimensions"):
        m.tensor(1.0).unflatten(0, (1, -1))


@BOTH
@pytest.mark.parametrize("op", [lambda m, x: x.sort(0)[0], lambda m, x: x.gather(0, m.tensor([1, 0]))], ids=["sort", "gather"])
def test_indices_that_an_unpack_hook_made_floating(op, m):
    """differences/K-03"""
    x = m.tensor([2.0, 1.0], dtype=m.float64, requires_grad=True)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.to(m.float64)):
        y = op(m, x)
    with pytest.raises(RuntimeError):
        y.sum().backward()


@BOTH
def test_samplers_of_nothing(m):
    data = m.utils.data
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples=0"):
        data.RandomSampler([])
    with pytest.raises(ValueError, match="num_samples=0"):
        data.DataLoader([], shuffle=True)
    assert list(data.DataLoader([])) == []


COMPLEX = {
    **{name: (lambda m, x, y, name=name: getattr(m.nn.functional, name)(x, y)) for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "hinge_embedding_loss")},
    "clamp_min": lambda m, x, y: x.real.clamp_min(1j), "clamp_max": lambda m, x, y: m.clamp_max(x, y),
}


@BOTH
@pytest.mark.parametrize("op", COMPLEX.values(), ids=COMPLEX)
def test_complex_numbers_have_no_order(op, m):
    """differences/A-12"""
    x = m.tensor([1 + 2j, 3.0])
    with pytest.raises(RuntimeError, match=r"not implemented for|not supported for complex|no order"):
        op(m, x, m.ones(2))


def test_errors_do_not_name_an_empty_function():
    with pytest.raises(TypeError, match=r"^argument 'dim' must be int, not str"):
        mg.ones(2).cumsum("a")


@BOTH
def test_a_state_dict_of_version_1_has_no_number_of_batches(m):
    """A plain dict has no version: it may be that old. One of a module of today has to be complete."""
    layer = m.nn.Sequential(m.nn.BatchNorm1d(2))
    layer(m.ones(3, 2))
    state = layer.state_dict()
    del state["0.num_batches_tracked"]
    for assign in (False, True):
        assert not layer.load_state_dict(dict(state), assign=assign).missing_keys and layer[0].num_batches_tracked == 1
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        layer.load_state_dict(state)
    assert layer.load_state_dict({}, strict=False).missing_keys == ["0.weight", "0.bias", "0.running_mean", "0.running_var"]


@BOTH
def test_a_parameter_that_is_none_is_not_got(m):
    with pytest.raises(AttributeError, match=r"`bias` is not an nn.Parameter"):
        m.nn.Linear(2, 2, bias=False).get_parameter("bias")


@pytest.mark.parametrize("name, alpha", [("add", -0.5), ("sub", 3), ("add", 1.0), ("sub", 0.1)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex128"])
def test_alpha_of_a_sum(name, alpha, dtype):
    """One node, which saves alpha; in place too, and where the operands broadcast. Of 16 bits, PyTorch also rounds the product."""
    def run(m):
        kind = getattr(m, dtype)
        x = m.linspace(-2, 2, 6, dtype=m.float64).reshape(2, 3).to(kind).requires_grad_()
        y = m.linspace(1.1, 1.7, 3, dtype=m.float64).to(kind).requires_grad_()
        z = getattr(m, name)(x, y, alpha=alpha)
        w = getattr(x * 1, name + "_")(y, alpha=alpha)
        v = getattr(x[:, :1], name)(y, alpha=alpha)
        (z * w * v).abs().sum().backward()
        values = [t.detach().to(m.complex128 if kind.is_complex else m.float64).numpy() for t in (z, w, v, x.grad, y.grad)]
        return values, [type(t.grad_fn).__name__ for t in (z, w, v)], z.grad_fn._saved_alpha
    ours, theirs = run(mg), run(torch)
    assert ours[1:] == theirs[1:]
    for a, b in zip(ours[0][:3], theirs[0][:3]):
        assert np.allclose(a, b, rtol={"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-6}.get(dtype, 1e-14))
    for a, b in zip(ours[0][3:], theirs[0][3:]):
        assert np.allclose(a, b, rtol=2e-2 if dtype.endswith("16") else 1e-5)


def test_a_sum_with_alpha_of_16_bits_is_rounded_once():
    x, y = mg.tensor([1.2]).half(), mg.tensor([1.4]).half()
    once = (x.float() - 3 * y.float()).half()
    assert mg.sub(x, y, alpha=3).equal(once) and mg.add(x, y, alpha=-3).equal(once) and (x * 1).sub_(y, alpha=3).equal(once)
    assert not (x - 3 * y).equal(once)


@pytest.mark.parametrize("name", ["triu_indices", "tril_indices"])
def test_triangles_of_all_shapes_and_diagonals(name):
    for rows, columns in [(0, 0), (3, 0), (0, 3), (1, 1), (4, 4), (3, 7), (7, 3)]:
        for offset in (-100, -7, -3, -1, 0, 1, 2, 5, 100):
            ours, theirs = [getattr(m, name)(rows, columns, offset) for m in (mg, torch)]
            assert tuple(ours.shape) == tuple(theirs.shape) and ours.tolist() == theirs.tolist(), (rows, columns, offset)
    assert mg.tril_indices(3, 2 ** 40, -1).tolist() == torch.tril_indices(3, 2 ** 40, -1).tolist()     # takes the memory of its result
