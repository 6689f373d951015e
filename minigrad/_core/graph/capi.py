"""The interpreted twins of the C functions that the engine calls.

Compiled, ``capi.pxd`` supplies them as inline C, and this file is not used. Interpreted, Python does the same, only slower.
"""

import sys
from _thread import get_ident
from weakref import getweakrefcount
from weakref import ref as weak_reference

from minigrad._core.graph.locks import registering

__all__ = [
    "accumulator_of",
    "allocate",
    "allocate_accumulator",
    "allocate_node",
    "allocate_tensor",
    "as_tuple",
    "call1",
    "call2",
    "call3",
    "call4",
    "call_rest",
    "call_rest2",
    "call_saved",
    "check_signals",
    "class_version",
    "count_seldom",
    "dict_values",
    "fill_new_instances",
    "find_recycler",
    "has_shape",
    "has_type",
    "has_weak_reference",
    "index_in_c",
    "inherit_dealloc",
    "inherit_number_slots",
    "is_c_contiguous",
    "is_part_of",
    "keep_accumulators",
    "keep_instances",
    "keep_nodes",
    "leave_leaf",
    "named_subclass",
    "new_tuple",
    "owns_rows",
    "put_item",
    "recycle",
    "reference_count",
    "set_accumulator",
    "shape_key",
    "show_less",
    "thread_id",
    "try_call1",
    "try_call2",
    "try_call_rest",
    "try_call_rest2",
    "type_number",
    "weak_reference",
]


def thread_id():
    """A number for the calling thread (compiled: one that is never used again)."""
    return get_ident()


def check_signals():
    """Let a pending Ctrl-C raise. Interpreted code does so by itself."""


def inherit_dealloc(sub, base):
    """Free instances of `sub` like instances of `base`. Interpreted, there is nothing to do."""


def count_seldom(cls):
    """Let the collector count few of the new instances of `cls` and its subclasses. Interpreted, it counts all."""


def keep_instances(cls):
    """Make the instances of `cls` from dead ones. Interpreted, there is nothing to do."""


def inherit_number_slots(sub, base):
    """Call the operators of `sub` without a look-up by name. Interpreted, this is not possible."""


def index_in_c(size_class):
    """Let C index a `Size`. Interpreted, its __getitem__ does."""


def call(f, *args):
    """``f(*args)``."""
    return f(*args)


call1 = call2 = call3 = call4 = call


def try_call(f, *args):
    """``f(*args)``, or None if it raises one of the errors of a kernel: operands do not fit, or the result is too large."""
    try:
        return f(*args)
    except (IndexError, MemoryError, OverflowError, ValueError):
        return None


try_call1 = try_call2 = try_call


def call_rest(f, a, rest, start):
    """``f(a, *rest[start:])``."""
    return f(a, *rest[start:])


def call_rest2(f, a, b, rest, start):
    """``f(a, b, *rest[start:])``."""
    return f(a, b, *rest[start:])


def call_saved(f, grad, a, b, rest, n):
    """``f(grad, *saved)``, where the `n` saved values are `a`, `b` and `rest`, or the items of the list `rest` if n > 3."""
    return f(grad, *(a, b, rest)[:n]) if n <= 3 else f(grad, a, b, *(rest or ()))


def try_call_rest(f, a, rest, start):
    """`call_rest`, or None if it raises one of the errors of a kernel."""
    return try_call(f, a, *rest[start:])


def try_call_rest2(f, a, b, rest, start):
    """`call_rest2`, or None if it raises one of the errors of a kernel."""
    return try_call(f, a, b, *rest[start:])


def named_subclass(base, name):
    """A subclass of `base` with another name. Users cannot make instances or subclasses of it."""
    def refuse(cls, *args, **kwargs):
        raise TypeError(f"cannot create '{name}' instances")

    def refuse_subclass(cls, **kwargs):
        raise TypeError(f"type '{name}' is not an acceptable base type")

    return type(base)(name, (base,), {"__module__": "builtins", "__doc__": None, "__new__": refuse,
                                      "__init_subclass__": classmethod(refuse_subclass)})


