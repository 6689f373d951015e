"""The lookup of rows in a table of vectors (an embedding), and its gradient.

    z[i] = w[index[i]]                                          dw[index[i]] += g[i] factor[i]

The optional factor is 0 for the padding row. With ``scale_grad_by_freq``, it is 1 divided by how often the row is read.

Mirrors ``aten/src/ATen/native/Embedding.cpp``. Read next: ``nn/functional/_embedding.py``.
"""

from minigrad._core.record.apply import call
from minigrad.ops.base.rule import Linear, op
from minigrad.ops.shape.views import reshape_array

__all__: list[str] = []


@op("embedding")
class Embedding(Linear):
    """z[i] = w[index[i]]"""

    inputs = 1
    torch_names = {"w": "weight", "index": "indices"}

    def forward(k, w, index, factor):
        return k.view(k.index_select(w, 0, k.view(index, (index.size,))), (*index.shape, w.shape[1]))

    def vjp_w(g, w_shape, index, factor):
        return call(EmbeddingBackward.op, (g, index, factor, w_shape[0]))


@op("embedding_dense_backward")
class EmbeddingBackward(Linear):
    """z[index[i]] += x[i] factor[i]: the gradient of a lookup in a table, given the output's gradient x"""

    inputs = 1
    torch_names = {"x": "grad_output", "index": "indices"}

    def forward(k, x, index, factor, rows):
        if factor is not None:
            x = k.where(k.eq(factor, 0), k.full((), 0, x.dtype), k.mul(x, factor))      # 0 even if x is infinite
        x = reshape_array(k, x, (index.size, x.shape[-1]))
        return k.index_add(k.full((rows, x.shape[-1]), 0, x.dtype), 0, k.view(index, (index.size,)), x)

    def vjp_x(g, index, factor):
        dx = call(Embedding.op, (g, index, None))
        return dx if factor is None else dx * factor
