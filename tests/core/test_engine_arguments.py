"""The arguments that backward and grad accept and refuse: engine.md 1 and the conversion of root gradients."""

import collections
import re
import subprocess
import sys
import warnings

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.internals import needs


def edge(m, t):
    return m.autograd.graph.get_gradient_edge(t)


# ---- roots ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["tensor", "list", "tuple", "edge", "edges"])
def test_roots(m, how):
    """engine/A-01: a tensor, an edge, or a sequence of them."""
    x = leaf(m, 3.)
    y = x * 2
    m.autograd.backward({"tensor": y, "list": [y], "tuple": (y,), "edge": edge(m, y), "edges": [edge(m, y)]}[how])
    assert value(x.grad) == 2


def test_root_of_no_tensor(m):
    """engine/A-01"""
    with raises(AssertionError, "Expected output to be"):
        m.autograd.grad([1.0], [leaf(m, 1.)])


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("others", [False, True])
def test_root_without_history(m, gradient, others):
    """engine/A-02: with its index, also with a gradient, also beside good roots."""
    x = leaf(m, 1.)
    roots = [x * 2, m.tensor(1.)] if others else [m.tensor(1.)]
    grads = [m.tensor(1.) if gradient else None for _ in roots]
    with raises(RuntimeError, f"element {len(roots) - 1} of tensors does not require grad and does not have a grad_fn"):
        m.autograd.backward(roots, grads)
    assert x.grad is None


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_implicit_gradient(m, shape):
    """engine/A-03: ones, if there is one element."""
    x = m.zeros(shape, requires_grad=True)
    (x * 3).backward()
    assert x.grad.shape == shape and x.grad.dtype is x.dtype and x.grad.sum().item() == 3


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 2)])
def test_no_implicit_gradient(m, shape):
    """engine/A-03"""
    with raises(RuntimeError, "implicitly created only for scalar"):
        (m.zeros(shape, requires_grad=True) * 3).backward()


def test_implicit_gradient_of_complex(m):
    """engine/A-04: the message names the dtype."""
    x = m.tensor(1 + 1j, dtype=m.complex64, requires_grad=True)
    with raises(RuntimeError, "implicitly created only for real scalar outputs but got") as error:
        (x * 2).backward()
    assert re.search("complex64|ComplexFloat", str(error.value))


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 1), (2, 3, 1)])
def test_gradient_of_another_shape(m, shape):
    """engine/A-05: even if it would broadcast."""
    x = m.zeros(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of .* and output\[0\] has a shape of"):
        (x * 1).backward(m.zeros(shape))


@pytest.mark.differs(
    what="`backward` of several tensors, one gradient of a wrong shape",
    there="The message looks for the gradient by its value, and can name another one.",
    here="The message names the position of the gradient in the list.")
@ours
def test_gradient_of_another_shape_by_position(m):
    """engine/A-05: the index is the position, where torch compares by value and may fail otherwise."""
    x = m.zeros(2, requires_grad=True)
    with raises(RuntimeError, f"grad_output[1] has a shape of {m.__name__}.Size([3]) and output[1] has a shape of {m.__name__}.Size([2])"):
        m.autograd.backward([x * 1, x * 2], [m.ones(2), m.ones(3)])


@pytest.mark.parametrize("root, gradient", [("complex64", "float32"), ("float32", "complex64")])
def test_complex_against_real(m, root, gradient):
    """engine/A-06"""
    x = m.zeros(2, dtype=getattr(m, root), requires_grad=True)
    with raises(RuntimeError, "required to have the same dtype"):
        (x * 1).backward(m.ones(2, dtype=getattr(m, gradient)))


@pytest.mark.parametrize("dtype", ["float64", "int64", "float16"])
def test_gradient_of_another_dtype(m, dtype):
    """engine/A-07, engine/V-07: cast to the dtype of the root before anything sees it."""
    x = leaf(m, 1., 2.)
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.dtype))
    y.backward(m.ones(2, dtype=getattr(m, dtype)))
    assert seen == [m.float32] and x.grad.dtype is m.float32 and value(x.grad) == [3, 3]


def test_gradient_of_no_tensor(m):
    """engine/A-08"""
    x = leaf(m, 1., 2.)
    with raises(TypeError, "gradients can be either Tensors or None"):
        m.autograd.backward([x * 1], ["ones"])
    with pytest.raises(TypeError):
        m.autograd.backward([x * 1], 1.0)


def test_fewer_gradients_than_roots(m):
    """engine/A-09"""
    x = leaf(m, 1.)
    with raises(RuntimeError, "got 2 tensors and 1 gradients"):
        m.autograd.backward([x * 1, x * 2], [m.tensor(1.)])


@pytest.mark.differs(
    what="`backward` with more gradients than tensors",
    there="The surplus gradients are ignored.",
    here="RuntimeError: a gradient that nothing uses is a mistake.")
