"""`swap_tensors` exchanges what two leaves hold, and a graph made before refuses to run."""

import weakref

import pytest

import minigrad as mg

torch = pytest.importorskip("torch")
LIBRARIES = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])


@LIBRARIES
def test_contents_and_classes(m):
    a, b = m.nn.Parameter(m.ones(2)), m.zeros(3, dtype=m.float64)
    a.grad = m.full((2,), 7.0)
    names = id(a), id(b)
    m.utils.swap_tensors(a, b)
    assert (id(a), id(b)) == names
    assert type(a) is m.Tensor and a.tolist() == [0, 0, 0] and a.dtype is m.float64 and not a.requires_grad and a.grad is None
    assert type(b) is m.nn.Parameter and b.tolist() == [1, 1] and b.requires_grad and b.grad.tolist() == [7, 7]


@LIBRARIES
def test_a_module_sees_the_other_values(m):
    layer = m.nn.Linear(2, 1, bias=False)
    m.utils.swap_tensors(layer.weight, m.nn.Parameter(m.full((1, 2), 3.0)))
    assert layer(m.ones(2)).item() == 6
    layer(m.ones(2)).backward()
    assert layer.weight.grad.tolist() == [[1, 1]]


@LIBRARIES
def test_a_graph_made_before_does_not_run(m):
    a, b = m.ones(2, requires_grad=True), m.zeros(2, requires_grad=True)
    node = m.autograd.graph.get_gradient_edge(a).node       # noqa: F841  (kept alive, as a graph would)
    out = a.sum()
    m.utils.swap_tensors(a, b)
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        out.backward()


@LIBRARIES
def test_weak_references_are_refused(m):
    a, b = m.ones(2), m.zeros(2)
    held = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref"):
        m.utils.swap_tensors(a, b)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        m.utils.swap_tensors(b, a)
    assert held() is a


def test_attributes_follow():
    class Mine(mg.Tensor):
        pass
    a, b = mg.ones(2).as_subclass(Mine), mg.zeros(2).as_subclass(Mine)
    a.name = "a"
    mg.utils.swap_tensors(a, b)
    assert b.name == "a" and not hasattr(a, "name")
    mg.utils.swap_tensors(a, a)


@LIBRARIES
def test_not_a_leaf(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    kept = y * y            # noqa: F841  (in PyTorch the node that saves y is the reason)
    with pytest.raises(RuntimeError, match=r"swap t1 because it is not a leaf|Expected use_count of t1"):
        m.utils.swap_tensors(y, m.ones(2))
