"""The behaviours of the engine, as a list of small programs: ``python -m minigrad.grading score`` runs them with a swapped part.

    program()  on minigrad's engine     ->  log     what must come out
    program()  with the swapped part    ->  log     the same, or the behaviour fails

A program returns a log: numbers, strings, and lists of them. Nothing is compared with stored numbers, so a program may draw its
graph from a seed. An exception is a part of the log by its class, if the program expects it. Numbers may differ by rounding.

All behaviours hold for every part of the engine. A user's part may be right in nearly all programs and wrong in one.
"""

import builtins
import random
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.autograd import Function

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["BEHAVIOURS", "ENGINE_PARTS", "Behaviour"]

ENGINE_PARTS = ("run_backward", "count_dependencies", "ready_queue", "add_gradients", "accumulate_grad", "call_hooks",
                "saved_tensor")


@dataclass(frozen=True)
class Behaviour:
    """One behaviour: a program, its group, and where it is explained."""

    name: str
    group: str
    page: str
    program: "Callable[..., list]"


BEHAVIOURS: "list[Behaviour]" = []


def behaviour(group, page="tutorials/02_the_engine"):
    """Add a program to the list. Its docstring is the name of the behaviour."""
    def add(program):
        BEHAVIOURS.append(Behaviour(program.__doc__, group, page, program))
        return program
    return add


def leaf(*values: float, dtype=mg.float32) -> "Any":
    first, *rest = values
    return mg.tensor([first, *rest] if rest else first, dtype=dtype, requires_grad=True)


def numbers(*tensors):
    """The values of tensors, for a log."""
    return [None if t is None else t.tolist() for t in tensors]


def caught(function, *args, **keywords):
    """The class of the builtin error that a call raises, or "no error"."""
    try:
        function(*args, **keywords)
    except Exception as error:
        return next(cls.__name__ for cls in type(error).__mro__ if getattr(builtins, cls.__name__, None) is cls)
    return "no error"


class Log(Function):
    """The identity. Its backward notes that it runs."""

    @staticmethod
    def forward(ctx, x, log, name):
        ctx.log, ctx.name = log, name
        return x.clone()

    @staticmethod
    def backward(ctx, *grads):
        ctx.log.append(ctx.name)
        return grads[0], None, None


# ---- values ---------------------------------------------------------------------------------------------------------------


@behaviour("values")
def one_product():
    """a product"""
    x = leaf(2.)
    (x * 3).backward()
    return numbers(x.grad)


@behaviour("values")
def square():
    """two edges to one leaf: x * x"""
    x = leaf(2., 3.)
    (x * x).sum().backward()
    return numbers(x.grad)


@behaviour("values")
def diamond():
    """a diamond: two paths that meet again"""
    x = leaf(0.5, 1.5)
    y = x.exp()
    (y.sin() * y).sum().backward()
    return numbers(x.grad)


@behaviour("values")
def long_and_short():
    """a long path and a short path to one node: it waits for both"""
    x = leaf(0.5)
    y = x * 2
    (y.exp().sin().cos() + y).backward()
    return numbers(x.grad)


@behaviour("values")
def two_leaves():
    """two leaves"""
    x, w = leaf(1., 2.), leaf(3., 4.)
    (x * w + w).sum().backward()
    return numbers(x.grad, w.grad)


@behaviour("values")
def constant():
    """an operand without a gradient: an edge to None"""
    x = leaf(1., 2.)
    (mg.ones(2) * 3 * x).sum().backward()
    return numbers(x.grad)


@behaviour("values")
def second_backward_adds():
    """a second backward adds to .grad"""
    x = leaf(1., 2.)
    for _ in range(3):
        (x * x).sum().backward()
    return numbers(x.grad)


@behaviour("values")
def own_grad_of_user():
    """a .grad that the user has set is added to"""
    x = leaf(1., 2.)
    x.grad = mg.tensor([10., 20.])
    (x * x).sum().backward()
    return numbers(x.grad)


@behaviour("values")
def unused_output():
    """an op with several outputs, one of them unused"""
    x = leaf(1., 2., 3.)
    first, _, third = x.unbind()
    (first * third).backward()
    return numbers(x.grad)


