"""`mg.debug.record`: exact tables, which both modes must print; recording changes no result and keeps nothing alive."""

import json
import threading
import weakref
from importlib import util

import pytest

import minigrad as mg
from minigrad._core.graph.switches import switches
from minigrad.autograd import Function
from tests.core.engine_tools import leaf, value
from tests.internals import needs

record = mg.debug.record
COPIED = "a copy: something else refers to the gradient, or the leaf has another memory layout"


def lines(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def table(r, *kinds):
    """The record as rows (event, node, what, why); with `kinds`, only these."""
    return [(e.kind, e.node, e.what, e.why) for e in r.events if not kinds or e.kind in kinds]


def kinds(r):
    return [e.kind for e in r.events]


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 + 0 * x


# ---- whole tables -------------------------------------------------------------------------------------------


@needs("counts")
def test_two_edges_to_one_leaf():
    x = leaf(mg, 1., 2.)
    y = (x * x).sum()
    with record() as r:
        y.backward()
    assert lines(repr(r)) == lines("""
step  event       node               what                      why
   1  begin       n1 SumBackward0    a backward over 3 nodes   each node frees its saved tensors after it has run
   2  count       n1 SumBackward0    n1: 0, n2: 1, n3: 2       a node waits for one gradient per edge to it
   3  receive     n1 SumBackward0    1                         the backward begins here
   4  enqueue     n1 SumBackward0    ready                     it waits for no gradient
   5  dequeue     n1 SumBackward0    1                         ready since step 4; the only ready node
   6  compute     n1 SumBackward0    1 -> [1, 1]
   7  receive     n2 MulBackward0    [1, 1]                    from n1
   8  enqueue     n2 MulBackward0    ready                     its last gradient came from n1
   9  dequeue     n2 MulBackward0    [1, 1]                    ready since step 8; the only ready node
  10  unpack      n2 MulBackward0    other = [1, 2]            saved at version 0, now 0: unchanged
  11  unpack      n2 MulBackward0    self = [1, 2]             saved at version 0, now 0: unchanged
  12  compute     n2 MulBackward0    [1, 1] -> [1, 2], [1, 2]
  13  release     n2 MulBackward0    2 saved tensors           without retain_graph
  14  receive     n3 AccumulateGrad  [1, 2]                    from n2; waits for 1 more
  15  receive     n3 AccumulateGrad  [1, 2] + [1, 2] = [2, 4]  from n2, added in place
  16  enqueue     n3 AccumulateGrad  ready                     its last gradient came from n2
  17  dequeue     n3 AccumulateGrad  [2, 4]                    ready since step 16; the only ready node
  18  accumulate  n3 AccumulateGrad  .grad = [2, 4]            stolen without a copy: nothing else refers to it
  19  end         n1 SumBackward0    3 nodes have run          no node is ready
""")
    assert r.order == ["n1", "n2", "n3"] and r.nodes == {"n1": "SumBackward0", "n2": "MulBackward0", "n3": "AccumulateGrad"}
    assert lines(r.to_dot()) == lines(r"""
digraph backward {
    node [shape=ellipse, fontname="sans-serif"];
    edge [fontname="sans-serif"];
    n1 [label="n1 SumBackward0\nran 1"];
    n2 [label="n2 MulBackward0\nran 2"];
    n3 [label="n3 AccumulateGrad\nran 3", shape=box];
    n1 -> n2 [label="float32 [2]"];
    n2 -> n3 [label="float32 [2]"];
    n2 -> n3 [label="float32 [2]"];
}""")


@needs("counts")
def test_why_next():
    """Of the ready nodes the one that was made last; a leaf's AccumulateGrad before all."""
    x = leaf(mg, 1.)
    a, b = x.exp(), x.sin()
    w = leaf(mg, 2.)
    y = a + b * w
    with record() as r:
        y.backward()
    assert lines(repr(r)) == lines("""
step  event       node               what                                      why
   1  begin       n1 AddBackward0    a backward over 6 nodes                   each node frees its saved tensors after it has run
   2  count       n1 AddBackward0    n1: 0, n2: 1, n3: 1, n4: 1, n5: 1, n6: 2  a node waits for one gradient per edge to it
   3  receive     n1 AddBackward0    1                                         the backward begins here
   4  enqueue     n1 AddBackward0    ready                                     it waits for no gradient
   5  dequeue     n1 AddBackward0    1                                         ready since step 4; the only ready node
   6  compute     n1 AddBackward0    1 -> 1, 1
   7  receive     n4 ExpBackward0    1                                         from n1
   8  enqueue     n4 ExpBackward0    ready                                     its last gradient came from n1
   9  receive     n2 MulBackward0    1                                         from n1
  10  enqueue     n2 MulBackward0    ready                                     its last gradient came from n1
  11  dequeue     n2 MulBackward0    1                                         ready since step 10; made later than n4
  12  unpack      n2 MulBackward0    other = 2                                 saved at version 0, now 0: unchanged
  13  unpack      n2 MulBackward0    self = 0.8415                             saved at version 0, now 0: unchanged
  14  compute     n2 MulBackward0    1 -> 2, 0.8415
  15  release     n2 MulBackward0    2 saved tensors                           without retain_graph
  16  receive     n3 SinBackward0    2                                         from n2
  17  enqueue     n3 SinBackward0    ready                                     its last gradient came from n2
  18  receive     n5 AccumulateGrad  0.8415                                    from n2
  19  enqueue     n5 AccumulateGrad  ready                                     its last gradient came from n2
  20  dequeue     n5 AccumulateGrad  0.8415                                    ready since step 19; an AccumulateGrad runs first, before n3, n4
  21  accumulate  n5 AccumulateGrad  .grad = 0.8415                            stolen without a copy: nothing else refers to it
  22  dequeue     n3 SinBackward0    2                                         ready since step 17; made later than n4
  23  unpack      n3 SinBackward0    self = 1                                  saved at version 0, now 0: unchanged
  24  compute     n3 SinBackward0    2 -> 1.081
  25  release     n3 SinBackward0    1 saved tensor                            without retain_graph
  26  receive     n6 AccumulateGrad  1.081                                     from n3; waits for 1 more
  27  dequeue     n4 ExpBackward0    1                                         ready since step 8; the only ready node
  28  unpack      n4 ExpBackward0    result = 2.718                            saved at version 0, now 0: unchanged
  29  compute     n4 ExpBackward0    1 -> 2.718
  30  release     n4 ExpBackward0    1 saved tensor                            without retain_graph
  31  receive     n6 AccumulateGrad  1.081 + 2.718 = 3.799                     from n4, added in place
  32  enqueue     n6 AccumulateGrad  ready                                     its last gradient came from n4
  33  dequeue     n6 AccumulateGrad  3.799                                     ready since step 32; the only ready node
  34  accumulate  n6 AccumulateGrad  .grad = 3.799                             stolen without a copy: nothing else refers to it
  35  end         n1 AddBackward0    6 nodes have run                          no node is ready
""")


def test_forward_and_a_failing_backward():
    """The record shows the versions that differ, and ends with the error."""
    x = leaf(mg, 1., 2.)
    with record() as r:
        y = x * 1
        z = y.exp()
        z.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            z.sum().backward()
    assert table(r)[:6] == [
        ("made", "n1", "a new node", "the forward pass"), ("made", "n2", "a new node", "the forward pass"),
        ("made", "n3", "a new node", "the forward pass"), ("made", "n4", "a new node", "the forward pass"),
        ("write", None, "mul_: version 1", "a write in place"), ("made", "n5", "a new node", "the forward pass")]
    assert table(r)[-3:] == [
        ("dequeue", "n3", "[2, 2]", f"ready since step {len(r.events) - 3}; the only ready node"),
        ("unpack", "n3", "result = [5.437, 14.78]", "saved at version 0, now 1: modified since then"),
        ("error", "n3", "AutogradError: one of the variables needed for gradient computation has been ...", "MG-E102")]
    last = r.events[-1]
    assert last.op == "ExpBackward0" and "modified by an inplace operation" in last.data["message"]


# ---- kinds of events ----------------------------------------------------------------------------------------


def test_hooks():
    def double(g):
        return g * 2

    def look(*args):
        pass

    def halve(grads):
        return (grads[0] / 2,)

    def zero(g):
        g.zero_()

    x = leaf(mg, 1., 2.)
    y = x * 3
    y.register_hook(double)
    y.retain_grad()
    y.grad_fn.register_prehook(halve)
    y.grad_fn.register_hook(look)
    x.register_hook(zero)
    x.register_post_accumulate_grad_hook(look)
    z = y.sum()
    with record() as r:
        z.backward()
    assert table(r, "hook", "retain", "compute", "accumulate") == [
        ("compute", "n1", "1 -> [1, 1]", ""),
        ("hook", "n2", "double: [1, 1] -> [2, 2]", "tensor hook: replaced"),
        ("retain", "n2", ".grad = [2, 2]", "retain_grad()"),
        ("hook", "n2", "halve: [2, 2] -> [1, 1]", "pre-hook: replaced"),
        ("compute", "n2", "[1, 1] -> [3, 3], nothing", ""),
        ("hook", "n2", "look: [3, 3], nothing", "post-hook: unchanged"),
        ("hook", "n3", "zero: [3, 3] -> [0, 0]", "tensor hook: changed in place"),
        ("accumulate", "n3", ".grad = [0, 0]", COPIED),         # zero_() counts its write, so that others may see it
        ("hook", "n3", "look: [0, 0]", "post-accumulate hook: unchanged")]


def test_error_in_a_hook():
    def fail(g):
        raise KeyError("here")
    x = leaf(mg, 1.)
    x.register_hook(fail)
    y = x * 2
    with record() as r:
        with pytest.raises(KeyError):
            y.backward()
        (leaf(mg, 1.) * 2).backward()
    failed = kinds(r).index("error")
    assert table(r)[failed - 1:failed + 1] == [
        ("hook", "n2", "fail: 2", "tensor hook; it did not return"), ("error", "n2", "KeyError: 'here'", "")]
    assert kinds(r)[failed + 1:failed + 4] == ["made", "made", "begin"] and r.events[-1].task == 2


def test_backward_in_a_hook():
    """The steps of the inner backward are indented, after the step of the hook, and in their own task."""
    x = leaf(mg, 1., 2.)
    inner = (x * 5).sum()
    y = x * 3

    def again(g):
        inner.backward()
    y.register_hook(again)
    z = y.sum()
    with record() as r:
        z.backward()
    assert [(e.kind, e.node, e.task, e.depth) for e in r.events if e.kind in ("begin", "hook", "accumulate", "end")] == [
        ("begin", "n1", 1, 0), ("hook", "n2", 1, 0), ("begin", "n4", 2, 1), ("accumulate", "n3", 2, 1), ("end", "n4", 2, 1),
        ("accumulate", "n3", 1, 0), ("end", "n1", 1, 0)]
    assert next(line for line in lines(repr(r)) if line[6:8] == "  ").split()[1:3] == ["begin", "n4"]
    assert value(x.grad) == [8, 8]


def test_backward_beyond_the_stack():
    """Very deep nesting goes on in another thread: so the record says."""
    x = leaf(mg, 1.)

    def nest(depth):
        with mg.enable_grad():
            y = x * 2
        if depth:
            y.register_hook(lambda g: nest(depth - 1))
        y.backward()
    with record() as r:
        nest(61)
    begun = [(e.depth, e.thread) for e in r.events if e.kind == "begin"]
    assert begun == [(d, 1 if d < 60 else 2) for d in range(62)]


def test_inputs():
    x, w = leaf(mg, 1., 2.), leaf(mg, 3., 4.)
    a = x * w
    y = (a * w).sum()
    with record() as r:
        mg.autograd.grad(y, [a, x])
    assert table(r, "begin", "count", "result", "end") == [
        ("begin", "n1", "a backward over 5 nodes", "each node frees its saved tensors after it has run; only nodes on a path to the inputs run"),
        ("count", "n1", "n1: 0, n2: 1, n3: 1, n4: 2, n5: 1", "a node waits for one gradient per edge to it; 1 node not needed"),
        ("result", "n3", "[3, 4]", "the result for input 0"),
        ("result", "n5", "[9, 16]", "the result for input 1")] + table(r)[-1:]
    assert r.order == ["n1", "n2", "n3"]
    assert "n4 [label=\"n4 AccumulateGrad\", shape=box, style=dashed];" in r.to_dot() and "n3 -> n4 [style=dashed];" in r.to_dot()
    with record() as r:
        (x * w).sum().backward(inputs=[x])
    assert [e.op for e in r.events if e.kind == "accumulate"] == ["AccumulateGrad"] and w.grad is None


def test_unreachable_input():
    x, w = leaf(mg, 1.), leaf(mg, 2.)
    y = x * 2
    with record() as r:
        assert mg.autograd.grad(y, w, allow_unused=True) == (None,)
    assert r.order == [] and kinds(r)[-1] == "end"


@pytest.mark.filterwarnings("ignore:Using backward")       # the warning that gradient and leaf hold each other comes once per process
def test_create_graph():
    """Nodes made during a backward name the node of their derivative, and gradients are summed and accumulated with history."""
    x = leaf(mg, 2.)
    with record() as r:
        g, = mg.autograd.grad(x * x * x, x, create_graph=True)
        g.backward()
    assert value(x.grad) == 12
    made = [(e.op, e.data["by"]) for e in r.events if e.kind == "made"]
    assert made[:3] == [("AccumulateGrad", None), ("MulBackward0", None), ("MulBackward0", None)]
    assert made[3:] and all(by for _, by in made[3:])
    assert {e.data["how"] for e in r.events if e.kind == "receive" and e.task == 1} == {"first", "out of place"}
    y = leaf(mg, 2.)
    z = y * y
    with record() as r:
        z.backward(create_graph=True)
        (y * 1).backward(create_graph=True)
    assert [e.data["how"] for e in r.events if e.kind == "accumulate"] == ["cloned", "out of place"]
    y.grad = None


@needs("counts")
def test_kinds_of_accumulation():
    x = leaf(mg, 1., 2.)
    kept = []

    def hows():
        y = x * 2
        with record() as r:
            y.backward(mg.ones(2))
        return table(r, "write", "accumulate")
    assert hows() == [("accumulate", "n2", ".grad = [2, 2]", "stolen without a copy: nothing else refers to it")]
    assert hows() == [("write", None, "accumulation into .grad: version 1", "a write in place"),
                      ("accumulate", "n2", ".grad = [4, 4]", "added in place to the old .grad")]
    x.grad = None
    x.register_hook(kept.append)
    assert hows() == [("accumulate", "n2", ".grad = [2, 2]", COPIED)]
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
    assert hows()[-1] == ("accumulate", "n2", ".grad = [4, 4]", "added in place to the old .grad") and x.grad is None


def test_broadcasting_is_undone():
    x = leaf(mg, 1., 2.)
    y = x + mg.ones(3, 2)
    with record() as r:
        y.backward(mg.ones(3, 2))
    assert table(r, "compute", "receive")[1:] == [
        ("compute", "n1", "[[1, 1], [1, 1], [1, 1]] -> [[1, 1], [1, 1], [1, 1]], nothing", ""),
        ("receive", "n2", "[3, 3]", "from n1, converted from float32 [3, 2]")]


def test_several_roots_and_outputs():
    x = leaf(mg, 1., 2., 3.)
    a, b = x.split([1, 2])
    with record() as r:
        mg.autograd.backward([a, b], [mg.ones(1), mg.ones(2)])
    assert r.nodes == {"n1": "GraphRoot", "n2": "SplitWithSizesBackward0", "n3": "AccumulateGrad"}
    assert table(r, "receive", "dequeue")[2:5] == [
        ("receive", "n2", "[1]", "from n1; waits for 1 more"), ("receive", "n2", "[1, 1]", "from n1, input 1"),
        ("dequeue", "n2", "[1], [1, 1]", "ready since step 9; the only ready node")]


def test_function():
    """A Function unpacks when its backward asks."""
    x = leaf(mg, 1., 2.)
    y = Double.apply(x).sum()
    with record() as r:
        y.backward()
    assert table(r, "unpack", "compute", "release")[1:] == [
        ("unpack", "n2", "saved_tensors = [1, 2]", "saved at version 0, now 0: unchanged"),
        ("compute", "n2", "[1, 1] -> [2, 2]", ""), ("release", "n2", "1 saved tensor", "without retain_graph")]
    assert r.nodes["n2"] == "DoubleBackward"


def test_write_to_a_view():
    x = leaf(mg, 1., 2.)
    base = x * 1
    base[:1].exp_()
    y = base.sum()
    with record() as r:
        y.backward()
    assert ("unpack", "n2", "result = [2.718]", "saved at version 1, now 1: unchanged") in table(r)
    assert r.nodes["n2"] == "CopySlices" and value(x.grad) == pytest.approx([2.71828, 1])


def test_pack_hooks():
    def pack(t):
        return t.numpy(force=True)

    def unpack(a):
        return mg.from_numpy(a)
    x = leaf(mg, 1., 2.)
    with record() as r:
        with mg.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x.exp()
        y.sum().backward()
    assert table(r, "pack", "unpack", "release") == [
        ("pack", None, "[2.718, 7.389] -> ndarray", "by the pack hook pack"),
        ("unpack", "n2", "[2.718, 7.389]", "by the unpack hook unpack"),
        ("release", "n2", "1 saved tensor", "without retain_graph")]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant):
    """The recomputation makes nodes while a node of the first graph runs; the reentrant one also runs a backward within it."""
    x = leaf(mg, 1., 2.)
    with record() as r:
        y = mg.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=reentrant)
        y.sum().backward()
    again = [e.op for e in r.events if e.kind == "made" and e.data["by"]]
    assert again == (["AccumulateGrad", "ExpBackward0", "SinBackward0"] if reentrant else ["ExpBackward0"])     # it stops early
    assert max([e.depth for e in r.events]) == (1 if reentrant else 0)


