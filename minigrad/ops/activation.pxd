from minigrad._core.apply cimport call
from minigrad.ops.base cimport conj
