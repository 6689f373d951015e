from minigrad._core.function_jvp cimport push_forward
from minigrad._core.function_node cimport PyNode, among
from minigrad._core.apply cimport look_at, requires_grad
from minigrad._core.inplace cimport check_inplace
from minigrad._core.saved cimport describe
from minigrad._core.state cimport State
from minigrad._core.tensor cimport AutogradMeta, TensorBase, alias, make, plain, wrap
from minigrad._core.views cimport geometry_of, rebase

cdef object wrap_outputs(PyNode node, tuple args, object output, bint executable, State state, bint in_setup)
