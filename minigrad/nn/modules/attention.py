"""Multi-head attention with its parameters.

    in_proj_weight (3 E, E)             Wq, Wk and Wv, if all three inputs have E features
    q_ k_ v_proj_weight                 Wq, Wk and Wv as three parameters, if key or value has another number of features
    in_proj_bias (3 E)                  the biases of the three
    out_proj                            Linear(E, E)

Mirrors MultiheadAttention of ``torch/nn/modules/activation.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.errors import AutogradAssertionError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn.modules.linear import NonDynamicallyQuantizableLinear
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Multi-head attention (Vaswani et al., "Attention is all you need", 2017).

    Args:
        embed_dim (int): E, the number of features of the query and of the output.
        num_heads (int): H, a divisor of E; a head has E / H features.
        dropout (float): the probability of dropping a weight in training.
        bias (bool): whether the projections have biases.
        add_bias_kv (bool): add a learnable key and value.
        add_zero_attn (bool): add a key and value of zeros.
        kdim, vdim (int, optional): the number of features of key and value; E by default.
        batch_first (bool): inputs and output are (N, L, E) instead of (L, N, E).
        device, dtype (optional): the device and dtype of the parameters.

    The weights of the projections are initialized by `minigrad.nn.init.xavier_uniform_`, and the biases to 0.
    Mirrors ``torch.nn.MultiheadAttention``.

    Raises:
        ValueError: a size is not positive.
        AssertionError: H does not divide E.

    >>> attention = nn.MultiheadAttention(8, num_heads=2, batch_first=True)
    >>> x = mg.ones(5, 3, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (minigrad.Size([5, 3, 8]), minigrad.Size([5, 3, 3]))
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        embed_dim = integer(embed_dim, "embed_dim", "MultiheadAttention")
        num_heads = integer(num_heads, "num_heads", "MultiheadAttention")
        if embed_dim <= 0 or num_heads <= 0:
            raise TensorValueError("MG-E360", f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                                   f"num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = flag_of(self, "batch_first", batch_first)
        self.head_dim = embed_dim // num_heads
        if embed_dim % num_heads:
            raise AutogradAssertionError("MG-E360", "embed_dim must be divisible by num_heads",
                                         expected=f"a multiple of {num_heads}", found=str(embed_dim))
        shapes = {"q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
                  "v_proj_weight": (embed_dim, self.vdim), "in_proj_weight": (3 * embed_dim, embed_dim),
                  "in_proj_bias": (3 * embed_dim,), "bias_k": (1, 1, embed_dim), "bias_v": (1, 1, embed_dim)}

        def parameter(name, wanted):
            register_optional(self, name, wanted, shapes[name], device, dtype)

        bias, add_bias_kv = flag_of(self, "bias", bias), flag_of(self, "add_bias_kv", add_bias_kv)
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
            parameter(name, not self._qkv_same_embed_dim)
        parameter("in_proj_weight", self._qkv_same_embed_dim)
        parameter("in_proj_bias", bias)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        parameter("bias_k", add_bias_kv)
        parameter("bias_v", add_bias_kv)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        """Initialize the parameters, except the weight of `out_proj`: that module has initialized it."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
                attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return (output, weights): see `minigrad.nn.functional.multi_head_attention_forward`.

        With ``need_weights=False`` the weights are None, and the computation is faster.
        """
        swapped = self.batch_first and query.ndim == key.ndim == value.ndim == 3
        if swapped:         # inputs that are the same tensor stay the same tensor: they share a matrix product
            inputs = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = [inputs[id(x)] for x in (query, key, value)]
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask,
            need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return output.transpose(0, 1) if swapped else output, weights
