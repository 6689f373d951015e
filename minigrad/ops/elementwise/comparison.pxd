from minigrad._core.record.apply cimport binary, unary
from minigrad._core.graph.tensor cimport TensorBase
