from minigrad.ops.base cimport conj
