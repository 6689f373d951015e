from minigrad._core.record.apply cimport call
from minigrad._core.graph.tensor cimport TensorBase
