"""What random programs found once they had scans, modes that hooks enter, inference tensors, `set_` and several outputs: one test each."""

import warnings

import numpy as np
import pytest
import torch

import minigrad as mg

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
ENTERED = []    # modes that nobody leaves: inference mode is left when the object dies


def enter(mode):
    ENTERED.append(mode)
    mode.__enter__()


@BOTH
def test_a_mode_that_a_hook_enters_is_over_with_its_node(m):
    """differences/M-01"""
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sin()
    seen = []
    y.register_hook(lambda g: enter(m.enable_grad()))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(m.is_grad_enabled()))     # of the same node
    x.register_hook(lambda g: seen.append(m.is_grad_enabled()))                             # of the next
    z.sum().backward()
    assert seen == [True, False] and m.is_grad_enabled() and not x.grad.requires_grad


@BOTH
def test_a_mode_of_a_post_accumulate_hook_is_over_with_its_node(m):
    """differences/M-01"""
    x, y = m.ones(1, requires_grad=True), m.ones(1, requires_grad=True)
    seen = []

    def hook(leaf):
        seen.append(m.is_grad_enabled())
        enter(m.enable_grad())
    x.register_post_accumulate_grad_hook(hook)
    y.register_post_accumulate_grad_hook(hook)
    (x * y).sum().backward()
    assert seen == [False, False]


@BOTH
def test_inference_mode_of_a_hook_is_over_with_its_node(m):
    """differences/M-01"""
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_prehook(lambda grads: enter(m.inference_mode()))
    seen = []
    x.register_hook(lambda g: seen.append(m.is_inference_mode_enabled()))
    (y * 2).sum().backward()
    assert seen == [False] and not m.is_inference_mode_enabled()


@pytest.mark.differs(
    what="A hook of a node that enters `inference_mode` and stays in it, under `create_graph=True`",
    there="The node's two gradients for one tensor are added without a history of the second: a second derivative is half of what it should be.",
    here="Their sum has no history, and a second backward through it raises an error.")
def test_gradients_that_are_added_in_inference_mode_have_no_history():
    x = mg.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: enter(mg.inference_mode()))
    (y * y).sum().backward(create_graph=True)
    assert x.grad.tolist() == [32.0, 108.0] and not x.grad.requires_grad and not mg.is_inference_mode_enabled()
    with pytest.raises(RuntimeError, match="does not require grad"):
        mg.autograd.grad(x.grad.sum(), x)


@BOTH
def test_ops_of_inference_tensors_alone_have_no_tangents(m):
    """differences/M-03"""
    forward = m.autograd.forward_ad
    with forward.dual_level():
        with m.inference_mode():
            x = m.ones(2)
        x = forward.make_dual(x, m.ones(2))
        tangents = [forward.unpack_dual(y).tangent for y in (x.exp(), -x, x.sum(), x.view(2), x[0], m.cat([x, x]))]
        mixed = [forward.unpack_dual(y).tangent.tolist() for y in (x * m.ones(2), x * 2, x.clone())]
    assert tangents == [None] * 6 and mixed == [[1, 1], [2, 2], [1, 1]]


@BOTH
def test_data_of_a_normal_tensor_makes_a_normal_tensor(m):
    with m.inference_mode():
        x = m.ones(2)
    x.data = m.zeros(2)
    assert not x.is_inference()


OUTPUTS = {
    "max": lambda x: x.max(0)[0], "sort": lambda x: x.sort()[0], "topk": lambda x: x.topk(2)[0], "median": lambda x: x.median(0)[0],
    "cummax": lambda x: x.cummax(0)[0], "kthvalue": lambda x: x.kthvalue(1)[0], "mode": lambda x: x.mode(0)[0],
}


@BOTH
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_node_knows_of_no_indices(name, m):
    """Hooks see the gradients of outputs that have one: the values, not the indices."""
    y = OUTPUTS[name](m.rand(3, 4, requires_grad=True))
    lengths = []
    y.grad_fn.register_prehook(lambda grads: lengths.append(len(grads)))
    y.grad_fn.register_hook(lambda inputs, outputs: lengths.append((len(inputs), len(outputs))))
    y.sum().backward()
    assert lengths == [1, (1, 1)] and len(y.grad_fn._input_metadata) == 1


@BOTH
def test_hooks_of_several_gradients_know_a_leaf_that_was_frozen(m):
    x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
    z = (x * y).sum()
    seen = []
    m.autograd.graph.register_multi_grad_hook([x, y], lambda grads: seen.append([None if g is None else g.tolist() for g in grads]))
    x.requires_grad = False
    z.backward()
    assert seen == [[[1, 1], [1, 1]]]


@BOTH
@pytest.mark.parametrize("index, name", [((slice(0, 1),), "Alias"), ([slice(None)], "Alias"), (slice(0, 1), "Slice"), (slice(None), "Slice"),
                                         ((slice(0, 1), slice(0, 2)), "Alias"), ((slice(None), slice(0, 1)), "Slice")])
