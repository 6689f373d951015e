from minigrad._core.accumulate cimport accumulator, choose_grad_dtype, edge_of, gradient_meta
from minigrad._core.apply cimport base_requires_grad
from minigrad._core.c cimport inherit_death
from minigrad._core.forward cimport tangent_of
from minigrad._core.inplace cimport count_write
from minigrad._core.meta cimport Device, DType, Meta, make_meta, meta_of
from minigrad._core.node cimport Node, mark_retained
from minigrad._core.operators cimport Operators
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, alias, make, wrap

cdef class Variable(Operators):
    pass
