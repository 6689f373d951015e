"""Attention with several heads and the layers of the transformer: PyTorch's values, gradients and second gradients."""

import copy
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F


def fill(m, layer):
    """Known numbers as parameters, the same in both libraries."""
    with m.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(m.tensor(np.cos(np.arange(p.numel()) * 1.7 + i).reshape(tuple(p.shape)) * 0.5))
    return layer


def flat(m, results):
    return [t for t in (results if isinstance(results, tuple) else (results,)) if isinstance(t, m.Tensor)]


def outcome(m, layer, arrays, options, second=True):
    """Results, gradients of everything, and gradients of the sum of their squares."""
    inputs = [m.tensor(a, requires_grad=True) for a in arrays]
    options = {name: m.tensor(value) if isinstance(value, np.ndarray) else value for name, value in options.items()}
    results = flat(m, layer(*inputs, **options))
    total = sum((r * m.tensor(np.sin(np.arange(r.numel()) + 1.0).reshape(tuple(r.shape)))).sum() for r in results)
    inputs += list(layer.parameters())
    grads = m.autograd.grad(total, inputs, create_graph=second)
    if second:
        grads += m.autograd.grad(sum((g * g).sum() for g in grads), inputs, materialize_grads=True)
    return [t.detach().numpy() for t in (*results, *grads)]


def compare(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)


@pytest.fixture
def torch(torch):
    """With the attention of PyTorch that has a second derivative."""
    from torch.nn.attention import SDPBackend, sdpa_kernel  # pyright: ignore[reportMissingImports]
    with sdpa_kernel(SDPBackend.MATH):
        yield torch


RNG = np.random.default_rng(8)
L, S, N, E = 3, 4, 2, 6
FORBIDDEN = np.triu(np.ones((L, S), bool), 2)
PER_HEAD = RNG.random((N * 2, L, S)) > 0.7
PER_HEAD[..., 0] = False
IGNORED = np.array([[False, True, False, False], [False, False, True, True]])
# name, arguments of the layer, options of the call
ATTENTION = [
    ("plain", {}, {}), ("without bias", {"bias": False}, {}), ("three heads", {"num_heads": 3}, {}),
    ("other features", {"kdim": 5, "vdim": 7}, {}), ("other features without bias", {"kdim": 5, "bias": False}, {}),
    ("bias_kv", {"add_bias_kv": True}, {}), ("zero_attn", {"add_zero_attn": True}, {}),
    ("both, masked", {"add_bias_kv": True, "add_zero_attn": True}, {"attn_mask": FORBIDDEN, "key_padding_mask": IGNORED}),
    ("mask", {}, {"attn_mask": FORBIDDEN}), ("mask of numbers", {}, {"attn_mask": RNG.standard_normal((L, S))}),
    ("mask per head", {}, {"attn_mask": PER_HEAD}), ("padding", {}, {"key_padding_mask": IGNORED}),
    ("padding of numbers", {}, {"key_padding_mask": RNG.standard_normal((N, S)), "attn_mask": RNG.standard_normal((N * 2, L, S))}),
    ("padding and mask", {}, {"attn_mask": PER_HEAD & FORBIDDEN, "key_padding_mask": IGNORED}),
    ("weights of each head", {"num_heads": 3}, {"average_attn_weights": False}),
    ("dropout in evaluation", {"dropout": 0.5}, {}),
]


@pytest.mark.parametrize("need_weights", [True, False], ids=["weights", "no weights"])
@pytest.mark.parametrize("batch", ["first", "second", "none"])
@pytest.mark.parametrize("case", ATTENTION, ids=lambda c: c[0])
def test_attention_is_torchs(case, batch, need_weights, torch):
    name, kwargs, options = case
    kwargs, options = {"num_heads": 2, **kwargs}, {"need_weights": need_weights, **options}
    if batch == "none":
        options = {k: v[0] if k == "key_padding_mask" else v[:2] if k == "attn_mask" and v.ndim == 3 else v for k, v in options.items()}
    layers = [fill(m, m.nn.MultiheadAttention(E, batch_first=batch == "first", dtype=m.float64, **kwargs)) for m in (mg, torch)]
    assert repr(layers[0]) == repr(layers[1])
    assert [(n, tuple(p.shape)) for n, p in layers[0].state_dict().items()] == [(n, tuple(p.shape)) for n, p in layers[1].state_dict().items()]
    if name == "dropout in evaluation":
        layers = [layer.eval() for layer in layers]
    rng = np.random.default_rng(2)
    shapes = [(size, N, features) for size, features in ((L, E), (S, kwargs.get("kdim", E)), (S, kwargs.get("vdim", E)))]
    arrays = [rng.standard_normal({"first": (b, a, c), "second": (a, b, c), "none": (a, c)}[batch]) for a, b, c in shapes]
    compare(*[outcome(m, layer, arrays, options) for m, layer in zip((mg, torch), layers)])


