"""The hidden checks of homework 2: random shapes, operands without gradients, second derivatives, wrong formulas."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, rng, same, used, visibility, weight

READ = "01_derivative_to_graph"
OPS = {"mul": lambda x, y: x * y, "exp": lambda x, y: x.exp(), "tanh": lambda x, y: x.tanh(), "mm": lambda x, y: x @ y}


def draw(random, *shape):
    values = [random.uniform(-1.5, 1.5) for _ in range(mg.zeros(*shape).numel())]
    return mg.tensor(values, dtype=mg.float64).reshape(*shape)


def compare(op, run, what, graph=None):
    """Run a function that returns gradients, with minigrad's formula and with the student's."""
    expected = run()
    try:
        with mg.grading.swap("vjp", adapters.vjp(op), of=op) as part:
            found = run()
    except mg.grading.SwapError as error:
        fail(str(error), graph, READ)
    used(part, f"backward of {op} was run without it", graph, READ)
    for i, (mine, ours) in enumerate(zip(found, expected)):
        if ours is not None:
            same(mine, ours, f"{op}, {what}: the gradient of operand {i + 1}", graph, READ, tolerance=1e-9)


@weight(12)
@number("1.2")
@visibility("after_published")
def test_random_shapes():
    """The formulas on matrices of random shapes, with random gradients"""
    random = rng("1.2")
    for _ in range(5):
        n, k, m = (random.randint(1, 5) for _ in range(3))
        for op, function in OPS.items():
            x = draw(random, n, k).requires_grad_()
            y = draw(random, *((k, m) if op == "mm" else (n, k))).requires_grad_()
            z = function(x, y)
            grad = draw(random, *z.shape)
            compare(op, lambda x=x, y=y, z=z, grad=grad: mg.autograd.grad(z, [x, y], grad, retain_graph=True, allow_unused=True),
                    f"shapes {tuple(x.shape)} and {tuple(y.shape)}", z)


@weight(8)
@number("1.3")
@visibility("after_published")
def test_one_operand_without_a_gradient():
    """A product of which one operand requires no gradient"""
    random = rng("1.3")
    for op in ("mul", "mm"):
        for first in (True, False):
            x, y = draw(random, 3, 3).requires_grad_(first), draw(random, 3, 3).requires_grad_(not first)
            z = OPS[op](x, y)
            wanted = x if first else y
            compare(op, lambda z=z, wanted=wanted: mg.autograd.grad(z.sum(), [wanted], retain_graph=True),
                    f"only operand {1 if first else 2} requires a gradient", z)


@weight(8)
@number("1.4")
@visibility("after_published")
def test_second_derivatives():
    """The formulas can be differentiated again"""
    random = rng("1.4")
    for op, function in OPS.items():
        x, y = draw(random, 3, 3).requires_grad_(), draw(random, 3, 3).requires_grad_()

        def run(function=function, x=x, y=y):
            z = function(x, y)
            first, = mg.autograd.grad((z * z).sum(), x, create_graph=True)
            return mg.autograd.grad((first * first).sum(), [x])
        compare(op, run, "a second derivative")


@weight(10)
@number("2.2")
@visibility("after_published")
def test_broadcasts_of_random_shapes():
    """sum_to_shape undoes what minigrad's expand does, on random shapes"""
    random = rng("2.2")
    for _ in range(20):
        full = [random.randint(1, 4) for _ in range(random.randint(0, 4))]
        shape = [size if random.random() < 0.5 else 1 for size in full[random.randint(0, len(full)):]]
        x = mg.zeros(*shape, dtype=mg.float64, requires_grad=True) if shape else mg.zeros((), dtype=mg.float64, requires_grad=True)
        grad = draw(random, *full) if full else mg.tensor(random.uniform(-1, 1), dtype=mg.float64)
        expected, = mg.autograd.grad(x.expand(tuple(full)), x, grad)
        same(adapters.sum_to_shape()(grad, tuple(shape)), expected, f"shape {tuple(full)} to {tuple(shape)}", read=READ, tolerance=1e-9)


@weight(8)
@number("3.2")
@visibility("after_published")
def test_two_sides():
    """The differences are central: the numerical gradient of x * x * x is right to nine digits"""
    x = mg.tensor([0.5, -1.0, 2.0], dtype=mg.float64)
    found = adapters.numerical_gradient()(lambda x: (x * x * x).sum(), x, step=1e-4)
    # A central difference of x^3 is 3 x^2 + h^2; with one side it is 3 x^2 + 3 x h + h^2.
    same(found, 3 * x * x, "the gradient of x * x * x with step=1e-4", read=READ, tolerance=1e-6)


def functions(random):
    x = draw(random, 2, 3)
    scale = draw(random, 2, 3)
    return x, (lambda x: (x.tanh() * scale).sum(), lambda x: (x.exp() * x).mean(), lambda x: (x @ x.t()).tanh().sum())


@weight(6)
@number("3.3")
@visibility("after_published")
def test_agrees_with_right_formulas():
    """agrees accepts minigrad's own formulas, and leaves x as it is"""
    random = rng("3.3")
    for _ in range(3):
        x, chosen = functions(random)
        before = x.clone()
        for i, function in enumerate(chosen):
            if adapters.agrees()(function, x) is not True:
                fail(f"function {i + 1} of 3 is right, and agrees did not return True", read=READ)
        same(x, before, "x after the call", read=READ, tolerance=0)
        if x.grad is not None or x.requires_grad:
            fail("agrees has changed x.grad or x.requires_grad", read=READ)


@weight(6)
@number("3.4")
@visibility("after_published")
def test_agrees_finds_wrong_formulas():
    """agrees finds formulas that are wrong by a sign, by a factor near 1, or in one number alone"""
    random = rng("3.4")
    one = mg.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.01]], dtype=mg.float64)
    wrong = (lambda node, grad: -grad * (1 - node._saved_result ** 2), lambda node, grad: grad * (1 - node._saved_result ** 2) * 1.001,
             lambda node, grad: grad * (1 - node._saved_result ** 2) * one, lambda node, grad: grad * 0)
    for i, formula in enumerate(wrong):
        x, (function, *_) = functions(random)
        with mg.grading.swap("vjp", formula, of="tanh"):
            found = adapters.agrees()(function, x)
        if found is not False:
            fail(f"wrong formula {i + 1} of {len(wrong)} for tanh: expected False, found {found}", read=READ)


@weight(10)
@number("4.1")
def test_training():
    """A network learns with your formulas, as it does with minigrad's"""
    ours = adapters.train()(steps=25)
    parts = [mg.grading.swap("vjp", adapters.vjp(op), of=op) for op in ("mul", "tanh", "mm")]
    with parts[0], parts[1], parts[2]:
        theirs = adapters.train()(steps=25)
    for part in parts:
        used(part, "the network was trained without it", read=READ)
    same(mg.tensor(theirs[-1]), mg.tensor(ours[-1]), "the loss after 25 steps", read=READ, tolerance=1e-3)
    if not ours[-1] < ours[0]:
        fail("the network has not learnt: the loss is not smaller than at first", read=READ)
