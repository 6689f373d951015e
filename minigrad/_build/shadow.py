"""The module `cython` of interpreted runs: the decorators do nothing, and the C types are Python's.

The sources of the core and of the ops say ``import cython``. Compiled, the name is the compiler's and nothing is imported. Interpreted,
`pure.install` puts this module in its place, so that minigrad needs no Cython at run time, whatever version of it another
project has installed. A name that minigrad does not use is looked up in the installed Cython.

Mirrors ``Cython/Shadow.py``.
"""

__path__ = []       # a package, with a module `cimports`: see `pure.CimportFinder`
compiled = False
_ABSENT = object()


class CType:
    """A C type of numbers: calling it converts a number."""

    def __init__(self, convert):
        self.convert = convert

    def __call__(self, value=0):
        return self.convert(value)


bint = CType(bool)
double = CType(float)
int = uint = longlong = ulonglong = size_t = Py_ssize_t = CType(int)


def cast(type, value, typecheck=False):
    """Return `value`; convert it if `type` is a C type, or if it is not an instance of the class `type`."""
    if isinstance(type, CType) or not (value is None or isinstance(value, type)):
        return type(value)
    return value


def declare(type=None, value=_ABSENT, **types):
    """Return `value`: the C type of a variable means nothing to Python."""
    return None if value is _ABSENT else cast(type, value)


def cfunc(function):
    """Return `function`: it would be a function of C."""
    return function


ccall = cclass = no_gc = no_gc_clear = cfunc


def directive(*values):
    """Return the decorator of a compiler directive, which does nothing."""
    return cfunc


annotation_typing = binding = boundscheck = freelist = nonecheck = trashcan = wraparound = directive


def __getattr__(name):
    try:
        from Cython import Shadow
    except ImportError:
        raise AttributeError(f"module 'cython' has no attribute {name!r}: this is the part of it that minigrad needs; "
                             "pip install cython") from None
    return getattr(Shadow, name)
