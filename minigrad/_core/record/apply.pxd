cimport cython

from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.graph.capi cimport try_call1, try_call2, try_call3, try_call5, try_call6
from minigrad._core.record.forward_ad cimport push_tangents
from minigrad._core.record.interceptor cimport redispatch
from minigrad._core.graph.metadata cimport Backend, Device, DType, Meta, meta_of
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.broadcasting cimport broadcast_shape
from minigrad._core.record.operands cimport has_history_error, not_a_tensor_error, check_same_device, translate_kernel_error
from minigrad._core.record.op_node cimport contains_tensor, record, record_many
from minigrad._core.record.packed_tensor cimport pack_tensor
from minigrad._core.record.primitive cimport Plan, Primitive
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport TensorBase, alias, make_tensor, is_plain, wrap

cpdef object unary(Primitive op, object x)
cpdef object binary(Primitive op, object x, object y)
cpdef object call(Primitive op, tuple args)
cdef object make_view(TensorBase view, TensorBase source, int creation)
cdef object to_kernel_argument(object argument)
cdef bint base_requires_grad(TensorBase view)
cdef bint requires_grad(TensorBase x) except -1
