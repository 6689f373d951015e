"""The types of the public API that no source can carry.

`tools/stubs.py` writes the ``.pyi`` files from the signatures of the running code. Public functions have their annotations
in the source. This table has the rest:

    TYPES           the methods of the classes of ``minigrad/_core``, where Cython makes a C type of an annotation
    ATTRIBUTES      attributes and properties
    OVERLOADS       functions whose result depends on the arguments
    PREAMBLES       named tuples and aliases
"""

HEADER = '''\
# Written by tools/stubs.py. Do not edit: the types are in the sources and in tools/annotations.py.
from builtins import bool as _bool, complex as _complex, dict as _dict, float as _float, int as _int, slice as _slice, str as _str
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, overload
import numpy as np
'''

# Names that the annotations use, and the module whose stub defines them.
HOMES = {
    "Limits": "minigrad.dtypes", "Named": "minigrad.functional._fake_quantize",
    "Tensor": "minigrad.tensor", "Size": "minigrad.tensor", "_Number": "minigrad.tensor",
    "ValuesAndIndices": "minigrad.tensor", "QR": "minigrad.tensor", "SVD": "minigrad.tensor",
    "SignAndLogarithm": "minigrad.tensor",
    "memory_format": "minigrad.ops.shape.formats", "layout": "minigrad.ops.shape.formats", "UntypedStorage": "minigrad.storage",
    "TypedStorage": "minigrad.storage",
    "Device": "minigrad.dtypes", "dtype": "minigrad.dtypes", "_Dtype": "minigrad.dtypes", "_Device": "minigrad.dtypes",
    "Node": "minigrad.autograd.graph", "GradientEdge": "minigrad.autograd.graph", "RemovableHandle": "minigrad.autograd.graph",
    "Generator": "minigrad.random", "Parameter": "minigrad.nn.parameter", "Optimizer": "minigrad.optim.optimizer",
    "Module": "minigrad.nn.modules.module", "contextmanager": "contextlib",
}

# Definitions that stand at the head of a stub, after its imports.
PREAMBLES = {
    "minigrad.tensor": '''\
_Number: TypeAlias = _bool | _int | _float | _complex
_Item: TypeAlias = _int | _slice | EllipsisType | None | Tensor | Sequence[Any] | np.ndarray
_Index: TypeAlias = _Item | tuple[_Item, ...]

class ValuesAndIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class QR(NamedTuple):
    Q: Tensor
    R: Tensor

class SVD(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class SignAndLogarithm(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
''',
    "minigrad.dtypes": '''\
_Dtype: TypeAlias = dtype
_Device: TypeAlias = Device | _str
''',
    "minigrad.library": '''\
Number: TypeAlias = _int | _float | _bool
''',
    "minigrad.library._custom_ops": '''\
REGISTRY: _dict[_str, CustomOpDef]
''',
}

OPERATORS = "add sub mul truediv pow matmul and or xor"

# The methods of the core: ``Class.method.parameter`` and, for the result, ``Class.method``.
TYPES = {
    **{f"Tensor.__{r}{name}__{key}": kind for name in OPERATORS.split() for r in ("", "r")
       for key, kind in (("", "Tensor"), (".other", "Tensor" if name == "matmul" else "Tensor | _Number"))},
    **{f"Tensor.__{name}__": "Tensor" for name in ("neg", "pos", "abs", "invert")},
    **{f"Tensor.__{name}__{key}": kind for name in ("eq", "ne", "lt", "le", "gt", "ge")
       for key, kind in (("", "Tensor"), (".other", "object" if name in ("eq", "ne") else "Tensor | _Number"))},
    "Tensor.__hash__": "_int", "Tensor.__getitem__.index": "_Index", "Tensor.__getitem__": "Tensor",
    "Tensor.__setitem__.index": "_Index", "Tensor.__setitem__.value": "Tensor | _Number", "Tensor.__setitem__": "None",
    "Tensor.register_hook.hook": "Callable[..., Any]", "Tensor.register_hook": "RemovableHandle",
    "Tensor.register_post_accumulate_grad_hook.hook": "Callable[..., Any]",
    "Tensor.register_post_accumulate_grad_hook": "RemovableHandle",
    "Tensor.retain_grad": "None", "Tensor.detach": "Tensor", "Tensor.is_inference": "_bool",
    "Tensor.bump.name": "_str", "Tensor.bump": "None",
    "Size.numel": "_int",
    "dtypes.as_dtype.dtype": "_Dtype | None", "dtypes.as_dtype": "dtype",
    "dtype.to_real": "dtype", "dtype.to_complex": "dtype", "dtype.__repr__": "_str", "dtype.__reduce__": "Any",
    "Device.__init__.type": "_str", "Device.__init__.index": "_int | None", "Device.__init__.backend": "Any",
    "Device.__repr__": "_str", "Device.__str__": "_str", "Device.__eq__.other": "object", "Device.__eq__": "_bool",
    "Device.__hash__": "_int", "Device.__reduce__": "Any", "Device.__enter__": "Self", "Device.__exit__.exc_info": "Any",
    "Device.__exit__": "None",
    "Node.name": "_str", "Node.__repr__": "_str", "Node.__reduce__": "Any",
    "Node.register_hook.fn": "Callable[..., Any]", "Node.register_hook": "RemovableHandle",
    "Node.register_prehook.fn": "Callable[..., Any]", "Node.register_prehook": "RemovableHandle",
    **{f"{cls}.__call__{key}": kind for cls in ("Node", "BackwardCFunction")
       for key, kind in (("", "Any"), (".grads", "Tensor | None"), (".keywords", "Any"))},
    "BackwardCFunction.apply.grads": "Tensor | None", "BackwardCFunction.apply": "Any",
    "BackwardCFunction.maybe_clear_saved_tensors": "None",
    "Function.apply.args": "Any", "Function.apply.kwargs": "Any", "Function.apply": "Any",
    "RemovableHandle.__init__.hooks_dict": "Any", "RemovableHandle.__init__.extra_dict": "Any", "RemovableHandle.remove": "None",
    "RemovableHandle.__enter__": "Self", "RemovableHandle.__exit__.exc_info": "Any", "RemovableHandle.__exit__": "None",
}

