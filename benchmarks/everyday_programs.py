"""Programs as in a course, each once for minigrad and PyTorch: training steps of small nets, and each part of autograd.

A function gets the module `m` and returns what is timed. Its docstring is the name in the table. Read next: ``everyday.py``.
"""

import importlib

import numpy as np

__all__ = ["PROGRAMS"]

PROGRAMS = []
PARTS = ("autograd.forward_ad", "autograd.functional", "autograd.graph", "distributions", "func", "nn.utils", "optim.lr_scheduler",
         "utils.checkpoint", "utils.data")


def program(make):
    """Decorator: list a program. PyTorch imports some of its parts only when it is asked to."""
    def prepared(m, library):
        for part in PARTS:
            importlib.import_module(f"{library}.{part}")
        m.manual_seed(0)
        return make(m)
    prepared.__doc__ = make.__doc__
    PROGRAMS.append(prepared)
    return make


def normal(m, *shape, seed=0, grad=False):
    """A tensor of normal numbers, the same in both libraries."""
    return m.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).requires_grad_(grad)


def labels(m, n, classes):
    return m.tensor([i % classes for i in range(n)])


def step(optimizer, loss):
    """A training step."""
    def run():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return run


def adam(m, *modules):
    return m.optim.Adam([p for module in modules for p in module.parameters()], lr=1e-3)


# ---- training steps ---------------------------------------------------------------------------------------


@program
def linear_regression(m):
    """linear regression by hand, with no_grad() and in-place steps"""
    x, y = normal(m, 50, 3), normal(m, 50, seed=1)
    w, b = m.zeros(3, requires_grad=True), m.zeros(1, requires_grad=True)

    def run():
        ((x @ w + b - y) ** 2).mean().backward()
        with m.no_grad():
            for p in (w, b):
                p.sub_(0.1 * p.grad)
                p.grad.zero_()
    return run


@program
def logistic_regression(m):
    """logistic regression, with grad() and a loss of logarithms"""
    x, y, w = normal(m, 50, 3), (normal(m, 50, seed=1) > 0).float(), m.zeros(3, requires_grad=True)

    def run():
        p = m.sigmoid(x @ w)
        loss = -(y * m.log(p + 1e-6) + (1 - y) * m.log(1 - p + 1e-6)).mean()
        gradient, = m.autograd.grad(loss, w)
        with m.no_grad():
            w.add_(gradient, alpha=-0.1)
    return run


@program
def newton(m):
    """Newton's method on a number, ten steps, each with a new leaf"""
    def run():
        x = m.tensor(1.5, requires_grad=True)
        for _ in range(10):
            slope, = m.autograd.grad(x ** 3 - 2 * x + m.sin(x), x)
            x = (x - 0.1 * slope).detach().requires_grad_()
    return run


@program
def perceptron(m):
    """a perceptron, tanh, SGD"""
    net = m.nn.Sequential(m.nn.Linear(16, 32), m.nn.Tanh(), m.nn.Linear(32, 4))
    x, y = normal(m, 8, 16), normal(m, 8, 4, seed=1)
    return step(m.optim.SGD(net.parameters(), lr=1e-3), lambda: m.nn.functional.mse_loss(net(x), y))


@program
def classifier(m):
    """a classifier with batch norm and dropout, SGD with momentum"""
    nn = m.nn
    net = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
    x, y = normal(m, 32, 16), labels(m, 32, 4)
    return step(m.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9), lambda: nn.functional.cross_entropy(net(x), y))


@program
def accuracy(m):
    """the accuracy of 64 scores"""
    scores, y = normal(m, 64, 10), labels(m, 64, 10)
    return lambda: (scores.argmax(1) == y).float().mean().item()


@program
def inference(m):
    """a perceptron under no_grad()"""
    net, x = m.nn.Sequential(m.nn.Linear(16, 32), m.nn.ReLU(), m.nn.Linear(32, 4)), normal(m, 8, 16)

    def run():
        with m.no_grad():
            net(x)
    return run


@program
def residual(m):
    """a residual net of two convolutions with batch norm, 8 channels, 16 x 16, batch 8"""
    nn = m.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = [nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(2)]
            self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(8)])

        def forward(self, x):
            return (x + self.norms[1](self.second(self.norms[0](self.first(x)).relu()))).relu()

    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    x, y = normal(m, 8, 3, 16, 16), labels(m, 8, 10)
    return step(adam(m, net), lambda: nn.functional.cross_entropy(net(x), y))


