"""Tensors on the device "meta": shapes, dtypes and strides as PyTorch's, gradients too, and PyTorch's errors for numbers."""

import copy
import pickle
import re
import warnings

import pytest

import minigrad as mg

torch = pytest.importorskip("torch")
LIBRARIES = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])


def plain(text):
    """The text of a result, with PyTorch's name instead of ours."""
    return re.sub(r"\b(minigrad|torch)\.", "", text)


def outcome(m, snippet):
    """What a snippet gives: tensors as text, with strides."""
    def show(z):
        if isinstance(z, (tuple, list)):
            return [show(each) for each in z]
        if isinstance(z, m.Tensor):
            return plain(repr(z.detach())), z.stride() if z.numel() else None, z.requires_grad
        return plain(repr(z))

    def empty(*shape, **options):
        return m.empty(*shape, device="meta", **options)
    with warnings.catch_warnings(action="ignore"):
        try:
            return show(eval(snippet, {"m": m, "nn": m.nn, "F": m.nn.functional, "e": empty, "grad": m.autograd.grad}))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:      # NotImplementedError is a RuntimeError
            assert len(str(error)) > 10
            return "raises"


CREATION = [
    "e(2, 3)", "m.zeros(2, 3, device='meta')", "m.ones(2, dtype=m.int64, device='meta')", "m.randn(2, 3, device='meta')", "m.rand(0, 3, device='meta')",
    "m.full((2,), 7, device='meta')", "m.arange(5, device='meta')", "m.linspace(0, 1, 5, device='meta')", "m.eye(3, device='meta')",
    "m.tensor([1., 2.], device='meta')", "m.zeros(2, 3).to('meta')", "m.zeros(2, 3).t().to('meta')", "e(2, 3).to('meta').device", "e(2).is_meta, m.ones(2).is_meta",
    "m.zeros_like(e(2, 3), dtype=m.int32)", "m.empty_like(e(2), device='cpu').device", "e(2, 3).new_zeros(4)", "m.device('meta')",
    "e(2, 3).type()", "e(2, 3).data_ptr()", "m.empty_strided((2, 3), (1, 2), device='meta')", "m.randperm(4, device='meta')", "m.randint(3, (2,), device='meta')",
    "m.empty(2, device=m.device('meta', 0))", "m.tril(e(3, 3)), m.triu(e(3, 3))", "m.normal(0., 1., (2, 3), device='meta')", "e(2, 3).uniform_(), e(3).normal_()",
]
PRINTING = [
    "repr(e(2, 3))", "repr(e(2, dtype=m.int64))", "repr(e(()))", "repr(e(2, requires_grad=True))", "repr(e(2, requires_grad=True) * 2)", "repr(nn.Parameter(e(2)))",
    "f'{e(())}'", "repr(nn.Linear(2, 3, device='meta'))", "repr(e(2, dtype=m.float64) > 0)", "repr(e(2).untyped_storage()), e(2, 3)[1].untyped_storage().nbytes()",
]
VIEWS = [
    "e(2, 3).t()", "e(2, 3, 4).permute(2, 0, 1)", "e(2, 3).view(6)", "e(2, 3).t().view(6)", "e(2, 3).t().reshape(6)", "e(2, 3)[0]", "e(2, 3)[:, 1:]", "e(4, 3)[::2]",
    "e(2, 3)[..., None]", "e(2, 1).expand(2, 5)", "e(2, 3).unsqueeze(1)", "e(2, 1).squeeze()", "e(2, 3).flatten()", "e(6).unflatten(0, (2, 3))", "e(4, 4).diagonal()",
    "e(2, 3).movedim(0, 1)", "e(6).split(2)", "e(7).chunk(3)", "e(2, 3).unbind()", "e(2, 3).narrow(1, 0, 2)", "e(5).unfold(0, 2, 1)", "e(2, 3).as_strided((2, 2), (1, 2))",
    "e(2, dtype=m.complex64).real, m.view_as_real(e(2, dtype=m.complex64))", "e(2, 3).contiguous(), e(2, 3).t().contiguous()", "e(2, 3).swapaxes(0, 1).clone()",
    "e(2, 3)[5]", "e(2, 3).view(5)", "e(2, 3).select(1, 1)", "e(2, 3).T, e(2, 3, 4).mT", "e(2, 3).ravel()", "e(2, 3).detach()",
]
OPS = [
    "e(2, 3) + e(3)", "e(2, 3) + e(4)", "e(2, 3) * 2", "e(2, dtype=m.int64) * 2.5", "e(2, dtype=m.int64) + e(2, dtype=m.float64)", "e(2, dtype=m.int64) / 2",
    "e(2, 3) > 0", "e(2, 3) == e(2, 3)", "-e(2, 3)", "e(2, 3).exp()", "e(2, 3).t() + e(3, 2)", "e(2, 3).t().exp()", "e(2) ** 2", "e(2, dtype=m.bool) & e(2, dtype=m.bool)",
    "m.where(e(2, 3) > 0, e(2, 3), e(3))", "e(2, 3).clamp(0, 1)", "e(2, 3) @ e(3, 4)", "e(2, 3) @ e(2, 4)", "e(3) @ e(3)", "e(5, 2, 3) @ e(3, 4)", "m.bmm(e(5, 2, 3), e(5, 3, 4))",
    "m.einsum('bij,bjk->bik', e(5, 2, 3), e(5, 3, 4))", "m.outer(e(2), e(3))", "e(2, 3).mv(e(3))", "m.addmm(e(4), e(2, 3), e(3, 4))", "m.dot(e(3), e(3))", "m.tensordot(e(2, 3), e(3, 4), 1)",
    "e(2, 3).sum()", "e(2, 3).sum(0)", "e(2, 3).sum(0, keepdim=True)", "e(2, 3).mean(1)", "e(2, dtype=m.int64).sum()", "e(2, dtype=m.bool).sum()", "e(2, 3).var(1), e(2, 3).std()",
    "e(2, 3).max()", "e(2, 3).max(1)", "e(2, 3).argmax(), e(2, 3).argmax(0)", "e(2, 3).amax(0), e(2, 3).amin((0, 1))", "e(2, 3).prod(0)", "e(2, 3).norm()", "e(2, 3).logsumexp(1)",
    "e(2, 3).any(), e(2, 3).all(1)", "e(2, 3).cumsum(0)", "e(2, 3).sort(1)", "e(2, 3).argsort(1)", "e(2, 5).topk(2)", "e(2, 3).median(0)", "e(2, 3).flip(0)", "e(2, 3).roll(1, 0)",
    "m.cat([e(2, 3), e(4, 3)])", "m.cat([e(2, 3), e(2, 4)])", "m.stack([e(2), e(2)], 1)", "e(2, 3).repeat(2, 1)", "e(2, 3).gather(1, e(2, 1, dtype=m.int64))", "e(3, 4)[e(2, dtype=m.int64)]",
    "e(3, 4)[:, e(2, 2, dtype=m.int64)]", "e(3, 4)[m.tensor([0, 1])]", "e(3, 4).index_select(1, e(2, dtype=m.int64))", "e(2, 3).scatter(1, e(2, 1, dtype=m.int64), e(2, 1))",
    "e(2, 3).masked_fill(e(2, 3) > 0, 0)", "e(3, 3).tril()", "e(2, 3).to(m.float64)", "e(2, 3).half()", "e(2, 3).softmax(1), e(2, 3).log_softmax(0)", "m.complex(e(2), e(2))",
    "e(2, 3).copy_(e(3))", "e(2, 3).add_(1).zero_()", "e(2, 3).t_()", "e(2, 3).fill_(2)", "e(3, 3).fill_diagonal_(1)", "e(2, dtype=m.int64).float()", "[z.shape for z in m.linalg.svd(e(3, 2), full_matrices=False)]",
    "m.linalg.inv(e(3, 3)).shape, m.linalg.det(e(3, 3))", "m.linalg.solve(e(3, 3), e(3, 2)).shape", "[z.shape for z in m.linalg.qr(e(3, 2))]", "[z.shape for z in m.linalg.eigh(e(3, 3))]", "m.linalg.cholesky(e(3, 3)).shape", "m.lerp(e(2), e(2), 0.5)",
    "m.isnan(e(2)), m.nn.init.trunc_normal_(e(2))", "e(2, 3).abs(), e(2, dtype=m.complex64).abs()", "m.bernoulli(e(2, 3))", "m.cdist(e(2, 3), e(4, 3))", "m.triu_indices(3, 3, device='meta')", "m.meshgrid(e(2), e(3))",
]
LAYERS = [
    "F.linear(e(2, 3), e(4, 3), e(4))", "nn.Linear(3, 4, device='meta')(e(5, 3))", "nn.Linear(3, 4, device='meta')(e(5, 2))", "nn.Conv2d(3, 8, 3, padding=1, stride=2, device='meta')(e(2, 3, 9, 9))",
    "nn.Conv1d(3, 6, 3, groups=3, device='meta')(e(2, 3, 9))", "nn.ConvTranspose2d(3, 8, 3, stride=2, device='meta')(e(2, 3, 5, 5))", "nn.Conv2d(3, 8, 3, device='meta')(e(2, 4, 9, 9))",
    "nn.LayerNorm(4, device='meta')(e(2, 3, 4))", "nn.BatchNorm2d(3, device='meta')(e(2, 3, 4, 4))", "nn.GroupNorm(2, 4, device='meta')(e(2, 4, 5))", "nn.RMSNorm(4, device='meta')(e(2, 4))",
    "nn.Embedding(10, 4, device='meta')(e(2, 3, dtype=m.int64))", "F.relu(e(2, 3)), F.gelu(e(2)), F.silu(e(2)), F.leaky_relu(e(2)), F.elu(e(2))", "F.dropout(e(2, 3))",
    "F.max_pool2d(e(1, 2, 6, 6), 2)", "F.avg_pool2d(e(1, 2, 6, 6), 2)", "F.adaptive_avg_pool2d(e(1, 2, 6, 6), 1)", "F.interpolate(e(1, 2, 4, 4), scale_factor=2)", "F.pad(e(2, 3), (1, 1))",
    "F.cross_entropy(e(5, 3), e(5, dtype=m.int64))", "F.cross_entropy(e(5, 3), e(5, dtype=m.int64), reduction='none')", "F.mse_loss(e(2, 3), e(2, 3))", "F.nll_loss(e(5, 3), e(5, dtype=m.int64))",
    "F.binary_cross_entropy_with_logits(e(4), e(4))", "F.one_hot(e(3, dtype=m.int64), 4)", "nn.LSTM(3, 4, device='meta')(e(5, 2, 3))", "nn.GRU(3, 4, batch_first=True, device='meta')(e(2, 5, 3))[0]",
    "F.scaled_dot_product_attention(e(2, 4, 8), e(2, 6, 8), e(2, 6, 8))", "nn.MultiheadAttention(8, 2, device='meta')(e(5, 1, 8), e(5, 1, 8), e(5, 1, 8))",
    "nn.TransformerEncoderLayer(8, 2, 16, device='meta')(e(5, 1, 8))", "sum(p.numel() for p in nn.Transformer(16, 2, 1, 1, 32, device='meta').parameters())",
    "nn.Sequential(nn.Linear(3, 4), nn.ReLU()).to('meta')[0].weight", "F.smooth_l1_loss(e(3), e(3)), F.kl_div(e(3), e(3))", "nn.Flatten()(e(2, 3, 4))", "F.normalize(e(2, 3))", "F.glu(e(2, 4))",
    "F.unfold(e(1, 2, 4, 4), 2)", "F.layer_norm(e(2, 3), (3,))", "F.instance_norm(e(2, 3, 4))",
]
GRADIENTS = [
    "grad((e(2, 3, requires_grad=True) * 2).sum(), [])", "grad((x := e(2, 3, requires_grad=True)).exp().sum(), x)", "grad((x := e(2, 3, requires_grad=True)).mm(e(3, 4)).sum(), x)",
    "grad((x := e(3, requires_grad=True)).expand(2, 3).mean(), x)", "grad((x := e(2, 3, requires_grad=True)).t()[1].sum(), x)", "grad(F.conv2d(e(1, 2, 5, 5), w := e(4, 2, 3, 3, requires_grad=True)).sum(), w)",
    "grad(F.cross_entropy(x := e(5, 3, requires_grad=True), e(5, dtype=m.int64)), x)", "grad(F.layer_norm(x := e(2, 3, requires_grad=True), (3,)).sum(), x)",
    "grad(F.max_pool2d(x := e(1, 2, 6, 6, requires_grad=True), 2).sum(), x)", "grad((x := e(4, 3, requires_grad=True))[e(2, dtype=m.int64)].sum(), x)", "grad((x := e(2, 3, requires_grad=True)).var(), x, create_graph=True)",
    "grad(F.embedding(e(2, dtype=m.int64), w := e(5, 3, requires_grad=True)).sum(), w)", "grad((x := e(2, 3, requires_grad=True)).prod(), x)", "grad((x := e(3, 3, requires_grad=True)).inverse().sum(), x)[0].shape",
    "grad((x := e(2, 3, requires_grad=True)).sort()[0].sum(), x)", "grad((x := e(2, 3, requires_grad=True)).cumsum(0).sum(), x)", "grad(F.batch_norm(x := e(4, 3, requires_grad=True), None, None, training=True).sum(), x)",
    "grad((x := e(2, 3, requires_grad=True)).softmax(1).sum(), x)", "grad(m.stack([x := e(2, requires_grad=True), x]).sum(), x)", "grad((x := e(2, requires_grad=True)) @ e(2), x)",
    "(x := e(2, 3, requires_grad=True)).sum().backward() or x.grad", "(x := e(2, 3, requires_grad=True)).backward()",
]
NUMBERS = [
    "e(()).item()", "e(2).item()", "e(2).tolist()", "e(()).tolist()", "bool(e(()))", "float(e(()))", "int(e(()))", "e(2).numpy()", "e(2).numpy(force=True)", "e(2).cpu()", "e(2).to('cpu')",
    "m.ones(2).copy_(e(2))", "e(2).nonzero()", "e(2)[e(2) > 0]", "m.equal(e(2), e(2))", "m.allclose(e(2), e(2))", "m.unique(e(2))", "1 in e(2)", "e(2) + m.ones(2)", "m.masked_select(e(2), e(2) > 0)",
    "F.one_hot(e(2, dtype=m.int64))", "m.bincount(e(2, dtype=m.int64))", "nn.Linear(2, 2, device='meta').to('cpu')", "format(e(()), '.2f')",
]


