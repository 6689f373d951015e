from minigrad._core.function.jvp cimport push_forward
from minigrad._core.function.node cimport PyNode, is_among
from minigrad._core.record.apply cimport make_view, requires_grad
from minigrad._core.mutation.inplace cimport check_inplace
from minigrad._core.record.saved_tensor cimport describe_meta
from minigrad._core.graph.thread_state cimport State
from minigrad._core.graph.tensor cimport AutogradMeta, TensorBase, alias, make_tensor, is_plain, wrap
from minigrad._core.mutation.views cimport locate_view, rebase_history

cdef object wrap_outputs(PyNode node, tuple args, object output, bint executable, State state, bint in_setup)
