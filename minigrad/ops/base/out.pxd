from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport TensorBase
