"""Running a program on PyTorch and on minigrad, line by line, and saying where the two part.

    difference(lines)     after each line: the class of the error, the log of the hooks, all that can be seen of each tensor
    shortest(lines)       the same difference in as few lines as possible

What can be seen is of two kinds. Looking at some of it changes nothing (`QUIET`), and that is compared after every line.
The rest (`WAKING`) has the grad_fn of a stale view made anew, so it is compared only where the program says so.
"""

import math

import torch

import minigrad

# Where only one of the two raises, or in other words, and we like ours better. A program that gets there ends there.
BETTER = {
    "more than one element of the written-to": "PyTorch: fill_() and zero_() may write to an expanded tensor",
    "refer to a single memory location": "PyTorch: some operands that overlap the target without harm may not",
    "RuntimeError: a leaf Variable that requires": "PyTorch: a stale view is a leaf until somebody reads its grad_fn,",
    "created in no_grad mode and its base": "and so retain_grad() does nothing to it",
    "only supported on matrices": "PyTorch: mT of a number is deprecated, and the number",
}
# A line with two faults, of which we notice another first: PyTorch's key, ours.
FIRST = {"*": ["MG-E2", "MG-E3"],           # wrong shapes, dtypes and indices
         "implicitly created only for scalar": ["MG-E110", "MG-E120"]}     # the view under no_grad of a leaf, of many numbers
# Words of PyTorch's messages that must be in ours (the keys of the specification).
KEYS = [
    "modified by an inplace operation", "through the graph a second time", "detached in-place", "a view of a leaf Variable",
    "is being used in an in-place operation", "refers to a single memory location", "Can't detach views", "is being modified inplace",
    "its base or another view of its base has been modified inplace", "returns multiple views", "both inside the no_grad block",
    "does not have a grad_fn", "implicitly created only for scalar", "appears to not have been used in the graph",
    "can't retain_grad on Tensor", "does not require grad", "Mismatch in shape", "must be floating point or complex",
    "moved into the graph interior", "only be called on leaf", "can't replace a None gradient", "has changed the size",
    "implicitly created only for real scalar", "Only Tensors of floating point",
]


class Program:
    """One run of the lines of a program on the library `m`."""

    def __init__(self, m):
        self.m = m
        self.error = ""
        self.log = []
        self.names = {"m": m, "kept": [], **{f.__name__: f for f in (self.note, self.arrived, self.before, self.after, self.several,
                                                                      self.packed, self.packed_in_silence)}}

    def step(self, line):
        """The class of the error that `line` raises, None if it raises none."""
        try:
            exec(compiled(line), self.names)
        except Exception as error:
            self.error = f"{family(error)}: {error}"
            return family(error)

    def close(self):
        self.m.set_grad_enabled(True)
        self.names.clear()

    def tensors(self):
        """Those that the user can see, by name."""
        found = {}
        for name, x in self.names.items():
            if hasattr(x, "requires_grad") and name[0] in "tg":
                found[name] = x
            elif type(x) is list:
                found |= {f"{name}[{i}]": y for i, y in enumerate(x) if y is not None}
        return found

    # ---- what a line may call: hooks, which write down what they are given

    def note(self, name, factor=None):
        """A hook on a tensor, which multiplies its gradient by `factor`."""
        def hook(grad):
            self.log.append((name, numbers(grad)))
            return None if factor is None or grad is None else grad * factor
        return hook

    def arrived(self, name, forget=False):
        """A hook after a gradient was accumulated."""
        def hook(leaf):
            self.log.append((name, numbers(leaf), numbers(leaf.grad)))
            if forget:
                leaf.grad = None
        return hook

    def before(self, name, factor=None):
        """A hook before a node runs."""
        def hook(grads):
            self.log.append((name, [numbers(g) for g in grads]))
            return None if factor is None else tuple(None if g is None else g * factor for g in grads)
        return hook

    def after(self, name, factor=None):
        """A hook after a node has run."""
        def hook(inputs, outputs):
            self.log.append((name, [numbers(g) for g in inputs], [numbers(g) for g in outputs]))
            return None if factor is None else tuple(None if g is None else g * factor for g in inputs)
        return hook

    def several(self, name):
        """A hook for the gradients of several tensors."""
        def hook(grads):
            self.log.append((name, [numbers(g) for g in grads]))
        return hook

    def packed(self, copy):
        """A block in which what is saved goes through hooks. Which of two tensors an op saves first does not matter.

        Indices and conditions are not written down: they are no saved tensors of ours.
        """
        def pack(x):
            self.pass_by("pack", x)
            return x.detach().clone() if copy else x.detach()

        def unpack(x):
            self.pass_by("unpack", x)
            return x
        return self.m.autograd.graph.saved_tensors_hooks(pack, unpack)

    def packed_in_silence(self, copy):
        """The same, of which nothing is written down."""
        return self.m.autograd.graph.saved_tensors_hooks(lambda x: x.detach().clone() if copy else x.detach(), lambda x: x)

    def pass_by(self, name, x):
        if x.is_floating_point() or x.is_complex():
            if self.log and self.log[-1][0] == name:
                self.log[-1] = (name, sorted([*self.log[-1][1], numbers(x)], key=str))
            else:
                self.log.append((name, [numbers(x)]))


