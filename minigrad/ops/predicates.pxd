from minigrad._core.apply cimport unary
