"""The metadata of tensors: shape, dtype and device, in one shared record.

    x = rand(64, 128)      x._meta ──┐
    y = x * 2              y._meta ──┼──> Meta(shape=(64, 128), dtype=float32, device=cpu)
    z = x + y              z._meta ──┘

Records are interned for each backend and dtype. So for most pairs of tensors "same shape, dtype and device?" is one
comparison of pointers: ``x._meta is y._meta``. With it an op skips broadcasting and type promotion, and the engine accepts
a gradient without further checks. Identity is only a shortcut: where it fails we compare by value (`Meta.fits`). So the
table may be emptied at any time.

A node keeps the `Meta` of each output of its forward op, never the output itself. (PyTorch: ``InputMetadata`` in
torch/csrc/autograd/input_metadata.h.)

Read next: ``tensor.py``.
"""

import operator

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.capi import find_recycler, has_shape, has_type, index_in_c, shape_key, type_number

from minigrad._core.graph.upcalls import upcalls
from minigrad.errors import AutogradTypeError, DeviceError, ShapeError

__all__ = ["BOOL", "COMPLEX", "CPU", "DTYPES", "FLOAT", "INTEGER", "Backend", "DType", "Device", "Meta", "Size",
           "add_bfloat16", "dtype_of", "dtype_of_numpy", "limits_of", "make_meta",
           "meta_of", "named_dtype"]

# The categories of type promotion, lowest first (torch: c10/core/ScalarType.h, promoteTypes).
BOOL, INTEGER, FLOAT, COMPLEX = range(4)

# We empty a table that has this many shapes: a program with ever new shapes must not grow without bound, and a lost
# record costs only one comparison by value.
MOST_SHAPES = 4096
RECENT = cython.declare(cython.Py_ssize_t, 256)     # the length of Backend.recent, a power of two


