"""`mg.grading.swap`: a part of one's own runs inside minigrad, and a wrong one is an error that names it."""

import threading

import numpy as np
import pytest

import minigrad as mg
from minigrad._core.graph.switches import switches
from minigrad.grading import PARTS, SwapError, swap
from minigrad.grading.swaps import HOMES
from tests.grading.parts_by_a_student import ENGINE, OTHERS, Queue, add_gradients, call_hooks, count_dependencies


@pytest.fixture(autouse=True)
def nothing_left_swapped():
    yield
    assert not switches.swapped and not switches.watched


def loss(x):
    y = x.exp()
    return (x * y * x + y).sum()


def gradient():
    x = mg.tensor([0.5, 2.0], requires_grad=True)
    loss(x).backward()
    return x.grad.tolist()


@pytest.mark.parametrize("part", ENGINE)
def test_part_of_the_engine(part):
    with swap(part, ENGINE[part]) as swapped:
        found = gradient()
    assert found == pytest.approx(gradient())
    swapped.check_used()


@pytest.mark.parametrize(("part", "function", "of"), OTHERS, ids=[part for part, *_ in OTHERS])
def test_part_of_an_op_or_class(part, function, of):
    def train():
        mg.manual_seed(0)
        model = mg.nn.Linear(3, 1)
        optimizer = mg.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            y = model(mg.ones(2, 3))
            (y * y).sum().backward()
            optimizer.step()
            losses.append(y.detach().sum().item())
        return losses
    with swap(part, function, of=of) as swapped:
        found = train()
    assert found == pytest.approx(train())
    swapped.check_used()


def test_every_part_has_a_home_and_a_test():
    assert set(PARTS) == set(HOMES)
    assert set(PARTS) == {*ENGINE, *[part for part, *_ in OTHERS], "cuda_kernel"}
    assert all(part.name == name and part.given and part.returns and part.checked for name, part in PARTS.items())


def test_as_a_decorator():
    swapped = swap("ready_queue", Queue)
    assert swapped(gradient)() == pytest.approx(gradient())
    assert swapped.calls > 0 and "ready_queue" in repr(swapped)


def test_several_parts_and_nested_swaps():
    with swap("ready_queue", Queue) as queue, swap("count_dependencies", count_dependencies) as count, \
            swap("add_gradients", lambda old, new: old * 0) as wrong:
        with swap("add_gradients", add_gradients) as inner:
            found = gradient()
        assert found == pytest.approx(gradient()) or wrong.calls
    assert found == pytest.approx(gradient())
    assert queue.calls and count.calls and inner.calls


def test_all_threads_see_a_part_of_the_engine():
    found = []
    with swap("ready_queue", Queue) as swapped:
        thread = threading.Thread(target=lambda: found.append(gradient()))
        thread.start()
        thread.join()
    assert found == [pytest.approx(gradient())] and swapped.calls


def test_a_swapped_run_can_be_recorded():
    with mg.debug.record() as record, swap("ready_queue", Queue):
        gradient()
    assert "your ready queue chose it" in str(record)


def test_autograd_grad_and_create_graph():
    def second():
        x = mg.tensor([0.5, 2.0], requires_grad=True)
        first, = mg.autograd.grad(loss(x), x, create_graph=True)
        return mg.autograd.grad(first.sum(), x)[0].tolist()
    wanted = second()
    for part in ENGINE:
        with swap(part, ENGINE[part]):
            assert second() == pytest.approx(wanted)
    with swap("run_backward", ENGINE["run_backward"]), pytest.raises(RuntimeError, match=r"backward\(inputs"):
        x = mg.tensor(1., requires_grad=True)
        (x * x).backward(inputs=[x])