@behaviour("values")
def outputs_used_twice():
    """an op with several outputs, one of them used twice"""
    x = leaf(1., 2., 3., 4.)
    a, b = x.split(2)
    (a * b + a).sum().backward()
    return numbers(x.grad)


class Nothing(Function):
    """A Function whose gradient is undefined."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, *grads):
        return None


@behaviour("values")
def undefined_gradient():
    """an undefined gradient (None) also counts as arrived"""
    x = leaf(1., 2.)
    y = x * 2
    (Nothing.apply(y) + y).sum().backward()
    return numbers(x.grad)


@behaviour("values")
def only_undefined():
    """a leaf that only undefined gradients reach has no .grad"""
    x, w = leaf(1.), leaf(2.)
    (Nothing.apply(x * 2) + w).backward()
    return numbers(x.grad, w.grad)


@behaviour("values")
def broadcast_operand():
    """a broadcast operand: its gradient is summed"""
    x, b = leaf(1., 2.), leaf(3.)
    (x * b).sum().backward()
    return numbers(x.grad, b.grad)


@behaviour("values")
def two_roots():
    """backward from two roots"""
    x = leaf(1., 2.)
    mg.autograd.backward([(x * x).sum(), x.exp().sum()])
    return numbers(x.grad)


@behaviour("values")
def same_root_twice():
    """the same root twice"""
    x = leaf(2.)
    y = x * x
    mg.autograd.backward([y, y])
    return numbers(x.grad)


@behaviour("values")
def root_behind_root():
    """one root behind another"""
    x = leaf(2.)
    y = x * x
    mg.autograd.backward([y.exp(), y])
    return numbers(x.grad)


@behaviour("values")
def leaf_as_root():
    """a leaf as the root"""
    x = leaf(1., 2.)
    mg.autograd.backward([x], [mg.tensor([3., 4.])])
    return numbers(x.grad)


@behaviour("values")
def given_gradient():
    """a root with several numbers, and a given gradient that does not change"""
    x = leaf(1., 2.)
    grad = mg.tensor([1., 10.])
    (x * x + x).backward(grad)
    return numbers(x.grad, grad)


@behaviour("values")
def held_gradients():
    """gradients that go to two nodes are not added to in place"""
    x, w = leaf(1., 2.), leaf(3., 4.)
    y = x + w
    (y * 2 + x * 5 + w * 7).sum().backward()
    return numbers(x.grad, w.grad)


@behaviour("values")
def grad_is_no_alias():
    """.grad shares no memory with another leaf's .grad, or with the given gradient"""
    x, w, grad = leaf(1., 2.), leaf(3., 4.), mg.ones(2)
    (x + w).backward(grad)
    x.grad += 10
    return numbers(x.grad, w.grad, grad)


@behaviour("values")
def grad_of_intermediate():
    """autograd.grad with respect to an intermediate result, and to a leaf"""
    x = leaf(2., 3.)
    y = x * x
    return [*numbers(*mg.autograd.grad((y * x).sum(), [y, x])), x.grad is None]


@behaviour("values")
def grad_unused():
    """autograd.grad with respect to an unused tensor"""
    x, w = leaf(2.), leaf(3.)
    return numbers(*mg.autograd.grad(x * x, [x, w], allow_unused=True))


@behaviour("values")
def double_precision():
    """float64"""
    x = leaf(0.1, 0.2, dtype=mg.float64)
    (x.exp() * x).sum().backward()
    return [str(x.grad.dtype), *numbers(x.grad)]


@behaviour("values")
def fan_in_of_hundred():
    """a hundred gradients for one leaf"""
    x = leaf(1., 2.)
    sum((x * i for i in range(100)), mg.zeros(2)).sum().backward()
    return numbers(x.grad)


@behaviour("values", "tutorials/10_views_in_place")
def in_place_on_view():
    """a write through a view"""
    x = leaf(1., 2., 3.)
    y = x * 1
    y[1:] *= 5
    (y * y).sum().backward()
    return numbers(x.grad)


def random_graph(seed, size=40):
    """A graph with `size` ops on three leaves, drawn from a seed: its leaves and its root."""
    draw = random.Random(seed)
    leaves = [leaf(*[draw.uniform(-1, 1) for _ in range(3)], dtype=mg.float64) for _ in range(3)]
    values = list(leaves)
    ops = (lambda x, y: x * y, lambda x, y: x + y, lambda x, y: (x - y).sin(), lambda x, y: x.tanh(), lambda x, y: y.cos() * 0.5)
    for _ in range(size):
        values.append(draw.choice(ops)(draw.choice(values), draw.choice(values[-8:])))
    return leaves, sum(values[-5:], mg.zeros(3, dtype=mg.float64)).sum()


