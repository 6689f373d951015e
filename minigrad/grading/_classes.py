"""The swaps of methods: how an optimizer updates a parameter, and how a layer computes its output."""

from minigrad._core.graph.tensor import TensorBase
from minigrad.errors import AutogradTypeError
from minigrad.nn import Module
from minigrad.optim import Optimizer

__all__ = ["layer", "optimizer_step"]


def method(student, base, name, function):
    """(enter, leave) that set the method `name` of the class that ``of=`` names, a subclass of `base`."""
    cls = student.of
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise AutogradTypeError("MG-E180", f"swap({student.part!r}): of= must be a class",
                                expected=f"a subclass of {base.__name__}", found=repr(cls))

    def enter():
        before = vars(cls).get(name)
        setattr(cls, name, function)
        return before

    def leave(before):
        if before is None:
            delattr(cls, name)
        else:
            setattr(cls, name, before)
    return enter, leave


def optimizer_step(student):
    def update(optimizer, param, grad, group, state):
        shape, dtype = param.shape, param.dtype
        found = student(param, grad, group, state)
        if found is not None:
            raise student.error("returned something", expected="None: it writes to `param` in place", found=found)
        if param.shape != shape or param.dtype != dtype:
            raise student.error("changed the kind of a parameter", expected=f"{dtype}, shape {list(shape)}", found=param)
    return method(student, Optimizer, "update", update)


def layer(student):
    def forward(module, *inputs, **keywords):
        with_keywords = (lambda *given: student.function(*given, **keywords)) if keywords else student.function
        student.count()
        found = with_keywords(module, *inputs)
        if not isinstance(found, (TensorBase, tuple)):
            raise student.error(f"returned no tensor for {type(module).__name__}", expected="a Tensor, or a tuple of Tensors",
                                found=found)
        return found
    return method(student, Module, "forward", forward)
