from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.tensor cimport TensorBase

cdef object to_kernel_argument(object argument)
cdef tuple to_constant_arguments(Primitive op, tuple args)
cdef object to_constant_argument(Primitive op, Py_ssize_t i, object argument)
cdef TensorBase check_same_device(Primitive op, TensorBase first, TensorBase tensor)
cpdef object not_a_tensor_error(Primitive op, object x)
cpdef object has_history_error(Primitive op, Py_ssize_t i, TensorBase x)
cpdef object translate_kernel_error(object name, object error)
