"""Names, arguments and small modules that teaching programs use: each snippet gives the same on both libraries."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import outcome, same

SPARSE = "(m.tensor([[0, 1, 1], [2, 0, 2]]), m.tensor([3., 4., 5.]), (2, 3))"
DENSE = "m.tensor([[0., 3., 0.], [4., 0., 5.]])"
LIMITS = "eps", "max", "min", "tiny", "smallest_normal", "resolution", "bits", "dtype"


@pytest.mark.parametrize("snippet", [
    f"m.sparse_coo_tensor(*{SPARSE}).to_dense()", f"m.sparse.mm(m.sparse_coo_tensor(*{SPARSE}), m.ones(3, 2))",
    f"m.spmm(m.sparse_coo_tensor(*{SPARSE}), m.ones(3, 2)), m.sparse_coo_tensor(*{SPARSE}) @ m.ones(3, 1)",
    "m.sparse_coo_tensor([[0, 0], [1, 1]], [1., 2.]).to_dense()", "m.sparse_coo_tensor((2, 2)).to_dense()",
    "m.sparse_coo_tensor([[0], [5]], [1.], (2, 2))",
    "m.sparse_coo_tensor([[0, 1]], m.ones(2, 3), (4, 3)).to_dense()", "m.sparse_coo_tensor([0, 1], [1., 2.], (2, 2))",
    "m.sparse_coo_tensor([[0]], m.tensor([1]), (2,), dtype=m.float64).to_dense()",
    f"(s := {DENSE}.to_sparse().coalesce()).indices(), s.values(), s._nnz(), s.sparse_dim(), s.dense_dim(), s.is_coalesced()",
    f"(s := {DENSE}.to_sparse_csr()).crow_indices(), s.col_indices(), s.values()",
    "m.sparse_csr_tensor(m.tensor([0, 2, 3]), m.tensor([0, 1, 1]), m.tensor([1., 2., 3.])).to_dense()",
    "m.sparse_csr_tensor([0, 1, 2], [1, 0], [5., 6.], (2, 3)).to_dense()",
    f"m.sparse.sum({DENSE}.to_sparse()), m.sparse.sum({DENSE}.to_sparse(), dim=1).to_dense()",
    f"m.sparse.softmax({DENSE}.to_sparse(), dim=1).to_dense(), m.sparse.log_softmax({DENSE}.to_sparse(), 1).to_dense()",
    f"m.sparse.addmm(m.ones(2, 2), {DENSE}.to_sparse(), m.ones(3, 2), beta=2., alpha=.5)",
    f"m.ones(2, 3).sparse_mask({DENSE}.to_sparse().coalesce()).to_dense()",
    "m.triangular_solve(m.ones(2, 1), m.tensor([[1., 0.], [2., 4.]]), upper=False)[0]",
    *[f"m.ones(3).scatter(0, m.tensor([0, 0]), {src}, reduce={reduce!r})" for src in ("m.tensor([2., 3.])", "2.")
      for reduce in ("add", "multiply")],
    "m.ones(2, 3).scatter_(1, m.tensor([[0], [1]]), m.full((2, 3), 3.), reduce='multiply')",
    "m.sparse.spdiags(m.tensor([[1., 2., 3.], [4., 5., 6.]]), m.tensor([0, -1]), (3, 3)).to_dense()",
])
def test_sparse_and_old_names(snippet):
    """The same numbers, dense here. PyTorch warns once that a layout is young or an argument old, so warnings are not compared."""
    ours, theirs = [outcome(m, snippet) for m in (mg, torch)]
    assert (ours[0] if isinstance(ours, tuple) else ours) == (theirs[0] if isinstance(theirs, tuple) else theirs)


@pytest.mark.parametrize("snippet", [
    "m.where(m.tensor([[1., 0.], [0., 2.]]))", "m.where(condition=m.tensor([True, False]))", "m.where(m.tensor([True]), 1.)",
    "m.where(m.tensor([1, 0]), 1., 2.)",
    "m.ones(3).scatter(0, m.tensor([0]), m.ones(1), reduce='mean')",
    "m.gradient(m.tensor([1., 4., 9., 16.])), m.gradient(m.arange(3))",
    *[f"m.arange(-3, 4).to(m.{dtype}) ** {power}" for dtype in ("int64", "int32") for power in (0, 1, 2, 3)],
    "m.tensor([3, 200], dtype=m.uint8) ** 2", "m.tensor([True, False]) ** 2", "m.arange(6).view(2, 3).t() ** 2",
    *[f"(lambda z: grad((z{op}).abs().sum(), z))(m.complex(m.arange(6.).view(2, 3) - 2, m.ones(2, 3)).requires_grad_())" for op in
      ("** 2", "+ z * z", "- z.conj() * 2", ".sum(0)", ".mean(1)")],
    *[f"{f}(m.tensor({z}))" for f in ("float", "int", "bool", "complex") for z in ("3+0j", "3+2j")],
    "m.arange(24).view(2, 3, 4) @ m.arange(40).view(2, 4, 5)", "m.arange(5).clamp(1, 3)", "m.arange(5).clamp(max=2)",
    "m.gradient(m.arange(12.).view(3, 4) ** 2, spacing=(.5, 2.), edge_order=2)",
    "m.gradient(m.arange(12.).view(3, 4) ** 2, spacing=[m.tensor([0., 1., 3.]), m.tensor([0., 1., 2., 4.])])",
    "m.gradient(m.arange(12.).view(3, 4) ** 2, spacing=[m.tensor([0., 1., 3., 4.])], dim=1, edge_order=2)",
    "m.gradient(m.ones(1))", "m.gradient(m.ones(3), edge_order=3)", "m.gradient(m.ones(3, 3), spacing=(1.,))",
    "(x := m.pca_lowrank(m.tensor([[1., 2.], [3., 5.], [4., 4.], [0., 1.]]), q=2))[1], [y.shape for y in x], m.pca_lowrank(m.eye(2), 3)",
    "(x := m.svd_lowrank(m.tensor([[1., 2., 3.], [3., 5., 0.]]), q=2, M=m.ones(2, 3)))[1], [y.shape for y in x]",
    "m.svd_lowrank(m.eye(2), q=3)[1]",
    "m.linalg.lu_factor(m.tensor([[0., 1.], [2., 3.]])), m.linalg.lu_factor_ex(m.zeros(2, 2)).info",
    "m.linalg.lu_factor(m.eye(2)).pivots, m.linalg.vander(m.tensor([[1., 2., 3.]]), N=2), m.linalg.vander(m.tensor([2, 3]))",
    *[f"m.linalg.lu_solve(*m.linalg.lu_factor(m.tensor([[0., 1.], [2., 3.]])), m.tensor([[1., 2.], [3., 5.]]), left={left}, "
      f"adjoint={adjoint})" for left in (True, False) for adjoint in (True, False)],
    *[f"m.special.{name}(m.tensor([-5., -1., -.5, 0., .7, 3.4, 3.6, 20.], dtype=m.{dtype}))" for name in ("erfcx", "log_ndtr", "i0e", "i1e")
      for dtype in ("float32", "float64")],
    "m.special.log_ndtr(m.tensor([1, 2])), m.special.i0e(m.tensor([1, 2]))",
    "m.fake_quantize_per_tensor_affine(m.tensor([.26, -9., .31]), .1, 0, -8, 7)", "m.fake_quantize_per_tensor_affine(m.ones(2), .1, 0, 7, -8)",
    "m.fake_quantize_per_tensor_affine(m.tensor([.26, -9.]), m.tensor(.1), m.tensor(2, dtype=m.int32), 0, 255)",
    "m.fake_quantize_per_channel_affine(m.ones(2, 3), m.tensor([.3, .4]), m.tensor([0, 1], dtype=m.int32), 0, -8, 7)",
    "grad(m.fake_quantize_per_tensor_affine(x := m.tensor([.26, -9., .31], requires_grad=True), .1, 0, -8, 7).sum(), x)",
    "m.ones(2).prelu(m.ones(1)), m.ones(2).hardshrink()", "m._assert(True, 'x')",
    "(x := m.arange(24.).view(1, 2, 3, 4)).to(memory_format=m.channels_last).stride(), x.contiguous(memory_format=m.channels_last).stride()",
    "(x := m.arange(24.).view(1, 2, 3, 4).contiguous(memory_format=m.channels_last)).contiguous(memory_format=m.channels_last) is x",
    "m.zeros(1, 2, 3, 4, 5).to(memory_format=m.channels_last_3d).stride(), m.ones(1, 2, 3, 4).clone(memory_format=m.channels_last).stride()",
    "m.zeros(2, 3).to(memory_format=m.channels_last)", "m.zeros(1, 2, 3, 4).contiguous(memory_format=m.channels_last_3d)",
    "m.nn.Sequential(m.nn.Conv2d(2, 3, 3), m.nn.BatchNorm2d(3)).to(memory_format=m.channels_last)[0].weight.stride()",
    "isinstance(m.device('cpu'), m.device), isinstance('cpu', m.device), m.device(type='cuda', index=1), m.device('cpu') == m.device('cpu')",
    "m.testing.assert_allclose(m.ones(2), [1, 1])",
    "m.testing.make_tensor(2, 3, dtype=m.float32, device='cpu').shape, m.testing.make_tensor((4,), dtype=m.int64, device='cpu', low=2, high=3)",
    "m.testing.make_tensor((2, 3), dtype=m.float64, device='cpu', noncontiguous=True, requires_grad=True).is_contiguous()",
    "m.nn.init._calculate_correct_fan(m.ones(2, 3), 'fan_in'), m.nn.init._no_grad_fill_(m.ones(2), 3.)",
    "m._foreach_add([m.ones(2), m.zeros(1)], [m.ones(2), m.ones(1)], alpha=2), m._foreach_mul([m.ones(2)], 3.), m._foreach_norm([m.ones(4)])",
    "m._foreach_lerp_(x := [m.ones(2), m.zeros(1)], [m.zeros(2), m.ones(1)], .25), x", "m._foreach_zero_(x := [m.ones(2)]), x",
    "m._foreach_addcdiv_(x := [m.ones(2)], [m.ones(2)], [m.full((2,), 4.)], value=2.), x, m._foreach_copy_(x, [m.zeros(2)]), x",
    "m._foreach_sqrt([m.full((2,), 4.)]), m._foreach_div_(x := [m.ones(2)], [2.]), x, m._foreach_sub([m.ones(1)], [m.ones(1)])",
    "m.nn.modules.module._addindent('a\\nb\\n\\nc', 2)", "m.distributions.utils._standard_normal((2,), m.float32, None).shape",
    "m.nn.Embedding(3, 2, sparse=True)(m.tensor([1])).shape", "m.utils.data.DataLoader[int] | None and m.utils.data.Dataset[int] and 1",
])
def test_snippets(snippet):
    same(snippet)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_finfo(dtype):
    ours, theirs = mg.finfo(getattr(mg, dtype)), torch.finfo(getattr(torch, dtype))
    assert repr(ours) == repr(theirs)
    assert [getattr(ours, name) for name in LIMITS] == [getattr(theirs, name) for name in LIMITS]
    assert type(ours.eps) is float


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_iinfo(dtype):
    ours, theirs = mg.iinfo(getattr(mg, dtype)), torch.iinfo(getattr(torch, dtype))
    assert (repr(ours), ours.max, ours.min, ours.bits, ours.dtype) == (repr(theirs), theirs.max, theirs.min, theirs.bits, theirs.dtype)


def test_device_is_a_class():
    """`mg.device` stands in annotations and in isinstance, and a device pickles."""
    def move(x: mg.Tensor, where: mg.device | str | None = None) -> mg.device | None:
        return where
    device = mg.device("cpu")
    assert pickle.loads(pickle.dumps(device)) == device and move(mg.ones(1), device) is device
    assert repr(mg.device) == "<class 'minigrad.device'>"


def test_printed_dtype_is_left_out_if_it_is_the_default():
    try:
        for default in ("float64", "float16"):
            for m in (mg, torch):
                m.set_default_dtype(getattr(m, default))
            for kind in ("float16", "float32", "float64", "complex64", "complex128", "int64", "int32"):
                for values in ([1, 0], []):
                    ours, theirs = [repr(m.tensor(values, dtype=getattr(m, kind))) for m in (mg, torch)]
                    assert ours.replace("minigrad", "torch") == theirs
    finally:
        for m in (mg, torch):
            m.set_default_dtype(m.float32)


def called_hooks(m):
    """What the hooks of an optimizer see, in order."""
    seen = []
    w = m.nn.Parameter(m.ones(2))
    optimizer = m.optim.SGD([w], lr=0.5)
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", len(args), sorted(kwargs)))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", w.tolist()))),
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("state_dict")),
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "epoch": 3}),
        optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(sorted(state))),
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))]
    w.sum().backward()
    optimizer.step()
    optimizer.step(closure=None)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    for handle in handles:
        handle.remove()
    optimizer.step()
    return seen, w.tolist(), state["epoch"]


def test_hooks_of_optimizers():
    assert called_hooks(mg) == called_hooks(torch)


def word_vectors(m):
    """Rows of a table that SparseAdam moves: a row without a gradient stays, and so do its moments."""
    m.manual_seed(0)
    table = m.nn.Embedding(5, 3, sparse=True)
    optimizer = m.optim.SparseAdam(table.parameters(), lr=0.1, betas=(0.8, 0.9))
    for rows in ([0, 1], [1, 3], [0, 0]):
        optimizer.zero_grad()
        table(m.tensor(rows)).pow(2).sum().backward()
        optimizer.step()
    return table.weight.detach()


def test_sparse_adam():
    np.testing.assert_allclose(word_vectors(mg).numpy(), word_vectors(torch).numpy(), rtol=1e-5)


def test_schedules_derive_from_the_older_base_class():
    class Warmup(mg.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            return [base * (self.last_epoch + 1) for base in self.base_lrs]
    optimizer = mg.optim.SGD([mg.zeros(1)], lr=0.1)
    schedule = Warmup(optimizer)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.2] and isinstance(schedule, mg.optim.lr_scheduler.LRScheduler)


def test_gradients_of_the_scaled_functions():
    """They are exact far from 0, where PyTorch's formulas cancel."""
    for name, at in (("erfcx", [-3., 0.2, 4., 60.]), ("log_ndtr", [-40., -3., 0.5, 4.]), ("i0e", [-600., -2., 0.5, 700.]), ("i1e", [-3., 0.5, 600.])):
        x = mg.tensor(at, dtype=mg.float64, requires_grad=True)
        assert mg.autograd.gradcheck(getattr(mg.special, name), (x,), eps=1e-5, atol=1e-9, rtol=1e-5)


