"""Random small programs of views, writes in place and changes of mode, run on PyTorch and on minigrad, line by line.

After each line the two must agree on every tensor: its numbers, gradient, version and flags, or the class of the error
that the line, or looking at the tensor, raises. A failure prints the shortest program that shows it.
MINIGRAD_PROGRAMS says how many programs are tried; MINIGRAD_FIRST_PROGRAM is the seed of the first.
"""

import os
import random
import warnings

import pytest

import minigrad

torch = pytest.importorskip("torch")

PROGRAMS = int(os.environ.get("MINIGRAD_PROGRAMS", "300"))
FIRST = int(os.environ.get("MINIGRAD_FIRST_PROGRAM", "0"))
CHUNKS = 20
LINES = 14

# A hook on a view that was made under no_grad kills PyTorch.
HOOK = "None if {x}._is_view() and {x}.is_leaf else {x}.register_hook"
# What a line may be. {x} and {y} are tensors, {i} a small number, {new} the name of the result.
# {g} that of a gradient.
# Shapes that do not fit are wanted: then it is the errors that must agree.
MAKE = ["{new} = m.tensor([[1., -2., 3.], [4., 5., -6.]], dtype=m.float64, requires_grad={flag})",
        "{new} = m.tensor([1., -2., 3.], dtype=m.float64, requires_grad={flag})",
        "{new} = m.tensor(2., dtype=m.float64, requires_grad={flag})"]
COMPUTE = ["{new} = {x} * {y}", "{new} = {x} + {y}", "{new} = {x} - 2", "{new} = {x} * 2", "{new} = {x}.sin()", "{new} = {x}.exp()",
           "{new} = {x}.clone()", "{new} = {x}.sum()", "{new} = m.cat([{x}, {y}])", "{new} = {x} / 4", "{new} = {x}.tanh()",
           "{new} = m.where({y} > 0, {x}, {y})"]
LOOK = ["{new} = {x}[{i}]", "{new} = {x}[..., {i}:]", "{new} = {x}.t()", "{new} = {x}.view(-1)", "{new} = {x}.reshape(-1)",
        "{new} = {x}.unsqueeze(0)", "{new} = {x}.squeeze(0)", "{new} = {x}.expand(2, 3)", "{new} = {x}.view_as({x})",
        "{new} = {x}.narrow(0, {i}, 1)", "{new}, {new}b = {x}.chunk(2)", "{new} = {x}.unbind()[0]",
        "{new} = {x}.transpose(0, 1)", "{new} = {x}.detach()", "{new} = {x}.data", "{new} = {x}.flatten()", "{new} = {x}[()]"]
WRITE = ["{x}.mul_({y})", "{x}.add_({y})", "{x}.mul_(2)", "{x}.sin_()", "{x}.zero_()", "{x}.copy_({y})", "{x}[{i}] = {y}",
         "{x}[...] = 3.", "{x}[{i}:] = {y}", "{x}.fill_(2.)", "{x} += {y}", "{x}.neg_()", "{x}.tanh_()", "{x}.sub_({y})", "{x}.div_(4)"]
OTHER = ["{x}.detach_()", "{x}.requires_grad_({flag})", "{x}.retain_grad()", "{x}.grad = None", "{x}.requires_grad = False",
         "{hook}(lambda g: g * 2)", "{hook}(kept.append)", "{x}.grad_fn", "{x}.grad = {y}",
         "kept[-1].mul_(3)", "{x}.grad.mul_(2)", "{x}.data = {x}.data * 2"]
RUN = ["{x}.sum().backward(retain_graph={flag})", "{x}.backward()", "{x}.backward({x}.detach().clone())", "{g}, = m.autograd.grad({x}.sum(), {y})",
       "({x} * {y}).sum().backward()", "{g}, = m.autograd.grad(({x} * {x}).sum(), {y}, create_graph=True)"]
KINDS = [MAKE, COMPUTE, LOOK, WRITE, OTHER, RUN]
WEIGHTS = [1, 5, 7, 7, 2, 3]
MODES = ["", "", "", "", "", "", "with m.no_grad(): ", "with m.no_grad(): ", "with m.enable_grad(): "]

# Where only one of the two raises, and we like ours better; such a program ends there.
BETTER = ["more than one element of the written-to",        # PyTorch: fill_() and zero_() may write to an expanded tensor
          "refer to a single memory location",              # PyTorch: some operands that overlap the target without harm may not
          "RuntimeError: a leaf Variable that requires",    # PyTorch: a stale view is a leaf until somebody reads its grad_fn,
          "created in no_grad mode and its base"]           # and so retain_grad() does nothing to it


