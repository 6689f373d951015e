from minigrad._core.record.apply cimport binary
from minigrad.ops.base.rule cimport conj
