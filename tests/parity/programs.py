"""Run a program on PyTorch and on minigrad, line by line, and report the first difference.

    difference(lines)     after each line: the class of the error, the log of the hooks, all visible state of each tensor
    shortest(lines)       the same difference in as few lines as possible

The visible state is of two kinds. Reading the first kind changes nothing (`QUIET`), so it is compared after every line.
Reading the second kind (`WAKING`) regenerates the grad_fn of a stale view, so it is compared only where the program says so.
"""

import math
import re
from functools import lru_cache

import torch

import minigrad

# Where only one of the two raises, and we like ours better: what is in the line, in the message, and why. A program that
# gets there ends there.
BETTER = [
    ("cummax", "not implemented for complex", "PyTorch: asks nothing of an empty tensor"),
    ("logcumsumexp", "not implemented for complex", "not built"),
    ("logcumsumexp", "Expected reduction dim", "PyTorch: has no tangent of an empty one"),
    ("softmax", "does not support automatic differentiation", "PyTorch: of a complex tensor only an empty one gets that far"),
    ("amax", "does not support complex", "PyTorch: asks nothing of an empty tensor"),
    ("", "functions with out=... arguments", "PyTorch: some ops of inference tensors call their own variants with out="),
    ("register_hook", "cannot register a hook on a tensor", "PyTorch: a view that says it requires no gradient may have hooks"),
    ("unpack_dual", "is a view and is being modified inplace", "PyTorch: a tangent counts as one of several views, and is none"),
    ("", "whose shape has changed since the forward", "PyTorch: .grad gets another shape than its leaf"),
    ("set_(", "derivative for set_ is not implemented", "PyTorch: says so in the backward only"),
    ("", "_will_engine_execute_node", "PyTorch: its hooks for several gradients know no leaves under grad()"),
    ("", "more than one element of the written-to", "PyTorch: fill_() and zero_() may write to an expanded tensor"),
    ("", "refer to a single memory location", "PyTorch: some operands that overlap the target without harm may not"),
    ("", "RuntimeError: a leaf Variable that requires", "PyTorch: a stale view is a leaf until somebody reads its grad_fn,"),
    ("", "created in no_grad mode and its base", "and so retain_grad() does nothing to it,"),
    ("retain_grad", "its base or another view of its base", "and so does not notice that it is forbidden"),
    ("requires_grad_", "its base or another view of its base", "and requires_grad_() does not notice that it is forbidden"),
    ("", "out of bounds for the storage", "PyTorch: what .data has put elsewhere goes on by its strides, also where these are of another dtype"),
    ("", "Inplace update to inference tensor", "PyTorch: detach() of an inference tensor may be written to, and its memory with it"),
    (".mT", "only supported on matrices", "PyTorch: mT of a number is deprecated, and the number"),
]
# Lines with two faults, of which we notice another first: PyTorch's key, ours.
STALE, LEAF, WRITTEN_OUTSIDE = "MG-E120", "MG-E121", "MG-E123"
FIRST = {
    "*": ["MG-E2", "MG-E3"],            # wrong shapes, dtypes and indices
    "implicitly created only for scalar": ["MG-E110", STALE],       # many numbers, and no history
    "Mismatch in shape": ["MG-E110", STALE],
    "implicitly created only for real scalar": ["MG-E110", STALE],
    "a leaf Variable that requires grad is being used": [WRITTEN_OUTSIDE], "refers to a single memory location": [WRITTEN_OUTSIDE],
    "does not have a grad_fn": [STALE],     # a root without, and an input that is stale
    "its base or another view of its base has been modified inplace": ["MG-E102", LEAF],      # modified since it was saved, and a view of what was modified
}
# Words of PyTorch's messages that must be in ours (the keys of the specification).
KEYS = [
    "a leaf Variable that requires grad is being used", "a view of a leaf Variable", "modified by an inplace operation",
    "through the graph a second time", "detached in-place", "refers to a single memory location", "Can't detach views",
    "is being modified inplace", "its base or another view of its base has been modified inplace", "returns multiple views",
    "both inside the no_grad block", "does not have a grad_fn", "implicitly created only for scalar", "Only Tensors of floating point",
    "appears to not have been used in the graph", "can't retain_grad on Tensor", "does not require grad", "Mismatch in shape",
    "must be floating point or complex", "moved into the graph interior", "only be called on leaf", "can't replace a None gradient",
    "has changed the size", "implicitly created only for real scalar",
]


