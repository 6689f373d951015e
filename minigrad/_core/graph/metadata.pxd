from minigrad._core.graph.capi cimport recycler_t

cdef class DType:
    cdef readonly str name
    cdef readonly object numpy
    cdef readonly int index
    cdef readonly int category
    cdef readonly Py_ssize_t itemsize
    cdef readonly bint is_floating_point
    cdef readonly bint is_complex
    cdef readonly bint is_signed
    cdef readonly bint differentiable

cdef class Backend:
    cdef readonly str name
    cdef readonly object kernels
    cdef readonly list table
    cdef readonly list in_place
    cdef readonly object accumulate
    cdef readonly object copy
    cdef readonly object copy_
    cdef readonly object view
    cdef readonly object sum_to
    cdef readonly object geometry
    cdef readonly object as_strided
    cdef readonly object as_strided_scatter
    cdef readonly object recycle
    cdef recycler_t recycler
    cdef readonly Backend rounding
    cdef readonly list metas
    cdef readonly list recent

cdef class Device:
    cdef readonly str type
    cdef readonly object index
    cdef readonly Backend backend

cdef class Meta:
    cdef readonly tuple shape
    cdef readonly object size
    cdef readonly DType dtype
    cdef readonly Device device
    cdef readonly Backend backend
    cdef readonly Py_ssize_t numel
    cdef readonly int ndim
    cdef bint fits(self, Meta other)

cpdef Backend backend_of(DType dtype, Device device)
cpdef Meta meta_of(object array, Device device)
cpdef Meta make_meta(tuple shape, DType dtype, Device device)
cpdef DType dtype_of(object array)
