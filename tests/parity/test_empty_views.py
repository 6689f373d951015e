"""differences/N-09: views of no elements know their strides and where they begin, as PyTorch's do."""

import pytest

import minigrad as mg

torch = pytest.importorskip("torch")

VIEWS = {
    "as_strided beyond": lambda m: m.ones(1).as_strided((0,), (1,), 2),
    "as_strided far beyond": lambda m: m.ones(1).as_strided((0, 3), (7, 2), 1000),
    "as_strided before": lambda m: m.ones(5)[3:].as_strided((2, 0), (1, 1), 1),
    "as_strided of nothing": lambda m: m.ones(0).as_strided((0,), (1,), 5),
    "view of a far one": lambda m: m.ones(1).as_strided((0,), (1,), 2).view(2, 0),
    "the end": lambda m: m.ones(3)[3:],
    "beyond the end": lambda m: m.ones(3)[7:],
    "nothing in the middle": lambda m: m.ones(5)[2:2],
    "rows": lambda m: m.ones(4, 3)[4:],
    "columns": lambda m: m.ones(4, 3)[:, 2:2],
    "a step": lambda m: m.ones(6)[6::2],
    "narrow": lambda m: m.ones(4, 3).narrow(0, 4, 0),
    "transposed": lambda m: m.ones(0, 3).t(),
    "permuted": lambda m: m.ones(2, 0, 3).permute(2, 0, 1),
    "expanded": lambda m: m.ones(1, 3).expand(0, 3),
    "unsqueezed": lambda m: m.ones(0, 3).unsqueeze(1),
    "unsqueezed at the end": lambda m: m.ones(0, 3).unsqueeze(-1),
    "squeezed": lambda m: m.ones(0, 1, 3).squeeze(1),
    "selected": lambda m: m.ones(0, 3)[:, 1],
    "split": lambda m: m.ones(4, 3).split([4, 0])[1],
    "a diagonal": lambda m: m.ones(4, 3).diagonal(3),
    "reshaped": lambda m: m.ones(0, 3).view(3, 0),
    "flattened": lambda m: m.ones(2, 0, 3).view(-1),
    "in parts": lambda m: m.ones(0, 6).unflatten(1, (2, 3)),
    "unfolded": lambda m: m.ones(4).unfold(0, 0, 1),
    "detached": lambda m: m.ones(3)[3:].detach(),
    "a slice of a slice": lambda m: m.ones(9)[2:][7:],
    "real parts": lambda m: m.zeros(3, dtype=m.complex64)[3:].real,
    "a new one": lambda m: m.empty(0, 3),
    "a new one by columns": lambda m: m.empty(3, 0, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_as_there(name):
    """differences/N-09"""
    def seen(m):
        view = VIEWS[name](m)
        return tuple(view.shape), view.stride(), view.storage_offset(), view.data_ptr() == 0, view.untyped_storage().nbytes()

    assert seen(mg) == seen(torch)


def test_gradients_and_writes():
    """differences/N-09: a write into no elements counts, and a backward goes through."""
    def seen(m):
        x = m.ones(6, requires_grad=True)
        y = x * 1
        view = y.view(2, 3)[2:]
        before = y._version
        view.add_(1)
        y[6:].mul_(2)
        y.as_strided((0,), (1,), 9).exp_()
        y.sum().backward()
        with pytest.raises(RuntimeError) as refused:
            m.ones(3, requires_grad=True)[3:].add_(1)
        return y._version - before, x.grad.tolist(), "leaf" in str(refused.value), type(view.grad_fn).__name__

    assert seen(mg) == seen(torch)


def test_an_offset_that_no_address_holds():
    """differences/N-09"""
    with pytest.raises(RuntimeError, match="out of bounds"):
        mg.ones(1).as_strided((0,), (1,), 1 << 62)
