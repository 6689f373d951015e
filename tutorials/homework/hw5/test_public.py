"""The public checks of homework 5. Run them with ``python -m pytest -q test_public.py``."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, same, used, weight

READ, LEAVES = "12_hooks", "13_accumulation_hooks"


@weight(10)
@number("1.1")
def test_table_of_the_text():
    """Functions run in order, replace the gradient, and can be removed"""
    table, seen = adapters.hooks()(), []
    remove = table.register(lambda grad: grad * 10)
    table.register(seen.append)
    first, _ = table.run(3.0), remove()
    second = table.run(3.0)
    if (first, second, seen) != (30.0, 3.0, [30.0, 3.0]):
        fail("a hook that multiplies by 10, one that notes. Expected 30, then 3 without the first, and the notes [30, 3]; "
             f"found {first}, {second}, {seen}", read=READ)


@weight(15)
@number("2.1")
def test_order_of_all_kinds():
    """All kinds of hooks around one node, in their order"""
    def run():
        log = []
        x = mg.tensor(2.0, requires_grad=True)
        y = x * x
        y.grad_fn.register_hook(lambda results, grads: log.append("post-hook"))
        y.grad_fn.register_prehook(lambda grads: log.append("pre-hook"))
        y.register_hook(lambda grad: log.append("tensor hook"))
        x.register_post_accumulate_grad_hook(lambda x: log.append("post-accumulate hook"))
        x.register_hook(lambda grad: log.append("tensor hook of the leaf"))
        y.retain_grad()
        (y * 3).backward()
        return log, y, x.grad
    expected, y, grad = run()
    try:
        with mg.grading.swap("call_hooks", adapters.call_hooks()) as part:
            found, _, mine = run()
    except mg.grading.SwapError as error:
        fail(str(error), y, READ)
    used(part, "backward was run without it", y, READ)
    if found != expected:
        fail(f"expected the order {', '.join(expected)}; found {', '.join(found)}", y, READ)
    same(mine, grad, "x.grad", y, READ)


@weight(10)
@number("3.1")
def test_two_places():
    """Gradients at two places of a computation"""
    def program(x, note):
        y = x * 2
        note(y)
        z = y * y
        note(z)
        return z.sum()
    found = adapters.gradients_at()(program, mg.tensor([1.0, 3.0], requires_grad=True))
    if len(found) != 2:
        fail(f"noted two places: expected two gradients, found {len(found)}", read=READ)
    same(found[0], mg.tensor([4.0, 12.0]), "at y = 2 x, of sum(y y)", read=READ)
    same(found[1], mg.tensor([1.0, 1.0]), "at z = y y, of sum(z)", read=READ)


@weight(5)
@number("4.1")
def test_limit():
    """limit_gradients scales a long gradient down, and leaves a short one"""
    x, y = mg.tensor([3.0, 4.0], requires_grad=True), mg.tensor([0.3, 0.4], requires_grad=True)
    adapters.limit_gradients()([x, y], 2.0)
    (0.5 * x * x + 0.5 * y * y).sum().backward()
    same(x.grad, mg.tensor([1.2, 1.6]), "a gradient of norm 5, limited to 2", read=LEAVES)
    same(y.grad, mg.tensor([0.3, 0.4]), "a gradient of norm 0.5, limited to 2", read=LEAVES)
