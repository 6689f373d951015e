# cython: language_level=3
"""Starting a kernel and allocating an array, in C. Every op calls these functions, so they have to be fast.

They are the twins of `launch` (launch.py), `empty_array` and `empty_like` (memory.py), `alike` and `run_in_order` (elementwise.py).
They call the driver through the addresses of its functions, so this module is not linked against the driver.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from minigrad.kernels.cpu.common cimport MOST_DIMS, data, dims, elements, is_contiguous, ndim, read_shape, strides
from minigrad.kernels.cuda.array cimport Block, CudaArray, Typed

from minigrad.kernels.cuda.array import empty_permuted_like
from minigrad.kernels.cuda.runtime.driver import address_of, error, out_of_memory, pool_of
from minigrad.kernels.cuda.runtime.specialise import function_for
from minigrad.kernels.cuda.runtime.streams import current_stream
from minigrad.kernels.numpy_ref.layout import dense

cnp.import_array()

ctypedef unsigned long long word
ctypedef int (*set_context_t)(word) noexcept nogil
ctypedef int (*launch_t)(word, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, word, void **,
                         void **) noexcept nogil
ctypedef int (*allocate_t)(word *, size_t, word) noexcept nogil
ctypedef int (*free_t)(word, word) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    object new_array "PyArray_NewFromDescr"(type, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, object)
    void keep "Py_INCREF"(object)
    cnp.npy_intp itemsize "PyArray_ITEMSIZE"(cnp.ndarray)
    bint is_f_contiguous "PyArray_IS_F_CONTIGUOUS"(cnp.ndarray)

cdef extern from *:
    """
    static inline int mg_is_number(PyObject *o) { return PyArray_IsScalar(o, Generic); }
    static inline char mg_letter(PyObject *d) { return ((PyArray_Descr *)d)->type; }
    static inline PyObject *mg_dtype_of(PyObject *a) {
        PyObject *d = (PyObject *)PyArray_DESCR((PyArrayObject *)a);
        Py_INCREF(d);
        return d;
    }
    """
    bint is_numpy_number "mg_is_number"(object)
    char letter "mg_letter"(object)
    object dtype_of "mg_dtype_of"(object)
    long long PyLong_AsLongLong(object) except? -1

cdef enum:
    MOST = 160          # words of arguments that a kernel can have
    OUT_OF_MEMORY = 2   # the driver's CUDA_ERROR_OUT_OF_MEMORY

cdef set_context_t set_context = <set_context_t><size_t>address_of("cuCtxSetCurrent")
cdef launch_t queue = <launch_t><size_t>address_of("cuLaunchKernel")
cdef allocate_t allocate = <allocate_t><size_t>address_of("cuMemAllocAsync")
cdef free_t give_back = <free_t><size_t>address_of("cuMemFreeAsync")

cdef dict _functions = {}       # (kernel, types) -> the driver's handle of the function


cdef class Memory:
    """Memory of CUDA's pool. It is freed in the order of the stream in which it was allocated."""

    cdef readonly word handle
    cdef word stream, context

    def __dealloc__(self):
        if self.handle:
            set_context(self.context)
            give_back(self.handle, self.stream)


def take(Py_ssize_t nbytes, device):
    """Allocate `nbytes` bytes from the pool of `device`. Raises `OutOfMemoryError` if it does not have them."""
    cdef Memory found = Memory()
    cdef int code
    pool_of(device.index)       # the first call makes the pool keep freed memory
    found.context = device.context
    found.stream = current_stream(device).handle
    set_context(found.context)
    code = allocate(&found.handle, max(nbytes, 1), found.stream)
    if code:
        found.handle = 0
    if code == OUT_OF_MEMORY:
        raise out_of_memory(nbytes, device)
    if code:
        raise error(code)
    return found


cdef object new(int n, cnp.npy_intp *shape, cnp.dtype dtype, device):
    cdef Py_ssize_t count = elements(shape, n), nbytes = count * dtype.itemsize
    if count < 0 or nbytes // dtype.itemsize != count:
        raise out_of_memory(1 << 63, device)
    cdef Memory memory = take(nbytes, device)
    block = Block(memory.handle, nbytes, device, memory, Typed)
    keep(dtype)                 # PyArray_NewFromDescr steals a reference
    return CudaArray(block, new_array(cnp.ndarray, dtype, n, shape, NULL, <void *><size_t>memory.handle, cnp.NPY_ARRAY_WRITEABLE,
                                      None))


def empty_array(shape, dtype, device):
    """Return an uninitialised row-major array of `shape` and NumPy `dtype` on `device`."""
    cdef cnp.npy_intp sizes[MOST_DIMS]
    cdef int n = read_shape(shape, sizes)
    return new(n, sizes, dtype if isinstance(dtype, cnp.dtype) else cnp.dtype(dtype), device)


def empty_like(CudaArray x, dtype):
    """Return an array of NumPy `dtype` with the shape of `x` and the order of its dimensions in memory; `x` has no gaps."""
    cdef cnp.ndarray layout = x.layout
    cdef cnp.dtype kind = dtype if isinstance(dtype, cnp.dtype) else cnp.dtype(dtype)
    if not is_contiguous(layout):
        return empty_permuted_like(x, kind, empty_array)
    return new(ndim(layout), dims(layout), kind, x.block.device)


