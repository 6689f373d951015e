"""Packed sequences, and the recurrent layers over them: the same on both libraries."""

import importlib

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import same

X = "m.arange(12.).reshape(4, 3)"
R = "m.nn.utils.rnn"


@pytest.mark.parametrize("snippet", [
    f"{R}.pack_padded_sequence({X}.unsqueeze(-1), [4, 2, 1])", f"{R}.pack_padded_sequence({X}, [1, 4, 2], enforce_sorted=False)",
    f"{R}.pack_padded_sequence({X}, [1, 4, 2])", f"{R}.pack_padded_sequence({X}, [4, 2, 0])", f"{R}.pack_padded_sequence({X}, [4, 2])",
    f"{R}.pack_padded_sequence({X}, [])", f"{R}.pack_padded_sequence({X}, m.tensor([4, 2, 1]))", f"{R}.pack_padded_sequence(3, [1])",
    f"{R}.pack_padded_sequence({X}.t(), m.tensor([4, 2, 1]), batch_first=True)", f"{R}.pack_padded_sequence({X}, m.tensor([[1]]))",
    f"{R}.pack_padded_sequence({X}, [2, 2, 2], enforce_sorted=False)", f"{R}.pack_padded_sequence(m.tensor(3.), [1])",
    f"{R}.pack_sequence([m.ones(3), m.ones(2)])", f"{R}.pack_sequence([m.ones(1), m.ones(2)])",
    f"{R}.pack_sequence([m.ones(1, 2), m.ones(3, 2) * 2], enforce_sorted=False)",
    f"{R}.pad_packed_sequence({R}.pack_sequence([m.ones(3), m.ones(2)]), total_length=2)",
    f"{R}.pad_packed_sequence({R}.pack_sequence([m.ones(3), m.ones(2)]), total_length=5, padding_value=-1)",
    f"{R}.pad_packed_sequence({R}.pack_sequence([m.ones(1), m.ones(3) * 2, m.ones(2) * 3], enforce_sorted=False), batch_first=True)",
    f"{R}.unpack_sequence({R}.pack_sequence([m.ones(1), m.ones(2) * 2], enforce_sorted=False))",
    f"{R}.invert_permutation(m.tensor([2, 0, 1])), {R}.invert_permutation(None)",
    f"{R}.PackedSequence(m.ones(3), m.tensor([2, 1]))", f"{R}.PackedSequence(m.ones(3), m.tensor([2, 1]), m.tensor([1, 0])).unsorted_indices",
    f"{R}.PackedSequence((m.ones(3), m.tensor([2, 1])))",
    f"(p := {R}.pack_sequence([m.ones(3), m.ones(2)])).to(m.float64), p.double().data.dtype, p.half().data.dtype, p.long().data, p.is_cuda",
    f"(p := {R}.pack_sequence([m.ones(3), m.ones(2)])).to(m.float32) is p, p.cpu() is p, p.float() is p, p._fields",
    f"grad({R}.pad_packed_sequence({R}.pack_padded_sequence(x := m.ones(4, 3, requires_grad=True), [1, 4, 2], enforce_sorted=False))[0].sum(), x)",
    f"m.nn.GRU(2, 2)({R}.pack_padded_sequence({X}.unsqueeze(-1), [4, 2, 1]))",
    f"m.nn.GRU(1, 2)({R}.pack_padded_sequence({X}.unsqueeze(-1), [4, 2, 1]), m.zeros(1, 2, 2))",
])
def test_snippets(snippet):
    same(snippet)


@pytest.mark.differs(
    what="`pack_padded_sequence` with a length above the number of steps",
    there="It returns a packed sequence whose `batch_sizes` count more elements than it has. What reads it later fails.",
    here="It raises a RuntimeError with the length and the number of steps.")
def test_a_length_beyond_the_end():
    rnn = torch.nn.utils.rnn
    packed = rnn.pack_padded_sequence(torch.ones(4, 2), [5, 1])
    assert len(packed.data) == 5 and int(packed.batch_sizes.sum()) == 6
    with pytest.raises(RuntimeError):
        rnn.pad_packed_sequence(packed)
    with pytest.raises(RuntimeError, match="a length of 5 is larger than the number of steps, 4"):
        mg.nn.utils.rnn.pack_padded_sequence(mg.ones(4, 2), [5, 1])


def test_no_packed_sequence():
    """PyTorch raises an AttributeError from the inside."""
    with pytest.raises(TypeError, match="argument 'sequence' must be PackedSequence, not int"):
        mg.nn.utils.rnn.pad_packed_sequence(3)


def test_not_a_pair():
    for m in (mg, torch):
        with pytest.raises(AssertionError, match="Expected data to be a list or tuple of length 2"):
            importlib.import_module(f"{m.__name__}.nn.utils.rnn").PackedSequence(m.ones(3))


def outcome(m, kind, options, lengths, given):
    generator = np.random.default_rng(0)

    def draw(*shape):
        return m.tensor(generator.normal(size=shape), requires_grad=True)
    model = getattr(m.nn, kind)(3, 4, **options).double()
    with m.no_grad():
        for p in model.parameters():
            p.copy_(draw(*p.shape))
    x = draw(max(lengths), len(lengths), 3)
    rnn = importlib.import_module(f"{m.__name__}.nn.utils.rnn")
    packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    first = draw(count, len(lengths), options.get("proj_size", 4))
    hx = None if not given else (first, draw(count, len(lengths), 4)) if kind == "LSTM" else first
    z, h = model(packed, hx)
    states = list(h) if kind == "LSTM" else [h]
    padded, sizes = rnn.pad_packed_sequence(z)
    loss = (padded ** 2).sum() + sum((s ** 3).sum() for s in states)
    inputs = [x, *model.parameters(), *([] if hx is None else hx if kind == "LSTM" else [hx])]
    grads = m.autograd.grad(loss, inputs)
    return [t.detach().numpy() for t in (z.data, z.batch_sizes, z.sorted_indices, padded, sizes, *states, *grads)]


@pytest.mark.parametrize("lengths", [[2, 4, 1, 4], [3, 3], [1]])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("kind, options", [
    ("RNN", {}), ("RNN", {"nonlinearity": "relu", "bias": False}), ("GRU", {"bidirectional": True}), ("GRU", {"num_layers": 2, "bias": False}),
    ("LSTM", {}), ("LSTM", {"num_layers": 2, "bidirectional": True}), ("LSTM", {"proj_size": 2, "bidirectional": True}),
])
def test_recurrent_layers(kind, options, lengths, given):
    """Outputs, last states, and the gradients of inputs, states and parameters."""
    ours, theirs = (outcome(m, kind, options, lengths, given) for m in (mg, torch))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-8)
