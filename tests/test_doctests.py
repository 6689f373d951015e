"""Every example in a public docstring runs and prints the text shown; everything public has an example, or a reason for none."""

import contextlib
import doctest
import importlib
import inspect
import io
import types

import pytest

import minigrad as mg
from minigrad import autograd, library, nn, optim
from minigrad.autograd import functional as derivatives
from minigrad.autograd import graph
from minigrad.distributed import pipelining
from minigrad.distributed.pipelining import _actions, _backward, _tables, microbatch, schedules
from minigrad.nn import functional, init
from minigrad.utils import _python_dispatch, _pytree

NAMESPACES = {"mg": mg, "mg.nn": nn, "mg.nn.functional": functional, "mg.nn.init": init, "mg.optim": optim, "mg.autograd": autograd,
              "mg.autograd.graph": graph, "mg.autograd.functional": derivatives, "mg.func": mg.func, "mg.random": mg.random,
              "mg.utils.checkpoint": mg.utils.checkpoint, "mg.utils.hooks": mg.utils.hooks, "mg.utils.source": mg.utils.source,
              "mg.utils._python_dispatch": _python_dispatch, "mg.utils._pytree": _pytree,
              "mg.distributed": mg.distributed, "mg.distributed.pipelining": pipelining, "mg.library": library,
              **{module.__name__.replace("minigrad", "mg", 1): module for module in (_actions, _backward, _tables, microbatch, schedules)}}
CLASSES = {"mg.Tensor": mg.Tensor, "mg.nn.Module": nn.Module, "mg.nn.Sequential": nn.Sequential,
           "mg.optim.Optimizer": optim.Optimizer, "mg.utils._python_dispatch.TorchDispatchMode": _python_dispatch.TorchDispatchMode,
           "mg.utils._python_dispatch.Operator": _python_dispatch.Operator,
           "mg.library.CustomOpDef": library.CustomOpDef,
           "mg.debug": mg.debug, "mg.Generator": mg.Generator, "mg.Size": mg.Size, "mg.dtype": mg.dtype, "mg.device": mg.device}

NAMESPACES |= {"mg.functional": mg.functional, "mg.run": mg.run, "mg.testing": mg.testing, "mg.nn.utils": nn.utils, "mg.nn.utils.rnn": nn.utils.rnn, "mg.utils.data": mg.utils.data, "mg.optim.lr_scheduler": optim.lr_scheduler,
               "mg.optim.swa_utils": optim.swa_utils, "mg.viz": mg.viz, "mg.linalg": mg.linalg, "mg.special": mg.special, "mg.fft": mg.fft, "mg.sparse": mg.sparse,
               "mg.grading": mg.grading,
               "mg.errors": mg.errors, "mg.autograd.gradcheck": importlib.import_module("minigrad.autograd.gradcheck"),
               "mg.autograd.forward_ad": autograd.forward_ad, "mg.autograd.function": autograd.function}

# The surroundings of a program: minigrad/_late.py.
NAMESPACES |= {f"mg.{name}": importlib.import_module(f"minigrad.{name}") for name in (
    "amp", "autograd.profiler", "compiler", "cpu", "futures", "jit", "nn.parallel", "profiler", "serialization")}
NAMESPACES |= {f"mg.{name}": importlib.import_module(f"minigrad.{name}") for name in (
    "distributed.algorithms.ddp_comm_hooks.default_hooks", "distributed.checkpoint", "distributed.optim")}
NAMESPACES |= {f"mg.nn.utils.{name}": getattr(nn.utils, name) for name in ("parametrizations", "parametrize", "prune", "stateless")}


NAMESPACES |= {"mg.distributions": mg.distributions, "mg.distributions.constraints": mg.distributions.constraints,
               "mg.distributions.transforms": mg.distributions.transforms, "mg.distributions.utils": mg.distributions.utils,
               "mg.distributions.relaxed_bernoulli": importlib.import_module("minigrad.distributions.relaxed_bernoulli"),
               "mg.distributions.relaxed_categorical": importlib.import_module("minigrad.distributions.relaxed_categorical")}


def public(namespace):
    """The names that a module or class offers."""
    listed = getattr(namespace, "__all__", None)
    return [n for n in (listed or dir(namespace)) if not n.startswith("_")]


