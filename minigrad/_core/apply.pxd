cimport cython

from minigrad._core.accumulate cimport edge_of
from minigrad._core.anomaly cimport Anomaly, note_creation
from minigrad._core.meta cimport Backend, Device, DType, Meta, meta_of
from minigrad._core.node cimport Node, start
from minigrad._core.saved cimport SavedTensor, check, save, spent, with_history
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase, alias, make, plain, wrap

cdef class Plan:
    cdef readonly tuple names
    cdef readonly tuple formulas
    cdef readonly object joint
    cdef bint saves_output
    cdef bint simple
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
    cdef readonly object refuses_bool
    cdef readonly DType result
    cdef dict plans
    cdef list small_plans

    cdef Plan plan(self, long long mask)

cdef class OpNode(Node):
    cdef object value(self, int slot, bint history)
    cdef object store(self, int slot, object value, int output)
    cdef object one(self, int i, object grad, object a, object b, object c)
    cdef object apply_many(self, object grad, long long wanted, list results)

cpdef object unary(Primitive op, object x)
cpdef object binary(Primitive op, object x, object y)
cpdef object call(Primitive op, tuple args)
cdef OpNode record(Primitive op, State state, long long mask, tuple edges, object numbers, TensorBase out, object outs, object x, object y, object args)
cdef object look_at(TensorBase view, TensorBase source, int creation)
cdef object array_in(object argument)
cdef object shape_of(object argument)
cdef TensorBase on_one_device(Primitive op, TensorBase first, TensorBase tensor)
cdef bint base_requires_grad(TensorBase view)
