from minigrad._core.graph.accumulate_grad cimport grad_accumulator, choose_grad_dtype, gradient_edge, gradient_meta
from minigrad._core.record.apply cimport base_requires_grad
from minigrad._core.graph.capi cimport inherit_dealloc
from minigrad._core.record.forward_ad cimport tangent_of
from minigrad._core.mutation.inplace cimport count_write
from minigrad._core.graph.metadata cimport Device, DType, Meta, make_meta, meta_of
from minigrad._core.graph.node cimport Node, retain_output
from minigrad._core.surface.operators cimport Operators
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase, alias, make_tensor, wrap

cdef class Variable(Operators):
    pass