@behaviour("values")
def random_graphs():
    """twenty random graphs"""
    log = []
    for seed in range(20):
        leaves, root = random_graph(seed)
        root.backward()
        log.append(numbers(*[x.grad for x in leaves]))
    return log


# ---- order ----------------------------------------------------------------------------------------------------------------


@behaviour("order")
def latest_first():
    """of the ready nodes, the node that was made last runs first"""
    log, x = [], leaf(1.)
    parts = [Log.apply(x, log, name) for name in "abcd"]
    (parts[2] + parts[0] + parts[3] + parts[1]).backward()
    return log


@behaviour("order")
def leaves_early():
    """a leaf takes its gradient as soon as it is complete"""
    log, x, w = [], leaf(1.), leaf(2.)
    w.register_post_accumulate_grad_hook(lambda _: log.append("w"))
    x.register_post_accumulate_grad_hook(lambda _: log.append("x"))
    (Log.apply(Log.apply(x, log, "first") * 2, log, "second") * w).backward()
    return log


@behaviour("order")
def order_in_random_graphs():
    """the order of the nodes in ten random graphs"""
    log = []
    for seed in range(10):
        draw, own = random.Random(seed), []
        x = leaf(1.)
        values = [x]
        for i in range(12):
            values.append(Log.apply(draw.choice(values) + draw.choice(values), own, i))
        sum(values[-4:], mg.tensor(0.)).backward()
        log.append(own)
    return log


# ---- hooks ----------------------------------------------------------------------------------------------------------------


@behaviour("hooks", "tutorials/12_hooks")
def hook_changes_gradient():
    """a tensor hook replaces the gradient"""
    x = leaf(2., 3.)
    y = x * x
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    return numbers(x.grad)


@behaviour("hooks", "tutorials/12_hooks")
def hook_on_leaf():
    """a tensor hook of a leaf gets the whole gradient, once"""
    log, x = [], leaf(2.)
    x.register_hook(lambda grad: log.append(grad.item()))
    (x * x + x).backward()
    return [log, *numbers(x.grad)]


@behaviour("hooks", "tutorials/12_hooks")
def order_of_hooks():
    """tensor hooks, pre-hooks, the node, post-hooks, in this order"""
    log, x = [], leaf(2.)
    y = Log.apply(x * 3, log, "node")
    y.grad_fn.register_hook(lambda results, grads: log.append(("post", *numbers(*grads))))
    y.grad_fn.register_prehook(lambda grads: log.append(("pre", *numbers(*grads))))
    y.register_hook(lambda grad: log.append("tensor 1"))
    y.register_hook(lambda grad: log.append("tensor 2") or grad * 2)
    y.backward()
    return [[list(entry) if isinstance(entry, tuple) else entry for entry in log], *numbers(x.grad)]


@behaviour("hooks", "tutorials/12_hooks")
def retained_gradient():
    """retain_grad keeps the gradient after the tensor hooks"""
    x = leaf(2.)
    y = x * x
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    (y * 3).backward()
    return numbers(x.grad, y.grad)


@behaviour("hooks", "tutorials/12_hooks")
def replaced_by_pre_and_post():
    """pre-hooks and post-hooks replace gradients"""
    x = leaf(2.)
    y = x * x
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
    y.grad_fn.register_hook(lambda results, grads: tuple(r + 1 for r in results))
    y.backward()
    return numbers(x.grad)


@behaviour("hooks", "tutorials/12_hooks")
def post_accumulate():
    """a post-accumulate hook sees the whole .grad"""
    log, x = [], leaf(2.)
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.item()))
    (x * x + x).backward()
    return log


@behaviour("hooks", "tutorials/12_hooks")
def hook_removes_itself():
    """a hook that removes itself runs once"""
    log, x = [], leaf(2.)
    handle = x.register_hook(lambda grad: log.append("once") or handle.remove())
    x.register_hook(lambda grad: log.append("each time"))
    for _ in range(2):
        (x * x).backward()
    return log


