"""The graphs of all op cases beside PyTorch's: the types of their nodes, their edges, and the names of what the nodes have saved.

Differences are listed here with their reasons, so a new difference fails the test, and a listed one must exist.
"""

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.ops.cases import CASES, COMPLEX

# Beginnings of names of cases whose graphs have other nodes or edges, and why.
OTHER_NODES = {
    "one node there, made of others here": (
        "mvlgamma", "index_reduce", "pdist", "bilinear", "lu (", "select_scatter", "slice_scatter", "diagonal_scatter", "nll_loss planes",
        "vdot", "diag of matrix"),
    "one node here, made of others there": ("attention", "real", "imag", "complex", "polar", "LSTM layer", "GRU layer", "RNN layer",
                                              "pad circular"),
    "the same products in another order, or views by other functions": (
        "einsum", "kron", "outer", "tensorinv", "matrix_power to -3", "matrix_norm", "cross", "linalg.cross", "logdet", "cholesky False",
        "cholesky True", "qr (2, 4, 3) product", "svd (2, 2, 4) all", "cond nuc", "block_diag", "meshgrid xy", "combinations", "quantile",
        "nanquantile", "index_add 0-d", "conv2d same", "conv1d same", "cov", "corrcoef", "local_response_norm"),
    "written with other formulas": ("special.ndtr", "trapezoid", "cumulative_trapezoid", "rms_norm", "cross_entropy one",
                                    "cross_entropy smooth", "cross_entropy probabilities"),
    "an operand is converted or expanded first": ("bernoulli_ tensor",),
    "in place, it ends by writing its result": ("renorm_",),
    "an overload of another number": ("conj_physical_",),
}
# Beginnings of names of nodes that have saved things of other names, and why.
OTHER_NAMES = {
    "we save the shape of what is needed for its shape alone": (
        "CholeskySolveBackward0", "CummaxBackward0", "CumminBackward0", "GatherBackward0", "IndexAddBackward0", "IndexCopyBackward0",
        "NllLossBackward0", "PutBackward0", "TakeBackward0", "EmbeddingBackward0", "Im2ColBackward0", "Col2ImBackward0",
        "ConvolutionBackward0", "FftR2CBackward0"),
    "we save where the windows are, computed once": (
        "AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "MaxPool", "Upsample"),
    "PyTorch saves shapes and strides to choose a layout; we save whether it is column-major": ("AddmmBackward0", "MmBackward0",
                                                                                              "AddbmmBackward0"),
    "PyTorch saves what its formula does not read, or what can be had from the rest": (
        "DivBackward2", "MeanBackward", "SqueezeBackward", "ScatterReduceBackward0", "LinalgSvdBackward0", "ComplexBackward0"),
    "the shape is saved if something was expanded": ("ExpandBackward0",),
    "one value written by a mask is a masked fill": ("IndexPutBackward0",),
    "our derivative is a more accurate formula, of other values": ("Expm1Backward0", "SpecialI1Backward0", "SpecialI0EBackward0", "SpecialI1EBackward0"),
    "we factorise again, or save the factors under other names": (
        "LinalgDetBackward0", "LinalgSlogdetBackward0", "LinalgSolveExBackward0", "LinalgLstsqBackward0"),
    "one rule for the whole and for one dimension": ("MaxBackward1", "MinBackward1", "MedianBackward0", "NanmedianBackward0",
                                                     "NativeLayerNormBackward0", "UnsafeSplitBackward0"),
}
# Nodes and what they have saved of other values under the same name, and why.
OTHER_VALUES = {
    "a dimension is counted from the first, and None or () stands written out": ("._saved_dim",),
    "a slice ends where it ends": ("SliceBackward0._saved_end",),
    "positions instead of masks and negative indices": ("Backward0._saved_indices", "TakeBackward0._saved_index", "PutBackward0._saved_index"),
    "a default stands written out": ("._saved_correction", "AsStridedBackward0._saved_storage_offset", "NllLossBackward0._saved_reduction",
                                     "NllLossBackward0._saved_total_weight"),
    "as it was given, before it was expanded": ("BinaryCrossEntropyBackward0._saved_weight",),
    "an index is counted from the first": ("SelectBackward0._saved_index",),
}
# Beginnings of names of cases whose nodes save other values, and why.
OTHER_RESULTS = {
    "singular vectors and eigenvectors are determined up to a sign": (
        "svdvals", "svd", "linalg.svd", "matrix_norm", "linalg.matrix_norm", "eigh", "linalg.eigh", "eig"),
    "random numbers": ("cauchy_",),
    "all is dropped by a product with the number 0, there with a tensor of zeros": ("dropout all",),
    "the row is unsqueezed at its end, there before it": ("max_unpool1d",),
}


def graph(z):
    """The nodes behind z, each once, in the order in which a walk along the edges comes upon them."""
    number, order, stack = {}, [], [z.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in number:
            number[node] = len(order)
            order.append(node)
            stack += [following for following, _ in reversed(node.next_functions)]
    return [(type(node).__name__, [(number.get(following), k) for following, k in node.next_functions], saved(node)) for node in order]


def saved(node):
    """What a node has saved, by name."""
    return {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}


def same(a, b):
    """Whether what two nodes saved under one name says the same. (A dimension is unsigned there: -1 is 2**64 - 1.)"""
    if getattr(b, "shape", None) == () and isinstance(a, (int, float, complex)):
        return a == b.item()
    if hasattr(a, "tolist") and hasattr(b, "tolist"):
        a, b = a.detach().resolve_conj(), b.detach().resolve_conj()
        return tuple(a.shape) == tuple(b.shape) and np.allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-9, equal_nan=True)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, int) and isinstance(b, int):
        return (a - b) % 2**64 == 0
    if isinstance(a, (float, complex)) or isinstance(b, (float, complex)):
        return a is not None and b is not None and a == b
    return str(a).split(".")[-1] == str(b).split(".")[-1]