def test_threads():
    """Each thread has a number, in order of appearance."""
    def work():
        (leaf(mg, 1.) * 2).backward()
    with record() as r:
        work()
        for _ in range(2):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    assert [(e.thread, e.task, e.depth) for e in r.events if e.kind == "begin"] == [(1, 1, 0), (2, 2, 0), (3, 3, 0)]
    assert repr(r).splitlines()[0].endswith("thread") and repr(r).splitlines()[-1].endswith("3")


def test_threads_at_once():
    """Each thread's steps are those that it has alone."""
    def work():
        x = leaf(mg, 1., 2.)
        for _ in range(20):
            (x * 2).exp().sum().backward()
    with record() as alone:
        work()
    with record() as r:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in (1, 2, 3):
        assert [e.kind for e in r.events if e.thread == number] == kinds(alone)
    assert [e.step for e in r.events] == list(range(1, len(r.events) + 1))


def test_callbacks():
    x = leaf(mg, 1.)
    x.register_hook(lambda g: mg.autograd.Variable._execution_engine.queue_callback(lambda: None))
    with record() as r:
        (x * 2).backward()
    assert r.events[-1].why == "no node is ready; 1 callback to call"


# ---- storages, places, names ------------------------------------------------------------------------------------


def test_storages():
    """Tensors with a common version counter have one name, even if the counter is made after the name."""
    x = leaf(mg, 1., 2.)
    with record(x=x) as r:
        y = x * 1
        z = y.exp()                     # saves its result, with a counter; mul saves nothing
        w = y * y                       # saves y, without one
        w.sum().backward(retain_graph=True)
        y.detach().mul_(2)              # makes the counter of y's storage
        with pytest.raises(RuntimeError):
            (w.sum() + z.sum()).backward()
    saved = {n["node"]: [(s["name"], s["storage"], s["saved"], s["now"]) for s in n["saved"]]
             for e in r.events if e.kind == "count" for n in e.data["nodes"]}
    write, = [e.data for e in r.events if e.kind == "write" and e.data["op"] == "mul_"]
    mul = next(node for node, op in r.nodes.items() if op == "MulBackward0" and len(saved.get(node, ())) == 2)
    assert saved[mul] == [("other", write["storage"], 0, 1), ("self", write["storage"], 0, 1)]
    failed = [e for e in r.events if e.kind == "unpack"][-1]
    assert (failed.data["storage"], failed.data["saved"], failed.data["now"]) == (write["storage"], 0, 1)
    assert set(r.storages) == {f"s{i}" for i in range(1, len(r.storages) + 1)} and r.storages[write["storage"]] == 8
    assert "x" in r.names.values() and check(r)["names"] == r.names


