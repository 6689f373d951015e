"""Note [What the collector counts] in graph/tensor.py: tensors are made of the memory of dead ones, and nobody can tell.

And of the tensors and nodes in new memory, few count, but the collector sees all of them.
"""

import gc
import itertools
import weakref

import pytest

import minigrad as mg
from minigrad._build import pure as _pure
from tests.internals import needs

FREE = _pure.FREE_THREADED      # there, Python's own ways of making and counting objects are left alone


class Named(mg.Tensor):
    """A subclass whose instances have a dict: they are not made of dead ones."""


def test_fields_start_empty():
    for _ in range(3):
        x = mg.ones(3, requires_grad=True)
        y = x[1:] * 2
        y.register_hook(lambda g: g)
        y.retain_grad()
        y.sum().backward()
        assert x.grad.tolist() == [0, 2, 2]
        del x, y
        z = mg.ones(3) + 1
        assert z.grad is None and z.grad_fn is None and z.is_leaf and not z.requires_grad and z._version == 0 and z._base is None
        assert weakref.getweakrefs(z) == []


def test_weak_references_die():
    died = []
    x = mg.ones(2) + 1
    reference = weakref.ref(x, lambda r: died.append(r))
    del x
    made = [mg.ones(2) + 1 for _ in range(10)]
    assert reference() is None and died == [reference] and len(made) == 10


def test_subclasses():
    for _ in range(100):
        x = mg.ones(2).as_subclass(Named)
        x.note = [x]            # a cycle
        y = x * 2
        assert type(y) is Named and y.tolist() == [2, 2]
    dead = weakref.ref(x)
    del x, y
    gc.collect()
    assert dead() is None


def test_the_class_keeps_its_references():
    """Each instance holds a reference to its class, which its memory must give back."""
    import sys
    for cls, make in ((mg.Tensor, lambda: mg.ones(2) + 1), (Named, lambda: mg.ones(2).as_subclass(Named))):
        make()
        before = sys.getrefcount(cls)
        for _ in range(500):
            make()
        assert abs(sys.getrefcount(cls) - before) < 50


class Bare(mg.Tensor):
    __slots__ = ()


def test_the_class_of_an_instance_can_change():
    for _ in range(3):
        x, y = mg.ones(2) + 1, (mg.ones(2) + 1).as_subclass(Bare)
        x.__class__, y.__class__ = Bare, mg.Tensor
        assert type(x) is Bare and type(y) is mg.Tensor and x.tolist() == y.tolist() == [2, 2]
        del x, y
        assert (mg.ones(2) + 2).tolist() == [3, 3]


def test_a_chain_of_gradients():
    """Each tensor is the .grad of the one before: freeing the first must not use up the stack."""
    first = x = mg.ones(1, requires_grad=True)
    for _ in range(100_000):
        x.grad = mg.ones(1, requires_grad=True)
        x = x.grad
    del first, x


def test_the_collector_sees_tensors():
    """The usual way to list all tensors. Dead ones, whose memory is kept, are not among them."""
    x = mg.ones(3) * 2
    kept = [mg.ones(3) * 2 for _ in range(50)]
    number = len([o for o in gc.get_objects() if isinstance(o, mg.Tensor)])
    assert any(o is x for o in gc.get_objects()) and gc.is_tracked(x)
    kept.clear()
    assert len([o for o in gc.get_objects() if isinstance(o, mg.Tensor)]) <= number - 50


def test_cycles_are_collected():
    for _ in range(3):
        x = mg.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g, held=y: g)
        dead = weakref.ref(x), weakref.ref(y)
        del x, y
        gc.collect()
        assert [d() for d in dead] == [None, None]


def test_a_finalizer_that_revives():
    """`__del__` of a subclass may keep the tensor; it is as it was."""
    revived = []

    class Revived(mg.Tensor):
        def __del__(self):
            if not revived:
                revived.append(self)
    x = mg.ones(2).as_subclass(Revived)
    del x
    gc.collect()
    others = [mg.ones(2) + 1 for _ in range(100)]
    assert revived[0].as_subclass(mg.Tensor).tolist() == [1, 1] and others[0].tolist() == [2, 2]


def test_more_than_are_kept():
    n = 1_100_000 if _pure.mode() == "compiled" else 20_000
    for _ in range(2):
        tensors = [mg.ones(()) + i for i in range(n)]
        assert [t.item() for t in tensors[::1000]] == [1.0 + i for i in range(0, n, 1000)]


