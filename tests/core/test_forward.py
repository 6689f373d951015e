"""Forward-mode AD: how tangents travel through ops, writes and views, and how it composes with reverse mode."""

import gc
import threading
import weakref

import pytest

from tests.core.engine_tools import leaf, ours, raises, value


def fwad(m):
    return m.autograd.forward_ad


def tangent(m, x):
    return fwad(m).unpack_dual(x).tangent


def dual(m, values, directions, dtype="float64"):
    return fwad(m).make_dual(m.tensor(values, dtype=getattr(m, dtype)), m.tensor(directions, dtype=getattr(m, dtype)))


# ---- levels ----------------------------------------------------------------------------------------------------


def test_one_level(m):
    """tensor_surface/W-01"""
    with fwad(m).dual_level() as level:
        assert level == 0
        with raises(RuntimeError, "Nested forward mode AD is not supported"):
            fwad(m).enter_dual_level()
        seen = []

        def other():
            with raises(RuntimeError, "Nested forward mode AD is not supported"):
                fwad(m).enter_dual_level()
            seen.append(value(tangent(m, x * 3)))
        x = dual(m, [1.0], [2.0])
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert seen == [[6.0]], "a level holds for all threads"
    assert fwad(m).enter_dual_level() == 0
    fwad(m).exit_dual_level()


def test_exit_of_a_level(m):
    """tensor_surface/W-06, W-05"""
    with raises(RuntimeError, "Dual level must be a positive number"):
        fwad(m).exit_dual_level()
    level = fwad(m).enter_dual_level()
    x = dual(m, [1.0], [2.0])
    y = x * 2
    with raises(RuntimeError, "not the last one that was created"):
        fwad(m).exit_dual_level(level=level + 1)
    assert value(tangent(m, y)) == [4]
    fwad(m).exit_dual_level(level=level)
    assert tangent(m, x) is None and tangent(m, y) is None
    with fwad(m).dual_level():
        assert tangent(m, y) is None and tangent(m, x * 2) is None


def test_tangents_die_with_the_level(m):
    """tensor_surface/W-05: nothing keeps a tangent alive after its level, also not the tensor."""
    with fwad(m).dual_level():
        t = m.ones(2)
        x = fwad(m).make_dual(m.ones(2), t)
        y = x.exp() * x
        dead = weakref.ref(t), weakref.ref(tangent(m, y))
        del t
        assert dead[0]() is not None
    gc.collect()
    assert [ref() for ref in dead] == [None, None] and y.shape == (2,)


@ours
def test_many_dual_tensors_in_one_level(m):
    """The tangent of a freed tensor is not kept until the level ends."""
    from minigrad._core.record import forward_ad
    with fwad(m).dual_level():
        x = dual(m, [1.0], [1.0])
        for _ in range(5000):
            y = x * 2
        assert len(forward_ad._duals) < 3000 and value(tangent(m, y)) == [2]
    assert not forward_ad._duals


def test_an_exception_ends_the_level(m):
    with raises(ZeroDivisionError, "division"), fwad(m).dual_level():
        x = dual(m, [1.0], [1.0])
        1 / 0       # noqa: B018
    assert tangent(m, x) is None
    with fwad(m).dual_level():
        pass


def test_as_decorator(m):
    @fwad(m).dual_level()
    def slope(x):
        return value(tangent(m, fwad(m).make_dual(x, m.ones(1)) ** 2))
    assert slope(m.tensor([3.0])) == [6] and slope(m.tensor([4.0])) == [8]


# ---- making and unpacking -----------------------------------------------------------------------------------------


def test_make_dual_refuses(m):
    """tensor_surface/W-02"""
    x, t = m.zeros(2), m.ones(2)
    with raises(RuntimeError, "make sure to enter_dual_level"):
        fwad(m).make_dual(x, t)
    with fwad(m).dual_level():
        d = fwad(m).make_dual(x, t)
        with raises(ValueError, "Expected primal to be floating point or complex"):
            fwad(m).make_dual(m.tensor([1, 2]), t)
        with raises(ValueError, "Expected tangent to be floating point or complex"):
            fwad(m).make_dual(x, m.tensor([1, 2]))
        with raises(RuntimeError, "Tensor is of size [2] while the given forward gradient is of size [3]"):
            fwad(m).make_dual(x, m.ones(3))
        with raises(RuntimeError, "already has a forward gradient at the same level"):
            fwad(m).make_dual(d, t)
        with raises(RuntimeError, "Setting a forward grad that itself has a forward gradient at the same level"):
            fwad(m).make_dual(x, d)
        with raises(RuntimeError, "Invalid level given to"):
            fwad(m).make_dual(x, t, level=3)
        assert value(tangent(m, fwad(m).make_dual(x, t.double()))) == [1, 1]
        assert value(tangent(m, d)) == [1, 1], "after all those errors"


