from minigrad._core.record.apply cimport call
