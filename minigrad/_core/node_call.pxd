from minigrad._core.node cimport Node
from minigrad._core.tensor cimport TensorBase
from minigrad._core.validation cimport validated
