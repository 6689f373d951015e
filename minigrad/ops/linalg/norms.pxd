from minigrad._core.record.apply cimport call
from minigrad.ops.base.rule cimport conj