_compiled = {}


def compiled(line):
    if line not in _compiled:
        _compiled[line] = compile(line, "program", "exec")
    return _compiled[line]


def family(error):
    """The builtin class of an error; minigrad's own are subclasses of those.

    Where a stale view is also given a wrong dimension, either may be noticed first. PyTorch's NotImplementedError, a
    RuntimeError, says that an op has no kernel for a dtype, such as < for complex numbers; we have nothing to implement.
    """
    name = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return "RuntimeError" if name in ("IndexError", "NotImplementedError") else name


# ---- what can be seen ------------------------------------------------------------------------------------------


def numbers(x):
    """Dtype, shape and elements."""
    return None if x is None else (str(x.dtype).split(".")[-1], list(x.shape), x.tolist())


def strides(x):
    """Those that matter: numpy and torch differ where the size is 1."""
    return [stride for stride, size in zip(x.stride(), x.shape) if size > 1] if x.numel() else []


def history(x):
    """The name of the node, and of those that it leads to, and of those that these lead to."""
    return x.grad_fn and graph(x.grad_fn, 2)


def graph(node, depth):
    if node is None:
        return None
    name, edges = node.name().split("::")[-1].replace("ReshapeAlias", "View"), node.next_functions
    if name == "SelectBackward0" and edges[0][0] is not None and edges[0][0].name() == "ViewAsRealBackward0":
        name = "RealBackward0"
    if depth == 0:
        return name
    # PyTorch expands a value that is assigned, we let the copy do it; its x.real is part of a view as real numbers.
    copies = name in ("CopyBackwards", "CopySlices", "IndexPutBackward0")
    expanding = ("ExpandBackward0", "ViewBackward0", "ReshapeAliasBackward0") if copies else ()
    edges = [passed(n, j, expanding if i else ()) for i, (n, j) in enumerate(edges)]
    return [name, [(graph(n, depth - 1), i) for n, i in edges]]


def passed(node, i, names):
    """An edge, less the nodes of these names on its way."""
    while node is not None and node.name() in ("ViewAsRealBackward0", *names):
        (node, i), = node.next_functions
    return node, i


QUIET = {
    "numbers": numbers, "stride": strides, "version": lambda x: x._version, "view": lambda x: x._is_view(),
    "requires_grad": lambda x: x.requires_grad, "output_nr": lambda x: x.output_nr, "retains": lambda x: x.retains_grad,
}
WAKING = {"is_leaf": lambda x: x.is_leaf, "history": history, "grad": lambda x: numbers(x.grad), "output_nr now": lambda x: x.output_nr}
INTERNAL = {"version", "view", "base", "stride", "history", "same"}      # of a gradient: how a formula happened to make it


def attempt(look, x):
    try:
        return look(x)
    except Exception as error:
        return family(error)