def held(n):
    """n tensors, a chain of products."""
    x = mg.ones(2, requires_grad=True)
    tensors = [x]
    for _ in range(n):
        tensors.append(tensors[-1] * 2)
    return tensors


@needs("memory")
def test_few_count():
    """40,000 more tensors and nodes count as some 1,100 objects, although none of them is made of a dead one."""
    n = 40_000
    kept = held(n)          # the memory that earlier tests have left
    gc.collect()
    gc.disable()
    try:
        before = gc.get_count()[0]
        more = held(n)
        counted = gc.get_count()[0] - before
    finally:
        gc.enable()
    assert len(kept) == len(more) == n + 1
    if _pure.mode() == "compiled" and not FREE:
        assert counted < n / 16
    assert all(gc.is_tracked(x) and gc.is_tracked(x.grad_fn) for x in more[1:100])


def test_all_of_a_large_cycle_is_collected():
    tensors = held(20_000)
    first, last = tensors[1], tensors[-1]
    first.register_hook(lambda g, last=last: g)
    dead = [weakref.ref(x) for x in tensors[1::100]] + [weakref.ref(x.grad_fn) for x in tensors[1::100]]
    del tensors, first, last
    gc.collect()
    assert [d for d in dead if d() is not None] == []


@pytest.mark.skipif(FREE, reason="there, Python waits until the process has grown")
def test_cycles_do_not_pile_up():
    """The collector comes by itself, although each cycle of 100 nodes counts as a dozen objects."""
    alive, most = 0, 0

    def ended():
        nonlocal alive
        alive -= 1
    for _ in range(2000):
        x = mg.ones(2, requires_grad=True)
        y = first = x * 2
        for _ in range(50):
            y = y * 2
        first.register_hook(lambda g, last=y: g)
        weakref.finalize(y, ended).atexit = False
        alive += 1
        most = max(most, alive)
    assert most < 1500


def accumulator_of(leaf):
    return (leaf * 2).grad_fn.next_functions[0][0]


def test_fields_of_accumulators_start_empty():
    """The node that adds up a leaf's gradient is made of a dead one too."""
    for _ in range(3):
        x = mg.ones(3, requires_grad=True)
        node = accumulator_of(x)
        node.register_hook(lambda *grads: None)
        node.register_prehook(lambda grads: None)
        node.metadata["note"] = x
        y = (x * 2).sum() + (x * 3).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.tolist() == [10, 10, 10] and accumulator_of(x) is node and node.variable is x
        died, of_node = weakref.ref(x), weakref.ref(node)
        node.metadata.clear()
        del x, y, node
        assert died() is None and of_node() is None
        z = mg.ones((), requires_grad=True)
        node = accumulator_of(z)
        assert node.variable is z and node.metadata == {}
        assert len(weakref.getweakrefs(node)) == (_pure.mode() == "interpreted")        # the leaf's: Note [A leaf and its node]
        (z * 5).backward()
        assert z.grad.item() == 5 and node.next_functions == ()


def test_more_accumulators_than_are_kept():
    leaves = [mg.ones((), requires_grad=True) for _ in range(33_000)]
    for _ in range(2):
        nodes = [accumulator_of(leaf) for leaf in leaves]
        assert all(node.variable is leaf for node, leaf in zip(nodes, leaves))
        del nodes


def test_a_subclass_of_accumulators():
    """Its instances are not made of dead ones, and none of them becomes an AccumulateGrad."""
    cls = type(accumulator_of(mg.ones(2, requires_grad=True)))
    made = type("Named", (cls,), {})
    for _ in range(5):
        node = made()
        node.note = [node]
        del node
    gc.collect()
    x = mg.ones(2, requires_grad=True)
    assert type(accumulator_of(x)) is cls


@pytest.mark.skipif(_pure.mode() != "compiled" or FREE, reason="only then are nodes made of dead ones")
@needs("memory")
def test_the_next_graph_lies_page_by_page():
    """In whatever order a graph was freed, the nodes of the next one lie together: see `mg_page` in _capi/memory.h."""
    import random
    x = mg.tensor(1.0, requires_grad=True)
    scattered = [x * 2 for _ in range(20_000)]
    random.Random(0).shuffle(scattered)
    scattered.clear()
    places = [id(y.grad_fn) >> 14 for y in [x * 2 for _ in range(10_000)]]
    assert sum(a != b for a, b in itertools.pairwise(places)) < 1000
