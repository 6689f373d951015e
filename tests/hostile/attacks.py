"""Programs that change the data of an op, a layer or an optimiser between two of its steps.

    forward, then the saved tensors are unpacked as something else, then backward
    forward, then the indices, the data or the layout of an input change, then backward
    a parameter grows between backward and step; a state of another model is loaded

Each may end in an error of minigrad or in any result, but never in a crash. The numbers come from `rng`.
"""

import numpy as np

import minigrad as mg
from tests.hostile.values import HOSTILE, STRANGE, WRONG
from tests.nn.cases import LAYERS
from tests.ops.cases import CASES, COMPLEX

ATTACKS = {}
STRANGE_TENSORS = sorted(STRANGE)


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def other(x, rng):
    """A value instead of the expected tensor `x`: of another shape, dtype or layout, or no tensor."""
    kind = rng.choice(("shorter", "longer", "0-d", "more dims", "dtype", "transposed", "expanded", "strange", "wrong", "empty", "read-only", "same"))
    if kind == "shorter":
        return x.detach().reshape(-1)[:max(0, x.numel() // 2)]
    if kind == "longer":
        return mg.cat([x.detach().reshape(-1)] * 2)
    if kind == "0-d":
        return mg.tensor(1, dtype=x.dtype)
    if kind == "more dims":
        return x.detach().unsqueeze(0)
    if kind == "dtype":
        return x.detach().to(rng.choice((mg.float16, mg.float32, mg.float64, mg.int64, mg.bool, mg.complex128)))
    if kind == "transposed":
        return x.detach().permute(*reversed(range(x.dim()))) if x.dim() else x
    if kind == "expanded":
        return x.detach().reshape(-1)[:1].expand(x.shape) if x.numel() else x
    if kind == "strange":
        return STRANGE[rng.choice(STRANGE_TENSORS)](mg)
    if kind == "wrong":
        return HOSTILE[rng.choice(sorted(WRONG))](mg)
    if kind == "empty":
        return mg.zeros(0, dtype=x.dtype)
    if kind == "read-only":
        array = x.detach().numpy().copy()
        array.flags.writeable = False
        return mg.from_numpy(array)
    return x.detach().clone()


def total(z):
    """A number that every part of the result, one tensor or several, goes into."""
    parts = [p for p in (z if isinstance(z, (tuple, list)) else (z,)) if isinstance(p, mg.Tensor) and p.requires_grad]
    return sum([(p.abs() if p.is_complex() else p).sum() for p in parts], mg.tensor(0.0))


def case(rng):
    """An op of the catalogue, and its inputs in some dtype; all inputs require a gradient."""
    chosen = rng.choice(CASES + COMPLEX)
    arrays = chosen.arrays() if chosen.dtype == "complex128" else chosen.arrays(rng.choice((np.float32, np.float64, np.float16)))
    return chosen, [mg.tensor(a).requires_grad_() for a in arrays]


@attack
def unpacked_as_something_else(rng):
    chosen, xs = case(rng)
    share = rng.choice((0.2, 1.0))
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: other(t, rng) if rng.random() < share else t):
        z = chosen.run(mg, *xs)
    total(z).backward(create_graph=rng.random() < 0.3)


@attack
def data_of_another_shape(rng):
    chosen, xs = case(rng)
    z = chosen.run(mg, *xs)
    for x in xs:
        if rng.random() < 0.7:
            x.data = other(x, rng)
    total(z).backward()
    for x in xs:
        repr(x.grad)
        x.grad = None
    total(chosen.run(mg, *xs)).backward()


@attack
def leaf_put_elsewhere(rng):
    chosen, xs = case(rng)
    z = chosen.run(mg, *xs)
    with mg.no_grad():
        for x in xs:
            way = rng.choice(("set_", "resize_", "t_", "as_strided_", "squeeze_", "unsqueeze_"))
            if way == "set_":
                x.set_(other(x, rng))
            elif way == "resize_":
                x.requires_grad_(False).resize_(rng.randrange(30)).requires_grad_()
            elif way == "as_strided_":
                x.as_strided_((rng.randrange(4), 2), (rng.randrange(3), 1), rng.randrange(3))
            elif way == "unsqueeze_":
                x.unsqueeze_(0)
            else:
                getattr(x, way)()
    total(z).backward()


@attack
def indices_that_change(rng):
    """Data that C code checked in the forward may be different in the backward."""
    n = rng.choice((1, 3, 7))
    x, y = mg.ones(4, n, requires_grad=True), mg.ones(4, 3, n, requires_grad=True)
    index = mg.tensor([rng.randrange(n) for _ in range(4)])
    F = mg.nn.functional
    program = rng.choice((
        lambda: F.cross_entropy(x, index), lambda: F.nll_loss(x, index, mg.ones(n)), lambda: F.cross_entropy(x, index, reduction="none"),
        lambda: x.gather(1, index[:, None]), lambda: x.index_select(1, index), lambda: x[:, index], lambda: F.embedding(index, x.t()),
        lambda: x.scatter_add(1, index[:, None], mg.ones(4, 1)), lambda: x.take(index), lambda: x.index_add(1, index, y[0, 0, 0].expand(4, 4)),
        lambda: x.take_along_dim(index[:, None], 1), lambda: F.cross_entropy(y.transpose(1, 2), index[:, None].expand(4, 3)),
        lambda: x.index_put((index, index), mg.ones(4)), lambda: F.multi_margin_loss(x, index), lambda: x.scatter_reduce(1, index[:, None], y[:, 0, :1], "prod"),
        lambda: F.ctc_loss(x.log_softmax(1)[:, None], index[None], mg.tensor([4]), mg.tensor([1])) if hasattr(F, "ctc_loss") else x * 1,
        lambda: F.max_unpool1d(x[None], index[None, :, None].expand(1, 4, n), 1), lambda: F.embedding_bag(index[None], x.t()) if hasattr(F, "embedding_bag") else x * 1))
    z = program()
    index.numpy()[rng.randrange(4)] = rng.choice((10 ** 9, -1, n, -n - 1, -(1 << 63), (1 << 63) - 1))
    total(z).backward()
    repr(x.grad)


@attack
def gradient_of_another_kind(rng):
    chosen, xs = case(rng)
    z = chosen.run(mg, *xs)
    z = z[0] if isinstance(z, (tuple, list)) else z
    way = rng.choice(("start", "tensor hook", "node hook", "prehook", "accumulated", "grad"))
    if way == "start":
        return z.backward(other(z, rng))
    if way == "tensor hook":
        z.register_hook(lambda g: other(g, rng))
    elif way == "node hook":
        z.grad_fn.register_hook(lambda gi, go: tuple(other(g, rng) if g is not None else g for g in gi))
    elif way == "prehook":
        z.grad_fn.register_prehook(lambda go: tuple(other(g, rng) if g is not None else g for g in go))
    elif way == "accumulated":
        total(z).backward(retain_graph=True)
        for x in xs:
            if x.grad is not None:
                x.grad.data = other(x.grad, rng)
    else:
        xs[0].grad = other(xs[0], rng)
    total(z).backward()
    repr([x.grad for x in xs])


OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "LBFGS")


