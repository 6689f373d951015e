"""The lines of random programs, and the random choice of a program from them.

    t0 = m.tensor([1., -2., 3.], dtype=m.float64, requires_grad=True)       MAKE
    t1 = t0 * 2                                                             COMPUTE
    t2 = t1[1:]                                                             LOOK
    with m.no_grad(): t2.mul_(t0[1:])                                       a mode, WRITE
    h4 = t2.register_hook(note('a4', 2))                                    HOOK
    t2.sum().backward(retain_graph=True)                                    RUN

A line is a template; its fields are the attributes of `Choice`, drawn on access. While a program is drawn, it runs on
PyTorch. So a choice knows shapes, and a line that raises, or makes numbers too large to compare, can be removed. Two programs
in three have no errors; in the others a few lines may raise any error. One program in six also has nan and inf.
"""

import random

from tests.parity.programs import KEYS, Program, attempt, largest

LARGEST = 1e3       # numbers beyond are not comparable after a few more lines
TRIES = 12          # lines drawn until one fits
DULL = 0.1          # how often a line may raise what is not about autograd, such as shapes that do not fit
LATE = 0.8          # how often an operand is one of the latest

DTYPES = ["float64"] * 15 + ["float32"] * 2 + ["complex128"] * 2 + ["int64"] * 1
SHAPES = [(), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (4,), (2, 2), (2, 2, 2), (3, 1, 2), (1,)]
ODD = ["m.nan", "m.inf", "-m.inf", "0.", "-0."]
NUMBERS = ["-2.", "-1.5", "-1.", "-0.5", "0.25", "0.5", "1.", "1.5", "2.", "3."]

