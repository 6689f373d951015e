cdef extern from "numpy/arrayobject.h":
    pass

cdef extern from *:
    """
    static inline unsigned long long mg_first(PyObject *a) {
        return (unsigned long long)(size_t)PyArray_DATA((PyArrayObject *)a);
    }
    """
    unsigned long long first_of "mg_first"(object a)

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