def test_quantization_trains():
    """A model with rounded weights and activations learns, and `convert` leaves the rounded weights."""
    from minigrad import nn, quantization
    mg.manual_seed(0)
    model = nn.Sequential(quantization.QuantStub(), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), quantization.DeQuantStub())
    model.qconfig = quantization.get_default_qat_qconfig("fbgemm")
    quantization.prepare_qat(model.train(), inplace=True)
    optimizer = mg.optim.SGD(model.parameters(), lr=1.0)
    x = mg.randn(64, 4)
    y = (x.sum(1) > 0).long()
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
    ready = quantization.convert(model.eval())
    assert mg.allclose(ready(x), model(x), atol=0.05)
    assert max(len(row.unique()) for row in ready[1].weight) <= 4 and "weight_fake_quant" not in dict(ready[1].named_modules())
    with pytest.raises(AssertionError, match="training mode"):
        quantization.prepare_qat(model.eval())


def test_after_training_quantization():
    from minigrad import nn
    from minigrad.ao import quantization
    mg.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
    x = mg.randn(2, 1, 6, 6)
    fused = quantization.fuse_modules(model, ["0", "1"])
    assert mg.allclose(fused(x), model(x), atol=1e-5) and isinstance(fused[1], nn.Identity)
    fused.qconfig = quantization.default_qconfig
    watched = quantization.prepare(fused)
    watched(x)
    ready = quantization.convert(watched)
    assert 0 < (ready(x) - model(x)).abs().max() < 0.1
    dynamic = quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear}, dtype=mg.qint8)
    assert len(dynamic[0].weight.unique()) <= 12 and repr(mg.qint8) == "minigrad.qint8"


