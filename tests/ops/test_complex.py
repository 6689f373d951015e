"""Complex numbers and their parts against torch: values, gradients of both orders, tangents, writes through every view, errors."""

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch")

Z = [[1 + 2j, 3 - 1j, 0.5j], [-2 + 0j, -1 - 1j, 2.5 + 0.5j]]
T = [[0.5 - 1j, 2j, 1 + 0j], [1 + 1j, -1 + 3j, 2 - 2j]]


def numbers(x):
    return np.array(x.detach().resolve_conj().tolist())


def derivatives(m, run, dtype="complex128", x=Z, t=T):
    """Values, tangent, first and second gradient of `run`, of a complex matrix or of one of pairs."""
    def given(v):
        made = m.tensor(v, dtype=m.complex128)
        return m.view_as_real(made).clone() if dtype == "float64" else made
    leaf = given(x).requires_grad_()
    z = run(m, leaf * 1)
    loss = (z * z.conj()).real.sum() + (z.real ** 3).sum()
    (first,) = m.autograd.grad(loss, leaf, create_graph=True)
    second = m.autograd.grad((first * first.conj()).real.sum(), leaf, allow_unused=True)[0] if first.requires_grad else None
    with m.autograd.forward_ad.dual_level():
        y = m.autograd.forward_ad.make_dual(given(x), given(t))
        tangent = m.autograd.forward_ad.unpack_dual(run(m, y * 1)).tangent
        tangent = numbers(tangent if tangent is not None else z * 0)
    return [numbers(z), tangent, numbers(first), numbers(second) if second is not None else None]


def alike(run, dtype="complex128"):
    for ours, theirs in zip(derivatives(mg, run, dtype), derivatives(torch, run, dtype)):
        if ours is not None and theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


COMPLEX = {
    "imag": lambda m, z: z.imag, "imag function": lambda m, z: m.imag(z), "real function": lambda m, z: m.real(z) * 2,
    "view_as_real": lambda m, z: m.view_as_real(z), "view_as_real transposed": lambda m, z: m.view_as_real(z.t()),
    "there and back": lambda m, z: m.view_as_complex(m.view_as_real(z) * 2), "angle": lambda m, z: m.angle(z), "sgn": lambda m, z: m.sgn(z),
    "conj_physical": lambda m, z: m.conj_physical(z), "resolve_conj": lambda m, z: z.conj().resolve_conj() * z,
    "complex": lambda m, z: m.complex(z.real, z.imag * 2), "polar": lambda m, z: m.polar(z.abs(), z.angle() * 2),
    "broadcast": lambda m, z: m.complex(z.real, z.imag[0]), "logaddexp": lambda m, z: m.logaddexp(z, z.conj() * 2),
    "sinc": lambda m, z: m.sinc(z), "imag of a part": lambda m, z: z[:, 1:].imag, "row of pairs": lambda m, z: m.view_as_real(z)[1],
}


@pytest.mark.parametrize("name", COMPLEX)
def test_derivatives(name):
    alike(COMPLEX[name])


@pytest.mark.parametrize("name, run", [
    ("view_as_complex", lambda m, x: m.view_as_complex(x)), ("a part", lambda m, x: m.view_as_complex(x[:, 1:])),
    ("angle", lambda m, x: m.angle(x) + x), ("polar", lambda m, x: m.polar(x.abs() + 1, x * 2)), ("conj_physical", lambda m, x: m.conj_physical(x * 1))])
def test_of_real_numbers(name, run):
    alike(run, "float64")


@pytest.mark.differs(
    what="The derivative of `polar` with respect to a negative size",
    there="It has the wrong sign.",
    here="It is exp(i angle), for all sizes.")
def test_polar_of_negative_sizes():
    """The derivative by the size is exp(i angle) here too; PyTorch gives it the other sign."""
    x = mg.tensor([-2.0], requires_grad=True)
    mg.polar(x, mg.zeros(1)).real.sum().backward()
    assert x.grad.tolist() == [1]


