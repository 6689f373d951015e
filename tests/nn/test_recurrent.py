"""Recurrent layers and cells: PyTorch's values, gradients and second gradients from the same parameters, and its complaints."""

import inspect
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad import nn

OPTIONS = [
    ("RNN", {}), ("RNN", {"nonlinearity": "relu", "num_layers": 2}), ("RNN", {"bias": False, "bidirectional": True}),
    ("LSTM", {}), ("LSTM", {"bias": False}), ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    ("LSTM", {"proj_size": 2}), ("LSTM", {"proj_size": 2, "bias": False, "num_layers": 2, "bidirectional": True}),
    ("GRU", {}), ("GRU", {"bias": False}), ("GRU", {"num_layers": 3, "bidirectional": True, "batch_first": True}),
]
CELLS = [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu", "bias": False}), ("LSTMCell", {}), ("LSTMCell", {"bias": False}),
         ("GRUCell", {}), ("GRUCell", {"bias": False})]
KINDS = {"tanh": lambda m: m.nn.RNN, "LSTM": lambda m: m.nn.LSTM, "GRU": lambda m: m.nn.GRU}


def case_id(case):
    return f"{case[0]} " + " ".join(f"{k}={v}" for k, v in case[1].items())


def fill(m, layer):
    """Known numbers as parameters, the same in both libraries."""
    with m.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(m.tensor(np.cos(np.arange(p.numel()) * 1.3 + i).reshape(tuple(p.shape)) * 0.7))
    return layer


def state_shapes(name, kwargs, batch):
    count = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    sizes = [kwargs.get("proj_size") or 4] + ([4] if name == "LSTM" else [])
    return [(count, *batch, size) for size in sizes]


def flat(results):
    """The tensors of nested tuples."""
    return [t for part in results for t in flat(part)] if isinstance(results, (tuple, list)) else [results]


def outcome(m, layer, arrays, second=True):
    """Results, gradients of everything, and gradients of the sum of their squares."""
    x, *state = [m.tensor(a, requires_grad=True) for a in arrays]
    hx = None if not state else tuple(state) if len(state) > 1 else state[0]
    results = flat(layer(x, hx))
    total = sum((r * m.tensor(np.sin(np.arange(r.numel()) + 1.0).reshape(tuple(r.shape)))).sum() for r in results)
    inputs = [x, *state, *layer.parameters()]
    grads = m.autograd.grad(total, inputs, create_graph=second)
    if second:
        grads += m.autograd.grad(sum((g * g).sum() for g in grads), inputs)
    return [t.detach().numpy() for t in (*results, *grads)]


def compare(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("given_state", [False, True], ids=["from zeros", "from a state"])
@pytest.mark.parametrize("shape", [(5, 2, 3), (4, 3), (1, 1, 3)], ids=str)
@pytest.mark.parametrize("case", OPTIONS, ids=case_id)
def test_layer_is_torchs(case, shape, given_state, torch):
    name, kwargs = case
    ours, theirs = [fill(m, getattr(m.nn, name)(3, 4, **kwargs, dtype=m.float64)) for m in (mg, torch)]
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    rng = np.random.default_rng(1)
    batch = () if len(shape) == 2 else (shape[0] if kwargs.get("batch_first") else shape[1],)
    arrays = [rng.standard_normal(shape)]
    if given_state:
        arrays += [rng.standard_normal(s) for s in state_shapes(name, kwargs, batch)]
    compare(outcome(mg, ours, arrays), outcome(torch, theirs, arrays))


@pytest.mark.parametrize("given_state", [False, True], ids=["from zeros", "from a state"])
@pytest.mark.parametrize("batch", [(2,), ()], ids=str)
@pytest.mark.parametrize("case", CELLS, ids=case_id)
def test_cell_is_torchs(case, batch, given_state, torch):
    name, kwargs = case
    ours, theirs = [fill(m, getattr(m.nn, name)(3, 4, **kwargs, dtype=m.float64)) for m in (mg, torch)]
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((*batch, 3))] + [rng.standard_normal((*batch, 4)) for _ in range(ours.states * given_state)]
    compare(outcome(mg, ours, arrays), outcome(torch, theirs, arrays))


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["RNN", "LSTM", "GRU"]), sizes=st.tuples(*[st.integers(1, 4)] * 4), layers=st.integers(1, 3),
       bias=st.booleans(), batch_first=st.booleans(), bidirectional=st.booleans())
