from minigrad._core.node cimport Node
from minigrad._core.primitive cimport Plan
from minigrad._core.tensor cimport TensorBase

cpdef list written(TensorBase tensor)
cpdef tuple saved_at(Node node)
cdef object happened(TensorBase tensor, Py_ssize_t version, object node)
cpdef object purpose(Node node, str name)
cdef str saver(Node node, str name)
