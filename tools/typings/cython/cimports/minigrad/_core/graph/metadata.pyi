from minigrad._core.graph.metadata import *
