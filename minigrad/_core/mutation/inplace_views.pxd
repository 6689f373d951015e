from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.record.apply cimport requires_grad
from minigrad._core.record.forward_ad cimport tangent_of
from minigrad._core.mutation.inplace cimport check_inplace, inference_write_error
from minigrad._core.graph.metadata cimport Meta, meta_of
from minigrad._core.graph.node cimport Node
from minigrad._core.record.op_node cimport OpNode, describe_argument, new_node
from minigrad._core.record.primitive cimport Plan, Primitive
from minigrad._core.record.saved_tensor cimport describe_meta
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase
from minigrad._core.mutation.views cimport set_history

cpdef object apply_inplace_view(Primitive op, TensorBase target, tuple others)
cpdef object set_array(TensorBase target, object array, str name)
cpdef object set_source(TensorBase target, TensorBase source)