@pytest.mark.parametrize("snippet", CREATION + PRINTING + VIEWS + OPS + LAYERS + GRADIENTS + NUMBERS)
def test_snippets(snippet):
    assert outcome(mg, snippet) == outcome(torch, snippet)


@LIBRARIES
@pytest.mark.parametrize(("snippet", "kind", "message"), [
    ("x.cpu()", NotImplementedError, r"Cannot copy out of meta tensor; no data!"), ("x.tolist()", NotImplementedError, r"Cannot copy out of meta tensor; no data!"),
    ("x.sum().item()", RuntimeError, r"Tensor\.item\(\) cannot be called on meta tensors"), ("bool(x.sum())", RuntimeError, r"Tensor\.item\(\) cannot be called on meta tensors"),
    ("x.numpy()", TypeError, r"can't convert meta device type tensor to numpy"),
    ("layer.to('cpu')", NotImplementedError, r"Please use (torch\.)?nn\.Module\.to_empty\(\) instead of (torch\.)?nn\.Module\.to\(\) when moving module from meta")])
def test_messages(m, snippet, kind, message):
    with pytest.raises(kind, match=message):
        eval(snippet, {"x": m.empty(2, 3, device="meta"), "layer": m.nn.Linear(2, 2, device="meta")})


@LIBRARIES
def test_a_model_without_memory(m):
    """Built, checked, given memory, loaded, trained."""
    with m.device("meta"):
        model = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.BatchNorm1d(4), m.nn.ReLU(), m.nn.Linear(4, 2))
        assert model(m.randn(5, 3)).shape == (5, 2)
    assert all(x.is_meta for x in (*model.parameters(), *model.buffers())) and m.get_default_device().type == "cpu"
    m.manual_seed(0)
    filled = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.BatchNorm1d(4), m.nn.ReLU(), m.nn.Linear(4, 2))
    state = filled.state_dict()
    with pytest.warns(UserWarning, match="copying from a non-meta parameter in the checkpoint to a meta parameter"):
        model.load_state_dict(state)
    assert model[0].weight.is_meta
    model.load_state_dict(state, assign=True)
    x = m.randn(5, 3)
    assert m.equal(model(x), filled(x)) and isinstance(model[0].weight, m.nn.Parameter) and model[0].weight.requires_grad
    back = copy.deepcopy(model).to("meta")
    assert all(p.is_meta for p in back.parameters()) and not any(p.is_meta for p in model.parameters())
    back.to_empty(device="cpu").load_state_dict(state)
    assert m.equal(back(x), model(x))
    optimizer = m.optim.SGD(back.parameters(), 0.1)
    back(x).square().mean().backward()
    optimizer.step()


