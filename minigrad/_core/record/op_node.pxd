from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node
from minigrad._core.record.primitive cimport Plan, Primitive
from minigrad._core.graph.thread_state cimport State
from minigrad._core.graph.tensor cimport TensorBase

cdef class OpNode(Node):
    cdef object value(self, int slot, bint history)
    cdef object store(self, int slot, object value, int output, State state)
    cdef object put(self, int slot, object value, int version)
    cdef object unpack_value(self, object value, bint history)
    cdef object saved_in(self, int slot)
    cdef object one(self, int i, object grad, object a, object b, object c)
    cdef object compute_many(self, object grad, long long wanted, list results)

cdef OpNode new_node(Plan plan, State state, Meta meta)
cdef OpNode record(Primitive op, State state, long long mask, int edges, Node next0, Node next1, object numbers, TensorBase out,
                   object x, object y, object args)
cdef OpNode record_many(Primitive op, State state, long long mask, tuple nodes, object numbers, TensorBase out, object outs,
                        tuple args)
cdef object describe_argument(int source, tuple args)
cdef bint all_undefined(list grads)
cdef bint contains_tensor(tuple items)
