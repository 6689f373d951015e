"""The reference: a page for each namespace, or part of one, in reStructuredText, which is what the docstrings are written in.

`PAGES` says which names are on which page, and in which order. If a public name is on no page, the build fails, so that none is
forgotten. An object is documented under the first of its names; under its other names, a line points there.
"""

import functools
import importlib
import inspect
import re
import types
from typing import NamedTuple

import minigrad as mg
from minigrad._late import NAMES
from tools.docs.paths import ROOT

__all__ = ["PAGES", "Page", "names", "offered", "write"]


class Page(NamedTuple):
    """One page: all of a namespace, or only what `modules` define (named relative to minigrad)."""

    name: str
    title: str
    namespace: str
    modules: tuple = ()
    text: str = ""


def ops(family, *names):
    """The names of modules in a folder of minigrad/ops."""
    return tuple([f"ops.{family}.{name}" for name in names])


MG = "minigrad"
PIPELINING = "minigrad.distributed.pipelining"
PAGES = [
    Page("tensor", "Tensor", "minigrad", ("tensor", "_core.graph.metadata", "storage"),
         "A tensor is numbers, a place in the graph, and a version. Most functions of `minigrad` are methods too; in-place "
         "methods end in an underscore."),
    Page("creation", "Making tensors", MG,
         ("creation._from_data", "creation._filled", "creation._ranges", "creation._grids", "creation._legacy",
          "_bfloat16", "_tensor.properties", "_tensor.tensor_str", "dtypes", "sparse") + ops("shape", "formats"),
         "From Python numbers, from arrays, or filled with one value."),
    Page("random", "Random numbers", MG, ("random._generator", "random._sampling")),
    Page("minigrad.random", "minigrad.random", "minigrad.random"),
    Page("modes", "Grad modes, configuration, files, help", MG,
         ("autograd.grad_mode", "autograd.anomaly_mode", "_build.config", "_warnings", "serialization", "_debug.context", "errors",
          "_explain", "_version", "backends._precision", "amp.autocast_mode", "amp.grad_scaler", "compiler", "cpu")),
    Page("arithmetic", "Arithmetic", MG,
         ops("elementwise", "arithmetic", "bits", "pointwise", "rounding", "representation", "selection", "clamp")
         + ("nn.functional._activations", "nn.functional._piecewise"),
         "Elementwise operations, with broadcasting."),
    Page("elementary", "Exponentials, angles, special functions", MG,
         ops("elementwise", "functions", "trigonometry", "special", "gamma_zeta", "xlogy") + ops("nn", "softmax")),
    Page("comparison", "Comparison and predicates", MG, ops("elementwise", "comparison", "predicates")),
    Page("complex", "Complex numbers", MG, ops("elementwise", "complex_numbers")),
    Page("reduction", "Sums, means, extrema", MG,
         ops("reduce", "reduction", "variance", "extrema", "summaries") + ops("scan", "running", "scans") + ops("linalg", "norms")),
    Page("shapes", "Shapes and views", MG,
         ops("shape", "views", "reshaping", "strided", "diagonals", "clone_cast") + ops("nn", "unfolding")
         + ops("base", "overwriting")),
    Page("joining", "Joining, repeating, arranging", MG,
         ops("shape", "cat_split", "splitting", "stacking", "repeating") + ops("linalg", "covariance")
         + ops("index", "view_scatter")),
    Page("indexing", "Indexing, sorting, searching", MG,
         ops("index", "indexing", "scattering", "take", "masking", "getitem")
         + ops("sort", "sorting", "searching", "unique", "counting")),
    Page("products", "Products of matrices", MG, ops("linalg", "matrix", "products", "contractions", "einsum", "pairwise")),
    Page("decompositions", "Decompositions of matrices", MG,
         ops("linalg", "factorizations", "inverses", "determinants", "matrix_functions", "pseudoinverses", "singular_values",
         "spectra", "least_squares", "tensor_systems", "matrices", "elimination")),
    Page("windows", "Convolution and pooling", MG, ops("nn", "convolution", "pooling", "averaging")),
    Page("linalg", "minigrad.linalg", "minigrad.linalg"),
    Page("functional", "minigrad.functional", "minigrad.functional", (), "Where the rarer functions of `minigrad` come from."),
    Page("special", "minigrad.special", "minigrad.special"),
    Page("fft", "minigrad.fft", "minigrad.fft"),
    Page("sparse", "minigrad.sparse", "minigrad.sparse", (), "Sparse tensors, stored dense."),
    Page("grading", "minigrad.grading", "minigrad.grading", (), "Homework: replace one part of the engine."),
    Page("autograd", "minigrad.autograd", "minigrad.autograd", (), "The calls that run the engine."),
    Page("autograd.gradcheck", "minigrad.autograd.gradcheck", "minigrad.autograd.gradcheck", (),
         "Finite differences say whether a derivative is right."),
    Page("autograd.function", "minigrad.autograd.function", "minigrad.autograd.function", (),
         "Differentiable functions of your own."),
    Page("autograd.graph", "minigrad.autograd.graph", "minigrad.autograd.graph", (),
         "The graph as a program sees it: nodes, edges, hooks, saved tensors."),
    Page("autograd.forward_ad", "minigrad.autograd.forward_ad", "minigrad.autograd.forward_ad", (), "Forward mode."),
    Page("autograd.functional", "minigrad.autograd.functional", "minigrad.autograd.functional", (), "Jacobians and Hessians."),
    Page("func", "minigrad.func", "minigrad.func", (), "Transforms of functions, which compose."),
    Page("cuda", "minigrad.cuda", "minigrad.cuda", (), "Tensors on a GPU. Not every op has its kernels yet: the others raise "
         "NotImplementedError."),
    Page("nn", "minigrad.nn", "minigrad.nn", (), "Modules."),
    Page("nn.functional", "minigrad.nn.functional", "minigrad.nn.functional"),
    Page("nn.init", "minigrad.nn.init", "minigrad.nn.init"),
    Page("nn.utils", "minigrad.nn.utils", "minigrad.nn.utils"),
    Page("nn.utils.rnn", "minigrad.nn.utils.rnn", "minigrad.nn.utils.rnn"),
    Page("nn.utils.parametrize", "minigrad.nn.utils.parametrize", "minigrad.nn.utils.parametrize", (),
         "A module computes a parameter from others."),
    Page("nn.utils.parametrizations", "minigrad.nn.utils.parametrizations", "minigrad.nn.utils.parametrizations"),
    Page("nn.utils.prune", "minigrad.nn.utils.prune", "minigrad.nn.utils.prune", (), "Set a part of a parameter to zero."),
    Page("nn.utils.stateless", "minigrad.nn.utils.stateless", "minigrad.nn.utils.stateless"),
    Page("optim", "minigrad.optim", "minigrad.optim"),
    Page("optim.lr_scheduler", "minigrad.optim.lr_scheduler", "minigrad.optim.lr_scheduler"),
    Page("optim.swa_utils", "minigrad.optim.swa_utils", "minigrad.optim.swa_utils"),
    Page("nn.parallel", "minigrad.nn.parallel", "minigrad.nn.parallel"),
    Page("serialization", "minigrad.serialization", "minigrad.serialization", (), "Files: what `save` writes and `load` reads."),
    Page("amp", "minigrad.amp", "minigrad.amp", (), "Mixed precision: autocast, and gradient scaling."),
    Page("compiler", "minigrad.compiler", "minigrad.compiler", (), "`compile` returns the function as it is."),
    Page("jit", "minigrad.jit", "minigrad.jit", (), "A scripted or traced function is the function as it is."),
    Page("profiler", "minigrad.profiler", "minigrad.profiler", (), "The time that each op takes."),
    Page("autograd.profiler", "minigrad.autograd.profiler", "minigrad.autograd.profiler"),
    Page("cpu", "minigrad.cpu", "minigrad.cpu", (), "The CPU as a device with streams and events."),
    Page("futures", "minigrad.futures", "minigrad.futures"),
    Page("utils.checkpoint", "minigrad.utils.checkpoint", "minigrad.utils.checkpoint", (),
         "Less memory, at the price of a second forward."),
    Page("utils.data", "minigrad.utils.data", "minigrad.utils.data"),
    Page("utils.hooks", "minigrad.utils.hooks", "minigrad.utils.hooks"),
    Page("utils.source", "minigrad.utils.source", "minigrad.utils.source"),
    Page("utils.python_dispatch", "minigrad.utils._python_dispatch", "minigrad.utils._python_dispatch", (),
         "Modes that see every op."),
    Page("utils.pytree", "minigrad.utils._pytree", "minigrad.utils._pytree"),
    Page("distributions", "minigrad.distributions", "minigrad.distributions", (),
         "Probability distributions: samples with gradients, densities, entropies, divergences."),
    Page("distributions.constraints", "minigrad.distributions.constraints", "minigrad.distributions.constraints", (),
         "Which values a parameter may have, and where samples lie."),
    Page("distributions.transforms", "minigrad.distributions.transforms", "minigrad.distributions.transforms", (),
         "Invertible functions with a tractable Jacobian determinant."),
    Page("distributions.relaxed_bernoulli", "minigrad.distributions.relaxed_bernoulli", "minigrad.distributions.relaxed_bernoulli"),
    Page("distributions.relaxed_categorical", "minigrad.distributions.relaxed_categorical",
         "minigrad.distributions.relaxed_categorical"),
    Page("distributions.utils", "minigrad.distributions.utils", "minigrad.distributions.utils"),
    Page("library", "minigrad.library", "minigrad.library", (), "Operators of your own, made from any function."),
    Page("run", "minigrad.run", "minigrad.run", (), "PyTorch programs, unchanged: :doc:`/from-pytorch`."),
    Page("late", "Functions from other modules", MG, ("functional", "func", "run"),
         "Names of `minigrad` that are imported when you ask for them. Their own modules describe them."),
    Page("testing", "minigrad.testing", "minigrad.testing"),
    Page("distributed", "minigrad.distributed", "minigrad.distributed", (),
         "Several ranks, which ``mpiexec -n 4 python train.py`` starts: groups, collectives, and messages from one to another."),
    Page("ddp_comm_hooks", "minigrad.distributed.algorithms.ddp_comm_hooks.default_hooks",
         "minigrad.distributed.algorithms.ddp_comm_hooks.default_hooks", (), "What ranks may do with a bucket of gradients."),
    Page("distributed.optim", "minigrad.distributed.optim", "minigrad.distributed.optim", (),
         "An optimizer whose state is spread over the ranks."),
    Page("distributed.checkpoint", "minigrad.distributed.checkpoint", "minigrad.distributed.checkpoint", (),
         "Checkpoints that all ranks write and read together."),
    Page("pipelining", f"{PIPELINING}._backward", f"{PIPELINING}._backward", (),
         "The backward of a pipeline stage, in one part or two."),
    Page("pipelines", PIPELINING, PIPELINING, (),
         "Stages and schedules of a pipeline, on ranks that mpiexec starts, or that share a process."),
    *[Page(f"pipelining{file}", f"{PIPELINING}.{file}", f"{PIPELINING}.{file}", (), text) for file, text in (
        ("schedules", "Schedules by name."),
        ("microbatch", "How a batch is split into microbatches, and how their outputs are merged."),
        ("_tables", "One function for each schedule: the order of actions on each rank."),
        ("_actions", "Schedules as data: what an action waits for, and when it runs."))],
    Page("errors", "minigrad.errors", "minigrad.errors", (), "The classes of errors. What each code means: :doc:`/errors/codes`."),
]
if (ROOT / "minigrad/viz").exists():
    PAGES.insert(-4, Page("viz", "minigrad.viz", "minigrad.viz", (), "Pictures of graphs, and backward step by step."))


