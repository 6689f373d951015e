from minigrad._core.anomaly cimport note_creation
from minigrad._core.c cimport become, named_subclass
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, start
from minigrad._core.packed cimport PackedTensor, does_not_fit, not_saved, packed
from minigrad._core.primitive cimport Plan, Primitive
from minigrad._core.saved cimport SavedTensor, SavedTuple, check, save, save_tuple, saved_output, spent, with_history
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase, alias
from minigrad._core.watch cimport Watch

cdef class OpNode(Node):
    cdef object value(self, int slot, bint history)
    cdef object store(self, int slot, object value, int output, State state)
    cdef object put(self, int slot, object value, int version)
    cdef object unpacked(self, object value)
    cdef object held(self, int slot)
    cdef object set_hooks(self, int slot, int item, object pack, object unpack)
    cdef object one(self, int i, object grad, object a, object b, object c)
    cdef object compute_many(self, object grad, long long wanted, list results)

cdef class RawSavedTensor:
    cdef OpNode node
    cdef int slot
    cdef int item

cdef OpNode new_node(Plan plan, State state, Meta meta)
cdef OpNode record(Primitive op, State state, long long mask, int edges, Node next0, Node next1, object numbers, TensorBase out, object x, object y, object args)
cdef OpNode record_many(Primitive op, State state, long long mask, tuple nodes, object numbers, TensorBase out, object outs, tuple args)
cdef object described(int source, tuple args)
cdef bint all_undefined(list grads)
cdef bint any_tensor(tuple items)
