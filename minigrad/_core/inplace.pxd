from minigrad._core.accumulate cimport edge_of
from minigrad._core.apply cimport array_in, requires_grad
from minigrad._core.c cimport give_back, references, row_by_row
from minigrad._core.forward cimport after_write, before_write, overlapping, set_tangent, tangent_of
from minigrad._core.intercept cimport below
from minigrad._core.operands cimport broadcast_shape, on_one_device, too_large
from minigrad._core.opnode cimport OpNode, described, new_node
from minigrad._core.meta cimport DType, Meta, dtype_of
from minigrad._core.node cimport Node
from minigrad._core.primitive cimport Plan, Primitive
from minigrad._core.saved cimport describe
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, wrap
from minigrad._core.views cimport check_creation, geometry_of, rebase

cpdef object check_inplace(TensorBase target)
cpdef object check_memory(TensorBase target)
cpdef object begin_write(TensorBase target, object name)
cdef object count_write(TensorBase target, object name)
cdef object written_outside(TensorBase target)
cpdef object write(Primitive op, TensorBase target, tuple others)