def offered(namespace):
    """The public names of a module, submodules left out."""
    module = importlib.import_module(namespace)
    listed = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    return sorted([n for n in listed if not isinstance(getattr(module, n), types.ModuleType) and belongs(module, n)],
                  key=lambda n: (n.lower(), n))


def belongs(module, name):
    """Whether `name` is public: without ``__all__``, only if minigrad defines it and does not import it from elsewhere."""
    thing = getattr(module, name)
    return hasattr(module, "__all__") or module is mg or (getattr(thing, "__module__", None) or "").startswith("minigrad")


def defining():
    """The module that defines each ``minigrad.<name>``, named as in `Page.modules`."""
    found = {}
    modules = dict.fromkeys([module for page in PAGES for module in page.modules])       # in this order: the first page has a name
    for module in modules:
        loaded = importlib.import_module(f"minigrad.{module}")
        for name in [*getattr(loaded, "__all__", ()), *vars(loaded)]:
            thing = getattr(loaded, name)
            own = getattr(thing, "__module__", None)
            if name in getattr(loaded, "__all__", ()) or own == f"minigrad.{module}":
                found.setdefault(name, module)
    for home, listed in NAMES.items():      # imported when a program asks for them: most have a page of their module
        for name in listed.split():
            found.setdefault(name, home)
    for name in offered(MG):
        thing = getattr(mg, name)
        if thing is None or isinstance(thing, (mg.dtype, mg.layout, str, float)):
            found[name] = "dtypes"
        elif name in ("Device", "Size", "dtype"):
            found[name] = "_core.graph.metadata"
        elif isinstance(thing, mg.Generator):
            found[name] = "random._generator"
    return found


