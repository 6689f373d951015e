"""Read a pickle without running its code.

A pickle is a program for a small machine with a stack: "push this", "make a tuple of the last three", "call that".
Python's own reader imports any function that the file names, and calls it. So a file from a stranger can run anything. The machine
here has the harmless instructions only, and a table of the functions that a file may name: see `KNOWN`.

    load(data, persistent_load)     reads one pickle; anything else than KNOWN raises UnsafeFileError
    PythonUnpickler                 Python's reader, for weights_only=False

Mirrors ``torch/_weights_only_unpickler.py``.
"""

import importlib
import pickle
import pickletools
from collections import Counter, OrderedDict

import numpy as np

from minigrad._core.graph.metadata import DTYPES, Size, named_dtype
from minigrad._serialization.errors import UnsafeFileError
from minigrad._serialization.storages import STORAGE_TYPES, rebuild_parameter, rebuild_tensor, rebuild_tensor_v3
from minigrad.dtypes import device
from minigrad.errors import AutogradError, MinigradError

__all__ = ["PythonUnpickler", "load", "safe_globals"]


class Function:
    """A function that a pickle may call. Only this class can be called, so a pickle cannot call a value that it has made."""

    def __init__(self, function):
        self.function = function


class Class(Function):
    """A class that the program has allowed with `add_safe_globals`: a pickle may also make its objects, and set their state."""


