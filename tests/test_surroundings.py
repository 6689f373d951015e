"""Names around tensors that programs use: devices, switches, mixed precision, compilers, profiles. `import minigrad` imports none."""

import doctest
import importlib
import json
import subprocess
import sys
import threading
import types
import warnings

import pytest

import minigrad as mg
from minigrad import _warnings, nn
from minigrad._late import MODULES, NAMES
from minigrad.errors import MinigradError
from minigrad.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

DOCUMENTED = ["accelerator", "amp.autocast_mode", "amp.grad_scaler", "backends._precision", "backends.cpu", "backends.cuda",
              "backends.cudnn", "backends.mkl", "backends.mkldnn", "backends.mps", "backends.openmp", "compiler", "cpu", "cuda._more",
              "cuda.random", "distributed", "futures", "hub", "jit", "mps", "multiprocessing", "onnx", "profiler.profiler",
              "autograd.profiler", "nn.parallel.data_parallel", "nn.parallel.distributed", "nn.parallel.scatter_gather",
              "torch_version", "utils.data.distributed", "xpu"]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples(name):
    module = importlib.import_module(f"minigrad.{name}")
    results = doctest.testmod(module, extraglobs={"mg": mg, "nn": nn}, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
    for public in module.__all__:
        thing = getattr(module, public)
        if isinstance(thing, types.FunctionType) and thing.__module__ == module.__name__:
            assert thing.__doc__, public


def test_late_names():
    for name in MODULES:
        assert isinstance(getattr(mg, name), types.ModuleType)
    for home, names in NAMES.items():
        for name in names.split():
            assert getattr(mg, name) is getattr(importlib.import_module(f"minigrad.{home}"), name)
    elsewhere = set(" ".join(NAMES[home] for home in NAMES if home != "functional").split())
    assert set(NAMES["functional"].split()) == (set(mg.functional.__all__) - elsewhere) | {"_assert"}
    assert not hasattr(mg, "no_such_name") and not hasattr(mg.nn, "no_such_name") and not hasattr(mg.cuda, "no_such_name")
    assert not hasattr(mg.backends, "no_such_name") and not hasattr(mg.utils, "no_such_name")


def test_the_import_brings_none():
    code = "import minigrad, sys, json; print(json.dumps([n for n in sys.modules if n.startswith('minigrad.')]))"
    found = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert not {name.split(".")[1] for name in found} & {*MODULES, "_absent"}
    assert not {"minigrad.nn.parallel", "minigrad.autograd.profiler", "minigrad.utils.tensorboard"} & set(found)


@pytest.fixture
def once():
    """Warnings that come once in a process come again."""
    before = set(_warnings._seen)
    _warnings._seen.clear()
    yield
    _warnings._seen |= before


# ---- devices -------------------------------------------------------------------------------------------------


def test_a_device_that_is_not_there():
    device = mg.device("mps")
    assert (device.type, device.index, str(mg.device("meta"))) == ("mps", None, "meta")
    assert mg.device("mps") == device and mg.device(device) is device
    with pytest.raises(RuntimeError, match="minigrad cannot compute on mps devices"):
        mg.ones(1, device=device)
    with pytest.raises(RuntimeError, match="minigrad cannot compute on mps devices"):
        mg.ones(1).to("mps")
    for wrong in ("foo", "mps:x", "cuda:-1"):
        with pytest.raises(RuntimeError, match=r"Expected one of cpu, cuda|cannot compute"):
            mg.device(wrong)
    with pytest.raises(TypeError):
        mg.device(2.5)


@pytest.mark.skipif(mg.cuda.is_available(), reason="for machines without a GPU")
def test_cuda_without_a_gpu():
    device = mg.device("cuda", 1)
    assert (device.type, device.index) == ("cuda", 1) and mg.device(1) == device
    mg.cuda.manual_seed(0)
    mg.cuda.manual_seed_all(0)
    mg.cuda.empty_cache()
    assert mg.cuda.device_count() == mg.cuda.memory_allocated() == mg.cuda.max_memory_allocated() == mg.cuda.memory_reserved() == 0
    assert not mg.cuda.is_initialized() and mg.accelerator.current_accelerator() is None
    for call in (lambda: mg.ones(1, device=device), mg.cuda.get_device_name, mg.cuda.current_device, mg.cuda.synchronize, mg.cuda.Event,
                 mg.cuda.get_device_properties, mg.cuda.mem_get_info, lambda: mg.cuda.set_device(0), mg.cuda.initial_seed,
                 lambda: mg.set_default_device("cuda"), mg.accelerator.synchronize, mg.cuda.reset_peak_memory_stats):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert caught.value.code == "MG-E310"
    with pytest.raises(RuntimeError):
        with device:
            pass
    assert mg.ones(1).device.type == "cpu"


def test_default_device():
    assert mg.get_default_device() == mg.device("cpu")
    mg.set_default_device("cpu")
    with mg.device("cpu") as device:
        assert device is mg.get_default_device() is mg.ones(1).device
    mg.set_default_device(None)
    with pytest.raises(RuntimeError, match="cannot compute on xpu"):
        mg.set_default_device("xpu")
    with pytest.raises(ZeroDivisionError):
        with mg.device("cpu"):
            raise ZeroDivisionError
    assert len(mg.dtypes._defaults) == 1


def test_events_and_streams():
    stream = mg.Stream()
    with stream, mg.cpu.stream(stream):
        event = stream.record_event()
    stream.wait_event(event)
    stream.wait_stream(mg.cpu.current_stream())
    stream.synchronize()
    event.synchronize()
    assert event.query() and event.elapsed_time(stream.record_event()) >= 0
    with pytest.raises(RuntimeError, match="Both events must be recorded"):
        event.elapsed_time(mg.Event())


# ---- switches ------------------------------------------------------------------------------------------------


def test_switches():
    cudnn = mg.backends.cudnn
    cudnn.benchmark = True
    with cudnn.flags(deterministic=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (False, False, True)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (True, True, False)
    cudnn.benchmark = False
    mg.backends.cuda.matmul.allow_tf32 = True
    assert mg.backends.cuda.matmul.allow_tf32
    mg.backends.cuda.matmul.allow_tf32 = False


def test_precision():
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        mg.set_float32_matmul_precision("x")
    assert mg.get_float32_matmul_precision() == "highest"
    with pytest.raises(TypeError, match="expects a str"):
        mg.set_float32_matmul_precision(1)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        mg.set_deterministic_debug_mode("often")
    mg.set_deterministic_debug_mode("warn")
    assert mg.are_deterministic_algorithms_enabled() and mg.get_deterministic_debug_mode() == 2
    mg.use_deterministic_algorithms(False, warn_only=True)
    assert mg.get_deterministic_debug_mode() == 0


# ---- things that change nothing, and say so once ---------------------------------------------------------------


def test_autocast_arguments(once):
    with mg.autocast("cpu", mg.float16):
        assert (mg.ones(2, 2) @ mg.ones(2, 2)).dtype is mg.float16 and mg.is_autocast_enabled("cpu") and not mg.is_autocast_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mg.autocast("cpu", enabled=False):
            assert (mg.ones(2, 2) @ mg.ones(2, 2)).dtype is mg.float32
    with pytest.warns(UserWarning, match="the target dtype is not supported"), mg.autocast("cpu", mg.float64):
        assert (mg.ones(2, 2) @ mg.ones(2, 2)).dtype is mg.float32

    @mg.autocast("cpu", mg.float16)
    def double(x):
        return 2 * x
    assert double(mg.ones(1)).item() == 2
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        mg.autocast(mg.device("cpu"))
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        mg.autocast("foo")
    with pytest.raises(TypeError, match="takes 1 or 2 arguments"):
        mg.set_autocast_enabled()


def test_autocast_in_threads_and_recomputations():
    """A region belongs to its thread; a checkpoint recomputes in the region of the forward, with each form."""
    w = mg.ones(2, 2, requires_grad=True)
    seen = []

    def product(x):
        seen.append((x @ w).dtype)
        return x @ w
    with mg.autocast("cpu", mg.float16):
        thread = threading.Thread(target=product, args=(mg.ones(2, 2),))
        thread.start()
        thread.join()
        assert seen.pop() is mg.float32
        for reentrant in (False, True):
            y = mg.utils.checkpoint.checkpoint(product, mg.ones(2, 2, requires_grad=True), use_reentrant=reentrant)
            assert y.dtype is mg.float16
            y.sum().backward()
    x = mg.ones(2, 2, requires_grad=True)
    with mg.autocast("cpu", mg.float16):
        ys = [mg.utils.checkpoint.checkpoint(product, x, use_reentrant=reentrant) for reentrant in (False, True)]
    for y in ys:
        y.sum().backward()
    assert seen == [mg.float16] * 8 and w.grad.dtype is mg.float32 and not mg.is_autocast_enabled("cpu")


@pytest.mark.differs(
    what="A parameter that is written to, or first used under `no_grad`, in an `autocast` region",
    there="Later uses get the conversion of its first use.",
    here="It is converted again.")
def test_autocast_sees_a_written_parameter():
    w = nn.Parameter(mg.ones(1, 1))
    with mg.autocast("cpu", mg.float16):
        assert (mg.ones(1, 1) @ w).item() == 1
        with mg.no_grad():
            w.fill_(2)
            assert (mg.ones(1, 1) @ w).item() == 2
        y = mg.ones(1, 1) @ w
    assert y.item() == 2 and y.requires_grad


@pytest.mark.skipif(mg.cuda.is_available(), reason="for machines without a GPU")
def test_cuda_autocast_without_a_gpu(once):
    with pytest.warns(UserWarning, match="CUDA is not available"):
        with mg.cuda.amp.autocast():
            pass
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
        scaler = mg.cuda.amp.GradScaler()
    assert not scaler.is_enabled() and scaler.scale(3) == 3


def test_compile_says_so_once(once):
    model = nn.ReLU()
    with pytest.warns(UserWarning, match="minigrad has no compiler"):
        assert mg.compile(model, mode="reduce-overhead") is model
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @mg.compile
        def f(x):
            return x + 1

        @mg.compile(fullgraph=True, dynamic=False)
        def g(x):
            return x + 2

        @mg._dynamo.optimize("eager")
        def h(x):
            return x + 3
    assert (f(1), g(1), h(1)) == (2, 3, 4)
    mg._dynamo.config.suppress_errors = True
    mg._dynamo.reset()


def test_jit_says_so_once(once):
    class Model(nn.Module):
        @mg.jit.export
        def forward(self, x):
            return self.helper(x)

        @mg.jit.ignore(drop=True)
        def helper(self, x):
            return x if mg.jit.is_scripting() else 2 * x
    model = Model()
    with pytest.warns(UserWarning, match="minigrad has no TorchScript"):
        assert mg.jit.script(model) is model
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mg.jit.trace(model, (mg.ones(1),)) is model
    assert model(mg.ones(1)).item() == 2
    assert mg.jit.isinstance([1], list[int])


ABSENT = ["m.jit.save(None, 'f')", "m.jit.load('f')", "m.onnx.export(None, (), 'f')", "m.hub.load('a/b', 'c')", "m.hub.list('a/b')",
          "m.onnx.dynamo_export(None)", "m.hub.help('a/b', 'c')", "m.hub.download_url_to_file('https://a/b', 'b')",
          "m.utils.model_zoo.load_url('https://a/b.pth')", "m.utils.cpp_extension.load('a', [])", "m.mps.synchronize()",
          "m.utils.cpp_extension.load_inline('a', '')", "m.utils.cpp_extension.CppExtension('a', [])", "m.mps.empty_cache()",
          "m.utils.cpp_extension.CUDAExtension('a', [])", "m.utils.cpp_extension.BuildExtension()", "m.mps.driver_allocated_memory()",
          "m.mps.current_allocated_memory()", "m.xpu.synchronize()", "m.xpu.current_device()",
          "m.nn.parallel.replicate(None, [0])"]


@pytest.mark.parametrize("call", ABSENT)
def test_absent(call):
    with pytest.raises(NotImplementedError, match=r"minigrad has no ") as caught:
        eval(call, {"m": mg})
    assert isinstance(caught.value, MinigradError) and caught.value.code == "MG-E510" and "fix:" in str(caught.value)


def test_weights_that_are_there(tmp_path):
    mg.save({"w": mg.ones(2)}, tmp_path / "model.pth")
    found = mg.hub.load_state_dict_from_url("https://example.org/a/model.pth?x=1", model_dir=str(tmp_path), map_location="cpu")
    assert found["w"].tolist() == [1, 1]


def test_tensorboard(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    sys.modules.pop("minigrad.utils.tensorboard", None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        importlib.import_module("minigrad.utils.tensorboard")
    written = []

    class SummaryWriter:
        def add_scalars(self, tag, values, step=None):
            written.append((tag, values, step))
    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=SummaryWriter))
    writer = importlib.import_module("minigrad.utils.tensorboard").SummaryWriter()
    writer.add_scalars("loss", {"a": mg.ones(1, requires_grad=True)}, step=3)
    assert written[0][0] == "loss" and written[0][1]["a"].tolist() == [1] and written[0][2] == 3
    with pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(nn.ReLU())
    sys.modules.pop("minigrad.utils.tensorboard", None)


# ---- versions, data parallel ------------------------------------------------------------------------------------


def test_versions():
    version = mg.torch_version.__version__
    assert isinstance(version, str) and version >= "1.0" and version >= (2, 0) and not version < "2.9" and version > "2.2"
    assert version.split(".")[0] == "2" and version != "2.1" and version == "2.13" and version <= "2.13.0" and hash(version)
    assert mg.version.__version__ == mg.__version__ and mg.version.cuda is None
    assert mg.torch_version.TorchVersion("unknown") == "unknown"


def test_data_parallel():
    model = nn.DataParallel(nn.Linear(2, 1), device_ids=[0, 1])
    x = mg.ones(3, 2)
    assert model(x).tolist() == model.module(x).tolist() == nn.parallel.data_parallel(model.module, x).tolist()
    assert isinstance(model, nn.Module) and len(list(model.parameters())) == 2
    a, b = nn.parallel.scatter({"x": [mg.arange(4), 1]}, ["cpu", "cpu"])
    assert a["x"][0].tolist() == [0, 1] and b["x"] [1] == 1
    joined = nn.parallel.gather([a, b], "cpu") if False else nn.parallel.gather([{"x": mg.ones(())}, {"x": mg.zeros(())}], "cpu")
    assert joined["x"].tolist() == [1, 0] and nn.parallel.gather([None, None], "cpu") is None
    assert nn.parallel.scatter_kwargs((), {"x": mg.arange(2)}, ["cpu", "cpu"])[1][1]["x"].tolist() == [1]


def test_futures():
    future = mg.futures.Future()
    seen = []
    future.add_done_callback(lambda f: seen.append(f.value()))
    both = mg.futures.collect_all([future])
    with pytest.raises(RuntimeError, match="before the Future was completed"):
        future.value()
    failing = future.then(lambda f: 1 / 0)
    future.set_result(5)
    assert seen == [5] and both.done() and mg.futures.wait_all([future]) == [5] and mg.futures.collect_all([]).wait() == []
    with pytest.raises(ZeroDivisionError):
        failing.wait()
    with pytest.raises(RuntimeError, match="marked completed once"):
        future.set_exception(ValueError())


# ---- profiles ------------------------------------------------------------------------------------------------------


def test_profile():
    x = mg.ones(3, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as prof:
        with record_function("step"):
            (x * x).sum().backward()
            x.grad.add_(1)
    names = [event.name for event in prof.events()]
    assert names[0] == "step" and names[1:4] == ["mul", "sum", "expand"] and names[-1] == "add_"
    assert prof.events()[1].input_shapes == [[3], [3]] and prof.events()[1].cpu_memory_usage == 12
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=2)
    assert "step" in table and "# of Calls" in table and "CPU Mem" in table and "Self CPU time total: " in table
    total = prof.events()[0]
    assert total.self_cpu_time_total <= total.cpu_time_total and prof.key_averages().total_average().count == len(names)
    assert "Input Shapes" in str(prof.key_averages(group_by_input_shape=True))
    with pytest.raises(AttributeError, match="has no attribute 'blub'"):
        prof.key_averages().table(sort_by="blub")
    assert (x * 1).grad_fn.name() == "MulBackward0" and len(prof.events()) == len(names)


def test_chrome_trace(tmp_path):
    with profile(on_trace_ready=mg.profiler.tensorboard_trace_handler(tmp_path / "log", "me")) as prof:
        mg.ones(2).exp()
    prof.export_chrome_trace(tmp_path / "trace.json")
    for path in (tmp_path / "trace.json", *(tmp_path / "log").iterdir()):
        assert json.loads(path.read_text())["traceEvents"][0]["name"] == "exp"


def test_profile_in_the_wrong_order():
    prof = mg.autograd.profiler.profile()
    with prof:
        assert str(prof) == "<unfinished profile>"
        with pytest.raises(RuntimeError, match="didn't finish running"):
            prof.events()
        with pytest.raises(RuntimeError, match="not reentrant"):
            prof.__enter__()
    with mg.autograd.profiler.profile(enabled=False) as nothing:
        mg.ones(2).exp()
    assert len(nothing.events()) == 0
    with pytest.raises(RuntimeError, match="has recorded nothing"):
        with profile(schedule=schedule(wait=5, warmup=0, active=1)) as prof:
            prof.step()
        prof.events()
    with pytest.raises(AssertionError, match="Invalid profiler schedule"):
        schedule(wait=1, warmup=1, active=0)


def test_profile_and_an_error():
    with pytest.raises(RuntimeError):
        with mg.autograd.profiler.profile() as prof:
            with record_function("block"):
                mg.ones(2) @ mg.ones(3)
    assert next(event.name for event in prof.events()) == "block"


def test_record_function_without_a_profile():
    @record_function("f")
    def f(n):
        return f(n - 1) if n else "done"
    assert f(3) == "done"
    assert ProfilerAction.RECORD.name == "RECORD"


# ---- processes ---------------------------------------------------------------------------------------------------------


def test_multiprocessing():
    assert mg.multiprocessing.get_sharing_strategy() in mg.multiprocessing.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="unknown sharing strategy"):
        mg.multiprocessing.set_sharing_strategy("telepathy")
    assert mg.multiprocessing.Process and mg.multiprocessing.cpu_count() > 0


def fail(i, value):
    if i == 1:
        raise ValueError(value)


def end(i):
    sys.exit(7)


def test_spawn():
    run = mg.multiprocessing.start_processes
    run(fail, ("fine",), nprocs=1, start_method="fork")
    with pytest.raises(mg.multiprocessing.ProcessRaisedException, match=r"Process 1 terminated(.|\n)*ValueError: told"):
        run(fail, ("told",), nprocs=2, start_method="fork")
    with pytest.raises(mg.multiprocessing.ProcessExitedException, match="exit code 7"):
        run(end, nprocs=1, start_method="fork")
    context = run(fail, ("fine",), nprocs=1, join=False, start_method="fork")
    assert len(context.pids()) == 1
    while not context.join():
        pass


@pytest.mark.parametrize("label", [3, (1, 2), mg.ones(2), object()])
def test_a_timer_takes_any_label(label):
    from minigrad.utils.benchmark import Timer
    assert Timer("1", label=label, sub_label=0, description="").title == f"{label} 0" and Timer("1 + 1", label="").title == "1 + 1"