def names(page, known=None):
    """The names on a page, sorted."""
    if not page.modules:
        return offered(page.namespace)
    known = known or defining()
    found = [n for n in offered(page.namespace) if known.get(n) in page.modules]
    return sorted(found, key=lambda n: n != "Tensor")       # on its page the tensor comes first


# ---- a page in reStructuredText --------------------------------------------------------------------------


def write(pages):
    known, first = defining(), {}
    lost = [n for n in offered(MG) if n not in known]
    assert not lost, f"on no page of the reference: {lost}"
    for page in PAGES:
        lines = [page.title, "=" * len(page.title), "", text_of(page), "", f".. py:currentmodule:: {page.namespace}", ""]
        above, _, last = page.namespace.rpartition(".")
        if not page.modules and not callable(getattr(importlib.import_module(above), last)):     # gradcheck is both, as in PyTorch
            lines[-1:] = [f".. py:module:: {page.namespace}", ""]
        elif page is PAGES[0]:
            lines[-1:] = [".. py:module:: minigrad", ""]
        for name in names(page, known):
            lines += entry(page.namespace, name, first)
        pages.write(f"reference/{page.name}.rst", "\n".join(lines) + "\n")
    pages.write("reference/index.md", index())


def text_of(page):
    """The text under the title: the page's own, or the first line of the docstring if the page is a whole namespace."""
    first = (inspect.getdoc(importlib.import_module(page.namespace)) or "").partition("\n")[0]
    return page.text or ("" if page.modules else first)


