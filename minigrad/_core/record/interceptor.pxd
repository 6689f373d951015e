from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.thread_state cimport State

cdef object intercept(Primitive op, State state, tuple args)
cdef object redispatch(Primitive op, State state, tuple args, bint in_place)