@ours
def test_the_public_name_of_a_switch(m):
    assert fwad(m).set_forward_grad_enabled is fwad(m)._set_fwd_grad_enabled

    @fwad(m).set_forward_grad_enabled(False)
    def square(x):
        return x * x
    with fwad(m).dual_level():
        x = dual(m, [3.0], [1.0])
        assert tangent(m, square(x)) is None and value(tangent(m, x * x)) == [6]


@pytest.mark.differs(
    what="`make_dual(3, tangent)`",
    there="AttributeError: an int has no `is_floating_point`.",
    here="TypeError, which names the argument and its type.")
@ours
def test_not_a_tensor(m):
    """PyTorch: AttributeError for the first two."""
    with fwad(m).dual_level():
        with raises(TypeError, "argument 'tensor' must be Tensor, not int"):
            fwad(m).make_dual(3, m.ones(1))
        with raises(TypeError, "argument 'tangent' must be Tensor, not float"):
            fwad(m).make_dual(m.ones(1), 1.0)
        with raises(TypeError, "must be Tensor, not int"):
            fwad(m).unpack_dual(3)


def test_a_dual_tensor_is_a_view(m):
    """tensor_surface/W-03"""
    x, t = leaf(m, 1.0, 2.0), m.ones(2)
    with fwad(m).dual_level():
        d = fwad(m).make_dual(x, t)
        assert d is not x and d._base is x and d.data_ptr() == x.data_ptr()
        assert d.grad_fn.name() == "ViewBackward0" and tangent(m, d) is t
        assert tangent(m, x) is None
        columns = m.ones(3, 2).t()
        d = fwad(m).make_dual(m.zeros(2, 3), columns)
        assert tangent(m, d) is not columns and tangent(m, d).stride() == (3, 1)
        assert tangent(m, fwad(m).make_dual(m.zeros(3, 2).t(), columns)) is columns
        expanded = m.ones(1).expand(2, 3)
        assert tangent(m, fwad(m).make_dual(m.zeros(2, 3), expanded)).stride() == (3, 1)
        part = m.ones(10)[2:5]
        assert tangent(m, fwad(m).make_dual(m.zeros(3), part)) is not part


@pytest.mark.differs(
    what="`make_dual(x, tangent)`, where `x` is an expanded tensor",
    there="RuntimeError: the tangent cannot be copied into the layout of `x`, whose elements share memory.",
    here="The tangent keeps its own layout.")
@ours
def test_a_tangent_for_an_expanded_tensor(m):
    """PyTorch wants to copy the tangent into the layout of the primal, in which that is not possible."""
    with fwad(m).dual_level():
        x = fwad(m).make_dual(m.ones(1).expand(3), m.tensor([1.0, 2.0, 3.0]))
        assert value(tangent(m, x * 2)) == [2, 4, 6]


def test_unpack_dual(m):
    """tensor_surface/W-04"""
    x = m.tensor([1.0, 2.0])
    found = fwad(m).unpack_dual(x)
    assert found.primal is x and found.tangent is None
    with fwad(m).dual_level():
        d = fwad(m).make_dual(x, m.ones(2))
        primal, t = fwad(m).unpack_dual(d)
        assert type(found).__name__ == "UnpackedDualTensor" and found._fields == ("primal", "tangent")
        assert primal is not d and primal.data_ptr() == x.data_ptr() and tangent(m, primal) is None and value(t) == [1, 1]
        assert tangent(m, primal * 2) is None
        plain = fwad(m).unpack_dual(x)
        assert plain.primal is not x and plain.tangent is None
        assert fwad(m).unpack_dual(d, level=-1) == (d, None)


def test_the_primal_of_a_written_tensor_has_no_tangent(m):
    with fwad(m).dual_level():
        x = m.zeros(3)
        x.copy_(dual(m, [1.0, 2.0, 3.0], [1.0, 1.0, 1.0], "float32"))
        primal = fwad(m).unpack_dual(x).primal
        assert tangent(m, primal) is None and tangent(m, primal[0]) is None and tangent(m, primal * 2) is None


