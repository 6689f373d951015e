"""The measured programs. Each function makes the same program for minigrad and for PyTorch."""

import itertools

import numpy as np

from benchmarks.harness import Scenario

rng = np.random.default_rng(0)


def array(shape, low=-1.0, high=1.0):
    return np.asarray(rng.uniform(low, high, shape), dtype=np.float32)


def chain(shape, which, grad=True):
    """``x = x*b + a`` a hundred times, 200 ops, and its backward. `which` names those of x, b and a that require a gradient."""
    x, b, a = array(shape), array(shape, 0.9, 1.1), array(shape, -0.1, 0.1)

    def make(m, name):
        start, factor, offset = [m.tensor(v) for v in (x, b, a)]
        for letter, tensor in zip("xba", (start, factor, offset)):
            tensor.requires_grad_(letter in which)
        gradient = m.ones_like(start)
        leaves = [t for t in (start, factor, offset) if t.requires_grad]

        def forward():
            y = start
            for _ in range(100):
                y = y * factor + offset
            return y

        def both():
            forward().backward(gradient)
            for leaf in leaves:
                leaf.grad = None

        def without_grad():
            with m.no_grad():
                forward()

        return both if grad else without_grad
    return make


def in_place(which, part=None):
    """``x.mul_(b)`` and ``x.add_(a)`` fifty times, on 64 elements or a `part` of them, and the backward."""
    x, b, a = array(64), array(64, 0.9, 1.1), array(64, -0.1, 0.1)

    def make(m, name):
        start, factor, offset = m.tensor(x).requires_grad_(), m.tensor(b), m.tensor(a)
        factor.requires_grad_("b" in which)
        gradient = m.ones(64)
        if part is not None:
            factor, offset = factor[part], offset[part]

        def run():
            y = start * 1
            for _ in range(50):
                view = y if part is None else y[part]
                view.mul_(factor)
                view.add_(offset)
            y.backward(gradient)
            start.grad = None
        return run
    return make


def packed(op):
    """A hundred nodes with a pair of saved-tensor hooks, forward and backward."""
    x, b = array(64, 0.1, 1.0), array(64, 0.9, 1.1)

    def make(m, name):
        start, factor, gradient = m.tensor(x).requires_grad_(), m.tensor(b), m.ones(64)

        def run():
            y = start
            with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                for _ in range(100):
                    y = y * factor if op == "mul" else y.sin()
            y.backward(gradient)
            start.grad = None
        return run
    return make


def training_step(m, model, optimizer, inputs, labels, device="cpu"):
    """The timed step of a classifier: gradients to None, forward, loss, backward, a step of the optimiser."""
    criterion = m.nn.CrossEntropyLoss()
    x, y = m.tensor(inputs, device=device), m.tensor(labels, device=device)

    def step():
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    return step


def mlp(batch=64, sizes=(64, 128, 10)):
    """A training step of a two-layer perceptron with Adam."""
    weights = [(array((o, i)) * 0.1, array(o) * 0.1) for i, o in itertools.pairwise(sizes)]
    inputs, labels = array((batch, sizes[0])), rng.integers(0, sizes[-1], batch)

    def make(m, name):
        nn = m.nn
        model = nn.Sequential(nn.Linear(sizes[0], sizes[1]), nn.ReLU(), nn.Linear(sizes[1], sizes[2]))
        with m.no_grad():
            for layer, (w, b) in zip((model[0], model[2]), weights):
                layer.weight.copy_(m.tensor(w))
                layer.bias.copy_(m.tensor(b))
        optimizer = m.optim.Adam(model.parameters(), lr=1e-3)
        return training_step(m, model, optimizer, inputs, labels)
    return make


def rnn(steps=64, batch=16, hidden=64):
    """Forward and backward of a plain recurrent network, unrolled."""
    w_ih, w_hh, bias = array((hidden, hidden)) * 0.1, array((hidden, hidden)) * 0.1, array(hidden) * 0.1
    inputs = array((steps, batch, hidden))

    def make(m, name):
        a, b, c = [m.tensor(v).requires_grad_() for v in (w_ih, w_hh, bias)]
        xs = [m.tensor(x) for x in inputs]

        def run():
            h = m.zeros(batch, hidden)
            for x in xs:
                h = (x @ a.t() + h @ b.t() + c).tanh()
            h.sum().backward()
            a.grad = b.grad = c.grad = None
        return run
    return make


def lenet(batch=32, size=28):
    """A training step of LeNet-5 with SGD."""
    images, labels = array((batch, 1, size, size)), rng.integers(0, 10, batch)

    def make(m, name):
        nn = m.nn
        m.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        optimizer = m.optim.SGD(model.parameters(), lr=1e-3)
        return training_step(m, model, optimizer, images, labels)
    return make


def perceptron(batch=1, sizes=(64, 64, 10)):
    """A training step of a small perceptron on one sample, SGD with momentum: its time is overhead, not arithmetic."""
    inputs, labels = array((batch, sizes[0])), rng.integers(0, sizes[-1], batch)

    def make(m, name):
        m.manual_seed(0)
        layers = []
        for i, o in itertools.pairwise(sizes):
            layers += [m.nn.Linear(i, o), m.nn.ReLU()]
        model = m.nn.Sequential(*layers[:-1])
        optimizer = m.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
        return training_step(m, model, optimizer, inputs, labels)
    return make


def gpt(batch=8, length=32, width=64, layers=2, heads=4, vocabulary=64, device="cpu"):
    """A training step of a small GPT: pre-norm blocks of causal attention and a perceptron with GELU, AdamW."""
    tokens = rng.integers(0, vocabulary, (batch, length + 1))

    def make(m, name):
        nn, F = m.nn, m.nn.functional

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

            def forward(self, x):
                n, t, c = x.shape
                q, k, v = [y.view(n, t, heads, c // heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, dim=2)]
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.proj(y.transpose(1, 2).reshape(n, t, c))
                return x + self.mlp(self.norm2(x))

        class GPT(nn.Module):
            def __init__(self):
                super().__init__()
                self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
                self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

            def forward(self, x):
                x = self.token(x) + self.place(m.arange(x.shape[1], device=device))
                return self.head(self.norm(self.blocks(x)))

        m.manual_seed(0)
        model = GPT().to(device)
        optimizer = m.optim.AdamW(model.parameters(), lr=1e-3)
        x, y = m.tensor(tokens[:, :-1], device=device), m.tensor(tokens[:, 1:], device=device)

        def step():
            optimizer.zero_grad()
            F.cross_entropy(model(x).view(-1, vocabulary), y.reshape(-1)).backward()
            optimizer.step()
        return step
    return make


def cross_entropy(batch=256, classes=1000):
    """The loss of a classifier, and its backward."""
    scores, labels = array((batch, classes)), rng.integers(0, classes, batch)

    def make(m, name):
        x, y = m.tensor(scores).requires_grad_(), m.tensor(labels)

        def run():
            m.nn.functional.cross_entropy(x, y).backward()
            x.grad = None
        return run
    return make


def expression(n=1_000_000):
    """``tanh(a*b + a)`` and its backward: memory and tanh limit its speed."""
    left, right = array(n), array(n)

    def make(m, name):
        a, b = m.tensor(left).requires_grad_(), m.tensor(right).requires_grad_()
        gradient = m.ones(n)

        def run():
            (a * b + a).tanh().backward(gradient)
            a.grad = b.grad = None
        return run
    return make


def views(n=20):
    """transpose, reshape, slice, expand and cat, n times, and the backward: no arithmetic at all."""
    x = array((4, 6))

    def make(m, name):
        start, gradient = m.tensor(x).requires_grad_(), m.ones(4, 6)

        def run():
            y = start
            for _ in range(n):
                y = y.transpose(0, 1).reshape(4, 6)
                y = m.cat([y[:2], y[2:3].expand(2, 6)], 0)
            y.backward(gradient)
            start.grad = None
        return run
    return make


def optimizer_step(kind, n=100, shape=(8, 8)):
    """A step of an optimiser on n small parameters."""
    values, gradients = array((n, *shape)), array((n, *shape))

    def make(m, name):
        params = [m.tensor(v).requires_grad_() for v in values]
        for param, g in zip(params, gradients):
            param.grad = m.tensor(g)
        options = {"momentum": 0.9} if kind == "SGD" else {}
        return getattr(m.optim, kind)(params, lr=1e-3, **options).step
    return make


def matmul(n=512):
    """A product of square matrices and its backward."""
    left, right = array((n, n)), array((n, n))

    def make(m, name):
        a, b = m.tensor(left).requires_grad_(), m.tensor(right).requires_grad_()
        gradient = m.ones(n, n)

        def run():
            (a @ b).backward(gradient)
            a.grad = b.grad = None
        return run
    return make


def build_and_free(n=20_000):
    """Build a graph of n nodes and drop it without a backward."""
    def make(m, name):
        start = m.tensor(1.0, requires_grad=True)

        def run():
            y = start
            for _ in range(n // 2):
                y = y * 1.0001 + 0.0001
            del y
        return run
    return make


def function(n=100, shape=(8,)):
    """A chain of n custom Functions that save their input, and its backward."""
    x = array(shape)

    def make(m, name):
        class Sin(m.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sin()

            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * x.cos()
        start = m.tensor(x).requires_grad_()
        gradient = m.ones_like(start)

        def run():
            y = start
            for _ in range(n):
                y = Sin.apply(y)
            y.backward(gradient)
            start.grad = None
        return run
    return make


def hooked(kind, n=100):
    """A chain of n products with a hook on each, registered in every run, and its backward. `kind`: tensor, pre or post."""
    x, b = array(8), array(8, 0.9, 1.1)

    def make(m, name):
        start, factor, gradient = m.tensor(x).requires_grad_(), m.tensor(b), m.ones(8)

        def hook(*grads):
            return None

        def run():
            y = start
            for _ in range(n):
                y = y * factor
                if kind == "tensor":
                    y.register_hook(hook)
                elif kind == "pre":
                    y.grad_fn.register_prehook(hook)
                else:
                    y.grad_fn.register_hook(hook)
            y.backward(gradient)
            start.grad = None
        return run
    return make


CHAINS = [((), 7.5), ((8,), 7.5), ((64,), 6.5), ((1024,), 3.5), ((16384,), 1.0), ((1_000_000,), 1.0)]

SCENARIOS = [
    *[Scenario(f"chain of 200 ops, {shape}, forward + backward", floor, chain(shape, "x"), 4 if np.prod(shape) > 1e5 else 2)
      for shape, floor in CHAINS],
    *[Scenario(f"the same, gradients of x, b and a, {shape}", floor, chain(shape, "xba"), 6 if np.prod(shape) > 1e5 else 2)
      for shape, floor in CHAINS],
    Scenario("chain of 200 ops, (8,), no_grad", 5.0, chain((8,), "", grad=False)),
    Scenario("100 in-place ops, (64,), forward + backward", 5.0, in_place("x")),
    Scenario("the same, on a view of half of it", 1.5, in_place("x", slice(32))),
    Scenario("saved-tensor hooks, 100 mul, (64,), forward + backward", 4.0, packed("mul")),
    Scenario("saved-tensor hooks, 100 sin, (64,), forward + backward", 4.0, packed("sin")),
    Scenario("100 tensor hooks on a chain, (8,), forward + backward", 5.0, hooked("tensor")),
    Scenario("100 hooks before a node, (8,), forward + backward", 4.0, hooked("pre")),
    Scenario("100 hooks after a node, (8,), forward + backward", 4.0, hooked("post")),
    Scenario("MLP training step, batch 64, 64-128-10, Adam", 3.0, mlp()),
    Scenario("RNN of 64 steps, batch 16, hidden 64, forward + backward", 1.5, rnn()),
    Scenario("MLP training step, batch 1, 64-64-10, SGD with momentum", 5.0, perceptron()),
    Scenario("GPT training step, batch 8, 32 tokens, width 64, 2 layers, AdamW", 1.2, gpt()),
    Scenario("LeNet training step, 28x28, batch 32, SGD", 1.2, lenet()),
    Scenario("cross_entropy, 256x1000, forward + backward", 1.0, cross_entropy()),
    Scenario("tanh(a*b + a), 1,000,000, forward + backward", 1.0, expression(), 4),
    Scenario("the same, two threads each", 1.0, expression(), 4, threads=2),
    Scenario("chain of 120 views and cat, (4, 6), forward + backward", 5.0, views()),
    Scenario("step of 100 parameters (8, 8), SGD with momentum", 5.0, optimizer_step("SGD")),
    Scenario("step of 100 parameters (8, 8), AdamW", 5.0, optimizer_step("AdamW")),
    Scenario("512x512 matmul, forward + backward", 0.9, matmul(), 4),
    Scenario("chain of 100 custom Functions, (8,), forward + backward", 2.5, function()),
    Scenario("build and free 20,000 nodes", 10.0, build_and_free(), 4),
]
