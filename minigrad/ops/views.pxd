from minigrad._core.apply cimport call
from minigrad._core.c cimport row_by_row
from minigrad._core.tensor cimport TensorBase
from minigrad.ops.base cimport dimension, tensor_argument