@pytest.mark.parametrize("same", ["all", "key and value"])
@pytest.mark.parametrize("shape", [(L, N, E), (L, E)], ids=str)
def test_one_tensor_as_several_inputs(same, shape, torch):
    """One product of matrices then; and the gradient of the tensor is the sum."""
    arrays = np.random.default_rng(2).standard_normal((2, *shape))
    outcomes = []
    for m in (mg, torch):
        for batch_first in (False, True):
            layer = fill(m, m.nn.MultiheadAttention(E, 2, batch_first=batch_first, dtype=m.float64))
            def function(x, y, layer=layer):
                return layer(x, x, x)[0] + y if same == "all" else layer(x, y, y)[0]
            function.parameters = layer.parameters      # pyright: ignore[reportFunctionMemberAccess]
            outcomes.append(outcome(m, function, arrays, {}))
    compare(outcomes[0], outcomes[2])
    compare(outcomes[1], outcomes[3])


def test_self_attention_is_one_projection():
    """Query, key and value that are one tensor are projected by one product: fewer nodes than three projections have."""
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), mg.randn(2, 3, 8)

    def nodes(*inputs):
        found, todo = set(), [layer(*inputs, need_weights=False)[0].grad_fn]
        while todo:
            node = todo.pop()
            if node is not None and node not in found:
                found.add(node)
                todo += [n for n, _ in node.next_functions]
        return len(found)
    assert nodes(x, x, x) < nodes(x, x.clone(), x.clone())


def test_causal_hint(torch):
    """With the weights the mask is used, without them the hint alone."""
    x = np.random.default_rng(0).standard_normal((L, N, E))
    causal = np.triu(np.ones((L, L), bool), 1)
    outcomes = []
    for m in (mg, torch):
        layer = fill(m, m.nn.MultiheadAttention(E, 2, dtype=m.float64))
        for need_weights in (True, False):
            outcomes.append(outcome(m, layer, [x, x, x], {"attn_mask": causal, "is_causal": True, "need_weights": need_weights}))
    compare(outcomes[0], outcomes[2])
    compare(outcomes[1], outcomes[3])
    for a, b in zip(outcomes[0][:1], outcomes[1][:1]):
        np.testing.assert_allclose(a, b)


def test_masks_of_two_types_warn(torch):
    for m in (mg, torch):
        layer, x = m.nn.MultiheadAttention(4, 2), m.ones(2, 3, 4)
        with pytest.warns(UserWarning, match="Support for mismatched key_padding_mask and attn_mask is deprecated"):
            layer(x, x, x, key_padding_mask=m.ones(3, 2, dtype=m.bool), attn_mask=m.zeros(2, 2))


@settings(max_examples=40, deadline=None)
@given(sizes=st.tuples(*[st.integers(1, 4)] * 5), bias=st.booleans(), more=st.booleans(), zero=st.booleans(), batch_first=st.booleans(),
       need_weights=st.booleans(), seed=st.integers(0, 99))
def test_any_size_is_torchs(sizes, bias, more, zero, batch_first, need_weights, seed):
    """With masks that forbid at random, but never the first key."""
    torch = pytest.importorskip("torch")
    length, source, batch, heads, size = sizes
    rng = np.random.default_rng(seed)
    mask, ignored = rng.random((length, source)) > 0.6, rng.random((batch, source)) > 0.6
    mask[:, 0] = ignored[:, 0] = False
    arrays = [rng.standard_normal((batch, n, heads * size) if batch_first else (n, batch, heads * size)) for n in (length, source, source)]
    options = {"attn_mask": mask, "key_padding_mask": ignored, "need_weights": need_weights}
    layers = [fill(m, m.nn.MultiheadAttention(heads * size, heads, bias=bias, add_bias_kv=more, add_zero_attn=zero, batch_first=batch_first,
                                              dtype=m.float64)) for m in (mg, torch)]
    compare(*[outcome(m, layer, arrays, options, second=False) for m, layer in zip((mg, torch), layers)])


