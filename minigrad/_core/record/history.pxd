from minigrad._core.graph.node cimport Node
from minigrad._core.graph.tensor cimport TensorBase

cpdef list noted_writes(TensorBase tensor)
cpdef tuple save_location(Node node)
cdef object describe_writes(TensorBase tensor, Py_ssize_t version, object node)
cpdef object describe_use(Node node, str name)
cdef str describe_saver(Node node, str name)