@ours
def test_more_gradients_than_roots(m):
    """engine/A-09: torch ignores them."""
    with raises(RuntimeError, "got 1 tensors and 2 gradients"):
        m.autograd.backward([leaf(m, 1.) * 1], [m.tensor(1.), m.tensor(1.)])


def test_grad_variables(m):
    """engine/A-10"""
    x = leaf(m, 1.)
    with pytest.warns(FutureWarning, match="grad_variables"):
        m.autograd.backward([x * 1], grad_variables=[m.tensor(5.)])
    assert value(x.grad) == 5
    with pytest.warns(FutureWarning), raises(RuntimeError, "both passed"):
        m.autograd.backward([x * 1], [m.tensor(1.)], grad_variables=[m.tensor(1.)])


@pytest.mark.parametrize("roots, expected", [
    (lambda y, z: [y, y], 4), (lambda y, z: [y, z], 2 + 6), (lambda y, z: [z, y], 2 + 6), (lambda y, z: [z, z, y], 14)])
def test_roots_add_up(m, roots, expected):
    """engine/A-11, engine/T-04: listed twice, or one an ancestor of the other."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    m.autograd.backward(roots(y, z))
    assert value(x.grad) == expected


def test_gradients_are_not_written_to(m):
    """engine/A-12"""
    x = leaf(m, 1., 2.)
    g, h = m.ones(2), m.ones(2)
    for _ in range(2):
        y = x.clone()
        m.autograd.backward([y, y, x + 0, x], [g, h, g, g])
        m.autograd.grad([x + x, x], x, [g, h])
    assert value([g, h]) == [[1, 1], [1, 1]] and g._version == 0 and value(x.grad) == [8, 8]


# ---- inputs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["tensor", "edge", "list", "dict"])
def test_inputs(m, how):
    """engine/I-01, engine/I-12: only the listed tensors get a gradient; backward returns None."""
    x, w = leaf(m, 3.), leaf(m, 4.)
    y = x * w
    listed = {"tensor": x, "edge": edge(m, x), "list": [x], "dict": {"x": x}}[how]
    found = m.autograd.grad(y, listed, retain_graph=True)
    assert (list(found) == ["x"] and value(found["x"]) == 4) if how == "dict" else value(found) == [4]
    assert x.grad is None
    assert m.autograd.backward(y, inputs=listed) is None
    assert value(x.grad) == 4 and w.grad is None


def test_dict_keeps_its_order(m):
    """engine/I-01"""
    x, w = leaf(m, 3.), leaf(m, 4.)
    found = m.autograd.grad(x * w, {"w": w, 7: x})
    assert {k: value(g) for k, g in found.items()} == {"w": 3, 7: 4} and list(found) == ["w", 7]


def both(m):
    return [lambda y, inputs: m.autograd.backward(y, inputs=inputs), lambda y, inputs: m.autograd.grad(y, inputs)]


@pytest.mark.parametrize("inputs, error, key", [
    (lambda x: collections.OrderedDict(x=x), TypeError, "must be a dict"),             # engine/I-01
    (lambda x: [], RuntimeError, "cannot be empty"),                                   # engine/I-02
    (lambda x: {}, RuntimeError, "cannot be empty"),
    (lambda x: [x, 1.0], RuntimeError, "have to be Tensors or GradientEdges"),         # engine/I-03
    (lambda x: [(x.grad_fn, 0)], RuntimeError, "have to be Tensors or GradientEdges"),
])
@pytest.mark.parametrize("which", [0, 1], ids=["backward", "grad"])
def test_bad_inputs(m, which, inputs, error, key):
    x = leaf(m, 3.)
    with raises(error, key):
        both(m)[which](x * 2, inputs(x))
    assert x.grad is None


def test_inputs_that_require_no_gradient(m):
    """engine/I-04"""
    x = leaf(m, 3.)
    with raises(RuntimeError, "differentiated Tensors does not require grad"):
        m.autograd.grad(x * 2, m.tensor(1.))
    with raises(RuntimeError, "can't retain_grad on Tensor"):
        m.autograd.backward(x * 2, inputs=[m.tensor(1.)])


@pytest.mark.differs(
    what="`backward(inputs=[y, bad])`, where `bad` is refused",
    there="`y` retains its gradient from then on.",
    here="A call that is refused changes nothing.")
@ours
def test_refused_inputs_leave_nothing_behind(m):
    """A later element that is refused: the earlier ones do not retain their gradients, as they do in torch."""
    x = leaf(m, 3.)
    y = x * 2
    for bad in (m.tensor(1.), 1.0):
        with pytest.raises(RuntimeError):
            m.autograd.backward(y * 1, inputs=[y, bad])
    with pytest.raises(RuntimeError):
        m.autograd.backward([m.tensor(1.)], inputs=[y])
    assert not y.retains_grad


def test_backward_to_a_nonleaf(m):
    """engine/I-05: it retains its gradient from then on."""
    x, w = leaf(m, 3.), leaf(m, 5.)
    y = x * 2
    (y * w).backward(inputs=[y])
    assert y.retains_grad and value(y.grad) == 5 and x.grad is None and w.grad is None
    (x * 0 + y.detach() * 0 + y * w).backward(inputs=[w])
    assert value(y.grad) == 5 and value(w.grad) == 6


@pytest.mark.parametrize("reach", ["unused", "undefined"])
def test_unreached_input(m, reach):
    """engine/I-06: also if it was reached, by no gradient."""
    x, w = leaf(m, 1., 2.), leaf(m, 1., 2.)
    if reach == "unused":
        y = x.sum()
    else:
        z = w * 2
        z.grad_fn.register_prehook(lambda grads: (None,))
        y = (x + z).sum()
    with raises(RuntimeError, "The differentiated Tensor at index 1 appears to not have been used in the graph"):
        m.autograd.grad(y, [x, w], retain_graph=True)
    assert value(m.autograd.grad(y, [x, w], allow_unused=True)) == [[1, 1], None]


def test_materialize(m):
    """engine/I-07"""
    x, w = leaf(m, 1.), m.zeros(2, 3, dtype=m.float64, requires_grad=True)
    for create in (False, True):
        _, g = m.autograd.grad(x * 2, [x, w], materialize_grads=True, create_graph=create)
        assert g.shape == (2, 3) and g.dtype is m.float64 and not value(g.sum()) and g.requires_grad is create
    with raises(ValueError, "allow_unused to be True or not passed"):
        m.autograd.grad(x * 2, [x, w], materialize_grads=True, allow_unused=False)


def test_duplicate_inputs(m):
    """engine/I-08"""
    x = leaf(m, 3.)
    a, b = m.autograd.grad(x * 2, [x, x])
    assert a is b and value(a) == 2


def test_gradient_of_a_root_is_the_one_given(m):
    """engine/I-09"""
    x, g = leaf(m, 1., 2.), m.ones(2)
    assert m.autograd.grad(x, x, g)[0] is g
    y = x.clone()
    a, b = m.autograd.grad(3 * y, (y, x), m.ones(2))
    assert value([a, b]) == [[3, 3], [3, 3]] and a.data_ptr() == b.data_ptr()


def test_only_inputs(m):
    """engine/I-10"""
    x = leaf(m, 3.)
    with pytest.warns(FutureWarning, match="only_inputs"):
        assert value(m.autograd.grad(x * 2, x, only_inputs=False)) == [2]


def test_batched_gradients(m):
    """engine/I-11"""
    x = leaf(m, 1., 2., 3.)
    y = x * x
    rows = m.tensor([[1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 1., 1.]])
    found, = m.autograd.grad(y, x, rows, is_grads_batched=True, retain_graph=True)
    assert value(found) == [[2, 0, 0], [0, 4, 0], [0, 0, 6], [2, 4, 6]]
    with raises(RuntimeError, "interpret the first dimension"):
        m.autograd.grad(y, x, m.ones(4, 2), is_grads_batched=True)


# ---- flags ----------------------------------------------------------------------------------------------


def test_retain_graph_follows_create_graph(m):
    """engine/F-01"""
    x = leaf(m, 3.)
    y = x * x
    g, = m.autograd.grad(y, x, create_graph=True)
    assert value(m.autograd.grad(y, x)) == [6] and g.requires_grad
    with raises(RuntimeError, "through the graph a second time"):
        m.autograd.grad(y, x)
    y = x * x
    m.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with raises(RuntimeError, "through the graph a second time"):
        m.autograd.grad(y, x)


def test_warning_of_the_cycle(m):
    """engine/F-02: once per process, and never from grad. In a process of its own, for that."""
    code = f"""
import warnings, {m.__name__} as m
x = m.tensor(3., requires_grad=True)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    m.autograd.grad(x * x, x, create_graph=True)
    print(len(found))
    for _ in range(2):
        (x * x).backward(create_graph=True)
    print([w.category.__name__ for w in found], "create a reference cycle" in str(found[0].message))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["0", "['UserWarning'] True"]


@needs("counts")
@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
@pytest.mark.parametrize("create", [False, True])
def test_ambient_mode_does_not_matter(m, mode, create):
    """engine/F-03: but results in inference mode are inference tensors, without history."""
    x = leaf(m, 3.)
    y = x * x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with getattr(m, mode)():
            found, = m.autograd.grad(y, x, create_graph=create, retain_graph=True)
            y.backward()
    assert value(found) == 6 and value(x.grad) == 6
    assert found.requires_grad is (create and mode != "inference_mode")
    assert found.is_inference() is x.grad.is_inference() is (mode == "inference_mode")
