from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node
from minigrad._core.saved cimport describe
from minigrad._core.tensor cimport TensorBase

cdef object validated(object grad, Node following, int number, Node node, Py_ssize_t index)
cdef object fitted(object grad, Meta meta, Node node, Py_ssize_t index)
