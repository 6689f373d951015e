from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.function.node cimport PyNode, new_function_node
from minigrad._core.record.apply cimport requires_grad
from minigrad._core.function.outputs cimport wrap_outputs
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport TensorBase
