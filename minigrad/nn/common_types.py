"""The types of sizes, for annotations: ``_size_2_t`` is an int or a pair of ints. Mirrors ``torch/nn/common_types.py``."""

from minigrad.tensor import Tensor

_scalar_or_tuple_any_t = int | tuple[int, ...]
_size_any_t, _size_any_opt_t = int | tuple[int, ...], int | tuple[int | None, ...] | None
_size_1_t = int | tuple[int]
_size_2_t, _size_2_opt_t = int | tuple[int, int], int | tuple[int | None, int | None] | None
_size_3_t, _size_3_opt_t = int | tuple[int, int, int], int | tuple[int | None, int | None, int | None] | None
_size_4_t = int | tuple[int, int, int, int]
_size_5_t = int | tuple[int, int, int, int, int]
_size_6_t = int | tuple[int, int, int, int, int, int]
_ratio_any_t = float | tuple[float, ...]
_ratio_2_t = float | tuple[float, float]
_ratio_3_t = float | tuple[float, float, float]
_tensor_list_t = Tensor | list[Tensor]
_maybe_indices_t = Tensor | tuple[Tensor, Tensor]