# Properties and attributes. A property that can be set or deleted is written as an attribute.
ATTRIBUTES = {
    "Limits": {"bits": "_int", "dtype": "_str", "min": "_float", "max": "_float", "eps": "_float", "tiny": "_float",
               "smallest_normal": "_float", "resolution": "_float"},
    "Tensor": {"shape": "Size", "dtype": "_Dtype", "device": "Device", "ndim": "_int", "requires_grad": "_bool", "is_leaf": "_bool",
               "grad_fn": "Node | None", "output_nr": "_int", "grad": "Tensor | None", "grad_dtype": "_Dtype | None",
               "data": "Tensor", "retains_grad": "_bool",
               "itemsize": "_int", "nbytes": "_int", "T": "Tensor", "mT": "Tensor", "H": "Tensor", "mH": "Tensor",
               "real": "Tensor", "imag": "Tensor", "layout": "layout", "volatile": "_bool",
               "is_cpu": "_bool",
               "is_cuda": "_bool",
               "is_meta": "_bool",
               **dict.fromkeys(("is_mkldnn", "is_mps", "is_nested", "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan",
                                "is_xla", "is_xpu"), "_bool"),
               "__cuda_array_interface__": "_dict[_str, Any]",
               "_array": "Any", "_meta": "Any", "_version": "_int", "_set_version": "Callable[[_int], None]",
               "_base": "Tensor | None",
               "__array_priority__": "ClassVar[_int]"},
    "UnpackedDualTensor": {"primal": "Tensor", "tangent": "Tensor | None"},
    "dtype": {"name": "_str", "numpy": "np.dtype[Any]", "category": "_int", "itemsize": "_int", "differentiable": "_bool",
              "is_floating_point": "_bool", "is_complex": "_bool", "is_signed": "_bool"},
    "Device": {"type": "_str", "index": "_int | None", "backend": "Any"},
    "CustomOpDef": {"default": "_str"},
    "Node": {"requires_grad": "_bool", "next_functions": "tuple[tuple[Node | None, _int], ...]", "metadata": "_dict[Any, Any]"},
    "BackwardCFunction": {"saved_tensors": "tuple[Tensor | None, ...]", "saved_variables": "tuple[Tensor | None, ...]",
                          "needs_input_grad": "tuple[_bool, ...]", "materialize_grads": "_bool"},
    "Function": {"boxed_grads_call": "_bool", "clear_saved_tensors_on_access": "_bool", "generate_vmap_rule": "_bool"},
    "GradientEdge": {"node": "Node", "output_nr": "_int", "ownership_token": "Node | None"},
    "RemovableHandle": {"id": "_int"},
    "Buffer": {"persistent": "_bool"},
    "UninitializedBuffer": {"shape": "Size"}, "UninitializedParameter": {"shape": "Size"},
    "Module": {"training": "_bool"},
    "Linear": {"in_features": "_int", "out_features": "_int", "weight": "Parameter", "bias": "Parameter | None"},
    "Conv2d": {"in_channels": "_int", "out_channels": "_int", "kernel_size": "tuple[_int, ...]", "stride": "tuple[_int, ...]",
               "padding": "Any", "dilation": "tuple[_int, ...]", "groups": "_int", "weight": "Parameter",
               "bias": "Parameter | None"},
    "RNNBase": {"all_weights": "list[list[Parameter]]"},
    "Dropout": {"p": "_float", "inplace": "_bool"},
    "Optimizer": {"defaults": "_dict[_str, Any]", "state": "_dict[Tensor, _dict[_str, Any]]",
                  "param_groups": "list[_dict[_str, Any]]"},
    "MinigradError": {"code": "_str", "what": "_str"},
}

# Functions whose result depends on the arguments: overloads instead of the signature.
OVERLOADS = {
    name: ["({self}) -> Tensor",
           "({self}, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices",
           "({self}, dim: Tensor) -> Tensor"] for name in ("max", "min")
} | {
    name: ["({self}) -> Tensor", "({self}, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices"]
    for name in ("median", "nanmedian")
} | {
    "nonzero": ["({self}, *, out: Tensor | None = None) -> Tensor",
                "({self}, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
                "({self}, *, as_tuple: _bool) -> Tensor | tuple[Tensor, ...]"],
} | {
    "custom_op": [f"(name: _str, fn: {given}, /, *, mutates_args: _str | Iterable[_str], device_types: _str | Sequence[_str] "
                  f"| None = None, schema: _str | None = None, tags: Any = None) -> {result}" for given, result in (
                      ("None = None", "Callable[[Callable[..., Any]], CustomOpDef]"), ("Callable[..., Any]", "CustomOpDef"))],
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: _int) -> _int"],
    "Tensor.stride": ["(self, dim: None = None) -> tuple[_int, ...]", "(self, dim: _int) -> _int"],
    "Tensor.type": ["(self, dtype: None = None) -> _str", "(self, dtype: _Dtype | _str | type[Any]) -> Tensor"],
    "Sequential.__getitem__": ["(self, index: _int) -> Module", "(self, index: _slice) -> Self"],
}
