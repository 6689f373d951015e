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


def build_and_free(n=20_000, held=False):
    """Build a graph of n nodes and drop it without a backward. `held`: a list holds each tensor, and the operands are tensors."""
    def make(m, name):
        start = m.tensor(1.0, requires_grad=True)
        factor, offset = m.tensor(1.0001), m.tensor(0.0001)

        def run():
            y = start
            for _ in range(n // 2):
                y = y * 1.0001 + 0.0001

        def run_held():
            y = start
            tensors = []
            for _ in range(n // 2):
                y = y * factor + offset
                tensors.append(y)
        return run_held if held else run
    return make


def fan_in(n, shape=(8,)):
    """The sum of n products of one leaf with numbers, and its backward: n gradients arrive at the leaf."""
    x = array(shape)
    numbers = array(n).tolist()

    def make(m, name):
        start, gradient = m.tensor(x).requires_grad_(), m.ones(shape)

        def run():
            products = [start * c for c in numbers]
            total = products[0]
            for product in products[1:]:
                total = total + product
            total.backward(gradient)
            start.grad = None
        return run
    return make


def scalar_network(inputs=4, hidden=(8, 4)):
    """A perceptron of single numbers, as the first tutorials build it: each weight is a tensor of its own. 77 leaves, 157 nodes."""
    sizes = [inputs, *hidden, 1]
    weights = [array((o, i)).tolist() for i, o in itertools.pairwise(sizes)]
    x = array(inputs).tolist()

    def make(m, name):
        layers = [[[m.tensor(w, requires_grad=True) for w in row] for row in layer] for layer in weights]
        biases = [[m.tensor(0.1, requires_grad=True) for _ in layer] for layer in weights]
        values = [m.tensor(v) for v in x]
        leaves = [leaf for layer in layers for row in layer for leaf in row] + [leaf for row in biases for leaf in row]

        def run():
            a = values
            for layer, offsets in zip(layers, biases):
                following = []
                for row, total in zip(layer, offsets):
                    for w, v in zip(row, a):
                        total = total + w * v
                    following.append(total.tanh())
                a = following
            (a[0] - 1.0).pow(2).backward()
            for leaf in leaves:
                leaf.grad = None
        return run
    return make


def broadcast_and_reduce(shape, n=20):
    """A row and a column added to a matrix, means over either axis, n times, and the backward."""
    rows, columns = shape
    x, row, column = array(shape), array(columns), array((rows, 1))

    def make(m, name):
        start, r, c = [m.tensor(v).requires_grad_() for v in (x, row, column)]

        def run():
            y = start
            for _ in range(n):
                y = y * r + c
                y = y - y.mean(0) + y.sum(1, keepdim=True)
            y.sum().backward()
            start.grad = r.grad = c.grad = None
        return run
    return make


def view_chain(n=200):
    """n views of views, and the backward: the two transposed axes of a matrix, and a slice of all of it."""
    x = array((4, 6))

    def make(m, name):
        start, gradient = m.tensor(x).requires_grad_(), m.ones(4, 6)

        def run():
            y = start
            for _ in range(n // 4):
                y = y.t().view(6, 4).t()[:]
            y.backward(gradient)
            start.grad = None
        return run
    return make


def second_derivative(kind, batch=16, sizes=(8, 32, 32, 1)):
    """A second derivative through a perceptron with tanh.

    `kind`: "input" (u'' by two calls of grad, then the backward of its square, as for a differential equation), "hvp" (a product
    of the Hessian of the loss with a vector) or "penalty" (the loss with the norm of the input's gradient, and its backward).
    """
    weights = [(array((o, i)) * 0.3, array(o) * 0.1) for i, o in itertools.pairwise(sizes)]
    inputs = array((batch, sizes[0]))

    def make(m, name):
        parameters = [m.tensor(v).requires_grad_() for pair in weights for v in pair]
        vectors = [m.ones_like(p) for p in parameters]
        x = m.tensor(inputs).requires_grad_()
        linear, grad = m.nn.functional.linear, m.autograd.grad

        def forward():
            y = x
            for i in range(0, len(parameters), 2):
                y = linear(y, parameters[i], parameters[i + 1])
                if i < len(parameters) - 2:
                    y = y.tanh()
            return y

        def clear():
            x.grad = None
            for p in parameters:
                p.grad = None

        def twice():
            first, = grad(forward().sum(), x, create_graph=True)
            second, = grad(first.sum(), x, create_graph=True)
            (second * second).mean().backward()
            clear()

        def hvp():
            y = forward()
            grads = grad((y * y).mean(), parameters, create_graph=True)
            grad(grads, parameters, vectors)

        def penalty():
            y = forward()
            g, = grad(y.sum(), x, create_graph=True)
            (y.mean() + ((g * g).sum(1).sqrt() - 1.0).pow(2).mean()).backward()
            clear()
        return {"input": twice, "hvp": hvp, "penalty": penalty}[kind]
    return make


def recurrent_layer(kind, steps=32, batch=16, width=64):
    """A layer of LSTM or GRU, forward and backward."""
    inputs = array((steps, batch, width))

    def make(m, name):
        m.manual_seed(0)
        layer = getattr(m.nn, kind)(width, width)
        x = m.tensor(inputs)

        def run():
            layer(x)[0].sum().backward()
            layer.zero_grad()
        return run
    return make


def residual_block(batch=8, size=32):
    """A block of two 3x3 convolutions with batch normalisation and a shortcut, 16 to 64 channels, and its backward."""
    images = array((batch, 16, size, size))

    def make(m, name):
        nn = m.nn
        m.manual_seed(0)
        body = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                             nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64))
        shortcut = nn.Conv2d(16, 64, 1, bias=False)
        x = m.tensor(images)

        def run():
            (body(x) + shortcut(x)).relu().sum().backward()
            body.zero_grad()
            shortcut.zero_grad()
        return run
    return make


def convolution(batch=8, channels=(16, 64), size=32):
    """A 3x3 convolution without gradients."""
    images, weights = array((batch, channels[0], size, size)), array((channels[1], channels[0], 3, 3))

    def make(m, name):
        x, w = m.tensor(images), m.tensor(weights)

        def run():
            with m.no_grad():
                m.nn.functional.conv2d(x, w, padding=1)
        return run
    return make


def over_rows(op, shape):
    """An op that normalises or adds up the rows of a matrix, or its columns, and its backward."""
    values, labels = array(shape), rng.integers(0, shape[1], shape[0])

    def make(m, name):
        F = m.nn.functional
        x, y = m.tensor(values).requires_grad_(), m.tensor(labels)
        run_op, like = {
            "softmax": (lambda: F.softmax(x, 1), shape),
            "layer_norm": (lambda: F.layer_norm(x, shape[1:]), shape),
            "cross_entropy": (lambda: F.cross_entropy(x, y), ()),
            "sum of rows": (lambda: x.sum(1), shape[:1]),
            "sum of columns": (lambda: x.sum(0), shape[1:]),
        }[op]
        gradient = m.tensor(array(like))

        def run():
            run_op().backward(gradient)
            x.grad = None
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
    *[Scenario(f"fan-in: {n:,} products of one leaf, (8,), forward + backward", 5.0, fan_in(n)) for n in (16, 256, 4096)],
    Scenario("network of single numbers, 77 leaves, forward + backward", 5.0, scalar_network()),
    *[Scenario(f"broadcast and reduce, {shape}, forward + backward", floor, broadcast_and_reduce(shape))
      for shape, floor in (((32, 16), 3.0), ((256, 64), 1.5))],
    Scenario("100 in-place ops, (64,), forward + backward", 5.0, in_place("x")),
    Scenario("the same, on a view of half of it", 1.5, in_place("x", slice(32))),
    Scenario("saved-tensor hooks, 100 mul, (64,), forward + backward", 4.0, packed("mul")),
    Scenario("saved-tensor hooks, 100 sin, (64,), forward + backward", 4.0, packed("sin")),
    Scenario("100 tensor hooks on a chain, (8,), forward + backward", 5.0, hooked("tensor")),
    Scenario("100 hooks before a node, (8,), forward + backward", 4.0, hooked("pre")),
    Scenario("100 hooks after a node, (8,), forward + backward", 4.0, hooked("post")),
    Scenario("chain of 100 custom Functions, (8,), forward + backward", 2.5, function()),
    Scenario("chain of 120 views and cat, (4, 6), forward + backward", 5.0, views()),
    Scenario("chain of 200 views, (4, 6), forward + backward", 4.0, view_chain()),
    Scenario("u'' of a perceptron and the backward of its square", 1.5, second_derivative("input")),
    Scenario("product of a perceptron's Hessian with a vector", 1.5, second_derivative("hvp")),
    Scenario("gradient penalty of a perceptron", 1.5, second_derivative("penalty")),
    Scenario("build and free 20,000 nodes", 10.0, build_and_free(), 4),
    Scenario("the same, 20,000 nodes held in a list", 3.0, build_and_free(held=True), 4),
    Scenario("the same, 1,000,000 nodes held in a list", 1.0, build_and_free(1_000_000, held=True), 20),
    Scenario("MLP training step, batch 64, 64-128-10, Adam", 3.0, mlp()),
    Scenario("MLP training step, batch 1, 64-64-10, SGD with momentum", 5.0, perceptron()),
    Scenario("RNN of 64 steps, batch 16, hidden 64, forward + backward", 1.5, rnn()),
    Scenario("LSTM layer, 32 steps, batch 16, width 64, forward + backward", 1.1, recurrent_layer("LSTM")),
    Scenario("GRU layer, 32 steps, batch 16, width 64, forward + backward", 3.0, recurrent_layer("GRU")),
    Scenario("GPT training step, batch 8, 32 tokens, width 64, 2 layers, AdamW", 1.2, gpt()),
    Scenario("GPT training step, batch 4, 128 tokens, width 128, 4 layers, AdamW", 1.0, gpt(4, 128, 128, 4), 6),
    Scenario("LeNet training step, 28x28, batch 32, SGD", 1.2, lenet()),
    Scenario("residual block, 3x3, 16 to 64 channels, 32x32, batch 8", 0.5, residual_block(), 4),
    Scenario("conv2d 3x3, 16 to 64 channels, 32x32, batch 8, no_grad", 0.5, convolution()),
    Scenario("tanh(a*b + a), 1,000,000, forward + backward", 1.0, expression(), 4),
    Scenario("the same, two threads each", 1.0, expression(), 4, threads=2),
    *[Scenario(f"{op}, {shape[0]}x{shape[1]}, forward + backward", 1.0 if (op, shape) == ("cross_entropy", (256, 1000)) else 0.9,
               over_rows(op, shape), 2 if shape[0] < 1000 else 4)
      for op in ("softmax", "layer_norm", "cross_entropy", "sum of rows", "sum of columns")
      for shape in ((256, 1000), (4096, 1024))],
    Scenario("step of 100 parameters (8, 8), SGD with momentum", 5.0, optimizer_step("SGD")),
    Scenario("step of 100 parameters (8, 8), AdamW", 5.0, optimizer_step("AdamW")),
    *[Scenario(f"{n}x{n} matmul, forward + backward", 0.9, matmul(n), 2 if n < 500 else 4) for n in (64, 512)],
    Scenario("2048x2048 matmul, forward + backward, two threads each", 0.9, matmul(2048), 8, threads=2),
]
