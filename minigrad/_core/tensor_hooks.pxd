from minigrad._core.accumulate cimport AccumulateGrad
from minigrad._core.hooks cimport run_tensor_hooks
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, NodeExtra
from minigrad._core.state cimport current
from minigrad._core.tensor cimport AutogradMeta, TensorBase
from minigrad._core.version cimport VersionCounter

cdef object run_hooks_on_tensors(Node node, object grad)
