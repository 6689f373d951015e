"""cross_entropy and nll_loss in all their forms against torch: values, first and second derivatives, and errors."""

import itertools
import warnings

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch")

# input, class target
SHAPES = {"one example": ((4,), ()), "batch": ((3, 4), (3,)), "planes": ((2, 4, 3), (2, 3)), "volumes": ((2, 4, 2, 3), (2, 2, 3)),
          "no example": ((0, 4), (0,)), "empty planes": ((2, 4, 0), (2, 0)), "one class": ((3, 1), (3,)), "nothing": ((0, 0), (0,))}
WEIGHTED = (False, True)
REDUCTIONS = ("mean", "sum", "none")
IGNORED = (-100, 1, "all")


def derivatives(m, loss, arrays, fixed):
    """(value, gradients, gradients of the sum of their squares) of a loss of leaves, the other arguments being fixed."""
    xs = [m.tensor(a, requires_grad=True) for a in arrays]
    z = loss(m, *xs, **{k: m.tensor(v) if isinstance(v, np.ndarray) else v for k, v in fixed.items()})
    first = m.autograd.grad((z * z).sum(), xs, create_graph=True)
    second = m.autograd.grad(sum((g * g).sum() for g in first), xs, allow_unused=True)
    return [np.zeros(()) if v is None else v.detach().numpy(force=True) for v in (z, *first, *second)]


def outcome(m, loss, arrays, fixed):
    try:
        return derivatives(m, loss, arrays, fixed)
    except Exception as error:
        return error


def compared(loss, arrays, label, **fixed):
    theirs, ours = [outcome(m, loss, arrays, fixed) for m in (torch, mg)]
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)) and "MG-E" in str(ours), f"{label}: torch {theirs!r}, we {ours!r}"
        return
    assert not isinstance(ours, Exception), f"{label}: {ours!r}"
    for what, a, b in zip(("value", "gradients", "gradients", "second", "second"), ours, theirs):
        np.testing.assert_allclose(a, np.broadcast_to(b, a.shape), rtol=1e-9, atol=1e-11, err_msg=f"{what} of {label}")


def numbers(shape, target_shape):
    """(scores, classes, probabilities, weights), the same each time."""
    rng = np.random.default_rng(0)
    classes = shape[0] if len(shape) == 1 else shape[1]
    return (rng.standard_normal(shape), rng.integers(0, max(classes, 1), target_shape), rng.uniform(0.1, 1, shape),
            rng.uniform(0.5, 2, classes))


@pytest.mark.parametrize("name", SHAPES)
def test_classes(name):
    """Weights, reductions, smoothing, and targets that are ignored: where all are, the mean is nan and its gradient is 0."""
    x, target, _, weight = numbers(*SHAPES[name])
    for weighted, reduction, smoothing, ignored in itertools.product(WEIGHTED, REDUCTIONS, (0.0, 0.2, 1.0), IGNORED):
        compared(lambda m, x, **o: m.nn.functional.cross_entropy(x, **o), [x], f"{weighted} {reduction} {smoothing} {ignored}",
                 target=np.full_like(target, 1) if ignored == "all" else target, weight=weight if weighted else None,
                 reduction=reduction, label_smoothing=smoothing, ignore_index=1 if ignored == "all" else ignored)


@pytest.mark.parametrize("name", SHAPES)
def test_probabilities(name):
    """Which have gradients too. No class is ignored then."""
    x, _, target, weight = numbers(*SHAPES[name])
    for weighted, reduction, smoothing, ignored in itertools.product(WEIGHTED, REDUCTIONS, (0.0, 0.2, 1.0), (-100, 1)):
        compared(lambda m, x, y, **o: m.nn.functional.cross_entropy(x, y, **o), [x, target], f"{weighted} {reduction} {smoothing} {ignored}",
                 weight=weight if weighted else None, reduction=reduction, label_smoothing=smoothing, ignore_index=ignored)


@pytest.mark.parametrize("name", SHAPES)
def test_log_probabilities(name):
    x, target, _, weight = numbers(*SHAPES[name])
    for weighted, reduction, ignored in itertools.product(WEIGHTED, REDUCTIONS, IGNORED):
        compared(lambda m, x, **o: m.nn.functional.nll_loss(x, **o), [x], f"{weighted} {reduction} {ignored}",
                 target=np.full_like(target, 1) if ignored == "all" else target, weight=weight if weighted else None,
                 reduction=reduction, ignore_index=1 if ignored == "all" else ignored)


