"""Ops on large tensors. The memory or the arithmetic of the GPU limits them; the launch time of a kernel is negligible.

Each function returns a ``make(m)``, where m is minigrad or torch. The numbers are random: memory full of one number would look too
fast, since the GPU compresses it or leaves its multipliers idle.
"""

from benchmarks.gpu.measuring import Scenario

__all__ = ["operations"]


def function(*shapes, dtype="float32", call):
    """``call(m, *tensors)`` on normal random tensors, without a graph."""
    def make(m):
        tensors = [random(m, shape, dtype) for shape in shapes]

        def run():
            call(m, *tensors)
        return run
    return make


def random(m, shape, dtype="float32"):
    return m.randn(*shape, device="cuda").to(getattr(m, dtype))


def backward(*shapes, call, count=None):
    """Only the backward of ``call(m, *tensors)`` with respect to the first `count` tensors, repeatedly."""
    def make(m):
        tensors = [random(m, shape) for shape in shapes]
        wanted = [t.requires_grad_() for t in tensors[:count]]
        y = call(m, *tensors)
        gradient = m.randn(*y.shape, device="cuda")

        def run():
            m.autograd.grad(y, wanted, gradient, retain_graph=True)
        return run
    return make


def labelled(rows, columns, whole):
    """cross_entropy of random scores: forward, or the backward alone."""
    def make(m):
        x = m.randn(rows, columns, device="cuda")
        y = m.randint(0, columns, (rows,), device="cuda")
        if whole:
            return lambda: m.nn.functional.cross_entropy(x, y)
        x.requires_grad_()
        loss = m.nn.functional.cross_entropy(x, y)
        return lambda: m.autograd.grad(loss, x, retain_graph=True)
    return make


def indexed(which, rows, width, n):
    """Indexing of rows: embedding and its backward; gather and scatter_add."""
    def make(m):
        table = m.randn(rows, width, device="cuda")
        if which.startswith("embedding"):
            index = m.randint(0, rows, (n,), device="cuda")
            if which == "embedding":
                return lambda: m.nn.functional.embedding(index, table)
            table.requires_grad_()
            y = m.nn.functional.embedding(index, table)
            gradient = m.randn(n, width, device="cuda")
            return lambda: m.autograd.grad(y, table, gradient, retain_graph=True)
        index = m.randint(0, rows, (n, width), device="cuda")
        if which == "gather":
            return lambda: m.gather(table, 0, index)
        source = m.randn(n, width, device="cuda")
        return lambda: table.scatter_add_(0, index, source)
    return make


def adam(n, fused):
    """A step of Adam on one parameter of n numbers. minigrad's is always fused."""
    def make(m):
        x = m.randn(n, device="cuda").requires_grad_()
        x.grad = m.randn(n, device="cuda")
        return m.optim.Adam([x], lr=1e-3, **({"fused": True} if fused else {})).step
    return make


def in_full_precision(make):
    """`make` with PyTorch's float32 products in full precision, not rounded to the ten bits of TF32."""
    def made(m):
        if hasattr(m, "backends"):
            m.backends.cuda.matmul.allow_tf32 = m.backends.cudnn.allow_tf32 = False
        return make(m)
    return made


def operations(toy):
    """The scenarios; with `toy`, tiny ones that only show that they run."""
    n = 2 ** 6 if toy else 2 ** 28
    rows, columns = (8, 8) if toy else (2 ** 14, 2 ** 14)
    one = 4.0 * n                   # bytes of a tensor of n float32

    def memory(name, make, tensors, **floors):
        return Scenario(name, make, nbytes=tensors * one, **floors)

    floors = {"ratio": 1.0, "share": 0.9}
    found = [
        memory("copy", function((n,), (n,), call=lambda m, x, y: y.copy_(x)), 2),
        memory("mul", function((n,), (n,), call=lambda m, x, y: x * y), 3, **floors),
        memory("mul by a number", function((n,), call=lambda m, x: x * 2.5), 2, **floors),
        memory("exp", function((n,), call=lambda m, x: x.exp()), 2, **floors),
        memory("tanh", function((n,), call=lambda m, x: x.tanh()), 2, **floors),
        memory("gelu", function((n,), call=lambda m, x: m.nn.functional.gelu(x)), 2, **floors),
        memory("add_", function((n,), (n,), call=lambda m, x, y: x.add_(y)), 3, **floors),
        memory("matrix + row", function((rows, columns), (columns,), call=lambda m, x, y: x + y), 2, **floors),
        memory("matrix + column", function((rows, columns), (rows, 1), call=lambda m, x, y: x + y), 2, **floors),
        memory("copy of a transpose", function((rows, columns), call=lambda m, x: x.t().contiguous()), 2),
    ]
    reductions = {
        "sum": lambda m, x: x.sum(), "sum of rows": lambda m, x: x.sum(1), "sum of columns": lambda m, x: x.sum(0),
        "amax of rows": lambda m, x: x.amax(1), "var of rows": lambda m, x: x.var(1), "argmax of rows": lambda m, x: x.argmax(1)}
    found += [memory(name, function((rows, columns), call=call), 1, ratio=1.0) for name, call in reductions.items()]
    found.append(memory("cumsum of rows", function((rows, columns), call=lambda m, x: x.cumsum(1)), 2))
    found += by_rows(toy)
    found += products(toy)
    found += others(toy)
    return found


