"""Recurrent layers and cells: PyTorch's values, gradients and second gradients from the same parameters, and its complaints."""

import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
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
