"""The methods and options of a custom Function's class, as a call needs them.

Note [A class may change]
    A program may replace a method of a class, or of a base of it, at any time: ``Cube.backward = staticmethod(f)``. So each
    call must ask the class for its methods, forward for four attributes and backward for two: a twelfth of the time of a small
    Function. CPython has a number for each class, which changes with the class and its bases (it serves the caches of the
    interpreter). `Methods` keeps what it found together with that number, and looks again when the number is another one.
    Interpreted, it always looks. (A user's descriptor that gives another method at each look-up, or a property of
    a metaclass, does not change that number: compiled, it is asked once.)

Mirrors nothing: PyTorch looks each time. Read next: ``function/node.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.capi import class_version

from minigrad.errors import AutogradError, AutogradTypeError

# The class `Function`, to see whether a subclass overrides a method; and the class of nodes. Supplied by those who define them.
base = cython.declare(object, None)
node_base = cython.declare(object, None)


def use_function(cls):
    """Supply the class `Function`."""
    global base
    base = cls


def use_node_class(cls):
    """Supply `PyNode`."""
    global node_base
    node_base = cls


@cython.binding(False)
@cython.cclass
class Methods:
    """What a call of a Function needs to know of its class `cls`.

    node_class      the class of its nodes, ``_backward_cls``
    setup_context   None, if the class does not override it
    backward        the class's `backward` or `vjp`; None, if it has both
    boxed, once     the options `boxed_grads_call` and `clear_saved_tensors_on_access`
    """

    def __init__(self, cls):
        self.cls = cls
        self.version = 0

    def __reduce__(self):
        return Methods, (self.cls,)

    def update(self):
        """Look the methods up, if the class may have changed since. See Note [A class may change]."""
        version: cython.uint = class_version(self.cls)
        if version != 0 and version == self.version:
            return None
        cls = self.cls
        node_class = cls._backward_cls
        if not (isinstance(node_class, type) and issubclass(node_class, node_base)):
            raise AutogradTypeError("MG-E140", f"_backward_cls of {cls.__name__} must be a subclass of BackwardCFunction, but got "
                                    f"{node_class!r}")
        self.node_class = node_class
        self.boxed = read_option(cls, "boxed_grads_call", cls.boxed_grads_call)
        self.once = read_option(cls, "clear_saved_tensors_on_access", cls.clear_saved_tensors_on_access)
        self.forward = cls.forward
        setup_context = cls.setup_context
        self.setup_context = None if setup_context is base.setup_context else setup_context
        backward, vjp = cls.backward, cls.vjp
        self.backward = backward if vjp is base.vjp else vjp if backward is base.backward else None
        self.version = version      # last: if a line above raises, or another thread runs there, it counts as not looked up
        return None


@cython.cfunc
def read_option(cls, name, value) -> cython.bint:
    if value is not True and value is not False:
        raise AutogradError("MG-E150", f"{name} of {cls.__name__} must be a bool, but is of type {type(value).__name__}",
                            fix=f"{name} = True")
    return value is True
