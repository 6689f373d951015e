"""Functions for the tests of `Function`, made from plain functions for the library `m`."""


def function(m, forward, backward=None, name="Mine", base=None, **attributes):
    """A subclass of Function (or of `base`) with these methods; further callables are static methods too."""
    body = {"forward": staticmethod(forward)}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    body |= {key: staticmethod(value) if callable(value) else value for key, value in attributes.items()}
    base = base or m.autograd.Function
    return type(base)(name, (base,), body)


def scaled(m, factor=2.0, **attributes):
    """y = factor x, and saves x."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * factor
    return function(m, forward, lambda ctx, g: g * factor, **attributes)


def square(m, **attributes):
    """y = x², by a saved input: differentiable as often as one likes."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * g * x
    return function(m, forward, backward, **attributes)


def exponential(m, **attributes):
    """y = eˣ, by a saved output."""
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y
    return function(m, forward, backward, **attributes)