def entry(namespace, name, first):
    """The lines for one name."""
    thing = getattr(importlib.import_module(namespace), name)
    full = f"{namespace}.{name}"
    if not callable(thing) or isinstance(thing, mg.dtype) or type(thing).__module__.startswith("minigrad.distributions"):
        return data(full, name, thing)
    seen = first.setdefault(id(thing), full)
    if seen != full:
        kind = "class" if inspect.isclass(thing) else "function"
        # "Raises: GradcheckError" may mean only one of the two names in the index.
        both = inspect.isclass(thing) and issubclass(thing, Exception)
        return [f".. py:{kind}:: {name}{'' if kind == 'class' else signature(thing)}", *["   :no-index:"] * both, "",
                f"   The same as `{seen}`.", ""]
    if inspect.isclass(thing):
        return [f".. autoclass:: {full}", "", *members(full, thing, first)]
    return [f".. autofunction:: {full}", ""]


def data(full, name, thing):
    if isinstance(thing, mg.dtype):
        text = f"Numbers of {thing.itemsize * 8} bits." if thing.name == name else f"The same as `minigrad.{thing.name}`."
    else:
        text = f"A {type(thing).__name__}."
    return [f".. py:data:: {name}", "", f"   {text}", ""]


def members(full, cls, first):
    """The documented methods and attributes of a class, without those of a base class that is itself on a page."""
    lines = []
    bases = [c for c in cls.__mro__[1:] if c in classes()]
    for name in sorted([n for n in dir(cls) if not n.startswith("_")]):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if owner is None or not owner.__module__.startswith("minigrad") or any(owner in base.__mro__ for base in bases):
            continue
        getattr(cls, name)      # imports a method that `import minigrad` leaves out
        thing = inspect.getattr_static(cls, name)
        raw = thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing
        plain = cls.__module__.startswith("minigrad.distributions") and not (callable(raw) or hasattr(type(raw), "__get__"))
        if not inspect.getdoc(raw) or plain:        # the docstring of a plain value is its type's
            continue
        if isinstance(raw, property):
            lines += [f"   .. autoproperty:: {full}.{name}", ""]
        elif inspect.isdatadescriptor(raw) or not callable(raw):
            lines += [f"   .. autoattribute:: {full}.{name}", "      :no-value:", ""]
        else:
            lines += method(full, name, cls, raw, first)
    return lines


