from minigrad._core.record.apply cimport unary