def documented():
    """name -> object: functions, classes and methods of minigrad, each once."""
    found, seen = {}, set()
    for prefix, namespace in {**NAMESPACES, **CLASSES}.items():
        for name in public(namespace):
            thing = getattr(namespace, name)        # imports what `import minigrad` leaves out, which getattr_static does not
            thing = thing if isinstance(namespace, types.ModuleType) else inspect.getattr_static(namespace, name)
            thing = thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing
            own = getattr(thing, "home", [None])[0] or getattr(thing, "__module__", None) or getattr(getattr(thing, "__objclass__", None), "__module__", "")
            if isinstance(thing, (types.ModuleType, mg.dtype)) or not (callable(thing) or hasattr(thing, "__get__")):
                continue
            if own == "minigrad._core.graph.tensor" or inspect.isdatadescriptor(thing):   # the graph's own fields; attributes
                continue
            inherited = inspect.isclass(namespace) and not ours(namespace, name)
            if id(thing) in seen or inherited or not (own or "").startswith("minigrad"):
                continue
            seen.add(id(thing))
            found[f"{prefix}.{name}"] = thing
    return found


def ours(cls, name):
    """Whether a class of minigrad defines the attribute, not one of Python's that it inherits from."""
    owner = next((c for c in cls.__mro__ if name in vars(c)), None)
    return owner is not None and getattr(owner, "home", (owner.__module__,))[0].startswith("minigrad")


DOCUMENTED = documented()


def examples(name):
    doc = inspect.getdoc(DOCUMENTED[name]) or ""
    return doctest.DocTestParser().get_doctest(doc, {"mg": mg, "nn": nn, "F": functional}, name, None, 0)


@pytest.fixture(autouse=True)
def threads():
    before = mg.get_num_threads()
    yield
    mg.set_num_threads(before)
    assert not mg.distributed.is_initialized(), "the example has left a process group"


@pytest.mark.parametrize("name", [n for n in DOCUMENTED if examples(n).examples])
def test_example(name, hide_torch):
    said = io.StringIO()
    if name.endswith("as_torch"):       # an example for a program that has not imported PyTorch
        hide_torch()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    with contextlib.redirect_stdout(io.StringIO()):
        runner.run(examples(name), out=said.write)
    assert runner.failures == 0, said.getvalue()


# No example of its own, and why.
WITHOUT = {
    **dict.fromkeys([f"mg.distributed.{name}" for name in ("P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send")],
                    "it takes two ranks: tests/distributed/programs.py"),
    "mg.Tensor.bump": "the version protocol, for optimisers",
    "mg.debug.enter": "of all modes: what `with` does on entering",
    "mg.debug.clone": "of all modes: what a decorated function enters",
    "mg.nn.Module.forward": "each subclass has its own: see Module",
    "mg.nn.Module.extra_repr": "each subclass has its own",
    "mg.nn.Sequential.forward": "what calling it does: see Sequential",
    "mg.optim.Optimizer.update": "each subclass has its own: see Optimizer",
}



def test_everything_is_documented():
    missing = [n for n, thing in DOCUMENTED.items() if not inspect.getdoc(thing)]
    assert not missing, f"without a docstring: {missing}"


def test_everything_has_an_example_or_a_reason():
    missing = [n for n in DOCUMENTED if not examples(n).examples and n not in WITHOUT]
    assert not missing, f"without an example: {missing}"
    assert set(WITHOUT) <= set(DOCUMENTED), "reasons for what is not there"
    assert not [n for n in WITHOUT if examples(n).examples], "reasons for what has an example"


def test_every_page_of_the_reference_is_searched():
    """A namespace in no list above would have examples that nothing runs."""
    pages = pytest.importorskip("tools.docs.reference").PAGES       # a wheel brings the tests alone
    missing = {page.namespace.replace("minigrad", "mg", 1) for page in pages} - set(NAMESPACES)
    assert missing == {"mg.cuda"}       # most of its functions need a GPU, and have no example


def test_the_search_finds_things():
    assert {"mg.tensor", "mg.Tensor", "mg.Tensor.backward", "mg.nn.Linear", "mg.optim.SGD", "mg.autograd.grad",
            "mg.nn.functional.relu"} <= set(DOCUMENTED)
    assert len(DOCUMENTED) > 200
