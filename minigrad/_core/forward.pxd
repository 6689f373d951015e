from minigrad._core.meta cimport DType
from minigrad._core.primitive cimport Primitive
from minigrad._core.state cimport State, current, set_dual_level
from minigrad._core.tensor cimport AutogradMeta, Dual, TensorBase

cpdef object tangent_of(object x)
cpdef object set_tangent(TensorBase x, TensorBase tangent, bint in_place)
cdef object keep(AutogradMeta extra, object tangent)
cdef Dual dual_of(AutogradMeta extra)
cdef object push(Primitive op, tuple args, tuple tensors, list outs, State state)
cdef tuple before_write(Primitive op, TensorBase target, tuple args, State state)
cdef object after_write(Primitive op, TensorBase target, tuple before, State state)
cpdef tuple geometry_in(TensorBase x, TensorBase base)
cdef bint overlapping(TensorBase x)
cpdef object set_primal(TensorBase view)
