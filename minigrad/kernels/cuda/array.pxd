cdef class Statistics:
    cdef public Py_ssize_t allocated, most
    cpdef add(self, Py_ssize_t nbytes)

cdef class Block:
    cdef readonly unsigned long long address
    cdef readonly Py_ssize_t nbytes
    cdef readonly object device, owner, as_dtype
    cdef Statistics statistics
    cdef object __weakref__

cdef class Typed:
    cdef readonly Block block
    cdef readonly object dtype

cdef class CudaArray:
    cdef readonly Block block
    cdef readonly object layout, base
    cdef object __weakref__
