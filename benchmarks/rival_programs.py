"""The programs that ``rivals.py`` measures, each written once, and the libraries that run them.

A program is a loss: a function of constants and of parameters, written with the functions of a `Kit`. A kit is a library, with its
own way to a gradient: ``backward()``, or a function that transforms a function. Where a library has an op for a loss, its kit uses
the op, as users of the library would.

    Kit         what each library must say: its modules, its arrays, and how it differentiates
    PROGRAMS    name -> the program

A kit that lacks something has None instead of the function, or a reason in `lacks`.
"""

import importlib.util
import itertools
import math
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["KITS", "PROGRAMS", "SMALL", "USUAL", "Program"]

USUAL = {"ops": 200, "inputs": 5, "neurons": 9, "batch": 64, "layers": (64, 128, 10), "points": 16, "tower": (8, 32, 32, 1),
         "numbers": 1_000_000, "rows": 512}
SMALL = {"ops": 8, "inputs": 2, "neurons": 2, "batch": 4, "layers": (3, 4, 2), "points": 3, "tower": (2, 3, 1),
         "numbers": 64, "rows": 4}
RATE = 0.01         # of SGD


@dataclass
class Program:
    """A measured program.

    Attributes:
        name: what the table calls it.
        kind: what is computed: "gradients" of the loss, a "step" of SGD, or "product" of the Hessian with a vector.
        loss: called with a kit, the constants and the parameters, both lists; returns a single number.
        make: called with sizes, returns the constants, the parameters and the vectors: lists of NumPy arrays or floats.
        scalar: whether it computes with single numbers alone.
    """

    name: str
    kind: str
    loss: Any
    make: Any
    scalar: bool = False


def array(rng, *shape, scale=1.0):
    return (scale * rng.uniform(-1.0, 1.0, shape)).astype(np.float32)


# ---- the programs -----------------------------------------------------------------------------------------

def make_chain(sizes, rng):
    return [sizes["ops"]], [0.5, 0.99, 0.01], None


