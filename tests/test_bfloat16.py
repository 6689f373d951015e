"""bfloat16 without PyTorch: how it is made, what it computes in, and what happens without the package ml_dtypes."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg

ROOT = Path(mg.__file__).parent.parent
# A module that stands for a package which is not installed.
WITHOUT = "import sys; sys.modules['ml_dtypes'] = None; import minigrad as mg; "


def run(program):
    """Run a program in a new process; return what it prints."""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd=ROOT, timeout=300,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("use", ["mg.bfloat16", "mg.ones(2).bfloat16()", "mg.ones(2).to(mg.bfloat16)", "mg.BFloat16Tensor(2)",
                                 "mg.nn.Linear(2, 1).bfloat16()", "mg.ones(2).type('torch.BFloat16Tensor')", "mg.autocast('cpu')"])
def test_the_missing_package_is_named(use):
    printed = run(f"{WITHOUT}\ntry:\n    {use}\nexcept ModuleNotFoundError as error:\n    print(error.name, str(error))")
    assert printed.startswith("ml_dtypes minigrad.bfloat16 needs the package ml_dtypes") and "pip install" in printed


def test_without_the_package_the_rest_works():
    assert run(WITHOUT + "print((mg.ones(2).half() * 2).dtype, mg.amp.autocast('cpu', mg.float16).fast_dtype, "
               "mg.autocast('cpu', enabled=False).fast_dtype)") == "minigrad.float16 minigrad.float16 minigrad.float32\n"


pytest.importorskip("ml_dtypes")


def bf16(*args, **options):
    return mg.tensor(*args, dtype=mg.bfloat16, **options)


def test_import_does_not_load_the_package():
    assert run("import sys, minigrad as mg; mg.ones(2).half(); print('ml_dtypes' in sys.modules); mg.bfloat16; print('ml_dtypes' in sys.modules)"
               ) == "False\nTrue\n"


def test_properties():
    kind = mg.bfloat16
    assert repr(kind) == "minigrad.bfloat16" and kind.itemsize == 2 and kind.is_floating_point and kind.is_signed and not kind.is_complex
    assert kind.to_complex() is mg.complex64 and kind.to_real() is kind and pickle.loads(pickle.dumps(kind)) is kind
    limits = mg.finfo(kind)
    assert (limits.eps, limits.bits, limits.tiny) == (2 ** -7, 16, 2.0 ** -126) and 3.38e38 < limits.max == -limits.min < 3.39e38
    assert bf16([1.0]).type() == "torch.BFloat16Tensor" and isinstance(bf16(1.0), mg.BFloat16Tensor)
    assert mg.BFloat16Tensor([1, 2]).dtype is kind and mg.ones(2).type("torch.BFloat16Tensor").dtype is kind


def test_sums_are_computed_in_float32():
    """In bfloat16, 256 + 1 is 256."""
    x = mg.ones(1000, dtype=mg.bfloat16)
    assert x.sum().item() == 1000 and x.cumsum(0)[-1].item() == 1000 and (x @ x).item() == 1000 and x.mean().item() == 1
    assert x.norm().item() == pytest.approx(1000 ** 0.5, rel=2 ** -8)
    w = mg.ones(1, dtype=mg.bfloat16, requires_grad=True)
    (w * x).sum().backward()        # the gradient of w is a sum of 1000 numbers
    assert w.grad.item() == 1000 and w.grad.dtype is mg.bfloat16


def test_results_are_rounded_once():
    """1.0078125 + 0.00390625 / 3 is nearer to 1.0078125, and each step in bfloat16 would round up."""
    x, y = bf16([1.0078125]), bf16([0.00390625])
    assert x.addcdiv(y, bf16([3.0])).item() == 1.0078125
    assert mg.lerp(bf16([256.0]), bf16([258.0]), 0.6).item() == 258      # 257.2, halfway to 258 is 257
    weight, image = mg.full((1, 1, 1, 1), 1.0, dtype=mg.bfloat16), mg.full((1, 1, 1, 1), 256.0, dtype=mg.bfloat16)
    assert mg.nn.functional.conv2d(image, weight, bf16([1.5])).item() == 258


@pytest.mark.parametrize("other, expected", [
    (mg.float16, mg.float32), (mg.float32, mg.float32), (mg.float64, mg.float64), (mg.complex64, mg.complex64), (mg.int64, None), (mg.bool, None)])
def test_promotion(other, expected):
    x, y = mg.ones(2, dtype=mg.bfloat16), mg.ones(2, dtype=other)
    expected = expected or mg.bfloat16
    assert (x * y).dtype is (y * x).dtype is mg.promote_types(mg.bfloat16, other) is expected
    assert (x * 2).dtype is (x * 2.5).dtype is (x * True).dtype is mg.bfloat16 and (x * 1j).dtype is mg.complex64


def test_numbers_beside_it():
    x = bf16([0.1])
    assert (x == 0.1).item() and not (x < 0.1).item()       # a comparison rounds the number
    assert (mg.ones(1, dtype=mg.bfloat16) * 0.1 == x).item() and (bf16([3.0]) / 3).item() == 1


def test_to_numpy_and_back():
    x = bf16([1.5, 3.1416])
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        x.numpy()
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        np.asarray(x)
    assert x.float().numpy().tolist() == x.tolist() == [1.5, 3.140625] and type(x[0].item()) is float
    assert repr(x) == "tensor([1.5000, 3.1406], dtype=minigrad.bfloat16)" and f"{x[1]:.2f}" == "3.14"


@pytest.mark.differs(
    what="`from_numpy` of an array of ml_dtypes' bfloat16",
    there="TypeError.",
    here="A bfloat16 tensor on its memory.")
def test_arrays_of_the_package():
    x = bf16([1.5])
    y = mg.from_numpy(x._array)
    assert y.dtype is mg.bfloat16 and y.data_ptr() == x.data_ptr()


def test_copies():
    x = bf16([1.5, 2.5], requires_grad=True)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.dtype is mg.bfloat16 and y.requires_grad and y.tolist() == [1.5, 2.5]
    assert run(f"import pickle; print(pickle.loads({pickle.dumps(x)!r}))") == "tensor([1.5000, 2.5000], dtype=minigrad.bfloat16, requires_grad=True)\n"


def test_writes():
    x = mg.zeros(4, dtype=mg.bfloat16)
    x[0] = 0.1
    x[1:3] = mg.tensor([1.1, 2.2])
    x.add_(1).mul_(mg.tensor(2.0))
    assert x.dtype is mg.bfloat16 and x.tolist() == [2.203125, 4.1875, 6.40625, 2.0]
    x.index_put_((mg.tensor([3, 3]),), bf16([1.0, 1.0]), accumulate=True)
    assert x[3].item() == 4
    y = mg.zeros(2)
    y += bf16([0.1, 0.2])
    assert y.dtype is mg.float32 and y[0].item() == bf16(0.1).item()
    with pytest.raises(RuntimeError, match="can't be cast"):
        mg.ones(2, dtype=mg.int64).add_(bf16([1.0, 2.0]))


def test_views_share_memory():
    x = mg.zeros(2, 3, dtype=mg.bfloat16)
    for view in (x.t(), x[1], x[:, 1:], x.view(6), x.expand(4, 2, 3), x.unsqueeze(0), x.diagonal()):
        view.detach().data_ptr()
        assert np.shares_memory(view._array, x._array)
    x.view(-1)[0] = 5
    assert x[0, 0].item() == 5


def test_derivatives():
    x = bf16([2.0, 1.5], requires_grad=True)
    g, = mg.autograd.grad((x ** 3).sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 6.75] and mg.autograd.grad(g.sum(), x)[0].tolist() == [12.0, 9.0]
    y, tangent = mg.func.jvp(lambda x: x * x, (bf16([3.0]),), (bf16([1.0]),))
    assert (y.dtype, tangent.dtype) == (mg.bfloat16, mg.bfloat16) and tangent.item() == 6
    a, b = bf16([2.0], requires_grad=True), mg.tensor([3.0], requires_grad=True)
    (a * b).backward()
    assert (a.grad.dtype, b.grad.dtype) == (mg.bfloat16, mg.float32)


def test_dropout_keeps_the_dtype():
    x = mg.ones(100, dtype=mg.bfloat16)
    assert mg.nn.functional.dropout(x, 0.3).dtype is mg.bfloat16 and mg.nn.Dropout2d()(x.view(1, 4, 5, 5)).dtype is mg.bfloat16


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam"])
def test_a_model(name):
    mg.manual_seed(0)
    model = mg.nn.Sequential(mg.nn.Linear(4, 16), mg.nn.LayerNorm(16), mg.nn.GELU(), mg.nn.Linear(16, 1)).bfloat16()
    assert all(p.dtype is mg.bfloat16 for p in model.parameters())
    optimizer = getattr(mg.optim, name)(model.parameters(), lr=1.0 if name == "Adadelta" else 0.05)
    x = mg.randn(64, 4)
    target = (x[:, :1] - x[:, 1:2]).bfloat16()
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = mg.nn.functional.mse_loss(model(x.bfloat16()), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    assert all(p.dtype is p.grad.dtype is mg.bfloat16 for p in model.parameters())


def test_float16_and_bfloat16_are_different_formats():
    x = mg.tensor([1e30, 1.001])
    assert x.bfloat16()[0].item() > 9e29 and x.half()[0].item() == float("inf") and x.half()[1].item() != 1 == x.bfloat16()[1].item()
    assert mg.cat([x.bfloat16(), x.half()]).dtype is mg.float32


def test_testing_assert_close():
    mg.testing.assert_close(bf16([1.0]), bf16([1.01]))
    with pytest.raises(AssertionError):
        mg.testing.assert_close(bf16([1.0]), bf16([1.1]))