@program
def signals(m):
    """a net of 1-d convolutions and pooling on signals of 32 numbers"""
    nn = m.nn
    net = nn.Sequential(nn.Conv1d(4, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 32, 3), nn.ReLU(),
                        nn.AvgPool1d(2), nn.Flatten(), nn.Linear(32 * 7, 5))
    x, y = normal(m, 8, 4, 32), labels(m, 8, 5)
    return step(adam(m, net), lambda: nn.functional.cross_entropy(net(x), y))


@program
def autoencoder(m):
    """an autoencoder of strided and transposed convolutions, 16 x 16, batch 8"""
    nn = m.nn
    net = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
                        nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ReLU(), nn.ConvTranspose2d(8, 1, 2, stride=2), nn.Sigmoid())
    x = normal(m, 8, 1, 16, 16).sigmoid()
    return step(adam(m, net), lambda: nn.functional.binary_cross_entropy(net(x), x))


@program
def variational_autoencoder(m):
    """a variational autoencoder of two linear layers"""
    encode, decode, x = m.nn.Linear(20, 16), m.nn.Linear(8, 20), normal(m, 16, 20).sigmoid()

    def loss():
        mean, log_variance = encode(x).chunk(2, 1)
        z = mean + m.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        return m.nn.functional.binary_cross_entropy_with_logits(decode(z), x, reduction="sum") + divergence
    return step(adam(m, encode, decode), loss)


@program
def adversaries(m):
    """a step of a generator and of a discriminator"""
    nn = m.nn
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    real, ones, zeros, criterion = normal(m, 16, 2), m.ones(16, 1), m.zeros(16, 1), nn.BCEWithLogitsLoss()

    def loss_of_critic():
        return criterion(critic(real), ones) + criterion(critic(generator(m.randn(16, 4)).detach()), zeros)

    first = step(adam(m, critic), loss_of_critic)
    second = step(adam(m, generator), lambda: criterion(critic(generator(m.randn(16, 4))), ones))

    def run():
        first()
        second()
    return run


@program
def q_learning(m):
    """a step of deep Q-learning: max, gather, smooth_l1_loss"""
    nn = m.nn
    net, target = [nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(2)]
    state, following, reward, action = normal(m, 32, 4), normal(m, 32, 4, seed=1), normal(m, 32, seed=2), labels(m, 32, 2)[:, None]

    def loss():
        with m.no_grad():
            value = reward + 0.9 * target(following).max(1)[0]
        return nn.functional.smooth_l1_loss(net(state).gather(1, action).squeeze(1), value)
    return step(adam(m, net), loss)


@program
def policy_gradient(m):
    """a step of a policy gradient with Categorical and its entropy"""
    net = m.nn.Sequential(m.nn.Linear(4, 32), m.nn.Tanh(), m.nn.Linear(32, 3))
    state, reward = normal(m, 16, 4), normal(m, 16, seed=1)

    def loss():
        policy = m.distributions.Categorical(logits=net(state))
        return -(policy.log_prob(policy.sample()) * reward).mean() - 0.01 * policy.entropy().mean()
    return step(adam(m, net), loss)


@program
def characters(m):
    """a language model of characters: embedding, LSTM, linear"""
    nn = m.nn
    embed, recur, read = nn.Embedding(20, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 20)
    text = labels(m, 128, 20).reshape(8, 16)
    return step(adam(m, embed, recur, read), lambda: nn.functional.cross_entropy(read(recur(embed(text))[0]).transpose(1, 2), text))


@program
def cells(m):
    """ten steps of a GRUCell and of an LSTMCell"""
    gru, lstm, x = m.nn.GRUCell(8, 16), m.nn.LSTMCell(8, 16), normal(m, 10, 4, 8)

    def loss():
        h, state = m.zeros(4, 16), (m.zeros(4, 16), m.zeros(4, 16))
        for i in range(10):
            h, state = gru(x[i], h), lstm(x[i], state)
        return (h * state[0]).sum()
    return step(adam(m, gru, lstm), loss)


@program
def transformer(m):
    """a layer of a transformer, 12 tokens of width 32, batch 4"""
    layer, x = m.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), normal(m, 4, 12, 32)
    return step(adam(m, layer), lambda: layer(x).pow(2).mean())


@program
def attention(m):
    """attention by hand, with a causal mask"""
    q, k, v = [normal(m, 2, 4, 16, 8, seed=i, grad=True) for i in range(3)]
    mask = m.tril(m.ones(16, 16)) == 0

    def run():
        scores = (q @ k.transpose(-2, -1) / 8 ** 0.5).masked_fill(mask, float("-inf"))
        (scores.softmax(-1) @ v).sum().backward()
    return run


@program
def clusters(m):
    """distances of 100 points to 5 centres, and the gradient of the smallest"""
    x, centres = normal(m, 100, 2), normal(m, 5, 2, seed=1, grad=True)
    return lambda: ((x[:, None] - centres[None]) ** 2).sum(-1).min(1)[0].mean().backward()