def test_any_size_is_torchs(kind, sizes, layers, bias, batch_first, bidirectional):
    torch = pytest.importorskip("torch")
    steps, batch, features, hidden = sizes
    layers = [fill(m, getattr(m.nn, kind)(features, hidden, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional,
                                          dtype=m.float64)) for m in (mg, torch)]
    x = np.random.default_rng(0).standard_normal((steps, batch, features))
    compare(*[outcome(m, layer, [x], second=False) for m, layer in zip((mg, torch), layers)])


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_a_cell_is_a_step_of_the_layer(name):
    """A layer run by hand: one cell with the same parameters, called at each step."""
    layer, cell = fill(mg, getattr(nn, name)(3, 4)), getattr(nn, name + "Cell")(3, 4)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    x, state, outputs = mg.randn(5, 2, 3), None, []
    for step in x:
        state = cell(step, state)
        outputs.append(flat(state)[0])
    expected, last = layer(x)
    np.testing.assert_allclose(mg.stack(outputs).detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    for h, end in zip(flat(state), flat(last)):
        np.testing.assert_allclose(h.detach().numpy(), end[0].detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_derivatives_of_both_orders(name):
    layer = fill(mg, getattr(nn, name)(2, 3, dtype=mg.float64))

    def function(x):
        return layer(x)[0]
    x = mg.tensor(np.random.default_rng(0).standard_normal((3, 2, 2)), requires_grad=True)
    assert mg.autograd.gradcheck(function, x, check_forward_ad=True) and mg.autograd.gradgradcheck(function, x)


# ---- one node for a layer (ops/nn/recurrent.py), or one for each op of each step ---------------------------------------------


LAYERS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {})]


def by_steps(monkeypatch):
    """Compute all layers by ops, as outside of the CPU."""
    monkeypatch.setattr("minigrad.nn._recurrent.one_node", lambda x, others: False)


@pytest.mark.differs(
    what="The `grad_fn` of the outputs of `nn.GRU` and `nn.RNN` on a CPU, and of an `nn.LSTM` of float64",
    there="`StackBackward0`, after four to fourteen nodes for each step.",
    here="One node for each layer and direction: `GruLayerBackward0`, `RnnLayerBackward0`, and `MkldnnRnnLayerBackward0`, which an LSTM of "
         "float32 has in both.")
@pytest.mark.parametrize("name, node", [("LSTM", "MkldnnRnnLayerBackward0"), ("GRU", "GruLayerBackward0"), ("RNN", "RnnLayerBackward0")])
def test_a_layer_is_one_node(name, node):
    """Its gradients of the weights reach the parameters directly."""
    layer = getattr(nn, name)(3, 4)
    z, _ = layer(mg.ones(5, 2, 3))
    assert z.grad_fn.name() == node
    assert {n.name() for n, _ in z.grad_fn.next_functions if n is not None} == {"AccumulateGrad"}


def test_the_node_of_an_lstm_is_torchs(torch):
    x = np.ones((5, 2, 3), np.float32)
    nodes = [m.nn.LSTM(3, 4)(m.tensor(x))[0].grad_fn for m in (mg, torch)]
    assert len({n.name() for n in nodes}) == 1
    for name in ("_saved_input", "_saved_weight0", "_saved_weight1", "_saved_hx_", "_saved_result0"):
        assert len({tuple(getattr(n, name).shape) for n in nodes}) == 1, name


