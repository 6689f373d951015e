"""State dicts: their hooks, extra state, and reports of keys that do not fit; and changes to a whole module.

Each test runs the same lines on minigrad and on PyTorch (skipped without it), and compares the observations.
"""

import re

import pytest

import minigrad as mg


@pytest.fixture(params=["minigrad", "torch"])
def m(request):
    return pytest.importorskip(request.param)


def net(m):
    """Two layers, a batch norm with buffers, and a layer in a layer."""
    return m.nn.Sequential(m.nn.Linear(2, 3), m.nn.BatchNorm1d(3), m.nn.Sequential(m.nn.Linear(3, 1), m.nn.ReLU()))


KEYS = ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked", "2.0.weight", "2.0.bias"]


def counted(m):
    """Without it PyTorch takes a state dict for one from before there were counters."""
    return {"1.num_batches_tracked": m.tensor(0)}


# ---- the report -------------------------------------------------------------------------------------------------


def test_all_that_is_wrong_is_said_at_once(m):
    model = net(m)
    state = model.state_dict()
    assert list(state) == KEYS
    del state["0.bias"], state["1.running_var"]
    state.update({"0.weight": m.ones(3, 3), "more": m.ones(1), "2.1.weight": m.ones(1), "2.0.bias": m.ones(2)})
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(state)
    lines = str(caught.value).split("\n\t")
    assert lines[0] == "Error(s) in loading state_dict for Sequential:"
    assert lines[1:3] == ['Missing key(s) in state_dict: "0.bias", "1.running_var". ', 'Unexpected key(s) in state_dict: "more", "2.1.weight". ']
    assert re.match(r"size mismatch for 0.weight: copying a param with shape .*\[3, 3\]\)? from checkpoint, the shape in current model is .*"
                    r"\[3, 2\]\)?\.", lines[3])
    assert lines[4].startswith("size mismatch for 2.0.bias") and len(lines) == 5


def test_not_strict(m):
    model = net(m)
    found = model.load_state_dict({**counted(m), "0.bias": m.full((3,), 7.0), "more": m.ones(1)}, strict=False)
    assert found.missing_keys == [k for k in KEYS if k not in ("0.bias", *counted(m))] and found.unexpected_keys == ["more"]
    assert model[0].bias.tolist() == [7, 7, 7]
    assert repr(found) == f"_IncompatibleKeys(missing_keys={found.missing_keys}, unexpected_keys=['more'])"
    assert repr(model.load_state_dict(model.state_dict())) == "<All keys matched successfully>"


def test_metadata(m):
    state = net(m).state_dict()
    assert list(state._metadata) == ["", "0", "1", "2", "2.0", "2.1"] and state._metadata["0"] == {"version": 1}


# ---- hooks --------------------------------------------------------------------------------------------------------


def test_state_dict_hooks(m):
    model, seen = net(m), []
    inner = model[2][0]
    handles = [inner.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append((module is inner, prefix, keep_vars))),
               inner.register_state_dict_post_hook(lambda module, state, prefix, metadata: seen.append((list(state)[-1], prefix, metadata))),
               model.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update({prefix + "last": len(state)}))]
    state = model.state_dict(prefix="net.", keep_vars=True)
    assert seen == [(True, "net.2.0.", True), ("net.2.0.bias", "net.2.0.", {"version": 1})]
    assert list(state)[-1] == "net.last" and state["net.last"] == len(KEYS)
    for handle in handles:
        handle.remove()
    assert list(model.state_dict()) == KEYS and len(seen) == 2


def test_a_post_hook_that_returns_something(m):
    layer = m.nn.Linear(1, 1)
    handle = layer.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        layer.state_dict()
    handle.remove()
    layer.register_load_state_dict_post_hook(lambda *args: ())
    with pytest.raises(AssertionError, match="register_load_state_dict_post_hook`` are not expected to return new values"):
        layer.load_state_dict(layer.state_dict())


def test_load_pre_hook_renames(m):
    """The hook changes a copy, so the dict of the caller stays unchanged. Errors that the hook adds are reported."""
    model, seen = net(m), []

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        seen.append((module is model[0], prefix, strict, missing, unexpected, errors))
        if prefix + "w" in state:
            state[prefix + "weight"] = state.pop(prefix + "w")
    model[0].register_load_state_dict_pre_hook(rename)
    state = model.state_dict()
    state["0.w"] = state.pop("0.weight") * 0 + 5
    before = list(state)
    assert repr(model.load_state_dict(state)) == "<All keys matched successfully>" and list(state) == before
    assert (model[0].weight == 5).all() and seen == [(True, "0.", True, [], [], [])]
    model[2].register_load_state_dict_pre_hook(lambda module, state, prefix, metadata, strict, missing, unexpected, errors: errors.append("no!"))
    with pytest.raises(RuntimeError, match=r"Error\(s\) in loading state_dict for Sequential:\n\tno!"):
        model.load_state_dict(model.state_dict())


def test_load_post_hooks(m):
    """The hooks run innermost first, after the values are loaded; a key that they remove from the lists is no error."""
    model, seen = net(m), []
    for module in (model, model[2], model[2][0]):
        module.register_load_state_dict_post_hook(
            lambda module, keys: seen.append((type(module).__name__, model[0].bias.tolist(), list(keys.missing_keys))))
    model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    found = model.load_state_dict({**counted(m), "0.bias": m.full((3,), 7.0)})
    assert found.missing_keys == [] and model[0].bias.tolist() == [7, 7, 7]
    assert [name for name, *_ in seen] == ["Linear", "Sequential", "Sequential"] and all(bias == [7, 7, 7] for _, bias, _ in seen)
    assert seen[-1][2] == [k for k in KEYS if k not in ("0.bias", *counted(m))]
    with pytest.raises(RuntimeError, match="Unexpected key"):
        model.load_state_dict({"more": m.ones(1)})