def test_a_mask_that_is_learnt(torch):
    outcomes = []
    for m in (mg, torch):
        layer = fill(m, m.nn.MultiheadAttention(4, 2, dtype=m.float64))
        x = m.tensor(np.arange(24.0).reshape(2, 3, 4) % 5)
        mask = m.zeros(2, 2, dtype=m.float64, requires_grad=True)
        (layer(x, x, x, attn_mask=mask)[0] ** 2).sum().backward()
        outcomes.append([mask.grad.numpy()])
    compare(*outcomes)


@pytest.mark.parametrize("static", ["static_k", "static_v"])
def test_static_keys_and_values(static, torch):
    outcomes = []
    for m in (mg, torch):
        rng = np.random.default_rng(5)
        x, w, o, s = [m.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((3, 2, 4), (12, 4), (4, 4), (4, 3, 2))]
        z, weights = m.nn.functional.multi_head_attention_forward(x, x, x, 4, 2, w, None, None, None, True, 0.0, o, None, **{static: s})
        (z ** 2).sum().backward()
        outcomes.append([z.detach().numpy(), weights.detach().numpy(), *[t.grad.numpy() for t in (x, w, o, s)]])
    compare(*outcomes)


def test_parameters_begin_as_torchs(torch):
    """In their spread: Glorot for the projections, 0 for the biases."""
    for kwargs in ({}, {"kdim": 50, "vdim": 70, "add_bias_kv": True}):
        mg.manual_seed(0)
        torch.manual_seed(0)
        ours, theirs = [m.nn.MultiheadAttention(64, 4, **kwargs).state_dict() for m in (mg, torch)]
        for name in ours:
            assert abs(ours[name].std().item() - theirs[name].std().item()) < 0.03, name
    assert not ours["in_proj_bias"].any() and not ours["out_proj.bias"].any()


def test_derivatives_of_both_orders():
    layer = fill(mg, nn.MultiheadAttention(4, 2, dtype=mg.float64))
    q, k = [mg.tensor(np.random.default_rng(i).standard_normal((n, 1, 4)), requires_grad=True) for i, n in ((1, 2), (2, 3))]

    def function(q, k):
        return layer(q, k, k)
    assert mg.autograd.gradcheck(function, (q, k), check_forward_ad=True) and mg.autograd.gradgradcheck(function, (q, k))


# ---- layers and stacks -------------------------------------------------------------------------------------

SIZES = {"d_model": 6, "nhead": 2, "dim_feedforward": 5, "dropout": 0.0}
LAYERS = [{}, {"norm_first": True}, {"activation": "gelu", "batch_first": True}, {"bias": False, "layer_norm_eps": 0.1},
          {"activation": "tanh"}]


def made(m, kwargs):
    """Options with the functions of one library."""
    kwargs = {**SIZES, **kwargs, "dtype": m.float64}
    return {**kwargs, "activation": m.nn.Tanh()} if kwargs.get("activation") == "tanh" else kwargs


def same_layer(ours, theirs):
    assert repr(ours) == repr(theirs)
    assert [(n, tuple(p.shape)) for n, p in ours.state_dict().items()] == [(n, tuple(p.shape)) for n, p in theirs.state_dict().items()]


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
@pytest.mark.parametrize("kwargs", LAYERS, ids=str)
def test_encoder_layer_is_torchs(kwargs, masked, torch):
    layers = [fill(m, m.nn.TransformerEncoderLayer(**made(m, kwargs))) for m in (mg, torch)]
    same_layer(*layers)
    x = np.random.default_rng(3).standard_normal((N, S, E) if kwargs.get("batch_first") else (S, N, E))
    options = {"src_mask": np.triu(np.ones((S, S), bool), 1), "src_key_padding_mask": IGNORED} if masked else {}
    compare(*[outcome(m, layer, [x], options) for m, layer in zip((mg, torch), layers)])


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
@pytest.mark.parametrize("kwargs", LAYERS, ids=str)
def test_decoder_layer_is_torchs(kwargs, masked, torch):
    layers = [fill(m, m.nn.TransformerDecoderLayer(**made(m, kwargs))) for m in (mg, torch)]
    same_layer(*layers)
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal((N, n, E) if kwargs.get("batch_first") else (n, N, E)) for n in (L, S)]
    options = {"tgt_mask": np.triu(np.ones((L, L), bool), 1), "tgt_is_causal": True, "memory_key_padding_mask": IGNORED,
               "memory_mask": FORBIDDEN} if masked else {}
    compare(*[outcome(m, layer, arrays, options) for m, layer in zip((mg, torch), layers)])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", [False, True])