@pytest.mark.parametrize("dtype", [mg.float32, mg.float64], ids=str)
@pytest.mark.parametrize("case", LAYERS, ids=case_id)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 4), st.integers(1, 20)), bias=st.booleans(),
       bidirectional=st.booleans(), given_state=st.booleans(), layout=st.sampled_from(["contiguous", "transposed", "expanded"]))
def test_one_node_is_all_steps(case, dtype, sizes, bias, bidirectional, given_state, layout):
    """Values and gradients of both orders, for all sizes and layouts."""
    steps, batch, features, hidden = sizes
    name, kwargs = case
    rng = np.random.default_rng(0)
    layer = getattr(nn, name)(features, hidden, bias=bias, bidirectional=bidirectional, dtype=dtype, **kwargs)
    with mg.no_grad():
        for p in layer.parameters():
            p.copy_(mg.tensor(rng.uniform(-1, 1, tuple(p.shape)) / hidden ** 0.5))
    x = mg.tensor(rng.standard_normal((batch, steps, features) if layout == "transposed" else (steps, batch, features)), dtype=dtype)
    x = x.transpose(0, 1) if layout == "transposed" else x[:1].expand(steps, batch, features) if layout == "expanded" else x
    x = x.detach().requires_grad_()
    count = 2 if bidirectional else 1
    states = [mg.tensor(rng.standard_normal((count, batch, hidden)), dtype=dtype, requires_grad=True) for _ in range(2 if name == "LSTM" else 1)]
    hx = None if not given_state else tuple(states) if name == "LSTM" else states[0]

    def everything():
        results = flat(layer(x, hx))
        loss = sum((r * mg.cos(mg.arange(r.numel(), dtype=dtype).reshape(r.shape))).sum() for r in results)
        inputs = [x, *layer.parameters(), *(states if given_state else [])]
        plain = mg.autograd.grad(loss, inputs, retain_graph=True)
        grads = mg.autograd.grad(loss, inputs, create_graph=True)
        second = mg.autograd.grad(sum((g * g).sum() for g in grads), inputs)
        return [t.detach().numpy() for t in (*results, *plain, *grads, *second)]
    ours = everything()
    with pytest.MonkeyPatch.context() as patch:
        by_steps(patch)
        expected = everything()
    for a, b in zip(ours, expected, strict=True):
        rtol = 1e-10 if dtype is mg.float64 else 1e-4
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1, np.abs(b).max()))


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_a_subset_of_gradients(case):
    """Each alone is what it is among all."""
    name, kwargs = case
    layer = fill(mg, getattr(nn, name)(3, 4, dtype=mg.float64, **kwargs))
    x = mg.randn(5, 2, 3, dtype=mg.float64, requires_grad=True)
    states = [mg.randn(1, 2, 4, dtype=mg.float64, requires_grad=True) for _ in range(2 if name == "LSTM" else 1)]
    inputs = [x, *layer.parameters(), *states]
    hx = tuple(states) if name == "LSTM" else states[0]
    expected = mg.autograd.grad(layer(x, hx)[0].sum(), inputs)
    for i, one in enumerate(inputs):
        for other in inputs:
            other.requires_grad_(other is one)
        g, = mg.autograd.grad(layer(x, hx)[0].sum(), [one])
        np.testing.assert_allclose(g.numpy(), expected[i].numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("which", ["output", "state"])
@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_gradients_of_one_result(case, which, torch):
    """Only the outputs, or only the last state, has a gradient."""
    found = []
    for m in (mg, torch):
        layer = fill(m, getattr(m.nn, case[0])(3, 4, dtype=m.float64, **case[1]))
        z, state = layer(m.tensor(np.sin(np.arange(30.0)).reshape(5, 2, 3)))
        (z if which == "output" else flat(state)[-1]).pow(3).sum().backward()
        found.append([p.grad.numpy() for p in layer.parameters()])
    compare(*found)


def test_gradients_of_the_two_biases_are_two_tensors():
    layer = nn.LSTM(3, 4)
    layer(mg.ones(5, 2, 3))[0].sum().backward()
    assert layer.bias_ih_l0.grad.equal(layer.bias_hh_l0.grad)
    layer.bias_ih_l0.grad.zero_()
    assert layer.bias_hh_l0.grad.abs().sum() > 0


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_a_weight_that_was_written_to(case):
    """The node has saved the weights, the input and the outputs."""
    layer = getattr(nn, case[0])(3, 4, **case[1])
    x = mg.ones(5, 2, 3)
    for write in (lambda z: layer.weight_hh_l0.add_(1), lambda z: layer.weight_ih_l0.mul_(2), lambda z: x.add_(1), lambda z: z.detach().add_(1)):
        z, _ = layer(x)
        with mg.no_grad():
            write(z)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_a_second_backward(case):
    z, _ = getattr(nn, case[0])(3, 4, **case[1])(mg.ones(5, 2, 3))
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.sum().backward()


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_saved_tensors_hooks_and_checkpoint(case):
    layer, x = fill(mg, getattr(nn, case[0])(3, 4, **case[1])), mg.randn(5, 2, 3)

    def grads(run):
        layer.zero_grad()
        run().pow(2).sum().backward()
        return [p.grad.clone() for p in layer.parameters()]
    expected = grads(lambda: layer(x)[0])
    packed = []

    def pack(t):
        packed.append(t.detach().clone())
        return len(packed) - 1
    with mg.autograd.graph.saved_tensors_hooks(pack, lambda i: packed[i]):
        found = grads(lambda: layer(x)[0])
    assert packed and all(a.equal(b) for a, b in zip(found, expected))
    found = grads(lambda: mg.utils.checkpoint.checkpoint(lambda x: layer(x)[0], x, use_reentrant=False))
    assert all(a.equal(b) for a, b in zip(found, expected))


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_functional_transforms(case):
    """grad, jvp, vmap and hessian of a layer: the same as by steps."""
    layer = fill(mg, getattr(nn, case[0])(2, 3, dtype=mg.float64, **case[1]))
    xs = mg.tensor(np.sin(np.arange(24.0)).reshape(2, 3, 2, 2))

    def loss(x):
        return layer(x)[0].pow(2).sum()

    def everything():
        return [mg.func.vmap(mg.func.grad(loss))(xs), mg.func.hessian(loss)(xs[0]), mg.func.jvp(lambda x: layer(x)[0], (xs[0],), (xs[1],))[1],
                mg.func.jvp(mg.func.grad(loss), (xs[0],), (xs[1],))[1], mg.func.jacfwd(loss)(xs[0])]
    ours = everything()
    with pytest.MonkeyPatch.context() as patch:
        by_steps(patch)
        expected = everything()
    for a, b in zip(ours, expected):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_digits_of_a_long_sequence(case):
    """500 steps in float32: no less accurate than by steps, against float64."""
    x = np.random.default_rng(0).standard_normal((500, 3, 8))
    layers = [getattr(nn, case[0])(8, 20, dtype=dtype, **case[1]) for dtype in (mg.float32, mg.float64)]
    with mg.no_grad():
        for single, double in zip(*[layer.parameters() for layer in layers]):
            single.copy_(mg.tensor(np.cos(np.arange(single.numel()) * 1.3).reshape(tuple(single.shape)) / 4))
            double.copy_(single)

    def grads(layer):
        layer.zero_grad()
        z, _ = layer(mg.tensor(x.astype(np.float32), dtype=layer.weight_ih_l0.dtype))
        z.pow(2).mean().backward()
        return [t.detach().numpy().astype(np.float64) for t in (z, *[p.grad for p in layer.parameters()])]
    exact, found = grads(layers[1]), grads(layers[0])
    with pytest.MonkeyPatch.context() as patch:
        by_steps(patch)
        other = grads(layers[0])
    for a, b, c in zip(exact, found, other):
        scale = np.abs(a).max()
        assert np.abs(b - a).max() < 4 * np.abs(c - a).max() + 2e-6 * scale


@pytest.mark.parametrize("case", LAYERS, ids=case_id)
def test_infinities_and_nans(case):
    """A sequence with an infinite or undefined element is not finite, and the others in its batch are as without it."""
    layer = fill(mg, getattr(nn, case[0])(3, 4, **case[1]))
    x = mg.randn(5, 3, 3)
    clean = layer(x)[0]
    for odd in (float("inf"), float("nan"), -1e30):
        x[1, 0, 0] = odd
        z = layer(x)[0]
        assert z[:, 1:].equal(clean[:, 1:]) and z[0].equal(clean[0])
        assert z[1, 0].isnan().any() == (odd != odd)


def test_no_batch_and_one_row_are_the_same():
    layer = fill(mg, nn.LSTM(3, 4, bidirectional=True))
    x = mg.randn(5, 3)
    (z, (h, c)), (zs, (hs, cs)) = layer(x), layer(x.unsqueeze(1))
    assert z.equal(zs.squeeze(1)) and h.equal(hs.squeeze(1)) and c.equal(cs.squeeze(1))


def test_a_batch_of_nothing():
    output, (h, c) = nn.LSTM(3, 4)(mg.ones(2, 0, 3))
    assert output.shape == (2, 0, 4) and h.shape == c.shape == (1, 0, 4)


def test_output_is_contiguous():
    assert nn.GRU(3, 4)(mg.ones(5, 2, 3))[0].is_contiguous()


def test_dropout_between_layers():
    """Between layers, in training, and not behind the last."""
    layer = nn.RNN(3, 50, num_layers=2, dropout=1.0, nonlinearity="relu")
    x = mg.randn(4, 2, 3)
    assert not layer(x)[1][0].equal(mg.zeros(2, 50))
    seen = layer(x)[0]
    without_input = seen[1] - seen[0]      # the second layer sees zeros: its steps depend on its biases alone
    assert layer(mg.randn(4, 2, 3))[0].equal(seen) and without_input.abs().sum() > 0
    assert not layer.eval()(x)[0].equal(seen)


def test_dropout_on_one_layer_warns(torch):
    for m in (mg, torch):
        with pytest.warns(UserWarning, match=r"non-zero dropout expects num_layers greater than 1, but got dropout=0.5 and num_layers=1"):
            m.nn.LSTM(3, 4, dropout=0.5)


def test_parameters_begin_uniform():
    for module in (nn.LSTM(3, 100), nn.GRUCell(3, 100)):
        for p in module.parameters():
            assert 0.09 < p.detach().abs().max().item() <= 0.1


def test_all_weights(torch):
    options = {"num_layers": 2, "bidirectional": True}
    ours, theirs = [m.nn.GRU(2, 3, **options) for m in (mg, torch)]
    assert [[tuple(w.shape) for w in part] for part in ours.all_weights] == [[tuple(w.shape) for w in part] for part in theirs.all_weights]
    assert ours.all_weights[1][0] is ours.weight_ih_l0_reverse and ours.flatten_parameters() is None


def test_state_is_carried_over():
    """Two halves with the state between them are the whole, and gradients flow through the state."""
    layer, x = nn.LSTM(3, 4), mg.randn(6, 2, 3, requires_grad=True)
    first, state = layer(x[:3])
    second, _ = layer(x[3:], state)
    whole, _ = layer(x)
    np.testing.assert_allclose(mg.cat([first, second]).detach().numpy(), whole.detach().numpy(), rtol=1e-5, atol=1e-6)
    second.sum().backward()
    assert (x.grad[:3] != 0).any()


def test_learns_to_remember():
    """The sign of the first number of a sequence, ten steps later."""
    mg.manual_seed(0)
    x = mg.randn(10, 64, 1)
    target = (x[0] > 0).float()
    layer, last = nn.LSTM(1, 8), nn.Linear(8, 1)
    optimizer = mg.optim.Adam([*layer.parameters(), *last.parameters()], lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(last(layer(x)[0][-1]), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


SIGNATURES = {"RNN": ["num_layers", "nonlinearity", "bias"], "LSTM": ["num_layers", "bias"], "GRU": ["num_layers", "bias"]}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_is_what_torch_reads(name, torch):
    """PyTorch says (*args, **kwargs), and reads them so: the same values in the same places make the same layer."""
    names = list(inspect.signature(getattr(nn, name)).parameters)
    assert names == ["input_size", "hidden_size", *SIGNATURES[name], "batch_first", "dropout", "bidirectional", "proj_size", "device",
                     "dtype"]
    values = [2, 3, 2, *(["relu"] if name == "RNN" else []), False, True, 0.5, True]
    assert repr(getattr(nn, name)(*values)) == repr(getattr(torch.nn, name)(*values))


# Arguments that make no sense -> (call, exception class, words of it)
MISTAKES = [
    (lambda m: m.nn.LSTM(3, 4, dropout=2), ValueError, "dropout should be a number in range [0, 1]"),
    (lambda m: m.nn.LSTM(3, 4, dropout=True), ValueError, "dropout should be a number in range [0, 1]"),
    (lambda m: m.nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    (lambda m: m.nn.LSTM(3, 4.0), TypeError, "hidden_size should be of type int, got: float"),
    (lambda m: m.nn.LSTM(3, 4, 0), ValueError, "num_layers must be greater than zero"),
    (lambda m: m.nn.LSTM(-3, 4), ValueError, "input_size must be greater than zero"),
    (lambda m: m.nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than hidden_size"),
    (lambda m: m.nn.LSTM(3, 4, proj_size=-1), ValueError, "proj_size should be a positive integer or zero"),
    (lambda m: m.nn.GRU(3, 4, proj_size=2), ValueError, "proj_size argument is only supported for LSTM, not RNN or GRU"),
    (lambda m: m.nn.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'. Select from 'tanh' or 'relu'."),
    (lambda m: m.nn.RNNBase("x", 3, 4), ValueError, "Unrecognized RNN mode: x"),
    (lambda m: m.nn.LSTM(3, 4)(m.ones(2, 3, 4, 3)), ValueError, "LSTM: Expected input to be 2D or 3D, got 4D"),
    (lambda m: m.nn.LSTM(3, 4)(m.ones(2, 3, 5)), RuntimeError, "input.size(-1) must be equal to input_size. Expected 3, got 5"),
    (lambda m: m.nn.LSTM(3, 4)(m.ones(0, 3, 3)), RuntimeError, "Expected sequence length to be larger than 0 in RNN"),
    (lambda m: m.nn.LSTM(3, 4)(m.ones(2, 3, 3), (m.ones(1, 3, 4), m.ones(1, 2, 4))), RuntimeError,
     "Expected hidden[1] size (1, 3, 4), got [1, 2, 4]"),
    (lambda m: m.nn.LSTM(3, 4)(m.ones(2, 3, 3), (m.ones(3, 4), m.ones(1, 3, 4))), RuntimeError,
     "For batched 3-D input, hx and cx should also be 3-D but got (2-D, 3-D) tensors"),
    (lambda m: m.nn.GRU(3, 4)(m.ones(2, 3), m.ones(1, 3, 4)), RuntimeError,
     "For unbatched 2-D input, hx should also be 2-D but got 3-D tensor"),
    (lambda m: m.nn.GRU(3, 4)(m.ones(2, 3, 3), m.ones(2, 3, 4)), RuntimeError, "Expected hidden size (1, 3, 4), got [2, 3, 4]"),
    (lambda m: m.nn.GRU(3, 4)(m.ones(2, 3, 3, dtype=m.float64)), ValueError, "does not match weight dtype"),
    (lambda m: m.nn.RNNCell(3, 4)(m.ones(2, 2, 3)), ValueError, "RNNCell: Expected input to be 1D or 2D, got 3D instead"),
    (lambda m: m.nn.RNNCell(3, 4)(m.ones(2, 4)), RuntimeError, "input has inconsistent input_size: got 4 expected 3"),
    (lambda m: m.nn.RNNCell(3, 4)(m.ones(2, 3), m.ones(2, 5)), RuntimeError, "hidden0 has inconsistent hidden_size: got 5, expected 4"),
    (lambda m: m.nn.RNNCell(3, 4)(m.ones(2, 3), m.ones(3, 4)), RuntimeError, "Input batch size 2 doesn't match hidden0 batch size 3"),
    (lambda m: m.nn.RNNCell(3, 4)(m.ones(3), m.ones(1, 1, 4)), ValueError, "RNNCell: Expected hidden to be 1D or 2D, got 3D"),
    (lambda m: m.nn.RNNCell(3, 4, nonlinearity="x")(m.ones(2, 3)), RuntimeError, "Unknown nonlinearity: x"),
    (lambda m: m.nn.LSTMCell(3, 4)(m.ones(2, 3), (m.ones(2, 4), m.ones(3, 4))), RuntimeError,
     "Input batch size 2 doesn't match hidden1 batch size 3"),
    (lambda m: m.nn.LSTMCell(3, 4)(m.ones(2, 3), (m.ones(2, 4),)), RuntimeError, "lstm_cell expects two hidden states"),
    (lambda m: m.nn.LSTMCell(3, 4)(m.ones(2, 3), (m.ones(1, 2, 4), m.ones(4))), ValueError,
     "LSTMCell: Expected hx[0] to be 1D or 2D, got 3D instead"),
    (lambda m: m.nn.GRUCell(3, 4)(m.ones(2, 3), m.ones(1, 2, 5)), ValueError, "GRUCell: Expected hidden to be 1D or 2D, got 3D"),
    (lambda m: m.nn.utils.rnn.pad_sequence([]), RuntimeError, "received an empty list of sequences"),
    (lambda m: m.nn.utils.rnn.pad_sequence(3), RuntimeError, "Expected iterable for input sequences"),
    (lambda m: m.nn.utils.rnn.pad_sequence([m.ones(2), m.ones(3, 1)]), RuntimeError, "doesn't match the"),
    (lambda m: m.nn.utils.rnn.pad_sequence([m.ones(2)], padding_side="x"), RuntimeError,
     "Expected padding_side to be one of left or right, but got x."),
]


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(mg)


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes_are_torchs(call, error, words, torch):
    with pytest.raises(error, match=re.escape(words)):
        call(torch)


@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"padding_value": 7.0}, {"padding_side": "left", "batch_first": True}], ids=str)
def test_pad_sequence_is_torchs(options, torch):
    outcomes = []
    for m in (mg, torch):
        xs = [m.tensor(np.arange(n * 2.0).reshape(n, 2), requires_grad=True) for n in (3, 1, 0, 4)]
        z = m.nn.utils.rnn.pad_sequence(xs, **options)
        (z * z).sum().backward()
        outcomes.append([z.detach().numpy(), *[x.grad.numpy() for x in xs]])
    compare(*outcomes)


def test_unpad_sequence_is_the_way_back():
    xs = [mg.randn(n, 2) for n in (3, 1, 4)]
    for batch_first in (False, True):
        padded = nn.utils.rnn.pad_sequence(xs, batch_first)
        assert all(a.equal(b) for a, b in zip(nn.utils.rnn.unpad_sequence(padded, mg.tensor([3, 1, 4]), batch_first), xs, strict=True))