def test_repr_of_a_dual_tensor(m):
    with fwad(m).dual_level():
        x = dual(m, [1.0], [2.0], "float32")
        assert repr(x) == "tensor([1.], tangent=tensor([2.]))"
    assert repr(x) == "tensor([1.])"


# ---- tensors with and without a tangent --------------------------------------------------------------------------


def test_what_drops_tangents(m):
    """tensor_surface/W-08"""
    with fwad(m).dual_level():
        x = dual(m, [1.0, 2.0], [1.0, 1.0])
        assert tangent(m, x.detach()) is None and tangent(m, m.nn.Parameter(x)) is None
        assert tangent(m, x > 0) is None and tangent(m, m.ones_like(x)) is None and tangent(m, x.argmax()) is None
        assert value(tangent(m, x.clone())) == [1, 1] and value(tangent(m, x.double())) == [1, 1]
        assert value(tangent(m, x.float())) == [1, 1]


def test_modes_and_tangents(m):
    """tensor_surface/M-09"""
    with fwad(m).dual_level():
        x = dual(m, [1.0], [2.0])
        with m.no_grad():
            assert value(tangent(m, x * 2)) == [4]
        with m.inference_mode():
            assert tangent(m, x * 2) is None and tangent(m, x) is None
            y = fwad(m).make_dual(m.ones(1), m.ones(1))
            with m.inference_mode(False):
                assert value(tangent(m, x * 2)) == [4]
        assert tangent(m, y) is None
        with fwad(m)._set_fwd_grad_enabled(False):
            assert tangent(m, x * 2) is None and tangent(m, x) is None
            z = fwad(m).make_dual(m.ones(1), m.ones(1))
        assert value(tangent(m, z)) == [1] and value(tangent(m, x * 2)) == [4]
        fwad(m)._set_fwd_grad_enabled(False)
        try:
            assert tangent(m, x * 2) is None
        finally:
            fwad(m)._set_fwd_grad_enabled(True)


def test_out_is_refused(m):
    with fwad(m).dual_level():
        x, z = dual(m, [1.0], [1.0], "float32"), m.zeros(1)
        with raises(NotImplementedError, "Trying to use forward AD with mul_out that does not support it because it is an out= func"):
            m.mul(x, 2, out=z)
        with raises(NotImplementedError, "because it is an out= function"):
            m.mul(m.ones(1), 2, out=x)
        if m.__name__ != "torch":
            assert value(z) == [0], "PyTorch has written by then"


def test_what_cannot_be_done_in_place(m):
    with fwad(m).dual_level():
        x = dual(m, [1.0, 2.0], [1.0, 1.0], "float32")
        with raises(RuntimeError, "cannot resize variables that has a forward grad"):
            x.resize_(4)
        with raises(NotImplementedError, "Trying to use forward AD with set_"):
            x.set_(m.ones(3))
        assert value(tangent(m, x)) == [1, 1]


# ---- writes and views: tensor_surface/W-07 ---------------------------------------------------------------------------


def test_a_write_writes_to_the_tangent(m):
    with fwad(m).dual_level():
        x = fwad(m).make_dual(m.tensor([1.0, 2.0]), m.tensor([1.0, 1.0]))
        t = tangent(m, x)
        x.mul_(3)
        assert tangent(m, x) is t and value(t) == [3, 3]
        x.add_(dual(m, [0.0, 0.0], [10.0, 20.0], "float32"))
        assert tangent(m, x) is t and value(t) == [13, 23]
        x.copy_(m.ones(2))
        assert value(t) == [0, 0]


def test_a_first_tangent_by_a_write(m):
    with fwad(m).dual_level():
        x = m.tensor([1.0, 2.0])
        x.mul_(dual(m, [3.0, 4.0], [1.0, 2.0], "float32"))
        assert value(tangent(m, x)) == [1, 4]


def test_what_a_write_without_derivative_leaves(m):
    for write in (lambda x: x.zero_(), lambda x: x.fill_(3), lambda x: x.lt_(0), lambda x: x.normal_(), lambda x: x.floor_()):
        with fwad(m).dual_level():
            x = dual(m, [1.5, -2.5], [1.0, 1.0])
            write(x)
            assert value(tangent(m, x)) == [0, 0]


