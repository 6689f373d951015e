from minigrad._core.apply cimport call
