from minigrad._core.record.apply cimport binary, call, unary
from minigrad._core.graph.tensor cimport TensorBase