@functools.cache
def classes():
    """All classes that are on a page."""
    things = [getattr(importlib.import_module(page.namespace), name) for page in PAGES for name in offered(page.namespace)]
    return {thing for thing in things if inspect.isclass(thing)}


def method(full, name, cls, raw, first):
    """The lines for a method. If it is also a function of minigrad, or another name of a method, a line points there."""
    if cls is not mg.Tensor:
        return [f"   .. automethod:: {full}.{name}", ""]
    seen = first.setdefault(id(raw), f"{full}.{name}")
    if getattr(mg, name, None) is raw:
        said = f"`minigrad.{name}` as a method."
    elif seen != f"{full}.{name}":
        said = f"The same as `{seen}`."
    else:
        return [f"   .. automethod:: {full}.{name}", ""]
    return [f"   .. py:method:: {name}{signature(raw, drop=True)}", "", f"      {said}", ""]


def signature(thing, drop=False):
    """The parameters as text; `drop` leaves out the first, for methods."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters[drop:]]
    return re.sub(r"<([^>]*?) at 0x[0-9a-f]+>", r"<\1>", str(inspect.Signature(plain)))


def index():
    tensors = [p.name for p in PAGES if p.namespace == MG or p.name in ("minigrad.random", "linalg", "special", "fft", "cuda")]
    derivatives = ("autograd", "func", "library", "viz", "utils.checkpoint", "utils.python")
    autograd = [p.name for p in PAGES if p.name.startswith(derivatives)]
    rest = [p.name for p in PAGES if p.name not in tensors and p.name not in autograd]
    parts = [("Tensors and operations", [*tensors, "ops"]), ("Derivatives", autograd), ("Networks, training, helpers", rest)]
    text = ["# Reference\n", "Names, signatures and module paths are PyTorch's. Nearly every entry has a link to its source and an "
            "example that the tests run.\n"]
    for title, found in parts:
        text.append(f"## {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(found) + "\n```\n")
    return "\n".join(text)