def encode(text, encoding):
    """Bytes, as protocol 2 writes them."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")


def new_bytearray(data=b""):
    """A bytearray of bytes; ``bytearray(10 ** 12)`` would take all memory."""
    return bytearray(memoryview(data))


def numpy_dtype(name, *flags):
    """A dtype of numbers."""
    found = np.dtype(name)
    if found.kind not in "biufc":
        raise ValueError(f"an array of {found}")
    return found


def numpy_array(kind, shape, typecode):
    """An empty array, whose content the pickle sets next."""
    return np.empty(0, np.uint8)


def numpy_scalar(dtype, data):
    """One number of NumPy."""
    if not isinstance(dtype, np.dtype) or not isinstance(data, bytes):
        raise ValueError("a number of NumPy without its bytes")
    return np.frombuffer(data, numpy_dtype(dtype))[0]


# name in the pickle -> the function that it may call, or the value that it may have
KNOWN = {
    "collections.OrderedDict": Function(OrderedDict), "collections.Counter": Function(Counter),
    "torch._utils._rebuild_tensor_v2": Function(rebuild_tensor), "torch._utils._rebuild_tensor": Function(rebuild_tensor),
    "torch._utils._rebuild_tensor_v3": Function(rebuild_tensor_v3), "torch._utils._rebuild_parameter": Function(rebuild_parameter),
    "torch.Size": Function(Size), "torch.device": Function(device), "_codecs.encode": Function(encode),
    "numpy.dtype": Function(numpy_dtype), "numpy.ndarray": "numpy.ndarray",
    **{f"numpy.{core}.multiarray.{name}": Function(function) for core in ("core", "_core")
       for name, function in (("_reconstruct", numpy_array), ("scalar", numpy_scalar))},
    **{f"{module}.{kind.__name__}": Function(kind) for module in ("builtins", "__builtin__") for kind in
       (set, frozenset, complex, list, tuple, dict, int, float, str, bool)},
    "builtins.bytearray": Function(new_bytearray), "__builtin__.bytearray": Function(new_bytearray),
    **{f"torch.{name}": kind for name, kind in STORAGE_TYPES.items()},
    "torch.storage.UntypedStorage": STORAGE_TYPES["UntypedStorage"],
    **{f"torch.{dtype.name}": dtype for dtype in DTYPES},
}

safe_globals = {}       # the classes and functions that the program has allowed: name -> object


class Refusal(ValueError):
    """A pickle names something that it may not use."""


def find(module, name):
    """Return what a pickle means by a name."""
    full = f"{module}.{name}"
    if full in safe_globals:
        return Class(safe_globals[full])
    if full == "torch.bfloat16":
        return named_dtype("bfloat16")
    if full not in KNOWN:
        raise Refusal(full)
    return KNOWN[full]


CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
          "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": set}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class Machine:
    """The stack of a pickle, and one method for each kind of instruction."""

    def __init__(self, persistent_load):
        self.persistent_load = persistent_load
        self.stack, self.marks, self.memo = [], [], {}

    def run(self, stream):
        """Read one pickle from `stream`; return its object."""
        for opcode, argument, _ in pickletools.genops(stream):
            name = opcode.name
            if name == "STOP":
                return self.stack.pop()
            if name in VALUES:
                self.stack.append(argument)
            elif name in CONSTANTS:
                self.stack.append(CONSTANTS[name])
            elif name in EMPTY:
                self.stack.append(EMPTY[name]())
            elif name in TUPLES:
                n = TUPLES[name]
                self.stack[-n:] = [tuple(self.take(n))]
            elif name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
                self.memo[len(self.memo) if name == "MEMOIZE" else argument] = self.stack[-1]
            elif name in ("BINGET", "LONG_BINGET", "GET"):
                self.stack.append(self.memo[argument])
            elif name == "GLOBAL":
                self.stack.append(find(*str(argument).split(" ", 1)))
            elif name not in ("PROTO", "FRAME"):
                method = getattr(self, name.lower(), None)
                if method is None:
                    raise Refusal(f"the instruction {name}")
                method(argument)
        raise ValueError("the pickle has no end")

    def take(self, n):
        """The last `n` values, which stay on the stack."""
        if len(self.stack) < n:
            raise ValueError("the stack is empty")
        return self.stack[-n:]

    def since_mark(self):
        """Take the values since the last mark off the stack."""
        items, self.stack = self.stack, self.marks.pop()
        return items

    def top(self, *kinds):
        """The last value, which must have exactly one of these types."""
        if type(self.stack[-1]) not in kinds:
            raise Refusal(f"a change of a {type(self.stack[-1]).__name__}")
        return self.stack[-1]

    def mark(self, _):
        self.marks.append(self.stack)
        self.stack = []

    def pop(self, _):
        self.stack.pop() if self.stack else self.since_mark()

    def tuple(self, _):
        items = self.since_mark()
        self.stack.append(tuple(items))

    def list(self, _):
        items = self.since_mark()
        self.stack.append(items)

    def dict(self, _):
        items = self.since_mark()
        self.stack.append(dict(zip(items[::2], items[1::2])))

    def append(self, _):
        value = self.stack.pop()
        self.top(list).append(value)

    def appends(self, _):
        items = self.since_mark()
        self.top(list).extend(items)

    def additems(self, _):
        items = self.since_mark()
        self.top(set).update(items)

    def setitem(self, _):
        key, value = self.take(2)
        del self.stack[-2:]
        self.top(dict, OrderedDict, Counter)[key] = value

    def setitems(self, _):
        items = self.since_mark()
        self.top(dict, OrderedDict, Counter).update(zip(items[::2], items[1::2], strict=True))

    def binpersid(self, _):
        self.stack.append(self.persistent_load(self.stack.pop()))

    def stack_global(self, _):
        module, name = self.take(2)
        self.stack[-2:] = [find(module, name)]

    def reduce(self, _):
        function, arguments = self.take(2)
        if not isinstance(function, Function) or type(arguments) is not tuple:
            raise Refusal(f"a call of a {type(function).__name__}")
        self.stack[-2:] = [function.function(*arguments)]

    def newobj(self, _):
        cls, arguments = self.take(2)
        if not isinstance(cls, Class) and getattr(cls, "function", None) not in (OrderedDict, Counter, set, Size):
            raise Refusal(f"an object of {getattr(cls, 'function', type(cls))}")
        if type(arguments) is not tuple:
            raise Refusal("a call without arguments")
        self.stack[-2:] = [cls.function.__new__(cls.function, *arguments)]

    def build(self, _):
        state = self.stack.pop()
        thing = self.stack[-1]
        if type(thing) is OrderedDict:      # a state dict, which has the versions of its modules
            if isinstance(state, dict) and "_metadata" in state:
                setattr(thing, "_metadata", state["_metadata"])     # noqa: B010 (type checkers do not know this attribute)
        elif type(thing) is np.ndarray:
            version, shape, dtype, fortran, data = state
            if not isinstance(dtype, np.dtype) or not isinstance(data, bytes):
                raise Refusal("an array of objects")
            thing.__setstate__((version, shape, numpy_dtype(dtype), bool(fortran), data))   # pyright: ignore[reportArgumentType]
        elif isinstance(thing, np.dtype):
            if state[1] not in ("<", "|", "=") or any(part is not None for part in state[2:5]):
                raise Refusal("a dtype with fields, or of another byte order")
        elif type(thing) in safe_globals.values():
            if hasattr(thing, "__setstate__"):
                thing.__setstate__(state)
            else:
                thing.__dict__.update(state)
        else:
            raise Refusal(f"a change of a {type(thing).__name__}")


def load(stream, persistent_load, path):
    """Read one pickle from a stream of bytes, and run none of its code. `path` is the name of the file, for errors.

    Raises:
        UnsafeFileError: the pickle is damaged, or uses a name or an instruction that it may not use.
    """
    try:
        return Machine(persistent_load).run(stream)
    except Refusal as error:
        raise UnsafeFileError("MG-E403", f"Weights only load failed: {path} contains {error}, which could run code",
                              expected="tensors, numbers, strings, and containers of them",
                              fix="if you trust the file: minigrad.load(f, weights_only=False), or allow one class with "
                                  "minigrad.serialization.add_safe_globals") from None
    except MinigradError as error:
        if isinstance(error, (UnsafeFileError, AutogradError)):
            raise
        raise UnsafeFileError("MG-E403", f"Weights only load failed: {path} is damaged: {error.what}") from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, EOFError, MemoryError) as error:
        raise UnsafeFileError("MG-E403", f"Weights only load failed: {path} is damaged: {type(error).__name__}: {error}") from None


class PythonUnpickler(pickle.Unpickler):
    """Python's own reader, which imports and calls what the file names. A class of PyTorch becomes minigrad's of the same name."""

    def __init__(self, stream, persistent_load, **options):
        super().__init__(stream, **options)
        self._load = persistent_load

    def persistent_load(self, pid):
        return self._load(pid)

    def find_class(self, module, name):
        full = f"{module}.{name}"
        if full in KNOWN and full.startswith("torch"):
            found = KNOWN[full]
            return found.function if isinstance(found, Function) else found
        if module == "torch" or module.startswith("torch."):
            try:
                return getattr(importlib.import_module("minigrad" + module[5:]), name)
            except (ImportError, AttributeError):
                raise UnsafeFileError("MG-E403", f"the file needs {full}, which minigrad does not have",
                                      fix="in PyTorch, save model.state_dict() instead of the model") from None
        return super().find_class(module, name)
