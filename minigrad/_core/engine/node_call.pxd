from minigrad._core.graph.node cimport Node
from minigrad._core.graph.tensor cimport TensorBase
from minigrad._core.engine.validate cimport validate_gradient