def test_two_storages():
    """`.data` has its own counter; a view has the storage of its base, with its full size."""
    x = leaf(mg, *range(8))
    with record(x=x) as r:
        part = (x * 1)[2:4]
        part.exp().sum().backward()
        x.data.zero_()
        with mg.no_grad():
            x.add_(1)
    storage = next(n["leaf"]["storage"] for e in r.events if e.kind == "count" for n in e.data["nodes"] if "leaf" in n)
    writes = [(e.data["op"], e.data["storage"] == storage) for e in r.events if e.kind == "write"]
    assert writes[-2:] == [("zero_", False), ("add_", True)] and r.names[storage] == "x"
    check(r)


def test_places():
    """A node, and a write, say where in the program they come from: without folders, so that every machine says the same."""
    x = leaf(mg, 1.)
    with record() as r:
        y = x.exp()                     # here
        y.mul_(2)
    made = [e.data["at"] for e in r.events if e.kind == "made" and e.op == "ExpBackward0"]
    assert made == [{"file": "test_record.py", "line": made[0]["line"], "source": "y = x.exp()                     # here"}]
    assert [e.data["at"]["source"] for e in r.events if e.kind == "write"] == ["y.mul_(2)"]


def test_places_of_what_was_made_before():
    """As far as `debug` has noted them."""
    x = leaf(mg, 1.)
    with mg.debug():
        y = x.exp()
    z = y.sin()
    with record() as r:
        z.backward()
    told = {n["node"]: n.get("at") for n in next(e for e in r.events if e.kind == "count").data["nodes"]}
    assert told["n1"] is None and told["n2"]["source"] == "y = x.exp()"


