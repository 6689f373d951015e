"""Indexing, joining and training on a GPU give the same results and gradients as on the CPU."""

import numpy as np
import pytest

import minigrad as mg

F = mg.nn.functional
X = [[1., -2., 3., 0.5], [4., 5., -6., 2.], [7., 8., 9., -1.]]
I, J = [2, 0, 2], [-1, 1, 0]
OPS = {
    "gather": lambda x, i: x.gather(1, i([I, J[1:] + [0], I])),
    "scatter_add": lambda x, i: x.scatter_add(0, i([I]), x[:1] * 2),
    "index_select": lambda x, i: x.index_select(1, i(I)),
    "index_add": lambda x, i: x.index_add(0, i(I), x * 3),
    "index_fill": lambda x, i: x.index_fill(0, i([-1]), 2.0),
    "take": lambda x, i: mg.take(x, i([0, -1, 0])),
    "put": lambda x, i: x.put(i([0, -1]), x[0, :2]),
    "brackets": lambda x, i: x[i(I), i(J)],
    "a list": lambda x, i: x[:, [0, 0, 3]],
    "a mask": lambda x, i: x[x > 1],
    "index_put": lambda x, i: x.index_put((i(I),), x * 2, accumulate=True),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i([I]), x[:1], "prod"),
    "cat": lambda x, i: mg.cat([x, x[1:], x[:, :].t().reshape(3, 4)]),
    "stack": lambda x, i: mg.stack([x, x * x], 1),
    "flip": lambda x, i: x.flip(0, 1) * x,
    "tril": lambda x, i: x.tril() + x.triu(1) * 2,
    "as_strided": lambda x, i: x.as_strided((3, 3), (2, 1), 1) * 2,
}


def on(device, op):
    x = mg.tensor(X, device=device, requires_grad=True)
    y = op(x, lambda numbers: mg.tensor(numbers, device=device))
    y.backward(mg.tensor([float(i % 5) - 1 for i in range(y.numel())], device=device).reshape(y.shape))
    return y.detach().tolist(), x.grad.tolist()


@pytest.mark.parametrize("name", OPS)
def test_as_on_the_cpu(name):
    assert on("cuda", OPS[name]) == on("cpu", OPS[name])


def test_writing_between_brackets():
    def written(device):
        x = mg.tensor(X, device=device)
        x[mg.tensor([0, 2], device=device)] = 1.0
        x[x < 0] = mg.tensor(9.0, device=device)
        x[:, [1, 1]] = mg.tensor([[5., 6.]], device=device)
        x[0, 1:3] = x[1, :2]
        return x.tolist()
    assert written("cuda") == written("cpu")


def test_indices_are_checked():
    x = mg.tensor(X, device="cuda")
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        x.index_select(0, mg.tensor([0, 3], device="cuda"))
    with pytest.raises(IndexError, match="out of bounds"):
        x[mg.tensor([-4], device="cuda")]
    with pytest.raises(RuntimeError, match="on the same device as the indexed tensor"):
        x.cpu()[mg.tensor([0], device="cuda")]
    assert x[mg.tensor([2, 0])].tolist() == x[mg.tensor([-1, 0])].tolist() == [X[2], X[0]]      # indices of the CPU, as in PyTorch
    assert x[mg.tensor([], dtype=mg.int64)].shape == (0, 4)
    assert x[mg.tensor([True, False, True])].tolist() == [X[0], X[2]]


def test_where_a_view_lies():
    x = mg.tensor(X, device="cuda")
    assert (x.storage_offset(), x[1:, 2:].storage_offset()) == (0, 6)
    assert x[1:].data_ptr() == x.data_ptr() + 16


def test_tensors_of_tensors():
    x = mg.tensor(X, device="cuda")
    with pytest.warns(UserWarning, match="copy construct"):
        assert mg.tensor(x).device == x.device
    assert mg.tensor([x[0, 0], x[1, 1]]).tolist() == [1.0, 5.0]
    assert mg.normal(x, 0.0).tolist() == X


@pytest.mark.parametrize("make", [lambda p: mg.optim.SGD(p, lr=0.1), lambda p: mg.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
                                  lambda p: mg.optim.Adam(p, lr=0.1, amsgrad=True), lambda p: mg.optim.AdamW(p, lr=0.1)])
def test_training(make):
    def trained(device):
        w = mg.tensor(X, device=device, requires_grad=True)
        optimizer = make([w])
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).backward(mg.ones(3, 4, device=device))
            optimizer.step()
        return w.detach().cpu()
    mg.testing.assert_close(trained("cuda"), trained("cpu"))


@pytest.mark.parametrize("dtype", [mg.float32, mg.float16, mg.complex64, mg.int32])
def test_additions_in_order(dtype):
    """With use_deterministic_algorithms all that goes to a place is added in the order of the index, float16 in float32."""
    x, y = mg.zeros(3, 2, dtype=dtype), (mg.randn(40, 2) * 100).to(dtype)
    index = mg.randint(0, 3, (40, 2))
    mg.use_deterministic_algorithms(True)
    try:
        found = x.cuda().scatter_add(0, index.cuda(), y.cuda()).cpu()
        again = x.cuda().t().contiguous().t().index_put((index[:, 0].cuda(),), y.cuda(), accumulate=True).cpu()
    finally:
        mg.use_deterministic_algorithms(False)
    kind = np.float32 if dtype is mg.float16 else x.numpy().dtype
    for made, places in ((found, index.numpy()), (again, index[:, :1].numpy())):
        expected = np.zeros((3, 2), kind)
        np.add.at(expected, (places, np.arange(2)), y.numpy().astype(kind))       # one after the other
        assert made.tolist() == expected.astype(x.numpy().dtype).tolist()


def test_gradients_of_maxima_in_order():
    x, g = mg.randn(2, 1, 5, 5), mg.randn(2, 1, 4, 4)
    grads = []
    mg.use_deterministic_algorithms(True)
    try:
        for y, to in ((x.clone(), lambda t: t), (x.cuda(), lambda t: t.cuda())):
            y.requires_grad_()
            F.max_pool2d(y, 2, 1).backward(to(g))
            grads.append(y.grad.cpu())
    finally:
        mg.use_deterministic_algorithms(False)
    assert mg.allclose(*grads)
