from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.graph.anomaly cimport note_creation
from minigrad._core.record.apply cimport base_requires_grad
from minigrad._core.record.forward_ad cimport locate_in_real_base
from minigrad._core.record.history cimport describe_writes
from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node, NodeExtra, retain_output, clear_node
from minigrad._core.record.op_node cimport record
from minigrad._core.record.saved_tensor cimport describe_meta, op_name, error_freed
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase, wrap
from minigrad._core.graph.switches cimport Switches

cdef class CopySlices(Node):
    cdef Node inner
    cdef tuple geometry
    cdef int position

    cdef object compute_by_kernels(self, object grad, Node inner, long long wanted, list found, bint old)
    cdef object compute_by_ops(self, object grad, Node inner, long long wanted, list found, bint old)

cpdef tuple locate_view(TensorBase view)
cpdef object rebase_history(TensorBase target, Node node, tuple geometry, int number=*, int position=*)
cdef object regenerate_grad_fn(TensorBase view, tuple geometry)
cdef object check_creation(TensorBase view, bint indirect)
cdef object set_history(TensorBase tensor, Node node, int number)
