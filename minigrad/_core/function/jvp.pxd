from minigrad._core.record.forward_ad cimport store_tangent, tangent_of
from minigrad._core.function.node cimport PyNode, is_among, zeros_of
from minigrad._core.record.saved_tensor cimport describe_meta
from minigrad._core.graph.thread_state cimport State
from minigrad._core.graph.tensor cimport TensorBase

cdef object push_forward(PyNode node, tuple args, tuple raw, list outs, tuple dirty, tuple constant, State state)
