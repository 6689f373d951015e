from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.record.apply cimport to_kernel_argument, requires_grad
from minigrad._core.graph.capi cimport recycle, reference_count, is_c_contiguous
from minigrad._core.record.forward_ad cimport after_write, before_write, overlaps_itself, set_tangent, tangent_of
from minigrad._core.record.interceptor cimport redispatch
from minigrad._core.graph.broadcasting cimport broadcast_shape
from minigrad._core.record.operands cimport check_same_device, translate_kernel_error
from minigrad._core.record.op_node cimport OpNode, describe_argument, new_node
from minigrad._core.graph.metadata cimport DType, Meta, dtype_of
from minigrad._core.graph.node cimport Node
from minigrad._core.record.primitive cimport Plan, Primitive
from minigrad._core.record.saved_tensor cimport describe_meta
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase, wrap
from minigrad._core.mutation.views cimport check_creation, locate_view, rebase_history

cpdef object check_inplace(TensorBase target)
cpdef object check_memory(TensorBase target)
cpdef object begin_write(TensorBase target, object name)
cdef object count_write(TensorBase target, object name)
cdef object inference_write_error(TensorBase target)
cpdef object apply_inplace(Primitive op, TensorBase target, tuple others)
