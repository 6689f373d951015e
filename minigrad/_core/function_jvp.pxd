from minigrad._core.forward cimport keep, tangent_of
from minigrad._core.function_node cimport PyNode, among, zeros
from minigrad._core.saved cimport describe
from minigrad._core.state cimport State
from minigrad._core.tensor cimport TensorBase

cdef object push_forward(PyNode node, tuple args, tuple raw, list outs, tuple dirty, tuple constant, State state)