def chain(k, constants, parameters):
    x, b, a = parameters
    for _ in range(constants[0] // 2):
        x = x * b + a
    return x


def make_net(sizes, rng):
    count = sizes["neurons"] * (sizes["inputs"] + 2) + 1
    return array(rng, sizes["inputs"]).tolist(), array(rng, count).tolist(), None


def net(k, constants, parameters):
    """A hidden layer of neurons with relu, and a neuron that adds them up. Each weight is a parameter of its own."""
    wide = len(constants) + 2       # the weights of a neuron, its bias, and its weight in the sum
    total = parameters[-1]
    for i in range(0, len(parameters) - 1, wide):
        *weights, bias, out = parameters[i:i + wide]
        a = bias
        for w, x in zip(weights, constants):
            a = a + w * x
        total = total + k.relu(a) * out
    return total * total


def make_layers(rng, sizes):
    """Weights and biases of linear layers."""
    return [part for i, o in itertools.pairwise(sizes)
            for part in (array(rng, i, o, scale=math.sqrt(3 / i)), array(rng, o, scale=0.1))]


def make_mlp(sizes, rng):
    labels = rng.integers(0, sizes["layers"][-1], sizes["batch"])
    one_hot = np.eye(sizes["layers"][-1], dtype=np.float32)[labels]
    return [array(rng, sizes["batch"], sizes["layers"][0]), labels, one_hot], make_layers(rng, sizes["layers"]), None


def mlp(k, constants, parameters):
    x, labels, one_hot = constants
    for i in range(0, len(parameters), 2):
        x = x if i == 0 else k.relu(x)
        x = k.linear(x, parameters[i], parameters[i + 1])
    return k.cross_entropy(x, labels, one_hot)


def make_tower(sizes, rng):
    parameters = make_layers(rng, sizes["tower"])
    return [array(rng, sizes["points"], sizes["tower"][0])], parameters, [array(rng, *p.shape) for p in parameters]


def tower(k, constants, parameters):
    x = constants[0]
    for i in range(0, len(parameters), 2):
        x = x if i == 0 else k.tanh(x)
        x = k.linear(x, parameters[i], parameters[i + 1])
    return k.total(x * x)


def make_elementwise(sizes, rng):
    return [array(rng, sizes["numbers"])], [array(rng, sizes["numbers"]), array(rng, sizes["numbers"])], None


def elementwise(k, constants, parameters):
    a, b = parameters
    return k.total(k.tanh(a * b + a) * constants[0])


def make_matrices(sizes, rng):
    return [array(rng, sizes["rows"], sizes["rows"])], [array(rng, sizes["rows"], sizes["rows"]) for _ in "ab"], None


def matrices(k, constants, parameters):
    a, b = parameters
    return k.total(k.matmul(a, b) * constants[0])


PROGRAMS = [
    Program("chain of 200 ops on one number", "gradients", chain, make_chain, scalar=True),
    Program("net of 64 single numbers", "gradients", net, make_net, scalar=True),
    Program("MLP step, batch 64, 64-128-10, SGD", "step", mlp, make_mlp),
    Program("Hessian-vector product, MLP 8-32-32-1", "product", tower, make_tower),
    Program("tanh(a*b + a), 1,000,000 numbers", "gradients", elementwise, make_elementwise),
    Program("product of 512x512 matrices", "gradients", matrices, make_matrices),
]


# ---- the libraries ----------------------------------------------------------------------------------------

class Kit:
    """A library.

    Attributes:
        name: what the table calls it.
        modules: the modules that it needs.
        package: what pip installs.
        compiles: whether its first call compiles the program.
        lacks: kind of a program -> why the library cannot run it.

    The result of ``gradients(loss, constants, parameters)``, ``step`` and ``product(..., vectors)`` is a function that runs the
    program and returns (value or None, list of gradients, new parameters or products).
    """

    name = package = ""
    modules: tuple[str, ...] = ()
    compiles = False
    lacks: dict[str, str] = {}

    def why_not(self):
        """The reason why the library cannot be measured here, or an empty text."""
        missing = [module for module in self.modules if importlib.util.find_spec(module) is None]
        return f"not installed: pip install {self.package}" if missing else ""

    def prepare(self):
        """Import the library and set it to one thread."""

    def version(self):
        return importlib.import_module(self.modules[0]).__version__

    def wait(self, result):
        """Return when the result is computed."""

    def number(self, value):
        """A number or an array of the library as a NumPy array."""
        return np.asarray(value)

    # what the losses are written with; only `relu` is needed by programs of single numbers
    relu: Any = None
    tanh: Any = None
    total: Any = None
    matmul: Any = None
    linear: Any = None
    cross_entropy: Any = None
    # how the library differentiates
    gradients: Any = None
    step: Any = None
    product: Any = None


class Minigrad(Kit):
    name, package, modules = "minigrad", "minigrad-autograd", ("minigrad",)

    def prepare(self):
        self.m: Any = importlib.import_module(self.modules[0])
        self.m.set_num_threads(1)
        self.tanh, self.relu, self.matmul = self.m.tanh, self.m.relu, self.m.matmul

    def total(self, x):
        return x.sum()

    def linear(self, x, w, b):
        return x @ w + b

    def cross_entropy(self, x, labels, one_hot):
        return self.m.nn.functional.cross_entropy(x, labels)

    def number(self, value):
        return value.detach().numpy()

    def arrays(self, values, requires_grad=False) -> Any:
        return [v if isinstance(v, int) else self.m.tensor(v, requires_grad=requires_grad) for v in values]

    def loss(self, loss):
        """The function that is called for the loss: compiled, if the library compiles."""
        return loss

    def gradients(self, loss, constants, parameters):
        constants, parameters, loss = self.arrays(constants), self.arrays(parameters, True), self.loss(loss)

        def run():
            value = loss(constants, parameters)
            value.backward()
            found = [p.grad for p in parameters]
            for p in parameters:
                p.grad = None
            return value, found
        return run

    def step(self, loss, constants, parameters):
        constants, parameters, loss = self.arrays(constants), self.arrays(parameters, True), self.loss(loss)
        optimizer = self.m.optim.SGD(parameters, lr=RATE)

        def run():
            optimizer.zero_grad()
            value = loss(constants, parameters)
            value.backward()
            optimizer.step()
            return value, parameters
        return run

    def product(self, loss, constants, parameters, vectors):
        constants, parameters, vectors = self.arrays(constants), self.arrays(parameters, True), self.arrays(vectors)
        grad = self.m.autograd.grad

        def run():
            value = loss(constants, parameters)
            grads = grad(value, parameters, create_graph=True)
            return value, list(grad(grads, parameters, vectors, allow_unused=True, materialize_grads=True))
        return run


class Torch(Minigrad):
    name, package, modules = "PyTorch", "torch==2.13.0", ("torch",)


class TorchCompile(Torch):
    name, compiles = "torch.compile", True

    def why_not(self):
        compilers = [name for name in ("g++", "c++", "clang++") if shutil.which(name)]
        return super().why_not() or ("" if compilers else "no C++ compiler")

    def loss(self, loss):
        self.m._dynamo.reset()      # nothing compiled for the program before
        return self.m.compile(loss)

    def product(self, loss, constants, parameters, vectors):
        """The functional form: torch.compile has no second derivatives of its own backward."""
        constants, parameters, vectors = self.arrays(constants), self.arrays(parameters), self.arrays(vectors)
        grad = self.m.func.grad

        def dotted(p):
            grads = grad(lambda q: loss(constants, q))(p)
            return sum([(g * v).sum() for g, v in zip(grads, vectors)])
        compiled = self.loss(grad(dotted))
        return lambda: (None, compiled(parameters))


class Jax(Kit):
    name, package, modules = "JAX", "jax", ("jax", "jaxlib")

    def prepare(self):
        import jax
        import jax.numpy as jnp
        self.jax: Any = jax
        self.np: Any = jnp
        self.tanh, self.total, self.matmul = jnp.tanh, jnp.sum, jnp.matmul
        self.relu = jax.nn.relu

    def linear(self, x, w, b):
        return x @ w + b

    def cross_entropy(self, x, labels, one_hot):
        return -(self.jax.nn.log_softmax(x) * one_hot).sum() / len(one_hot)

    def wait(self, result):
        self.jax.block_until_ready(result)

    def arrays(self, values):
        return [v if isinstance(v, int) else self.np.asarray(v, dtype=None if getattr(v, "dtype", None) == np.int64 else "float32")
                for v in values]

    def compiled(self, function):
        return function

    def gradients(self, loss, constants, parameters):
        """The constants are arguments of the compiled function, except the length of a loop."""
        fixed = constants if isinstance(constants[0], int) else None
        constants, parameters = [] if fixed else self.arrays(constants), self.arrays(parameters)
        both = self.compiled(self.jax.value_and_grad(lambda c, p: loss(fixed or c, p), argnums=1))
        return lambda: both(constants, parameters)

    def step(self, loss, constants, parameters):
        constants, state = self.arrays(constants), [self.arrays(parameters)]
        both = self.jax.value_and_grad(loss, argnums=1)

        def update(constants, parameters):
            value, grads = both(constants, parameters)
            return value, [p - RATE * g for p, g in zip(parameters, grads)]
        update = self.compiled(update)

        def run():
            value, state[0] = update(constants, state[0])
            return value, state[0]
        return run

    def product(self, loss, constants, parameters, vectors):
        constants, parameters, vectors = self.arrays(constants), self.arrays(parameters), self.arrays(vectors)

        def dotted(parameters, constants, vectors):
            grads = self.jax.grad(loss, argnums=1)(constants, parameters)
            return sum([self.np.vdot(g, v) for g, v in zip(grads, vectors)])
        compiled = self.compiled(self.jax.grad(dotted))
        return lambda: (None, compiled(parameters, constants, vectors))


class JaxJit(Jax):
    name, compiles = "jax.jit", True

    def compiled(self, function):
        return self.jax.jit(function)


class Autograd(Kit):
    """HIPS autograd, on float32 as the others."""

    name, package, modules = "HIPS autograd", "autograd", ("autograd",)

    def version(self):
        from importlib.metadata import version
        return version("autograd")

    def prepare(self):
        import autograd
        import autograd.numpy as anp
        self.ag: Any = autograd
        self.np: Any = anp
        self.tanh, self.total, self.matmul = self.np.tanh, self.np.sum, self.np.matmul

    def relu(self, x):
        return self.np.maximum(x, 0)

    def linear(self, x, w, b):
        return self.np.matmul(x, w) + b

    def cross_entropy(self, x, labels, one_hot):
        x = x - self.np.max(x, axis=1, keepdims=True)
        return (self.np.sum(self.np.log(self.np.sum(self.np.exp(x), axis=1))) - self.np.sum(x * one_hot)) / len(one_hot)

    def gradients(self, loss, constants, parameters):
        both = self.ag.value_and_grad(loss, argnum=1)
        return lambda: both(constants, parameters)

    def step(self, loss, constants, parameters):
        both = self.ag.value_and_grad(loss, argnum=1)
        parameters = [p.copy() for p in parameters]

        def run():
            value, grads = both(constants, parameters)
            for p, g in zip(parameters, grads):
                p -= RATE * g
            return value, parameters
        return run

    def product(self, loss, constants, parameters, vectors):
        first = self.ag.grad(loss, argnum=1)

        def dotted(parameters):
            return sum([self.np.sum(g * v) for g, v in zip(first(constants, parameters), vectors)])
        second = self.ag.grad(dotted)
        return lambda: (None, second(parameters))


class MyGrad(Kit):
    name, package, modules = "MyGrad", "mygrad", ("mygrad",)
    lacks = {"product": "no second derivatives"}

    def prepare(self):
        import mygrad
        from mygrad.nnet.activations import relu
        from mygrad.nnet.losses import softmax_crossentropy
        self.m: Any = mygrad
        self.relu, self.tanh, self.total, self.matmul = relu, mygrad.tanh, mygrad.sum, mygrad.matmul
        self.softmax_crossentropy: Any = softmax_crossentropy

    def linear(self, x, w, b):
        return self.m.matmul(x, w) + b

    def cross_entropy(self, x, labels, one_hot):
        return self.softmax_crossentropy(x, labels)

    def number(self, value):
        return np.asarray(getattr(value, "data", value))

    def gradients(self, loss, constants, parameters):
        parameters = [self.m.tensor(np.float32(p)) for p in parameters]

        def run():
            value = loss(constants, parameters)
            value.backward()
            return value, [p.grad for p in parameters]
        return run

    def step(self, loss, constants, parameters):
        parameters = [self.m.tensor(p) for p in parameters]

        def run():
            value = loss(constants, parameters)
            value.backward()
            for p in parameters:
                p.data -= RATE * p.grad
            return value, parameters
        return run


class Micrograd(Kit):
    name, package, modules = "micrograd", "micrograd", ("micrograd",)
    lacks = {"step": "single numbers only", "product": "no second derivatives"}

    def version(self):
        from importlib.metadata import version
        return version("micrograd")

    def prepare(self):
        from micrograd.engine import Value
        self.value: Any = Value

    def relu(self, x):
        return x.relu()

    def number(self, value):
        return np.asarray(getattr(value, "data", value))

    def gradients(self, loss, constants, parameters):
        parameters = [self.value(p) for p in parameters]

        def run():
            for p in parameters:
                p.grad = 0
            value = loss(constants, parameters)
            value.backward()
            return value, [p.grad for p in parameters]
        return run


KITS = [Minigrad, Torch, TorchCompile, Jax, JaxJit, Autograd, MyGrad, Micrograd]
