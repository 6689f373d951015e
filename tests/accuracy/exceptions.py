"""The quantities for which PyTorch is not the reference, with reasons.

    ours        minigrad's float64 is the reference, which tests/ops compares with finite differences
    finite      PyTorch has nan, from 0 times infinity, where minigrad has a number
    skipped     not compared at all
"""

from dataclasses import dataclass

__all__ = ["EXCEPTIONS", "treatment"]


@dataclass(frozen=True)
class Exempt:
    """The treatment of some forms and quantities, by the beginnings of their names, and its reason."""

    names: tuple
    quantities: tuple
    how: str
    why: str


ALL = ("",)
DERIVATIVES = ("grad", "second", "tangent")

EXCEPTIONS = [
    # its float64 is not the truth
    Exempt(("gelu", "GELU"), ALL, "ours", "PyTorch computes 1 + erf x and 1 + tanh x, which cancel to the left, in float64 too"),
    Exempt(("expm1",), DERIVATIVES, "ours", "PyTorch's derivative is the result + 1, which cancels to the left"),
    Exempt(("sinc",), DERIVATIVES, "ours", "PyTorch's derivative cancels next to 0, and is 0 there"),
    Exempt(("special.ndtr",), ALL, "ours", "PyTorch's float64 is 0 below -8.3"),
    Exempt(("binary_cross_entropy_with_logits", "weighted_binary", "BCEWithLogits"), ALL, "ours", "PyTorch adds x and -x, and takes σ(x) from 1"),
    Exempt(("ELU in place", "SELU in place", "CELU in place", "elu_", "selu_", "celu_"), DERIVATIVES, "ours", "PyTorch's in-place derivative is the result + α"),
    Exempt(("LogSigmoid", "logsigmoid"), ("second",), "ours", "PyTorch's second derivative is 0 above 37"),
    Exempt(("silu", "SiLU", "glu", "GLU", "mish", "Mish"), DERIVATIVES, "ours", "PyTorch takes σ(x) and tanh² from 1, which are 1 above 37"),
    Exempt(("Mish",), ("second",), "ours", "PyTorch's second derivative is nan where e^x overflows"),
    Exempt(("logaddexp",), ("second",), "ours", "PyTorch's second derivative is nan where e^x overflows"),
    Exempt(("logcumsumexp",), ("tangent",), "ours", "PyTorch's tangent is 0 where the numbers are far below the largest of all"),
    Exempt(("cholesky_inverse",), ("tangent",), "ours", "PyTorch's tangent is wrong"),
    Exempt(("Embedding padded",), ("second g",), "ours", "PyTorch forgets scale_grad_by_freq in the second derivative"),
    # nan, of 0 times infinity
    Exempt(("amax", "amin", "aminmax", "matrix_norm", "linalg.norm"), ("grad infinite",), "finite", "PyTorch multiplies by a mask"),
    Exempt(("interpolate", "Upsampl"), ("grad infinite",), "finite", "PyTorch multiplies by weights that are 0"),
    Exempt(("conv", "Conv"), ("grad infinite",), "finite", "PyTorch multiplies by the zeros of the padding"),
    Exempt(("scatter_reduce",), ("grad infinite",), "finite", "PyTorch multiplies by a mask"),
    Exempt(("attention causal",), ("grad infinite",), "finite", "PyTorch multiplies by the zeros of the mask"),
    # not to be compared
    Exempt(("matrix_norm",), ("second g",), "skipped", "which of two nearly equal sums is the largest, float16 does not say"),
    Exempt(("cholesky old",), ("tangent",), "skipped", "PyTorch has none; it is the one of linalg.cholesky, which is compared"),
    Exempt(("qr",), ("grad infinite",), "skipped", "an infinite entry reaches every number of a matrix, and which are nan is chance"),
    Exempt(("matrix_exp",), ("!",), "skipped", "float16 is refused; PyTorch has nan"),
    Exempt(("sort", "msort", "argsort", "mode"), DERIVATIVES, "skipped", "which of two equal numbers comes first is not said, and float16 has many"),
    Exempt(("GaussianNLLLoss {'eps': 0.7",), ("tangent",), "skipped", "PyTorch clamps under no_grad, which stops tangents and not gradients"),
    Exempt(("RNN layer",), ("second", "tangent"), "skipped",
           "made long, 1 - tanh² cancels where a state is 1, and with relu the product of 48 matrices overflows"),
    Exempt(("RNN layer {} [2 -> 48]",), ("grad wide",), "skipped",
           "made long, 1 - tanh² cancels where a state is 1, and whether float16 overflows depends on the last digit of a float32"),
    Exempt(("LSTM layer",), ("grad falling", "tangent"), "skipped", "the derivative of a gate is σ (1 - σ), which cancels where σ is 1; made "
           "long, gates are 1"),
    Exempt(("MaxUnpool",), ALL, "skipped", "made long, several numbers go to one place, and which stays is not said; max_unpool1d to 3d are compared"),
    Exempt(("Embedding bounded",), ("tangent",), "skipped", "PyTorch shortens rows under no_grad, which scales tangents and not gradients"),
]


def treatment(name, quantity):
    """The treatment of a quantity of a form: "ours", "finite", "skipped" or "compared"."""
    for exempt in EXCEPTIONS:
        if name.startswith(exempt.names) and quantity.startswith(exempt.quantities):
            return exempt.how
    return "compared"
