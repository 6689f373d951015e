from minigrad._core.apply cimport binary, unary
from minigrad._core.tensor cimport TensorBase