def by_rows(toy):
    """softmax and related ops, over rows of two lengths."""
    total = 2 ** 6 if toy else 2 ** 26
    found = []
    for width in (8, 32) if toy else (1024, 16384):
        shape = total // width, width
        for name, call, count, ratio in (
                ("softmax", lambda m, x: x.softmax(1), 1, 1.0),
                ("log_softmax", lambda m, x: x.log_softmax(1), 1, None),
                ("layer_norm", lambda m, x, w, b: m.nn.functional.layer_norm(x, w.shape, w, b), 3, 1.0),
                ("rms_norm", lambda m, x, w: m.nn.functional.rms_norm(x, w.shape, w), 2, None)):
            shapes = [shape, *[(width,)] * (count - 1)]
            # backward: reads the gradient, and the result or the input; writes a gradient
            found.append(Scenario(f"{name} over {width}", function(*shapes, call=call), nbytes=8.0 * total, ratio=ratio))
            found.append(Scenario(f"{name} over {width}, backward", backward(*shapes, call=call), nbytes=12.0 * total, ratio=ratio))
        found.append(Scenario(f"cross_entropy over {width}", labelled(*shape, True), nbytes=4.0 * total))
        found.append(Scenario(f"cross_entropy over {width}, backward", labelled(*shape, False), nbytes=8.0 * total))
    return found


def products(toy):
    """Products of matrices, and convolutions."""
    def matmul(size, dtype="float32", **floors):
        return Scenario(f"matmul {size}, {dtype}", in_full_precision(function(
            (size, size), (size, size), dtype=dtype, call=lambda m, x, y: x @ y)), flops=2.0 * size ** 3, **floors)

    batch, size = (2, 4) if toy else (64, 512)
    images, channels, side = (1, 2, 4) if toy else (64, 64, 56)
    shapes = (images, channels, side, side), (channels, channels, 3, 3)
    flops = 2.0 * images * side * side * channels * channels * 9

    def conv(m, x, w):
        return m.nn.functional.conv2d(x, w, padding=1)
    where = f"{images} x {channels} x {side} x {side}, 3 x 3"
    return [
        matmul(4 if toy else 1024), matmul(8 if toy else 4096, ratio=0.6), matmul(8 if toy else 4096, "float16"),
        Scenario(f"bmm {batch} x {size}", in_full_precision(function(
            (batch, size, size), (batch, size, size), call=lambda m, x, y: m.bmm(x, y))), flops=2.0 * batch * size ** 3),
        Scenario(f"conv2d {where}", in_full_precision(function(*shapes, call=conv)), flops=flops),
        Scenario("conv2d, backward", in_full_precision(backward(*shapes, call=conv)), flops=2 * flops),
        Scenario("max_pool2d 2", function((2 * images, channels, 2 * side, 2 * side), call=lambda m, x: m.nn.functional.max_pool2d(
            x, 2)), nbytes=4.0 * 1.25 * 8 * images * channels * side ** 2),
    ]


def others(toy):
    """Indices, sorting, random numbers, an optimiser."""
    rows, width, n = (8, 4, 8) if toy else (50_000, 512, 2 ** 16)
    size, long = (16, 64) if toy else (2 ** 24, 2 ** 26)
    moved = 8.0 * n * width
    return [
        Scenario("embedding", indexed("embedding", rows, width, n), nbytes=moved),
        Scenario("embedding, backward", indexed("embedding backward", rows, width, n), nbytes=moved + 4.0 * rows * width),
        Scenario("gather", indexed("gather", rows, width, n), nbytes=2 * moved),
        Scenario("scatter_add_", indexed("scatter_add_", rows, width, n), nbytes=2.5 * moved),
        Scenario(f"sort of {size:,}", function((size,), call=lambda m, x: x.sort()), nbytes=16.0 * size),
        Scenario(f"topk 10 of {size:,}", function((size,), call=lambda m, x: x.topk(10)), nbytes=4.0 * size),
        Scenario("rand", lambda m: lambda: m.rand(long, device="cuda"), nbytes=4.0 * long),
        Scenario("randn", lambda m: lambda: m.randn(long, device="cuda"), nbytes=4.0 * long),
        Scenario("dropout", function((long,), call=lambda m, x: m.nn.functional.dropout(x, 0.1)), nbytes=8.0 * long),
        Scenario(f"step of Adam, {long:,} numbers", adam(long, False), nbytes=28.0 * long),
        Scenario("the same, PyTorch's fused", adam(long, True), nbytes=28.0 * long),
    ]