def test_tangents_are_not_shared(m):
    """x and x + 1 have equal tangents, but do not share one."""
    with fwad(m).dual_level():
        x = dual(m, [1.0], [1.5])
        y = x + 1
        y.mul_(2)
        assert value(tangent(m, x)) == [1.5] and value(tangent(m, y)) == [3]
        b = m.zeros(1, dtype=m.float64)
        b += x
        b /= 2
        assert value(tangent(m, x)) == [1.5] and value(tangent(m, b)) == [0.75]


def test_a_view_made_while_forward_mode_is_off(m):
    with fwad(m).dual_level():
        x = dual(m, [1.0, 2.0], [3.0, 4.0])
        with fwad(m)._set_fwd_grad_enabled(False):
            view = x[1:]
            of_view = view[:1]
            primal = fwad(m).unpack_dual(x).primal
        assert value(tangent(m, view)) == [4] and value(tangent(m, of_view)) == [4] and tangent(m, primal) is None
        of_view.mul_(2)
        assert value(tangent(m, x)) == [3, 8]


@pytest.mark.differs(
    what="`view.mul_(dual)` after `view.data = other`",
    there="An internal assertion fails.",
    here="The view gets the tangent. The base is not changed.")
@ours
def test_a_view_that_was_put_elsewhere(m):
    """PyTorch: an internal assert."""
    base = m.zeros(4)
    view = base[1:]
    view.data = m.ones(3)
    with fwad(m).dual_level():
        view.mul_(dual(m, [1.0, 2.0, 3.0], [1.5, 2.0, 3.0], "float32"))
        assert value(tangent(m, view)) == [1.5, 2, 3] and tangent(m, base) is None and value(base) == [0, 0, 0, 0]


def test_a_dual_tensor_that_was_put_elsewhere(m):
    with fwad(m).dual_level():
        x = dual(m, [1.0, 2.0], [3.0, 4.0])
        x.data = x.data * 2
        view = x[1:]
        view.mul_(2)
        assert value(x) == [2, 8] and value(tangent(m, x)) == [3, 8]


@pytest.mark.differs(
    what="`x.mul_(x)` of a dual tensor",
    there="The tangent is wrong: it is computed with the new value of the second `x`.",
    here="The tangent is computed with the old value.")
@ours
def test_an_operand_that_is_written_to(m):
    """PyTorch computes the tangent of x x with the new value of the second x."""
    with fwad(m).dual_level():
        x = dual(m, [3.0, 4.0], [1.0, 10.0])
        x.mul_(x)
        assert value(tangent(m, x)) == [6, 80]
        y = dual(m, [3.0, 4.0], [1.0, 10.0])
        y.mul_(y.view(2))
        assert value(y) == [9, 16] and value(tangent(m, y)) == [6, 80]


def test_a_view_has_a_view_of_the_tangent(m):
    with fwad(m).dual_level():
        x = dual(m, [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]])
        row = x.t()[1]
        assert value(tangent(m, row)) == [2, 4]
        row.mul_(10)
        assert value(tangent(m, x)) == [[1, 20], [3, 40]]
        x.mul_(2)
        assert value(tangent(m, row)) == [40, 80]


def test_from_the_base_to_an_older_view(m):
    with fwad(m).dual_level():
        base = m.zeros(4)
        view, of_view = base[1:3], base.view(2, 2)[1]
        assert tangent(m, view) is None
        base.copy_(dual(m, [1.0] * 4, [1.0, 2.0, 3.0, 4.0], "float32"))
        assert value(tangent(m, view)) == [2, 3] and value(tangent(m, of_view)) == [3, 4]
        view.mul_(10)
        assert value(tangent(m, base)) == [1, 20, 30, 4] and value(tangent(m, of_view)) == [30, 4]
        assert value(tangent(m, view * 1)) == [20, 30]


def test_from_a_view_to_its_base(m):
    with fwad(m).dual_level():
        base = m.ones(2, 2)
        other = base[0]
        base[1, 0] = dual(m, 5.0, 7.0, "float32")
        assert value(tangent(m, base)) == [[0, 0], [7, 0]] and value(tangent(m, other)) == [0, 0]
        other.add_(dual(m, [0.0, 0.0], [1.0, 2.0], "float32"))
        assert value(tangent(m, base)) == [[1, 2], [7, 0]]
        whole = m.zeros(4)
        seen = whole.view(2, 2)
        seen.copy_(dual(m, [[1.0] * 2] * 2, [[1.0, 2.0], [3.0, 4.0]], "float32"))
        assert value(tangent(m, whole)) == [1, 2, 3, 4] and value(tangent(m, seen)) == [[1, 2], [3, 4]]