def test_names_of_a_module():
    """At the top level the names of variables are known; in a function those that are given."""
    program = ("import minigrad as mg\nx = mg.ones(2, requires_grad=True)\nwith mg.debug.record() as r:\n    y = x.exp()\n"
               "    y.sum().backward()\n")
    variables = {}
    exec(compile(program, "<program>", "exec"), variables)
    names = variables["r"].names
    assert sorted(names.values()) == ["x", "x.grad", "y", "y"]
    assert sorted(key[0] for key, name in names.items() if name == "y") == ["n", "s"]
    with record() as r:
        variables["x"].exp().sum().backward()
    assert r.names == {}
    with pytest.raises(TypeError, match="MG-E177"):
        record(x=1)


def test_packed_values_and_packing_tensors():
    x = leaf(mg, 1., 2.)
    with record() as r:
        with mg.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), mg.tensor):
            y = x.exp()
        y.sum().backward()
    kept = [s for e in r.events if e.kind == "count" for n in e.data["nodes"] for s in n["saved"]]
    assert kept == [{"name": "result", "packed": "list"}]


# ---- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made, words", [
    (lambda: mg.tensor(1.5, dtype=mg.float64), "1.5 float64"),
    (lambda: mg.tensor([[1., 2.], [3., 1e9]]), "[[1, 2], [3, 1e+09]]"),
    (lambda: mg.ones(0, 3), "[] [0, 3]"),
    (lambda: mg.tensor([float("nan"), float("inf"), -float("inf")]), "[nan, inf, -inf]"),
    (lambda: mg.tensor([1 + 2j]), "[1+2j] complex64"),
    (lambda: mg.arange(20.).reshape(4, 5), "float32 [4, 5], min 0, max 19, mean 9.5"),
    (lambda: mg.full((3, 3), float("inf")), "float32 [3, 3], min inf, max inf, mean inf"),
    (lambda: mg.ones(20, dtype=mg.complex64) * 3j, "complex64 [20], largest 3"),
])
def test_values(made, words):
    g = made()
    x = (mg.ones_like(g)).requires_grad_()
    y = x * 1
    with record() as r:
        y.backward(g)
    assert r.events[2].what == words
    json.loads(r.to_json(), parse_constant=pytest.fail)
    check(r)


