from minigrad._core.function_node cimport PyNode
from minigrad._core.node cimport Node
from minigrad._core.opnode cimport OpNode
from minigrad._core.packed cimport PackedTensor
from minigrad._core.primitive cimport Plan
from minigrad._core.saved cimport SavedTensor, SavedTuple
from minigrad._core.tensor cimport TensorBase
from minigrad._core.views cimport CopySlices

cpdef list kept(Node root, bint whole)
cpdef list behind(Node root)
cpdef Py_ssize_t current_version(TensorBase tensor)