def test_a_view_of_every_other_element(m):
    with fwad(m).dual_level():
        base = m.zeros(3, 2).t()
        view = base[:, ::2]
        view.copy_(dual(m, [[1.0] * 2] * 2, [[1.0, 2.0], [3.0, 4.0]], "float32"))
        assert value(tangent(m, base)) == [[1, 0, 2], [3, 0, 4]]
        assert tangent(m, base).stride() == base.stride() and tangent(m, view).stride() == view.stride()


def test_the_tangent_of_the_real_part(m):
    with fwad(m).dual_level():
        z = m.zeros(2, dtype=m.complex64)
        part = z.real[1:]
        z.copy_(fwad(m).make_dual(m.ones(2, dtype=m.complex64), m.tensor([1 + 2j, 3 + 4j])))
        assert value(tangent(m, part)) == [3]
        y = m.zeros(2, dtype=m.complex64)
        y.real.copy_(dual(m, [1.0, 1.0], [5.0, 6.0], "float32"))
        assert value(tangent(m, y)) == [5, 6]


def test_a_base_with_gaps(m):
    """A base that uses every other number of its memory: `.data` of a view."""
    with fwad(m).dual_level():
        base = m.zeros(3, 2)[:, 1].data
        view = base[1:]
        view.add_(dual(m, [1.0, 2.0], [3.0, 4.0], "float32"))
        assert value(tangent(m, base)) == [0, 3, 4]
        base.mul_(2)
        assert value(tangent(m, view)) == [6, 8]


