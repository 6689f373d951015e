from minigrad._core.graph.tensor import *
