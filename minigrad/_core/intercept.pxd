from minigrad._core.primitive cimport Primitive
from minigrad._core.state cimport State
from minigrad._core.tensor cimport TensorBase

cdef object below(Primitive op, State state, tuple args, bint in_place)
