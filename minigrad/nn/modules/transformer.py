"""The transformer: layers of attention and small networks, each with a way around it and a norm.

    encoder layer    x <- norm1(x + attention(x, x, x))             decoder layer    x <- norm1(x + attention(x, x, x))
                     x <- norm2(x + network(x))                                      x <- norm2(x + attention(x, memory, memory))
                                                                                     x <- norm3(x + network(x))

With `norm_first` it is x + attention(norm1(x)), and so on. ``network`` is Linear, activation, Linear.

Vaswani et al., "Attention is all you need", 2017. Mirrors ``torch/nn/modules/transformer.py``.
"""

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportAttributeAccessIssue=false
# (modules have no types inside the package)

import copy
import math

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
from minigrad.ops.base.rule import integer

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]


def activation_of(activation):
    """The function of a name; any other function is what it is."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise ArgumentError("MG-E360", f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, then a network at each place.

    Args:
        d_model (int): E, the features of input and output.
        nhead (int): heads of the attention.
        dim_feedforward (int): features inside the network.
        dropout (float)
        activation (str or callable): ``"relu"``, ``"gelu"``, or any function of a tensor.
        layer_norm_eps (float): ε of the norms.
        batch_first (bool): input and output are (N, S, E) in place of (S, N, E).
        norm_first (bool): norms stand in front of attention and network, in place of behind the sums.
        bias (bool): whether linear layers and norms have biases.
        device, dtype (optional): of the parameters.

    Mirrors ``torch.nn.TransformerEncoderLayer``.

    Raises:
        RuntimeError: the activation is unknown.

    >>> nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)(mg.ones(5, 3, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation_of(activation)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """The sequence `src`, one layer on. Masks as in `MultiheadAttention`."""
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
    """Attention of a sequence to itself, then to another one (the memory), then a network at each place.

    Arguments as for `TransformerEncoderLayer`. Mirrors ``torch.nn.TransformerDecoderLayer``.

    Raises:
        RuntimeError: the activation is unknown.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> layer(mg.ones(5, 3, 8), mg.ones(5, 4, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **made)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_of(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        """The sequence `tgt`, one layer on. Masks as in `MultiheadAttention`."""
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
    """`num_layers` copies of a layer, one after the other.

    Args:
        encoder_layer (TransformerEncoderLayer): all begin with its parameters, and have their own then.
        num_layers (int)
        norm (Module, optional): applied to the result.
        enable_nested_tensor, mask_check: accepted as in PyTorch; there are no nested tensors. So what stands at places that
            `src_key_padding_mask` ignores is never set to 0, in evaluation either.

    Mirrors ``torch.nn.TransformerEncoder``.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=2)(mg.ones(5, 3, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = clones(encoder_layer, num_layers, "TransformerEncoder")
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """The sequence `src`, all layers on.

        Masks as in `MultiheadAttention`; `is_causal` says that `mask` is the causal one, which is found out if it is None.
        """
        is_causal = causal_hint(mask, is_causal)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one after the other, all with one memory.

    Args:
        decoder_layer (TransformerDecoderLayer): all begin with its parameters, and have their own then.
        num_layers (int)
        norm (Module, optional): applied to the result.

    Mirrors ``torch.nn.TransformerDecoder``.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> nn.TransformerDecoder(layer, num_layers=2)(mg.ones(5, 3, 8), mg.ones(5, 4, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = clones(decoder_layer, num_layers, "TransformerDecoder")
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        """The sequence `tgt`, all layers on.

        Masks as in `MultiheadAttention`; `tgt_is_causal` says that `tgt_mask` is the causal one, which is found out if it is None.
        """
        tgt_is_causal = causal_hint(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                        memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that looks at what it returns.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype: of all
            layers, see `TransformerEncoderLayer`.
        num_encoder_layers, num_decoder_layers (int)
        custom_encoder, custom_decoder (Module, optional): instead of the usual ones.

    All parameters with two or more dimensions begin uniform as Glorot & Bengio have it. Mirrors ``torch.nn.Transformer``.

    >>> model = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(mg.ones(5, 4, 8), mg.ones(5, 3, 8)).shape
    minigrad.Size([5, 3, 8])
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
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

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        """The decoder's result for `tgt`, (T, N, E), with what the encoder makes of `src`, (S, N, E), as its memory.

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
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask: -inf above the diagonal, where a later key stands, and 0 elsewhere.

        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return triu(full((sz, sz), -math.inf, device=device, dtype=dtype), 1)


def causal_hint(mask, hint):
    """Whether `mask` is the causal one: then attention needs not add it. A mask that is learnt is none, for it has a gradient."""
    if hint is not None or mask is None:
        return bool(hint)
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or mask.requires_grad:
        return False
    causal = full(tuple(mask.shape), True if mask.dtype is bool_ else -math.inf, dtype=mask.dtype, device=mask.device)
    return mask.equal(triu(causal, 1))


def clones(layer, count, function):
    """As many copies of a layer, each with parameters of its own."""
    return ModuleList([copy.deepcopy(layer) for _ in range(integer(count, "num_layers", function))])
