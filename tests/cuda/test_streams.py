"""Streams in a backward: each node runs on the stream of its forward, and streams wait for each other where a gradient passes.

On the simulator and on a GPU, the tests check the current stream and the waits, since a result may also be right by
chance. Mirrors the paragraph "Stream semantics of backward passes" of PyTorch's CUDA notes.
"""

import copy
import gc
import threading
import warnings

import pytest

import minigrad as mg
from minigrad._core.graph import streams as noted_streams
from minigrad._core.graph.switches import switches

GPU = mg.device("cuda")


@pytest.fixture
def queue():
    """Two streams beside the default one, each by its name, and a list of who waits for whom: pairs (waiting, for)."""
    from minigrad.kernels.cuda.runtime import streams
    return Queue(streams)


class Queue:
    def __init__(self, streams):
        self.s, self.t = mg.cuda.Stream(), mg.cuda.Stream()
        self.names = {self.s._stream: "s", self.t._stream: "t", streams.default_stream(GPU): "default"}
        self.waits = []
        self.streams = streams
        self.original = streams.CudaStream.wait_stream

    def current(self):
        return self.names[self.streams.current_stream(GPU)]

    def watched(self, monkeypatch):
        queue = self

        def wait_stream(stream, other):
            queue.waits.append((queue.names[stream], queue.names[other]))
            queue.original(stream, other)
        monkeypatch.setattr(self.streams.CudaStream, "wait_stream", wait_stream)
        return self


@pytest.fixture
def recorded(queue, monkeypatch):
    return queue.watched(monkeypatch)


@pytest.fixture(autouse=True)
def left_as_found():
    gc.collect()
    before = len(noted_streams.noted)
    mg.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    yield
    gc.collect()
    assert switches.streams == 0 and not switches.notes_nodes      # every stream was left
    assert len(noted_streams.noted) <= before           # and no node is held by the table of notes


def leaf(*numbers):
    return mg.tensor([float(n) for n in numbers or (1, 2)], device="cuda", requires_grad=True)


def told(x, queue, places, label):
    """Have the node of `x` put the current stream into ``places[label]`` when it runs."""
    x.grad_fn.register_prehook(lambda grads: places.__setitem__(label, queue.current()))
    return x


# ---- which stream -----------------------------------------------------------------------------------------


def test_a_node_runs_on_the_stream_of_its_forward(queue):
    places = {}
    w = leaf()
    x = told(w * 2, queue, places, "mul")
    with mg.cuda.stream(queue.s):
        y = told(x.exp(), queue, places, "exp")
    with mg.cuda.stream(queue.t):
        z = told(y.sin(), queue, places, "sin")
    loss = told(z.sum(), queue, places, "sum")
    loss.backward()
    assert places == {"mul": "default", "exp": "s", "sin": "t", "sum": "default"}
    assert queue.current() == "default"
    expected = w.detach().cpu().requires_grad_()
    (expected * 2).exp().sin().sum().backward()
    assert mg.allclose(w.grad.cpu(), expected.grad)


@pytest.mark.parametrize("caller", ["default", "t"])
def test_whatever_stream_the_caller_is_in(queue, caller):
    places = {}
    w = leaf()
    with mg.cuda.stream(queue.s):
        x = told(w * 2, queue, places, "mul")
    y = told(x + 1, queue, places, "add")
    with mg.cuda.stream(queue.t if caller == "t" else None):
        y.backward(mg.ones(2, device="cuda"))
        assert queue.current() == caller
    assert places == {"mul": "s", "add": "default"}
    assert w.grad.tolist() == [2, 2]


