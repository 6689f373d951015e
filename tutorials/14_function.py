# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Function, and the five ways it goes wrong
#
# **Time** 20 minutes, and as long again for the exercises. **Level** for implementers. **You need** [tutorial
# 1](01_derivative_to_graph.py), saved tensors ([tutorial 7](07_saved_tensors.py)) and version counters ([tutorial
# 9](09_version_counters.py)). **Afterwards** you can write an operation with its own derivative, name five mistakes that are easily
# made, and check your formulas.
#
# **The question.** We have an operation, and we know its derivative better than the chain rule does. How do we put it into the
# graph? And what does the engine believe without checking it?
#
# Our example is the *softplus*, which is close to 0 for negative $x$, close to $x$ for positive $x$, and smooth in between:
#
# $$ f(x) = \ln(1 + e^x), \quad f'(x) = \sigma(x), $$
#
# where $\sigma(x) = 1/(1 + e^{-x})$ is the *sigmoid*.
#
# The derivative is harmless: it is between 0 and 1. But look at the result of the plain formula:

# %%
import gc
import textwrap
import weakref

import minigrad as mg

x = mg.tensor([-2.0, 0.0, 100.0], requires_grad=True)
y = (1 + x.exp()).log()
y.sum().backward()
print("value:   ", [f"{v:.4f}" for v in y.tolist()])
print("gradient:", [f"{v:.4f}" for v in x.grad.tolist()])

# %% [markdown]
# $e^{100}$ is more than a float32 can hold. It becomes infinite, and the chain rule multiplies that infinity by the slope of the
# logarithm there, which is 0. Each step is right and the product is nan. The chain rule sees one step at a time. We see the whole.
#
# ## Two methods
#
# A `Function` is a class with two static methods. `forward` computes the result. `backward` gets the gradient of the result, and
# returns the gradient of the input. What `forward` stores on `ctx`, `backward` can read.

# %%
class Softplus(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) + (-x.abs()).exp().log1p()    # no large exponents

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * mg.sigmoid(x)


x.grad = None
y = Softplus.apply(x)
loss = y.sum()
loss.backward(retain_graph=True)
print("value:   ", [f"{v:.4f}" for v in y.tolist()])
print("gradient:", [f"{v:.4f}" for v in x.grad.tolist()])

# %% [markdown]
# We never call `forward` ourselves. `apply` calls it, and puts the result into the graph. Six operations ran inside, but the graph
# has one node for them, the box with the cut corners:

# %%
mg.viz.draw(loss)

# %% [markdown]
# ### ctx is the node
#
# The class `Softplus` has no instances. What `apply` makes is an instance of another class, made for it together with `Softplus`.
# It is the node, and it is what our methods get as `ctx`:

# %%
node = y.grad_fn
print("name: ", node.name())
print("class:", [cls.__name__ for cls in type(node).__mro__[:3]])
print("edges:", [following.name() for following, _ in node.next_functions])
print("saved:", node.saved_tensors[0] is x)

# %% [markdown]
# A `PyNode` is the kind of node that calls our methods. A saved input comes back as the same tensor that was passed. Remember this:
# it has its history.
#
# ### Deeper: forward is not recorded
#
# `forward` runs with gradients disabled. The graph has no trace of how it computes, so it may use NumPy, loops, or writes in place
# into its own tensors. That is the gain. It is also the price: only we know the derivative now.