class Program:
    """One run of the lines of a program on the library `m`."""

    def __init__(self, m):
        self.names = {"m": m, "kept": []}
        self.error = ""

    def step(self, line):
        """The class of the error that `line` raises, None if it raises none."""
        try:
            exec(line, self.names)
        except Exception as error:
            self.error = f"{family(error)}: {error}"
            return family(error)

    def tensors(self):
        """Those that the user can see, by name."""
        found = {name: x for name, x in self.names.items() if hasattr(x, "requires_grad")}
        return found | {f"kept[{i}]": x for i, x in enumerate(self.names["kept"])}

    def seen(self):
        """All there is to see of each."""
        return {name: {what: attempt(look, x) for what, look in VISIBLE.items()} for name, x in self.tensors().items()}


def family(error):
    """The builtin class of an error; minigrad's own are subclasses of those.

    Where a stale view is also given a wrong dimension, either may be noticed first.
    """
    name = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return "RuntimeError" if name == "IndexError" else name


def strides(x):
    """Those that matter: numpy and torch differ where the size is 1."""
    return [stride for stride, size in zip(x.stride(), x.shape) if size > 1 and x.numel()]


def numbers(x):
    return None if x is None else [list(x.shape), [float(f"{v:.9g}") + 0 for v in x.detach().reshape(-1).tolist()]]


def attempt(look, x):
    try:
        return look(x)
    except Exception as error:
        return family(error)


VISIBLE = {
    "numbers": numbers, "stride": strides, "version": lambda x: x._version, "view": lambda x: x._is_view(),
    "base": lambda x: numbers(x._base), "requires_grad": lambda x: x.requires_grad, "is_leaf": lambda x: x.is_leaf,
    "node": lambda x: x.grad_fn is not None and x.grad_fn.name().split("::")[-1].rstrip("01").replace("ReshapeAlias", "View"), "grad": lambda x: x.grad is not None and numbers(x.grad),
    "output_nr": lambda x: x.output_nr, "retains": lambda x: x.retains_grad,
}
INTERNAL = {"version", "view", "base", "stride", "node"}      # of a gradient: how a formula happened to make it


def made(seed):
    """A random program. What has been made so far it learns from running on PyTorch."""
    dice = random.Random(seed)
    program = Program(torch)
    lines = []
    for k in range(LINES):
        names = [name for name in program.tensors() if "[" not in name]
        lately = names[-4:] + names
        kind = MAKE if k < 2 else dice.choices(KINDS, WEIGHTS)[0]
        # no view of a gradient: its version counts from where a formula happened to leave it
        x = dice.choice([name for name in lately if kind is not LOOK or name[0] == "t"] or "-")
        line = dice.choice(kind).format(new=f"t{k}", g=f"g{k}", x=x, y=dice.choice(lately or "-"), i=dice.randint(0, 1),
                                        flag=dice.random() < 0.7, hook=HOOK.format(x=x))
        line = ("" if kind is MAKE else dice.choice(MODES)) + line
        program.step(line)
        lines.append((line, dice.random() < 0.5))
    return lines


def difference(lines):
    """Where the two part, in words; None if they never do."""
    theirs, ours = Program(torch), Program(minigrad)
    for k, (line, look) in enumerate(lines):
        expected, found = theirs.step(line), ours.step(line)
        if expected != found and any(key in (theirs if found is None else ours).error for key in BETTER):
            return None
        if expected != found:
            return f"raises {found}, torch: {expected}", k
        if look or k == len(lines) - 1:
            expected, found = theirs.seen(), ours.seen()
            for name in expected:
                for what in VISIBLE:
                    if expected[name][what] != found[name][what] and not (name[0] in "gk" and what in INTERNAL):
                        return f"{name}: {what} is {found[name][what]}, torch: {expected[name][what]}", k
    return None


def shortest(lines):
    """`lines` less all that the difference does not need."""
    lines = lines[:difference(lines)[1] + 1]
    k = len(lines) - 1
    while k >= 0:
        fewer = lines[:k] + lines[k + 1:]
        if difference(fewer) is not None:
            lines = fewer
        k -= 1
    return lines


def report(seed, lines):
    lines = shortest(lines)
    return "\n".join([f"program {seed}:", *[line + ("      # and look" if look else "") for line, look in lines],
                      difference(lines)[0]])


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs(chunk):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(FIRST + chunk, FIRST + PROGRAMS, CHUNKS):
            lines = made(seed)
            if difference(lines) is not None:
                pytest.fail(report(seed, lines), pytrace=False)