def test_hooks_and_functions_run_on_it(queue):
    places = []

    class Double(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            places.append(queue.current())
            return g * 2

    w = leaf()
    with mg.cuda.stream(queue.s):
        y = Double.apply(w)
        y.register_hook(lambda g: places.append(queue.current()))
    w.register_post_accumulate_grad_hook(lambda p: places.append(queue.current()))
    y.backward(mg.ones(2, device="cuda"))
    assert places == ["s", "s", "s"] and w.grad.tolist() == [2, 2]


def test_the_stream_is_left_if_a_node_fails(queue):
    w = leaf()
    with mg.cuda.stream(queue.s):
        y = w * 2

    def fail(g):
        raise ZeroDivisionError
    y.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        y.backward(mg.ones(2, device="cuda"))
    assert queue.current() == "default"


def test_a_double_backward_runs_where_the_backward_ran(queue):
    places = {}
    w = leaf()
    with mg.cuda.stream(queue.s):
        y = w ** 3
    g, = mg.autograd.grad(y.sum(), w, create_graph=True)
    told(g, queue, places, "of the backward")
    g.sum().backward()
    assert places == {"of the backward": "s"}
    assert w.grad.tolist() == [6, 12]


def test_a_backward_on_another_stack_keeps_the_callers_stream(queue):
    """Note [Reentrant backward]: beyond 60 of them in one another, the next runs in another thread."""
    found = []

    class Deep(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.depth == 0:
                found.append((threading.current_thread().name, queue.current()))
                return g, None
            with mg.enable_grad():
                Deep.apply(leaf(), ctx.depth - 1).backward(mg.ones(2, device="cuda"))
            return g, None
    with mg.cuda.stream(queue.s):
        Deep.apply(leaf(), 64).backward(mg.ones(2, device="cuda"))
    assert found == [("minigrad-reentrant-backward", "s")]


def test_a_node_of_the_cpu_runs_where_the_caller_is(queue):
    places = {}
    w = mg.tensor([1., 2.], requires_grad=True)
    with mg.cuda.stream(queue.s):
        x = told(w * 3, queue, places, "mul")
        y = told(x.cuda(), queue, places, "copy")
    y.backward(mg.ones(2, device="cuda"))
    assert places == {"mul": "default", "copy": "s"} and w.grad.tolist() == [3, 3]


# ---- waits of streams -------------------------------------------------------------------------------------


def test_a_stream_waits_where_a_gradient_passes_to_it(recorded):
    w = leaf()
    with mg.cuda.stream(recorded.s):
        x = w * 2               # w's AccumulateGrad is made here, and belongs to s
    y = x + 1
    y.backward(mg.ones(2, device="cuda"))
    assert recorded.waits == [("s", "default"),         # from add to mul
                              ("default", "s")]         # the caller, at the end
    assert w.grad.tolist() == [2, 2]


def test_one_stream_needs_no_wait(recorded):
    with mg.cuda.stream(recorded.s):
        w = leaf()
        (w * 2).exp().sum().backward()
    assert recorded.waits == []


def test_the_root_waits_for_the_caller_and_the_caller_for_the_leaves(recorded):
    with mg.cuda.stream(recorded.s):
        w = leaf()
        y = w * 2
    with mg.cuda.stream(recorded.t):
        y.backward(mg.ones(2, device="cuda"))
    assert recorded.waits == [("s", "t"), ("t", "s")]


def test_several_roots_wait_for_the_caller(recorded):
    w = leaf()
    x = w * 2
    with mg.cuda.stream(recorded.s):
        y = x * 3
    with mg.cuda.stream(recorded.t):
        z = x * 4
    g = mg.ones(2, device="cuda")
    mg.autograd.backward([y, z], [g, g])
    assert recorded.waits[:2] == [("s", "default"), ("t", "default")]
    assert ("default", "s") in recorded.waits and ("default", "t") in recorded.waits
    assert w.grad.tolist() == [14, 14]


def test_the_caller_waits_for_results(recorded):
    w = leaf()
    x = w * 2
    with mg.cuda.stream(recorded.s):
        y = x * 3
        g, = mg.autograd.grad(y, x, mg.ones(2, device="cuda"))
    assert recorded.waits == [("default", "s"), ("s", "default")] and g.tolist() == [3, 3]


def test_gradients_are_added_on_the_stream_of_the_node_that_gets_them(recorded):
    places = []
    before = GPU.backend.kernels
    watched = copy.copy(before)

    def accumulate(*arrays):
        places.append(recorded.current())
        return before.accumulate(*arrays)
    watched.accumulate = accumulate
    w = leaf()
    with mg.cuda.stream(recorded.t):
        x = w * 2
    with mg.cuda.stream(recorded.s):
        y = x.exp()
    z = x.sin()
    (y + z).sum()               # the engine as it is, before the kernel is replaced
    GPU.backend.use(watched)
    try:
        (y + z).backward(mg.ones(2, device="cuda"))
    finally:
        GPU.backend.use(before)
    assert places == ["t"]
    assert ("t", "s") in recorded.waits and ("t", "default") in recorded.waits


def test_a_gradient_is_held_until_its_stream_has_waited_for_its_reader(recorded, monkeypatch):
    """Note [A gradient that changes streams]"""
    import weakref
    blocks = []
    w = leaf()
    with mg.cuda.stream(recorded.s):
        x = w * 2
    y = x.exp()

    def look(grads):
        blocks.append(weakref.ref(grads[0]._array.block))
    x.grad_fn.register_prehook(look)
    alive = []
    w.register_post_accumulate_grad_hook(lambda p: alive.append(blocks[0]() is not None))
    y.backward(mg.ones(2, device="cuda"))
    gc.collect()
    assert alive == [True] and blocks[0]() is None
    assert recorded.waits[-1] == ("default", "s")


def test_a_recorded_backward_waits_as_well(recorded):
    w = leaf()
    with mg.cuda.stream(recorded.s):
        x = w * 2
    with mg.debug.record():
        (x + 1).backward(mg.ones(2, device="cuda"))
    assert recorded.waits == [("s", "default"), ("default", "s")] and w.grad.tolist() == [2, 2]


def test_without_streams_nothing_is_noted(recorded):
    assert not switches.notes_nodes
    w = leaf()
    y = (w * 2).sum()
    assert y.grad_fn not in noted_streams.noted
    y.backward()
    assert recorded.waits == []


# ---- the accumulators of leaves ---------------------------------------------------------------------------


def mismatch(queue):
    """A leaf whose accumulator was made on the default stream and is alive, and a graph of it on s."""
    w = leaf()
    old = w * 2
    with mg.cuda.stream(queue.s):
        new = w * 3
    return w, old, new


def test_a_leaf_of_another_stream_is_warned_of(recorded):
    w, old, new = mismatch(recorded)
    with pytest.warns(UserWarning, match="set_warn_on_accumulate_grad_stream_mismatch") as caught:
        new.backward(mg.ones(2, device="cuda"))
    text = str(caught[0].message)
    assert "the default stream of cuda:0" in text and repr(recorded.s._stream) in text
    assert recorded.waits[:2] == [("s", "default"), ("default", "s")]
    assert w.grad.tolist() == [3, 3] and old is not None


def test_the_warning_can_be_switched_off(recorded):
    mg.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    try:
        w, old, new = mismatch(recorded)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            new.backward(mg.ones(2, device="cuda"))
    finally:
        mg.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    assert w.grad.tolist() == [3, 3] and old is not None


def test_the_same_stream_is_not_warned_of(recorded):
    w = leaf()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for stream in (recorded.s, recorded.t):     # the accumulator of the first graph has gone with it
            with mg.cuda.stream(stream):
                (w * 3).backward(mg.ones(2, device="cuda"))
    assert w.grad.tolist() == [6, 6]


# ---- no waiting of the CPU --------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_are_accumulated_without_reading_numbers(monkeypatch, create_graph):
    w = leaf(1, 2, 3)
    x = w[:2]
    losses = [(w * w).sum() + (x * 2).sum() for _ in range(2)]

    def read(*args):
        raise AssertionError("the CPU waits for the GPU")
    with monkeypatch.context() as patch:
        patch.setattr(GPU.backend.kernels, "to_host", read)
        for loss in losses:
            loss.backward(create_graph=create_graph)
    assert w.grad.tolist() == [8, 12, 12]
    w.grad = None       # under create_graph it holds its own graph