MAKE = ["{new} = m.tensor({data}, dtype=m.{dtype}, requires_grad={flag})"] * 6 + [
    "{new} = m.zeros({shape}, dtype=m.float64)",
    "{new} = m.ones({shape}, dtype=m.float64, requires_grad={flag})",
]
COMPUTE = [
    "{new} = {dense} * {w}", "{new} = {dense} * {w}", "{new} = {dense} + {w}", "{new} = {dense} - {w}", "{new} = {dense} / {c}", "{new} = {dense} * {c}",
    "{new} = {c} - {dense}", "{new} = {dense}.sin()", "{new} = {dense}.exp()", "{new} = {dense}.tanh()", "{new} = {dense}.sigmoid()", "{new} = {dense} ** 2",
    "{new} = -{dense}", "{new} = {dense}.clone()", "{new} = {dense}.sum()", "{new} = {dense}.sum({d})", "{new} = {dense}.mean()",
    "{new} = m.cat([{dense}, {dense}])", "{new} = m.stack([{dense}, {dense}], {d})", "{new} = m.where({dense} > 0, {dense}, {w})", "{new} = {dense}.contiguous()[{mask}]",
    "{new} = {dense}.contiguous()[{index}]", "{new} = {dense}.to(m.{dtype})", "{new} = {dense}.contiguous()", "{new} = {dense}.relu()", "{new} = {dense}.clamp(-1, 1)",
    "{new} = {dense}.abs()", "{new} = {dense}.cos() * {w}", "{new} = {dense}.reshape({sizes})",
    "{new} = {dense}.cumsum({d})", "{new} = {dense}.cumprod({d})", "{new} = {dense}.logcumsumexp({d})", "{new} = {dense}.cummax({d})[0]",
    "{new} = {dense}.contiguous()[{list}]", "{new} = {dense}.prod()", "{new} = {dense}.amax({d})", "{new} = {dense}.softmax({d})",
    "with m.inference_mode(): {new} = {dense} * {w}", "with m.inference_mode(): {new} = {x}[{slice}]",
    "with m.inference_mode(): {new} = m.tensor({data}, dtype=m.{dtype}, requires_grad={flag})",
]
LOOK = [
    "{new} = {x}[{i}]", "{new} = {x}[{slice}]", "{new} = {x}[{slice}]", "{new} = {x}[..., {slice}]", "{new} = {x}[..., {i}]",
    "{new} = {x}[()]", "{new} = {x}[...]", "{new} = {x}[None]", "{new} = {x}[{slice}, {slice}]", "{new} = {x}[{i}, {slice}]",
    "{new} = {x}.select({d}, {i})", "{new} = {x}.narrow({d}, {i}, 1)", "{new} = {x}.transpose({d}, {d2})", "{new} = {x}.t()",
    "{new} = {x}.permute({order})", "{new} = {x}.mT", "{new} = {x}.movedim({d}, {d2})", "{new} = {x}.view({sizes})",
    "{new} = {x}.view(-1)", "{new} = {x}.view_as({x})", "{new} = {x}.reshape(-1)", "{new} = {x}.flatten()", "{new} = {x}.ravel()",
    "{new} = {x}.expand({larger})", "{new} = {x}.expand_as({x})", "{new} = {x}.squeeze()", "{new} = {x}.squeeze({d})",
    "{new} = {x}.unsqueeze({d})", "{new} = {x}.unflatten({d}, (1, -1))", "{new}, {new}b = {x}.chunk(2, {d})",
    "{new}, *{new}b = {x}.split(1, {d})", "*{new}b, {new} = {x}.unbind({d})", "{new}, {new}b = {x}.split((1, {size} - 1), {d})",
    "{new} = {x}.diagonal()", "{new} = {x}.swapaxes({d}, {d2})", "{new} = {x}.real", "{new} = {x}.detach()", "{new} = {x}.data", "{new} = {x}.T",
    "{new} = {x}.as_strided((0,), (1,), {large})", "{new} = {x}[1:1]", "{new} = {x}.narrow({d}, {i}, 0)",
]
WRITE = [
    "{x}.add_({other})", "{x}.add_({other})", "{x}.sub_({other})", "{x}.mul_({other})", "{x}.mul_({other})", "{x}.div_(4)", "{x}.mul_({c})", "{x}.add_({c})",
    "{x}.pow_(2)", "{x}.exp_()", "{x}.sigmoid_()", "{x}.tanh_()", "{x}.neg_()", "{x}.sin_()", "{x}.cos_()", "{x}.relu_()",
    "{x}.clamp_(-1, 1)", "{x}.clamp_(min=0)", "{x}.zero_()", "{x}.fill_({c})", "{x}.fill_({other}.sum())", "{x}.copy_({other})", "{x}.copy_({other})",
    "{x}.square_()", "{x}.clamp_(max={other})",
    "{x}[{i}] = {apart}", "{x}[{slice}] = {apart}", "{x}[..., {i}] = {c}", "{x}[...] = {apart}", "{x}[{slice}] = {c}", "{x}[{mask}] = {c}",
    "{x}[{mask}] = {other}.sum()", "{x}[{index}] = {apart}", "{x}[{index}] = {c}", "{x}[{i}] *= {apart}", "{x}[{slice}] += {apart}", "{x}[{i}] += {c}",
    "{x}.masked_fill_({mask}, {c})", "{x}.lerp_({other}, 0.5)", "{x}.addcmul_({other}, {other})", "{inner}.t_()", "{inner}.transpose_({d}, {d2})",
    "{inner}.squeeze_({d})", "{inner}.unsqueeze_({d})", "{x}.gt_({c})", "{x}.tril_()", "{x}.cumsum_({d})", "{x}.floor_()",
    "{x}.cumprod_({d})", "{x}[{list}] = {c}", "{x}[{list}] = {apart}", "{x}[{list}] += {c}",
    "with m.inference_mode(): {x}.add_({c})", "with m.inference_mode(): {x}.detach_()",
    "{x} += {other}", "{x} -= {other}", "{x} *= {c}", "{x} /= 2", "{x} **= 2", "{x}.index_add_(0, m.tensor([0, 0]), {x}.detach()[m.tensor([0, -1])])",
]
STATE = [
    "{x}.detach_()", "{x}.requires_grad_({flag})", "{x}.requires_grad_()", "{x}.requires_grad = {flag}", "{x}.retain_grad()",
    "{x}.retain_grad()", "{x}.grad_fn", "del {x}", "{leaf}.grad = None", "{x}.grad = {y}", "{leaf}.grad = {leaf}.detach() * 2",
    "{leaf}.grad.mul_(2)", "{leaf}.grad.zero_()", "{leaf}.grad[...] = 1.",
    "m.set_grad_enabled({flag})", "m.set_grad_enabled(True)",
    "with m.no_grad(): {inner}.set_({y}.detach().contiguous().clone())", "with m.no_grad(): {leaf}.set_({leaf}.detach() * 2)",
]
DATA = [
    "{x}.data.mul_(2)", "{x}.data[{i}] = 1.", "{x}.data.copy_({other}.data)", "{dense}.data = {x}.data * 2", "{dense}.data = {x}.detach().clone()",
    "{x}.detach().mul_(2)", "{x}.detach()[{i}] = 0.", "{x}.detach().numpy()[...] = 2", "{x}.data.zero_()",
    "m.autograd.graph.increment_version({x})", "m.autograd.graph.increment_version([{x}, {x}])",
]
# In a program of forward mode, which begins with a level.
LEVEL = "m.autograd.forward_ad.enter_dual_level()"
DUAL = [
    "{new} = dual(m.tensor({data}, dtype=m.{dtype}, requires_grad={flag}))", "{new} = dual(m.tensor({data}, dtype=m.{dtype}))",
    "{new} = dual({x})", "{new} = dual({x}.detach())", "{new} = dual({dense}.clone())", "{new} = m.autograd.forward_ad.unpack_dual({x})[0]",
    "{g} = m.autograd.forward_ad.unpack_dual({x})[1].detach()", "m.autograd.forward_ad.unpack_dual({x})[1].mul_(2)",
]
# Where PyTorch's tangents are wrong: clamp at a tie, x[()].t_(), and of what no longer lies where its base does, an internal assert.
NOT_DUAL = ("clamp_(max=", "}.data = ", "{inner}.")
# A hook on a view that was made under no_grad kills PyTorch.
SAFE = "{h} = None if {x}._is_view() and {x}.is_leaf else {x}."
HOOK = [
    SAFE + "register_hook(note('{h}'))", SAFE + "register_hook(note('{h}', 2))", SAFE + "register_hook(note('{h}', 0.5))",
    SAFE + "register_hook(kept.append)", "{h} = {leaf}.register_hook(note('{h}', 3))",
    "{h} = {leaf}.register_post_accumulate_grad_hook(arrived('{h}'))",
    "{h} = {leaf}.register_post_accumulate_grad_hook(arrived('{h}', forget=True))",
    SAFE + "register_hook(entering('{h}', '{mode}'))", "{h} = {known}.register_hook(entering('{h}', '{mode}'))",
    "{h} = {leaf}.register_post_accumulate_grad_hook(entering('{h}', '{mode}'))", "{h} = {known}.register_prehook(entering('{h}', '{mode}'))",
    "{node} = {x}.grad_fn", "{node} = {leaf}.view_as({leaf}).grad_fn.next_functions[0][0]", "{node} = {x}.grad_fn.next_functions[0][0]",
    "{h} = {x}.grad_fn.register_hook(after('{h}'))", "{h} = {x}.grad_fn.register_hook(after('{h}', 2))",
    "{h} = {x}.grad_fn.register_prehook(before('{h}'))", "{h} = {x}.grad_fn.register_prehook(before('{h}', 2))",
    "{h} = {known}.register_hook(after('{h}', 2))", "{h} = {known}.register_prehook(before('{h}', 2))",
    "{h} = {known}.register_hook(after('{h}'))", "{h} = {known}.register_prehook(before('{h}'))",
    "{h} = m.autograd.graph.register_multi_grad_hook([{hooked}, {hooked}], several('{h}'))",
    "{h} = m.autograd.graph.register_multi_grad_hook([{hooked}, {hooked}], note('{h}'), mode='any')",
    "{handle}.remove()", "{handle}.remove()", "kept[-1].mul_(3)", "kept.clear()",
]
RUN = [
    "{loss}.backward(retain_graph={flag})", "{loss}.backward(retain_graph={flag})", "{loss}.backward()", "{z}.backward()",
    "{z}.backward({z}.detach().clone(), retain_graph={flag})", "({z} * {z2}).sum().backward(retain_graph={flag})",
    "{loss}.backward(inputs=[{z2}], retain_graph={flag})", "{loss}.backward(inputs=[{leaf}], retain_graph={flag})",
    "{loss}.backward(create_graph=True)", "({z} * {z}).sum().backward(create_graph=True)",
    "{g}, = m.autograd.grad({loss}, {z2}, retain_graph={flag}, allow_unused=True)",
    "{g}, = m.autograd.grad({loss}, {leaf}, retain_graph={flag}, allow_unused=True)",
    "{g}, {g}b = m.autograd.grad({loss}, ({z2}, {leaf}), retain_graph={flag}, allow_unused=True)",
    "{g}, = m.autograd.grad(({z} * {z}).sum(), {z2}, create_graph=True, allow_unused=True)",
    "{g}, = m.autograd.grad({loss}, {leaf}, create_graph=True, allow_unused=True)",
    "{g}, = m.autograd.grad(({g1} * {g1}).sum(), {leaf}, create_graph={flag}, allow_unused=True)",
    "({g1} * {g1}).sum().backward(retain_graph={flag})", "{g1}.sum().backward()",
    "m.autograd.backward([{loss}, ({z2} * {c}).sum()], retain_graph={flag})",
    "{g}, = m.autograd.grad({loss}, m.autograd.graph.get_gradient_edge({z2}), retain_graph={flag}, allow_unused=True)",
]
KINDS = {"make": (MAKE, 1), "compute": (COMPUTE, 8), "look": (LOOK, 10), "write": (WRITE, 10), "state": (STATE, 2),
         "data": (DATA, 1), "hook": (HOOK, 5), "run": (RUN, 5)}
