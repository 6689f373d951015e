from minigrad._core.graph.metadata cimport DType

cdef class Primitive

cdef class Plan:
    cdef readonly Primitive op
    cdef readonly object node_class
    cdef readonly tuple names
    cdef readonly tuple formulas
    cdef readonly object joint
    cdef bint saves_output
    cdef bint saves_operand
    cdef bint simple
    cdef readonly bint single
    cdef bint second_first
    cdef bint lends
    cdef tuple order
    cdef long long active
    cdef int inputs
    cdef int saved
    cdef int[12] source
    cdef int[8] count
    cdef int[64] slots

cdef class Primitive:
    cdef readonly str name
    cdef readonly str node_name
    cdef readonly object rule
    cdef readonly object forward
    cdef readonly object write
    cdef readonly tuple params
    cdef readonly tuple outputs
    cdef readonly tuple formulas
    cdef readonly object joint
    cdef readonly int inputs
    cdef readonly bint variadic
    cdef readonly bint differentiable
    cdef readonly bint view
    cdef readonly int kernel
    cdef readonly bint commutative
    cdef readonly bint floats_only
    cdef readonly DType result
    cdef dict plans
    cdef list small_plans

    cdef Plan plan(self, long long mask)