# ---- lifetime of the graph ------------------------------------------------------------------------------------------------


@behaviour("values")
def retain_graph():
    """retain_graph=True: a second backward gives the same"""
    x = leaf(2., 3.)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return numbers(x.grad)


@behaviour("lifetime", "tutorials/07_saved_tensors")
def second_backward_fails():
    """a second backward without retain_graph is an error"""
    x = leaf(2.)
    y = x * x
    y.backward()
    return [caught(y.backward), *numbers(x.grad)]


@behaviour("lifetime", "tutorials/07_saved_tensors")
def saved_tensors_are_freed():
    """the backward frees the saved tensors as it goes"""
    x = leaf(2., 3.)
    y = x.exp()
    held = weakref.ref(y)
    z = (y * y).sum()
    del y
    z.backward()
    return [held() is None, *numbers(x.grad)]


@behaviour("values", "tutorials/05_double_backward")
def second_derivative():
    """create_graph=True: a second derivative"""
    x = leaf(2., 3.)
    first, = mg.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (first * first).sum().backward()
    return numbers(first.detach(), x.grad)


# ---- a backward within a backward -----------------------------------------------------------------------------------------


class Inner(Function):
    """A Function whose backward runs a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.detach() ** 2

    @staticmethod
    def backward(ctx, *grads):
        with mg.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            inner, = mg.autograd.grad((x * x).sum(), x)
        return inner * grads[0]


@behaviour("values", "tutorials/14_function")
def nested_backward():
    """a backward inside a Function's backward"""
    x = leaf(2., 3.)
    y = x * 2
    (Inner.apply(y) + y).sum().backward()
    return numbers(x.grad)


@behaviour("hooks", "tutorials/12_hooks")
def backward_in_hook():
    """a backward on the same graph inside a hook"""
    log, x, w = [], leaf(2.), leaf(3.)
    y = x * w
    z = y * y
    z.register_hook(lambda grad: log.append(mg.autograd.grad(y, w, retain_graph=True)[0].item()))
    z.exp().backward()
    return [log, *numbers(x.grad, w.grad)]


# ---- errors ---------------------------------------------------------------------------------------------------------------


class Fails(Function):
    """A Function whose backward raises while `fail` is set."""

    fail = True

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, *grads):
        if Fails.fail:
            raise KeyError("on purpose")
        return grads[0]


@behaviour("errors")
def graph_after_error():
    """an error in a node is raised as it is, and another backward on the graph works"""
    x = leaf(2.)
    y = Fails.apply(x * x)
    Fails.fail = True
    log = [caught(y.backward, retain_graph=True), x.grad is None]
    Fails.fail = False
    y.backward()
    return [*log, *numbers(x.grad)]


class WrongShape(Function):
    """A Function whose gradient has the wrong shape."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, *grads):
        return mg.ones(5)


@behaviour("errors", "tutorials/14_function")
def wrong_shape():
    """a gradient of the wrong shape is an error"""
    x = leaf(1., 2.)
    y = WrongShape.apply(x * 2).sum()
    return [caught(y.backward), x.grad is None]


@behaviour("errors", "tutorials/07_saved_tensors")
def modified_saved_tensor():
    """a saved tensor that was modified in place is an error"""
    x = leaf(1., 2.)
    y = x.exp()
    z = y.sum()
    with mg.no_grad():
        y.add_(1)
    return [caught(z.backward), caught((y * y).sum().backward)]


# ---- cost -----------------------------------------------------------------------------------------------------------------


@behaviour("cost")
def each_node_once():
    """forty doublings x = x + x: each node runs once, not 2^40 times"""
    log, x = [], leaf(1.)
    y = x
    for i in range(40):
        y = Log.apply(y + y, log, i)
    y.backward()
    return [len(log), *numbers(x.grad)]


@behaviour("cost")
def deep_graph(depth=20_000):
    """a deep chain: no recursion over the graph"""
    x = leaf(1.)
    y = x
    for _ in range(depth):
        y = y + 1
    y.backward()
    return numbers(x.grad)


@behaviour("cost")
def wide_graph(width=2_000):
    """a wide graph: two thousand nodes ready together"""
    x = leaf(1.)
    mg.stack([x * i for i in range(width)]).sum().backward()
    return numbers(x.grad)
