from minigrad._core.accumulate cimport edge_of
from minigrad._core.node cimport Node, start
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase, alias

cdef class Error(Node):
    cdef str message
    cdef str fix
