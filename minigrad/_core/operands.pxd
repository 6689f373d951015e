from minigrad._core.primitive cimport Primitive
from minigrad._core.tensor cimport TensorBase

cdef TensorBase on_one_device(Primitive op, TensorBase first, TensorBase tensor)
cpdef object not_a_tensor(Primitive op, object x)
cpdef tuple broadcast_shape(list metas)
