"""The interpreted twins of the few things that the engine asks of C.

Compiled, ``capi.pxd`` supplies them as inline C and this file is not used. Interpreted, Python has an
answer to each, only slower.
"""

import sys
import threading

__all__ = [
    "allocate",
    "change_class",
    "check_signals",
    "dict_values",
    "fill_new_instances",
    "find_recycler",
    "has_shape",
    "has_type",
    "inherit_dealloc",
    "inherit_number_slots",
    "is_c_contiguous",
    "named_subclass",
    "recycle",
    "reference_count",
    "shape_key",
    "thread_id",
    "try_call1",
    "try_call2",
    "try_call3",
    "try_call5",
    "try_call6",
    "type_number",
]


def thread_id():
    """A number for the calling thread (compiled: one that is never used again)."""
    return threading.get_ident()


def check_signals():
    """Let a pending Ctrl-C raise. Interpreted code does so by itself."""


def inherit_dealloc(sub, base):
    """Let instances of `sub` die as those of `base` do. Interpreted, they do."""


def inherit_number_slots(sub, base):
    """Call the operators of `sub` without a look-up by name. Interpreted, there is no such way."""


def try_call(f, *args):
    """``f(*args)``, or None if it raises what a kernel raises for operands that do not fit or a result that is too large."""
    try:
        return f(*args)
    except (IndexError, MemoryError, OverflowError, ValueError):
        return None


try_call1 = try_call2 = try_call3 = try_call5 = try_call6 = try_call


def named_subclass(base, name):
    """A class that is `base` under another name. Nobody can make instances of it, or subclasses."""
    def refuse(cls, *args, **kwargs):
        raise TypeError(f"cannot create '{name}' instances")

    def refuse_subclass(cls, **kwargs):
        raise TypeError(f"type '{name}' is not an acceptable base type")

    return type(base)(name, (base,), {"__module__": "builtins", "__doc__": None, "__new__": refuse,
                                      "__init_subclass__": classmethod(refuse_subclass)})


def change_class(obj, cls):
    """Make `obj` an instance of such a subclass of its class. Interpreted, it is made as one."""


def reference_count(obj):
    """Number of references to `obj`, a local variable of the caller's, less those that this call itself makes."""
    return sys.getrefcount(obj) - _made_by_the_call


def _alone():
    """What `reference_count` says of an object that one local variable holds."""
    probe = object()
    return reference_count(probe)


# The argument of this function and that of ``getrefcount``: two, but for Python 3.14, which lends some arguments instead of
# counting them.
_made_by_the_call = 0
_made_by_the_call = _alone() - 1


def find_recycler(capsule):
    """The address of the function that takes over arrays, or none: interpreted, Python frees them."""


def recycle(recycler, array):
    """Hand `array`, which only the caller holds, to the pool that it may have come from."""


def allocate(base, cls, empty):
    """An instance of `cls` whose ``__init__`` has not run."""
    return object.__new__(cls)


def fill_new_instances(base, filler):
    """From now on give each instance of `base` that is made by ``__new__``, and not by `allocate`, to `filler`."""
    def new(cls, *args, **kwargs):
        made = object.__new__(cls)
        filler(made)
        return made
    base.__new__ = staticmethod(new)


def dict_values(d):
    """The values of a dict, or of an instance of a subclass, as a list of their own."""
    return list(d.values())


def type_number(array):
    """NumPy's number for the type of an array's elements; -1 if their bytes are swapped."""
    return array.dtype.num if array.dtype.isnative else -1


def shape_key(array):
    """A number that arrays of one shape and type of elements have in common, and few others."""
    return hash((array.shape, array.dtype.num))


def has_type(array, dtype):
    """Whether `array` has this dtype of NumPy's."""
    return array.dtype is dtype


def has_shape(array, shape):
    """Whether `array` has this shape."""
    return array.shape == shape


def is_c_contiguous(array):
    """Whether an array of NumPy's may be written to and lies in memory without gaps, row by row."""
    return array.flags.carray
