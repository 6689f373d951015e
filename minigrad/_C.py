"""Private names of ``torch._C`` that programs use, for what is here under another name. It only renames.

    minigrad._C._current_graph_task_id          minigrad.autograd.graph._current_graph_task_id

Mirrors ``torch/_C/__init__.pyi.in`` and ``torch/_C/_autograd.pyi``.
"""

from types import SimpleNamespace as _Names

from minigrad._core.function.node import RawSavedVariable as _RawSavedVariable
from minigrad._core.graph.accumulate_grad import AccumulateGrad as _AccumulateGrad
from minigrad._core.graph.metadata import Device as device
from minigrad._core.graph.metadata import DType as dtype
from minigrad._core.graph.metadata import Size
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.delayed_error import Error as _Error
from minigrad._core.record.saved_attributes import RawSavedTensor as _RawSavedTensor
from minigrad.autograd.forward_ad import _is_fwd_grad_enabled
from minigrad.autograd.function import FunctionCtx as _FunctionBase
from minigrad.autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from minigrad.autograd.grad_mode import set_grad_enabled as _set_grad_enabled
from minigrad.autograd.graph import Node as _Node
from minigrad.autograd.graph import (
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _will_engine_execute_node,
)
from minigrad.autograd.graph import increment_version as _increment_version
from minigrad.ops.shape.formats import layout, memory_format
from minigrad.random import Generator

__all__ = ["Generator", "Size", "TensorBase", "_FunctionBase", "_autograd", "_current_autograd_node",
           "_current_graph_task_execution_order", "_current_graph_task_id", "_functions", "_increment_version",
           "_is_fwd_grad_enabled", "_set_grad_enabled", "_will_engine_execute_node", "device", "dtype", "is_grad_enabled",
           "is_inference_mode_enabled", "layout", "memory_format"]

_functions = _Names(AccumulateGrad=_AccumulateGrad, DelayedError=_Error)
_autograd = _Names(SavedTensor=_RawSavedTensor | _RawSavedVariable, Node=_Node)