class Size(tuple):
    """The shape of a tensor: a tuple of ints, with `numel`.

    Args:
        sizes (iterable of int, optional): the size of each dimension. Default: none, the shape of a scalar.

    Raises:
        TypeError: `sizes` is not iterable, or an item is not an int that fits into 64 bits.

    Mirrors ``torch.Size``.

    >>> import minigrad as mg
    >>> mg.zeros(2, 3).shape
    minigrad.Size([2, 3])
    >>> mg.zeros(2, 3).shape.numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes=()):
        if not hasattr(sizes, "__iter__"):
            raise AutogradTypeError("MG-E206", f"minigrad.Size() takes an iterable of 'int', not {type(sizes).__name__}")
        found = []
        for size in sizes:
            try:
                found.append(operator.index(size))
            except TypeError:
                raise AutogradTypeError("MG-E206", f"minigrad.Size() takes an iterable of 'int' (item {len(found)} is "
                                        f"'{type(size).__name__}')") from None
            if not -MOST_ELEMENTS <= found[-1] <= MOST_ELEMENTS:
                raise AutogradTypeError("MG-E206", f"minigrad.Size(): Overflow when unpacking long long (item {len(found) - 1})")
        return tuple.__new__(cls, found)

    def numel(self):
        """The number of elements of a tensor of this shape.

        >>> mg.zeros(2, 3).shape.numel()
        6
        """
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self):
        return f"minigrad.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return size_of(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple(self) + tuple(other)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return size_of(tuple(self) * times)

    __rmul__ = __mul__


index_in_c(Size)


def size_of(shape):
    """The `Size` for `shape`, a tuple, without checks: for the shape of an existing tensor."""
    return tuple.__new__(Size, shape)


@cython.binding(False)
@cython.cclass
class DType:
    """The type of a tensor's elements, as ``mg.float32``. Mirrors ``torch.dtype``.

    >>> import minigrad as mg
    >>> mg.float32, mg.float32.itemsize, mg.int64.is_floating_point
    (minigrad.float32, 4, False)
    """

    def __init__(self, name, index, category):
        self.name = name
        self.numpy = np.dtype(name)
        self.index = index
        self.category = category
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = name not in ("bool", "uint8")
        self.differentiable = category >= FLOAT

    def __repr__(self):
        return f"minigrad.{self.name}"

    def __reduce__(self):
        return named_dtype, (self.name,)

    def to_real(self):
        """The dtype of the real part: ``complex64 -> float32``. A real dtype returns itself.

        >>> mg.complex64.to_real()
        minigrad.float32
        """
        if not self.is_complex:
            return self
        return named_dtype("float32" if self.name == "complex64" else "float64")

    def to_complex(self):
        """The complex dtype with parts of this dtype: ``float32 -> complex64``. A complex dtype returns itself.

        >>> mg.float32.to_complex()
        minigrad.complex64
        """
        if self.is_complex:
            return self
        return named_dtype("complex128" if self.name == "float64" else "complex64")


DTYPES = tuple(
    DType(name, index, category)
    for index, (name, category) in enumerate([
        ("bool", BOOL),
        ("uint8", INTEGER), ("int8", INTEGER), ("int16", INTEGER), ("int32", INTEGER), ("int64", INTEGER),
        ("float16", FLOAT), ("float32", FLOAT), ("float64", FLOAT),
        ("complex64", COMPLEX), ("complex128", COMPLEX),
    ])
)
_BY_NAME = {d.name: d for d in DTYPES}
_BY_NUMPY = {d.numpy: d for d in DTYPES}
_LIMITS = {}        # DType -> its limits, where np.finfo does not know them
# The index of bfloat16, which NumPy lacks. Its `DType` is made when a program first needs it, by _bfloat16.py.
BFLOAT16 = cython.declare(cython.int, len(DTYPES))
# _BY_NUMBER: NumPy's type number -> DType. Several numbers may mean one dtype (long and long long).
MOST_NUMBERS = cython.declare(cython.int, 24)
MOST_ELEMENTS = (1 << 63) - 1       # the largest number of elements, and the largest size: both are int64
_BY_NUMBER = cython.declare(list, [None] * 24)
for _dtype in map(np.dtype, np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"):
    _BY_NUMBER[_dtype.num] = _BY_NUMPY.get(_dtype)
ndarray = cython.declare(object, np.ndarray)


def named_dtype(name):
    """The `DType` with this name. A pickle calls this function too."""
    if name == "bfloat16" and name not in _BY_NAME:
        return upcalls.bfloat16()
    return _BY_NAME[name]


def limits_of(dtype):
    """The limits of a floating point dtype, with the attributes of `np.finfo`."""
    return _LIMITS.get(dtype) or np.finfo(dtype.numpy)


def add_bfloat16(limits):
    """Make the `DType` bfloat16. The package ml_dtypes has registered it with NumPy."""
    found = _BY_NAME["bfloat16"] = DType("bfloat16", BFLOAT16, FLOAT)
    _BY_NUMPY[found.numpy] = found
    _LIMITS[found] = limits
    return found


def dtype_of_numpy(dtype):
    """The `DType` of a NumPy dtype. Raises `TypeError` if no tensor can have this dtype."""
    found = _BY_NUMPY.get(dtype)
    if found is None and dtype.name == "bfloat16":
        return named_dtype("bfloat16")
    if found is None:
        names = ", ".join([d.name for d in DTYPES])
        raise AutogradTypeError("MG-E305", f"can't convert np.ndarray of type {dtype}. The only supported types are: {names}.")
    return found


def dtype_of(array):
    """The `DType` of `array`. (To look up its dtype object in a dict would cost 60 ns, a third of an op.)"""
    if type(array) is ndarray:
        number: cython.int = type_number(array)
        if 0 <= number < MOST_NUMBERS:
            found = _BY_NUMBER[number]
            if found is not None:
                return found
    return dtype_of_numpy(array.dtype)


@cython.binding(False)
@cython.cclass
class Backend:
    """The kernels of one kind of device, and the interned metadata of the tensors on it.

    `kernels` has the kernels by name. `table` has them in the order of the contract, for ops that call a kernel by its
    number. The other fields are kernels that compiled code calls without an op: a field saves the look-up of their name. `use`
    replaces all of these together.
    """

    def __init__(self, name):
        self.name = name
        self.kernels = None
        self.table = []
        self.in_place = []          # by number: a kernel's function that writes its result to a given array, or None
        self.accumulate = self.copy = self.copy_ = self.view = self.sum_to = None
        self.geometry = self.as_strided = self.as_strided_scatter = None
        self.recycle = None         # a capsule with the function that takes unused arrays back into the pool, or None
        self.recycler = find_recycler(None)     # the address of that function
        self.rounding = None        # the backend of float16 and bfloat16 tensors on the CPU, see Note [Rounding]
        self.metas = [{} for _ in range(len(DTYPES) + 1)]
        self.recent = [None] * RECENT       # see meta_of

    def use(self, kernels):
        """Use `kernels` (see ``kernels/contract.py``) from now on. Returns the kernels used before."""
        before = self.kernels
        self.kernels = kernels
        self.table = kernels.table
        self.in_place = kernels.in_place
        self.accumulate, self.copy, self.copy_, self.view = kernels.accumulate, kernels.copy, kernels.copy_, kernels.view
        self.geometry, self.as_strided, self.as_strided_scatter = kernels.geometry, kernels.as_strided, kernels.as_strided_scatter
        self.sum_to = kernels.sum_to
        self.recycle = kernels.recycle
        self.recycler = find_recycler(kernels.recycle)
        return before


@cython.binding(False)
@cython.cclass
class Device:
    """The device of a tensor, as ``mg.device("cpu")``. Mirrors ``torch.device``.

    >>> mg.zeros(1).device
    device(type='cpu')
    >>> mg.device('cpu').type
    'cpu'
    """

    def __init__(self, type, index=None, backend=None):
        if not isinstance(type, str):
            raise AutogradTypeError("MG-E201", f"Device(): argument 'type' must be str, not {type.__class__.__name__}",
                                    fix="minigrad.device('cpu')")
        self.type = type
        self.index = index
        self.backend = backend

    def __repr__(self):
        return f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, Device) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def __reduce__(self):
        return upcalls.device, (str(self),)       # the only device with that name, with its kernels

    def __enter__(self):
        upcalls.enter_device(self)
        return self

    def __exit__(self, *exc_info):
        upcalls.exit_device()


@cython.binding(False)
@cython.freelist(16)
@cython.cclass
class Meta:
    """Shape, dtype and device of a tensor. Immutable and shared, see the head of this file."""

    def __init__(self, shape, dtype, device):
        self.shape = shape
        self.size = size_of(shape)
        self.dtype = dtype
        self.device = device
        self.backend = backend_of(dtype, device)
        numel = self.size.numel()
        if numel > MOST_ELEMENTS:
            raise ShapeError("MG-E206", "numel: integer multiplication overflow", found=f"shape {list(shape)}")
        self.numel = numel
        self.ndim = len(shape)

    def fits(self, other):
        """Whether the two records have equal shape, dtype and device."""
        if self is other:
            return True
        return self.shape == other.shape and self.dtype is other.dtype and self.device == other.device

    @property
    def is_nested_tensor(self):
        """Always False: minigrad has no nested tensors. PyTorch's record has this attribute."""
        return False

    def __repr__(self):
        return f"Meta(shape={self.shape}, dtype={self.dtype.name}, device={self.device})"