def test_stacks_are_torchs(norm, torch):
    rng = np.random.default_rng(3)
    src, tgt = rng.standard_normal((S, N, E)), rng.standard_normal((L, N, E))
    pairs = []
    for kind, arrays in (("Encoder", [src]), ("Decoder", [tgt, src])):
        for m in (mg, torch):
            layer = getattr(m.nn, f"Transformer{kind}Layer")(**made(m, {}))
            last = m.nn.LayerNorm(E, dtype=m.float64) if norm else None
            stack = getattr(m.nn, f"Transformer{kind}")(layer, 3, last)
            assert all(p is not q and p.tolist() == q.tolist() for p, q in zip(stack.layers[0].parameters(), stack.layers[2].parameters()))
            mask = {"mask" if kind == "Encoder" else "tgt_mask": m.nn.Transformer.generate_square_subsequent_mask(len(arrays[0])).double()}
            pairs.append((fill(m, stack), outcome(m, stack, arrays, mask, second=False)))
    for (ours, a), (theirs, b) in zip(pairs[::2], pairs[1::2]):
        same_layer(ours, theirs)
        compare(a, b)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_is_torchs(batch_first, torch):
    rng = np.random.default_rng(3)
    src, tgt = [rng.standard_normal((N, n, E) if batch_first else (n, N, E)) for n in (S, L)]
    models = [fill(m, m.nn.Transformer(num_encoder_layers=1, num_decoder_layers=2, batch_first=batch_first, **made(m, {}))) for m in (mg, torch)]
    same_layer(*models)
    options = {"tgt_mask": np.triu(np.full((L, L), -np.inf), 1), "src_key_padding_mask": IGNORED, "memory_key_padding_mask": IGNORED}
    compare(*[outcome(m, model, [src, tgt], options, second=False) for m, model in zip((mg, torch), models)])
    assert repr(mg.nn.Transformer.generate_square_subsequent_mask(3)) == repr(torch.nn.Transformer.generate_square_subsequent_mask(3))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_custom_parts(torch):
    """Encoders, decoders and layers of a program get keyword arguments with PyTorch's names."""
    outcomes = []
    for m in (mg, torch):
        seen = []

        class Part(m.nn.Module):
            record = seen

            def __init__(self, name, m=m):
                super().__init__()
                self.name = name
                self.self_attn = m.nn.MultiheadAttention(4, 2)      # PyTorch looks at it

            def forward(self, x, *args, **kwargs):
                self.record.append((self.name, len(args), sorted(kwargs)))
                return x
        x, y = m.ones(2, 1, 4), m.zeros(3, 1, 4)
        assert m.nn.Transformer(4, 2, custom_encoder=Part("encoder"), custom_decoder=Part("decoder"))(x, y).equal(y)
        m.nn.TransformerDecoder(Part("decoder layer"), 1)(x, y)
        if m is mg:
            m.nn.TransformerEncoder(Part("encoder layer"), 1)(x)
        outcomes.append(seen)
    assert outcomes[0][-1] == ("encoder layer", 0, ["is_causal", "src_key_padding_mask", "src_mask"])
    assert outcomes[0][:-1] == outcomes[1]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_causal_masks_are_recognised(torch):
    """The hint that a stack gives its layers is PyTorch's: found out from the mask, unless it is said."""
    outcomes = []
    for m in (mg, torch):
        class Part(m.nn.TransformerEncoderLayer):
            record = []

            def forward(self, *args, is_causal, record=record, **kwargs):
                record.append(is_causal)
                return args[0]
        causal = m.nn.Transformer.generate_square_subsequent_mask(3)
        stack, x = m.nn.TransformerEncoder(Part(4, 2, 8), 1), m.ones(3, 1, 4)
        for mask, hint in ((None, None), (causal, None), (causal, False), (causal * 0, None), (causal, True), (causal == causal[0, 1], None),
                           (causal + 1, None), (None, False)):
            stack(x, mask=mask, is_causal=hint)
        outcomes.append(Part.record)
    assert outcomes[0] == outcomes[1] == [False, True, False, False, True, True, False, False]
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    learnt = nn.Transformer.generate_square_subsequent_mask(3).requires_grad_()
    nn.TransformerEncoder(layer, 1)(mg.randn(3, 1, 4), mask=learnt).pow(2).sum().backward()
    assert learnt.grad is not None


def test_training_drops_and_copies_are_apart():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5)
    x = mg.randn(3, 2, 8)
    assert not layer(x).equal(layer(x)) and layer.eval()(x).equal(layer(x))
    other = copy.deepcopy(layer)
    with mg.no_grad():
        other.linear1.weight.zero_()
    assert layer.linear1.weight.any()