# %%
class Spy(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        print("inside:  is recorded", mg.is_grad_enabled(),
              " y requires grad", y.requires_grad)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * 2


y = Spy.apply(x)
print("outside: is recorded", mg.is_grad_enabled(), "  y requires grad", y.requires_grad)

# %% [markdown]
# ## Arguments that are not tensors, and setup_context
#
# The general softplus has a number $\beta$ that says how sharp the bend is: $f(x) = \ln(1 + e^{\beta x})/\beta$, with $f'(x) =
# \sigma(\beta x)$. `forward` may have any arguments. An argument that is not a tensor can be stored on `ctx` directly.
#
# This time we split the work in three. If there is a `setup_context`, then `forward` gets no `ctx`, and is an ordinary function.
# `setup_context` is called after it, with all arguments and the result:

# %%
class Softplus(mg.autograd.Function):
    @staticmethod
    def forward(x, beta=1.0):
        return x.clamp(min=0) + (-(beta * x).abs()).exp().log1p() / beta

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.beta = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * mg.sigmoid(ctx.beta * x), None

    @staticmethod
    def jvp(ctx, t, _):
        (x,) = ctx.saved_tensors
        return t * mg.sigmoid(ctx.beta * x)


y = Softplus.apply(x, 2.0)
print("beta:", y.grad_fn.beta, "  needs a gradient:", y.grad_fn.needs_input_grad)

# %% [markdown]
# `backward` returns *one value per argument* of `forward`. For an argument that is not a tensor, it is None. `ctx.needs_input_grad`
# says which arguments need a gradient.
#
# ### Deeper: tensors in a list
#
# `apply` looks for tensors directly among its arguments, and nowhere else. Tensors in a list are constants to it. There is no
# error, and no graph:

# %%
class Total(mg.autograd.Function):
    @staticmethod
    def forward(ctx, tensors):
        return tensors[0] + tensors[1]


print(Total.apply([x, x]).requires_grad)

# %% [markdown]
# The solution is `forward(ctx, *tensors)`.
#
# ### Deeper: jvp, for forward mode
#
# The method `jvp` is for the other direction, forward mode ([tutorial 15](15_forward_mode.py)): it gets the tangents of the
# arguments, which say how fast each of them moves, and returns the tangent of the result. It reads what `save_for_forward` has
# saved. It runs during `apply`, so nothing is kept. Without it, forward mode through the Function is an error, and backward mode
# works all the same.

# %%
with mg.autograd.forward_ad.dual_level():
    dual = mg.autograd.forward_ad.make_dual(mg.tensor([0.0, 1.0]), mg.tensor([1.0, 10.0]))
    print(mg.autograd.forward_ad.unpack_dual(Softplus.apply(dual, 2.0)).tangent)

# %% [markdown]
# ## Deeper: several results
#
# If `forward` returns a tuple, then `backward` gets one gradient per entry. Some results have no derivative, such as the place of
# the largest element. Results of an integer dtype are taken to have none. Others are marked:

# %%
class Largest(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.place = int(x.argmax())
        ctx.shape = x.shape
        place = mg.tensor(float(ctx.place))
        ctx.mark_non_differentiable(place)
        return x[ctx.place].clone(), place

    @staticmethod
    def backward(ctx, g, of_place):
        print("backward gets", g, "and", of_place)
        out = mg.zeros(ctx.shape)
        out[ctx.place] = g
        return out


x = mg.tensor([3.0, 9.0, 4.0], requires_grad=True)
value, place = Largest.apply(x)
print(value.requires_grad, place.requires_grad)
value.backward()
x.grad

# %% [markdown]
# **Predict.** `Both` returns the sine and the cosine. The loss uses the sine alone. What does `backward` get as the second
# gradient?
#
# <details><summary>Answer</summary>
#
# Zeros. The gradient of the cosine is *undefined*, because nothing depends on the cosine. The node replaces it by zeros, so that
# the formula works unchanged. This is called *materializing*, and `ctx.set_materialize_grads(False)` switches it off. See way 5
# below.
#
# </details>

# %%
class Both(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s, c = x.sin(), x.cos()
        ctx.save_for_backward(s, c)
        return s, c

    @staticmethod
    def backward(ctx, of_s, of_c):
        print("backward gets", of_s, "and", of_c)
        s, c = ctx.saved_tensors
        return of_s * c - of_c * s


sine, cosine = Both.apply(mg.tensor(0.0, requires_grad=True))
sine.backward()

# %% [markdown]
# ## Step by step
#
# For the engine this is a node like any other. Look at its saved tensors, at the moment when they are read, and when they are freed:

# %%
x = mg.tensor(1.0, requires_grad=True)
with mg.debug.record() as r:
    y = Softplus.apply(x, 2.0)
    z = y * y
    z.backward()
mg.viz.step(r)

# %%
for event in r.events:
    if event.op == "SoftplusBackward":
        print(f"{event.step:3}  {event.kind:<8}  {event.what}")

# %% [markdown]
# ## Check it
#
# Nothing above compares `forward` with `backward`. The engine cannot: it runs what we wrote. `gradcheck` can. It nudges every
# input and compares. It needs float64, since a nudge in float32 is mostly rounding ([tutorial 15](15_forward_mode.py) measures it).
# `gradgradcheck` does the same for the second derivative.

# %%
t = mg.tensor([-1.0, 0.5, 2.0], dtype=mg.float64, requires_grad=True)
print(mg.autograd.gradcheck(lambda t: Softplus.apply(t, 2.0), t, check_forward_ad=True))
print(mg.autograd.gradgradcheck(lambda t: Softplus.apply(t, 2.0), t))

# %% [markdown]
# ## Way 1: a tensor kept on ctx as an attribute
#
# `ctx.y = y` is shorter than `save_for_backward`, and seems to do the same. For the exponential function the result is its own
# derivative:

# %%
class ExpWrong(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.y


class Exp(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


# %% [markdown]
# **It may be overwritten.** Suppose the program writes to the result after the call. The gradient should be $e^x$, that is 1 and
# 2.7183. With the attribute, the backward uses the overwritten numbers without an error. A *saved* tensor is checked: its version has
# changed.

# %%
x = mg.tensor([0.0, 1.0], requires_grad=True)
y = ExpWrong.apply(x)
y.mul_(0.5)
(y * 2).sum().backward()            # the 0.5 and the 2 cancel
print("wrong:", [f"{v:.4f}" for v in x.grad.tolist()])

y = Exp.apply(x)
y.mul_(0.5)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    (y * 2).sum().backward()

# %% [markdown]
# ### Deeper: a cycle, and memory that is not freed
#
# **It may keep itself alive.** The result refers to its node, which is `ctx`, which refers to the result. This is a reference cycle.
# Python frees an object without references immediately, but a cycle only when the garbage collector runs. With large tensors the
# memory may be full before. `save_for_backward` recognizes a result, and keeps it without its history:

# %%
def survives(function):
    """Whether a node outlives its result: until a garbage collection, and after it."""
    x = mg.tensor([0.0, 1.0], requires_grad=True)
    y = function.apply(x)
    node = weakref.ref(y.grad_fn)
    gc.collect()
    gc.disable()
    del y
    before = node() is not None
    gc.enable()
    gc.collect()
    return before, node() is not None


print("as an attribute:  ", survives(ExpWrong))
print("save_for_backward:", survives(Exp))

# %% [markdown]
# **It is not freed.** After a backward the engine frees saved tensors, but it does not know the attributes. Compare the two records:
# which steps are missing in one of them?

# %%
def recorded(function):
    class Same(function):       # both under one name: the records differ in what is done
        pass

    x.grad = None
    with mg.debug.record() as r:
        Same.apply(x).sum().backward()
    return r


saved, attribute = recorded(Exp), recorded(ExpWrong)
mg.viz.diff(saved, attribute, labels=("save_for_backward", "an attribute"))

# %%
for r in (saved, attribute):
    print([event.kind for event in r.events if event.op == "SameBackward"])

# %% [markdown]
# `unpack`, with the check of the version, and `release`. So: tensors that are inputs or results go through `save_for_backward`;
# numbers, shapes and flags may be attributes.
#
# ## Way 2: the wrong number of gradients, or the wrong shape
#
# `backward` returns one value per argument, and the shape of each is that of its argument. Both are checked when the backward runs, so
# you get an error. An exchange of two gradients of one shape is not noticed: only `gradcheck` finds it.
#
# ### Deeper: the number
#
# Here one value is missing:

# %%
class ScaleWrong(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor               # and for factor?


x = mg.tensor([1.0, 2.0], requires_grad=True)
with mg.testing.expect_error(RuntimeError, code="MG-E144"):
    ScaleWrong.apply(x, 3).sum().backward()

# %% [markdown]
# Corrected, with a None for the number:

# %%
class Scale(ScaleWrong):
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


Scale.apply(x, 3).sum().backward()
x.grad

# %% [markdown]
# ### Deeper: the shapes
#
# The shape is checked too. The gradient of a mean is the same number for all elements, but one number is not enough:

# %%
class MeanWrong(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx, g):
        return g / ctx.shape.numel()


class Mean(MeanWrong):
    @staticmethod
    def backward(ctx, g):
        return (g / ctx.shape.numel()).expand(ctx.shape)


with mg.testing.expect_error(RuntimeError, code="MG-E106"):
    MeanWrong.apply(x).backward()
x.grad = None
Mean.apply(x).backward()
x.grad

# %% [markdown]
# **Predict.** And if the gradient is too *large*? Here a bias of shape (2,) is added to each row of a (3, 2) matrix, and
# `backward` returns `g` for both.
#
# <details><summary>Answer</summary>
#
# It is right. The bias was used in three rows, so its gradient is the sum over the rows. The engine sees that (2,) broadcasts to
# (3, 2), and sums. (If you know the shapes, still write the sum yourself: it is one line, and makes the formula clear.)
#
# </details>

# %%
class AddBias(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, g):
        return g, g


bias = mg.zeros(2, requires_grad=True)
AddBias.apply(mg.ones(3, 2), bias).sum().backward()
bias.grad

# %% [markdown]
# ### Deeper: gradients that have been exchanged
#
# No check of count or shape can see that two gradients of one shape have been exchanged. `gradcheck` can, and guesses the cause:

# %%
class SubWrong(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x - y

    @staticmethod
    def backward(ctx, g):
        return -g, g


p = mg.tensor([1.0, 2.0], dtype=mg.float64, requires_grad=True)
q = mg.tensor([5.0, 7.0], dtype=mg.float64, requires_grad=True)
with mg.testing.expect_error(RuntimeError, code="MG-E260"):
    mg.autograd.gradcheck(SubWrong.apply, (p, q))

# %% [markdown]
# ## Way 3: an in-place write without mark_dirty
#
# `forward` may write to its input. But the input has its own history, and another node may have saved its old value. So you must
# report the write with `ctx.mark_dirty(x)`. If you do not, `x` keeps its old node. Then a gradient through `x` does not take the write
# into account, without an error.
#
# ### Deeper: with and without mark_dirty
#
# The first of these two Functions does not report its write:

# %%
class DoubleWrong(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Double(DoubleWrong):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)


for function in (DoubleWrong, Double):
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    h = w * 1
    y = function.apply(h)
    h.sum().backward()
    print(f"{function.__name__:<12} h {h.tolist()}  {h.grad_fn.name():<15} "
          f"w.grad {w.grad.tolist()}  y is h: {y is h}")

# %% [markdown]
# Both have doubled `h`. In the first case `h` still has the node from before, and a gradient that goes through `h` misses the
# factor 2. In the second `h` is the result.
#
# ### Deeper: the conditions of mark_dirty
#
# Marking has conditions, and they are checked. The input must be returned, and it must not be a leaf that requires a gradient:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
with mg.testing.expect_error(RuntimeError, code="MG-E121"):
    Double.apply(w)
print(w)

# %% [markdown]
# Look at the numbers. The check comes after `forward`, so the write has already happened.
#
# `mark_dirty` also increments the version. This matters if the write is not counted, as by `.data` or through NumPy. The square
# of `h` needs the old `h`, and after this write its gradient cannot be right:

# %%
class DoubleHidden(DoubleWrong):
    @staticmethod
    def forward(ctx, x):
        x.data.mul_(2)
        return x


class DoubleData(DoubleWrong):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.data.mul_(2)
        return x


def square_and(function):
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    h = w * 1
    square = h * h
    function.apply(h)
    square.sum().backward()
    return w.grad.tolist()


print("instead of [2.0, 4.0]:", square_and(DoubleHidden))
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    square_and(DoubleData)

# %% [markdown]
# ### Deeper: returning an input as it is
#
# An identity with another gradient is a popular Function. What comes out is not the input, but a
# view of it ([tutorial 10](10_views_in_place.py)): the input keeps its history, and the view has ours. Writing to this view is an error,
# since its new history would be unclear:

# %%
class Fivefold(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 5


h = w * 1
y = Fivefold.apply(h)
print("the same object:", y is h, "  a view:", y._is_view())
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    y.add_(1)

# %% [markdown]
# You can write to a separate tensor:

# %%
class FivefoldMended(Fivefold):
    @staticmethod
    def forward(ctx, x):
        return x.clone()


FivefoldMended.apply(h).add_(1)

# %% [markdown]
# ## Way 4: a backward that is wrong the second time
#
# A second derivative differentiates `backward` ([tutorial 5](05_double_backward.py)). That works if everything it computes with has a
# history: the gradients that it gets, and saved inputs and results. The slope of the softplus could as well be computed in
# `forward`, once. But there nothing is recorded:

# %%
class SoftplusOnce(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(mg.sigmoid(x))        # neither an input nor a result
        return x.clamp(min=0) + (-x.abs()).exp().log1p()

    @staticmethod
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return g * slope


def second(f):
    """The second derivative of the sum of f."""
    x = mg.tensor([0.5, 1.5], dtype=mg.float64, requires_grad=True)
    (first,) = mg.autograd.grad(f(x).sum(), x, create_graph=True)
    return [round(v, 4) for v in mg.autograd.grad(first.sum(), x)[0].tolist()]


# %% [markdown]
# The first derivative is right, and `gradcheck` passes. For the second there are two cases. If no value in `backward` has a history,
# you get an error:

# %%
print(mg.autograd.gradcheck(SoftplusOnce.apply, t))
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    second(SoftplusOnce.apply)

# %% [markdown]
# If only some values have a history, the result is silently wrong. For $f^2$ the first derivative is $2 f f'$, and the second is
# $2 f'^2 + 2 f f''$. The factor $2f$ has a history, but $f'$ has none. So the second term is missing:

# %%
print("an intermediate saved:", second(lambda x: SoftplusOnce.apply(x) ** 2))
print("the input saved:      ", second(lambda x: Softplus.apply(x) ** 2))
print("by the chain rule:    ", second(lambda x: (1 + x.exp()).log() ** 2))

# %% [markdown]
# `gradgradcheck` finds it:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E260", quiet=True) as caught:
    mg.autograd.gradgradcheck(SoftplusOnce.apply, t)
cause = next(line for line in str(caught.value).splitlines() if "cause:" in line)
print(textwrap.fill(cause.strip(), 84, subsequent_indent="          "))

# %% [markdown]
# ### Deeper: three ways to correct it
#
# There are three ways to correct it.
#
# * Save the input, and compute the slope in `backward`. That is `Softplus` above.
# * If the intermediate result is expensive, return it as a second result, and give it a derivative as well. A result has a history.
# * If you need no second derivative, use `once_differentiable`. Then a second derivative is an error, and not silently wrong. A
#   `backward` written in NumPy needs this. (More about this: {doc}`/errors/function-second-derivative`.)

# %%
class SoftplusHonest(SoftplusOnce):
    @staticmethod
    @mg.autograd.function.once_differentiable
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return mg.from_numpy(g.numpy() * slope.numpy())


with mg.testing.expect_error(RuntimeError, code="MG-E147"):
    second(lambda x: SoftplusHonest.apply(x) ** 2)

# %% [markdown]
# ## Way 5: wrong assumptions about the incoming gradients
#
# Other nodes compute the gradients that `backward` gets. Three assumptions about them are wrong: that there is always a gradient; that
# it belongs only to you, so that you may write to it; and that all gradients which you return are needed.
#
# ### Deeper: a gradient that is None
#
# **"There is always a gradient."** `Both`, from the part about several results, returns a sine and a cosine, and the loss uses only
# one of them. With `set_materialize_grads(False)` the undefined gradient of the other is None. This saves the zeros, and the products
# with them. But then the formula must test for None:

# %%
class BothWrong(Both):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return Both.forward(ctx, x)


class BothMended(BothWrong):
    @staticmethod
    def backward(ctx, of_s, of_c):
        s, c = ctx.saved_tensors
        found = None
        if of_s is not None:
            found = of_s * c
        if of_c is not None:
            found = -of_c * s if found is None else found - of_c * s
        return found


x = mg.tensor(0.0, requires_grad=True)
with mg.testing.expect_error(TypeError):
    BothWrong.apply(x)[0].backward()
BothMended.apply(x)[0].backward()
x.grad

# %% [markdown]
# ### Deeper: shared gradients, and gradients that are not needed
#
# **"It belongs only to me."** Other nodes may use the same tensor. The node of a sum sends one tensor to both operands. This
# `backward` doubles it in place, which also doubles the gradient of the other operand. The right result is $3 + 2 = 5$, but we get
# $3 \cdot 2 + 2$:

# %%
class TwiceWrong(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.mul_(2)


class Twice(TwiceWrong):
    @staticmethod
    def backward(ctx, g):
        return g * 2


for function in (TwiceWrong, Twice):
    x = mg.tensor(1.0, requires_grad=True)
    (x * 3 + function.apply(x)).backward()
    print(f"{function.__name__:<11}", x.grad.item())

# %% [markdown]
# It may also have another memory layout than the result. The gradient of a sum is *one* number, expanded to the shape (2, 3), with
# strides of 0. Code that reads the memory itself, in C or with `g.numpy()`, needs `g.contiguous()` first. And a write is an error
# here:

# %%
class Look(TwiceWrong):
    @staticmethod
    def backward(ctx, g):
        print("shape", tuple(g.shape), " strides", g.stride(),
              " contiguous", g.is_contiguous())
        return g.mul_(2)


with mg.testing.expect_error(RuntimeError, code="MG-E122"):
    Look.apply(mg.ones(2, 3, requires_grad=True)).sum().backward()

# %% [markdown]
# **"All gradients are needed."** A product of two matrices has two gradients, each another product. If one operand is data, its
# gradient is not used. There is no error, but it is slow. `ctx.needs_input_grad` says which gradients are needed:

# %%
class MatMul(mg.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        of_a = of_b = None
        if ctx.needs_input_grad[0]:
            of_a = g @ b.T
        if ctx.needs_input_grad[1]:
            of_b = a.T @ g
        print("computed:", [name for name, found in (("a", of_a), ("b", of_b))
                            if found is not None])
        return of_a, of_b


data, weight = mg.ones(4, 3), mg.ones(3, 2, requires_grad=True)
MatMul.apply(data, weight).sum().backward()

# %% [markdown]
# It says which inputs required a gradient in the forward. It does not know which gradients this particular backward needs:

# %%
data = mg.ones(4, 3, requires_grad=True)
gradient = mg.autograd.grad(MatMul.apply(data, weight).sum(), weight)

# %% [markdown]
# ## The source
#
# This is how the engine runs the node of a Function. `grads_in` makes zeros of what is undefined, and `grads_out` counts and
# checks:

# %%
mg.utils.source.source_of("_core/function/node.py", "PyNode.compute")

# %%
mg.utils.source.source_of("_core/function/node.py", "PyNode.grads_in")

# %% [markdown]
# And this function turns a tensor from `forward` into a result: `x` is result number `number`; `given_in` says whether it is one of
# the arguments, `modified` whether it was marked as dirty. The errors of way 3 are raised here.

# %%
mg.utils.source.source_of("_core/function/outputs.py", "attach_node")

# %% [markdown]
# ## The same in PyTorch
#
# A Function is written the same way there. All classes above run with `torch` for `mg`.
#
# ```python
# >>> import torch
# >>> class Exp(torch.autograd.Function):
# ...     @staticmethod
# ...     def forward(ctx, x):
# ...         y = x.exp()
# ...         ctx.save_for_backward(y)
# ...         return y
# ...     @staticmethod
# ...     def backward(ctx, g):
# ...         (y,) = ctx.saved_tensors
# ...         return g * y
# >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
# >>> y = Exp.apply(x)
# >>> y.grad_fn.name(), y.grad_fn.needs_input_grad
# ('ExpBackward', (True,))
# >>> [cls.__name__ for cls in type(y.grad_fn).__mro__[:2]]
# ['ExpBackward', 'BackwardCFunction']
# >>> _ = y.mul_(0.5)
# >>> (y * 2).sum().backward()
# Traceback (most recent call last):
# RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: ...
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | in `minigrad` | PyTorch (`.cpp`: in `torch/csrc/autograd`) |
# |---|---|---|
# | the class, and its metaclass | `autograd/function.py` | [`torch/autograd/function.py`][function.py] |
# | `apply` | `_core/function/apply.py` | [`python_function.cpp`][python_function.cpp], `THPFunction_apply` |
# | the node | `_core/function/node.py`, `PyNode` | the same file, `PyNode::apply` |
# | results, views, `mark_dirty` | `_core/function/outputs.py` | [`custom_function.cpp`][custom_function.cpp], `_wrap_outputs` |
#
# [function.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/function.py
# [python_function.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/python_function.cpp
# [custom_function.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/custom_function.cpp
#
# One thing differs. What `once_differentiable` returns has no path to the inputs there: `backward` raises the error that we saw,
# while `grad` says that the input was not used. (And `gradcheck` names no cause there.)
#
# ## What goes wrong
#
# The five ways, at a glance:
#
# | way | what you see |
# |---|---|
# | 1. a tensor kept on ctx as an attribute | no check of its version, and memory that is not freed |
# | 2. the wrong number of gradients, or the wrong shape | an error of the engine; nothing, if two gradients of one shape are exchanged |
# | 3. an in-place write without mark_dirty | a write that the graph does not know |
# | 4. a backward that is wrong the second time | a second derivative without some of its terms |
# | 5. wrong assumptions about the incoming gradients | None where a tensor was expected; strides of 0; work that is not needed |
#
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. The length of a vector.** Write `Hypot`, with $r = \sqrt{x^2 + y^2}$ for two tensors. The derivatives are $x/r$ and $y/r$.
# Save the tensors that make the second derivative right, and do not compute the root twice.

# %%
class Hypot(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        raise NotImplementedError      # your code goes here

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError      # and here


# %%
@mg.testing.exercise(1)
def check_hypot(cls):
    x = mg.tensor([3.0, 5.0], dtype=mg.float64, requires_grad=True)
    y = mg.tensor([4.0, 12.0], dtype=mg.float64, requires_grad=True)
    r = cls.apply(x, y)
    assert r.tolist() == [5.0, 13.0], f"the lengths of (3, 4) and (5, 12): {r.tolist()}"
    assert mg.autograd.gradcheck(cls.apply, (x, y))
    assert mg.autograd.gradgradcheck(cls.apply, (x, y))
    saved = [id(tensor) for tensor in r.grad_fn.saved_tensors]
    assert id(x) in saved and id(y) in saved, "x and y are not saved"
    assert len(saved) == 3, "r is not saved, so the root is taken twice"
    node = weakref.ref(r.grad_fn)
    gc.collect()
    gc.disable()
    del r
    gone = node() is None
    gc.enable()
    assert gone, "the result keeps itself alive"
    print("right")


# %% tags=["help"]
check_hypot.hints = [
    "Which three tensors do the formulas `x / r` and `y / r` need? Each can be saved.",
    "`ctx.save_for_backward(x, y, r)` saves inputs and results, so that the second derivative "
    "is right, and no tensor keeps itself alive.",
    "`forward` computes `r`, saves all three, and returns `r`. `backward` unpacks "
    "`ctx.saved_tensors`, and returns one gradient for `x` and one for `y`, each times `g`."]
check_hypot.wrong = {
    "r is not saved, so the root is taken twice":
        "Save `r` with `x` and `y`. As an attribute of `ctx` it would keep its own node alive.",
    "no gradient arrives at the input at all":
        "The slopes were computed in `forward`, which is not recorded. Save `x`, `y` and `r`, "
        "and compute the slopes in `backward`.",
    "backward returns the same result for every grad_output":
        "You returned the slopes alone. Multiply them by `g`.",
    "expected 2, got 1": "`forward` has two arguments, so `backward` returns two gradients."}


# %% tags=["hide-cell", "solution"]
class HypotSolution(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        r = (x * x + y * y).sqrt()
        ctx.save_for_backward(x, y, r)
        return r

    @staticmethod
    def backward(ctx, g):
        x, y, r = ctx.saved_tensors
        return g * x / r, g * y / r


check_hypot(HypotSolution)

# %% [markdown]
# **2. Four faults.** This Function should compute $x \cdot f$ with a number $f$, clamped to at most `limit`. Where the result is
# clamped, the derivative is 0. Find all four faults, and write `Mended`.

# %%
class Broken(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, limit):
        x.mul_(factor)
        ctx.x, ctx.factor, ctx.limit = x, factor, limit
        return x.clamp(max=limit)

    @staticmethod
    def backward(ctx, g):
        g[ctx.x > ctx.limit] = 0
        return g * ctx.factor


class Mended(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, limit):
        raise NotImplementedError      # your code goes here

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError      # and here


# %%
@mg.testing.exercise(2)
def check_mended(cls):
    x = mg.tensor([1.0, 2.0, 5.0], dtype=mg.float64, requires_grad=True)
    found = cls.apply(x, 3.0, 10.0).tolist()
    assert found == [3.0, 6.0, 10.0], f"the result is {found}"
    assert x.tolist() == [1.0, 2.0, 5.0], "x was written to"
    assert mg.autograd.gradcheck(lambda x: cls.apply(x, 3.0, 10.0), x)
    cls.apply(x, 3.0, 10.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0], f"the gradient is {x.grad.tolist()}"
    h = x * 1
    y = cls.apply(h, 3.0, 10.0)
    h.zero_()
    with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
        y.sum().backward()          # a stale h must be noticed
    print("right")


# %% tags=["help"]
check_mended.hints = [
    "Two faults are in `forward`, and two in `backward`. What does each line write to, save, "
    "or return?",
    "`x` belongs to the caller, and `g` to the engine: do not write to them. A tensor in an "
    "attribute of `ctx` is not checked. `forward` has three arguments.",
    "Save `x` with `save_for_backward`, and the two numbers as attributes. In `backward`, "
    "multiply `g` by a mask and by the factor. Return a gradient for `x`, and None for each "
    "number."]
check_mended.wrong = {
    "x was written to": "`mul_` writes into the tensor of the caller. Use `x * factor`.",
    "expected 3, got 1":
        "`backward` returns a value for each argument of `forward`: None for a number.",
    "MG-E122": "`g` is not yours to write to. Compute a new tensor, with a mask as a factor.",
    "nothing was raised":
        "Nothing checks whether a tensor in an attribute has changed. Use `save_for_backward`.",
    "Jacobian mismatch":
        "Look at the mask: the result is clamped where `x * factor` is above the limit."}


# %% tags=["hide-cell", "solution"]
class MendedSolution(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, limit):
        ctx.save_for_backward(x)                        # was: an attribute
        ctx.factor, ctx.limit = factor, limit
        return (x * factor).clamp(max=limit)            # was: written to in place

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        inside = (x * ctx.factor <= ctx.limit).to(g.dtype)
        # was: g written to; one gradient for three arguments
        return g * inside * ctx.factor, None, None


check_mended(MendedSolution)

# %% [markdown]
# **3. A relu in place.** Write `Relu_`: it sets the negative elements of its input to 0 *in place*, and returns it. It saves one
# tensor. Which tensor can it save, when the input is overwritten?

# %%
class Relu_(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise NotImplementedError      # your code goes here

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError      # and here


# %%
@mg.testing.exercise(3)
def check_relu(cls):
    w = mg.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    h = w * 2
    y = cls.apply(h)
    assert y is h, "the result should be the input itself"
    assert h.tolist() == [0.0, 4.0, 6.0], f"the result is {h.tolist()}"
    name = h.grad_fn.name()
    assert name == cls.__name__ + "Backward", f"{name}: the write was not announced"
    (h * mg.tensor([5.0, -4.0, 6.0])).sum().backward()
    assert w.grad.tolist() == [0.0, -8.0, 12.0], f"the gradient is {w.grad.tolist()}"
    with mg.testing.expect_error(RuntimeError, code="MG-E121", quiet=True):
        cls.apply(w)
    print("right")


# %% tags=["help"]
check_relu.hints = [
    "After `forward`, the input is gone. Can you tell from the result where the input was "
    "positive?",
    "`ctx.mark_dirty(x)` announces the write. `clamp_(min=0)` writes. The result may be saved, "
    "because nothing writes to it afterwards.",
    "In `forward`, announce the write, write, save `x`, and return `x`. In `backward`, "
    "multiply `g` by a mask: 1 where the saved tensor is above 0, and 0 elsewhere."]
check_relu.wrong = {
    "the result should be the input itself":
        "Write into `x`, announce it with `ctx.mark_dirty(x)`, and return `x`.",
    "the gradient is [10.0, 0.0, 12.0]":
        "You clamped the gradient. The slope depends on the input, and not on the sign of `g`.",
    "the gradient is [0.0, -32.0, 72.0]": "You multiplied by the result. The slope is 1 or 0.",
    "the gradient is [10.0, -8.0, 12.0]":
        "Where the input was negative, the result is 0. So there the mask must be 0: use `>`."}


# %% tags=["hide-cell", "solution"]
class ReluSolution(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.clamp_(min=0)
        ctx.save_for_backward(x)        # the result: where it is positive, the input was
        return x

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y > 0).to(g.dtype)


check_relu(ReluSolution)

# %% [markdown]
# ## What to remember
#
# * A `Function` is one node. `forward` is not recorded; `backward` is the only thing that is known about its derivative. `ctx` is
#   the node.
# * Inputs and results go through `save_for_backward`. It checks versions, creates no cycles, and frees the tensors in time.
# * `backward` returns one value per argument, and None for an argument that is not a tensor. The engine checks only the count and the
#   shape.
# * If `forward` writes to an input, it must call `mark_dirty`, and return the input.
# * For a second derivative everything in `backward` needs a history. Otherwise mark it `once_differentiable`.
# * The incoming gradient may be missing, shared, or have strides of 0. `needs_input_grad` says which gradients are needed.
# * Run `gradcheck` and `gradgradcheck`, in float64, before you trust your formulas.
#
# **Next:** [tutorial 15](15_forward_mode.py), the other direction, and how the checkers work.
