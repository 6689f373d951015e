"""No part of a gradient is lost silently: every public function and method is called with operands that require a gradient.

    requires_grad       what has a history in PyTorch has one here
    backward            an operand that gets a gradient there gets one here; what has no derivative there raises here too, or has one
    numbers             an argument that is no operand, given a tensor that requires a gradient, is refused, or has a derivative

The calls are those of odd_arguments.py, at random, and the good ones of tests/signatures.py, so that a new function is asked too.
"""

import warnings
from operator import attrgetter

import numpy as np
import pytest
import torch

import minigrad as mg
from tests import signatures
from tests.ops.test_bad_input import builtin
from tests.parity.odd_arguments import POOLS, calls, subjects

RANDOM = {subject: call for subject, call in subjects().items() if subject[1] != "pdist"}      # torch's backward of it crashes

# Where PyTorch has no derivative in place, but has the one that we use in both ways.
IN_PLACE = ("acosh_", "asinh_", "atanh_", "arccosh_", "arcsinh_", "arctanh_")
# What we answer otherwise, on purpose.
BETTER = {
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"),
                    "what was there has no influence on what is: PyTorch passes its gradient on"),
    **dict.fromkeys(("minimum", "maximum", "fmax", "fmin", "hardtanh", "clamp", "logit", "std", "huber_loss", "dist", "clip"),
                    "at nan, infinity and ties, which tests of numbers look at"),
    "remainder": "of a number and x it has the derivative -floor(number / x), which may be 0",
}


def needing(x, m):
    """`x` as a leaf that requires a gradient, if it can; lists element by element."""
    if isinstance(x, m.Tensor):
        return x.detach().clone().requires_grad_() if x.is_floating_point() or x.is_complex() else x
    return type(x)([needing(y, m) for y in x]) if isinstance(x, (list, tuple)) else x


def tensors_in(x, m):
    """The tensors among arguments or results, however they are nested."""
    if isinstance(x, m.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for y in x for t in tensors_in(y, m)] if isinstance(x, (list, tuple)) else []


def outcome(m, path, args, kwargs):
    """(which results require a gradient, what becomes of the gradient of each operand), or None where the call is refused."""
    args, kwargs = [needing(x, m) for x in args], {k: needing(x, m) for k, x in kwargs.items()}
    leaves = [x for x in tensors_in([*args, *kwargs.values()], m) if x.requires_grad]
    if path.endswith("_") and isinstance(args[0], m.Tensor) and args[0].requires_grad:
        args[0] = args[0] * 1       # what is written to is no leaf
    try:
        result = attrgetter(path)(m)(*args, **kwargs)
    except Exception:
        return None
    outs = [x for x in tensors_in(result, m) if x.is_floating_point() or x.is_complex()]
    flags = [x.requires_grad for x in outs]
    outs = [x for x in outs if x.requires_grad]
    if not outs or not leaves:
        return flags, []
    weights = [m.tensor(np.cos(np.arange(max(x.numel(), 1), dtype=np.float64))[:x.numel()].reshape(tuple(x.shape))) for x in outs]
    try:
        total = sum((x * w.to(x.dtype)).real.sum() + (x.imag * w).sum() if x.is_complex() else (x * w.to(x.dtype)).sum()
                    for x, w in zip(outs, weights))
        grads = m.autograd.grad(total, leaves, allow_unused=True)
    except Exception as error:
        return flags, error
    return flags, ["nothing" if g is None or not g.detach().numpy(force=True).any() else "a gradient" for g in grads]


def lost(path, made):
    """What is lost in a call, as text, or None. `made(m)` gives its arguments on a library."""
    name = path.rpartition(".")[2]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            theirs = outcome(torch, path, *made(torch))
        except Exception:       # what PyTorch does not have, or cannot make the arguments of
            return None
        ours = outcome(mg, path, *made(mg)) if theirs else None
    if ours is None:
        return None
    for a, b in zip(*[x[0] for x in (ours, theirs)]):
        if b and not a:
            return "the result requires no gradient"
    if isinstance(theirs[1], Exception):
        missing = "is not implemented" in str(theirs[1]) and name not in IN_PLACE and isinstance(ours[1], list)
        return "PyTorch has no derivative, and we give 0" if missing and ours[1] and "a gradient" not in ours[1] else None
    if isinstance(ours[1], Exception):
        return f"backward raises {builtin(ours[1])}: {str(ours[1]).splitlines()[0]}"
    for i, (a, b) in enumerate(zip(ours[1], theirs[1])):
        if b == "a gradient" and a == "nothing":
            return f"operand {i} gets no gradient"
    return None