def test_kernel_on_the_simulator():
    if not mg.cuda.is_available():
        pytest.skip("needs a GPU, or NUMBA_ENABLE_CUDASIM=1")
    from numba import cuda

    @cuda.jit
    def multiply(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * y[i]
    x = mg.tensor([[1., 2.], [3., 4.]], device="cuda", requires_grad=True)
    with swap("cuda_kernel", multiply, of="mul") as swapped:
        y = x * mg.tensor([10., 20.], device="cuda")
    y.sum().backward()
    assert y.tolist() == [[10., 40.], [30., 80.]] and x.grad.tolist() == [[10., 20.], [10., 20.]]
    swapped.check_used()


# ---- errors ---------------------------------------------------------------------------------------------------------------


class ReturnsNothing(Queue):
    def pop(self):
        return None


class ReturnsTheFirstAgain(Queue):
    def pop(self):
        self.first = getattr(self, "first", None) or super().pop()
        return self.first


class NoPop:
    def push(self, node):
        pass


class SavesZeros:
    def pack(self, tensor):
        return tensor

    def unpack(self, packed):
        return mg.zeros(7)


def counts_nodes(root):
    return dict.fromkeys(count_dependencies(root), 1)


def counts_too_many(root):
    return {node: n + 1 for node, n in count_dependencies(root).items()}


def runs_for_ever(roots, grads, call, inputs=None):
    while True:
        call(roots[0][0], grads[0])


WRONG = [
    ("ready_queue", ReturnsNothing, None, "returned no node"), ("ready_queue", ReturnsTheFirstAgain, None, "does not wait"),
    ("ready_queue", NoPop, None, "no method pop"), ("count_dependencies", lambda root: None, None, "no dict"),
    ("count_dependencies", lambda root: {}, None, "no count for"), ("count_dependencies", counts_nodes, None, "too few edges"),
    ("count_dependencies", counts_too_many, None, "too many edges"),
    ("count_dependencies", lambda root: dict.fromkeys(count_dependencies(root), 1.0), None, "not a number of edges"),
    ("add_gradients", lambda old, new: None, None, "returned no sum"),
    ("add_gradients", lambda old, new: (old + new).sum(), None, "returned no sum"),
    ("accumulate_grad", lambda leaf, grad: grad, None, "returned something"),
    ("accumulate_grad", lambda leaf, grad: None, None, "left no gradient"),
    ("call_hooks", lambda node, grads, hooks, call: (), None, "did not call"),
    ("call_hooks", lambda node, grads, hooks, call: call(grads) and call(grads), None, "twice"),
    ("call_hooks", lambda node, grads, hooks, call: [call(grads)] and 5, None, "no tuple"),
    ("vjp", lambda node, grad: grad, "mul", "returned 1 gradients"), ("vjp", lambda node, grad: (1, 2), "mul", "not a gradient"),
    ("saved_tensor", SavesZeros, None, "did not return the tensor"), ("saved_tensor", Queue, None, "no method pack"),
    ("forward", lambda x, y: None, "mul", "another kind"), ("kernel", lambda x, y: 3, "mul", "no array"),
    ("kernel", lambda x, y: np.float32(0), "mul", "another kind"), ("kernel", lambda x, y: x, "mul", "memory of its arguments"),
    ("cuda_kernel", lambda x, y: 3, "mul", "not on a GPU"), ("run_backward", runs_for_ever, None, "has called nodes"),
    ("run_backward", lambda roots, grads, call: call(5), None, "not a node"),
    ("run_backward", lambda roots, grads, call: call(roots[0][0]), None, "returned 0 gradients"),
]


@pytest.mark.parametrize(("part", "function", "of", "words"), WRONG, ids=[f"{part}-{words}" for part, _, _, words in WRONG])
def test_a_wrong_part_is_named(part, function, of, words):
    x = mg.tensor([0.5, 2.0], requires_grad=True)
    with pytest.raises(SwapError, match=words) as caught, swap(part, function, of=of):
        loss(x).backward()
    assert isinstance(caught.value, RuntimeError) and caught.value.code == "MG-E181"
    name = "test_swap.py" if function is not Queue else "parts_by_a_student.py"
    assert f"where:    {name}:" in str(caught.value)


def test_wrong_methods_of_classes():
    model, x = mg.nn.Linear(2, 1), mg.ones(1, 2)
    with swap("layer", lambda module, x: None, of=mg.nn.Linear), pytest.raises(SwapError, match="returned no tensor"):
        model(x)
    model(x).sum().backward()
    optimizer = mg.optim.SGD(model.parameters(), lr=0.1)
    with swap("optimizer_step", lambda *a: 5, of=mg.optim.SGD), pytest.raises(SwapError, match="returned something"):
        optimizer.step()
    optimizer.step()


def test_the_engine_is_as_it_was_after_an_error():
    def fails(old, new):
        raise KeyError("on purpose")
    x = mg.tensor(2., requires_grad=True)
    y = x * x
    with pytest.raises(KeyError, match="on purpose"), swap("add_gradients", fails):
        y.backward(retain_graph=True)
    assert x.grad is None
    y.backward()
    assert x.grad.item() == 4


def test_a_part_that_was_not_used():
    with swap("add_gradients", add_gradients) as swapped:
        (mg.tensor(2., requires_grad=True) * 3).backward()
    with pytest.raises(SwapError, match="your function was not used: add_gradients") as caught:
        swapped.check_used()
    assert caught.value.code == "MG-E182" and "parts_by_a_student.py:" in str(caught.value)


@pytest.mark.parametrize(("arguments", "keywords", "error", "words"), [
    (("queue", Queue), {}, RuntimeError, "no part 'queue'"), (("ready_queue", 5), {}, TypeError, "must be callable"),
    (("vjp", call_hooks), {}, TypeError, "needs of="), (("ready_queue", Queue), {"of": "mul"}, TypeError, "takes no of="),
    (("vjp", call_hooks), {"of": "multiply_all"}, RuntimeError, "no op 'multiply_all'"),
    (("layer", call_hooks), {"of": "Linear"}, TypeError, "must be a class"),
    (("optimizer_step", call_hooks), {"of": mg.nn.Linear}, TypeError, "must be a class"),
])
def test_wrong_arguments(arguments, keywords, error, words):
    with pytest.raises(error, match=words) as caught:
        swap(*arguments, **keywords)
    assert caught.value.code == "MG-E180"