@pytest.mark.parametrize("layer, options", [("CrossEntropyLoss", {"label_smoothing": 0.1}), ("NLLLoss", {})])
def test_layers(layer, options):
    x, target, _, weight = numbers(*SHAPES["planes"])
    for reduction, ignored in itertools.product(REDUCTIONS, (-100, 2)):
        def loss(m, x, target, reduction=reduction, ignored=ignored):
            made = getattr(m.nn, layer)(m.tensor(weight), reduction=reduction, ignore_index=ignored, **options)
            assert list(made.state_dict()) == ["weight"]
            return made(x, target)
        compared(loss, [x], f"{reduction} {ignored}", target=target)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_dtypes(dtype):
    x, target, _, weight = numbers(*SHAPES["batch"])
    for m in (torch, mg):
        kind = getattr(m, dtype)
        z = m.nn.functional.cross_entropy(m.tensor(x).to(kind), m.tensor(target), m.tensor(weight).to(kind), label_smoothing=0.1)
        assert z.dtype == kind


WRONG = {
    "batch sizes differ": lambda m, F: F(m.ones(3, 4), m.tensor([0, 1])), "a class too many": lambda m, F: F(m.ones(2, 3), m.tensor([0, 3])),
    "a negative class": lambda m, F: F(m.ones(2, 3), m.tensor([0, -1])), "floats for classes": lambda m, F: F(m.ones(2, 3), m.tensor([0., 1.])),
    "int32": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1], dtype=m.int32)), "bools": lambda m, F: F(m.ones(2, 3), m.tensor([True, False])),
    "weight of another size": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), m.ones(2)), "weight of no dimension": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), m.tensor(1.)),
    "weight no tensor": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), [1., 1., 1.]), "target no tensor": lambda m, F: F(m.ones(2, 3), [0, 1]),
    "input no tensor": lambda m, F: F([[1.]], m.tensor([0])), "integers": lambda m, F: F(m.ones(2, 3).long(), m.tensor([0, 1])),
    "0-d input": lambda m, F: F(m.tensor(1.), m.tensor(0)), "target with dimensions too many": lambda m, F: F(m.ones(2, 3), m.zeros(2, 3, 1).long()),
    "planes of another size": lambda m, F: F(m.ones(2, 3, 4), m.zeros(2, 5).long()), "one example, two targets": lambda m, F: F(m.ones(3), m.tensor([0, 1])),
    "unknown reduction": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), reduction="x"), "no reduction": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), reduction=None),
}
SMOOTHED = {
    "too smooth": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), label_smoothing=1.5),
    "probabilities of another shape": lambda m, F: F(m.ones(2, 3), m.ones(2, 4)),
    "probabilities ignored": lambda m, F: F(m.ones(2, 3), m.ones(2, 3), ignore_index=0),
    "smoothing no number": lambda m, F: F(m.ones(2, 3), m.tensor([0, 1]), label_smoothing="x"),
}


@pytest.mark.parametrize("function, name", [*itertools.product(("nll_loss", "cross_entropy"), WRONG), *[("cross_entropy", n) for n in SMOOTHED]])
def test_refused(function, name):
    call = (WRONG | SMOOTHED)[name]
    errors = []
    for m in (torch, mg):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((RuntimeError, ValueError, IndexError, TypeError, AttributeError)) as raised:
                call(m, getattr(m.nn.functional, function))
        errors.append(raised.value)
    classes = (RuntimeError, ValueError, IndexError, TypeError)
    theirs, ours = [[c for c in classes if isinstance(e, c)] for e in errors]
    assert theirs == ours or isinstance(errors[0], AttributeError), errors
    assert str(errors[1])


def test_probabilities_with_a_weight_of_another_size():
    for m in (torch, mg):
        with pytest.raises(RuntimeError, match="weight tensor should be defined either for all 3 classes or no classes"):
            m.nn.functional.cross_entropy(m.ones(2, 3), m.ones(2, 3), m.ones(2))
