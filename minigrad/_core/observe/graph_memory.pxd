from minigrad._core.function.node cimport PyNode
from minigrad._core.graph.node cimport Node
from minigrad._core.record.op_node cimport OpNode
from minigrad._core.record.packed_tensor cimport PackedTensor
from minigrad._core.record.primitive cimport Plan
from minigrad._core.record.saved_tensor cimport SavedTensor, SavedTuple
from minigrad._core.graph.tensor cimport TensorBase
from minigrad._core.mutation.views cimport CopySlices

cpdef list list_saved(Node root, bint whole)
cpdef list nodes_behind(Node root)
cpdef Py_ssize_t current_version(TensorBase tensor)
