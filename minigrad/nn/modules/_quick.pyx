"""Two functions in C that every training step calls for a module: look up an attribute, and call the module.

    layer.weight        a parameter, buffer or module       instead of Python's own look-up, then Module.__getattr__
    layer(x)            a module without hooks              instead of Module.__call__

The methods of `Module` in ``module.py`` define the behaviour. The functions here do the same faster for the ordinary case, and
leave every other case to the methods. An interpreted minigrad has only the methods.

Note [Looking up a parameter]
    A parameter is in a table where Python does not look. So Python's look-up fails, and only then calls __getattr__. Up to 3.11 it
    first builds an AttributeError with its text; together this takes 5,800 instructions. A training step of a perceptron (64-64-10,
    one sample) did that five times, in 330,000 instructions. We search the tables before Python fails: 400 instructions. The order
    stays: first an attribute of the class, such as a property or a plain value, then the module's ``__dict__``, then the tables.

    Later versions of Python fail faster. In 3.13 a parameter takes 0.2 microseconds instead of 0.7, and a call 0.7 instead of 2.2.
    The price: an attribute that needs no __getattr__ takes 0.17 instead of 0.10, for Python caches the place of such an attribute.

Note [Slots of modules]
    Each class has two slots, tp_getattro and tp_call: C functions that look up an attribute of an instance and call an instance. If
    the class has __getattr__ or __call__ written in Python, Python fills the slot with a function that finds and calls the method.
    `quicken` replaces both functions in a class that inherits the methods from `Module`. It leaves a subclass with methods of its
    own alone. If a class gets such a method later, Python restores its own functions, in all subclasses too.

PyTorch has no such code: its `Module` is written in Python alone.
"""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject

from minigrad.nn.modules._hooks import _backward_hooks, _backward_pre_hooks, _forward_hooks, _forward_pre_hooks

cdef extern from "internals.h":
    ctypedef object (*getattrofunc)(object, object)
    ctypedef object (*ternaryfunc)(object, object, PyObject *)
    void set_getattr "mg_set_getattr"(object cls, getattrofunc function)
    void set_call "mg_set_call"(object cls, ternaryfunc function)
    bint found_in_class "mg_found_in_class"(object x, object name)

cdef extern from "Python.h":
    dict dict_of "PyObject_GenericGetDict"(object x, void *unused)
    object ordinary_look_up "PyObject_GenericGetAttr"(object x, object name)
    object call_with "PyObject_Call"(object function, object args, PyObject *kwargs)

cdef tuple TABLES = ("_parameters", "_buffers", "_modules")
cdef tuple HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
cdef tuple HOOKS_OF_ALL = (_forward_hooks, _forward_pre_hooks, _backward_hooks, _backward_pre_hooks)


def quicken(cls, Module):
    """Put the functions below into the slots of `cls`, a subclass of the class `Module`. See Note [Slots of modules]."""
    if not isinstance(cls, type) or not isinstance(Module, type):
        raise TypeError(f"{cls!r} or {Module!r} is not a class")
    if cls.__getattribute__ is object.__getattribute__:
        if cls.__getattr__ is Module.__getattr__:
            set_getattr(cls, look_up)
        if cls.__call__ is Module.__call__:
            set_call(cls, call)


cdef object look_up(object module, object name):
    """See Note [Looking up a parameter]."""
    cdef dict own
    cdef PyObject *table
    cdef PyObject *found
    if not found_in_class(module, name):
        own = dict_of(module, NULL)
        found = PyDict_GetItemWithError(own, name)
        if found != NULL:
            return <object>found
        for key in TABLES:
            table = PyDict_GetItemWithError(own, key)
            if table == NULL or type(<object>table) is not dict:    # __init__ has not run, or a user's own kind of dict is there
                break
            found = PyDict_GetItemWithError(<object>table, name)
            if found != NULL:
                return <object>found
    try:
        return ordinary_look_up(module, name)
    except AttributeError:
        pass
    return type(module).__getattr__(module, name)       # that of Module: raises an error that names the class


cdef object call(object module, object args, PyObject *kwargs):
    """Call ``forward`` if there are no hooks. Without a table of hooks, __init__ has not run: `_call_with_hooks` raises."""
    cdef dict own = dict_of(module, NULL)
    cdef PyObject *table
    cdef Py_ssize_t i
    for i in range(len(HOOKS)):
        table = PyDict_GetItemWithError(own, HOOKS[i])
        if table == NULL or <object>table or HOOKS_OF_ALL[i]:
            return module._call_with_hooks(args, {} if kwargs == NULL else <object>kwargs)
    return call_with(look_up(module, "forward"), args, kwargs)
