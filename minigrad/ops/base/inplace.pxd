from minigrad._core.graph.tensor cimport TensorBase
