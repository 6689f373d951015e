from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node

cdef object validate_gradient(object grad, Node following, int number, Node node, Py_ssize_t index)
cdef object cast_gradient(object grad, Meta meta, Node node, Py_ssize_t index)