def alike(CudaArray z, arrays):
    """Whether `z` and `arrays` have one shape and one order in memory, without gaps."""
    cdef cnp.ndarray first = z.layout, other
    cdef int n = ndim(first), i
    cdef cnp.npy_intp size = itemsize(first), each
    for x in arrays:
        other = (<CudaArray?>x).layout
        each = itemsize(other)
        if ndim(other) != n:
            return False
        for i in range(n):
            if dims(other)[i] != dims(first)[i] or (dims(first)[i] != 1 and strides(other)[i] * size != strides(first)[i] * each):
                return False
    return is_contiguous(first) or is_f_contiguous(first) or dense(z)


# ---- starting kernels -----------------------------------------------------------------------------------


cdef int add_block(Block block, cnp.dtype dtype, word *words) noexcept:
    """Write the seven words of an array that is a whole block; return 7."""
    cdef word size = dtype.itemsize, n = block.nbytes // size
    words[0] = words[1] = 0
    words[2] = words[5] = n
    words[3] = words[6] = size
    words[4] = block.address
    return 7


def launch(kernel, blocks, threads, device, *args):
    """Queue `kernel` on `device`, for `blocks` blocks of `threads` threads."""
    start(kernel, blocks, threads, device, args)


def run_in_order(kernel, CudaArray z, arrays, numbers, Py_ssize_t quad, Py_ssize_t tile, threads):
    """Queue `kernel` for the elements of `z` and `arrays` if they are `alike`; return whether they are."""
    cdef Py_ssize_t n = 1
    cdef int i
    cdef bint packed
    if not alike(z, arrays):
        return False
    for i in range(ndim(z.layout)):
        n *= dims(z.layout)[i]
    packed = aligned(z, quad)
    for x in arrays:
        packed = packed and aligned(<CudaArray?>x, quad)
    if n:
        start(kernel, (n + tile - 1) // tile, threads, z.block.device, (n, packed, z, *arrays, *numbers))
    return True


cdef bint aligned(CudaArray x, Py_ssize_t n) noexcept:
    """Whether the address of its first element is a multiple of a pack of n numbers: as in vector_io.py."""
    return <size_t>data(x.layout) % <size_t>min(n * itemsize(x.layout), 16) == 0


cdef object start(kernel, blocks, threads, device, tuple args):
    cdef word words[MOST]
    cdef void *places[MOST]
    cdef char types[2 * MOST]
    cdef int n = 0, t = 0, i, code
    cdef CudaArray array
    cdef cnp.dtype dtype
    cdef Block block
    for arg in args:
        if n > MOST - 10:
            raise ValueError(f"too many arguments for a kernel: {args!r}")
        kind = type(arg)
        if kind is int or kind is bool:
            types[t] = b"i"
            t += 1
            words[n] = <word>PyLong_AsLongLong(arg)
            n += 1
        elif kind is CudaArray:
            array = <CudaArray>arg
            dtype = dtype_of(array.layout)
            block = array.block
            types[t] = b"a"
            types[t + 1] = letter(dtype)
            types[t + 2] = b"i"
            t += 3
            n += add_block(block, dtype, &words[n])
            words[n] = (<word><size_t>data(<cnp.ndarray>array.layout) - block.address) // <word>dtype.itemsize
            n += 1
        elif kind is tuple:
            if n + len(arg) > MOST - 10:
                raise ValueError(f"too many arguments for a kernel: {args!r}")
            types[t] = b"t"
            types[t + 1] = <char>len(arg)
            t += 2
            for item in <tuple>arg:
                words[n] = <word>PyLong_AsLongLong(item)
                n += 1
        elif kind is Typed:
            dtype = (<Typed>arg).dtype
            types[t] = b"a"
            types[t + 1] = letter(dtype)
            t += 2
            n += add_block((<Typed>arg).block, dtype, &words[n])
        elif is_numpy_number(arg):
            n += add_number(arg, &types[t], &words[n])
            t += 2
        else:
            raise TypeError(f"a kernel cannot be given a {type(arg).__name__}: {arg!r}")
    key = (kernel, PyBytes_FromStringAndSize(types, t))
    function = _functions.get(key)
    if function is None:
        function = _functions[key] = function_for(kernel, key[1], device)
    for i in range(n):
        places[i] = &words[i]
    set_context(device.context)
    code = queue(function, blocks, 1, 1, threads, 1, 1, 0, current_stream(device).handle, places, NULL)
    if code:
        raise error(code)


cdef int add_number(number, char *types, word *words) except -1:
    """Write a NumPy number: one word, or two for a complex number; return how many."""
    cdef cnp.dtype dtype = number.dtype
    cdef float parts[2]
    types[0] = b"s"
    types[1] = letter(dtype)
    words[0] = words[1] = 0
    if types[1] == b"F":
        cnp.PyArray_ScalarAsCtype(number, &parts)
        (<float *>&words[0])[0] = parts[0]
        (<float *>&words[1])[0] = parts[1]
        return 2
    cnp.PyArray_ScalarAsCtype(number, words)
    return 2 if types[1] == b"D" else 1