MODES = [""] * 12 + ["with m.no_grad(): "] * 3 + ["with m.enable_grad(): ", "with m.set_grad_enabled({flag}): ",
                                                   "with packed({flag}): "]


def memory(x):
    return x.untyped_storage().data_ptr()


def without_gaps(x):
    if x is None:
        return True
    step = 1
    for stride, size in sorted((stride, size) for stride, size in zip(x.stride(), x.shape) if size != 1):
        if stride != step:
            return x.ndim == 1 and stride > 1
        step *= size
    return True


OFF = "with m.autograd.forward_ad._set_fwd_grad_enabled({flag}): "


class Choice:
    """The fields of the templates, for line `k` of a program that has run so far on PyTorch as `program`."""

    def __init__(self, dice, program, k, odd=False):
        self.dice = dice
        self.odd = odd
        self.found = program.names | program.tensors()
        self.new, self.g, self.h, self.node = f"t{k}", f"g{k}", f"h{k}", f"n{k}"
        self.tensors = [name for name, x in program.tensors().items() if name[0] == "t"]
        self.x = self.late(self.tensors)
        self.tensor = self.found.get(self.x)
        self.forward = program.m.autograd.forward_ad._current_level >= 0

    def __getitem__(self, field):
        return getattr(self, field)

    def late(self, names):
        """One of `names`, preferably a late one; an unused name if `names` is empty."""
        return self.dice.choice(names[-4:] if self.dice.random() < LATE else names) if names else "nothing"

    def those(self, of):
        return [name for name in self.tensors if attempt(of, self.found[name]) is True]

    @property
    def shape_of_x(self):
        return tuple(getattr(self.tensor, "shape", ()))

    # ---- tensors: one that fits x, a leaf, one with a gradient, a gradient with a history

    @property
    def y(self):
        """A tensor that broadcasts to x, most of the time; now and then a gradient."""
        shape = self.shape_of_x
        names = self.tensors + [name for name, g in self.found.items() if name[0] == "g" and hasattr(g, "shape") and not g.requires_grad]
        fits = [name for name in names if len(self.found[name].shape) <= len(shape)
                and all(n in (1, m) for n, m in zip(reversed(self.found[name].shape), reversed(shape)))
                and self.found[name].dtype == getattr(self.tensor, "dtype", None)]
        return self.late(fits if self.dice.random() < 0.97 else names)

    @property
    def dense(self):
        """x, if it has neither gaps nor repeats; else another that has none. From here on it is x.

        PyTorch and numpy lay out results of other operands differently.
        """
        if not without_gaps(self.tensor):
            self.x = self.late(self.those(without_gaps))
            self.tensor = self.found.get(self.x)
        return self.x

    @property
    def w(self):
        """As y, and laid out as x: PyTorch and numpy differ in which of two layouts the result has."""
        def alike(y):
            same = (y.is_contiguous() and self.tensor.is_contiguous() and y.dim() <= self.tensor.dim()) or y.numel() == 1
            return same or (tuple(y.shape), y.stride()) == (self.shape_of_x, self.tensor.stride())
        name = self.y
        return name if attempt(alike, self.found.get(name)) is True else self.x

    @property
    def inner(self):
        """x, if it can change its shape: a leaf's AccumulateGrad and a retained gradient keep the old one, in PyTorch now and then."""
        def free(x):
            return not x.retains_grad and not (x.requires_grad and x.grad_fn is None)
        self.x = self.x if attempt(free, self.tensor) is True else self.late(self.those(free))
        self.tensor = self.found.get(self.x)
        return self.x

    @property
    def other(self):
        """As y, and not spread over parts of x: what is read of it would depend on the order of the writes."""
        def harmless(y):
            x = self.tensor
            if self.forward:        # PyTorch's tangent of x.mul_(x) is made of what x is afterwards
                return memory(x) != memory(y)
            return memory(x) != memory(y) or (x.data_ptr(), x.shape, x.stride()) == (y.data_ptr(), y.shape, y.stride()) \
                or (x.is_contiguous() and y.is_contiguous())
        name = self.y
        return name if attempt(harmless, self.found.get(name)) is True else f"m.tensor({self.c})" if self.forward else self.x

    @property
    def apart(self):
        """A tensor in other memory than x that broadcasts to its last dimensions."""
        shape = self.shape_of_x
        names = [name for name in self.those(lambda y: memory(y) != memory(self.tensor) and y.dtype == self.tensor.dtype)
                 if tuple(self.found[name].shape) in ((), (1,), shape[1:], shape[2:], (1, *shape[1:]))]
        return self.late(names) if names or self.dice.random() < 0.05 else self.c

    @property
    def leaf(self):
        return self.late(self.those(lambda x: x.requires_grad and x._base is None and x.output_nr == 0 and not x.retains_grad
                                    and x.grad_fn is None))

    @property
    def z(self):
        return self.late(self.those(lambda x: x.requires_grad))

    z2 = z

    @property
    def hooked(self):
        """As z, and no view: a hook on one without a history, or with a stale one, kills PyTorch."""
        return self.late(self.those(lambda x: x.requires_grad and not x._is_view()))

    @property
    def loss(self):
        """A scalar that z is part of."""
        name = self.z
        return f"{name}.real.sum()" if getattr(self.found.get(name), "is_complex", bool)() else f"{name}.sum()"

    @property
    def g1(self):
        return self.late([name for name, g in self.found.items() if name[0] == "g" and getattr(g, "requires_grad", False)])

    # ---- hooks

    @property
    def known(self):
        return self.late([name for name in self.found if name[0] == "n" and name[1:].isdigit() and self.found[name] is not None])

    @property
    def handle(self):
        return self.late([name for name in self.found if name[0] == "h" and name[1:].isdigit() and self.found[name] is not None])

    # ---- numbers

    @property
    def flag(self):
        return self.dice.random() < 0.7

    @property
    def c(self):
        return self.dice.choice(["2", "-1", "0.5", "3", "-2"])

    @property
    def dtype(self):
        return self.dice.choice(DTYPES)

    @property
    def shape(self):
        return self.dice.choice(SHAPES)

    @property
    def data(self):
        def nested(shape):
            if not shape:
                return self.dice.choice(ODD if self.odd and self.dice.random() < 0.3 else NUMBERS)
            return f"[{', '.join(nested(shape[1:]) for _ in range(shape[0]))}]"
        return nested(self.shape)

    @property
    def d(self):
        n = len(self.shape_of_x)
        return self.dice.randint(-n, n - 1) if n else 0

    d2 = d

    @property
    def i(self):
        """An index that most dimensions have."""
        return self.dice.choice([0, 0, 0, -1, -1, 1, 1, 2])

    @property
    def size(self):
        return max((*self.shape_of_x, 2))

    @property
    def slice(self):
        return self.dice.choice(["1:", "1:", ":-1", ":1", "::2", "1::2", ":", "0:2", "-1:", "1:1", "5:"])

    @property
    def list(self):
        """An index by lists, some of which are read as tuples."""
        last = (*self.shape_of_x, 1)[0] - 1
        return self.dice.choice(["[0]", f"[0, {last}]", "[[0]]", f"[[0, {last}]]", "[[0], [0]]", "[slice(0, 1)]", "[None]", "[...]", "[]",
                                 "[0, slice(None)]", "[[0], slice(0, 1)]", "[True]", f"[{[True] * (last + 1)}]", "[m.tensor([0])]"])

    @property
    def large(self):
        return self.dice.choice([0, 1, 7, 1000])

    @property
    def mode(self):
        return self.dice.choice(["no_grad", "enable_grad", "inference_mode", "off", "on"])

    @property
    def order(self):
        n = len(self.shape_of_x)
        return ", ".join(map(str, self.dice.sample(range(n), n))) or "()"

    @property
    def sizes(self):
        """Another shape for as many elements."""
        n = self.tensor.numel() if self.tensor is not None else 1
        return str(self.dice.choice([(n,), (1, n), (n, 1), (-1,), *[(d, n // d) for d in (2, 3) if n % d == 0 and n]]))

    @property
    def larger(self):
        shape = self.shape_of_x
        return str((*([2] if self.dice.random() < 0.5 else []), *[n if n != 1 else self.dice.choice([1, 2, 3]) for n in shape]) or (2,))

    @property
    def mask(self):
        return self.dice.choice([f"({self.x} > 0)", f"{self.x} < {self.c}"])

    @property
    def index(self):
        """In range: PyTorch may have written to other elements before it notices one that is not."""
        n = (*self.shape_of_x, 1)[0]
        return self.dice.choice(["m.tensor([0])", "m.tensor([0, -1])", "m.tensor(0)", *["m.tensor([1, 0])", "m.tensor([0, 1, 0])"] * (n > 1)]
                                if n else ["m.tensor([], dtype=m.int64)"])


def made(seed, torch, forward=False):
    """The program of that number: pairs of a line and whether to look at everything after it. `forward`: of dual tensors."""
    dice = random.Random(seed)
    length = dice.choices([dice.randint(6, 14), dice.randint(15, 30), dice.randint(31, 60)], [5, 4, 1])[0]
    errors = dice.choices([0, dice.randint(1, 5)], [2, 1])[0]
    looking = dice.choice([0, 0.2, 0.6, 1])
    start = dice.randint(2, 3)
    odd = dice.random() < 1 / 6
    lines = []
    program = Program(torch)
    kinds, modes = KINDS, MODES
    if forward:
        kinds, modes = KINDS | {"dual": (DUAL, 4)}, [*MODES, OFF, OFF]
        lines.append((LEVEL, False))
        program.step(LEVEL)
    for k in range(length):
        for _ in range(TRIES):
            kind = ("dual" if forward else "make") if k < start else "run" if k >= length - 2 else \
                dice.choices(list(kinds), [weight for _, weight in kinds.values()])[0]
            template = dice.choice(DUAL[:2] if kind == "dual" and k < start else kinds[kind][0])
            if forward and any(part in template for part in NOT_DUAL):
                continue
            mode = "" if kind == "make" else dice.choice(modes if kind == "write" else MODES)
            # What a formula saves when it is differentiated again, or computes a tangent, is its own affair.
            line = (mode.replace("packed(", "packed_in_silence(") if kind == "run" or forward else mode) + template
            line = line.format_map(Choice(dice, program, k, odd))
            error = program.step(line)
            if unwanted(program, error, errors, dice, odd):
                program.close()
                program = Program(torch)        # take it back
                for before, _ in lines:
                    program.step(before)
                continue
            errors -= error is not None
            lines.append((line, dice.random() < looking))
            break
    program.close()
    return lines


def unwanted(program, error, errors, dice, odd):
    """Whether the last line is to be taken back. `errors` says how many may still raise, `odd` that nan and inf are welcome."""
    if error is None:
        return largest(program, odd) > LARGEST
    if error == "NameError" or errors == 0:
        return True
    return dice.random() > (1 if any(key in program.error for key in KEYS[1:]) else DULL)