# ---- JSON ---------------------------------------------------------------------------------------------------


def check(r):
    """The JSON fits the schema; checked if jsonschema is installed."""
    told = json.loads(r.to_json())
    assert told["nodes"] == r.nodes and told["order"] == r.order and len(told["events"]) == len(r.events)
    if util.find_spec("jsonschema") is not None:
        import jsonschema
        jsonschema.Draft202012Validator(r.schema()).validate(told)
    return told


def every_kind():
    """A record in which every kind of event occurs."""
    x = leaf(mg, 1., 2.)

    def fail(t):
        raise ValueError
    with record() as r:
        with mg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x * x
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_prehook(lambda g: None)
        y.grad_fn.register_hook(lambda *g: None)
        (y + mg.ones(3, 2)).sum().backward(retain_graph=True)
        mg.autograd.grad(Double.apply(x).exp().sum(), x)
        base = x * 1
        base[0].mul_(2)
        a, b = base.split(1)
        mg.autograd.backward([a, b], [mg.ones(1), mg.ones(1)])
        x.register_post_accumulate_grad_hook(fail)
        with pytest.raises(ValueError):
            (x * 2).sum().backward()
    return r


def test_schema():
    """Every kind of event is in the schema, occurs, has a description, and fits the schema."""
    pytest.importorskip("jsonschema")
    import jsonschema
    r = every_kind()
    schema = r.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    listed = schema["$defs"]["event"]["properties"]["kind"]["enum"]
    assert set(kinds(r)) == set(listed)
    told = check(r)
    broken = json.loads(json.dumps(told))
    broken["events"][-1]["data"]["extra"] = 1
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(broken))


