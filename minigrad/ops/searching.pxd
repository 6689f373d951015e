from minigrad._core.apply cimport call
from minigrad._core.tensor cimport TensorBase
