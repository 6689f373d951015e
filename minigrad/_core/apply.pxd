cimport cython

from minigrad._core.accumulate cimport edge_of
from minigrad._core.c cimport attempt1, attempt2, attempt3, attempt5, attempt6
from minigrad._core.forward cimport push
from minigrad._core.intercept cimport below
from minigrad._core.meta cimport Backend, Device, DType, Meta, meta_of
from minigrad._core.node cimport Node
from minigrad._core.operands cimport broadcast_shape, has_history, not_a_tensor, on_one_device, too_large
from minigrad._core.opnode cimport any_tensor, record, record_many
from minigrad._core.packed cimport packed
from minigrad._core.primitive cimport Plan, Primitive
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase, alias, make, plain, wrap

cpdef object unary(Primitive op, object x)
cpdef object binary(Primitive op, object x, object y)
cpdef object call(Primitive op, tuple args)
cdef object look_at(TensorBase view, TensorBase source, int creation)
cdef object array_in(object argument)
cdef bint base_requires_grad(TensorBase view)
cdef bint requires_grad(TensorBase x) except -1
