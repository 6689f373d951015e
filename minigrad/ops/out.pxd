from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase
