from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.thread_state cimport State
from minigrad._core.graph.tensor cimport AutogradMeta, Dual, TensorBase

cpdef object tangent_of(object x)
cpdef object set_tangent(TensorBase x, TensorBase tangent, bint in_place)
cdef object store_tangent(AutogradMeta extra, object tangent)
cdef Dual dual_slot(AutogradMeta extra)
cdef object push_tangents(Primitive op, tuple args, tuple tensors, list outs, State state)
cdef tuple before_write(Primitive op, TensorBase target, tuple args, State state)
cdef object after_write(Primitive op, TensorBase target, tuple before, State state)
cpdef tuple locate_in_real_base(TensorBase x, TensorBase base)
cdef bint overlaps_itself(TensorBase x)
cpdef object set_primal(TensorBase view)