def after(write):
    """Write to a tensor with views on it that are looked at later."""
    def run(m, z):
        views = [z.real, z.imag, m.view_as_real(z)[:, 1:], z[1]]
        write(m, z)
        return z * 2 + views[0] * views[1] + views[2].sum(-1).sum(1, keepdim=True) * views[3]
    return run


WRITES = {
    "imag": lambda m, z: z.imag.mul_(3), "imag of a part": lambda m, z: z[:, 1:].imag.exp_(), "imag from real": lambda m, z: z.imag.copy_(z.real * 2),
    "real": lambda m, z: z.real.mul_(z.detach().imag.clone()), "real, fresh": lambda m, z: z.real.fill_(2.0), "imag, zero": lambda m, z: z.imag.zero_(),
    "pairs": lambda m, z: m.view_as_real(z).mul_(m.tensor([2.0, 3.0], dtype=m.float64)), "one of each": lambda m, z: m.view_as_real(z)[..., 1].add_(1.5),
    "transposed": lambda m, z: m.view_as_real(z.t())[1:].mul_(2), "and back": lambda m, z: m.view_as_complex(m.view_as_real(z)).mul_(2j),
    "twice": lambda m, z: (z.imag.mul_(2), z.real.add_(z.imag * 1)), "setitem": lambda m, z: m.view_as_real(z).__setitem__((0, 0), 4.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    """saved_and_versions/W-22: gradients and tangents through a write to a part, seen from the base and from all its views."""
    alike(after(WRITES[name]))


@pytest.mark.parametrize("name, write", [
    ("all", lambda c: c.mul_(2j)), ("real of it", lambda c: c[1:].real.mul_(3)), ("row", lambda c: c[0].copy_(c.detach()[1])), ("zero", lambda c: c.zero_())])
def test_writes_to_complex_views_of_real_numbers(name, write):
    def run(m, x):
        c = m.view_as_complex(x)
        write(c)
        return x * 2 + m.view_as_real(c * c)
    alike(run, "float64")


@pytest.mark.parametrize("view, expected", [(lambda m, z: z.imag, [2, 4]), (lambda m, z: m.view_as_real(z)[:, 0], [1, 3]), (lambda m, z: z.real, [1, 3])])
def test_tangents_in_both_directions(view, expected):
    """A write to the base changes the tangent of the view, and a write to the view changes the tangent of the base."""
    found = []
    for m in (mg, torch):
        fwad = m.autograd.forward_ad
        with fwad.dual_level():
            z = m.zeros(2, dtype=m.complex64)
            part = view(m, z)
            z.copy_(fwad.make_dual(m.ones(2, dtype=m.complex64), m.tensor([1 + 2j, 3 + 4j])))
            assert fwad.unpack_dual(part).tangent.tolist() == expected
            y = m.zeros(2, dtype=m.complex64)
            view(m, y).copy_(fwad.make_dual(m.ones(2), m.tensor([5.0, 6.0])))
            view(m, y)[1:].mul_(2)
            found.append(fwad.unpack_dual(y).tangent.tolist())
    assert found[0] == found[1]


def test_complex_view_of_a_real_base():
    for m in (mg, torch):
        fwad = m.autograd.forward_ad
        with fwad.dual_level():
            x = m.zeros(2, 2)
            c = m.view_as_complex(x)
            x.copy_(fwad.make_dual(m.ones(2, 2), m.tensor([[1.0, 2.0], [3.0, 4.0]])))
            assert fwad.unpack_dual(c).tangent.tolist() == [1 + 2j, 3 + 4j]
            y = m.zeros(2, 2)
            m.view_as_complex(y).copy_(fwad.make_dual(m.ones(2) * 1j, m.tensor([1j, 2 + 0j])))
            assert fwad.unpack_dual(y).tangent.tolist() == [[0, 1], [2, 0]]


def test_conj_physical_in_place():
    found = []
    for m in (mg, torch):
        x = m.tensor([1 + 2j, 3 + 4j], requires_grad=True)
        y = x * 1
        assert y[1:].conj_physical_().tolist() == [3 - 4j] and y.tolist() == [1 + 2j, 3 - 4j]
        (y * y).imag.sum().backward()
        found.append(x.grad.tolist())
        real = m.ones(2)
        assert m.conj_physical(real) is real and real.conj_physical_() is real
    assert found[0] == found[1]


def test_they_share_memory():
    z = mg.tensor([1 + 2j, 3 + 4j])
    for view in (z.imag, mg.view_as_real(z), mg.view_as_complex(mg.view_as_real(z)), z.real):
        assert view._base is z
        version = z._version
        view.mul_(2)
        assert z._version == version + 1
    assert z.tolist() == [8 + 16j, 24 + 32j]


@pytest.mark.parametrize("function", [
    lambda m: m.imag(m.ones(2)), lambda m: m.ones(2).imag, lambda m: m.view_as_real(m.ones(2)), lambda m: m.view_as_complex(m.ones(3)),
    lambda m: m.view_as_complex(m.ones(())), lambda m: m.view_as_complex(m.ones(2, 2).t()), lambda m: m.view_as_complex(m.ones(3, 3)[:, :2]),
    lambda m: m.view_as_complex(m.ones(2, 4)[:, 1:3]), lambda m: m.view_as_complex(m.ones(2, dtype=m.int64)),
    lambda m: m.view_as_complex(m.ones(2) * 1j), lambda m: m.complex(m.ones(2), m.ones(2).double()), lambda m: m.complex(m.ones(2), 1.0),
    lambda m: m.complex(m.tensor([1]), m.tensor([1])), lambda m: m.polar(m.ones(2), m.ones(3)), lambda m: m.polar(1.0, m.ones(2)),
    lambda m: m.real(1.0), lambda m: m.angle(2.0)])
def test_refused(function):
    found = []
    for m in (mg, torch):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            function(m)
        found.append(TypeError if issubclass(caught.type, TypeError) else RuntimeError)
    assert found[0] is found[1]


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_pairs_of_a_real_tangent(m):
    """differences/K-07: a complex tensor may have a real tangent; view_as_real of it would read beyond its memory."""
    with m.autograd.forward_ad.dual_level():
        z = m.autograd.forward_ad.make_dual(m.ones(2, dtype=m.complex64), m.ones(2))
        with pytest.raises(RuntimeError, match="view_as_real is only supported for complex tensors"):
            m.view_as_real(z)


@pytest.mark.parametrize("run", [
    lambda m: m.angle(m.tensor([-1.0, 2.0, float("nan"), -0.0])), lambda m: m.angle(m.tensor([1, -2])), lambda m: m.view_as_real(m.zeros(0, dtype=m.complex64)),
    lambda m: m.view_as_complex(m.zeros(0, 2)), lambda m: m.tensor(1 + 2j).imag, lambda m: m.view_as_real(m.tensor(1 + 2j)),
    lambda m: m.view_as_complex(m.tensor([1.0, 2.0])), lambda m: m.real(m.tensor([1, 2])), lambda m: m.polar(m.ones(2, 1), m.zeros(3)),
    lambda m: m.conj_physical(m.tensor([1, 2])), lambda m: m.tensor([1 + 1j]).conj_physical_(), lambda m: m.angle(m.tensor([True])),
    lambda m: m.sgn(m.tensor([0j, 3 + 4j])), lambda m: m.complex(m.ones(2, dtype=m.float64), m.zeros(2, dtype=m.float64))])
def test_values(run):
    ours, theirs = run(mg), run(torch)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1] and tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(np.array(ours.tolist()), np.array(theirs.tolist()), rtol=1e-6)
