from minigrad._core.primitive cimport Primitive
from minigrad._core.tensor cimport TensorBase

cdef TensorBase on_one_device(Primitive op, TensorBase first, TensorBase tensor)
cpdef object not_a_tensor(Primitive op, object x)
cpdef object has_history(Primitive op, Py_ssize_t i, TensorBase x)
cpdef object too_large(object name, object error)
cpdef tuple broadcast_shape(list metas)