PREFIXES = {"": "", "Tensor": "Tensor.", "F": "nn.functional."}


@pytest.mark.parametrize("place, name", RANDOM, ids=[f"{place or 'mg'}.{name}" for place, name in RANDOM])
def test_random_calls(place, name):
    """differences/S-01, S-02."""
    found = []
    for call in calls(place, name, RANDOM[place, name], 40):
        def arguments(m, call=call):
            items = [(k, POOLS[k][v](m)) for k, v in call.arguments.items()]
            return [x for _, x in items[:call.positional]], dict(items[call.positional:])
        what = lost(PREFIXES[place] + name, arguments)
        if what and name.rstrip("_") not in BETTER:
            found.append(f"  {call}: {what}")
    assert not found, f"{len(found)} calls:\n" + "\n".join(found[:20])


@pytest.mark.parametrize("path", signatures.subjects())
def test_good_calls(path):
    """differences/S-01: what random arguments seldom reach, and the namespaces linalg and special."""
    name = path.rpartition(".")[2].rstrip("_")
    assert name in BETTER or not lost(path, signatures.good_call(path).made)


# ---- arguments that are numbers ---------------------------------------------------------------------------------

# Where a tensor is asked for its shape, its dtype or its gradient alone; is cut off on purpose, or with a warning; or is a label.
NOT_ITS_NUMBERS = {"the_template", "memory_format", "size_average", "reduce", "requires_grad", "_stacklevel", "compute_mode",
                   "Tensor.type.dtype", "Tensor.type_as.other", "Tensor.to.0", "Tensor.to.dtype", "Tensor.detach.self", "histc.input",
                   "Tensor.histc.input", "tensor.data", "Tensor.new_tensor.data", "Tensor.set_.source", "multinomial.input",
                   "nn.functional.cosine_embedding_loss.target", "nn.functional.hinge_embedding_loss.target",
                   "foreach", "nn.functional.multi_head_attention_forward.add_zero_attn",
                   "nn.functional.multi_head_attention_forward.dropout_p", "q_proj_weight", "k_proj_weight", "v_proj_weight"}
NOT_ITS_NUMBERS |= {f"{name}_like.input" for name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint")}
NOT_ITS_NUMBERS |= {f"Tensor.new_{name}.self" for name in ("zeros", "ones", "empty", "empty_strided", "full", "tensor")}
NOT_ITS_NUMBERS |= {"Tensor.new.self", "detach.input", "detach_.input", "asarray.copy", "nn.functional.embedding_bag.norm_type",
                    "lu.out", "batch_norm.training", "cudnn_enabled", "instance_norm.use_input_stats"}
NOT_ITS_NUMBERS |= {f"{name}.train" for name in ("alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout")}
NOT_ITS_NUMBERS |= {f"nn.utils.{name}.parameters" for name in ("clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")}
# Sparse tensors are dense here: these say how PyTorch stores them, and a mask which entries stay.
NOT_ITS_NUMBERS |= {"check_invariants", "is_coalesced", "sparse_dim", "dense_dim", "blocksize", "Tensor.to_sparse.layout", "Tensor.sparse_mask.mask",
                    "sparse_coo_tensor.indices", "sparse_csr_tensor.crow_indices", "sparse_csr_tensor.col_indices", "pin_memory"}


def arguments_of(call):
    """The names, or positions, of the arguments that might be numbers."""
    for p in signatures.parameters_of(call.path):
        names = range(len(call.arguments.get(signatures.ANY, ()))) if p.kind is p.VAR_POSITIONAL else [p.name]
        if p.kind is not p.VAR_KEYWORD and not isinstance(p.default, (bool, str)):
            yield from [name for name in names if not {name, f"{call.path}.{name}"} & NOT_ITS_NUMBERS]


@pytest.mark.parametrize("path", signatures.subjects())
def test_a_number_that_requires_grad(path):
    """differences/S-07: refused, or differentiated; never taken without its history."""
    call = signatures.good_call(path)
    found = []
    for name in arguments_of(call):
        for number in (0.5, 1.0, 2.0, 0.0):
            for shape in ((), (1,)):
                try:
                    result = call.but(name, lambda m, n=number, s=shape: m.ones(s).mul_(n).requires_grad_()).run(mg)
                except Exception:
                    continue
                outs = [x for x in tensors_in(result, mg) if x.dtype.differentiable]
                if outs and not any(x.requires_grad for x in outs):
                    found.append(f"{name} = {number}, {shape}")
    assert not found, f"{path}: a history is lost in {found}"