# Arguments that make no sense -> (call, exception class, words of it)
def attend(m, q, k=None, v=None, kwargs=None, **options):
    q, k, v = [m.ones(*shape) for shape in (q, k or q, v or k or q)]
    return m.nn.MultiheadAttention(4, 2, **(kwargs or {}))(q, k, v, **options)


MISTAKES = [
    (lambda m: m.nn.MultiheadAttention(5, 2), AssertionError, "embed_dim must be divisible by num_heads"),
    (lambda m: m.nn.MultiheadAttention(0, 2), ValueError, "embed_dim and num_heads must be greater than 0, got embed_dim=0 and num_heads=2"),
    (lambda m: attend(m, (2, 2, 2, 4)), AssertionError, "query should be unbatched 2D or batched 3D tensor but received 4-D query tensor"),
    (lambda m: attend(m, (2, 4), (2, 3, 4)), AssertionError, "For unbatched (2-D) `query`, expected `key` and `value` to be 2-D but found 3-D"),
    (lambda m: attend(m, (2, 3, 4), (2, 4)), AssertionError, "For batched (3-D) `query`, expected `key` and `value` to be 3-D but found 2-D"),
    (lambda m: attend(m, (2, 3, 4), key_padding_mask=m.ones(2)), AssertionError, "expected `key_padding_mask` to be `None` or 2-D but found 1-D"),
    (lambda m: attend(m, (2, 3, 4), key_padding_mask=m.ones(3, 3)), AssertionError, "Expected key_padded_mask.shape[1] to be 2, but got 3"),
    (lambda m: attend(m, (2, 3, 4), key_padding_mask=m.ones(3, 2, dtype=m.int64)), AssertionError,
     "only bool and floating types of key_padding_mask are supported"),
    (lambda m: attend(m, (2, 3, 4), attn_mask=m.ones(2, 3)), RuntimeError, "but should be (2, 2)."),
    (lambda m: attend(m, (2, 3, 4), attn_mask=m.ones(2, 2, 2)), RuntimeError, "but should be (6, 2, 2)."),
    (lambda m: attend(m, (2, 3, 4), attn_mask=m.ones(2)), AssertionError, "expected `attn_mask` to be `None`, 2-D or 3-D but found 1-D"),
    (lambda m: attend(m, (2, 3, 4), attn_mask=m.ones(2, 2, dtype=m.int64)), AssertionError, "only bool and floating types of attn_mask"),
    (lambda m: attend(m, (2, 3, 4), is_causal=True), RuntimeError, "Need attn_mask if specifying the is_causal hint."),
    (lambda m: attend(m, (2, 3, 4), (2, 3, 4), (3, 3, 4)), AssertionError, "does not match value shape"),
    (lambda m: attend(m, (2, 3, 5)), AssertionError, "was expecting embedding dimension of 4, but got 5"),
    (lambda m: attend(m, (2, 3, 4), (2, 3, 5)), RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
    (lambda m: attend(m, (2, 4), attn_mask=m.ones(1, 2, 2)), AssertionError, "Expected `attn_mask` shape to be (2, 2, 2)"),
    (lambda m: attend(m, (2, 3, 4), (2, 3, 3), (2, 4, 4), kwargs={"kdim": 3}), AssertionError, "key's sequence and batch dims"),
    (lambda m: m.nn.TransformerEncoderLayer(4, 2, 8, activation="x"), RuntimeError, "activation should be relu/gelu, not x"),
    (lambda m: m.nn.Transformer(4, 2, 1, 1, 8)(m.ones(2, 3, 4), m.ones(2, 2, 4)), RuntimeError, "the batch number of src and tgt must be equal"),
    (lambda m: m.nn.Transformer(4, 2, 1, 1, 8)(m.ones(2, 3, 4), m.ones(2, 3, 5)), RuntimeError,
     "the feature number of src and tgt must be equal to d_model"),
]


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(mg)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes_are_torchs(call, error, words, torch):
    with pytest.raises(error, match=re.escape(words)):
        call(torch)


def test_errors_of_parts_that_are_missing():
    """Errors that PyTorch words differently, or does not raise."""
    x = mg.ones(2, 1, 4)
    for weight, parts, words in ((None, {"use_separate_proj_weight": True}, "q_proj_weight is None"), (None, {}, "in_proj_weight is None"),
                                 (mg.ones(12, 4), {"static_k": mg.ones(3, 2, 2)}, r"expecting static_k.size\(0\) of 2, but got 3")):
        with pytest.raises(AssertionError, match=words):
            F.multi_head_attention_forward(x, x, x, 4, 2, weight, None, None, None, False, 0.0, mg.eye(4), None, **parts)
