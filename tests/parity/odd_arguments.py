"""Random arguments, plausible and odd, for every function and method that PyTorch has too.

    call_of("topk", seed)   ->  Call("topk", {"input": "matrix", "k": "5", "dim": "-3"})

The name of a parameter determines its possible values. Most are sensible, some are not: another number of dimensions, another dtype
or type, an empty axis, an index out of range. The same seed gives the same calls.

test_odd_arguments.py uses it; ``python -m tests.parity.odd_arguments [calls] [names]`` prints the differences directly.
"""

import inspect
import itertools
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import torch

import minigrad as mg
from tests.argument_pools import ALL, GOOD, OTHERS, POOLS, TENSOR
from tests.ops.test_bad_input import builtin, plain, same

# Kept away from: random results, what is no computation, what the other library spells in another way on purpose.
SKIPPED = {
    # of a size: memory that nobody has written to
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor",
    "Generator", "Size", "Tensor", "backward", "exponential_", "geometric_", "cauchy_", "log_normal_", "random_", "randint_like",
    "data_ptr", "load", "save", "manual_seed", "seed", "initial_seed",
    "get_rng_state", "set_rng_state", "rand", "randn", "rand_like", "randn_like", "randint", "randperm",
    "normal", "bernoulli", "multinomial", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
    "feature_alpha_dropout", "empty", "empty_like", "empty_strided", "new", "new_empty", "new_empty_strided", "resize_", "resize_as_", "set_", "uniform_",
    "normal_", "bernoulli_", "set_printoptions", "set_num_threads", "set_num_interop_threads", "set_flush_denormal", "get_num_threads", "set_default_dtype",
    "use_deterministic_algorithms", "are_deterministic_algorithms_enabled", "set_warn_always", "is_warn_always_enabled",
    "get_default_dtype", "as_subclass", "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "numpy",
    "detach_", "is_inference", "compile", "device", "dtype", "finfo", "iinfo", "from_dlpack", "from_numpy", "frombuffer",
    "is_tensor", "is_storage", "is_grad_enabled", "set_grad_enabled", "no_grad", "enable_grad", "inference_mode",
    "is_inference_mode_enabled", "to", "cpu", "cuda", "pin_memory", "is_pinned", "type", "type_as", "as_strided_", "requires_grad_", "show_config", "typename",
    "storage", "untyped_storage", "poisson", "memory_format", "new_tensor", "tensor", "as_tensor", "asarray", "promote_types", "result_type", "can_cast",
    # sparse tensors, which are dense here; random numbers; older names
    "sparse_coo_tensor", "sparse_csr_tensor", "spmm", "dsmm", "to_sparse", "to_sparse_coo", "to_sparse_csr", "coalesce", "is_coalesced",
    "indices", "values", "sparse_dim", "dense_dim", "crow_indices", "col_indices", "sparse_mask", "to_dense", "pca_lowrank", "svd_lowrank",
    "triangular_solve", "lu", "lu_solve"}