@program
def gaussian_process(m):
    """the likelihood of a Gaussian process, by cholesky"""
    x, y, width = normal(m, 12, 1), normal(m, 12, 1, seed=1), m.tensor(0.5, requires_grad=True)

    def run():
        root = m.linalg.cholesky(m.exp(-(x - x.t()) ** 2 / width ** 2) + 0.1 * m.eye(12))
        (0.5 * (y * m.cholesky_solve(y, root)).sum() + root.diagonal().log().sum()).backward()
    return run


# ---- higher derivatives, transforms -----------------------------------------------------------------------


@program
def meta_learning(m):
    """three inner steps with create_graph=True, and the gradient through them"""
    w, x, y = normal(m, 8, 8, grad=True), normal(m, 4, 8), normal(m, 4, 8, seed=1)

    def loss():
        inner = w
        for _ in range(3):
            gradient, = m.autograd.grad(((x @ inner).tanh() - y).pow(2).mean(), inner, create_graph=True)
            inner = inner - 0.1 * gradient
        return ((x @ inner).tanh() - y).pow(2).mean()
    return step(m.optim.SGD([w], lr=1e-3), loss)


@program
def differential_equation(m):
    """a net that solves u'' = -u: two gradients, and the step"""
    nn = m.nn
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    x = m.linspace(0, 1, 32)[:, None].requires_grad_()

    def loss():
        u = net(x)
        first, = m.autograd.grad(u.sum(), x, create_graph=True)
        second, = m.autograd.grad(first.sum(), x, create_graph=True)
        return (second + u).pow(2).mean()
    return step(adam(m, net), loss)


@program
def neural_ode(m):
    """five steps of Runge-Kutta through a net"""
    net, x = m.nn.Sequential(m.nn.Linear(4, 16), m.nn.Tanh(), m.nn.Linear(16, 4)), normal(m, 8, 4)

    def loss():
        y, h = x, 0.1
        for _ in range(5):
            a = net(y)
            b = net(y + h / 2 * a)
            c = net(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + net(y + h * c))
        return y.pow(2).mean()
    return step(adam(m, net), loss)


@program
def forward_mode(m):
    """a chain of ten dual products"""
    forward, primal, tangent = m.autograd.forward_ad, normal(m, 8), normal(m, 8, seed=1)

    def run():
        with forward.dual_level():
            y = x = forward.make_dual(primal, tangent)
            for _ in range(10):
                y = y * x
            forward.unpack_dual(y)
    return run


def curve(x):
    return (x * x).sin()


def height(x):
    return curve(x).sum()


# name -> (the shape of x, the function of the module and x that is timed)
TRANSFORMS = {
    "func.grad": ((8,), lambda m, x: m.func.grad(height)(x)),
    "func.vmap": ((5, 8), lambda m, x: m.func.vmap(curve)(x)),
    "func.vmap of func.grad": ((5, 8), lambda m, x: m.func.vmap(m.func.grad(height))(x)),
    "func.jacrev": ((8,), lambda m, x: m.func.jacrev(curve)(x)),
    "func.hessian": ((6,), lambda m, x: m.func.hessian(height)(x)),
    "func.jvp": ((8,), lambda m, x: m.func.jvp(curve, (x,), (x,))),
    "autograd.functional.jacobian": ((8,), lambda m, x: m.autograd.functional.jacobian(curve, x)),
    "autograd.functional.hessian": ((8,), lambda m, x: m.autograd.functional.hessian(height, x)),
}


def transform(name):
    """List a transform of a small function."""
    shape, run = TRANSFORMS[name]

    def make(m):
        x = normal(m, *shape)
        return lambda: run(m, x)
    make.__doc__ = name
    program(make)


for name in TRANSFORMS:
    transform(name)


# ---- parts of autograd ------------------------------------------------------------------------------------


@program
def checkpoint(m):
    """a checkpointed net of two layers"""
    net, x = m.nn.Sequential(m.nn.Linear(16, 16), m.nn.Tanh(), m.nn.Linear(16, 16)), normal(m, 4, 16, grad=True)
    return lambda: m.utils.checkpoint.checkpoint(net, x, use_reentrant=False).sum().backward()


@program
def on_the_cpu(m):
    """save_on_cpu() around 20 products"""
    x = normal(m, 8, grad=True)

    def run():
        with m.autograd.graph.save_on_cpu():
            y = x
            for _ in range(20):
                y = y * x
        y.sum().backward()
    return run


