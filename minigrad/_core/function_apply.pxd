from minigrad._core.accumulate cimport edge_of
from minigrad._core.function_node cimport PyNode, new_function_node
from minigrad._core.apply cimport requires_grad
from minigrad._core.function_outputs cimport wrap_outputs
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase
