"""The names of arguments: every function takes the keywords that PyTorch's documentation gives, and NumPy's where PyTorch takes them."""

import inspect
import re
import warnings
from dataclasses import replace

import pytest
import torch

import minigrad as mg
from tests import signatures
from tests.parity.test_names import same

# The keywords in the signature line of PyTorch's documentation that PyTorch itself refuses: its parameter has another name.
WRONG_IN_PYTORCH = {
    "cholesky_inverse": "L", "cholesky_solve": "B L", "matrix_exp": "A", "matrix_power": "A", "searchsorted": "values", "std_mean": "out",
    "var_mean": "out", "true_divide": "dividend divisor", "unsafe_split": "tensor split_size_or_sections", "bmm": "batch2",
    "dot": "other", "hsplit": "split_size_or_sections", "vsplit": "split_size_or_sections", "dsplit": "split_size_or_sections",
    "fmod": "divisor", "fmod_": "divisor", "remainder": "divisor", "remainder_": "divisor", "index_copy": "tensor2",
    "index_copy_": "tensor", "to_sparse": "sparseDims", "masked_scatter": "tensor", "matmul": "tensor2", "narrow": "dimension", "take": "indices",
    "type_as": "tensor", "where": "y", "narrow_copy": "dimension", "resize_as_": "tensor", "arctanh_": "other", "atanh_": "other", "qr": "List",
    **dict.fromkeys(["div", "div_", "divide", "divide_", "floor_divide", "floor_divide_", "mul", "mul_", "multiply", "multiply_",
                     "true_divide_"], "value"), "Tensor.true_divide": "value",
}
# What minigrad leaves out, and why.
LEFT_OUT = {
    **dict.fromkeys(["addmm", "baddbmm", "bmm", "mm"], ("out_dtype", "PyTorch has it on CUDA only")),
    "load": ("map_location pickle_module weights_only mmap", "tests/test_serialization.py has the arguments of load and save"),
    "save": ("pickle_module pickle_protocol", "the same"),
    "to_dense": ("dtype masked_grad", "they are about sparse tensors"),
    "set_": ("storage_offset size stride", "a source is a tensor here: x.as_strided gives it another shape"),
    "svd": ("out", "mg.linalg.svd has it"), "uniform_": ("from", "it is in **old, because `from` is a word of Python"),
    "random_": ("from", "the same"),
}
PLACES = {"": (mg, torch), "Tensor.": (mg.Tensor, torch.Tensor), "linalg.": (mg.linalg, torch.linalg),
          "special.": (mg.special, torch.special), "fft.": (mg.fft, torch.fft), "nn.functional.": (mg.nn.functional, torch.nn.functional),
          "nn.init.": (mg.nn.init, torch.nn.init), "nn.utils.": (mg.nn.utils, torch.nn.utils)}


def documented(function, name):
    """The keywords of a function of PyTorch's: of its signature if it is written in Python, else of its docstring."""
    try:
        parameters = inspect.signature(function).parameters.values()
        return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and not p.name.startswith("_")]
    except (ValueError, TypeError):
        pass
    found = []
    for line in re.finditer(rf"^(?:linalg\.|special\.|fft\.)?{name}\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*->", inspect.getdoc(function) or "", re.M):
        for part in re.sub(r"\([^()]*\)|\[[^\]]*\]", "", line[1]).split(","):
            word = re.fullmatch(r"\s*(?:\w+ )?(\w+)\s*(?:=.*)?", part)
            found += [word[1]] if word and not part.strip().startswith("*") else []
    return found


def shared():
    """path, ours, theirs: of every function that both libraries have."""
    for place, (ours, theirs) in PLACES.items():
        for name in dir(ours):
            f, g = getattr(ours, name), getattr(theirs, name, None)
            if not name.startswith("_") and callable(f) and callable(g) and not inspect.isclass(f):
                yield place + name, f, g


def accepts(function, keyword):
    """Whether binding the keyword is no error: it is a parameter, or another name of one."""
    from minigrad.ops.base.keywords import names_of
    bare = inspect.unwrap(function)
    return keyword in inspect.signature(function).parameters or keyword in names_of(bare)


def test_documented_keywords():
    missing, excused = [], set()
    for path, ours, theirs in shared():
        name = path.rpartition(".")[2]
        for keyword in documented(theirs, name):
            if keyword == "self" or accepts(ours, keyword):
                continue
            known = WRONG_IN_PYTORCH.get(path, WRONG_IN_PYTORCH.get(name, "")).split() + LEFT_OUT.get(name, ("",))[0].split()
            if keyword in known:
                excused.add(name)
            else:
                missing.append(f"{path}({keyword}=)")
    assert not missing, ", ".join(missing)
    assert excused > {"to_dense", "matmul"}