@program
def anomalies(m):
    """detect_anomaly() around 20 products"""
    x = normal(m, 8, grad=True)

    def run():
        with m.autograd.detect_anomaly():
            y = x
            for _ in range(20):
                y = y * x
            y.sum().backward()
    return run


@program
def hooks_of_several(m):
    """register_multi_grad_hook on two leaves"""
    x, y = normal(m, 4, grad=True), normal(m, 4, seed=1, grad=True)

    def run():
        handle = m.autograd.graph.register_multi_grad_hook([x, y], lambda gradients: None)
        (x * y).sum().backward()
        handle.remove()
    return run


@program
def hooks_of_modules(m):
    """six layers with a forward and a backward hook each"""
    net, x = m.nn.Sequential(*[m.nn.Linear(4, 4) for _ in range(6)]), normal(m, 2, 4)
    for layer in net:
        layer.register_forward_hook(lambda *arguments: None)
        layer.register_full_backward_hook(lambda *arguments: None)
    return lambda: net(x).sum().backward()


@program
def walk(m):
    """a walk over a graph of 100 nodes by next_functions"""
    x = normal(m, 4, grad=True)
    y = x
    for _ in range(50):
        y = (y * x).sin()

    def run():
        seen, waiting = set(), [y.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in seen:
                seen.add(node)
                waiting += [following for following, _ in node.next_functions]
    return run


@program
def gradient_check(m):
    """gradcheck of a function of four numbers"""
    x = m.tensor(np.random.default_rng(0).standard_normal(4), requires_grad=True)
    return lambda: m.autograd.gradcheck(lambda x: x.sin() * x, (x,))


# ---- the rest of a training loop --------------------------------------------------------------------------


def optimizer(name):
    """List a step of an optimizer on 16 parameters."""
    def make(m):
        net = m.nn.Sequential(*[m.nn.Linear(8, 8) for _ in range(8)])
        for p in net.parameters():
            p.grad = m.ones_like(p)
        return getattr(m.optim, name)(net.parameters(), lr=1e-4).step
    make.__doc__ = f"optim.{name}, a step of 16 parameters"
    program(make)


for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"):
    optimizer(name)


@program
def lbfgs(m):
    """optim.LBFGS, a step of five evaluations"""
    x = normal(m, 4, grad=True)
    optimizer = m.optim.LBFGS([x], max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = ((x - 1) ** 2).sum() + (x ** 4).sum()
        loss.backward()
        return loss
    return lambda: optimizer.step(closure)


@program
def clipping(m):
    """clip_grad_norm_ of 16 parameters"""
    net = m.nn.Sequential(*[m.nn.Linear(8, 8) for _ in range(8)])
    for p in net.parameters():
        p.grad = m.ones_like(p)
    return lambda: m.nn.utils.clip_grad_norm_(net.parameters(), 1.0)


@program
def schedule(m):
    """a step of SGD and of CosineAnnealingLR"""
    optimizer = m.optim.SGD([m.nn.Parameter(normal(m, 3))], lr=0.1)
    scheduler = m.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)

    def run():
        optimizer.step()
        scheduler.step()
    return run


@program
def batches(m):
    """a DataLoader that shuffles 64 examples into batches of 16"""
    loader = m.utils.data.DataLoader(m.utils.data.TensorDataset(normal(m, 64, 4), normal(m, 64)), batch_size=16, shuffle=True)
    return lambda: [x for x, _ in loader]


@program
def construction(m):
    """making a net of two linear layers"""
    return lambda: m.nn.Sequential(m.nn.Linear(16, 16), m.nn.ReLU(), m.nn.Linear(16, 4))


@program
def states(m):
    """load_state_dict of six layers"""
    one, other = [m.nn.Sequential(*[m.nn.Linear(4, 4) for _ in range(6)]) for _ in range(2)]
    return lambda: other.load_state_dict(one.state_dict())


@program
def functional_call(m):
    """functional_call of a linear layer"""
    layer, x = m.nn.Linear(8, 8), normal(m, 2, 8)
    parameters = dict(layer.named_parameters())
    return lambda: m.func.functional_call(layer, parameters, (x,))


@program
def normal_distribution(m):
    """Normal: rsample, log_prob and the gradients"""
    mean, deviation = normal(m, 8, grad=True), normal(m, 8, seed=1).exp().requires_grad_()

    def run():
        distribution = m.distributions.Normal(mean, deviation)
        (-distribution.log_prob(distribution.rsample())).sum().backward()
    return run


@program
def divergence(m):
    """kl_divergence of two normal distributions, and the gradient"""
    mean, kinds = normal(m, 8, grad=True), m.distributions
    return lambda: kinds.kl_divergence(kinds.Normal(mean, mean.exp()), kinds.Normal(m.zeros(8), m.ones(8))).sum().backward()
