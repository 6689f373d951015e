from minigrad._core.accumulate cimport edge_of
from minigrad._core.anomaly cimport Anomaly, note_creation
from minigrad._core.apply cimport OpNode, Plan, Primitive, array_in, base_requires_grad, on_one_device, shape_of
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node
from minigrad._core.saved cimport describe
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, wrap
from minigrad._core.views cimport check_creation, rebase

cpdef object check_inplace(TensorBase target)
cpdef object write(Primitive op, TensorBase target, tuple others)
