from minigrad._core.record.apply cimport call
from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.tensor cimport TensorBase
