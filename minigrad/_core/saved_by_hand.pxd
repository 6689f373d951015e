from minigrad._core.node cimport Node, start
from minigrad._core.packed cimport PackedTensor, packed
from minigrad._core.saved cimport SavedTensor, save
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase

cdef class KeptTensors(Node):
    cdef readonly str owner
    cdef readonly list kept