def test_words_for_every_kind():
    from minigrad._debug.events import WORDS
    listed = record().schema()["$defs"]["event"]["properties"]["kind"]["enum"]
    assert list(WORDS) and set(WORDS) == set(listed)
    assert all(e.what for e in every_kind().events)


def test_dot_escapes_and_is_read():
    pygraphviz = pytest.importorskip("pygraphviz")
    graph = pygraphviz.AGraph(string=every_kind().to_dot())
    assert "n1" in graph.nodes()


# ---- it changes nothing, and keeps nothing ---------------------------------------------------------------------


def model(seed):
    """A graph with shared, broadcast, hooked, written and custom parts. Returns the loss and the leaves."""
    mg.manual_seed(seed)
    x, w, b = [t.requires_grad_() for t in (mg.randn(4, 3), mg.randn(3, 3), mg.randn(3))]
    h = (x @ w + b).tanh()
    h.register_hook(lambda g: g * 2)
    h = h * h + Double.apply(h)
    part = h * 1
    part[1:].mul_(3)
    p, q = part.chunk(2)
    return (p * q).sum() + h.exp().mean(), (x, w, b)


@pytest.mark.parametrize("create", [False, True])
def test_same_gradients(create):
    """To the last bit."""
    loss, leaves = model(1)
    expected = mg.autograd.grad(loss, leaves, create_graph=create)
    loss, leaves = model(1)
    with record():
        found = mg.autograd.grad(loss, leaves, create_graph=create)
    assert [value(g) for g in found] == [value(g) for g in expected]