def test_a_slice_of_everything_in_a_tuple_is_no_op(index, name, m):
    x = m.ones(1, 2, requires_grad=True) * 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(x[index].grad_fn).__name__ == f"{name}Backward0"


@BOTH
@pytest.mark.parametrize("name, node", [("softmax", "SoftmaxBackward0"), ("log_softmax", "LogSoftmaxBackward0"),
                                        ("logcumsumexp", "LogcumsumexpBackward0")])
def test_of_a_number_they_are_one_node(name, node, m):
    """differences/N-03"""
    x = m.tensor(0.5, requires_grad=True, dtype=m.float64)
    y = getattr(x, name)(0)
    assert type(y.grad_fn).__name__ == node and not y._is_view() and y.grad_fn.next_functions[0][0].variable is x
    g, = m.autograd.grad(y, x, create_graph=True)
    assert g.item() == (1.0 if name == "logcumsumexp" else 0.0)
    assert g.requires_grad == (name != "logcumsumexp")      # whose derivative is the constant 1, also where x is infinite
    if g.requires_grad:
        assert m.autograd.grad(g * g, x)[0].item() == 0
    else:
        far = m.tensor(-m.inf, requires_grad=True)
        assert m.autograd.grad(far.logcumsumexp(0), far)[0].item() == 1


@BOTH
def test_the_tangent_of_a_product_of_one_infinite_number(m):
    forward = m.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(m.tensor(m.inf), m.tensor(2.))
        assert forward.unpack_dual(x.prod()).tangent.item() == 2


@BOTH
def test_softmax_lies_row_by_row(m):
    x = m.ones(3, 2).t()
    assert x.softmax(0).stride() == x.log_softmax(0).stride() == (3, 1)


@BOTH
@pytest.mark.parametrize("pad, found", [((2, -1), [1, 2, 0, 1, 2]), ((-1, 3), [1, 2, 3, 1, 2, 3]), ((-2, 2), [2, 3, 2, 3]),
                                        ((-4, 0), []), ((1, -2), [1, 0, 1]), ((-1, 4), None)])
def test_circular_padding_repeats_what_is_left_after_cutting(pad, found, m):
    x = m.arange(4.).reshape(1, 4)
    if found is None:
        with pytest.raises(RuntimeError):
            m.nn.functional.pad(x, pad, "circular")
    else:
        assert m.nn.functional.pad(x, pad, "circular")[0].tolist() == found


@BOTH
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_nothing(name, m):
    found = [getattr(m.zeros(0, dtype=getattr(m, dtype)), name)().item() for dtype in ("uint8", "int8", "int16", "int32", "int64")]
    assert found == [0, 0, 0, -2 ** 31, -2 ** 63]
    for dtype in (m.float16, m.bfloat16, m.float32, m.float64):
        assert getattr(m.zeros(0, dtype=dtype), name)().isnan().item()


@BOTH
def test_a_running_sum_is_never_minus_zero(m):
    for x in (m.tensor([-0., -0.]), m.tensor([[-0.], [1.]]), m.tensor([-0., 2.], dtype=m.float64), m.zeros(2, 3).neg().t()):
        assert not m.signbit(x.cumsum(0)).any().item()
    assert m.signbit(m.tensor([-0., 1.]).cumprod(0))[0].item()


@BOTH
def test_scatter_reduce_at_no_index_is_recorded(m):
    x, y = m.ones(3), m.ones(0, requires_grad=True)
    for reduce in ("sum", "prod", "amax", "mean"):
        z = x.scatter_reduce(0, m.zeros(0, dtype=m.int64), y, reduce)
        z.sum().backward()
        assert z.tolist() == [1, 1, 1] and y.grad.shape == (0,)


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_derivative_of_erfcx_far_below_0(dtype, m):
    x = m.tensor([-30., -m.inf], dtype=getattr(m, dtype), requires_grad=True)
    m.special.erfcx(x).sum().backward()
    assert x.grad.tolist() == [-m.inf, -m.inf]
    assert m.func.jvp(m.special.erfcx, (x.detach(),), (m.ones_like(x),))[1].tolist() == [-m.inf, -m.inf]


@BOTH
def test_the_derivative_of_a_long_cumprod_whose_factors_differ_widely(m):
    """differences/A-02: behind a small product there is a sum too large for a float32."""
    generator = np.random.default_rng(5)
    x, g = np.exp(generator.standard_normal(3000)).astype("f4"), generator.standard_normal(3000).astype("f4")
    narrow, wide = [m.tensor(x, dtype=dtype, requires_grad=True) for dtype in (m.float32, m.float64)]
    for leaf in (narrow, wide):
        leaf.cumprod(0).backward(m.tensor(g, dtype=leaf.dtype))
    np.testing.assert_allclose(narrow.grad.numpy(), wide.grad.numpy(), rtol=1e-3 if m is torch else 1e-6, atol=1e-37)
