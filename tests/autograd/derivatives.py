"""Derivatives, right and wrong, for gradcheck to judge: in minigrad and in torch.

Each case is a function of the library `m` that gives func, its inputs, and arguments of gradcheck. Its decorator says which
of the checks of `MODES` refuse it: of backward, of forward mode, of the second derivative.
"""

CASES = {}

# name -> (function of m.autograd, its arguments)
MODES = {
    "backward": ("gradcheck", {}),
    "backward, fast": ("gradcheck", {"fast_mode": True}),
    "forward": ("gradcheck", {"check_forward_ad": True, "check_backward_ad": False}),
    "forward, fast": ("gradcheck", {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": True}),
    "both": ("gradcheck", {"check_forward_ad": True}),
    "second": ("gradgradcheck", {}),
    "second, fast": ("gradgradcheck", {"fast_mode": True}),
    "second, gaps": ("gradgradcheck", {"gen_non_contig_grad_outputs": True}),
    "forward over reverse": ("gradgradcheck", {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False}),
}
BACKWARD = {"backward", "backward, fast", "both"}
FORWARD = {"forward", "forward, fast", "both"}
SECOND = {"second", "second, fast", "second, gaps", "forward over reverse"}
FIRST = BACKWARD | FORWARD
ALL = FIRST | SECOND


def case(wrong=(), only=ALL):
    """Register a case that the modes `wrong` refuse; it is run in `only`."""
    def register(make):
        assert make.__name__ not in CASES
        CASES[make.__name__] = make, set(wrong), set(only)
        return make
    return register


def op(m, forward, backward, jvp=None, **settings):
    """A custom Function of formulas of the saved inputs: forward(*xs), backward(g, *xs), jvp(ts, *xs)."""
    class Op(m.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            ctx.save_for_forward(*xs)
            ctx.set_materialize_grads(settings.get("materialize", True))
            return forward(*xs)

        @staticmethod
        def backward(ctx, *gs):
            return backward(*gs, *ctx.saved_tensors)
    if jvp is not None:
        Op.jvp = staticmethod(lambda ctx, *ts: jvp(ts, *ctx.saved_tensors))
    return Op.apply


def vector(m, *numbers, dtype=None):
    return m.tensor(numbers or (0.5, 1.5, -2.0), dtype=dtype or m.float64).requires_grad_()


def matrix(m):
    return m.tensor([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [2.0, 1.0, 1.0]], dtype=m.float64)


# ---- right -----------------------------------------------------------------------------------------------


@case()
def exp(m):
    return lambda x: x.exp(), vector(m), {}


@case()
def cube(m):
    return op(m, lambda x: x ** 3, lambda g, x: 3 * g * x ** 2, lambda ts, x: 3 * ts[0] * x ** 2), vector(m), {}


@case()
def product_of_two(m):
    return (op(m, lambda x, y: x * y, lambda g, x, y: (g * y, g * x), lambda ts, x, y: ts[0] * y + ts[1] * x),
            (vector(m), vector(m, 3.0, 4.0, 5.0)), {})


@case()
def matrix_times_vector(m):
    return (op(m, lambda x: matrix(m) @ x, lambda g, x: matrix(m).T @ g, lambda ts, x: matrix(m) @ ts[0]), vector(m), {})


@case(only=FIRST)
def constant(m):
    return lambda x: m.ones(2, dtype=m.float64), vector(m), {}


@case(only=FIRST)
def steps(m):
    """Piecewise constant: nothing to differentiate, and nothing changes."""
    return lambda x: (x > 1).double(), vector(m), {}


@case()
def not_contiguous(m):
    return lambda x: (x * x).sum(0), matrix(m).T.requires_grad_(), {}


@case()
def every_other_element(m):
    return lambda x: x.sin(), m.tensor([[0.1, 9.0], [0.2, 9.0]], dtype=m.float64)[:, 0].requires_grad_(), {}


@case()
def numbers_and_flags(m):
    return lambda x, n, flip: x ** n * (-1 if flip else 1), (vector(m), 3, True), {}


@case()
def not_required(m):
    return lambda c, x: c * x * x, (vector(m).detach(), vector(m)), {}


@case()
def two_outputs(m):
    return lambda x: (x.sin(), x.cos() * 2), vector(m), {}


@case()
def list_of_outputs(m):
    return lambda x: [x * x, x.exp().sum()], [vector(m)], {}


@case()
def beside_an_index(m):
    return lambda x: (x * x, m.arange(3), x.exp()), vector(m), {}


@case(only=FIRST)
def beside_a_constant(m):
    return lambda x: (m.ones(3), x * x), vector(m), {}


@case()
def scalar(m):
    return lambda x: x * x, m.tensor(1.5, dtype=m.float64).requires_grad_(), {}


@case()
def no_elements(m):
    return lambda x: x * x, m.zeros(0, dtype=m.float64).requires_grad_(), {}


@case()
def relu_away_from_zero(m):
    return lambda x: x.relu() * x, vector(m), {}


@case()
def not_a_leaf(m):
    return lambda x: x * x, vector(m) * 2, {}


@case()
def the_input_itself(m):
    return lambda x: x, vector(m), {}


@case()
def a_view(m):
    return lambda x: x.T, matrix(m).requires_grad_(), {}


@case()
def in_place_on_a_copy(m):
    return lambda x: x.clone().mul_(x).add_(1), vector(m), {}


@case()
def softmax(m):
    return lambda x: x.softmax(0), vector(m), {}


@case()
def within_the_tolerance(m):
    return op(m, lambda x: x ** 3, lambda g, x: 3.0003 * g * x ** 2, lambda ts, x: 3.0003 * ts[0] * x ** 2), vector(m), {}


@case(only=FIRST)
def undefined_stays_undefined(m):
    def backward(g, x):
        return None if g is None else 2 * g
    return op(m, lambda x: 2 * x, backward, lambda ts, x: None if ts[0] is None else 2 * ts[0], materialize=False), vector(m), {}


@case()
def complex_square(m):
    return lambda z: z * z, m.tensor([1 + 2j, 0.5 - 1j], dtype=m.complex128).requires_grad_(), {}


@case(only=FIRST)
def complex_to_real(m):
    return lambda z: (z * z.conj()).real, m.tensor([1 + 2j, 0.5 - 1j], dtype=m.complex128).requires_grad_(), {}


@case()
def real_to_complex(m):
    return lambda x: x * (1 + 2j) * x, vector(m), {}


@case()
def complex_and_real(m):
    return lambda z, x: z * x, (m.tensor([1 + 2j, 0.5 - 1j], dtype=m.complex128).requires_grad_(), vector(m, 2.0, 3.0)), {}


@case()
def float32_with_a_large_step(m):
    return lambda x: x * 2, vector(m, dtype=m.float32), {"eps": 0.5, "atol": 1e-3}


# ---- wrong -----------------------------------------------------------------------------------------------


@case(wrong=FIRST)
def wrong_factor(m):
    return op(m, lambda x: x ** 3, lambda g, x: 2 * g * x ** 2, lambda ts, x: 2 * ts[0] * x ** 2), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def beyond_the_tolerance(m):
    return op(m, lambda x: x ** 3, lambda g, x: 3.01 * g * x ** 2, lambda ts, x: 3.01 * ts[0] * x ** 2), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def wrong_sign(m):
    return op(m, lambda x: x.exp(), lambda g, x: -g * x.exp(), lambda ts, x: -ts[0] * x.exp()), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def missing_term(m):
    return op(m, lambda x: x * x.exp(), lambda g, x: g * x.exp(), lambda ts, x: ts[0] * x.exp()), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def transposed(m):
    return op(m, lambda x: matrix(m) @ x, lambda g, x: matrix(m) @ g, lambda ts, x: matrix(m).T @ ts[0]), vector(m), {}


@case(wrong=BACKWARD | SECOND, only=ALL - {"forward over reverse"})
def backward_wrong_jvp_right(m):
    return op(m, lambda x: x * x, lambda g, x: g * x.detach(), lambda ts, x: 2 * ts[0] * x), vector(m), {}


@case(wrong=FORWARD, only=FIRST)
def jvp_wrong_backward_right(m):
    return op(m, lambda x: x * x, lambda g, x: 2 * g * x, lambda ts, x: ts[0] * x), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def swapped(m):
    return (op(m, lambda x, y: x * y, lambda g, x, y: (g * x, g * y), lambda ts, x, y: ts[0] * x + ts[1] * y),
            (vector(m), vector(m, 3.0, 4.0, 5.0)), {})


@case(wrong=BACKWARD, only=BACKWARD)
def nothing_for_one_input(m):
    return op(m, lambda x, y: x * y, lambda g, x, y: (g * y, None)), (vector(m), vector(m, 3.0, 4.0, 5.0)), {"check_forward_ad": False}


@case(wrong=FIRST, only=FIRST)
def second_output_wrong(m):
    return (op(m, lambda x: (x * 2, x * 3), lambda g, h, x: 2 * g + 2 * h, lambda ts, x: (ts[0] * 2, ts[0] * 2)), vector(m), {})


@case(wrong=FIRST, only=FIRST)
def global_randomness(m):
    return lambda x: x * m.rand(3, dtype=m.float64), vector(m), {}


@case(wrong=BACKWARD, only=BACKWARD)
def random_backward(m):
    return op(m, lambda x: x * 1, lambda g, x: g + 1e-7 * m.rand(3, dtype=m.float64), lambda ts, x: ts[0] * 1), vector(m), {}


@case(only=BACKWARD)
def random_backward_allowed(m):
    return (op(m, lambda x: x * 1, lambda g, x: g * (1 + 1e-7 * m.rand(3, dtype=m.float64)), lambda ts, x: ts[0] * 1), vector(m),
            {"nondet_tol": 1e-6})


@case(wrong=BACKWARD, only=BACKWARD)
def ignored_gradient(m):
    return op(m, lambda x: 2 * x, lambda g, x: m.full_like(g, 2.0), lambda ts, x: 2 * ts[0]), vector(m), {}


@case(wrong=BACKWARD, only=BACKWARD)
def ignored_gradient_of_one_number(m):
    """The Jacobian is right."""
    return op(m, lambda x: 2 * x, lambda g, x: m.full_like(g, 2.0), lambda ts, x: 2 * ts[0]), vector(m, 1.0), {}


@case(wrong=BACKWARD, only=BACKWARD)
def fails_for_undefined(m):
    def backward(g, x):
        if g is None:
            raise RuntimeError("no gradient")
        return 2 * g
    return op(m, lambda x: 2 * x, backward, lambda ts, x: 2 * ts[0], materialize=False), vector(m), {}


@case(only=BACKWARD)
def fails_for_undefined_unasked(m):
    return *fails_for_undefined(m)[:2], {"check_undefined_grad": False}


@case(wrong=BACKWARD, only=BACKWARD)
def makes_something_of_undefined(m):
    return (op(m, lambda x: 2 * x, lambda g, x: m.ones_like(x) if g is None else 2 * g, lambda ts, x: 2 * ts[0], materialize=False),
            vector(m), {})


@case(wrong=BACKWARD, only=BACKWARD)
def wrong_dtype(m):
    x = vector(m)
    x.grad_dtype = None
    return op(m, lambda x: 2 * x, lambda g, x: 2 * g.float(), lambda ts, x: 2 * ts[0]), x, {"check_grad_dtypes": True}


@case(wrong=BACKWARD, only=BACKWARD)
def wrong_dtype_of_a_gradient_of_zeros(m):
    """The check of zero gradients refuses it, even without the check of dtypes."""
    return *wrong_dtype(m)[:2], {}


@case(wrong=FIRST, only=FIRST)
def float32(m):
    return lambda x: x.exp(), vector(m, dtype=m.float32), {}


@case(wrong=FIRST, only=FIRST)
def kink(m):
    return lambda x: x.relu(), vector(m, 0.0, 1.0), {}


@case(wrong=FIRST, only=FIRST)
def not_finite(m):
    return lambda x: x.sqrt(), vector(m, 0.0, 1.0), {}


@case(wrong=FIRST, only=FIRST)
def half_detached(m):
    return lambda x: x * x.detach(), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def detached(m):
    return lambda x: x.detach() * 2, vector(m), {}


@case(wrong=FIRST, only=FIRST)
def one_output_wrong_beside_an_index(m):
    return lambda x: (m.arange(3), x * x.detach()), vector(m), {}


@case(wrong=FIRST, only=FIRST)
def not_conjugated(m):
    return (op(m, lambda z: z * z, lambda g, z: 2 * g * z, lambda ts, z: 2 * ts[0] * z.conj()),
            m.tensor([1 + 2j, 0.5 - 1j], dtype=m.complex128).requires_grad_(), {})


@case(wrong=SECOND, only=FIRST | SECOND - {"forward over reverse"})
def detached_second_derivative(m):
    return op(m, lambda x: x ** 3, lambda g, x: 3 * g * x.detach() ** 2, lambda ts, x: 3 * ts[0] * x ** 2), vector(m), {}


@case(wrong=SECOND, only=SECOND - {"forward over reverse"})
def second_derivative_of_a_wrong_function(m):
    """The backward of the backward has a wrong factor."""
    double = op(m, lambda g, x: 3 * g * x ** 2, lambda h, g, x: (3 * h * x ** 2, 2 * h * g * x))
    return op(m, lambda x: x ** 3, lambda g, x: double(g, x)), vector(m), {}