@needs("counts")
def test_same_decisions():
    """A gradient is stolen, or added to in place, exactly when it is without a recorder."""
    def where(recording):
        places = []

        class Given(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, g):
                new = g * 3
                places.append(new.data_ptr())
                return new
        x, z = leaf(mg, *range(8)), leaf(mg, *range(8))
        y = (Given.apply(x) * 2 + z.exp() + z.sin()).sum()
        seen = []
        z.register_hook(lambda g: seen.append(g.data_ptr()))
        if recording:
            with record() as r:
                y.backward()
            assert "in place" in [e.data["how"] for e in r.events if e.kind == "receive"]
        else:
            y.backward()
        return x.grad.data_ptr() == places[0], z.grad.data_ptr() == seen[0]
    assert where(True) == where(False) == (True, True)


def test_it_keeps_nothing():
    """Neither tensors nor nodes, neither while it runs nor after."""
    x = leaf(mg, 1., 2.)
    gone = []
    with record() as r:
        y = (x * 2).exp()
        gone += [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(y.grad_fn.next_functions[0][0])]
        y.register_hook(lambda g: gone.append(weakref.ref(g)))
        y.sum().backward()
        assert gone[-1]() is None       # the gradient
        del y
        assert all(ref() is None for ref in gone)
    assert len(r.order) == 4


