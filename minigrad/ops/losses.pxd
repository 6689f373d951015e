from minigrad._core.apply cimport call
from minigrad._core.meta cimport Meta
from minigrad._core.tensor cimport TensorBase
