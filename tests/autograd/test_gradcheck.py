"""gradcheck and gradgradcheck: the derivatives that they refuse, the words of the refusal, and the state that they leave unchanged.

Run on PyTorch too, through tests/parity/test_gradcheck.py, except for the tests marked `ours`.
"""

import importlib
import pickle
import warnings

import numpy as np
import pytest

import minigrad as mg
from tests.autograd.derivatives import CASES, MODES, matrix, op, vector
from tests.core.engine_tools import ours


def failure(m):
    """GradcheckError of the library."""
    return importlib.import_module(f"{m.__name__}.autograd.gradcheck").GradcheckError


def judge(m, name, mode):
    """The verdict of a mode on a case."""
    m.manual_seed(0)
    function, settings = MODES[mode]
    fn, inputs, more = CASES[name][0](m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(m.autograd, function)(fn, inputs, raise_exception=False, **{**settings, **more})


@pytest.mark.parametrize("name, mode", [(n, mode) for n, (_, _, only) in CASES.items() for mode in MODES if mode in only])
@ours       # tests/parity compares the verdicts
def test_verdict(name, mode):
    """tensor_surface/Z-04 tensor_surface/K-01 tensor_surface/K-03 tensor_surface/K-09 tensor_surface/K-10 tensor_surface/K-12"""
    assert judge(mg, name, mode) is (mode not in CASES[name][1])


# ---- messages ---------------------------------------------------------------------------------------------

WORDS = [
    ("wrong_factor", "backward", "Jacobian mismatch for output 0 with respect to input 0", "K-03"),
    ("wrong_factor", "backward, fast", "Jacobian mismatch for output 0 with respect to input 0", "K-09"),
    ("wrong_factor", "forward", "Jacobian computed with forward mode mismatch for output 0 with respect to input 0", "K-10"),
    ("second_output_wrong", "backward", "Jacobian mismatch for output 1 with respect to input 0", "K-03"),
    ("nothing_for_one_input", "backward", "Jacobian mismatch for output 0 with respect to input 1", "K-03"),
    ("random_backward", "backward", "Backward is not reentrant", "K-04"),
    # torch means the dtype when it says this of the size
    ("wrong_dtype", "backward", "Gradient has dtype mismatch|Analytical gradient has incorrect size", "K-05"),
    ("wrong_dtype_of_a_gradient_of_zeros", "backward", "grad is incorrect type|Analytical gradient has incorrect size", "K-05"),
    ("ignored_gradient_of_one_number", "backward", "backward not multiplied by grad_output", "K-06"),
    ("fails_for_undefined", "backward", "to handle undefined output grads", "K-07"),
    ("makes_something_of_undefined", "backward", "undefined or zero", "K-07"),
    ("detached", "backward", "gradient for function expected to be zero", "K-08"),
    ("detached", "backward, fast", "gradient for function expected to be zero", "K-08"),
    ("not_conjugated", "backward", "part of complex outputs only, Jacobian mismatch", "K-11"),
    ("not_conjugated", "forward", "part of complex inputs only, Jacobian computed with forward mode mismatch", "K-11"),
    ("detached_second_derivative", "second", "Jacobian mismatch for output 0 with respect to input 0", "K-12"),
]


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("name, mode, words, contract", WORDS, ids=[f"{n}, {mode}" for n, mode, _, _ in WORDS])
def test_words(m, name, mode, words, contract):
    """tensor_surface/K-03 tensor_surface/K-04 tensor_surface/K-05 tensor_surface/K-06 tensor_surface/K-07 tensor_surface/K-08
    tensor_surface/K-11
    """
    function, settings = MODES[mode]
    fn, inputs, more = CASES[name][0](m)
    with pytest.raises(failure(m), match=words) as caught:
        getattr(m.autograd, function)(fn, inputs, **{**settings, **more})
    assert isinstance(caught.value, RuntimeError)
    if "Jacobian" in words:
        assert "numerical:" in str(caught.value).lower() and "analytical:" in str(caught.value).lower()


def test_undefined_warns(m):
    """tensor_surface/K-07: with PyTorch's warning."""
    fn, inputs, _ = CASES["fails_for_undefined"][0](m)
    with pytest.warns(UserWarning, match="undefined gradient support checking"):
        assert m.autograd.gradcheck(fn, inputs, raise_exception=False) is False


def test_other_errors_escape(m):
    """tensor_surface/K-01 tensor_surface/K-07: raise_exception=False answers for GradcheckError only."""
    def typed(g, x):
        return 2 * g if g is not None else g.no_such_attribute
    fn = op(m, lambda x: 2 * x, typed, materialize=False)
    with pytest.raises(AttributeError):
        m.autograd.gradcheck(fn, vector(m), raise_exception=False)

    def missing(g, h, x):
        if h is None:
            raise RuntimeError("one gradient is missing")
        return 2 * h if g is None else 2 * g + 2 * h
    fn = op(m, lambda x: (x * 2, x * 2), missing, materialize=False)
    with pytest.raises(RuntimeError, match="one gradient is missing") as caught:    # while the Jacobian is computed
        m.autograd.gradcheck(fn, vector(m), raise_exception=False)
    assert not isinstance(caught.value, failure(m))


def test_one_undefined_at_a_time(m):
    """tensor_surface/K-07: with several outputs each is undefined in turn, the others having gradients of zeros."""
    seen = []

    def backward(g, h, x):
        seen.append((g is None, h is None))
        return sum([2 * k for k in (g, h) if k is not None]) if (g, h) != (None, None) else None
    fn = op(m, lambda x: (x * 2, x * 2), backward, materialize=False)
    assert m.autograd.gradcheck(fn, vector(m))
    assert seen[-3:] == [(True, True), (True, False), (False, True)]


# ---- calls that cannot be checked -------------------------------------------------------------------------------


def test_nothing_requires_a_gradient(m):
    """tensor_surface/K-02"""
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        m.autograd.gradcheck(lambda x: x, m.ones(2, dtype=m.float64))


def test_low_precision_warns(m):
    """tensor_surface/K-02"""
    with pytest.warns(UserWarning, match="Input #1 requires gradient and is not a double precision floating point"):
        m.autograd.gradcheck(lambda y, x: y * x, (vector(m), vector(m, dtype=m.float32)), raise_exception=False)


def test_stride_of_zero(m):
    """tensor_surface/K-02"""
    x = m.ones(1, dtype=m.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="has a dimension with stride 0"):
        m.autograd.gradcheck(lambda x: x * 2, x)
    assert m.autograd.gradcheck(lambda x: x * 2, m.ones(1, 1, dtype=m.float64).expand(1, 1).requires_grad_())


@pytest.mark.parametrize("function, flags, words", [
    ("gradcheck", {"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad to be True"),
    ("gradcheck", {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
     "Setting check_batched_grad=True requires check_backward_ad to be True"),
    ("gradcheck", {"check_batched_forward_grad": True}, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
    ("gradgradcheck", {"check_rev_over_rev": False}, "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"),
    ("gradgradcheck", {"check_rev_over_rev": False, "check_fwd_over_rev": True},
     "Setting check_undefined_grad=True requires check_rev_over_rev to be True"),
    ("gradgradcheck", {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False,
                       "check_batched_grad": True}, "Setting check_batched_grad=True requires check_rev_over_rev to be True"),
])
def test_flags_that_contradict_each_other(m, function, flags, words):
    """tensor_surface/K-10"""
    with pytest.raises(AssertionError, match=words):
        getattr(m.autograd, function)(lambda x: x, vector(m), **flags)


def test_outputs_of_another_shape(m):
    with pytest.raises(AssertionError, match="to return outputs with the same shape when inputs are perturbed"):
        m.autograd.gradcheck(lambda x: x[x > 1], vector(m, 1.0, 2.0))


@pytest.mark.differs(
    what="`gradcheck` of a function that returns a number",
    there="AttributeError: an int has no `requires_grad`.",
    here="TypeError, which says what the function has to return.")
@ours       # torch: AttributeError: 'int' object has no attribute 'requires_grad'
def test_outputs_that_are_no_tensors(m):
    with pytest.raises(TypeError, match="func to return a tensor, or a tuple of tensors"):
        m.autograd.gradcheck(lambda x: 3, vector(m))


@pytest.mark.differs(
    what="`gradcheck` of a function with an integer output and a wrong derivative",
    there="IndexError, or a message that names another output: outputs are counted in two ways.",
    here="The message counts the outputs as the function returns them.")
@ours       # torch counts the outputs that require a gradient in one list and all of them in another
def test_outputs_are_counted_as_func_returns_them(m):
    """tensor_surface/K-03: input i and output i are func's."""
    with pytest.raises(failure(m), match="mismatch for output 2 with respect to input 1"):
        m.autograd.gradcheck(lambda n, x: (m.arange(3), x, x * x.detach()), (3, vector(m)))


# ---- state that stays unchanged -----------------------------------------------------------------------------


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_inputs_are_unchanged(m, dtype, fast):
    """tensor_surface/K-14: to the bit, with the version they had."""
    x = m.tensor([0.1, 1e30, -3e-7], dtype=getattr(m, dtype)).requires_grad_()
    before, version = x.detach().numpy().tobytes(), x._version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.autograd.gradcheck(lambda x: x * x, x, raise_exception=False, fast_mode=fast)
    assert x.detach().numpy().tobytes() == before
    assert x._version == version and x.grad is None


@pytest.mark.differs(
    what="`gradcheck` of a function that raises",
    there="One element of the input stays moved.",
    here="The input is as before.")
@ours       # torch leaves the element moved
def test_inputs_are_unchanged_after_an_error(m):
    """tensor_surface/K-14"""
    x = vector(m)
    before = x.tolist()

    def fails(x):
        if x[1] != 1.5:
            raise KeyError
        return x * 2
    with pytest.raises(KeyError):
        m.autograd.gradcheck(fails, x)
    assert x.tolist() == before


@pytest.mark.differs(
    what="`gradcheck(fast_mode=True)`, `gradgradcheck`",
    there="They draw from the program's generator, and so change its later numbers.",
    here="They have their own generator.")
@ours       # torch draws grad_outputs from the generator of the program
def test_random_numbers_of_the_program_are_not_used(m):
    m.manual_seed(7)
    expected = m.rand(1).item()
    m.manual_seed(7)
    m.autograd.gradcheck(lambda x: x * x, vector(m), fast_mode=True)
    m.autograd.gradgradcheck(lambda x: x * x, vector(m))
    assert m.rand(1).item() == expected


def test_arguments_that_are_no_tensors(m):
    """tensor_surface/K-13: passed on; one tensor needs no tuple."""
    def fn(x, n, table, nothing=None):
        assert n == 2 and table == {"a": 1} and nothing is None
        return x ** n
    assert m.autograd.gradcheck(fn, (vector(m), 2, {"a": 1}))
    assert m.autograd.gradcheck(lambda x: x * x, vector(m))
    assert m.autograd.gradgradcheck(fn, (vector(m), 2, {"a": 1}, None))


# ---- the options ------------------------------------------------------------------------------------------


def test_tolerances(m):
    """tensor_surface/K-03: |a - n| <= atol + rtol |n|"""
    fn = op(m, lambda x: 10 * x, lambda g, x: 10.1 * g)
    check = m.autograd.gradcheck
    assert not check(fn, vector(m), raise_exception=False)
    assert check(fn, vector(m), rtol=0.0101)
    assert not check(fn, vector(m), rtol=0.0099, raise_exception=False)
    assert check(fn, vector(m), rtol=0, atol=0.101)
    assert not check(fn, vector(m), rtol=0, atol=0.099, raise_exception=False)


def test_step(m):
    """tensor_surface/K-03: central differences use the given step."""
    seen = []
    m.autograd.gradcheck(lambda x: (seen.append(x.detach().tolist()), x * x)[1], vector(m, 1.0, 2.0), eps=0.25)
    assert sorted(set(map(tuple, seen))) == [(0.75, 2.0), (1.0, 1.75), (1.0, 2.0), (1.0, 2.25), (1.25, 2.0)]


def test_number_of_calls(m):
    """tensor_surface/K-09: fast mode calls func twice per input instead of twice per element."""
    def calls(**settings):
        count = [0]

        def fn(x):
            count[0] += 1
            return x * x
        m.autograd.gradcheck(fn, m.ones(10, dtype=m.float64).requires_grad_(), check_undefined_grad=False, **settings)
        return count[0]
    assert (calls(), calls(fast_mode=True)) == (21, 3)


def test_fast_mode_says_what_slow_mode_would(m):
    """tensor_surface/K-09"""
    fn, inputs, _ = CASES["transposed"][0](m)
    with pytest.raises(failure(m), match="Jacobian mismatch") as caught:
        m.autograd.gradcheck(fn, inputs, fast_mode=True)
    assert str(caught.value).count("\n") > 6        # the whole matrices


def test_fast_mode_fails_where_slow_mode_would_not(m):
    """tensor_surface/K-09: many small errors of one sign add up."""
    fn = op(m, lambda x: x * 0, lambda g, x: g.sum().expand(x.shape) * 0.9e-5)
    x = m.ones(20, dtype=m.float64).requires_grad_()
    assert m.autograd.gradcheck(fn, x)
    fn = op(m, lambda x: x.sum() * 0, lambda g, x: g * m.tensor([0.99e-5] * 20, dtype=m.float64))
    assert m.autograd.gradcheck(fn, x)


def test_masked_is_accepted(m):
    assert m.autograd.gradcheck(lambda x: x * x, vector(m), masked=True)
    assert m.autograd.gradgradcheck(lambda x: x * x, vector(m), masked=True)


def test_batched(m):
    """tensor_surface/K-11: a batch of gradients gives the same results as each gradient alone."""
    for name in ("exp", "softmax", "two_outputs", "product_of_two", "complex_square"):
        fn, inputs, _ = CASES[name][0](m)
        if name != "product_of_two":        # torch cannot vmap over a custom Function that does not say how
            assert m.autograd.gradcheck(fn, inputs, check_batched_grad=True)
            assert m.autograd.gradgradcheck(fn, inputs, check_batched_grad=True)


@ours       # vmap runs backward once
def test_batched_sees_a_counter(m):
    """tensor_surface/K-11"""
    count = [0]

    def backward(g, x):
        count[0] += 1
        return g * (2 if count[0] < 8 else 3)
    with pytest.raises(failure(m), match="batched gradients differ"):
        m.autograd.gradcheck(op(m, lambda x: 2 * x, backward), vector(m), check_batched_grad=True)


def test_batched_forward(m):
    """tensor_surface/K-11"""
    for name in ("exp", "softmax", "two_outputs"):
        fn, inputs, _ = CASES[name][0](m)
        assert m.autograd.gradcheck(fn, inputs, check_forward_ad=True, check_batched_forward_grad=True)


def test_undefined_tangent(m):
    """tensor_surface/K-07: in forward mode an input without a tangent is as one with a tangent of zeros."""
    def jvp(ts, x, y):
        t, u = ts
        return t * y if u is None else t * y + u * x if t is not None else u * x * 2
    fn = op(m, lambda x, y: x * y, lambda g, x, y: (g * y, g * x), jvp, materialize=False)
    inputs = (vector(m), vector(m, 3.0, 4.0, 5.0))
    with pytest.raises(failure(m), match="Mismatch in tangent values"):
        m.autograd.gradcheck(fn, inputs, check_forward_ad=True)
    assert m.autograd.gradcheck(fn, inputs, check_forward_ad=True, check_undefined_grad=False)


# ---- second derivatives -----------------------------------------------------------------------------------


def test_given_gradients(m):
    """tensor_surface/K-12: those that are given are used, and differentiated if they require it."""
    seen = []
    fn = op(m, lambda x: x * x, lambda g, x: (seen.append(g.detach().tolist()), 2 * g * x)[1])
    g = m.tensor([2.0, 3.0, 4.0], dtype=m.float64)
    assert m.autograd.gradgradcheck(fn, vector(m), g)
    assert set(map(tuple, seen)) == {(2.0, 3.0, 4.0), (0.0, 0.0, 0.0)} or (2.0, 3.0, 4.0) in set(map(tuple, seen))
    assert m.autograd.gradgradcheck(fn, vector(m), g.requires_grad_())
    assert any(row[0] == 2.0 + 1e-6 for row in seen)


def test_random_gradients(m):
    """tensor_surface/K-12: between -1 and 1, like the outputs, not contiguous on request."""
    def gradients(**settings):
        seen = []
        m.autograd.gradgradcheck(op(m, lambda x: x * x, lambda g, x: (seen.append(g), 2 * g * x)[1]), matrix(m).requires_grad_(),
                                 **settings)
        return seen[0]
    g = gradients()
    assert g.shape == (3, 3) and g.dtype == m.float64 and g.is_contiguous()
    assert (g.abs() <= 1).all() and g.min() < 0
    assert not gradients(gen_non_contig_grad_outputs=True).is_contiguous()


@pytest.mark.differs(
    what="`gradgradcheck` of a constant function",
    there="TypeError about the number of arguments.",
    here="True: the second derivative is 0, and right.")
@ours       # torch: an error about the number of arguments
def test_constant_function_has_no_second_derivative(m):
    assert m.autograd.gradgradcheck(lambda x: m.ones(2), vector(m))


@ours
def test_roles_in_messages(m):
    """tensor_surface/K-12: the message tells the inputs of func from the gradients."""
    fn, inputs, _ = CASES["detached_second_derivative"][0](m)
    with pytest.raises(failure(m), match="output 0 is the gradient of input 0, and input 0 is input 0 of func"):
        m.autograd.gradgradcheck(fn, inputs)

    fn = op(m, lambda x: x * x, lambda g, x: 2 * g.detach() * x)
    with pytest.raises(failure(m), match="input 1 is grad_output 0"):
        m.autograd.gradgradcheck(fn, inputs)


# ---- the cause --------------------------------------------------------------------------------------------

count = [0]


def counted(x):
    count[0] += 1
    return x * count[0]


def formula(forward, backward):
    return lambda m: (op(m, lambda x: forward(m, x), lambda g, x: backward(m, g, x)), vector(m))


CAUSES = [
    (r"analytical = 2/3 \* numerical", formula(lambda m, x: x ** 3, lambda m, g, x: 2 * g * x ** 2)),
    ("-1 .* the sign is wrong", formula(lambda m, x: x.exp(), lambda m, g, x: -g * x.exp())),
    (r"analytical = 0\.1234 \* numerical", formula(lambda m, x: x ** 3, lambda m, g, x: 3 * 0.1234 * g * x ** 2)),
    (r"numerical - analytical = f\(x\)", formula(lambda m, x: x * x.exp(), lambda m, g, x: g * x.exp())),
    (r"numerical - analytical = -1,", formula(lambda m, x: x.exp(), lambda m, g, x: g * (x.exp() + 1))),
    (r"numerical - analytical = 2 \* x,", formula(lambda m, x: x ** 2 + x, lambda m, g, x: g)),
    (r"analytical = x \* numerical", formula(lambda m, x: x.exp(), lambda m, g, x: g * x * x.exp())),
    (r"analytical = 1/2 \* \(1 / x\) \* numerical", formula(lambda m, x: (x * x).exp(), lambda m, g, x: g * (x * x).exp())),
    (r"analytical = x \* numerical", formula(lambda m, x: x.sum(), lambda m, g, x: g * x)),
    ("a term is missing or too much", formula(lambda m, x: x * x.exp(), lambda m, g, x: g * x * x.exp())),
    ("the transpose of numerical", lambda m: CASES["transposed"][0](m)[:2]),
    ("the complex conjugate", lambda m: CASES["not_conjugated"][0](m)[:2]),
    ("the same result for every grad_output", lambda m: CASES["ignored_gradient"][0](m)[:2]),
    ("3 entries are missing", lambda m: (lambda x: m.cat([x, x.detach()]), vector(m))),
    ("no gradient arrives at the input at all", lambda m: CASES["nothing_for_one_input"][0](m)[:2]),
    ("the analytical derivative is zero", formula(lambda m, x: x * x, lambda m, g, x: g * 0)),
    ("it rounds", formula(lambda m, x: (x + 0.2).round(), lambda m, g, x: g)),
    ("draws random numbers", lambda m: CASES["global_randomness"][0](m)[:2]),
    ("keeps a state", lambda m: (counted, vector(m))),
    ("func writes to tensor 0 of its inputs", lambda m: (lambda x: (x.data.add_(0.125), x * x)[1], vector(m))),
    ("float32 has too few digits", lambda m: CASES["float32"][0](m)[:2]),
    ("the slope is 0 on the left and 1 on the right", lambda m: CASES["kink"][0](m)[:2]),
    ("a kink", lambda m: (lambda x: x.abs(), vector(m, 1e-7, 1.0))),
    ("func jumps", lambda m: (lambda x: x + (x > 0).double(), vector(m, 0.0, 1.0))),
    ("func jumps", lambda m: (op(m, lambda x: (x.sign() + 1) / 2, lambda g, x: g * 0), vector(m, 0.0, 1.0))),   # as far to both sides
    ("is not finite", lambda m: CASES["not_finite"][0](m)[:2]),
]


@ours
@pytest.mark.filterwarnings("ignore:Input #0 requires gradient")
@pytest.mark.parametrize("words, make", CAUSES, ids=[words for words, _ in CAUSES])
def test_cause(m, words, make):
    """The message guesses why, and has a remedy."""
    with pytest.raises(failure(m), match=f"\n  cause: +.*{words}") as caught:
        m.autograd.gradcheck(*make(m), check_undefined_grad=False)
    assert "\n  fix: " in str(caught.value) and caught.value.code == "MG-E260"


@ours
def test_no_cause_is_better_than_a_wrong_one(m):
    fn = op(m, lambda x: matrix(m) @ x, lambda g, x: matrix(m).T @ g + g.sum())
    with pytest.raises(failure(m)) as caught:
        m.autograd.gradcheck(fn, vector(m))
    assert "cause:" not in str(caught.value) and "\n  fix: " in str(caught.value)


@ours
def test_looking_for_the_cause_hides_nothing(m):
    """The search for the cause calls func again; if that call fails, the mismatch is still reported."""
    calls = [0]

    def fails_later(x):
        calls[0] += 1
        if calls[0] > 7:        # one call, and two for each element
            raise KeyError
        return x * x.detach()
    with pytest.raises(failure(m), match="Jacobian mismatch") as caught:
        m.autograd.gradcheck(fails_later, vector(m))
    assert calls[0] == 8 and "cause:" not in str(caught.value)


@ours
def test_place_of_the_largest_difference(m):
    """tensor_surface/K-03: element indices, not rows."""
    scale = m.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]], dtype=m.float64)
    fn = op(m, lambda x: x * 3, lambda g, x: 3 * g * scale)
    with pytest.raises(failure(m), match=r"element \(1, 2\) of the input and \(1, 2\) of the output: numerical 3, analytical 6"):
        m.autograd.gradcheck(fn, m.ones(2, 3, dtype=m.float64).requires_grad_())


@ours
def test_the_error_travels(m):
    with pytest.raises(failure(m)) as caught:
        m.autograd.gradcheck(lambda x: x * x.detach(), vector(m))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is failure(m) and str(again) == str(caught.value)


@ours
def test_gradient_of_the_wrong_size(m, monkeypatch):
    """tensor_surface/K-05: the engine refuses such a gradient, so the test replaces the `grad` that gradcheck calls."""
    from minigrad.autograd._gradcheck import analytical
    monkeypatch.setattr(analytical, "grad", lambda y, xs, *a, **k: tuple([m.ones(7, dtype=m.float64) for _ in xs]))
    with pytest.raises(failure(m), match="Analytical gradient has incorrect size"):
        m.autograd.gradcheck(lambda x: x * 2, vector(m))


@pytest.mark.differs(
    what="`gradcheck` under `no_grad`",
    there="The message says that a numerical gradient should be zero.",
    here="The message says that gradients are disabled.")
@ours
def test_under_no_grad(m):
    """tensor_surface/K-08: nothing can be checked there, and the message says so."""
    with m.no_grad(), pytest.raises(failure(m), match="gradients are disabled"):
        m.autograd.gradcheck(lambda x: x * 2, vector(m))


@ours
def test_numbers_are_those_of_numpy(m):
    """tensor_surface/K-03: the numerical Jacobian of a known function."""
    from minigrad.autograd._gradcheck.numerical import numerical_jacobian
    x = vector(m)
    J, = numerical_jacobian(lambda x: matrix(m) @ x.exp(), (x,), x, (x,), 1e-6)
    np.testing.assert_allclose(J[0, :, 0, :].T, matrix(m).numpy() * np.exp(x.tolist()), rtol=1e-8, atol=1e-8)
