"""The hidden checks of homework 5: tables that change, replaced gradients, several outputs, written places."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, rng, same, used, visibility, weight
from minigrad.grading.oracles import random_graph

READ, LEAVES = "12_hooks", "13_accumulation_hooks"


@weight(8)
@number("1.2")
@visibility("after_published")
def test_same_function_twice():
    """The same function twice: each handle removes its own entry, and may be called again"""
    table, seen = adapters.hooks()(), []
    first, second = table.register(seen.append), table.register(seen.append)
    table.run(1.0)
    first()
    first()
    table.run(2.0)
    second()
    table.run(3.0)
    if seen != [1.0, 1.0, 2.0]:
        fail(f"one function registered twice, removed once, removed again: expected the notes [1, 1, 2], found {seen}", read=READ)


@weight(7)
@number("1.3")
@visibility("after_published")
def test_table_that_changes():
    """A run works on a snapshot of the table"""
    table, seen, handles = adapters.hooks()(), [], []

    def add(grad):
        seen.append("add")
        table.register(lambda grad: seen.append("added"))
    handles.append(table.register(add))
    handles.append(table.register(lambda grad: handles[2]()))
    handles.append(table.register(lambda grad: seen.append("removed")))
    table.run(1.0)
    if seen != ["add", "removed"]:
        fail(f"a hook adds one, another removes one: expected this run to call 'add' and 'removed', found {seen}", read=READ)
    seen.clear()
    handles[0]()
    table.run(1.0)
    if seen != ["added"]:
        fail(f"in the next run expected 'added', found {seen}", read=READ)


def compare(run, what):
    """Run a function that returns a log and tensors, with minigrad's hooks and with the student's."""
    (log, tensors), y = run(), None
    try:
        with mg.grading.swap("call_hooks", adapters.call_hooks()) as part:
            found, mine = run()
    except mg.grading.SwapError as error:
        fail(f"{what}: {error}", read=READ)
    used(part, "backward was run without it", y, READ)
    if found != log:
        fail(f"{what}: expected {log}, found {found}", read=READ)
    for i, (theirs, ours) in enumerate(zip(mine, tensors)):
        same(theirs, ours, f"{what}: gradient {i}", read=READ, tolerance=1e-9)


@weight(10)
@number("2.2")
@visibility("after_published")
def test_replaced_gradients():
    """Each kind of hook replaces what the next one sees"""
    def run():
        log = []
        x = mg.tensor([2.0, 3.0], dtype=mg.float64, requires_grad=True)
        y = x.exp()
        y.register_hook(lambda grad: grad * 2)
        y.retain_grad()
        y.register_hook(lambda grad: grad + 1)
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
        y.grad_fn.register_prehook(lambda grads: log.append(grads[0].tolist()))
        y.grad_fn.register_hook(lambda results, grads: (results[0] * 0.5,))
        y.grad_fn.register_hook(lambda results, grads: log.append((results[0].tolist(), grads[0].tolist())))
        y.sum().backward()
        return log, [x.grad, y.grad]
    compare(run, "replaced gradients")


@weight(8)
@number("2.3")
@visibility("after_published")
def test_several_outputs():
    """A node with several outputs, one of them without a gradient"""
    def run():
        log = []
        x = mg.tensor([1.0, 2.0, 3.0], dtype=mg.float64, requires_grad=True)
        a, b, c = x.unbind()
        b.register_hook(lambda grad: grad * 10)
        c.register_hook(lambda grad: log.append(grad is None))
        a.retain_grad()
        a.grad_fn.register_prehook(lambda grads: log.append([g is None for g in grads]))
        (a * b).backward()
        return log, [x.grad, a.grad]
    compare(run, "unbind, with the third output unused")


@weight(7)
@number("2.4")
@visibility("after_published")
def test_random_graphs_with_hooks():
    """Random graphs with hooks on half of the leaves"""
    for steps in (5, 10, 20):
        def run(steps=steps):
            log, (leaves, y) = [], random_graph(rng("2.4"), steps)
            for i, leaf in enumerate(leaves[::2]):
                leaf.register_hook(lambda grad: grad * 2)
                leaf.register_post_accumulate_grad_hook(lambda leaf, i=i: log.append(i))
            y.backward()
            return log, [leaf.grad for leaf in leaves if leaf.grad is not None]
        compare(run, f"a random graph of {steps} steps")


@weight(10)
@number("3.2")
@visibility("after_published")
def test_places_that_are_written_to():
    """A place keeps its meaning when its tensor is written to; unused places; no .grad changes"""
    def program(x, note):
        y = x * 2
        note(y)
        y.mul_(x)
        note(y)
        note(x.exp())
        y += 1
        note(y)
        return (y * x).sum()
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    found = adapters.gradients_at()(program, x)
    if len(found) != 4:
        fail(f"noted four places: expected four gradients, found {len(found)}", read=READ)
    for i, expected in enumerate(([1.0, 4.0], [1.0, 2.0], None, [1.0, 2.0])):
        if expected is None:
            if found[i] is not None:
                fail(f"place {i + 1} is not used by the result: expected None, found {found[i]}", read=READ)
        else:
            same(found[i], mg.tensor(expected), f"the gradient at place {i + 1}", read=READ)
    if x.grad is not None:
        fail(f"gradients_at has changed x.grad to {x.grad}", read=READ)


@weight(5)
@number("4.2")
@visibility("after_published")
def test_limit_ends():
    """The limit holds for what has been accumulated, and ends when it is told to"""
    x = mg.tensor([3.0, 4.0], requires_grad=True)
    end = adapters.limit_gradients()([x], 2.0)
    for _ in range(2):
        (0.5 * x * x).sum().backward()
        same(x.grad.norm(), mg.tensor(2.0), "the norm of .grad", read=LEAVES, tolerance=1e-5)
    end()
    x.grad = None
    (0.5 * x * x).sum().backward()
    same(x.grad, mg.tensor([3.0, 4.0]), ".grad after the end of the limit", read=LEAVES)


@weight(5)
@number("4.3")
def test_training():
    """A network learns with limited gradients while all hooks run through your function"""
    ours = adapters.train()(steps=12)
    with mg.grading.swap("call_hooks", adapters.call_hooks()) as part:
        theirs = adapters.train()(steps=12)
    used(part, "the network was trained without it", read=READ)
    same(mg.tensor(theirs[-1]), mg.tensor(ours[-1]), "the loss after 12 steps", read=READ, tolerance=1e-3)
    if not ours[-1] < ours[0]:
        fail("the network has not learnt: the loss is not smaller than at first", read=READ)
