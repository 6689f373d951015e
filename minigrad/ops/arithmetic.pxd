from minigrad._core.apply cimport binary, call, unary
from minigrad._core.tensor cimport TensorBase
from minigrad.ops.base cimport conj