@dataclass
class Call:
    """One call: of the function `name` in a place ("", "Tensor" or "F"), the labels of its arguments, the first by position."""

    place: str
    name: str
    arguments: dict
    positional: int

    def __str__(self):
        prefix = {"": "", "Tensor": "Tensor.", "F": "F."}[self.place]
        labels = [v if i < self.positional else f"{k}={v}" for i, (k, v) in enumerate(self.arguments.items())]
        return f"{prefix}{self.name}({', '.join(labels)})"

    def run(self, m):
        """(result, error) on one library; for an in-place method, the written tensor too."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            args = [POOLS[k][v](m) for k, v in list(self.arguments.items())[:self.positional]]
            kwargs = {k: POOLS[k][v](m) for k, v in list(self.arguments.items())[self.positional:]}
            try:
                if self.place == "Tensor":
                    return getattr(args[0], self.name)(*args[1:], **kwargs), None
                return getattr(m.nn.functional if self.place == "F" else m, self.name)(*args, **kwargs), None
            except Exception as error:
                return None, error


def subjects():
    """(place, name) -> our signature, of all that both libraries have."""
    found = {}
    for place, ours, theirs in (("", mg, torch), ("Tensor", mg.Tensor, torch.Tensor), ("F", mg.nn.functional, torch.nn.functional)):
        for name in sorted(dir(ours)):
            thing = getattr(ours, name)
            if name.startswith("_") or name in SKIPPED or inspect.isclass(thing) or not callable(thing) or not hasattr(theirs, name):
                continue
            if place == "F" and hasattr(mg, name) and name not in ("softmax", "log_softmax"):
                continue
            try:
                parameters = list(inspect.signature(thing).parameters.values())
            except (TypeError, ValueError):
                continue
            if place == "Tensor" and parameters[0].name == "self":
                parameters[0] = parameters[0].replace(name="input")
            if all(p.name in POOLS or p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters) and parameters:
                several = any(p.kind is p.VAR_POSITIONAL for p in parameters)       # whose other spelling is by keyword
                found[place, name] = [p for p in parameters if p.name in POOLS and not (several and p.kind is p.KEYWORD_ONLY)]
    return found


def call_of(place, name, parameters, rng):
    """A call with random arguments."""
    odd = rng.random() < 0.5        # half of the calls are meant to be right
    shape = rng.choice(GOOD)
    arguments = {}
    positional = 0
    for i, p in enumerate(parameters):
        if p.default is not p.empty and p.kind is not p.VAR_POSITIONAL and rng.random() > 0.35:
            continue
        if positional == len(arguments) == i and p.kind is not p.KEYWORD_ONLY and (p.default is p.empty or rng.random() < 0.5):
            positional += 1
        pool = POOLS[p.name]
        if pool is TENSOR:
            choice = rng.random()
            label = shape if choice < 0.5 else rng.choice(GOOD if choice < 0.6 else list(ALL) if choice < 0.95 or not odd else list(OTHERS))
            if place == "Tensor" and i == 0 and label not in ALL:
                label = shape
        else:
            labels = list(pool)
            label = rng.choice(labels if odd else labels[:max(3, len(labels) // 2)])
        arguments[p.name] = label
    return Call(place, name, arguments, positional)


def calls(place, name, parameters, number):
    """`number` calls, each once, the same ones every time."""
    rng = random.Random(f"{place}.{name}")
    found = {}
    for _ in range(number):
        call = call_of(place, name, parameters, rng)
        found.setdefault(str(call), call)
    return found.values()


# ---- differences ----------------------------------------------------------------------------------------------------


def faults(call):
    """The classes of the errors that torch raises when some of the arguments are put right: of several faults any may be named."""
    found = set()
    for kept in itertools.product((True, False), repeat=len(call.arguments)):
        arguments = {k: v if keep else next(iter(POOLS[k])) for keep, (k, v) in zip(kept, call.arguments.items())}
        error = replace(call, arguments=arguments).run(torch)[1]
        if error is not None:
            found.add(builtin(error))
    return found


def difference(call):
    """The difference between minigrad and PyTorch, or None: (kind, text)."""
    theirs, their_error = call.run(torch)
    ours, our_error = call.run(mg)
    if our_error is not None and "MG-E" not in str(our_error) and type(our_error) is not TypeError and (
            their_error is None or (not isinstance(our_error, type(their_error)) and "expected a non-empty list" not in str(our_error))):
        return "crash", f"{type(our_error).__name__}: {str(our_error)[:120]}; torch: {their_error!r:.110}"
    if their_error is not None:
        if our_error is None:
            if isinstance(their_error, NotImplementedError):
                return None         # NumPy has more kernels
            return "accepted", f"{plain(ours)!r:.60}, torch: {type(their_error).__name__}: {str(their_error)[:130]}"
        if builtin(our_error) != builtin(their_error) and builtin(our_error) not in faults(call):
            return "class", f"{our_error!r:.110}, torch: {their_error!r:.130}"
        return None
    if our_error is not None:
        return "refused", f"{type(our_error).__name__}: {str(our_error)[:130]!r}, torch: {theirs!r:.70}"
    if "half" in call.arguments.values():       # NumPy has no complex half, and PyTorch rounds sums of halves in another way
        return None
    if not same(plain(ours), plain(theirs)):
        return "values", f"{plain(ours)!r:.110}, torch: {plain(theirs)!r:.110}"
    return None


def excused(call, kind, text, ours, theirs):
    """The reason why minigrad may differ here, or None."""
    name, given = call.name, call.arguments
    values = set(given.values())
    if kind == "class":
        if "MG-E" not in str(ours):
            return None
        if isinstance(theirs, (AttributeError, ZeroDivisionError)) or str(theirs) == "tuple index out of range":
            return "torch stumbles where we say what is wrong"
        if isinstance(theirs, TypeError):
            return "we look at the values of some arguments before the types of others, or take one for which torch has another spelling"
        if isinstance(ours, TypeError) and isinstance(theirs, NotImplementedError):
            return "we look at the types of arguments before the mode"
        return CLASSES.get(name)
    if kind == "accepted" and "view size is not compatible" in text:
        return "torch needs contiguous operands, and does not say so"
    if kind == "values" and name.startswith(("pow", "float_power")) and any("complex" in v for v in values):
        return "0 to a complex power"
    if kind in ("accepted", "values") and values & {"nan", "inf", "nans", "half", "1j"}:
        return "what becomes of nan and inf depends on the order of operations, and halves are rounded"
    if kind == "refused" and "spread" in values:
        return "a write into an expanded tensor is an error in all ops, not in most of them"
    if "keepdim" in given and isinstance(theirs, TypeError) and ("dim" not in given or given["dim"] == "None"):
        return "keepdim may be given without dim"
    if isinstance(theirs, TypeError) and given.get("dim") == "None":
        return "dim=None means all dimensions everywhere"
    return DIFFERENT.get((kind, name)) or DIFFERENT.get((kind, name.removesuffix("_")))


CLASSES = {
    **dict.fromkeys(("baddbmm", "baddbmm_", "addbmm", "addbmm_"), "torch names a dimension that is not there, we the number of dimensions"),
    **dict.fromkeys(("avg_pool2d", "cross_entropy", "nll_loss", "rms_norm", "gaussian_nll_loss", "normalize", "trapezoid", "trapz",
                     "poisson_nll_loss", "margin_ranking_loss", "quantile", "group_norm", "softshrink", "huber_loss", "mse_loss",
                     "binary_cross_entropy", "instance_norm", "histc", "multi_margin_loss", "multilabel_soft_margin_loss",
                     "slice_scatter", "bilinear", "local_response_norm", "max_unpool1d", "max_unpool2d", "max_unpool3d", "embedding_bag",
                     "triplet_margin_with_distance_loss"), "another fault is named first"),
    **dict.fromkeys(("adaptive_avg_pool2d", "adaptive_avg_pool3d"), "torch takes a mean for output_size=1, and stumbles over its dim"),
    **dict.fromkeys(("index_add", "index_add_", "index_copy", "index_copy_", "index_fill_"),
                    "torch has one class for an index that is out of range here, and another there"),
    **dict.fromkeys(("index_fill", "index_select"), "torch asks for memory that is not there"),
    "narrow_copy": "a dimension that is not there is an IndexError, as in narrow",
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "remainder"), "the first operand has to be a tensor"),
}
DIFFERENT = {
    ("refused", "addr"): "the dtypes have to agree, as in all products", ("refused", "lerp"): "the dtypes have to agree",
    ("refused", "remainder"): "the first operand has to be a tensor", ("refused", "floor_divide"): "the first operand has to be a tensor",
    **dict.fromkeys([("refused", n) for n in ("gather", "scatter", "scatter_add", "scatter_reduce")],
                    "torch takes an empty index of any shape"),
    **dict.fromkeys([("refused", n) for n in ("cummax", "cummin", "diff", "batch_norm", "cholesky", "adaptive_avg_pool1d")],
                    "torch does not look if there is nothing to do"),
    ("refused", "take_along_dim"): "torch reads what lies behind the tensor", ("refused", "where"): "a condition has to be of dtype bool",
    ("refused", "matrix_power"): "an inverse is another matter", ("refused", "view_as_complex"): "NumPy has no complex half",
    **dict.fromkeys([("refused", n) for n in ("huber_loss", "smooth_l1_loss")], "bools cannot be subtracted"),
    ("refused", "logcumsumexp"): "not for complex numbers",
    ("refused", "bitwise_right_shift"): "we divide by a power of 2, which is 0 where it has more bits than the dtype",
    ("refused", "hardtanh_"): "the lower limit may not be above the upper one, as in hardtanh",
    ("refused", "histc"): "a limit has to be a number",
    **dict.fromkeys([("refused", n) for n in ("adaptive_avg_pool2d", "adaptive_avg_pool3d")],
                    "torch takes a mean for output_size=1, and does not count the dimensions"),
    **dict.fromkeys([("refused", n) for n in ("avg_pool1d", "avg_pool2d", "avg_pool3d")],
                    "torch rounds the means of int64, and of no other integers"),
    **dict.fromkeys([("refused", n) for n in ("trapezoid", "trapz", "cumulative_trapezoid")], "x needs at least one dimension"),
    ("values", "i0"): "at infinity it is infinite, and nan in torch", ("values", "i0_"): "at infinity it is infinite, and nan in torch",
    **{("values", f"igamma{end}"): "at a subnormal number PyTorch takes the value at 0, and we the limit" for end in ("", "_", "c", "c_")},
    ("values", "lstsq"): "where rcond is 1 or more, gelsy still keeps one column, and we keep no singular value",
    ("values", "matrix_rank"): "a singular value of 1e-17 or 0 counts or not where the tolerance is 0 or less",
    ("values", "put"): "which of several values for one place is kept",
    ("values", "binary_cross_entropy_with_logits"): "torch subtracts 1 from a pos_weight of uint8, and 0 becomes 255",
    ("refused", "index_fill"): "a 0-d tensor has no slices", ("refused", "kthvalue"): "bools have no order",
    ("accepted", "arange"): "start alone is taken for the end, and arange() is empty", **dict.fromkeys([("accepted", n) for n in ("flip", "permute", "tile", "broadcast_to", "reshape",
        "squeeze", "chain_matmul", "broadcast_tensors", "tensordot", "movedim", "argsort", "sort")],
        "our function takes what the method, or its twin, takes too"),
    **dict.fromkeys([("accepted", n) for n in ("std", "var", "std_mean", "var_mean")], "unbiased and correction may both be given, and None means nothing"),
    ("accepted", "cumsum"): "an operation in place converts its result", ("accepted", "cumprod"): "an operation in place converts its result",
    **dict.fromkeys([("accepted", n) for n in ("kron", "cross", "prelu", "huber_loss", "binary_cross_entropy", "kl_div", "cosine_similarity")],
                    "dtypes are promoted where torch has no kernel"),
    **dict.fromkeys([("accepted", n) for n in ("softmax", "celu", "elu", "hardtanh", "threshold", "softshrink", "addcdiv", "logit", "cdist", "dist",
                                               "logsumexp", "isin", "cumulative_trapezoid", "take_along_dim", "addcmul")],
                    "minigrad takes more: other dtypes, None for a default, an array for a tensor"),
    ("values", "logit"): "a lower limit above the upper one", ("values", "clamp"): "a limit that no number of the dtype reaches has no effect",
    ("values", "clip"): "a limit that no number of the dtype reaches has no effect", ("values", "kthvalue"): "which of several equal elements is found",
    ("values", "polygamma"): "at a pole", ("values", "unique_consecutive"): "torch returns no counts, but something in their place",
    ("values", "qr"): "signs, and columns that nothing determines", ("values", "svd"): "signs, and vectors that nothing determines",
    ("values", "pinverse"): "of a singular matrix: what rounding leaves of 0 is more than rcond=1e-15",
    ("values", "pinv"): "of a singular matrix: what rounding leaves of 0 is more than rtol=0",
    ("values", "cond"): "of a singular matrix: what rounding leaves of 0 divides",
    ("values", "hardswish"): "torch multiplies -inf by 0", ("values", "cumulative_trapezoid"): "torch adds numbers of uint8, which wrap",
    ("values", "cholesky_inverse"): "torch takes a complex diagonal for a real one",
    ("values", "sub"): "torch takes the least alpha of 64 bits for its own negative", ("values", "cov"): "torch wraps a correction of 64 bits",
    **{("values", name): "torch wraps a limit of -1 to 255, beside uint8" for name in ("clamp_min", "clamp_max")},
    ("values", "gelu"): "torch's is nan at inf", ("values", "dist"): "of empty tensors, with p=nan", ("values", "bucketize"): "limits that are nan",
    ("values", "arange"): "torch does not resize an out of one element",
    **{("values", name): "torch's 0**0 of complex numbers is nan" for name in ("float_power", "pow")},
    ("values", "group_norm"): "rounding", ("values", "mode"): "which of several equal elements is found",
}


def main(number=60, *names):
    counts = Counter()
    for (place, name), parameters in subjects().items():
        if names and name not in names:
            continue
        for call in calls(place, name, parameters, int(number)):
            found = difference(call)
            counts["calls"] += 1
            if found:
                why = excused(call, *found, call.run(mg)[1], call.run(torch)[1])
                counts["excused" if why else found[0]] += 1
                if not why:
                    print(f"{found[0]:9}{call}: {found[1]}".replace("\n", " "))
    print(counts)


if __name__ == "__main__":
    main(*sys.argv[1:])