def test_attention_and_benchmark_modules():
    from minigrad.nn.attention import SDPBackend, sdpa_kernel
    from minigrad.utils.benchmark import Compare, Timer
    q = mg.ones(1, 2, 3)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]), mg.backends.cuda.sdp_kernel(enable_flash=False):
        assert mg.nn.functional.scaled_dot_product_attention(q, q, q).shape == (1, 2, 3)
    with pytest.raises(TypeError), sdpa_kernel("math"):
        pass
    timer = Timer("q + q", globals={"q": q}, label="add", num_threads=1)
    found = timer.timeit(3)
    assert found.number_per_run == 3 and found.mean == found.median > 0 and found.iqr == 0
    assert timer.blocked_autorange(min_run_time=0.001).median > 0 and "add" in str(Compare([found])) and "add" in repr(found)
    assert timer.adaptive_autorange(max_run_time=0.01).median > 0


@pytest.mark.parametrize("line", [
    "from torch.utils.data._utils.collate import default_collate, default_convert", "from torch.types import Number, Device, _size, Tensor",
    "from torch.functional import Tensor, einsum, norm", "import torch.backends.quantized; torch.backends.quantized.engine = 'qnnpack'",
    "from torch.nn.attention import SDPBackend", "import torch.utils.benchmark as benchmark", "import torch.ao.quantization, torch.quantization",
    "from torch.optim.optimizer import Optimizer, required, ParamsT", "from torch import GradScaler",
    "from functorch import make_functional, vmap, grad", "from torch.sparse import mm, FloatTensor"])
