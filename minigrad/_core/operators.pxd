from minigrad._core.apply cimport binary, unary
from minigrad._core.c cimport inherit_arithmetic, inherit_death
from minigrad._core.primitive cimport Primitive
from minigrad._core.tensor cimport TensorBase

cdef class Rules:
    cdef public Primitive add
    cdef public Primitive sub
    cdef public Primitive mul
    cdef public Primitive div
    cdef public Primitive neg
    cdef public object functions

cdef class Operators(TensorBase):
    pass
