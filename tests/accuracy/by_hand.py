"""Long forms written by hand: for cases with sizes or indices in their text, and the numbers that fit a case.

    FORMS       case -> its forms, instead of those found automatically; or another name, for a form without a case
    OPTIONS     (beginnings of names, other options of their forms)
    SMALL       cases that are small on purpose, or composed of others
"""

from dataclasses import replace

from tests.accuracy.form import LONG, Form

N = LONG
HALF = N // 2


def F(m):
    return m.nn.functional


def holes(m, x, step=N // 4):
    """`x` along its last axis with a zero in every `step`-th place."""
    return x * (m.arange(x.shape[-1]) % step != 5).to(x.dtype)


def repeats(m, n=N, places=7):
    """n indices into a few places."""
    return m.arange(n) * 5 % places


def form(name, run, *shapes, numbers="any", **options):
    return Form(name, run, shapes, numbers, **options)


def mask(m):
    return m.arange(N) % 3 != 1


ROWS = [
    form("cumprod with zeros", lambda m, x: m.cumprod(holes(m, x), 0), (N,), numbers="near one"),
    form("prod with a zero", lambda m, x: holes(m, x, N + 1).prod(), (N,), numbers="near one"),
    form("prod with two zeros", lambda m, x: holes(m, x, HALF).prod(1), (2, N), numbers="near one"),
    form("reshape", lambda m, x: x.reshape(3, -1), (2, N)),
    form("reshape copies", lambda m, x: x.t().reshape(-1), (2, N)),
    form("expand", lambda m, x: x.expand(N, 4), (N, 1)),
    form("broadcast_to", lambda m, x: m.broadcast_to(x, (4, N)), (N,)),
    form("x[mask] = y", lambda m, x, y: x.masked_fill(mask(m), 0) + x.masked_scatter(mask(m), y), (N,), (N,)),
    form("layer_norm two dims", lambda m, x, w, b: F(m).layer_norm(x, (HALF, 2), w, b), (2, HALF, 2), (HALF, 2), (HALF, 2)),
    form("layer_norm of all", lambda m, x, w: F(m).layer_norm(x, (HALF, 2), w) ** 2, (HALF, 2), (HALF, 2)),
    form("layer_norm of a long row", lambda m, x, w, b: F(m).layer_norm(x, (N,), w, b), (3, N), (N,), (N,)),
    form("rms_norm two dims", lambda m, x, w: F(m).rms_norm(x, (2, HALF), w, eps=0.1), (2, 2, HALF), (2, HALF)),
    form("rms_norm of a long row", lambda m, x, w: F(m).rms_norm(x, (N,), w), (3, N), (N,)),
    form("nll_loss weight", lambda m, x, w: F(m).nll_loss(x, repeats(m), w.detach(), ignore_index=2), (N, 7), (7,), numbers="positive"),
    form("cross_entropy smooth", lambda m, x, w: F(m).cross_entropy(x, repeats(m), label_smoothing=0.2, ignore_index=2, weight=w.detach()),
         (N, 7), (7,), numbers="positive"),
    form("cross_entropy of many classes", lambda m, x: F(m).cross_entropy(x, m.arange(5) * 599 % N), (5, N)),
    form("max_unpool1d", lambda m, x: F(m).max_unpool1d(x, (m.arange(N) * 2 + m.arange(N) % 2).reshape(1, 1, N), 2) ** 2, (1, 1, N)),
    form("max_unpool2d", lambda m, x: F(m).max_unpool2d(x, (m.arange(N) * 4 + 1).reshape(1, 1, N), 2, output_size=(2, 2 * N)) ** 2, (1, 1, N)),
    form("max_unpool3d", lambda m, x: F(m).max_unpool3d(x, (m.arange(N) * 4 + 1).reshape(1, 1, 1, N), (1, 2, 2)) ** 2, (1, 1, 1, N)),
    form("write squared", lambda m, x, y: m.cat([x[:1], x[1:] * y]) ** 2, (N,), (N - 1,)),
    form("tensorinv", lambda m, x: m.linalg.tensorinv(x), (4, 9, 36), normwise=True),
    form("tensorsolve", lambda m, x, y: m.linalg.tensorsolve(x, y, dims=(1,)), (5, 40, 8), (5, 8), normwise=True),
]

MANY = [
    form("scatter_add of many", lambda m, x, y: m.scatter_add(x, 0, repeats(m), y), (7,), (N,)),
    form("index_add of many", lambda m, x, y: m.index_add(x, 0, repeats(m), y), (7, 3), (N, 3)),
    form("index_put of many", lambda m, x, y: x.index_put((repeats(m),), y, accumulate=True), (7,), (N,)),
    form("put of many", lambda m, x, y: x.put(repeats(m), y, True), (7,), (N,)),
    form("gather of many", lambda m, x: x.gather(0, repeats(m)), (7,)),
    form("index_select of many", lambda m, x: x.index_select(0, repeats(m)), (7, 2)),
    form("index of many", lambda m, x: x[repeats(m)], (7, 2)),
    form("take of many", lambda m, x: x.take(repeats(m)), (7,)),
    form("embedding of many", lambda m, x: F(m).embedding(repeats(m), x), (7, 3)),
    form("scatter_reduce prod of many", lambda m, x, y: x.scatter_reduce(0, repeats(m), y, "prod"), (7,), (N,), numbers="near one"),
    form("scatter_reduce mean of many", lambda m, x, y: x.scatter_reduce(0, repeats(m), y, "mean"), (7,), (N,)),
    form("scatter_reduce amax of many", lambda m, x, y: x.scatter_reduce(0, repeats(m), y, "amax"), (7,), (N,), numbers="apart"),
    form("conv1d of a long kernel", lambda m, x, w: F(m).conv1d(x, w), (1, 2, HALF), (2, 2, HALF - 40)),
    form("conv2d of many channels", lambda m, x, w: F(m).conv2d(x, w, padding=1), (2, N // 4, 4, 9), (3, N // 4, 3, 3)),
    form("conv2d of a large image", lambda m, x, w, b: F(m).conv2d(x, w, b), (2, 2, 60, 70), (3, 2, 3, 3), (3,)),
    form("avg_pool1d of long windows", lambda m, x: F(m).avg_pool1d(x, HALF, stride=HALF // 2), (2, 1, N)),
    form("adaptive_avg_pool2d of long windows", lambda m, x: F(m).adaptive_avg_pool2d(x, (2, 3)), (1, 2, 90, 100)),
    form("max_pool1d of long windows", lambda m, x: F(m).max_pool1d(x, 9, stride=2), (2, 1, N), numbers="apart"),
    form("attention of long rows", lambda m, q, k, v: F(m).scaled_dot_product_attention(q, k, v), (2, 4, 8), (2, N, 8), (2, N, 3)),
    form("gaussian_nll_loss", lambda m, x, y, v: F(m).gaussian_nll_loss(x, y, v), (N,), (N,), (N,), numbers="positive"),
    form("matmul of long rows", lambda m, x, y: x @ y, (3, N), (N, 2)),
    form("einsum of long rows", lambda m, x, y: m.einsum("ij,ij->i", x, y), (3, N), (3, N)),
    form("cdist of long rows", lambda m, x, y: m.cdist(x, y), (3, N), (2, N)),
    form("var of numbers far from 0", lambda m, x: (x + 30).var(-1), (3, N)),
    form("group_norm of long rows", lambda m, x, w, b: F(m).group_norm(x, 2, w, b), (2, 4, HALF), (4,), (4,)),
    form("F.mse_loss weight", lambda m, x, y, w: F(m).mse_loss(x, y, weight=w.abs()), (3, N), (3, N), (3, N)),
    form("huber_loss of far numbers", lambda m, x, y: F(m).huber_loss(x * 50, y), (N,), (N,)),
]

FORMS = {f.name: [f] for f in [*ROWS, *MANY]}

# The cases of these compute with sigmoid(x), which is 1 for large x in float32.
FORMS |= {name: [form(name, lambda m, x, f=name: getattr(m, f)(x), (3, N), numbers=kind)]
          for name, kind in (("erf", "any"), ("erfc", "any"), ("sinc", "any"), ("logit", "probability"))}

# The cases of these take sigmoid(y) as their target, which float16 rounds to 1/2 for all small y.
BCE = "binary_cross_entropy_with_logits"
FORMS[BCE] = [form(BCE, lambda m, x, y: F(m).binary_cross_entropy_with_logits(x, target(y), reduction="none"), (3, N), (3, N))]
FORMS[BCE + " pos_weight"] = [form(BCE + " pos_weight", lambda m, x, y, p: F(m).binary_cross_entropy_with_logits(
    x, target(y), pos_weight=p.detach().abs(), reduction="none"), (3, N), (3, N), (3, N))]
FORMS["weighted_" + BCE] = [form("weighted_" + BCE, lambda m, x, y, p: F(m).binary_cross_entropy_with_logits(
    x, target(y), p.detach().abs(), pos_weight=p.detach().abs(), reduction="none"), (3, N), (3, N), (3, N))]


def target(y):
    """Probabilities of numbers."""
    return y.abs().clamp(max=1.0)


# A fused op that PyTorch has for GPUs alone: its function is the same.
FORMS["_fused_rms_norm"] = [form("_fused_rms_norm", lambda m, x, w: fused(m, x, w), (3, N), (N,)),
                            form("_fused_rms_norm of short rows", lambda m, x, w: fused(m, x, w), (N, 5), (5,))]


def fused(m, x, w):
    if m.__name__ != "torch":
        from minigrad.utils._python_dispatch import operator
        return operator("_fused_rms_norm")(x, w, 1, 1e-5)[0]
    return F(m).rms_norm(x, (x.shape[-1],), w, 1e-5)


# If the last element in memory is read in another way, a column-major matrix gives other numbers.
BY_ROWS = ("as_strided", "view", "unflatten", "view_as_complex")
# Decompositions and Fourier transforms are right in proportion to the largest number of a matrix, not to each.
NORMWISE = ("qr", "svd", "eig", "linalg.svd", "pinv", "pinverse", "lstsq", "solve", "linalg.solve", "inv", "inverse", "det", "linalg.det",
            "slogdet", "linalg.slogdet", "logdet", "cholesky", "cond", "matrix_power", "matrix_exp", "matrix_norm 2", "matrix_norm -2",
            "matrix_norm nuc", "linalg.norm", "norm nuc", "corrcoef", "rfft", "irfft", "fft")
OPTIONS = [
    (("cumprod", "prod"), {"numbers": "near one"}),
    (("cholesky_inverse",), {"numbers": "positive"}),
    (("eig",), {"most": N // 10}),        # of 3,000 random matrices one has eigenvalues that almost meet
    (("tanh", "Tanh", "qr (2, 4, 3) product", "qr (4, 3) product", "qr (3, 3) product", "binary_cross_entropy", "matrix_exp"), {"numbers": "small"}),     # tanh' = 1 - z² has no digits left at 9
    (("conv3d", "Conv3d", "ConvTranspose1d", "conv_transpose1d", "attention causal", "lstsq", "pinv", "Conv2d", "conv2d"), {"most": N // 5}),
]

SMALL = {
    "F.softmax dtype", "F.log_softmax dtype",       # compute in float32 whatever they are given
    "Sequential",                                   # composed of other layers
    "BCELoss at the ends",                          # at four places
}


def options_of(name):
    """The options of a form, by its name."""
    found = {}
    for names, options in OPTIONS:
        if name.startswith(names):
            found |= options
    if name.startswith(BY_ROWS):
        found["by_rows_alone"] = True
    if name.startswith(NORMWISE):
        found["normwise"] = True
    return found


def is_small(case):
    """Whether a case is small on purpose: 0-d, empty, of one number."""
    return case.name in SMALL or not any(n > 1 for shape in case.shapes for n in shape) or any(0 in shape for shape in case.shapes)


def with_options(found):
    return replace(found, **options_of(found.name))