def both(case):
    return (graph(case.run(mg, *[mg.tensor(a).requires_grad_() for a in case.arrays()])),
            graph(case.run(torch, *[torch.tensor(a).requires_grad_() for a in case.arrays()])))


def other_value(name):
    return next((why for why, parts in OTHER_VALUES.items() if any(part in name for part in parts)), None)


def reason(table, name):
    return next((why for why, names in table.items() if name.startswith(names)), None)


@pytest.mark.parametrize("case", [*CASES, *COMPLEX], ids=lambda c: c.name)
def test_graph(case):
    """differences/N-03, differences/N-05"""
    ours, theirs = both(case)
    if [node[:2] for node in ours] != [node[:2] for node in theirs]:
        assert reason(OTHER_NODES, case.name), (list(map(str, ours)), list(map(str, theirs)))
        return
    for (name, _, mine), (_, _, other) in zip(ours, theirs):
        if mine.keys() != other.keys():
            assert reason(OTHER_NAMES, name), f"{name}: only ours {mine.keys() - other}, only PyTorch's {other.keys() - mine}"
        for what in mine.keys() & other:
            if not same(mine[what], other[what]):
                why = other_value(f"{name}.{what}") or reason(OTHER_RESULTS, case.name)
                assert why, f"{name}.{what}: {mine[what]}, PyTorch's {other[what]}"


@pytest.mark.parametrize("why", OTHER_NODES)
def test_what_is_listed_differs(why):
    """Of the cases of each reason one differs at least."""
    def differs(case):
        ours, theirs = both(case)
        return [node[:2] for node in ours] != [node[:2] for node in theirs]
    for beginning in OTHER_NODES[why]:
        assert any(differs(case) for case in (*CASES, *COMPLEX) if case.name.startswith(beginning)), beginning


def main():
    """How many graphs are equal."""
    np.seterr(all="ignore")
    counts = dict.fromkeys(("cases", "the same nodes", "and what they saved", "nodes", "names", "values"), 0)
    for case in (*CASES, *COMPLEX):
        ours, theirs = both(case)
        counts["cases"] += 1
        if [node[:2] for node in ours] == [node[:2] for node in theirs]:
            counts["the same nodes"] += 1
            counts["nodes"] += len(ours)
            counts["names"] += sum(len(a[2].keys() & b[2]) for a, b in zip(ours, theirs))
            counts["values"] += sum(same(a[2][what], b[2][what]) for a, b in zip(ours, theirs) for what in a[2].keys() & b[2])
            counts["and what they saved"] += all(a[2].keys() == b[2].keys() for a, b in zip(ours, theirs))
    print(", ".join(f"{name}: {number}" for name, number in counts.items()))


if __name__ == "__main__":
    main()
