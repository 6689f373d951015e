from minigrad._core.graph.node cimport Node
from minigrad._core.graph.tensor cimport TensorBase

cpdef list list_saved(Node root, bint whole)
cpdef list nodes_behind(Node root)
cpdef Py_ssize_t current_version(TensorBase tensor)
