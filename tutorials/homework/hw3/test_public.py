"""The public checks of homework 3. Run them with ``python -m pytest -q test_public.py``."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, same, used, weight

READ = "02_the_engine"


def example():
    """``y = sin(h) h`` with ``h = x x``: two paths to h, and two more to x."""
    x = mg.tensor(2.0, requires_grad=True)
    h = x * x
    return x, h, h.sin() * h


@weight(8)
@number("1.1")
def test_counts_of_the_example():
    """count_dependencies counts the edges of x * x"""
    count = adapters.count_dependencies()
    _, h, y = example()
    leaf = h.grad_fn.next_functions[0][0]
    sine = y.grad_fn.next_functions[0][0]
    found = count(y.grad_fn)
    for node, name, edges in ((y.grad_fn, "y", 0), (sine, "the sine", 1), (h.grad_fn, "h", 2), (leaf, "x", 2)):
        if found.get(node) != edges:
            fail(f"the node of {name}: expected {edges} edges, found {found.get(node)}", y, READ)
    if len(found) != 4:
        fail(f"expected 4 nodes, found {len(found)}", y, READ)


@weight(8)
@number("2.1")
def test_queue_order():
    """The queue gives the node that was created last, and leaves first"""
    queue = adapters.ready_queue()()
    _, h, y = example()
    sine = y.grad_fn.next_functions[0][0]
    leaf = h.grad_fn.next_functions[0][0]
    for node in (sine, h.grad_fn, leaf, y.grad_fn):
        queue.push(node)
    order = [queue.pop() for _ in range(4)]
    if order != [leaf, y.grad_fn, sine, h.grad_fn]:
        fail("pushed Sin, Mul of h, leaf, Mul of y. Expected the leaf, then Mul of y, Sin, Mul of h; "
             f"found {', '.join(node.name() for node in order)}", y, READ)


@weight(10)
@number("3.1")
def test_receive():
    """Gradients that meet in a slot are added, and nothing is written to them"""
    receive = adapters.receive()
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    first, second = x.unbind()
    node = first.grad_fn
    one, two, buffers = mg.tensor(3.0), mg.tensor(5.0), {}
    for slot, grad in ((1, one), (1, None), (1, two), (0, None)):
        receive(buffers, node, slot, grad)
    if not isinstance(buffers.get(node), list) or len(buffers[node]) != 2:
        fail(f"unbind of two has two outputs, so its buffer is a list of two; found {buffers.get(node)}", first * second, READ)
    if buffers[node][0] is not None:
        fail(f"slot 0 has received no gradient: expected None, found {buffers[node][0]}", first * second, READ)
    same(buffers[node][1], mg.tensor(8.0), "slot 1 has received 3 and 5", first * second, READ)
    same(one, mg.tensor(3.0), "receive has written to the gradient that it was given", read=READ)


@weight(12)
@number("4.1")
def test_run_of_the_example():
    """run_backward finds the gradient of the example"""
    x, _, y = example()
    expected, = mg.autograd.grad(y, x, retain_graph=True)
    with mg.grading.swap("run_backward", adapters.run_backward()) as part:
        y.backward(retain_graph=True)
        used(part, "backward was run without it", y)
    if x.grad is None:
        fail("x.grad is None: no gradient has reached the leaf", y, READ)
    same(x.grad, expected, "x.grad", y, READ)
