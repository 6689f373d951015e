"""nn.Module: the tree of parameters, buffers and modules, its hooks and its state. Runs without torch."""

import copy
import pickle

import pytest

import minigrad as mg
from minigrad import nn


class Net(nn.Module):
    """Two layers, one of them used twice, a buffer that is state and one that is not, and a plain attribute."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 3), nn.Dropout(0.5))
        self.again = self.rest[1]
        self.scale = nn.Parameter(mg.ones(1))
        self.register_buffer("mean", mg.zeros(3))
        self.register_buffer("scratch", mg.zeros(1), persistent=False)
        self.nothing = None

    def forward(self, x):
        return self.again(self.rest(self.first(x))) * self.scale + self.mean


@pytest.fixture
def net():
    return Net()


# ---- the tree --------------------------------------------------------------------------------------------

PARAMETERS = ["scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]


def test_walks(net):
    assert [n for n, _ in net.named_parameters()] == PARAMETERS
    assert [n for n, _ in net.named_parameters(prefix="net", recurse=False)] == ["net.scale"]
    assert [n for n, _ in net.named_parameters(remove_duplicate=False)] == [*PARAMETERS, "again.weight", "again.bias"]
    assert [n for n, _ in net.named_buffers()] == ["mean", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1", "rest.2"]
    assert [n for n, _ in net.named_modules(prefix="n", remove_duplicate=False)] == \
        ["n", "n.first", "n.rest", "n.rest.0", "n.rest.1", "n.rest.2", "n.again"]
    assert [n for n, _ in net.named_children()] == ["first", "rest", "again"]
    assert list(net.children()) == [net.first, net.rest, net.again]
    assert len(list(net.modules())) == 6 and len(list(net.modules(remove_duplicate=False))) == 7
    assert all(p is q for p, (_, q) in zip(net.parameters(), net.named_parameters(), strict=True))
    assert next(iter(net.buffers())) is net.mean and len(list(net.parameters(recurse=False))) == 1


def test_look_up_by_path(net):
    assert net.get_submodule("rest.1") is net.again and net.get_submodule("") is net
    assert net.get_parameter("rest.1.bias") is net.again.bias
    assert net.get_buffer("mean") is net.mean
    for call, words in ((lambda: net.get_submodule("rest.9"), "has no attribute `9`"), (lambda: net.get_parameter("rest.zz"),
            "`zz`"),
                        (lambda: net.get_parameter("mean"), "`mean`"), (lambda: net.get_buffer("scale"), "is not a buffer")):
        with pytest.raises(AttributeError, match=words):
            call()


def test_apply_visits_children_first(net):
    seen = []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Linear", "ReLU", "Linear", "Dropout", "Sequential", "Linear", "Net"]


def test_train_and_eval(net):
    assert net.eval() is net and not any(m.training for m in net.modules())
    assert net.train() is net and all(m.training for m in net.modules())
    net.train(False)
    assert not net.rest[2].training
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train(1)


def test_requires_grad_and_zero_grad(net):
    net.eval()(mg.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all((p.grad == 0).numpy().all() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert net.requires_grad_(False) is net and not any(p.requires_grad for p in net.parameters())


# ---- attributes ------------------------------------------------------------------------------------------


def test_assignment_registers(net):
    net.extra = nn.Parameter(mg.zeros(2))
    net.layer = nn.ReLU()
    net.state = nn.Buffer(mg.zeros(2))
    assert "extra" in net._parameters and "layer" in net._modules and "state" in net._buffers
    assert net.extra is net._parameters["extra"] and "extra" in dir(net)
    net.layer = nn.Parameter(mg.zeros(1))      # changes its kind: one name, one entry
    assert "layer" in net._parameters and "layer" not in net._modules
    net.plain = 3
    net.plain = nn.ReLU()
    assert "plain" not in net.__dict__ and isinstance(net.plain, nn.ReLU)


def test_a_registered_name_takes_its_kind_or_none(net):
    net.first.bias = None
    assert net.first.bias is None and "bias" not in net.first.state_dict()
    assert net.first(mg.ones(1, 2)).shape == (1, 3)
    net.mean = mg.ones(3)
    assert net.mean is net._buffers["mean"]
    net.rest = None
    assert [n for n, _ in net.named_children()] == ["first", "again"]
    for name, value, words in (("scale", mg.ones(1), "as parameter 'scale'"), ("scale", 3, "as parameter 'scale'"),
                               ("again", 3, "as child module 'again'"), ("mean", "x", "as buffer 'mean'")):
        with pytest.raises(TypeError, match=words):
            setattr(net, name, value)


def test_deletion(net):
    for name in ("scale", "mean", "rest", "nothing"):
        delattr(net, name)
        assert not hasattr(net, name)
    with pytest.raises(AttributeError):
        del net.nowhere
    del net.scratch
    net.register_buffer("scratch", mg.zeros(1))
    assert "scratch" in net.state_dict()        # it is not remembered as non-persistent


def test_missing_attribute_names_the_class(net):
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nowhere'"):
        net.nowhere     # noqa: B018


@pytest.mark.parametrize("call, error, words", [
    (lambda m: m.register_parameter(3, None), TypeError, "parameter name should be a string. Got int"),
    (lambda m: m.register_parameter("a.b", None), KeyError, r"can.*t contain"),
    (lambda m: m.register_parameter("", None), KeyError, r"can.*t be empty string"),
    (lambda m: m.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
    (lambda m: m.register_parameter("x", mg.ones(2)), TypeError, "Parameter or None required"),
    (lambda m: m.register_buffer("x", 3), TypeError, "cannot assign 'int' object to buffer 'x'"),
    (lambda m: m.register_buffer(3, None), TypeError, "buffer name should be a string"),
    (lambda m: m.register_buffer("nothing", mg.ones(1)), KeyError, "already exists"),
    (lambda m: m.add_module("x", 3), TypeError, "int is not a Module subclass"),
    (lambda m: m.register_module("a.b", None), KeyError, r"can.*t contain"),
    (lambda m: m.add_module("", nn.ReLU()), KeyError, "empty"),
    (lambda m: nn.Module()(3), NotImplementedError, 'missing the required "forward"'),
    (lambda m: m.to(mg.int64), TypeError, "only accepts floating point or complex dtypes"),
    (lambda m: m.load_state_dict(3), TypeError, "dict-like"),
    (lambda m: nn.Module(3), TypeError, "positional argument"),
    (lambda m: m.register_forward_hook(3), TypeError, "must be callable"),
])
def test_errors(net, call, error, words):
    with pytest.raises(error, match=words):
        call(net)


@pytest.mark.parametrize("value", [lambda: nn.Parameter(mg.ones(1)), nn.ReLU, lambda: nn.Buffer(mg.ones(1))], ids=["Parameter",
        "Module", "Buffer"])
def test_assignment_before_init(value):
    class Early(nn.Module):
        def __init__(self):
            self.x = value()
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Early()


# ---- conversions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert, dtype", [(lambda m: m.double(), mg.float64), (lambda m: m.half(), mg.float16),
                                            (lambda m: m.float(), mg.float32),
                                            (lambda m: m.to(mg.float64), mg.float64), (lambda m: m.to("cpu", mg.float64),
                                                    mg.float64)],
                         ids=["double", "half", "float", "to", "to device and dtype"])
def test_conversions(net, convert, dtype):
    net.register_buffer("count", mg.tensor(3))
    before = dict(net.named_parameters())
    net.eval()(mg.ones(1, 2)).sum().backward()
    assert convert(net) is net
    assert all(p is before[n] and p.dtype is dtype and p.grad.dtype is dtype for n, p in net.named_parameters())
    assert net.mean.dtype is dtype and net.count.dtype is mg.int64      # integers stay
    assert net.cpu() is net


# ---- hooks ---------------------------------------------------------------------------------------------------


def test_hooks_run_in_order_and_replace():
    layer, seen = nn.Identity(), []
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre 1"))
    layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre 0"), prepend=True)
    layer.register_forward_hook(lambda m, args, out: seen.append(("post", args[0].item(), out.item())))
    handle = layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(mg.tensor(1.0)).item() == 20
    assert seen == ["pre 0", "pre 1", ("post", 2.0, 2.0)]
    handle.remove()
    assert layer(mg.tensor(1.0)).item() == 2


def test_hooks_with_kwargs():
    class Scaled(nn.Module):
        def forward(self, x, by=1):
            return x * by
    layer = Scaled()
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["by"], with_kwargs=True)
    assert layer(mg.tensor(2.0), by=2).item() == 2 * 3 + 3
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="tuple of"):
        layer(mg.tensor(2.0), by=2)


def test_always_call():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")
    layer, seen = Broken(), []
    layer.register_forward_hook(lambda m, args, out: seen.append("usual"))
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        layer(mg.ones(1))
    assert seen == [None]

    def another(m, args, out):
        raise KeyError("second")
    layer.register_forward_hook(another, always_call=True)
    with pytest.warns(UserWarning, match="was silenced"), pytest.raises(ValueError, match="broken"):
        layer(mg.ones(1))


def test_full_backward_hooks():
    """Hooks on both ends of a module see the gradients in order, and their results replace the gradients."""
    layer, seen = nn.Tanh(), []
    layer.register_full_backward_hook(lambda m, ins, outs: seen.append(("hook", ins[0].item(), outs[0].item())) or (ins[0] * 2,))
    layer.register_full_backward_pre_hook(lambda m, outs: seen.append(("pre", outs[0].item())) or (outs[0] * 3,))
    layer.register_full_backward_hook(lambda m, ins, outs: seen.append("first"), prepend=True)
    x = mg.zeros(1, requires_grad=True)
    layer(x).backward()
    assert seen == [("pre", 1), "first", ("hook", 3, 3)] and x.grad.item() == 6


@pytest.mark.parametrize("register, what", [
    (lambda layer: layer.register_full_backward_hook(lambda m, ins, outs: (*ins, *ins)), "grad_input, got 2, but expected 1"),
    (lambda layer: layer.register_full_backward_hook(lambda m, ins, outs: ins[0]), "grad_input, got a Tensor, but expected 1"),
    (lambda layer: layer.register_full_backward_pre_hook(lambda m, outs: ()), "grad_output, got 0, but expected 1")])
def test_backward_hooks_return_as_many(register, what):
    layer, x = nn.Tanh(), mg.zeros(1, requires_grad=True)
    handle = register(layer)
    with pytest.raises(RuntimeError, match=what) as caught:
        layer(x).backward()
    assert caught.value.code == "MG-E245" and x.grad is None
    handle.remove()
    layer(x).backward()
    assert x.grad.item() == 1


def test_backward_hooks_without_inputs_that_require_a_gradient():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, ins, outs: seen.append((ins, outs[0].item())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(mg.ones(2)).sum().backward()
    assert seen == [((None,), 1)]


# ---- state --------------------------------------------------------------------------------------------------


def test_state_dict_shares_memory_and_names(net):
    state = net.state_dict()
    assert list(state) == ["scale", "mean", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias", "again.weight",
                           "again.bias"]
    assert not any(v.requires_grad for v in state.values())
    assert all(isinstance(v, nn.Parameter) for k, v in net.state_dict(keep_vars=True).items() if k != "mean")
    state["scale"].fill_(5)
    assert net.scale.item() == 5
    assert list(net.first.state_dict(prefix="a.")) == ["a.weight", "a.bias"]


def test_load_copies(net):
    other = Net()
    state = {k: v.clone() for k, v in other.state_dict().items()}
    before = net.first.weight
    assert net.load_state_dict(state) == ([], [])
    assert net.first.weight is before and (net.first.weight == other.first.weight).numpy().all()
    state["first.weight"].zero_()
    assert not (net.first.weight == 0).numpy().all()


def test_load_assign(net):
    state = Net().state_dict()
    net.load_state_dict(state, assign=True)
    state["first.weight"].fill_(2)
    assert (net.first.weight == 2).numpy().all() and isinstance(net.first.weight, nn.Parameter) and net.first.weight.requires_grad
    assert net.mean is state["mean"]


@pytest.mark.parametrize("change, words", [
    (lambda s: s.pop("scale"), 'Missing key(s) in state_dict: "scale".'),
    (lambda s: s.update(more=mg.ones(1)), 'Unexpected key(s) in state_dict: "more".'),
    (lambda s: s.update(scale=mg.ones(2)), "size mismatch for scale: copying a param with shape"),
    (lambda s: s.update(scale=3), "expected minigrad.Tensor or Tensor-like object"),
], ids=["missing", "unexpected", "shape", "no tensor"])
def test_load_errors_leave_everything_as_it_was(net, change, words):
    state = {k: v + 1 for k, v in net.state_dict().items()}
    before = {k: v.clone() for k, v in net.state_dict().items()}
    change(state)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert words in str(caught.value) and "Error(s) in loading state_dict for Net" in str(caught.value)
    assert all((v == before[k]).numpy().all() for k, v in net.state_dict().items())


def test_load_not_strict(net):
    found = net.load_state_dict({"scale": mg.full((1,), 4.0), "more": mg.ones(1)}, strict=False)
    assert net.scale.item() == 4 and found.unexpected_keys == ["more"] and "first.weight" in found.missing_keys
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict({"scale": mg.ones(3)}, strict=False)


def test_load_does_not_record(net):
    net.load_state_dict({k: v.clone().requires_grad_() for k, v in net.state_dict().items()})
    assert all(p.is_leaf and p.grad_fn is None for p in net.parameters())


def test_copies_are_independent_and_keep_sharing(net):
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.again is twin.rest[1] and twin.again is not net.again
        assert [n for n, _ in twin.named_parameters()] == PARAMETERS
        assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in twin.parameters())
        twin.scale.data.fill_(9)
        assert net.scale.item() == 1


# ---- looks ----------------------------------------------------------------------------------------------------


def test_repr(net):
    class Bare(nn.Module):
        def extra_repr(self):
            return "size=3"
    assert repr(Bare()) == "Bare(size=3)" and repr(nn.Module()) == "Module()"
    bare = Bare()
    bare.child = nn.Sequential(nn.ReLU())
    assert repr(bare) == "Bare(\n  size=3\n  (child): Sequential(\n    (0): ReLU()\n  )\n)"


# ---- parameters -------------------------------------------------------------------------------------------------


def test_parameter():
    data = mg.ones(2)
    p = nn.Parameter(data)
    assert p.requires_grad and p.is_leaf and p.data_ptr() == data.data_ptr()
    assert type(p * 2) is mg.Tensor and type(p.detach()) is mg.Tensor
    assert repr(p).startswith("Parameter containing:\ntensor([1., 1.], requires_grad=True)")
    assert not nn.Parameter(mg.tensor([1]), requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,) == nn.Buffer().shape
    with pytest.raises(RuntimeError, match="can require gradients"):
        nn.Parameter(mg.tensor([1]))
    assert isinstance(copy.deepcopy(p), nn.Parameter) and isinstance(pickle.loads(pickle.dumps(p)), nn.Parameter)


def test_buffer():
    module = nn.Module()
    module.kept, module.scratch = nn.Buffer(mg.ones(1)), nn.Buffer(mg.ones(1), persistent=False)
    assert list(module.state_dict()) == ["kept"] and [n for n, _ in module.named_buffers()] == ["kept", "scratch"]


# ---- containers ------------------------------------------------------------------------------------------------


def test_sequential():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    s = nn.Sequential(a, b)
    assert list(s) == [a, b] and len(s) == 2 and s[-1] is b and list(s[1:]) == [b]
    assert list(s.append(c)) == [a, b, c] and list(s.insert(0, c)) == [c, a, b, c]
    assert list(s.extend([a])) == [c, a, b, c, a] and s.pop(0) is c and list(s) == [a, b, c, a]
    del s[1:3]
    assert list(s) == [a, a] and list(s._modules) == ["0", "1"]
    s[1] = b
    assert list(s + nn.Sequential(c)) == [a, b, c] and list(nn.Sequential(a) * 2) == [a, a] and len(2 * nn.Sequential(a)) == 2
    for call, error in ((lambda: s[5], IndexError), (lambda: nn.Sequential(3), TypeError), (lambda: s.append(3), TypeError),
                        (lambda: s.insert(0, 3), TypeError), (lambda: s.insert(9, a), IndexError), (lambda: s * 0, ValueError),
                        (lambda: s * 1.5, TypeError), (lambda: s + 3, TypeError)):
        with pytest.raises(error):
            call()