@LIBRARIES
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_step_on_meta(m, optimizer):
    layer = m.nn.Linear(3, 2, device="meta")
    made = getattr(m.optim, optimizer)(layer.parameters(), lr=0.1)
    for _ in range(2):
        made.zero_grad()
        layer(m.ones(4, 3, device="meta")).sum().backward()
        made.step()
    assert layer.weight.grad.shape == (2, 3) and layer.weight.is_meta


@LIBRARIES
def test_copies_and_pickles(m):
    x = m.empty(2, 3, device="meta").t().requires_grad_()
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.is_meta and other.shape == (3, 2) and other.requires_grad
    assert other.stride() == (1, 3)
    assert m.empty(2, device="cpu").to("meta").is_meta


@LIBRARIES
def test_a_file_without_its_numbers(m, tmp_path):
    m.save(m.nn.Linear(2, 3).state_dict(), tmp_path / "x.pt")
    state = m.load(tmp_path / "x.pt", map_location="meta")
    assert {name: (tuple(x.shape), x.is_meta) for name, x in state.items()} == {"weight": ((3, 2), True), "bias": ((3,), True)}


@LIBRARIES
def test_lazy_modules_find_their_shapes(m):
    with warnings.catch_warnings(action="ignore"):
        model = m.nn.Sequential(m.nn.LazyConv2d(8, 3, device="meta"), m.nn.ReLU(), m.nn.Flatten(), m.nn.LazyLinear(10, device="meta"))
        assert model(m.empty(2, 3, 8, 8, device="meta")).shape == (2, 10)
    assert model[0].weight.shape == (8, 3, 3, 3) and model[3].weight.shape == (10, 288) and model[3].weight.is_meta


@LIBRARIES
def test_a_hundred_billion_parameters(m):
    with m.device("meta"):
        layers = [m.nn.Linear(12288, 49152) for _ in range(192)]
    assert sum(p.numel() for layer in layers for p in layer.parameters()) == 192 * (12288 + 1) * 49152


@LIBRARIES
def test_gradients_of_the_parameters(m):
    with m.device("meta"):
        model = m.nn.Sequential(m.nn.Conv2d(3, 4, 3), m.nn.BatchNorm2d(4), m.nn.ReLU(), m.nn.AdaptiveAvgPool2d(1), m.nn.Flatten(), m.nn.Linear(4, 10))
        loss = m.nn.functional.cross_entropy(model(m.randn(2, 3, 8, 8)), m.zeros(2, dtype=m.int64))
    loss.backward()
    assert all(p.grad.is_meta and p.grad.shape == p.shape and p.grad.dtype is p.dtype for p in model.parameters())
