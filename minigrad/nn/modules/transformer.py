"""The transformer: layers of attention and small networks, each with a residual connection and a norm.

    encoder layer    x <- norm1(x + attention(x, x, x))             decoder layer    x <- norm1(x + attention(x, x, x))
                     x <- norm2(x + network(x))                                      x <- norm2(x + attention(x, memory, memory))
                                                                                     x <- norm3(x + network(x))

With `norm_first`, a step is x <- x + attention(norm1(x), ...) instead. ``network`` is Linear, activation, Linear.

Vaswani et al., "Attention is all you need", 2017. Mirrors ``torch/nn/modules/transformer.py``.
"""

from __future__ import annotations

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportAttributeAccessIssue=false
# (modules have no types inside the package)
import copy
import math
from typing import TYPE_CHECKING

from minigrad.creation import full
from minigrad.dtypes import bool_
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules.attention import MultiheadAttention
from minigrad.nn.modules.dropout import Dropout
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.lists import ModuleList
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.normalization import LayerNorm
from minigrad.ops import triu
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]


def _get_activation_fn(activation):
    """Return the activation function with a name. Return a function as it is."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise ArgumentError("MG-E360", f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class TransformerEncoderLayer(Module):
    """Self-attention, then a network at each position.

    Args:
        d_model (int): E, the number of features of input and output.
        nhead (int): the number of heads of the attention.
        dim_feedforward (int): the number of features inside the network.
        dropout (float): the probability of dropping an element, in training.
        activation (str or callable): ``"relu"``, ``"gelu"``, or any function of a tensor.
        layer_norm_eps (float): ε of the norms.
        batch_first (bool): input and output are (N, S, E) instead of (S, N, E).
        norm_first (bool): apply the norms before attention and network, instead of after the sums.
        bias (bool): whether linear layers and norms have biases.
        device, dtype (optional): the device and dtype of the parameters.

    Mirrors ``torch.nn.TransformerEncoderLayer``.

    Raises:
        RuntimeError: the activation is unknown.

    >>> nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)(mg.ones(5, 3, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        """Return the output for the sequence `src`. The masks are as in `MultiheadAttention`."""
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal):
        x, _ = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)
        return self.dropout1(x)

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, then attention to another sequence (the memory), then a network at each position.

    The arguments are as in `TransformerEncoderLayer`. Mirrors ``torch.nn.TransformerDecoderLayer``.

    Raises:
        RuntimeError: the activation is unknown.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> layer(mg.ones(5, 3, 8), mg.ones(5, 4, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **factory)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **factory)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        """Return the output for the sequence `tgt`. The masks are as in `MultiheadAttention`."""
        to_itself = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        to_memory = memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), *to_itself)
            x = x + self._mha_block(self.norm2(x), memory, *to_memory)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, *to_itself))
        x = self.norm2(x + self._mha_block(x, memory, *to_memory))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal):
        x, _ = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)
        return self.dropout1(x)

    def _mha_block(self, x, memory, attn_mask, key_padding_mask, is_causal):
        x, _ = self.multihead_attn(x, memory, memory, key_padding_mask, False, attn_mask, is_causal=is_causal)
        return self.dropout2(x)

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """`num_layers` copies of a layer in a chain.

    Args:
        encoder_layer (TransformerEncoderLayer): the layer to copy. The copies start with its values and share no parameters.
        num_layers (int): the number of copies.
        norm (Module, optional): applied to the result.
        enable_nested_tensor, mask_check: without effect, as there are no nested tensors. So the outputs at positions that
            `src_key_padding_mask` ignores are never set to 0, not even in evaluation.

    Mirrors ``torch.nn.TransformerEncoder``.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=2)(mg.ones(5, 3, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
                 mask_check: bool = True) -> None:
        super().__init__()
        self.layers = clone_layers(encoder_layer, num_layers, "TransformerEncoder")
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        """Return the output of the last layer for the sequence `src`.

        The masks are as in `MultiheadAttention`. `is_causal` says whether `mask` is causal; if it is None, we check that.
        """
        is_causal = causal_hint(mask, is_causal)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a layer in a chain, all with the same memory.

    Args:
        decoder_layer (TransformerDecoderLayer): the layer to copy. The copies start with its values and share no parameters.
        num_layers (int): the number of copies.
        norm (Module, optional): applied to the result.

    Mirrors ``torch.nn.TransformerDecoder``.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> nn.TransformerDecoder(layer, num_layers=2)(mg.ones(5, 3, 8), mg.ones(5, 4, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = clone_layers(decoder_layer, num_layers, "TransformerDecoder")
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """Return the output of the last layer for the sequence `tgt`.

        The masks are as in `MultiheadAttention`. `tgt_is_causal` says whether `tgt_mask` is causal; if it is None, we check that.
        """
        tgt_is_causal = causal_hint(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                        memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to the encoder's output.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype: for all
            layers, as in `TransformerEncoderLayer`.
        num_encoder_layers, num_decoder_layers (int): the number of layers.
        custom_encoder, custom_decoder (Module, optional): replace the usual encoder and decoder.

    `minigrad.nn.init.xavier_uniform_` initializes all parameters with two or more dimensions. Mirrors ``torch.nn.Transformer``.

    >>> model = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(mg.ones(5, 4, 8), mg.ones(5, 3, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = F.relu,
                 custom_encoder: Module | None = None, custom_decoder: Module | None = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
                   dtype)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        """Draw new matrices."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """Return the decoder's output for `tgt`, with the encoder's output for `src` as its memory.

        Args:
            src (Tensor): (S, N, E), or (N, S, E) with `batch_first`, or (S, E).
            tgt (Tensor): (T, N, E), or (N, T, E) with `batch_first`, or (T, E).
            src_mask, tgt_mask, ...: as in `MultiheadAttention`.

        Raises:
            RuntimeError: the sizes of batches or features differ.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise ShapeError("MG-E360", "the batch number of src and tgt must be equal", expected=str(src.shape[batch]),
                             found=str(tgt.shape[batch]))
        if not src.shape[-1] == tgt.shape[-1] == self.d_model:
            raise ShapeError("MG-E360", "the feature number of src and tgt must be equal to d_model", expected=str(self.d_model),
                             found=f"{src.shape[-1]} and {tgt.shape[-1]}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike | None = None, dtype: DType | None = None) -> Tensor:
        """Return the causal mask (sz, sz): -inf above the diagonal, where the key comes after the query, and 0 elsewhere.

        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return triu(full((sz, sz), -math.inf, device=device, dtype=dtype), 1)


def causal_hint(mask, hint):
    """Return whether `mask` is the causal mask, which attention need not add. A learnable mask is not: it needs a gradient."""
    if hint is not None or mask is None:
        return bool(hint)
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or mask.requires_grad:
        return False
    causal = full(tuple(mask.shape), True if mask.dtype is bool_ else -math.inf, dtype=mask.dtype, device=mask.device)
    return mask.equal(triu(causal, 1))


def clone_layers(layer, count, function):
    """Return a list of `count` copies of a layer, each with its own parameters."""
    return _get_clones(layer, integer(count, "num_layers", function))


def _get_clones(module, N):
    """Return a list of `N` copies of a module. Programs with transformers of their own import it."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


_generate_square_subsequent_mask = Transformer.generate_square_subsequent_mask
