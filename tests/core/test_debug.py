"""`mg.debug`: files and lines in the error of a modified saved tensor, and the two read-outs."""

import os
import threading
import weakref

import pytest

import minigrad as mg
from tests.core.engine_tools import leaf, raises

HERE = os.path.basename(__file__)
MODIFIED = "modified by an inplace operation"


def line_of(text):
    """The numbers of the lines of this file that contain `text`, in a comment."""
    with open(__file__, encoding="utf-8") as file:
        return [n for n, line in enumerate(file, 1) if line.rstrip().endswith("# " + text)]


def story(error):
    """The lines of the error after "where:", which describe the save and the writes."""
    lines = str(error.value).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  where:"))
    return [line.strip().removeprefix("where:").strip() for line in lines[first:] if not line.startswith(("  fix:", "  help:"))]


def modified():
    x, w = leaf(mg, 1., 2.), mg.ones(2)
    y = (x * w).sum()           # saved here
    w.mul_(2)                   # first write
    w[0] = 3.                   # second write
    with pytest.raises(RuntimeError, match=MODIFIED) as error:
        y.backward()
    return error


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
@pytest.mark.parametrize("mode", [mg.debug, lambda: mg.autograd.set_detect_anomaly(True), mg.autograd.detect_anomaly])
def test_error_names_files_and_lines(mode):
    """saved_and_versions/S-31: the error has the file and line of the save and of each later write, which PyTorch does not show."""
    with mode():
        error = modified()
    told = story(error)
    for said, (line,), source in zip(told, (line_of("saved here"), line_of("first write"), line_of("second write")),
                                     ("y = (x * w).sum()", "w.mul_(2)", "w[0] = 3.")):
        assert f"{HERE}:{line} " in said and source in said
    assert [said.split()[:3] for said in told] == [["version", "0:", "saved"], ["version", "1:", "mul_"], ["version", "2:", "copy_"]]
    assert "MulBackward0 (z = x y), which saved y as _saved_other for the gradient of self" in str(error.value)


def test_error_without():
    """Outside mg.debug() the error has the line of the backward, says how to get the others, and nothing is noted."""
    text = str(modified().value)
    assert "where:    tests/core/test_debug.py, line" in text and "saved" not in text.partition("where:")[2].partition("\n")[0] and "with minigrad.debug():" in text
    assert mg.debug.versions(mg.ones(2)).writes == []


def test_error_of_a_saved_output():
    with mg.debug():
        y = leaf(mg, 1., 2.).exp()
        y.neg_()
        with pytest.raises(RuntimeError, match=MODIFIED) as error:
            y.sum().backward()
    assert "ExpBackward0 (z = e to the power x), which saved z as _saved_result for the gradient of self" in str(error.value)
    assert [said.split()[2] for said in story(error)] == ["saved", "neg_"]


def test_error_of_a_stale_view():
    """It names the write to the base that made it stale."""
    with mg.debug():
        base = leaf(mg, 1., 2.) * 1
        first, _ = base.unbind()
        base.mul_(2)                # makes it stale
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace") as error:
            first * 2
    said, = story(error)
    assert said.split()[:3] == ["version", "1:", "mul_"] and f"{HERE}:{line_of('makes it stale')[0]} " in said


def test_what_was_not_noted():
    """The error says which writes were not noted."""
    x, w = leaf(mg, 1., 2.), mg.ones(2)
    y = (x * w).sum()
    w.add_(1)
    w.add_(1)
    with mg.debug():
        w.neg_()
    w.add_(1)
    with pytest.raises(RuntimeError) as error:
        y.backward()
    told = story(error)
    assert [said.split(":")[0] for said in told] == ["version 0", "versions 1-2", "version 3", "version 4"]
    assert "place not noted" in told[0] and "debug() was off" in told[1] and "neg_" in told[2] and "debug() was off" in told[3]


def test_many_writes():
    x, w = leaf(mg, 1., 2.), mg.ones(2)
    y = (x * w).sum()
    with mg.debug():
        for _ in range(5000):
            w.add_(1)
    assert len(mg.debug.versions(w).writes) == 1000 and mg.debug.versions(w).version == 5000
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert len(story(error)) <= 21 and "up to version 5000" in str(error.value)