def test_a_base_that_lies_in_another_order(m):
    with fwad(m).dual_level():
        base = m.zeros(2, 3, 4).permute(2, 0, 1).detach()
        view = base[-1]
        view.copy_(dual(m, [[1.0] * 3] * 2, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
        assert value(tangent(m, base)[3]) == [[1, 2, 3], [4, 5, 6]] and value(tangent(m, base)[:3].sum()) == 0


def test_views_taken_in_place(m):
    with fwad(m).dual_level():
        x = fwad(m).make_dual(m.zeros(2, 3), m.ones(2, 3))
        t = tangent(m, x)
        x.t_()
        assert tangent(m, x) is t and t.shape == (3, 2)
        x.unsqueeze_(0)
        assert tangent(m, x).shape == (1, 3, 2)


# ---- with reverse mode: tensor_surface/W-08 ----------------------------------------------------------------------------


def hessian_product(m, f, x, direction):
    """Forward over reverse."""
    with fwad(m).dual_level():
        d = fwad(m).make_dual(x, direction)
        g, = m.autograd.grad(f(d), d)
        return value(tangent(m, g))


def test_forward_over_reverse(m):
    x = leaf(m, 1.0, 2.0, dtype="float64")
    direction = m.tensor([1.0, -1.0], dtype=m.float64)
    assert hessian_product(m, lambda x: (x ** 3).sum(), x, direction) == [6, -12]
    assert hessian_product(m, lambda x: (x * x.sum()).sum(), x, direction) == [0, 0]
    found = hessian_product(m, lambda x: (x.exp() * x.sin()).sum(), x, direction)
    expected = (2 * x.exp() * x.cos() * direction).tolist()
    assert [round(v, 10) for v in found] == [round(v, 10) for v in expected]


def test_forward_over_reverse_through_writes(m):
    x = leaf(m, 1.0, 2.0, 3.0, dtype="float64")
    direction = m.ones(3, dtype=m.float64)

    def f(x):
        y = x * 1
        y[1:].mul_(y[:2].clone())
        y.pow_(3)
        return y.sum()
    # y = (a, ab, bc): f = a³ + a³b³ + b³c³
    a, b, c = 1.0, 2.0, 3.0
    rows = [6 * a + 6 * a * b**3 + 9 * a**2 * b**2, 6 * a**3 * b + 9 * a**2 * b**2 + 6 * b * c**3 + 9 * b**2 * c**2,
            6 * b**3 * c + 9 * b**2 * c**2]
    assert hessian_product(m, f, x, direction) == rows


def test_the_gradient_of_a_leaf_is_dual(m):
    with fwad(m).dual_level():
        x = leaf(m, 1.0, 2.0)
        (fwad(m).make_dual(m.tensor([3.0, 4.0]), m.ones(2)) * x * x).sum().backward()
        assert value(x.grad) == [6, 16]


@pytest.mark.differs(
    what="Two backwards of dual tensors into one leaf",
    there="`.grad` has the tangent of the second one only.",
    here="The tangents add up, as the gradients do.")
@ours
def test_tangents_of_gradients_add_up(m):
    """Both gradients add their tangents; PyTorch loses the first one."""
    with fwad(m).dual_level():
        x = leaf(m, 2.0, 3.0)
        for power in (3, 2):
            (fwad(m).make_dual(x, m.ones(2)) ** power).sum().backward()
        assert value(x.grad) == [16, 33] and value(tangent(m, x.grad)) == [14, 20]
    assert tangent(m, x.grad) is None


def test_fan_in_of_dual_gradients(m):
    """Gradients that meet are added with their tangents."""
    x = leaf(m, 1.0, 2.0, dtype="float64")
    with fwad(m).dual_level():
        d = fwad(m).make_dual(x, m.ones(2, dtype=m.float64))
        y = d * 1
        g, = m.autograd.grad((y * y + y * y * y + y.sum() * y).sum(), d)
        assert value(tangent(m, g)) == [2 + 6 + 4, 2 + 12 + 4]


def test_reverse_over_forward(m):
    x = leaf(m, 1.0, 2.0, dtype="float64")
    with fwad(m).dual_level():
        y = fwad(m).make_dual(x, m.tensor([1.0, 10.0], dtype=m.float64)) ** 3
        g, = m.autograd.grad(tangent(m, y).sum(), x)
    assert value(g) == [6, 120]


def test_reverse_over_forward_of_the_tangent(m):
    """The tangent has a gradient too."""
    t = leaf(m, 1.0, 1.0, dtype="float64")
    with fwad(m).dual_level():
        y = fwad(m).make_dual(m.tensor([2.0, 3.0], dtype=m.float64), t) ** 2
        assert value(m.autograd.grad(tangent(m, y).sum(), t)[0]) == [4, 6]


def test_reverse_over_forward_through_a_write(m):
    x = leaf(m, 1.0, 2.0, 3.0, 4.0, dtype="float64")
    with fwad(m).dual_level():
        y = fwad(m).make_dual(x, m.ones(4, dtype=m.float64)) * 1
        y[1:3].mul_(2)
        y.pow_(2)
        g, = m.autograd.grad(tangent(m, y).sum(), x)
    assert value(g) == [2, 8, 8, 2]


def test_saved_tensors_hooks_keep_tangents(m):
    x = leaf(m, 1.0, 2.0, dtype="float64")
    with fwad(m).dual_level(), m.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        d = fwad(m).make_dual(x, m.ones(2, dtype=m.float64))
        y = d.exp() * d
        g, = m.autograd.grad(y.sum(), d)
        expected = (x.exp() * (2 + x)).tolist()
        assert [round(v, 9) for v in value(tangent(m, g))] == [round(v, 9) for v in expected]


def test_saved_tensors_hooks_accumulate_into_no_view(m):
    """A view made under no_grad has no .grad of its own, also if hooks have made another tensor of it."""
    with fwad(m).dual_level():
        with m.no_grad():
            x = fwad(m).make_dual(leaf(m, 1.0, 2.0), m.ones(2))
        part = x[:1]
        with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            g, = m.autograd.grad((part * x).sum(), part, create_graph=True)
        g.sum().backward()
        assert x.grad is None


@ours
def test_no_cycle_stays(m):
    """A tangent with a history, of an op that saves its output, dies with the level."""
    x = leaf(m, 1.0, 2.0)
    with fwad(m).dual_level():
        y = fwad(m).make_dual(x, m.ones(2)).exp()
        node = weakref.ref(y.grad_fn)
        assert tangent(m, y).requires_grad
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


@ours
def test_no_cycle_through_a_base(m):
    """A write to a view saves its result with the result's tangent, but without its base, which would hold the node."""
    with fwad(m).dual_level():
        base = fwad(m).make_dual(leaf(m, 1.0, 2.0, 3.0), m.ones(3)) * 1
        view = base[1:]
        view.exp_()
        dead = weakref.ref(base)
    gc.disable()
    try:
        del base, view
        assert dead() is None
    finally:
        gc.enable()
