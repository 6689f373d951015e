"""Programs for `score` that check a part of one op, one optimizer or one layer. They return logs, as those of ``behaviours.py``."""

import functools
import inspect

import minigrad as mg
from minigrad.grading.behaviours import Behaviour, numbers
from minigrad.grading.swaps import SwapError
from minigrad.ops import REGISTRY

__all__ = ["suite"]

# What the arguments of an op may look like: a name, the shapes, and the dtype.
SHAPES = [
    ("two numbers", [(2,)] * 3, "float32"), ("a matrix", [(2, 3)] * 3, "float32"), ("no dimension", [()] * 3, "float32"),
    ("no number", [(0, 3)] * 3, "float32"), ("float64", [(4,)] * 3, "float64"), ("many numbers", [(50, 40)] * 3, "float32"),
]
BROADCAST = [("a row and a matrix", [(3,), (2, 3), (3,)], "float32"), ("a column and a row", [(2, 1), (1, 3), (2, 3)], "float32"),
             ("a number and a matrix", [(), (2, 3), ()], "float32")]
MATRICES = [("matrices", [(3, 4), (4, 2), (3, 2)], "float32"), ("float64", [(2, 2)] * 3, "float64")]
INDEX = "tutorials/index"
# Layers: how one is made, and the shape of its input.
LAYERS = {
    "Linear": ((4, 3), (5, 4)), "Conv1d": ((2, 3, 3), (2, 2, 9)), "Conv2d": ((2, 3, 3), (2, 2, 7, 6)), "LayerNorm": ((6,), (4, 6)),
    "BatchNorm1d": ((5,), (8, 5)), "BatchNorm2d": ((3,), (4, 3, 5, 5)), "RMSNorm": ((6,), (4, 6)), "Flatten": ((), (3, 2, 4)),
    "MaxPool2d": ((2,), (2, 3, 6, 6)), "AvgPool2d": ((2,), (2, 3, 6, 6)), "Softmax": ((1,), (4, 5)),
    **dict.fromkeys(("ReLU", "GELU", "Sigmoid", "Tanh", "SiLU", "ELU", "LeakyReLU", "Softplus"), ((), (4, 5))),
}
# Options of optimizers that get a program of their own, if the class has them.
OPTIONS = [{}, {"lr": 0.03}, {"weight_decay": 0.1}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"maximize": True},
           {"betas": (0.8, 0.9)}, {"amsgrad": True}, {"alpha": 0.9}, {"centered": True}]


def suite(part, of):
    """The behaviours for a part of an op, an optimizer or a layer.

    Raises:
        SwapError: there are no samples for it.
    """
    if part == "optimizer_step":
        known = inspect.signature(of).parameters
        chosen = [options for options in OPTIONS if set(options) <= set(known)]
        return [*[Behaviour(f"five steps of {of.__name__}({', '.join(f'{k}={v}' for k, v in options.items())})", "steps", INDEX,
                            functools.partial(steps, of, options)) for options in chosen],
                Behaviour("two groups, and a parameter without a gradient", "steps", INDEX, functools.partial(two_groups, of))]
    if part == "layer":
        if of.__name__ not in LAYERS:
            raise SwapError("MG-E180", f"score has no samples for {of.__name__}", expected=", ".join(LAYERS),
                            fix="compare it with minigrad's layer yourself: mg.grading.swap works for every module")
        arguments, shape = LAYERS[of.__name__]
        return [Behaviour(f"{of.__name__}{arguments}, {what}", "values", INDEX,
                          functools.partial(layer, of, arguments, shape, train))
                for what, train in (("training", True), ("evaluation", False))]
    count = len(REGISTRY[of].params)
    if count > 3 or not hasattr(mg, of):
        raise SwapError("MG-E180", f"score has no samples for the op {of!r}", expected="an op such as mul, exp or matmul, whose "
                        "arguments are tensors", fix="compare it with minigrad's op yourself: mg.grading.swap works for every op")
    shapes = MATRICES if of in ("mm", "matmul") else SHAPES + BROADCAST * (count > 1)
    programs = [Behaviour(f"{of} of {what}", "values", "tutorials/01_derivative_to_graph",
                          functools.partial(op, of, tensors[:count], dtype, "values")) for what, tensors, dtype in shapes]
    kinds = {"transposed arguments": "tutorials/10_views_in_place",
             "only the first argument requires a gradient": "tutorials/03_leaves"}
    if part in ("vjp", "forward"):
        kinds["a second derivative"] = "tutorials/05_double_backward"
    _, tensors, dtype = shapes[1]
    return programs + [Behaviour(f"{of}: {kind}", "graph", page, functools.partial(op, of, tensors[:count], dtype, kind))
                       for kind, page in kinds.items()]


def draw(shape, dtype):
    """Numbers between 0.1 and 0.9, at which nearly every op is defined."""
    return mg.rand(*shape, dtype=getattr(mg, dtype)) * 0.8 + 0.1


def op(name, shapes, dtype, kind):
    """An op and its gradients."""
    mg.manual_seed(0)
    leaves = [draw(shape, dtype).requires_grad_(i == 0 or not kind.startswith("only")) for i, shape in enumerate(shapes)]
    given = leaves
    if kind == "transposed arguments":
        given = [x.reshape(*reversed(x.shape)).t() if x.dim() == 2 else x for x in leaves]
    result = getattr(mg, name)(*given)
    wanted = [x for x in leaves if x.requires_grad]
    second = kind == "a second derivative"
    grads = mg.autograd.grad((result * result).sum(), wanted, create_graph=second)
    log = [str(result.dtype), *numbers(result.detach(), *[g.detach() for g in grads])]
    if second:
        log += numbers(*mg.autograd.grad(sum(((g * g).sum() for g in grads), mg.tensor(0.)), wanted, allow_unused=True))
    return log


def steps(cls, options):
    """Five steps towards the least squares of a small model."""
    mg.manual_seed(0)
    model = mg.nn.Linear(4, 2)
    inputs, wanted = mg.randn(8, 4), mg.randn(8, 2)
    optimizer = cls(model.parameters(), **{"lr": 0.01, **options})
    log = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = ((model(inputs) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        log += numbers(*[p.detach() for p in model.parameters()])
    return log


def two_groups(cls):
    """Groups with a learning rate of their own, which changes; a parameter without a gradient stays as it is."""
    mg.manual_seed(0)
    x, y, unused = (mg.randn(3).requires_grad_() for _ in range(3))
    optimizer = cls([{"params": [x], "lr": 0.1}, {"params": [y, unused], "lr": 0.01}], lr=0.01)
    log = []
    for i in range(4):
        optimizer.zero_grad()
        (x * y).sum().backward()
        optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
        optimizer.step()
        log += numbers(x.detach(), y.detach(), unused.detach())
    return log


def layer(cls, arguments, shape, train):
    """The output of a layer, and the gradients of its input and its parameters."""
    mg.manual_seed(0)
    made = cls(*arguments).train(train)
    x = mg.randn(*shape).requires_grad_()
    result = made(x)
    (result * result).sum().backward()
    return numbers(result.detach(), x.grad, *[p.grad for p in made.parameters()])
