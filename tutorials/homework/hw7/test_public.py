"""The public checks of homework 7. Run those of your part with ``python -m pytest -q test_public.py -k part1``."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, same, used, weight

CHECKPOINT, KERNEL, HOOKS = "11_checkpointing", "17_your_own_cuda_op", "12_hooks"


@weight(15)
@number("1.1")
def test_part1_checkpoint():
    """checkpoint: value and gradients; the function runs twice"""
    x, w, runs = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor(3.0, requires_grad=True), []

    def function(x, w):
        runs.append(mg.is_grad_enabled())
        return (x * w).sin().exp()
    y = adapters.checkpoint()(function, x, w)
    expected = function(x, w)
    same(y, expected, "the value of exp(sin(x w))", read=CHECKPOINT)
    y.sum().backward()
    for found, theirs, name in zip((x.grad, w.grad), mg.autograd.grad(expected.sum(), [x, w]), "xw"):
        same(found, theirs, f"{name}.grad", y, CHECKPOINT)
    runs.pop(1)
    if runs != [False, True]:
        fail(f"the function should run once without recording, and again in the backward, with recording; it ran {len(runs)} times, "
             f"with recording: {runs}", y, CHECKPOINT)


@weight(10)
@number("1.2")
def test_part1_count():
    """count_saved: a product and a sine save three tensors on two memories"""
    x, y = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor([3.0, 4.0], requires_grad=True)
    found, count = adapters.count_saved()(lambda: x * y + x.sin())
    same(found, x * y + x.sin(), "the result of the program", read="08_packing")
    if count != 2:
        fail(f"x * y saves x and y, x.sin() saves x again: expected 2 tensors, found {count}", found, "08_packing")


@weight(15)
@number("2.1")
def test_part2_logaddexp():
    """logaddexp inside minigrad, also of large numbers"""
    kernel = adapters.kernel("logaddexp_kernel")
    x = mg.tensor([[0.0, 1000.0, -1000.0], [1.0, 2.0, -3.0]], requires_grad=True, device="cuda")
    y = mg.tensor([0.0, 999.0, -1000.0], device="cuda")
    expected = mg.logaddexp(x, y)
    with mg.grading.swap("cuda_kernel", kernel, of="logaddexp") as part:
        found = mg.logaddexp(x, y)
    used(part, "minigrad computed logaddexp without it", read=KERNEL)
    same(found.cpu(), expected.cpu(), "logaddexp", read=KERNEL)


@weight(15)
@number("2.2")
def test_part2_softmax():
    """softmax of two rows, with two blocks of two threads"""
    from numba import cuda
    kernel = adapters.kernel("softmax_kernel")
    x = mg.tensor([[0.0, 1.0, 2.0], [1000.0, 1000.0, -1000.0]])
    out = cuda.to_device(x.numpy() * 0 - 1)
    kernel[2, 2](cuda.to_device(x.numpy()), out)
    same(mg.tensor(out.copy_to_host()), x.softmax(1), "softmax_kernel", read=KERNEL)


@weight(10)
@number("3.1")
def test_part3_joins():
    """joins: two products and a relu"""
    x, w1, w2 = (mg.tensor(value, requires_grad=True) for value in (2.0, 3.0, 5.0))
    first = x * w1
    y = first.relu() * w2
    found = adapters.joins()(y, x, [w1, w2])
    expected = [[first.grad_fn], [y.grad_fn]]
    if [list(each) for each in found] != expected:
        names = [[node.name() for node in each] for each in found]
        fail(f"expected w1 at the first product and w2 at the second, found {names}", y, HOOKS)


@weight(15)
@number("3.2")
def test_part3_halves():
    """backward_input, then backward_weight"""
    x, w1, w2 = (mg.tensor(value, requires_grad=True) for value in (2.0, 3.0, 5.0))
    y = (x * w1).relu() * w2
    gradient, kept = adapters.backward_input()(y, mg.tensor(1.0), x, [w1, w2])
    same(gradient, mg.tensor(15.0), "the gradient of x", y, HOOKS)
    if not w1.grad is w2.grad is x.grad is None:
        fail(f"after the first half no .grad should have changed: found {w1.grad}, {w2.grad} and, of x, {x.grad}", y, HOOKS)
    adapters.backward_weight()(kept, [w1, w2])
    same(w1.grad, mg.tensor(10.0), "w1.grad", y, HOOKS)
    same(w2.grad, mg.tensor(6.0), "w2.grad", y, HOOKS)
