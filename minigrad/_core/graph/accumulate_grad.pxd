from minigrad._core.graph.anomaly cimport note_creation
from minigrad._core.graph.capi cimport reference_count
from minigrad._core.graph.hooks cimport run_post_accumulate_hooks
from minigrad._core.graph.metadata cimport DType, Meta, make_meta
from minigrad._core.graph.node cimport Node, clear_node
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase, is_exclusive, wrap
from minigrad._core.graph.switches cimport Switches

cdef class AccumulateGrad(Node):
    cdef readonly TensorBase variable
    cdef object lock
    cdef object accumulate(self, TensorBase new, bint exclusive)
    cdef object accumulate_with_history(self, TensorBase new)

cpdef Node grad_accumulator(TensorBase leaf)
cdef Node gradient_edge(TensorBase tensor)
cdef Meta gradient_meta(TensorBase leaf)
cdef object choose_grad_dtype(TensorBase leaf, DType dtype)
