from minigrad._core.apply cimport binary
from minigrad.ops.base cimport conj