def allocate_node(base, cls):
    """A node of the class `cls`, from `named_subclass`."""
    return object.__new__(cls)


def keep_nodes(cls):
    """Make the instances of `cls` from dead ones. Interpreted, there is nothing to do."""


def allocate_accumulator(cls):
    """An AccumulateGrad without a leaf."""
    return cls()


def accumulator_of(extra):
    """The AccumulateGrad node that the `AutogradMeta` of a leaf knows, or None."""
    node = None if extra.accumulator is None else extra.accumulator()
    return extra.shared_accumulator if node is None else node


def set_accumulator(extra, node):
    """Let the `AutogradMeta` of a leaf know `node`, or no node if it is None."""
    extra.accumulator = None if node is None else weak_reference(node)


def leave_leaf(node):
    """Let the leaf of a dead `node` forget it. Interpreted, it has a weak reference."""


def keep_accumulators(cls):
    """Make the instances of `cls` from dead ones. Interpreted, there is nothing to do."""


def show_less(cls):
    """Show the collector few of the fields of a node. Interpreted, it visits the dict of each node."""


def class_version(cls):
    """A number that changes whenever the class changes. Interpreted, it is always 0: unknown."""
    return 0


def new_tuple(n):
    """A tuple with `n` items for `put_item`. Interpreted, it is a list until `as_tuple`."""
    return [None] * n


def put_item(items, i, x):
    """Set item `i` of a result of `new_tuple`."""
    items[i] = x


def as_tuple(items):
    """The result of `new_tuple`, when all its items are set."""
    return tuple(items)


def reference_count(obj):
    """The number of references to `obj`, a local variable of the caller, without those that this call itself makes."""
    return sys.getrefcount(obj) - _made_by_the_call


def _alone():
    """The result of `reference_count` for an object that only one local variable holds."""
    probe = object()
    return reference_count(probe)


# The references of `reference_count` itself: its argument and the argument of ``getrefcount``. They are two, except in
# Python 3.14, which lends some arguments instead of counting them.
_made_by_the_call = 0
_made_by_the_call = _alone() - 1


def has_weak_reference(o):
    """Whether there is a weak reference to `o`."""
    return getweakrefcount(o) > 0


def find_recycler(capsule):
    """The address of the function that takes arrays back into the pool. Interpreted, there is no pool."""


def recycle(recycler, array):
    """Give `array`, which only the caller holds, back to the pool. Interpreted, there is no pool."""


def allocate(base, cls, empty):
    """An instance of `cls` whose ``__init__`` has not run."""
    return object.__new__(cls)


def allocate_tensor(base, cls):
    """A tensor of the class `cls` without fields."""
    return object.__new__(cls)


def fill_new_instances(base, filler):
    """From now on, call `filler` on each instance of `base` that is made by ``__new__`` and not by `allocate_tensor`."""
    def new(cls, *args, **kwargs):
        made = object.__new__(cls)
        filler(made)
        return made
    base.__new__ = staticmethod(new)


def dict_values(d):
    """A tuple of the values of a dict, or of a subclass of dict. See Note [Two threads, one table of hooks] in handle.py."""
    with registering:
        return tuple(d.values())


def type_number(array):
    """NumPy's number for the type of an array's elements; -1 if their bytes are swapped."""
    return array.dtype.num if array.dtype.isnative else -1


def shape_key(array):
    """A hash of the shape and the dtype of an array."""
    return hash((array.shape, array.dtype.num))


def has_type(array, dtype):
    """Whether `array` has this NumPy dtype object."""
    return array.dtype is dtype


def has_shape(array, shape):
    """Whether `array` has this shape."""
    return array.shape == shape


def is_c_contiguous(array):
    """Whether a NumPy array is writable and contiguous in row-major order."""
    return array.flags.carray


def is_part_of(view, owner):
    """Whether `view` shows memory of the NumPy array `owner`, which is nobody's view."""
    return view.base is owner


def owns_rows(array):
    """Whether a NumPy array is writable, contiguous in row-major order, and the owner of its memory."""
    return array.flags.carray and array.flags.owndata and array.base is None
