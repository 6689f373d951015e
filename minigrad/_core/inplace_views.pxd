from minigrad._core.accumulate cimport edge_of
from minigrad._core.apply cimport requires_grad
from minigrad._core.forward cimport tangent_of
from minigrad._core.inplace cimport check_inplace, written_outside
from minigrad._core.meta cimport Meta, meta_of
from minigrad._core.node cimport Node
from minigrad._core.opnode cimport OpNode, described, new_node
from minigrad._core.primitive cimport Plan, Primitive
from minigrad._core.saved cimport describe
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase
from minigrad._core.views cimport give_history

cpdef object look_again(Primitive op, TensorBase target, tuple others)
cpdef object show(TensorBase target, object array, str name)
cpdef object point_to(TensorBase target, TensorBase source)
