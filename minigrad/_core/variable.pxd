from minigrad._core.accumulate cimport accumulator, choose_grad_dtype, edge_of, gradient_meta
from minigrad._core.apply cimport base_requires_grad, binary, unary
from minigrad._core.c cimport inherit_arithmetic
from minigrad._core.meta cimport Device, DType, Meta, make_meta, meta_of
from minigrad._core.node cimport Node
from minigrad._core.primitive cimport Primitive
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, alias, make, wrap

cdef class Rules:
    cdef public Primitive add
    cdef public Primitive sub
    cdef public Primitive mul
    cdef public Primitive div
    cdef public Primitive neg
    cdef public object functions

cdef class Variable(TensorBase):
    pass
