from minigrad._core.graph.accumulate_grad cimport AccumulateGrad
from minigrad._core.graph.hooks cimport run_tensor_hooks
from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node, NodeExtra
from minigrad._core.graph.thread_state cimport current
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase
from minigrad._core.graph.version cimport VersionCounter

cdef object run_hooks_on_tensors(Node node, object grad)
