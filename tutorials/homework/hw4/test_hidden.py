"""The hidden checks of homework 4: views of views, writes between forward and backward, other dtypes, large numbers."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, rng, same, used, visibility, weight
from minigrad.grading.oracles import random_graph

SAVED, PACKING, VERSIONS = "07_saved_tensors", "08_packing", "09_version_counters"


@weight(12)
@number("1.2")
@visibility("after_published")
def test_random_views():
    """Random views of views, copies and writes agree with minigrad's tensors"""
    random = rng("1.2")
    for _ in range(10):
        size = random.randint(4, 8)
        pairs = [(adapters.array()([float(i) for i in range(size)]), mg.arange(float(size)))]
        for _ in range(30):
            mine, ours = random.choice(pairs)
            if random.random() < 0.3 and len(ours) > 1:
                start = random.randrange(len(ours) - 1)
                stop = random.randint(start + 1, len(ours))
                pairs.append((mine.view(start, stop), ours[start:stop]))
            elif random.random() < 0.2:
                pairs.append((mine.copy(), ours.clone()))
            else:
                i = random.randrange(len(ours))
                mine.write(i, 100.0 + i)
                ours[i] = 100.0 + i
        for i, (mine, ours) in enumerate(pairs):
            if list(mine.tolist()) != ours.tolist() or mine.version != ours._version:
                fail(f"array {i}: expected {ours.tolist()} at version {ours._version}, found {mine.tolist()} at version {mine.version}",
                     read=VERSIONS)


@weight(8)
@number("1.3")
@visibility("after_published")
def test_writes_that_fail():
    """A write outside of the window is an IndexError, and writes nothing"""
    a = adapters.array()([1.0, 2.0, 3.0])
    b = a.view(1, 2)
    for i in (1, -1, 5):
        try:
            b.write(i, 9.0)
        except IndexError:
            continue
        fail(f"write({i}, 9) on a window of one number: expected an IndexError", read=VERSIONS)
    if list(a.tolist()) != [1.0, 2.0, 3.0]:
        fail(f"failed writes have changed the memory to {a.tolist()}", read=VERSIONS)


@weight(12)
@number("2.2")
@visibility("after_published")
def test_modified_tensors_are_found():
    """A saved tensor that was written to is an error: itself, through a view, through detach"""
    writes = {"y.add_(1)": lambda y: y.add_(1), "y[0] = 5": lambda y: y.__setitem__(0, 5.0),
              "y.view(2)[1] = 5": lambda y: y.view(2).__setitem__(1, 5.0), "y.detach().mul_(2)": lambda y: y.detach().mul_(2)}
    for text, write in writes.items():
        x = mg.tensor([0.5, -1.0], requires_grad=True)
        with mg.grading.swap("saved_tensor", adapters.saved()):
            y = x.exp()
            z = y.sum()
        with mg.no_grad():
            write(y)
        try:
            z.backward()
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                fail(f"after {text}: expected the words 'modified by an inplace operation', found {error}", read=VERSIONS)
            continue
        fail(f"y = x.exp(); {text}; backward. Expected a RuntimeError: exp has saved y, and y has changed", read=VERSIONS)


@weight(8)
@number("2.3")
@visibility("after_published")
def test_nothing_else_is_an_error():
    """The version counts from the time of saving: writes before, and writes to other memory, are no errors; nothing is copied"""
    saved = adapters.saved()()
    x = mg.zeros(3)
    x.add_(1)
    packed = saved.pack(x)
    if saved.unpack(packed).data_ptr() != x.data_ptr():
        fail("unpack returned other memory: keep the tensor itself, a copy costs memory", read=SAVED)
    x.clone().add_(1)
    saved.unpack(packed)
    leaves, _ = random_graph(rng("2.3"), 0)
    with mg.grading.swap("saved_tensor", adapters.saved()) as part:
        y = (leaves[0] * leaves[1]).exp().sum()
        y.backward()
    used(part, "the graph was recorded without it", y, SAVED)
    same(leaves[0].grad, leaves[1] * (leaves[0] * leaves[1]).exp(), ".grad of leaf 0", y, SAVED, tolerance=1e-9)


@weight(15)
@number("3.2")
@visibility("after_published")
def test_half_with_care():
    """Half: other dtypes and large numbers stay exact, a write to the tensor afterwards does no harm"""
    half = adapters.half()()
    for x in (mg.tensor([1.0, 0.1], dtype=mg.float64), mg.tensor([1, 2_000_000]), mg.tensor([0.1, 1e6]), mg.tensor([-7e4, 1.0])):
        found = half.unpack(half.pack(x))
        if found.dtype is not x.dtype:
            fail(f"a {x.dtype} tensor came back as {found.dtype}", read=PACKING)
        same(found, x, f"unpack(pack({x.tolist()}))", read=PACKING, tolerance=0)
    x = mg.tensor([0.5, -1.0], requires_grad=True)
    with mg.grading.swap("saved_tensor", adapters.half()) as part:
        y = x.exp()
        z = y.sum()
    used(part, "the graph was recorded without it", z, PACKING)
    with mg.no_grad():
        y.add_(100)
    z.backward()
    same(x.grad, x.exp(), "x.grad: a float16 copy was saved, so y.add_(100) does no harm", read=PACKING, tolerance=2e-3)
    large = mg.tensor([1e5, 1.0], requires_grad=True)
    with mg.grading.swap("saved_tensor", adapters.half()):
        y = large * 1
        z = (y * y).sum()
    with mg.no_grad():
        y.add_(1)
    try:
        z.backward()
    except RuntimeError:
        return
    fail("a tensor that is kept as it is was written to: expected the error of part 2", read=PACKING)


@weight(15)
@number("4.1")
def test_training():
    """A network learns with your saved tensors: exactly as with minigrad's, and nearly so in half of the memory"""
    train = adapters.train()
    ours, saved, half = train(None, 20), train(adapters.saved(), 20), train(adapters.half(), 20)
    same(mg.tensor(saved[-1]), mg.tensor(ours[-1]), "the loss after 20 steps with Saved", read=SAVED, tolerance=1e-6)
    same(mg.tensor(half[-1]), mg.tensor(ours[-1]), "the loss after 20 steps with Half", read=PACKING, tolerance=2e-2)
    if not ours[-1] < ours[0]:
        fail("the network has not learnt: the loss is not smaller than at first", read=SAVED)
