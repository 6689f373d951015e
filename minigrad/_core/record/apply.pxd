from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.tensor cimport TensorBase
from minigrad._core.graph.thread_state cimport State
cimport cython

cpdef object unary(Primitive op, object x)
cpdef object binary(Primitive op, object x, object y)
cpdef object call(Primitive op, tuple args)
cpdef object call_computed(Primitive op, tuple args, object array)
