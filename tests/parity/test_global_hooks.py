"""Hooks on the registration of parameters, buffers and modules; the older backward hook of all modules; small names beside them."""

import importlib
import warnings

import pytest

import minigrad as mg

torch = pytest.importorskip("torch")


def hooks(m):
    return importlib.import_module(f"{m.__name__}.nn.modules.module")


def registered(m):
    """What the three kinds of hooks see while modules are built and changed."""
    seen, module = [], hooks(m)

    def note(kind):
        return lambda owner, name, value: seen.append((kind, type(owner).__name__, name, type(value).__name__))
    with module.register_module_parameter_registration_hook(note("parameter")), \
            module.register_module_buffer_registration_hook(note("buffer")), \
            module.register_module_module_registration_hook(note("module")):
        model = m.nn.Sequential(m.nn.Linear(2, 1, bias=False), m.nn.BatchNorm1d(1))
        model.extra = m.nn.ReLU()
        model.extra = None
        model[1].running_mean = m.zeros(1)
        model.add_module("last", m.nn.Flatten())
        model.scale = m.nn.Parameter(m.ones(1))
        model.scale = None
        model.register_buffer("count", None)
    m.nn.Linear(1, 1)
    return seen


def test_what_the_registration_hooks_see():
    assert registered(mg) == registered(torch)


@pytest.mark.parametrize("m", [mg, torch])
def test_a_registration_hook_replaces(m):
    module = hooks(m)
    with module.register_module_parameter_registration_hook(
            lambda owner, name, param: m.nn.Parameter(param.detach().double()) if name == "bias" else None):
        layer = m.nn.Linear(2, 3)
    assert layer.bias.dtype is m.float64 and layer.weight.dtype is m.float32
    with module.register_module_module_registration_hook(lambda owner, name, value: m.nn.Tanh()):
        assert type(m.nn.Sequential(m.nn.ReLU())[0]) is m.nn.Tanh


def test_the_older_backward_hook_of_all_modules():
    """In PyTorch such a hook forbids full ones from then on, so we set its record back."""
    outcomes = []
    for m in (mg, torch):
        module, seen = hooks(m), []
        before = getattr(module, "_global_is_full_backward_hook", None)
        if m is torch:
            module._global_is_full_backward_hook = None         # another test may have had a full one
        with module.register_module_backward_hook(
                lambda owner, grad_input, grad_output, seen=seen: seen.append((type(owner).__name__, [g.tolist() for g in grad_input]))):
            with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks as a"):
                module.register_module_full_backward_hook(print)
            with warnings.catch_warnings(action="ignore"):
                model = m.nn.Sequential(m.nn.ReLU(), m.nn.Flatten())
                model(m.ones(1, 2, requires_grad=True) * 3).sum().backward()
        if m is torch:
            module._global_is_full_backward_hook = before
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1] and len(outcomes[0]) == 3


def test_full_hooks_work_again_after_the_older_one():
    module = hooks(mg)
    module.register_module_backward_hook(print).remove()
    seen = []
    with module.register_module_full_backward_hook(lambda owner, grad_input, grad_output: seen.append(type(owner).__name__)):
        mg.nn.ReLU()(mg.ones(1, requires_grad=True)).backward()
        with pytest.raises(RuntimeError, match="Cannot use both"):
            module.register_module_backward_hook(print)
    assert seen == ["ReLU"]


@pytest.mark.parametrize("m", [mg, torch])
def test_clip_grad_norm(m):
    w = m.tensor([3.0, 4.0], requires_grad=True)
    (w * w / 2).sum().backward()
    with pytest.warns(FutureWarning, match="clip_grad_norm` is now deprecated"):
        total = m.nn.utils.clip_grad_norm([w], 1.0)
    assert total.item() == 5 and m.allclose(w.grad, m.tensor([0.6, 0.8]))


@pytest.mark.parametrize("m", [mg, torch])
def test_share_memory_and_the_parameters_of_lbfgs(m):
    with warnings.catch_warnings(action="ignore"):
        layer = m.nn.Linear(2, 1)
        assert layer.share_memory() is layer
    optimizer = m.optim.LBFGS(layer.parameters())
    assert optimizer._params is optimizer.param_groups[0]["params"]