def with_keyword(path, parameter, name):
    """A good call that has its argument `parameter` under the keyword `name`; None if PyTorch refuses the call anyway."""
    call = signatures.good_call(path)
    if parameter not in call.arguments:
        call = call.but(parameter, signatures.value(0 if parameter == "dim" else False))
        if parameter == "keepdim" and "dim" in [p.name for p in signatures.parameters_of(path)]:
            call = call.but("dim", signatures.value((0, 1) if path == "linalg.matrix_norm" else 0))
    if parameter in call.positional:
        call = replace(call, positional=call.positional[:call.positional.index(parameter)])
    if path.startswith("Tensor.") and not call.positional:
        call = replace(call, positional=(next(iter(call.arguments)),))
    try:
        call.run(torch)
    except Exception:
        return None
    return replace(call, arguments={name if key == parameter else key: make for key, make in call.arguments.items()})


# PyTorch takes `axis` in the first three, which are no functions of ops here. It does not take it in the last, but in mg.unflatten.
WITHOUT_AXIS = {"Tensor.size", "Tensor.stride", "Tensor.narrow_copy", "Tensor.unflatten"}
NAMES = [(path, parameter, name) for parameter, name in (("dim", "axis"), ("keepdim", "keepdims"))
         for path in signatures.subjects() if parameter in [p.name for p in signatures.parameters_of(path)]]


@pytest.mark.parametrize("path, parameter, name", NAMES, ids=[f"{path}-{name}" for path, _, name in NAMES])
def test_numpys_names(path, parameter, name):
    call = with_keyword(path, parameter, name)
    if call is None or path in WITHOUT_AXIS:
        pytest.skip("not a call of PyTorch's" if call is None else "an exception")

    def refused(m):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call.run(m)
            except TypeError:
                return True
        return False
    assert refused(mg) == refused(torch)