ENTERED = []        # modes that hooks entered and nobody leaves: PyTorch leaves inference mode when the object dies


class Program:
    """One run of the lines of a program on the library `m`."""

    def __init__(self, m):
        self.m = m
        self.error = ""
        self.lines = []
        self.inferred = set()       # names
        self.hooked = []            # tensors with a hook for several gradients
        self.log = []
        self.names = {"m": m, "kept": [], **{f.__name__: f for f in (self.note, self.arrived, self.before, self.after, self.several,
                                                                      self.entering, self.packed, self.packed_in_silence, self.dual)}}

    def step(self, line):
        """The class of the error that `line` raises, None if it raises none."""
        self.lines.append(line)
        try:
            exec(compiled(line), self.names)
            self.note_inferred(line)
            if "register_multi_grad_hook" in line:
                self.hooked += [self.names[name] for name in re.findall(r"[tg]\d+b?", line.partition("[")[2])]
        except Exception as error:
            self.error = f"{family(error)}: {error}"
            return family(error)

    def note_inferred(self, line):
        """Remember which names are of inference tensors, or were computed from one."""
        names = set(re.findall(r"\b[tg]\d+b?\b", line))
        if names & self.inferred or any(getattr(self.names.get(name), "is_inference", bool)() for name in names):
            self.inferred |= names

    def close(self):
        self.hooked.clear()
        self.m.set_grad_enabled(True)
        if self.m.autograd.forward_ad._current_level >= 0:
            self.m.autograd.forward_ad.exit_dual_level()
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

    # ---- what a line may call: what makes a dual tensor, and hooks, which write down what they are given

    def dual(self, x):
        """A dual tensor of `x`; its tangent is a function of `x`."""
        return self.m.autograd.forward_ad.make_dual(x, x.detach().clone() * 0.5 + 1)

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

    def entering(self, name, mode):
        """A hook that enters a mode and never leaves it, which is over with the backward that it belongs to."""
        def hook(*given):
            m = self.m
            self.log.append((name, m.is_grad_enabled(), m.is_inference_mode_enabled()))
            ENTERED.append(m.set_grad_enabled(mode == "on") if mode in ("on", "off") else getattr(m, mode)())
            ENTERED[-1].__enter__()
        return hook

    def modes(self):
        return self.m.is_grad_enabled(), self.m.is_inference_mode_enabled()

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


class Doubled:
    """PyTorch, but that its float32 is float64."""

    def __getattr__(self, name):
        return getattr(torch, {"float32": "float64", "complex64": "complex128"}.get(name, name))


@lru_cache(5000)
def compiled(line):
    return compile(line, "program", "exec")


