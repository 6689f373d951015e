from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.tensor cimport TensorBase

cdef class Rules:
    cdef public Primitive add
    cdef public Primitive sub
    cdef public Primitive mul
    cdef public Primitive div
    cdef public Primitive neg
    cdef public object getitem
    cdef public object setitem
    cdef public object functions

cdef class Operators(TensorBase):
    pass
