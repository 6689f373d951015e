"""Gradients where a real tensor meets a complex one in a built-in op: the real tensor gets the real part. engine.md V-05."""

import pytest

REAL, COMPLEX = [1., -2., 3.], [1 + 2j, -1j, 3 - 1j]


def into(m, z, place, x, write):
    """A complex tensor with a part that was written to through a view."""
    y = z * 1
    getattr(y[place], write)(x)
    return y


@pytest.mark.parametrize("f, expected", [
    (lambda m, x, z: x + z, [1, 1, 1]), (lambda m, x, z: z + x, [1, 1, 1]),
    (lambda m, x, z: x - z, [1, 1, 1]), (lambda m, x, z: z - x, [-1, -1, -1]),
    (lambda m, x, z: x * z, [1, 0, 3]), (lambda m, x, z: z * x, [1, 0, 3]),
    (lambda m, x, z: x * 1j, [0, 0, 0]), (lambda m, x, z: x * z * 1j, [-2, 1, 1]),
    (lambda m, x, z: x / z, [.2, 0, .3]), (lambda m, x, z: z / x, [-1, 0, -1 / 3]),
    (lambda m, x, z: (x ** 2 * z), [2, 0, 18]),
    (lambda m, x, z: m.cat([x, z]), [1, 1, 1]), (lambda m, x, z: m.stack([z, x]), [1, 1, 1]),
    (lambda m, x, z: x.reshape(3, 1) * z, [4, 4, 4]),
    (lambda m, x, z: x.to(m.complex64) @ z, [1, 0, 3]),
    (lambda m, x, z: (z * 1).mul_(x), [1, 0, 3]), (lambda m, x, z: (z * 1).copy_(x), [1, 1, 1]),
    (lambda m, x, z: into(m, z, slice(1, 3), x[1:], "mul_"), [0, 0, 3]),
    (lambda m, x, z: into(m, z, slice(0, 2), x[1:], "copy_"), [0, 1, 1]),
])
def test_the_real_part(m, f, expected):
    """engine/V-05: the gradient of the sum of the real parts."""
    x, z = m.tensor(REAL, requires_grad=True), m.tensor(COMPLEX, requires_grad=True)
    out = f(m, x, z)
    out.backward(m.ones(out.shape, dtype=m.complex64))
    assert x.grad.dtype is m.float32 and x.grad.tolist() == pytest.approx(expected)
    assert z.grad is None or z.grad.dtype is m.complex64