@attack
def optimizer_whose_parameters_change(rng):
    name = rng.choice(OPTIMIZERS)
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {"amsgrad": rng.random() < 0.5} if name.startswith("Adam") and name != "Adamax" else {}
    kind = rng.choice((mg.float32, mg.float64, mg.float16))
    params = [mg.ones(rng.choice(((3,), (2, 3), (40, 40), ()))).to(kind).requires_grad_() for _ in range(3)]
    optimizer = getattr(mg.optim, name)(params, lr=0.1, **options)

    def step():
        for p in params:
            p.grad = mg.ones_like(p)
        optimizer.step(lambda: mg.tensor(1.0, requires_grad=True))

    step()
    way = rng.choice(("data", "grad", "state", "loaded", "group", "set_"))
    for p in params:
        if way == "data":
            p.data = other(p, rng)
        elif way == "set_":
            with mg.no_grad():
                p.set_(other(p, rng))
        elif way == "grad":
            p.grad.data = other(p, rng)
        elif way == "state":
            for key, value in optimizer.state[p].items():
                if isinstance(value, mg.Tensor) and rng.random() < 0.7:
                    optimizer.state[p][key] = other(value, rng)
    if way == "loaded":
        there = [mg.ones(rng.choice(((1,), (3, 2), (50,)))).requires_grad_() for _ in range(3)]
        second = getattr(mg.optim, name)(there, lr=0.1, **options)
        for p in there:
            p.grad = mg.ones_like(p)
        second.step(lambda: mg.tensor(1.0, requires_grad=True))
        optimizer.load_state_dict(second.state_dict())
    elif way == "group":
        group = optimizer.param_groups[0]
        group[rng.choice(sorted(group))] = HOSTILE[rng.choice(sorted(HOSTILE))](mg)
    if way == "grad":
        optimizer.step(lambda: mg.tensor(1.0, requires_grad=True))
    else:
        step()
    repr(params)


@attack
def layer_whose_weights_change(rng):
    _, make, inputs = rng.choice(LAYERS)
    layer = make(mg)
    xs = [mg.tensor(a).to(mg.float32).requires_grad_() if a.dtype.kind == "f" else mg.tensor(a) for a in inputs]
    way = rng.choice(("weights", "input", "attribute", "between"))
    if way == "weights":
        for p in layer.parameters():
            if rng.random() < 0.5:
                p.data = other(p, rng)
    elif way == "input":
        xs[rng.randrange(len(xs))] = other(xs[0], rng)
    elif way == "attribute":
        names = [n for n in vars(layer) if not n.startswith("_")]
        setattr(layer, rng.choice(names), HOSTILE[rng.choice(sorted(HOSTILE))](mg))
    z = layer(*xs)
    if way == "between":
        for p in layer.parameters():
            p.data = other(p, rng)
    total(z).backward()


@attack
def chained(rng):
    """Any tensor of the catalogue's through several of its ops of one argument, in place and not."""
    x = STRANGE[rng.choice(STRANGE_TENSORS)](mg)
    names = [n for n in dir(mg.Tensor) if not n.startswith("_") and n not in ("backward", "share_memory_", "tolist")]
    for _ in range(6):
        method = getattr(x, rng.choice(names))
        try:
            found = method() if callable(method) and rng.random() < 0.7 else method(HOSTILE[rng.choice(sorted(HOSTILE))](mg)) if callable(method) else x
        except Exception:
            continue
        found = found[0] if isinstance(found, (tuple, list)) and found else found
        if isinstance(found, mg.Tensor) and found.numel() < 1 << 20:
            x = found
    if isinstance(x, mg.Tensor) and x.requires_grad:
        total(x).backward()
    repr(x)