@pytest.mark.differs(
    what="`load_state_dict` with one tensor of a wrong shape",
    there="It raises after it has loaded the others.",
    here="It raises before it changes anything.")
def test_shapes_are_checked_before_post_hooks():
    """[better] PyTorch has loaded the rest by then."""
    model, seen = net(mg), []
    model.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys))
    with pytest.raises(RuntimeError, match=r"size mismatch for 0\.bias"):
        model.load_state_dict({**model.state_dict(), "0.weight": mg.full((3, 2), 9.0), "0.bias": mg.ones(4)})
    assert not seen and not (model[0].weight == 9).any()


def test_hooks_are_copied_and_pickled_with_the_module():
    import copy
    layer, seen = mg.nn.Linear(1, 1), []
    layer.register_state_dict_pre_hook(lambda *args: seen.append(1))
    copy.deepcopy(layer).state_dict()
    assert seen == [1] and not mg.nn.Linear(1, 1)._state_dict_pre_hooks


# ---- extra state ----------------------------------------------------------------------------------------------------


def counter(m):
    class Counter(m.nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]
    return Counter()


def test_extra_state(m):
    a, b = m.nn.Sequential(m.nn.Linear(1, 1), counter(m)), m.nn.Sequential(m.nn.Linear(1, 1), counter(m))
    a[1].count = 7
    state = a.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1._extra_state"] and state["1._extra_state"] == {"count": 7}
    b.load_state_dict(state)
    assert b[1].count == 7
    del state["1._extra_state"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "1._extra_state"'):
        b.load_state_dict(state)
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "_extra_state"'):
        m.nn.ReLU().load_state_dict({"_extra_state": 3})
    for call in (m.nn.ReLU().get_extra_state, lambda: m.nn.ReLU().set_extra_state(3)):
        with pytest.raises(RuntimeError, match="Reached a code path"):
            call()


# ---- changes to the whole ---------------------------------------------------------------------------------------------


def test_set_submodule(m):
    model = net(m)
    model.set_submodule("2.0", m.nn.Tanh())
    model.set_submodule("3", m.nn.ReLU())
    assert [type(x).__name__ for x in model.modules()] == ["Sequential", "Linear", "BatchNorm1d", "Sequential", "Tanh", "ReLU", "ReLU"]
    for call, error, words in ((lambda: model.set_submodule("", m.nn.ReLU()), ValueError, "Cannot set the submodule without a target name!"),
                               (lambda: model.set_submodule("0", 3), ValueError, "`module` is not an nn.Module, found <class 'int'>"),
                               (lambda: model.set_submodule("9.a", m.nn.ReLU()), AttributeError, "has no attribute `9`"),
                               (lambda: model.set_submodule("9", m.nn.ReLU(), strict=True), AttributeError, "has no attribute `9`"),
                               (lambda: model.set_submodule("0.weight", m.nn.ReLU()), AttributeError, "`weight` is not an nn.Module")):
        with pytest.raises(error, match=words):
            call()


def test_type_and_to_empty(m):
    model = net(m).type(m.float64)
    assert {t.dtype for t in (*model.parameters(), *model.buffers())} == {m.float64}        # the counter too
    model = net(m).to_empty(device="cpu")
    assert [tuple(p.shape) for p in model.parameters()] == [(3, 2), (3,), (3,), (3,), (1, 3), (1,)] and all(p.requires_grad for p in model.parameters())
    outer, weight = net(m), m.full((3, 2), 5.0)
    with m.no_grad():
        outer[0].weight.copy_(weight)
    assert outer.to_empty(device="cpu", recurse=False)[0].weight.tolist() == weight.tolist()


def test_to_keeps_counters(m):
    model = net(m).to(m.float64)
    assert model[1].running_mean.dtype == m.float64 and model[1].num_batches_tracked.dtype == m.int64
    assert net(m).to(m.ones(1, dtype=m.float64))[0].weight.dtype == m.float64
    assert net(m).to("cpu", m.float64)[0].weight.dtype == m.float64


def test_extra_repr_of_several_lines(m):
    class Described(m.nn.Module):
        def __init__(self, text, child=None):
            super().__init__()
            self.text = text
            if child is not None:
                self.child = child

        def extra_repr(self):
            return self.text
    assert repr(Described("a, b")) == "Described(a, b)"
    assert repr(Described("a\nb")) == "Described(\n  a\n  b\n)"
    assert repr(Described("a\nb", Described("c", Described("d\ne")))) == (
        "Described(\n  a\n  b\n  (child): Described(\n    c\n    (child): Described(\n      d\n      e\n    )\n  )\n)")
    class Renamed(Described):
        def _get_name(self):
            return "Other"
    assert repr(Renamed("a")) == "Other(a)"


def test_what_torch_has():
    """Every public name of torch.nn.Module, except those for other devices and for other processes."""
    torch = pytest.importorskip("torch")
    theirs = {n for n in dir(torch.nn.Module) if not n.startswith("_")}
    left_out = {"ipu", "mtia", "xpu", "T_destination"}
    assert theirs - set(dir(mg.nn.Module)) == left_out