@pytest.mark.parametrize("snippet", [
    "m.sum(m.ones(2,3),axis=0)",
    "m.sum(m.ones(2,3),axis=0,keepdims=True)",
    "m.ones(2,3).sum(axis=0,keepdims=True)",
    "m.ones(2,3).mean(axis=(0,1),keepdims=True)",
    "m.ones(2,3).max(axis=1)",
    "m.ones(2,3).max(axis=1, keepdims=True)",
    "m.max(m.ones(2,3),other=m.zeros(2,3))",
    "m.ones(2,3).min(other=m.zeros(2,3))",
    "m.cat([m.ones(2),m.ones(2)],axis=0)",
    "m.stack([m.ones(2),m.ones(2)],axis=1)",
    "m.concatenate([m.ones(2,1),m.ones(2,1)],axis=1)",
    "m.softmax(m.ones(2,3),axis=1)",
    "m.ones(2,3).argmax(axis=1)",
    "m.ones(2,3).softmax(axis=1)",
    "m.unsqueeze(m.ones(2),axis=0)",
    "m.ones(2).unsqueeze(axis=0).unsqueeze_(axis=1)",
    "m.sum(m.ones(2),dim=0,axis=0)",
    "m.sum(m.ones(2),0,axis=0)",
    "m.cumsum(m.ones(2),dim=0,axis=0)",
    "m.cumsum(m.ones(2),0,axis=0)",
    "m.cumsum(m.ones(2),foo=0)",
    "m.sum(m.ones(2),foo=0)",
    "m.cumsum()",
    "m.cumsum(m.ones(2))",
    "m.cumsum(x=m.ones(2),axis=0)",
    "m.cumsum(a=m.ones(2),axis=0)",
    "m.split(m.ones(2),1,axis=0)",
    "m.ones(2).split(split_size=1)",
    "m.norm(m.ones(2),axis=0)",
    "m.linalg.norm(m.ones(2),axis=0,keepdims=True)",
    "m.linalg.vector_norm(m.ones(2,2),axis=0)",
    "m.ones(2,3).std(axis=0,keepdims=True), m.ones(2,3).var(axis=0)",
    "m.zeros(2,3).scatter_(1,m.tensor([[0],[1]]),value=1.)",
    "m.zeros(2,3).scatter(dim=1,index=m.tensor([[0],[1]]),value=1.)",
    "m.ones(2,3).sort(axis=0)",
    "m.ones(2,3).all(axis=0), m.ones(2,3).any(axis=0,keepdims=True), m.ones(2,3).prod(axis=0)",
    "m.special.softmax(m.ones(2),axis=0)",
    "F.softmax(m.ones(2),axis=0)",
    "F.cosine_similarity(m.ones(2,3),m.ones(2,3),axis=0)",
    "F.normalize(m.ones(2,3),axis=0)",
    "m.index_select(m.ones(2,3),axis=0,index=m.tensor([0]))",
    "m.chunk(m.ones(4),2,axis=0)",
    "m.squeeze(m.ones(1,2),axis=0)",
    "m.topk(m.ones(3),2,axis=0)",
    "m.diff(m.ones(3),axis=0)",
    "m.tensor_split(m.ones(4),sections=2), m.tensor_split(m.ones(4),indices=(1,2))",
    "m.hsplit(m.ones(4),sections=2)",
    "m.median(m.ones(2,3),axis=0), m.mode(m.ones(2,3),axis=0)",
    "m.logsumexp(m.ones(2,3),axis=0,keepdims=True)",
    "m.amax(m.ones(2,3),axis=0), m.amin(m.ones(2,3),axis=(0,1))",
    "m.count_nonzero(m.ones(2,3),axis=0)",
    "m.unbind(m.ones(2,3),axis=1)",
    "m.select(m.ones(2,3),axis=1,index=0)",
    "m.Tensor.sum(m.ones(2,3),axis=0)",
    "m.Tensor.cumsum(m.ones(2,3),axis=0)",
    "m.exp(foo=1)",
    "m.ones(2).exp(foo=1)",
    "m.zeros(2,foo=1)",
    "m.zeros(2,layout=m.strided), m.zeros(2,pin_memory=False), m.ones(2,layout=None)",
    "m.tensor([1.],pin_memory=False)",
    "m.zeros_like(m.ones(2),layout=m.strided,pin_memory=False,memory_format=m.preserve_format)",
    "m.empty(2,memory_format=m.contiguous_format).shape",
    "m.rand(2,pin_memory=False,layout=m.strided).shape",
    "m.zeros(2,layout=3)",
    "m.zeros(2,pin_memory=3)",
    "m.ones(2).float(memory_format=m.preserve_format), m.ones(2).cpu(memory_format=m.preserve_format)",
    "m.ones(2).new_zeros(2,layout=m.strided,pin_memory=False)",
    "m.zeros(3).new_full((2,),1.,layout=m.strided)",
    "m.mm(m.ones(2,2),m.ones(2,2),out_dtype=None)",
    "m.arange(3,layout=m.strided,pin_memory=False), m.eye(2,layout=m.strided,pin_memory=False)",
    "m.rand_like(m.ones(2),memory_format=m.preserve_format,layout=m.strided,pin_memory=False).shape",
])
def test_snippets(snippet):
    same(snippet)


def test_what_an_unknown_keyword_says():
    for run in (lambda: mg.cumsum(mg.ones(2), way=0), lambda: mg.sum(mg.ones(2), way=0)):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'way'") as caught:
            run()
        assert "input, dim, " in str(caught.value) and "axis= for dim=" in str(caught.value)


def test_two_names_for_one_argument():
    for run in (lambda: mg.cumsum(mg.ones(2), dim=0, axis=0), lambda: mg.sum(mg.ones(2), dim=0, axis=0),
                lambda: mg.sum(mg.ones(2), 0, axis=0), lambda: mg.cumsum(mg.ones(2), 0, axis=0)):
        with pytest.raises(TypeError, match=r"multiple values for (keyword )?argument 'dim'"):
            run()


def test_results_with_history():
    """The other names change nothing in the graph."""
    x = mg.ones(2, 3, requires_grad=True)
    assert x.sum(axis=0).grad_fn.name() == "SumBackward1" and x.cumsum(axis=1).grad_fn.name() == x.cumsum(1).grad_fn.name()
    (mg.cat([x, x], axis=1).sum(axis=1, keepdims=True) * x).sum().backward()
    assert x.grad.tolist() == [[12.0] * 3] * 2


def test_linalg_fills_out():
    A = mg.tensor([[2.0, 1.0], [1.0, 3.0]])
    values, vectors = mg.zeros(2), mg.zeros(2, 2)
    found = mg.linalg.eigh(A, out=(values, vectors))
    assert found[0] is values and values.tolist() == mg.linalg.eigh(A)[0].tolist()
    for name in ("svd", "qr", "slogdet", "eig", "inv_ex", "cholesky_ex"):
        made = getattr(mg.linalg, name)(A)
        out = tuple(mg.zeros_like(x) for x in made)
        getattr(mg.linalg, name)(A, out=out)
        assert all(mg.equal(x, y) for x, y in zip(out, made)), name