def test_names_are_not_used_twice():
    """A node at the address of a freed one gets a new name."""
    x = leaf(mg, 1.)
    with record() as r:
        for _ in range(50):
            (x * 2).backward()
    assert len(r.nodes) == len([e for e in r.events if e.kind == "made"])


def test_off():
    """After the record ends, no event is added, and the nodes have no data of it."""
    x = leaf(mg, 1.)
    with record() as r:
        y = x * x
    before = len(r.events)
    y.backward()
    assert len(r.events) == before and not (switches.recording or switches.notes_nodes or switches.notes_writes or switches.recorders)
    assert y.grad_fn.metadata == {} and mg.debug.saved((x * x).grad_fn)[0].where is None


def test_nested_records():
    """Each record has its own names; one that starts inside a backward records the backwards that begin after it."""
    x = leaf(mg, 1.)
    y = x * 3
    inside = []

    def hook(g):
        with record() as r, mg.enable_grad():
            (x * 5).backward()
        inside.append(r)
    y.register_hook(hook)
    with record() as outer:
        y.backward()
    inner, = inside
    assert inner.nodes == {"n1": "MulBackward0", "n2": "MulBackward0", "n3": "AccumulateGrad"}
    assert inner.events[0].data["by"] == "n2" and inner.order == ["n1", "n3"]
    assert {e.depth for e in inner.events if e.kind == "begin"} == {1} and outer.nodes["n1"] == "MulBackward0"
    check(inner)
    check(outer)


def test_empty_and_again():
    r = record()
    assert repr(r) == "nothing recorded" and r.order == [] and r.events == []
    for _ in range(2):
        with r:
            (leaf(mg, 1.) * 2).backward()
    assert [e.task for e in r.events if e.kind == "begin"] == [1, 2]
    with pytest.raises(RuntimeError, match="MG-E240"), r, r:
        pass
    assert not switches.recording


def test_root_with_several_outputs():
    """The backward begins at the given output."""
    x = leaf(mg, 1., 2., 3.)
    _, b = x.split([1, 2])
    with record() as r:
        b.backward(mg.ones(2))
    assert table(r, "receive")[0] == ("receive", "n1", "[1, 1]", "the backward begins here, input 1")
    assert table(r, "dequeue")[0][2] == "nothing, [1, 1]" and value(x.grad) == [0, 1, 1]
    check(r)
