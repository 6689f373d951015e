"""The tensors with hooks: a leaf, a view, the result of a write, an output of a Function, in a graph with another branch."""

from tests.parity.events.log import leaf


def double(m):
    """A Function of one output."""
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    return Double


def both_ways(m, materialize=True):
    """A Function of two inputs and two outputs."""
    class Both(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.set_materialize_grads(materialize)
            ctx.save_for_backward(x, w)
            return x * w, x + w

        @staticmethod
        def backward(ctx, g, h):
            x, w = ctx.saved_tensors
            if g is None or h is None:
                return None, None
            return g * w + h, g * x + h
    return Both


def a_leaf(m, x, w):
    return x


def a_nonleaf(m, x, w):
    return x * w


def a_view(m, x, w):
    return (x * w)[:2]


def a_result_of_a_write(m, x, w):
    y = x * w
    y.mul_(3)
    return y


def a_written_view(m, x, w):
    base = x * w
    view = base[:2]
    view.mul_(3)
    return view


def a_view_of_a_written_base(m, x, w):
    base = x * w
    view = base[:2]
    base.mul_(w)
    return view


def an_output_of_a_function(m, x, w):
    return double(m).apply(x)


def an_output_of_two(m, x, w):
    return both_ways(m).apply(x, w)[0]


def an_output_of_an_op(m, x, w):
    return (x * w).split(1)[1]


SUBJECTS = (a_leaf, a_nonleaf, a_view, a_result_of_a_write, a_written_view, a_view_of_a_written_base, an_output_of_a_function,
            an_output_of_two, an_output_of_an_op)


class Graph:
    """x and w, the subject t computed from them, and a root that depends on t and, by another branch, on x."""

    def __init__(self, m, subject):
        self.m = m
        self.x, self.w = leaf(m, 1., 2., 3.), leaf(m, 2., 0.5, 4.)
        self.t = subject(m, self.x, self.w)
        self.used = self.t * 3
        self.root = self.used.sum() + (self.x * self.x).sum()

    def grads(self):
        return self.x.grad, self.w.grad, self.t.grad if self.t.retains_grad or self.t.is_leaf else None
