"""Plausible and odd values for each parameter, by its name.

    POOLS["dim"]["-1"](m)   ->  -1          m is minigrad or torch, each of which makes its own tensors
    POOLS["input"]["row"](m)  ->  tensor([1., 2., 3.])

Most values of a pool are sensible, above all in its first half. tests/parity/odd_arguments.py compares calls with PyTorch;
tests/hostile tries to crash them.
"""

from tests.ops.test_bad_input import OTHERS, TENSORS, values

__all__ = ["ALL", "GOOD", "OTHERS", "POOLS", "TENSOR", "values"]

MORE = {
    "cubes": lambda m: m.arange(24.0).reshape(2, 3, 4) / 7, "thin": lambda m: m.ones(2, 0), "one": lambda m: m.ones(1),
    "sure": lambda m: m.tensor([[0.1, 0.9], [0.5, 0.25]]), "half": lambda m: m.tensor([1.5, -2.0], dtype=m.float16),
    "uint8": lambda m: m.tensor([[3, 200], [0, 255]], dtype=m.uint8), "true": lambda m: m.tensor(True), "whole": lambda m: m.tensor(3),
    "mask": lambda m: m.tensor([[True, False, True], [False, True, False]]), "nans": lambda m: m.tensor([[float("nan"), 1.0], [2.0, -float("inf")]]),
    "columns": lambda m: m.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]).t(), "spread": lambda m: m.ones(1, 3).expand(2, 3),
    "complexes": lambda m: m.tensor([[1 + 2j, 3 - 1j], [0j, -2j]]),
}
ALL = TENSORS | MORE
TENSOR = ALL | OTHERS
GOOD = ["matrix", "square", "row", "cubes", "sure", "columns", "cube", "pair"]
INDICES = {"zeros": lambda m: m.zeros(3, dtype=m.int64), "zero": lambda m: m.tensor(0), "plane": lambda m: m.tensor([[0, 1, 0]]),
           "ones": lambda m: m.tensor([1, 0]), "far": TENSORS["far"], "negative": TENSORS["negative"], "int32": TENSORS["int32"],
           "none": lambda m: m.zeros(0, dtype=m.int64), "float": TENSORS["row"], "bool": TENSORS["bool"], "None": OTHERS["None"],
           "2": OTHERS["2"], "int": TENSORS["int"]}
MASKS = {"mask": MORE["mask"], "bool": TENSORS["bool"], "true": MORE["true"], "row": TENSORS["row"], "uint8": MORE["uint8"],
         "None": OTHERS["None"], "2": OTHERS["2"]}
LISTS = {"matrices": lambda m: [m.ones(2, 3), m.arange(6.0).reshape(2, 3)], "rows": lambda m: (m.ones(3), m.tensor([1, 2, 3])),
         "uneven": lambda m: [m.ones(2, 3), m.ones(2, 2)], "dims": lambda m: [m.ones(3), m.ones(1, 3)], "none": lambda m: [],
         "0-d": lambda m: [m.tensor(1.0)] * 2, "None": lambda m: None, "numbers": lambda m: [1.0, 2.0], "one": lambda m: (m.ones(1, 2),),
         "inside": lambda m: [m.ones(2), None], "2": lambda m: 2, "tensor": lambda m: m.ones(2, 3)}
DIM = values(0, 1, -1, 0, 1, 2, -3, 7, None, "x", 1.5, True)
DIMS = values(0, 1, -1, (0,), (0, 1), (-1, 0), (0, 0), (), (0, 9), None, "x", 1.5, [1])
NUMBER = values(1, 2, 0.5, 0, -1, True, 1j, None, "x", float("nan"), float("inf"))
COUNT = values(1, 2, 0, 1, 3, -1, 9, None, "x", 1.5, True)
FLAG = values(True, False, True, False, None, "x", 1)
SIZE = values((2, 3), (3,), (-1,), (6,), (), (0,), (1, 2, 3), (-1, -1), None, "x", 2, (1.5,))
DTYPE = {"float64": lambda m: m.float64, "float32": lambda m: m.float32, "int64": lambda m: m.int64, "bool": lambda m: m.bool,
         "complex64": lambda m: m.complex64, "None": lambda m: None, "str": lambda m: "float", "int": lambda m: int}
REDUCTION = values("mean", "sum", "none", "x", None)
TENSOR_NAMES = ("input other y x tensor tensor1 tensor2 mat mat1 mat2 vec vec1 vec2 batch1 batch2 x1 x2 src source end exponent weight values "
                "real imag abs angle boundaries elements test_elements sorted_sequence tensor a b target bias input1 input2 "
                "anchor positive negative var query key running_mean running_var append prepend ext_tensor pos_weight attn_mask "
                "threshold_ weights sorter")
POOLS = {
    **dict.fromkeys(TENSOR_NAMES.split(), TENSOR), "index": INDICES, "indices": INDICES, "mask": MASKS, "condition": MASKS,
    "tensors": LISTS, "matrices": LISTS,
    **dict.fromkeys(("dim", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "destination_"), DIM),
    **dict.fromkeys(("dims", "shifts", "repeats", "destination", "sizes_"), DIMS),
    **dict.fromkeys(("alpha", "beta", "value", "min", "max", "dx", "fill_value", "p", "eps", "rtol", "atol", "nan", "posinf", "neginf",
                     "maxnorm", "negative_slope", "lambd", "threshold", "min_val", "max_val", "margin", "delta", "momentum", "scale",
                     "label_smoothing", "d", "q", "step", "steps", "start", "low", "high", "upper", "lower", "mean", "std"), NUMBER),
    **dict.fromkeys(("n", "k", "chunks", "offset", "diagonal", "minlength", "bins", "decimals", "order", "groups", "num_classes", "r",
                     "correction", "m", "length", "num_groups", "ignore_index", "padding_idx", "storage_offset", "indices_or_sections",
                     "split_size_or_sections", "kernel_size", "stride", "padding", "dilation", "divisor_override", "size_", "output_size"),
                    COUNT),
    **dict.fromkeys(("keepdim", "descending", "stable", "sorted", "largest", "return_inverse", "return_counts", "accumulate", "right",
                     "out_int32", "equal_nan", "unbiased", "include_self", "assume_unique", "invert", "with_replacement", "as_tuple",
                     "ceil_mode", "full", "log_input", "log_target", "training", "inplace", "is_causal", "swap"), FLAG),
    **dict.fromkeys(("size", "shape", "normalized_shape", "sizes"), SIZE),
    "dtype": DTYPE, "reduction": REDUCTION, "rounding_mode": values("floor", "trunc", None, "x", 1),
    "side": values("left", "right", "x", None), "interpolation": values("linear", "lower", "nearest", "x", None),
    "indexing": values("ij", "xy", "x"), "reduce": values("sum", "prod", "mean", "amax", "x", None), "unbiased": FLAG,
    "approximate": values("none", "tanh", "x"), "pad": values((1, 1), (0, 1, 1, 0), (1,), (-1, 0), (), None, "x", (1, 2, 3, 4, 5, 6)),
    "mode": values("constant", "reflect", "replicate", "circular", "x"), "compute_mode": values("use_mm_for_euclid_dist", "x"),
    "equation": values("ij->ji", "i", "ij,jk", "x->y"),
}