WRITERS = {
    "add_": lambda x: x.add_(1), "mul_": lambda x: x.__imul__(2), "fill_": lambda x: x.fill_(3), "zero_": lambda x: x.zero_(),
    "pow_": lambda x: x.pow_(2), "clamp_": lambda x: x.clamp_(mg.zeros(2)), "index_put_": lambda x: x.__setitem__([0], 1.),
    "exp_": lambda x: x[:1].exp_(), "neg_": lambda x: x.detach().neg_(), "increment_version()": mg.autograd.graph.increment_version,
    "uniform_": lambda x: x.uniform_(), "copy_": lambda x: x.copy_(mg.zeros(2)), "index_add_": lambda x: x.index_add_(0, mg.tensor([0]), mg.ones(1)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_is_noted(name):
    """saved_and_versions/V-02: the log has as many entries as the version counts."""
    x = mg.ones(2)
    with mg.debug():
        WRITERS[name](x)
    seen = mg.debug.versions(x)
    assert seen.version == len(seen.writes) == 1
    write, = seen.writes
    assert write.version == 1 and write.op == name and os.path.basename(write.file) == HERE and write.line > 1


def test_steps_and_accumulation_are_noted():
    w = leaf(mg, 1., 2.)
    optimizer = mg.optim.SGD([w], lr=0.1)
    with mg.debug():
        w.sum().backward()
        w.sum().backward()          # adds to .grad
        optimizer.step()            # writes to w
    write, = mg.debug.versions(w).writes
    assert write.op == "SGD.step" and [write.line] == line_of("writes to w")
    write, = mg.debug.versions(w.grad).writes
    assert write.op == "accumulation into .grad" and [write.line] == line_of("adds to .grad")


def test_versions_as_text():
    x = mg.ones(2)
    x.add_(1)
    assert repr(mg.debug.versions(x)).splitlines()[1].strip() == "1 of 1 writes not noted: debug() was off"
    with mg.debug():
        x.mul_(2)                   # noted
    lines = repr(mg.debug.versions(x)).splitlines()
    assert lines[0] == "at version 2" and f"version 2  mul_  {mg.debug.versions(x).writes[0].file}".split(os.sep)[-1] in lines[1]
    assert f":{line_of('noted')[0]}   x.mul_(2)" in lines[1] and "1 of 2 writes not noted" in lines[2]
    assert str(mg.debug.versions(x).writes[0]).startswith("version 2: mul_  ")
    with mg.inference_mode():
        y = mg.ones(2)
    assert mg.debug.versions(y).version == 0
    assert repr(mg.debug.versions(mg.ones(1))) == "at version 0"


def test_preserved_version_is_not_noted():
    x = mg.ones(2)
    with mg.debug():
        x.add_(1)
        with mg.autograd._unsafe_preserve_version_counter(x):
            x.zero_()
    assert [w.op for w in mg.debug.versions(x).writes] == ["add_"]


# ---- saved values ------------------------------------------------------------------------------------------------


def test_saved():
    """Each saved value with its name, its node, its versions and its size, in the order of the backward."""
    x, w = leaf(mg, 1., 2., 3.), mg.ones(3)
    with mg.debug():
        y = x.exp()                 # exp
        z = y * w                   # mul
    w.add_(1)
    first, second = mg.debug.saved(z)
    assert (first.node, first.name, first.purpose, first.version, first.now) == (z.grad_fn, "other", "the gradient of self", 0, 1)
    assert first.value is w and first.modified and first.nbytes == 12
    assert (second.node, second.name, second.version, second.now, second.modified) == (y.grad_fn, "result", 0, 0, False)
    assert [s.where[1] for s in (first, second)] == [line_of("mul")[0], line_of("exp")[0]]
    assert list(mg.debug.saved(z.grad_fn)) == [first, second] and list(mg.debug.saved(z, graph=False)) == [first]
    lines = repr(mg.debug.saved(z)).splitlines()
    assert lines[0].split() == ["node", "saved", "what", "version", "bytes", "for", "where"] and "0, now 1" in lines[1]
    assert lines[-1] == "2 tensors in 2 storages: 24 bytes, of which 0 belong to leaves"


def test_memory_counts_once():
    """A storage counts once, however often it is saved; a view keeps all of it; the memory of leaves is also counted apart."""
    x = mg.ones(1000, requires_grad=True)
    y = x * x * x
    assert len(mg.debug.saved(y)) == 4 and mg.debug.saved(y).nbytes == 8000 and mg.debug.saved(y).leaf_nbytes == 4000
    base = mg.ones(1000)
    y = leaf(mg, 1., 2.) * base[:2]
    assert mg.debug.saved(y)[0].nbytes == 8 and mg.debug.saved(y).nbytes == 4000 and mg.debug.saved(y).leaf_nbytes == 0
    assert mg.debug.saved(x[:2] * x[2:4]).leaf_nbytes == 4000


def test_nothing_saved():
    x = leaf(mg, 1., 2.)
    y = (x * x).sum()
    assert len(mg.debug.saved(y)) == 2
    y.backward()
    assert mg.debug.saved(y) == [] and mg.debug.saved(y).nbytes == 0 and repr(mg.debug.saved(y)) == "nothing saved"
    assert mg.debug.saved(x) == mg.debug.saved(mg.ones(2)) == mg.debug.saved(x + 1) == []


def test_saved_of_odd_kinds():
    """Indices, a fourth value, packed values, values of a write through a view: the report unpacks none of them."""
    x = leaf(mg, 1., 2., 3.)
    index, = mg.debug.saved(x[mg.tensor([0, 2])])
    assert index.name == "indices" and index.value.tolist() == [0, 2]

    def unpack(packed):
        raise AssertionError("unpacked")
    with mg.autograd.graph.saved_tensors_hooks(lambda t: "elsewhere", unpack):
        y = x.exp()
    packed, = mg.debug.saved(y)
    assert packed.value == "elsewhere" and packed.version is packed.now is None and packed.nbytes == 0 and not packed.modified
    assert "packed: str" in repr(mg.debug.saved(y))
    base = x * 1
    base[:2].mul_(mg.ones(2))
    assert [(s.node.name(), s.name) for s in mg.debug.saved(base)] == [("MulBackward0", "other")]
    loss = mg.nn.functional.cross_entropy(mg.ones(2, 3, requires_grad=True), mg.tensor([0, 1]))
    assert {s.name for s in mg.debug.saved(loss)} >= {"result", "target"}


def test_looking_changes_nothing():
    """The report does not even regenerate the grad_fn of a stale view."""
    base = leaf(mg, 1., 2.) * 1
    first, second = base.unbind()
    y = first * second
    base.mul_(2)
    assert [s.modified for s in mg.debug.saved(y)] == [True, True]
    repr(mg.debug.saved(y))
    with raises(RuntimeError, MODIFIED):
        y.backward()


def test_saved_of_a_deep_graph():
    y = leaf(mg, 1., 2.)
    for _ in range(20_000):
        y = y.sin()
    saved = mg.debug.saved(y)
    assert len(saved) == 20_000 and saved.nbytes == 160_000 and saved.leaf_nbytes == 8


@pytest.mark.parametrize("read", [mg.debug.versions, mg.debug.saved])
def test_neither_tensor_nor_node(read):
    with pytest.raises(TypeError, match="but got list"):
        read([mg.ones(2)])


# ---- the switch --------------------------------------------------------------------------------------------------


def noted():
    """Whether writes are noted now."""
    x = mg.ones(1)
    x.add_(1)
    return len(mg.debug.versions(x).writes) == 1


def test_context_and_decorator():
    """Nested, left by an exception, with and without parentheses, together with anomaly mode."""
    assert not noted()
    with mg.debug():
        with mg.debug():
            assert noted()
        assert noted()
    with pytest.raises(ValueError), mg.debug():
        raise ValueError
    assert not noted()
    assert mg.debug(noted)() and mg.debug()(noted)() and not noted()
    with mg.debug(), mg.autograd.set_detect_anomaly(True):
        pass
    assert not noted()
    with mg.autograd.set_detect_anomaly(True):
        with mg.debug():
            pass
        assert noted()
    assert not noted()


def test_one_switch_for_all_threads():
    seen = []
    with mg.debug():
        thread = threading.Thread(target=lambda: seen.append(noted()))
        thread.start()
        thread.join()
    assert seen == [True]
    first, second = mg.debug(), mg.debug()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert noted()
    second.__exit__(None, None, None)
    assert not noted()


def test_nothing_is_noted_on_nodes_when_off():
    x = leaf(mg, 1., 2.)
    y = x.exp()
    assert mg.debug.saved(y)[0].where is None and y.grad_fn.metadata == {}
    with mg.debug():
        y = x.exp()
    assert mg.debug.saved(y)[0].where is not None and y.grad_fn.metadata == {}


# ---- custom functions, and holders of a graph ------------------------------------------------------------------


class Keeps(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        z = x.exp()
        ctx.save_for_backward(x, None, z)
        return z

    @staticmethod
    def backward(ctx, g):
        _, _, z = ctx.saved_tensors
        return g * z, None


def test_saved_of_a_function():
    """The arguments of `save_for_backward` except None; nothing after the backward."""
    x = leaf(mg, 1., 2.)
    with mg.debug():
        y = Keeps.apply(x, 3)       # kept here
    first, second = saved = mg.debug.saved(y)
    assert [s.name for s in saved] == ["saved_tensors[0]", "saved_tensors[2]"] and first.value is x
    assert first.purpose == "its backward" and (first.version, first.now) == (0, 0) and not second.value.requires_grad
    assert first.where is not None and first.where[1] == line_of("kept here")[0]
    assert saved.nbytes == 16 and saved.leaf_nbytes == 8
    with mg.no_grad():
        x.add_(1)
    assert mg.debug.saved(y)[0].modified
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    with mg.autograd.graph.saved_tensors_hooks(lambda t: "packed", lambda name: x):
        y = Keeps.apply(x, 3)
    assert [(s.value, s.version) for s in mg.debug.saved(y)] == [("packed", None)] * 2
    y = Keeps.apply(x, 3)
    y.sum().backward()
    assert mg.debug.saved(y) == []


def test_holders():
    """The variables that keep a graph alive, containers included, and only the part of the graph that each keeps."""
    x = leaf(mg, 1., 2.)
    losses, seen = [], {}
    y = x.exp() * 2
    seen["y", 1] = y
    losses.append(y.sum())
    found = mg.debug.holders(losses[0])
    assert [(h.path, h.node, h.nodes, h.nbytes) for h in found] == [
        ("losses[0]", "SumBackward0", 3, 8), ("seen[('y', 1)]", "MulBackward0", 2, 8), ("y", "MulBackward0", 2, 8)]
    assert {h.where for h in found} == {"a local variable of test_holders()"}
    del y, seen["y", 1]
    found, = mg.debug.holders(losses[0].grad_fn)
    assert (found.path, found.nodes) == ("losses[0]", 3)
    assert mg.debug.holders(x) == [] and repr(mg.debug.holders(x)) == "nothing holds it"


def test_holders_of_a_part():
    """A later graph, a node, a view, an attribute."""
    x = leaf(mg, 1., 2.)

    class Model:
        pass
    model = Model()
    y = x * 2
    model.state = y[0]
    node = y.grad_fn
    later = y.exp()
    del y
    found = {h.path: (h.node, h.nodes) for h in mg.debug.holders(node)}
    assert found["node"] == ("MulBackward0", 1) and found["later"] == ("MulBackward0", 1) and later.requires_grad
    assert any(path.startswith("model.state") for path in found)


def test_holders_see_cycles():
    """A hook that uses the tensor it is registered on: no variable holds the graph, and yet it lives."""
    x = leaf(mg, 1., 2.)

    def build():
        y = x.exp()
        y.register_hook(lambda g: g * y)
        return y.grad_fn
    node = build()
    cycle, = [h for h in mg.debug.holders(node) if h.where.startswith("a cycle")]
    assert cycle.path == "ExpBackward0.tensor_hooks -> y of <lambda>()" and cycle.nodes == 1


def test_holders_of_what_no_variable_holds():
    x = leaf(mg, 1.)
    found, = mg.debug.holders((x * 2).exp())
    assert found.where.startswith("no name leads to it") and found.nodes == 2


def test_holders_hold_nothing():
    """Neither the report nor the search keeps the graph alive, and values saved by later nodes are no holders."""
    x = leaf(mg, 1.)
    y = x.exp()
    z = (y * y).sin() * y
    gone = weakref.ref(y.grad_fn)
    del y
    report = mg.debug.holders(z)
    assert [h.path for h in report] == ["z"]
    del z
    assert gone() is None and len(report) == 1


def test_holders_of_a_long_graph():
    """One walk over the objects for many nodes, without recursion."""
    y = leaf(mg, 1.)
    for _ in range(3000):
        y = y * 2
    found, = mg.debug.holders(y)
    assert (found.path, found.nodes) == ("y", 3000)


def test_holders_of_no_graph():
    with raises(TypeError, "debug.holders() expects a tensor or a node"):
        mg.debug.holders(3)


def test_an_expanded_tensor_is_counted_once():
    x = mg.ones(1, requires_grad=True)
    y = x.expand(1000).exp() * x.expand(1000)
    found = mg.debug.saved(y)
    assert found.nbytes == 4000 + 4       # the result of exp, and one number
