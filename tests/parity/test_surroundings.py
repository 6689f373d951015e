"""Devices, switches, gradient scaling and schedules: the same program on both libraries gives the same."""

import itertools
import warnings

import pytest
import torch

import minigrad as mg

KINDS = (NotImplementedError, AttributeError, AssertionError, TypeError, ValueError, RuntimeError)


def outcome(m, snippet):
    """What a snippet gives: a value as text, or the builtin class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(eval(snippet, {"m": m}))
        except KINDS as error:
            return next(kind.__name__ for kind in KINDS if isinstance(error, kind))


@pytest.mark.parametrize("snippet", [
    "repr(m.device('mps'))", "repr(m.device('cuda', 3))", "repr(m.device('cuda:2').index)", "m.device('foo')", "m.device('mps') == m.device('mps')",
    "m.device(m.device('meta'))", "m.device('cpu', 0).type", "m.get_default_device()", "m.set_default_device('foo')", "m.device(type='cuda', index=1)",
    "m.backends.cudnn.benchmark, m.backends.cudnn.deterministic, m.backends.cudnn.enabled, m.backends.cudnn.allow_tf32",
    "m.backends.cudnn.version(), m.backends.cudnn.is_available()", "m.backends.cuda.is_built(), m.backends.mps.is_available(), m.backends.mps.is_built()",
    "m.backends.cuda.matmul.allow_tf32, m.backends.cuda.matmul.allow_fp16_reduced_precision_reduction", "m.backends.mkldnn.enabled",
    "m.get_float32_matmul_precision()", "m.set_float32_matmul_precision('x')", "m.accelerator.is_available(), m.accelerator.current_accelerator()",
    "m.accelerator.device_count()", "m.accelerator.synchronize()", "m.xpu.is_available(), m.xpu.device_count()", "m.mps.device_count()",
    "m.mps.manual_seed(0)", "m.cuda.manual_seed(0), m.cuda.manual_seed_all(0), m.cuda.empty_cache()", "m.cuda.memory_allocated(), m.cuda.memory_reserved()",
    "m.cuda.max_memory_allocated()", "m.cuda.set_device(-1)", "m.cuda.is_initialized()", "m.cuda.is_bf16_supported()", "m.cuda.get_arch_list()",
    "m.distributed.is_initialized()", "m.autocast('foo')", "m.autocast(3)", "m.is_autocast_enabled()", "m.get_autocast_dtype('cpu') is m.bfloat16",
    "m.get_autocast_dtype('cuda') is m.float16", "m.amp.GradScaler('cpu').get_scale()", "m.amp.GradScaler('cpu', enabled=False).state_dict()",
    "m.amp.GradScaler('cpu', growth_factor=0.5)", "m.amp.GradScaler('cpu', backoff_factor=1.5)", "m.amp.GradScaler('cpu').load_state_dict({})",
    "m.amp.GradScaler('cpu').state_dict()", "m.amp.GradScaler('cpu').update()", "m.amp.GradScaler('cpu').scale(3)", "m.cuda.amp.GradScaler().is_enabled()",
    "m.is_deterministic_algorithms_warn_only_enabled()", "m.get_deterministic_debug_mode()", "m.set_deterministic_debug_mode('x')",
    "m.jit.is_scripting(), m.jit.is_tracing(), m.compiler.is_compiling(), m.onnx.is_in_onnx_export()", "m.cpu.is_available(), m.cpu.device_count()",
    "m.Stream().query()", "m.multiprocessing.get_sharing_strategy()", "sorted(m.multiprocessing.get_all_sharing_strategies())",
    "m.multiprocessing.set_sharing_strategy('x')", "m.torch_version.__version__ >= '1.0', m.torch_version.__version__ >= (2, 5)",
    "m.nn.DataParallel(m.nn.Linear(2, 1)).state_dict().keys()", "m.futures.wait_all([])", "m.futures.Future().value()",
])
def test_values_and_errors(snippet):
    assert outcome(mg, snippet) == outcome(torch, snippet)


def scaled_steps(m, faults):
    """The weights and the factor after each step of a training whose gradients are inf in the steps `faults`."""
    w = m.nn.Parameter(m.ones(2))
    optimizer = m.optim.SGD([w], lr=0.1)
    scaler = m.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen = []
    for step in range(6):
        optimizer.zero_grad()
        scaler.scale((w * w).sum() * (float("inf") if step in faults else 1.0)).backward()
        if step % 2:
            scaler.unscale_(optimizer)
            m.nn.utils.clip_grad_norm_([w], 1.0)
        scaler.step(optimizer)
        scaler.update()
        seen += [*[round(x, 5) for x in w.tolist()], scaler.get_scale(), scaler.state_dict()["_growth_tracker"]]
    return seen


@pytest.mark.parametrize("faults", [(), (0,), (1, 2), (5,)])
def test_grad_scaler(faults):
    assert scaled_steps(mg, faults) == scaled_steps(torch, faults)


def wrong_order(m, calls):
    w = m.nn.Parameter(m.ones(2))
    optimizer = m.optim.SGD([w], lr=0.1)
    scaler = m.amp.GradScaler("cpu")
    if "scale" in calls:
        scaler.scale(w.sum()).backward()
    for call in calls:
        if call == "update":
            scaler.update()
        elif call == "closure":
            scaler.step(optimizer, closure=lambda: None)
        elif call != "scale":
            getattr(scaler, call)(optimizer)


@pytest.mark.parametrize("calls", ["step", "unscale_", "update", "scale update", "scale unscale_ unscale_", "scale step step", "scale step unscale_",
                                   "scale closure", "scale step update"])
def test_grad_scaler_in_the_wrong_order(calls):
    found = []
    for m in (mg, torch):
        try:
            found.append(wrong_order(m, calls.split()))
        except (AssertionError, RuntimeError) as error:
            found.append((next(k for k in KINDS if isinstance(error, k)), str(error).splitlines()[0]))
    assert found[0] == found[1]


@pytest.mark.parametrize("options", [dict(wait=1, warmup=1, active=2), dict(wait=0, warmup=0, active=1, repeat=2),
                                     dict(wait=2, warmup=1, active=1, repeat=1, skip_first=3),
                                     dict(wait=2, warmup=1, active=2, skip_first=1, skip_first_wait=1)], ids=str)
def test_schedule(options):
    plans = [m.profiler.schedule(**options) for m in (mg, torch)]
    assert [plans[0](i).name for i in range(20)] == [plans[1](i).name for i in range(20)]


@pytest.mark.parametrize("size, replicas, drop_last", list(itertools.product((1, 7, 8), (1, 3), (False, True))))
def test_distributed_sampler(size, replicas, drop_last):
    for rank in range(replicas):
        found = [list(m.utils.data.distributed.DistributedSampler(range(size), replicas, rank, shuffle=False, drop_last=drop_last))
                 for m in (mg, torch)]
        assert found[0] == found[1]
    shuffled = mg.utils.data.distributed.DistributedSampler(range(9), 3, 1, seed=5)
    first = list(shuffled)
    assert len(shuffled) == 3 and first == list(shuffled)
    shuffled.set_epoch(1)
    assert first != list(shuffled)


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_distributed_sampler_mistakes(m):
    importlib_made = m.utils.data.distributed.DistributedSampler
    with pytest.raises(ValueError, match="Invalid rank 3"):
        importlib_made(range(3), 3, 3)
    with pytest.raises((RuntimeError, ValueError)):
        importlib_made(range(3))


def trained(m):
    """The losses of a program with every word of the surroundings."""
    m.manual_seed(0)
    m.cuda.manual_seed_all(0)
    m.backends.cudnn.benchmark = False
    m.backends.cudnn.deterministic = True
    m.set_float32_matmul_precision("highest")
    device = m.device("cuda" if m.cuda.is_available() else "mps" if m.backends.mps.is_available() else "cpu")
    model = m.nn.DataParallel(m.nn.Linear(3, 1)).to(device)
    with m.no_grad():
        for i, p in enumerate(model.parameters()):
            p.fill_(0.1 * (i + 1))
    optimizer = m.optim.SGD(model.parameters(), lr=0.1)
    scaler = m.cuda.amp.GradScaler(enabled=m.cuda.is_available())
    losses = []
    x = m.arange(12.0, device=device).reshape(4, 3) / 10
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        with m.autocast(device_type=device.type, enabled=False):
            loss = model(x).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(round(loss.item(), 5))
    m.backends.cudnn.deterministic = False
    return losses


def test_a_program():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert trained(mg) == trained(torch)