def backend_of(dtype, device):
    """The `Backend` that computes with tensors of `dtype` on `device`. The record of a gradient of any dtype has the dtype None.

    Note [Rounding]
        float16 and bfloat16 are formats for storing numbers. On the CPU their tensors have a backend of their own,
        ``CPU.backend.rounding``. Its kernels convert arrays to float32, call the ordinary kernel, and round the result
        (``kernels/rounding.py``). A tensor reaches its kernels through its `Meta`. So other dtypes pay nothing for this, and
        the backend is made for the first such tensor.
    """
    backend: Backend = device.backend
    if dtype is None or dtype.itemsize != 2 or dtype.category != FLOAT:
        return backend
    if backend is _cpu.backend:
        if backend.rounding is None:
            backend.rounding = Backend(backend.name)
            backend.rounding.use(upcalls.rounding())
        return backend.rounding
    if dtype.index == BFLOAT16:
        raise DeviceError("MG-E310", f"minigrad computes with bfloat16 on the CPU only, not on {device}",
                          fix="x.half(), for float16 on a GPU")
    return backend


def make_meta(shape, dtype, device):
    """Return the record for this shape, dtype and device; make one if there is none."""
    table: dict = device.backend.metas[dtype.index]
    found = table.get(shape)
    if found is None or found.device is not device:
        if len(table) >= MOST_SHAPES:
            table.clear()
        found = Meta(shape, dtype, device)
        table[shape] = found
    return found


@cython.boundscheck(False)
@cython.wraparound(False)
def meta_of(array, device):
    """The record that describes `array`, which is on `device`.

    An array of another device than the CPU has its device as an attribute. For a NumPy array, the list ``backend.recent``
    has recently used records. A record found there needs no tuple of the array's shape.
    """
    if type(array) is ndarray and device is _cpu:
        found = cython.cast(Meta, device.backend.recent[shape_key(array) & (RECENT - 1)])
        if found is not None and has_shape(array, found.shape) \
                and (has_type(array, found.dtype.numpy) or dtype_of(array) is found.dtype) and found.device is device:
            return found
    return find_meta(array)


@cython.cfunc
def find_meta(array) -> Meta:
    """`meta_of` by a look-up in the table. The list of recent records gets the record of a NumPy array."""
    if type(array) is not ndarray:
        return make_meta(array.shape, dtype_of(array), array.device)
    found: Meta = make_meta(array.shape, dtype_of(array), _cpu)     # an op on another device may have a result on the CPU
    _cpu.backend.recent[shape_key(array) & (RECENT - 1)] = found
    return found


CPU = Device("cpu", None, Backend("cpu"))
_cpu = cython.declare(Device, CPU)