def test_imports(line):
    """Lines at the top of programs: each runs in a process of its own."""
    program = f"import minigrad.run; minigrad.run.as_torch(); import torch; {line}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_assertions_and_old_methods():
    with pytest.raises(AssertionError, match="no"):
        mg._assert(False, "no")
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        mg.testing.assert_allclose(mg.ones(2), mg.zeros(2))
    assert mg.equal(mg.tensor([[0., 1.], [2., 3.]]).lu()[0], mg.tensor([[2., 3.], [0., 1.]]))
    assert repr(mg.optim.optimizer.required) == "<required parameter>"
    x = mg.ones(2, requires_grad=True)
    x._grad = mg.zeros(2)
    assert x.grad is x._grad and x._grad.tolist() == [0, 0]
    layer = mg.nn.Linear(1, 1)
    assert layer.share_memory() is layer
    with mg.random.fork_rng(devices=[], enabled=True):
        first = mg.rand(1)
    assert mg.equal(first, mg.rand(1))
    with pytest.raises(mg.linalg.LinAlgError):
        mg.linalg.lu_factor_ex(mg.zeros(2, 2), check_errors=True)


def test_functorch():
    """Gradients of single examples and an ensemble, in the older way."""
    from minigrad.functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap
    mg.manual_seed(0)
    model, x = mg.nn.Linear(3, 1), mg.randn(4, 3)
    f, params = make_functional(model)
    found = vmap(grad(lambda params, x: f(params, x).sum()), (None, 0))(params, x)
    assert mg.allclose(found[0][:, 0], x) and all(p.requires_grad for p in params)
    assert not any(p.requires_grad for p in make_functional(model, disable_autograd_tracking=True)[1])
    norm = mg.nn.Sequential(model, mg.nn.BatchNorm1d(1)).eval()
    g, params, buffers = make_functional_with_buffers(norm)
    assert mg.equal(g(params, buffers, x), norm(x)) and len(buffers) == 3
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(norm)
    h, params, buffers = combine_state_for_ensemble([mg.nn.Linear(3, 1) for _ in range(2)])
    assert vmap(h, (0, 0, None))(params, buffers, x).shape == (2, 4, 1) and buffers == ()
    with pytest.raises(RuntimeError):
        combine_state_for_ensemble([model, norm])
    with pytest.raises(RuntimeError):
        combine_state_for_ensemble([])
    replaced = mg.func.replace_all_batch_norm_modules_(norm)
    assert replaced is norm and norm[1].running_mean is None and not norm[1].track_running_stats


def test_where_with_a_condition_of_bytes():
    """PyTorch warns of it once in a process, so only the numbers are compared."""
    import warnings
    with warnings.catch_warnings(action="ignore"):
        assert mg.where(mg.tensor([1, 0], dtype=mg.uint8), 1., 2.).tolist() == torch.where(torch.tensor([1, 0], dtype=torch.uint8), 1., 2.).tolist()
    with pytest.warns(UserWarning, match="uint8 condition"):
        mg.where(mg.tensor([1, 0], dtype=mg.uint8), 1., 2.)
