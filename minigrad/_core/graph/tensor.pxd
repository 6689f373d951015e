# cython: preliminary_late_includes_cy28=True
# The header at the end names the fields of a class that is declared above it, so it is included after the classes.
from cpython.object cimport PyObject

from minigrad._core.graph.metadata cimport DType, Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.version cimport VersionCounter

cdef extern from *:
    ctypedef bint flag "_Bool"      # one byte, where a bint has four

cdef class Dual:
    cdef public object tangent
    cdef object __weakref__

cdef class AutogradMeta:
    cdef public object grad
    cdef PyObject *accumulator      # borrowed, see accumulators.h
    cdef object shared_accumulator
    cdef public object hooks
    cdef public object post_accumulate_hooks
    cdef public bint retains_grad
    cdef public bint chose_grad_dtype
    cdef public DType grad_dtype
    cdef public Dual dual
    cdef public bint primal
    cdef public TensorBase root

cdef class TensorBase:
    cdef readonly object _array
    cdef readonly Meta _meta
    cdef Node _node
    # The small fields lie side by side: so a tensor has 112 bytes, with the collector's 16, and the allocator rounds up to 16.
    cdef int _output_number
    cdef flag _leaf_requires_grad
    cdef flag _inference
    cdef flag _lent
    cdef unsigned char _creation
    cdef Py_ssize_t _base_version
    cdef TensorBase _view_base
    cdef VersionCounter _counter
    cdef AutogradMeta _extra
    cdef object __weakref__

    cdef Py_ssize_t version(self)
    cdef VersionCounter shared_counter(self)
    cdef AutogradMeta extras(self)
    cdef object clear(self)

cdef bint is_plain(object x) noexcept
cdef TensorBase wrap(object array, Meta meta)
cdef bint is_exclusive(TensorBase tensor)
cdef TensorBase alias(TensorBase source)
cdef object make_tensor(object cls, object array, Meta meta)

cdef extern from "tensors.h":
    object allocate_tensor "mg_allocate_tensor"(type base, object cls)
    void fill_new_instances "mg_fill_new_instances"(type base, object filler)
    void keep_instances "mg_keep_instances"(object cls)
