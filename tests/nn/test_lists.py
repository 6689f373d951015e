"""ModuleList, ModuleDict, ParameterList, ParameterDict: the same calls on PyTorch's give the same."""

import pytest

import minigrad as mg


def module_list(m):
    n = m.nn
    a = n.ModuleList([n.ReLU(), n.Linear(2, 3)])
    a.append(n.Tanh()).extend([n.ReLU(), n.ReLU()])
    a.insert(1, n.Identity())
    a += [n.Sequential(n.Linear(1, 1))]
    yield repr(a), len(a), [k for k, _ in a.named_parameters()], repr(a[1:3]), repr(a[-1])
    a[0] = n.Sigmoid()
    del a[1]
    yield repr(a), repr(a.pop(0)), repr(a + [n.Tanh()]), list(a.state_dict()), repr(n.ModuleList())
    with pytest.raises(IndexError, match="out of range"):
        a[9]
    with pytest.raises(TypeError, match=r"ModuleList.extend should be called with an iterable"):
        a.extend(3)


def module_dict(m):
    n = m.nn
    a = n.ModuleDict({"b": n.ReLU(), "a": n.Linear(2, 3)})
    a["c"] = n.Tanh()
    a.update([("d", n.Linear(1, 1))])
    yield repr(a), len(a), list(a), list(a.keys()), "c" in a, [k for k, _ in a.items()], [repr(v) for v in a.values()]
    yield repr(a.pop("c")), list(a.state_dict()), repr(a)
    del a["d"]
    yield list(a)
    a.clear()
    yield len(a), repr(a)


def parameter_list(m):
    a = m.nn.ParameterList([m.zeros(2), m.nn.Parameter(m.ones(3, 2)), 5])
    a.append(m.zeros(()))
    a += [m.ones(1)]
    yield repr(a), len(a), [k for k, _ in a.named_parameters()], list(a.state_dict()), len(a[1:3]), type(a[0]).__name__
    a[0] = m.ones(4)
    yield tuple(a[0].shape), a[0].requires_grad, a[-1].tolist(), [getattr(p, "requires_grad", p) for p in a]
    with pytest.raises(IndexError, match="out of range"):
        a[9]


def parameter_dict(m):
    a = m.nn.ParameterDict({"b": m.zeros(2), "a": m.nn.Parameter(m.ones(3, 2)), "c": "text"})
    a.update({"d": m.zeros(1)})
    yield repr(a), len(a), list(a), [k for k, _ in a.named_parameters()], list(a.state_dict()), "c" in a, a.get("z", 3)
    yield a.pop("c"), tuple(a.setdefault("e", m.zeros(5)).shape), list(a.keys()), type(a["b"]).__name__
    del a["d"]
    a.clear()
    yield len(a), repr(a)


@pytest.mark.parametrize("program", [module_list, module_dict, parameter_list, parameter_dict], ids=lambda f: f.__name__)
def test_container_is_torchs(program, torch):
    for ours, theirs in zip(program(mg), program(torch), strict=True):
        assert str(ours).replace("minigrad.", "torch.") == str(theirs)
