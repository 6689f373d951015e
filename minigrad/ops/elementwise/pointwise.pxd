from minigrad.ops.base.rule cimport conj
