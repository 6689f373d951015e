"""Calls with unusual but legal operands: small integers and numbers that do not fit in them, a number first, other dtypes, zeros with a sign.

One line of `CASES` is an expression of the library `m` and of tensors; the result has the value, dtype, shape, strides, requires_grad and
grad_fn that it has in PyTorch, or an error of the same class.
"""

import math
import re
import warnings

import pytest
import torch

import minigrad as mg

TENSORS = {
    "i8": lambda m: m.tensor([1, -5, 100, 0], dtype=m.int8), "u8": lambda m: m.tensor([1, 5, 200, 0], dtype=m.uint8),
    "i64": lambda m: m.tensor([3, -5, 2, 7]), "b": lambda m: m.tensor([True, False, True, True]),
    "f": lambda m: m.tensor([-2.0, 2.0, 0.0, 3.5]), "h": lambda m: m.tensor([-2.0, 2.0, 0.5, 3.5]).half(),
    "bf": lambda m: m.tensor([-2.0, 2.0, 0.5, 3.5]).bfloat16(), "d": lambda m: m.tensor([-2.0, 2.0, 0.5, 3.5]).double(),
    "g": lambda m: m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), "v": lambda m: m.tensor([5.0, 6.0], requires_grad=True),
    "image": lambda m: (m.arange(50) - 7).reshape(2, 5, 5), "volume": lambda m: (m.arange(54) - 7).reshape(2, 3, 3, 3),
}
CASES = """
i8 % 300            i8 // 300           u8 % -300           u8 // 300           i8 % -300           i8.fmod(300)
i8.remainder_(300)  i8.fmod_(-300)      i8.floor_divide_(300)                   i8 % 2**40          300 % i8[:2]
i8.div(300, rounding_mode="floor")      u8.div(300, rounding_mode="trunc")      300 // i8[:2]       b % 2
m.pow(300, i8)      300 ** u8           i8.pow(300)         i8 ** 2**40         u8.pow_(300)        i8.pow(2)
i8.add(i8, alpha=300)                   u8.sub(1, alpha=300)                    i8.add_(i8, alpha=-300)
i8.clamp(max=300)   i8.clamp_(min=300)  i8.clamp(min=-128, max=127)             i8.clamp_max(300)
m.special.xlog1py(i8, 300)              m.special.zeta(i8[:1] + 1, 300)         m.isin(i8, 300)     m.isin(100, i8)
F.threshold(i8, 300, 1)                 F.threshold(i8, 2, 300)                 F.threshold(i8, 2, 7)
m.linspace(0, 300, 3, dtype=m.int8)     m.linspace(0, 70000, 2, dtype=m.int32)
i8.masked_fill(i8 > 2, m.tensor(300))   i8.index_fill(0, m.tensor([0]), m.tensor(300))
bf < 2**63          bf % 2**63          m.tensor(2**70, dtype=m.bfloat16)       bf.copysign(2**63)
i64.frac()          F.rms_norm(i64, (4,))                   m.hypot(i64, i64)   m.hypot(i64, f)     m.lerp(i64, i64, 0.5)
f % 2               f % -2              -2.0 % f[:2]        f.remainder(m.tensor([2., -2., -3., -3.5]))     f.remainder_(-2)
h % 2               bf % -2             d % 2               m.fmod(f, -2)       (f * 1e9) % 2       m.tensor(-0.) % 2
i64.addcmul(i64, i64, value=0.5)        i64.addcmul_(i64, i64, value=2.0)       i8.addcmul_(i8, i8, value=300)
b.addcmul(b, b)     f.addcmul(f, f, value=2j)               f.addcdiv(f, f, value=0.5)              i64.addcdiv(i64, i64)
F.avg_pool1d(image, 2)                  F.avg_pool2d(image, 3, 1, 1)            F.avg_pool2d(image, 2, 1, 1, True, False)
F.avg_pool2d(image, 2, None, 0, True, True, 3)              F.avg_pool3d(volume, 2)                 F.avg_pool2d(image.int(), 2)
F.lp_pool2d(image[:, :2, :2], 2, 2)     m.nn.AvgPool2d(3, 2, 1, False, False)(image)
i8 << 1             i8 << 300           i8 << 7             i8 << -1            i8 >> 1             i8 >> 7             i8 >> 8
u8 >> 7             u8 >> 8             i8 >> m.tensor([1, 7, 8, -1])           i8 << m.tensor([1, 7, 8, -1])           3 << i64
i8.bitwise_left_shift_(2)               i8.bitwise_right_shift_(m.tensor(1))    i64.gcd_(m.tensor(6))                   1000 >> i64
i64.lcm_(m.tensor(6))                   f.ldexp_(m.tensor(2))                   i8.__ilshift__(2)   i8.__irshift__(1)   f << 1
m.remainder(7, i64)  m.remainder(7., i64)                    m.floor_divide(7, i64)
m.bitwise_and(6, i64)                   m.bitwise_or(1, i8)                     m.bitwise_xor(True, b)
h.lerp(h * 2, m.tensor(0.5))            d.lerp(d * 2, m.tensor(1))              d.lerp_(d * 2, m.tensor(0.5))           f.lerp(f, d)
m.einsum("ij->ij", g)                   m.einsum("...i->...i", g)               m.einsum("ii->i", g)                    m.einsum("i->i", v)
m.einsum("i,j->ij", v, v)               m.einsum("ij,ij->ij", g, g)             m.einsum("ij,ij->ji", g, g)             m.einsum("ij,->ij", g, v[0])
m.einsum("ij,j->ij", g, v)              m.einsum("ij,jk->ik", g, g)             m.einsum("ij,ij->ij", g, g.double())    m.einsum("i,i", v, v)
m.einsum("i,j->ij", i64, f)             m.einsum("ij,jk->ik", g, g.double())
"""
CASES = re.split(r"\s{2,}|\n", CASES.strip())
ERRORS = (NotImplementedError, OverflowError, IndexError, RuntimeError, TypeError, ValueError)


def describe(x):
    """All that two results should have in common."""
    if isinstance(x, (tuple, list)):
        return [describe(y) for y in x]
    if not hasattr(x, "grad_fn"):
        return x
    node = None if x.grad_fn is None else x.grad_fn.name()
    return str(x.tolist()), str(x.dtype).partition(".")[2], tuple(x.shape), x.stride(), x.requires_grad, node


def outcome(m, case):
    names = {name: make(m) for name, make in TENSORS.items() if name in case}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return describe(eval(case, {"m": m, "F": m.nn.functional, "inf": math.inf, **names}))
    except ERRORS as error:
        return next(kind for kind in ERRORS if isinstance(error, kind))


@pytest.mark.parametrize("case", CASES)
def test_as_in_torch(case):
    assert outcome(mg, case) == outcome(torch, case)
