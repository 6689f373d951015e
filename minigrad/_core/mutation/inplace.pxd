from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.tensor cimport TensorBase

cpdef object check_inplace(TensorBase target)
cpdef object check_memory(TensorBase target)
cpdef object begin_write(TensorBase target, object name)
cdef object count_write(TensorBase target, object name)
cdef object inference_write_error(TensorBase target)
cpdef object apply_inplace(Primitive op, TensorBase target, tuple others)