def family(error):
    """The builtin class of an error; minigrad's own are subclasses of those.

    Where a stale view is also given a wrong dimension, either may be noticed first. PyTorch's NotImplementedError, a
    RuntimeError, says that an op has no kernel for a dtype, such as < for complex numbers; we have nothing to implement.
    """
    name = next(c.__qualname__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return "RuntimeError" if name in ("IndexError", "NotImplementedError") else name


# ---- visible state ---------------------------------------------------------------------------------------------


def numbers(x):
    """Dtype, shape and elements."""
    return None if x is None else (str(x.dtype).split(".")[-1], list(x.shape), x.tolist())


def strides(x):
    """Those that matter: numpy and torch differ where the size is 1, and in what is made of such a tensor and has no elements."""
    return [stride for stride, size in zip(x.stride(), x.shape) if size > 1] if x.numel() else []


def tangent(x):
    """That of forward mode. No tangent is zeros, and of which dtype it is does not matter."""
    m = minigrad if isinstance(x, minigrad.Tensor) else torch
    found = m.autograd.forward_ad.unpack_dual(x).tangent
    if found is None or (m is torch and found._is_zerotensor()):
        return None
    found = found.tolist()
    return None if zero(found) else (str(x.dtype).split(".")[-1], found)


def zero(found):
    return all(map(zero, found)) if isinstance(found, list) else abs(found) < 1e-12


def history(x):
    """The name of the node, and of those that it leads to, and of those that these lead to."""
    return x.grad_fn and graph(x.grad_fn, 2)


def graph(node, depth):
    if node is None:
        return None
    name = node_name(node)
    edges = node.next_functions
    if name == "SelectBackward0" and node_name(edges[0][0]) == "ViewAsRealBackward0":
        name = "RealBackward0"
    if name in ("AsStridedBackward0", "RealBackward0"):
        edges = of_complex(node, name) or edges
    if depth == 0:
        return name
    edges = [passed(*edge, TRANSPARENT.get(name, ())) for edge in edges]
    return [name, [(graph(n, depth - 1), i) for n, i in edges]]


# What may be on the way from a node to its operands: one of another dtype, which we convert before the op, PyTorch in it.
TRANSPARENT = dict.fromkeys(["ClampBackward0", "WhereBackward0", "AddcmulBackward0"], ("ToCopyBackward0",))


def node_name(node):
    return None if node is None else node.name().split("::")[-1].replace("ReshapeAlias", "View").replace("Identity", "ViewBackward0")


def passed(node, i, names):
    """An edge, less the nodes of these names on its way."""
    while node_name(node) in names:
        (node, i), = node.next_functions
    return node, i


def of_complex(node, name):
    """The edges behind what PyTorch has where we have one node: it sees x.real as a part of a view as real numbers."""
    while node_name(node) in ("AsStridedBackward0", "SelectBackward0"):
        node = node.next_functions[0][0]
    return [passed(*edge, (name,)) for edge in node.next_functions] if node_name(node) == "ViewAsRealBackward0" else None


QUIET = {
    "numbers": numbers, "stride": strides, "version": lambda x: x._version, "view": lambda x: x._is_view(),
    "tangent": tangent, "requires_grad": lambda x: x.requires_grad, "output_nr": lambda x: x.output_nr, "retains": lambda x: x.retains_grad,
    "inference": lambda x: x.is_inference(), "offset": lambda x: x.storage_offset() if x.numel() else None,
}
WAKING = {"is_leaf": lambda x: x.is_leaf, "history": history, "grad": lambda x: numbers(x.grad), "output_nr now": lambda x: x.output_nr}
INTERNAL = {"version", "view", "base", "stride", "history", "same"}      # of a gradient: how a formula happened to make it
# Of what was computed from inference tensors: PyTorch shows how the parts of an op work, views and writes that it hides elsewhere.
OF_INFERENCE = {"version", "view", "base", "history", "stride", "tangent"}


class Raised(str):
    """The class of an error that looking at something has raised.

    `better`: where only ours does, and should; `bug`: where PyTorch says itself that it should not.
    """


def attempt(look, x):
    try:
        return look(x)
    except Exception as error:
        raised = Raised(family(error))
        raised.bug = "INTERNAL ASSERT FAILED" in str(error)
        raised.better = "out of bounds for the storage" in str(error)      # PyTorch: a stale view whose data lies elsewhere
        return raised


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


def largest(program, odd=False):
    """The largest number in a program; nan counts as inf, or, where the program is `odd`, neither counts."""
    def of(x):
        if isinstance(x, (list, tuple)):
            return max(map(of, x), default=0)
        return 0 if x is None or isinstance(x, (str, bool)) else abs(x) if math.isfinite(abs(x)) else 0 if odd else math.inf
    found = 0
    for x in program.tensors().values():
        values = attempt(lambda x: x.tolist(), x)
        if isinstance(values, Raised):      # one of PyTorch's that has no memory
            return math.inf
        found = max(found, of(values), of(attempt(lambda x: x.grad.tolist(), x)))
    return max(found, of(program.log))


def equal(a, b, exact=None, single=False):
    """Whether two things seen are the same, but for the last digits of numbers.

    `exact` is what was seen where float32 is float64: numbers of float32 may be as far from it as PyTorch's are, and some more.
    """
    if a is b or a == b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        single = single or "float32" in a or "complex64" in a
        wider = exact if isinstance(exact, (list, tuple)) and len(exact) == len(a) else [None] * len(a)
        return len(a) == len(b) and all(equal(x, y, z, single) for x, y, z in zip(a, b, wider))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        near = 1e-6 if not single else 1e-2 if exact is None else 2e-4
        error = abs(a - exact) if single and isinstance(exact, (float, complex)) and math.isfinite(abs(a - exact)) else 0
        return abs(a - b) <= near * max(1, abs(a)) + 16 * error or (a != a and b != b)
    return False


# ---- comparing -------------------------------------------------------------------------------------------------


def difference(lines):
    """(the first difference in words, the number of its line); None if there is no difference."""
    exact = in_float64(lines) if any("float32" in line for line, _ in lines) else [([], {})] * len(lines)
    theirs, ours = Program(torch), Program(minigrad)
    try:
        for k, (line, look) in enumerate(lines):
            found = compare_line(theirs, ours, line, look or k == len(lines) - 1, exact[k])
            if found is not None:
                return (found, k) if found else None
    finally:
        theirs.close()
        ours.close()
    return None


def in_float64(lines):
    """For each line the log and all there is to see, on PyTorch without float32."""
    program = Program(Doubled())
    found = []
    try:
        for k, (line, look) in enumerate(lines):
            program.step(line)
            found.append((program.log, seen(program, look or k == len(lines) - 1)))
            program.log = []
    finally:
        program.close()
    return found


def compare_line(theirs, ours, line, look, exact):
    """What differs after `line`, of which `exact` was seen in float64; None if nothing does, "" if it is one of `BETTER` or the line makes no sense."""
    expected, found = theirs.step(line), ours.step(line)
    log, sight = exact
    if expected in ("NameError", "AttributeError"):
        return ""
    if expected != found:
        error = (theirs if found is None else ours).error
        if any(part in line and key in error for part, key, why in BETTER) or (
                found is None and any(key in error for key in ("second time", "modified by an inplace")) and idle(theirs)) or (
                found is None and "modified by an inplace" in error and any("cummax" in before for before in theirs.lines)):
            return ""       # (of cummax we save the shape)
        return f"raises {ours.error if found else None}, torch: {theirs.error if expected else None}"
    if expected:
        missing = [key for key in KEYS if key in theirs.error and key not in ours.error]
        if missing and not any(key in ours.error for key in FIRST["*"] + FIRST.get(missing[0], [])):
            return f"raises {ours.error}, torch: {theirs.error}"
    if expected and ("Inplace update to inference tensor" in theirs.error or "set_(" in line):     # written before it was noticed
        return ""
    if expected and not ours.log:       # what we refuse we refuse before anything is packed
        theirs.log.clear()
    if not equal(theirs.log, ours.log, log):
        if (line.startswith("with packed(") and (idle(theirs) or "cummax" in line)) or real_part(theirs) or root_hooked(theirs, line) \
                or (theirs.hooked and any("set_(" in before for before in theirs.lines)):
            return ""
        if odd(theirs, line, "log", theirs.log, ours.log):
            return ""
        return f"hooks were given {ours.log}, torch: {theirs.log}"
    theirs.log.clear()
    ours.log.clear()
    if theirs.modes() != ours.modes():
        return f"(grad, inference) mode is {ours.modes()}, torch: {theirs.modes()}"
    expected, found = seen(theirs, look), seen(ours, look)
    if list(expected) != list(found):
        return f"tensors {list(found)}, torch: {list(expected)}"
    for name in expected:
        if expected[name] == found[name]:
            continue
        for what in expected[name]:
            if (name[0] in "gk" and what in INTERNAL) or (what in OF_INFERENCE and name.partition("[")[0] in theirs.inferred):
                continue
            if not equal(expected[name][what], found[name][what], sight.get(name, {}).get(what)):
                # PyTorch: retain_grad() does nothing to a view that is stale and was a leaf before.
                if what == "retains" and "retain_grad" in line and found[name][what]:
                    return ""
                if odd(theirs, line, what, expected[name][what], found[name][what]):
                    return ""
                # PyTorch records some ops of what it says is in no graph, and has integers require a gradient.
                if what == "requires_grad" and ((("dual(" in line or "cumprod" in line) and name in theirs.inferred) or "int64" in found[name]["numbers"]):
                    return ""
                # PyTorch steals a gradient of which the user holds another view, and adds the next one to what he sees.
                if name[0] == "k" and what == "numbers" and "backward(" in line:
                    return ""
                if getattr(found[name][what], "better", False) or getattr(expected[name][what], "bug", False) or (
                        what == "requires_grad" and name[0] in "gk" and empty(theirs)):
                    return ""
                return f"{name}: {what} is {found[name][what]}, torch: {expected[name][what]}"
    return None


def finite(x):
    """Whether there is no nan or inf in what was seen."""
    if isinstance(x, (list, tuple)):
        return all(map(finite, x))
    return not isinstance(x, (float, complex)) or math.isfinite(abs(x))


def odd(program, line, what, theirs, ours):
    """Whether PyTorch's number is one of those that are not ours, and ours is better.

    It divides by what cumprod and logcumsumexp run over, and by the number of ties of amax, which nan has none of; has zeros
    for the gradient of a product of two zeros and nan; has other rules for the products of complex infinities; and computes a
    scan's derivative of other saved values, which shows where ``.data`` has changed them.
    """
    def any_line(*parts):
        return any(part in before for before in program.lines for part in parts)

    if not (finite(theirs) and finite(ours)):
        return any_line("amax", "logcumsumexp", "cumprod", "prod()") or (what == "tangent" and "lerp" in line) \
            or any(x.is_complex() for x in program.tensors().values())
    if any_line("set_(") and what == "grad":        # PyTorch: a gradient that broadcasts to what the leaf is now keeps its own shape
        return theirs is not None and theirs[1] != ours[1]
    return (what == "tangent" and any_line("logcumsumexp")) or (any_line("cumprod", "logcumsumexp") and any_line(".data", ".detach()"))


def root_hooked(program, line):
    """Whether a backward begins at a tensor with a hook for several gradients: PyTorch does not count a root among what runs."""
    roots = [program.names.get(name) for name in re.findall(r"\b([tg]\d+b?)\.backward\(", line)]
    return any(root is x or (root.grad_fn is not None and root.grad_fn is x.grad_fn) for root in roots for x in program.hooked)


def idle(program):
    """Whether there is a view made under no_grad that requires a gradient.

    An op on it has a node to which no gradient flows. PyTorch has it save its result all the same, we nothing.
    """
    return any(x._is_view() and x.requires_grad and attempt(lambda x: x.is_leaf, x) is True for x in program.tensors().values())


def empty(program):
    """Whether there is a tensor without elements. PyTorch's formulas do not record writes of nothing, ours know no such case."""
    return any(x.numel() == 0 for x in program.tensors().values())


def real_part(program):
    """Whether there is one of a complex tensor: a hook on its node sees one op of ours, the second of two of PyTorch's."""
    return any(x._is_view() and x._base.is_complex() and not x.is_complex() for x in program.tensors().values())


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