def seen(program, waking):
    """All there is to see of each tensor."""
    tensors = program.tensors()
    first = {}
    for name, x in tensors.items():
        first.setdefault(id(x), name)
    looks = QUIET | WAKING if waking else QUIET
    found = {}
    for name, x in tensors.items():
        found[name] = {what: attempt(look, x) for what, look in looks.items()}
        base = x._base
        found[name]["base"] = base is not None and (first.get(id(base)), numbers(base))
        found[name]["same"] = first[id(x)]
    return found


def largest(program):
    """The largest number in a program, inf for one that is none."""
    def of(x):
        if isinstance(x, (list, tuple)):
            return max(map(of, x), default=0)
        return 0 if x is None or isinstance(x, (str, bool)) else abs(x) if math.isfinite(abs(x)) else math.inf
    found = 0
    for x in program.tensors().values():
        found = max(found, of(x.tolist()), of(attempt(lambda x: x.grad.tolist(), x)))
    return max(found, of(program.log))


def equal(a, b, loose=False):
    """Whether two things seen are the same, but for the last digits of numbers."""
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        loose = loose or "float32" in a
        return len(a) == len(b) and all(equal(x, y, loose) for x, y in zip(a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        return a == b or abs(a - b) <= (1e-2 if loose else 1e-6) * max(1, abs(a)) or (a != a and b != b)
    return a == b and type(a) is type(b)


# ---- comparing -------------------------------------------------------------------------------------------------


def difference(lines):
    """Where the two part: in words, and the number of the line; None if they never do."""
    theirs, ours = Program(torch), Program(minigrad)
    try:
        for k, (line, look) in enumerate(lines):
            found = compare_line(theirs, ours, line, look or k == len(lines) - 1)
            if found is not None:
                return (found, k) if found else None
    finally:
        theirs.close()
        ours.close()
    return None


def compare_line(theirs, ours, line, look):
    """What differs after `line`; None if nothing does, "" if it is one of `BETTER` or the line makes no sense."""
    expected, found = theirs.step(line), ours.step(line)
    if expected == "NameError":
        return ""
    if expected != found:
        if any(key in (theirs if found is None else ours).error for key in BETTER):
            return ""
        return f"raises {ours.error if found else None}, torch: {theirs.error if expected else None}"
    if expected:
        missing = [key for key in KEYS if key in theirs.error and key not in ours.error]
        if missing and not any(key in ours.error for key in FIRST.get(missing[0], FIRST["*"])):
            return f"raises {ours.error}, torch: {theirs.error}"
    if not equal(theirs.log, ours.log):
        return f"hooks were given {ours.log}, torch: {theirs.log}"
    theirs.log.clear()
    ours.log.clear()
    expected, found = seen(theirs, look), seen(ours, look)
    if list(expected) != list(found):
        return f"tensors {list(found)}, torch: {list(expected)}"
    for name in expected:
        for what in expected[name]:
            if name[0] in "gk" and what in INTERNAL:
                continue
            if not equal(expected[name][what], found[name][what]):
                return f"{name}: {what} is {found[name][what]}, torch: {expected[name][what]}"
    return None


def shortest(lines):
    """`lines` less all that the difference does not need."""
    size = None
    while size != measure(lines):
        size = measure(lines)
        lines = lines[:difference(lines)[1] + 1]
        for k in range(len(lines) - 1, -1, -1):
            line, look = lines[k]
            bare = line.split(": ", 1)[1] if line.startswith("with ") else line
            for instead in ([], [(bare, False)], [(line, False)], [(bare, look)]):
                fewer = lines[:k] + instead + lines[k + 1:]
                if measure(fewer) < measure(lines) and difference(fewer) is not None:
                    lines = fewer
                    break
    return lines


def measure(lines):
    return len(lines), sum(look for _, look in lines), sum(len(line) for line, _ in lines)


def report(seed, lines):
    lines = shortest(lines)
    return "\n".join([f"program {seed}:", *[line + ("      # and look" if look else "") for line, look in lines],
                      difference(lines)[0]])
