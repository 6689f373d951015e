"""What every step does with a module, in C: look up its attributes, and call it.

    layer.weight        a parameter, buffer or module       by _tree.py: Python's own look-up, then Tree.__getattr__
    layer(x)            a module without hooks              by _hooks.py: Hooked.__call__

Those two say what happens; this is the same, quicker, for what nearly always holds, and leaves all else to them. Without it, as
when minigrad runs interpreted, a `Module` does nothing else.

Note [Looking up a parameter]
    A parameter lies nowhere that Python looks by itself. So Python fails, and up to 3.11 has made an AttributeError with its text,
    before it asks __getattr__: together 5,800 instructions. A training step of a perceptron (64-64-10, one sample) did that five
    times, in 330,000. We look into the tables instead of failing: 400. What Python finds comes first as ever: an attribute of the
    class, be it a property or a plain value, then the module's own ``__dict__``.

    Later versions of Python fail at a lower price. In 3.13 a parameter takes 0.2 microseconds in place of 0.7, and a call 0.7 in
    place of 2.2; but an attribute that needs no __getattr__ takes 0.17 in place of 0.10, which Python remembers places for.

Note [Slots of modules]
    Python keeps two functions in a class that say how its instances are asked for attributes and how they are called (tp_getattro
    and tp_call). Where a class has __getattr__ or __call__ written in Python they are Python's own, which look for these and call
    them. `quicken` puts ours in their place in a class that has inherited these from us. A subclass with methods of its own is left
    alone; and when somebody puts one into a class later, Python puts its own functions back, in all its subclasses too.

PyTorch has nothing like it: there a `Module` is Python alone.
"""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject

from minigrad.nn.modules._hooks import Hooked, _backward_hooks, _backward_pre_hooks, _forward_hooks, _forward_pre_hooks
from minigrad.nn.modules._tree import Tree

cdef extern from *:
    """
    #define MG_FOUND_IN_CLASS(x, name) (_PyType_Lookup(Py_TYPE(x), name) != NULL)

    static void mg_set_getattr(PyObject *cls, getattrofunc function) {
        ((PyTypeObject *)cls)->tp_getattro = function;
        PyType_Modified((PyTypeObject *)cls);
    }
    static void mg_set_call(PyObject *cls, ternaryfunc function) {
        ((PyTypeObject *)cls)->tp_call = function;
        PyType_Modified((PyTypeObject *)cls);
    }
    """
    ctypedef object (*getattrofunc)(object, object)
    ctypedef object (*ternaryfunc)(object, object, PyObject *)
    void set_getattr "mg_set_getattr"(object cls, getattrofunc function)
    void set_call "mg_set_call"(object cls, ternaryfunc function)
    bint found_in_class "MG_FOUND_IN_CLASS"(object x, object name)
    dict dict_of "PyObject_GenericGetDict"(object x, void *unused)
    object ordinary_look_up "PyObject_GenericGetAttr"(object x, object name)
    object call_with "PyObject_Call"(object function, object args, PyObject *kwargs)

cdef tuple TABLES = ("_parameters", "_buffers", "_modules")
cdef tuple HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
cdef tuple HOOKS_OF_ALL = (_forward_hooks, _forward_pre_hooks, _backward_hooks, _backward_pre_hooks)


def quicken(cls):
    """Let `cls`, a subclass of `Module`, look up attributes and be called by the functions below. See Note [Slots of modules]."""
    if not isinstance(cls, type):
        raise TypeError(f"{cls!r} is no class")
    if cls.__getattribute__ is object.__getattribute__:
        if cls.__getattr__ is Tree.__getattr__:
            set_getattr(cls, look_up)
        if cls.__call__ is Hooked.__call__:
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
            if table == NULL or type(<object>table) is not dict:    # __init__ has not run, or somebody wants to know who looks
                break
            found = PyDict_GetItemWithError(<object>table, name)
            if found != NULL:
                return <object>found
    try:
        return ordinary_look_up(module, name)
    except AttributeError:
        pass
    return Tree.__getattr__(module, name)       # says what is missing


cdef object call(object module, object args, PyObject *kwargs):
    """A table of hooks that is not there means that __init__ has not run, which the long way finds too."""
    cdef dict own = dict_of(module, NULL)
    cdef PyObject *table
    cdef Py_ssize_t i
    for i in range(len(HOOKS)):
        table = PyDict_GetItemWithError(own, HOOKS[i])
        if table == NULL or <object>table or HOOKS_OF_ALL[i]:
            return module._call_with_hooks(args, {} if kwargs == NULL else <object>kwargs)
    return call_with(look_up(module, "forward"), args, kwargs)
