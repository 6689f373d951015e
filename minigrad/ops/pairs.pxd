from minigrad._core.apply cimport binary, call, unary
from minigrad._core.tensor cimport TensorBase
