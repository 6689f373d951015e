"""Splitting a batch into microbatches, and merging their outputs."""

import re

import pytest

import minigrad as mg
from minigrad.distributed.pipelining.microbatch import TensorChunkSpec, merge_chunks, split_args_kwargs_into_chunks


def rows(n):
    return mg.arange(2. * n).reshape(n, 2)


def test_split():
    """pipelining_backward/K-01, pipelining_backward/K-02"""
    args, kwargs = split_args_kwargs_into_chunks((rows(5), 3, [{"a": rows(5)}]), {"k": rows(5), "mode": "sum"}, 2)
    assert [(len(x), n, len(nested[0]["a"])) for x, n, nested in args] == [(3, 3, 3), (2, 3, 2)]
    assert [(len(k["k"]), k["mode"]) for k in kwargs] == [(3, "sum"), (2, "sum")]
    assert args[1][0].tolist() == [[6., 7.], [8., 9.]]


def test_split_along_a_dimension():
    """pipelining_backward/K-01"""
    specs = TensorChunkSpec.from_tuple((1,)), TensorChunkSpec.from_dict({"k": -1})
    (first, second), kwargs = split_args_kwargs_into_chunks((rows(3),), {"k": rows(2)}, 2, *specs)
    assert first[0].tolist() == [[0.], [2.], [4.]] and second[0].tolist() == [[1.], [3.], [5.]]
    assert kwargs[0]["k"].shape == (2, 1)
    args, _ = split_args_kwargs_into_chunks((rows(4), [rows(2), 5]), {}, 2, (None, [TensorChunkSpec(0), None]))
    assert [(x.shape, y.shape, n) for x, (y, n) in args] == [((4, 2), (1, 2), 5)] * 2
    assert repr(TensorChunkSpec(1)) == "TensorChunkSpec(1)"


@pytest.mark.parametrize("a, k, chunks, number", [(1, 1, 3, 1), (5, 1, 2, 1), (1, 5, 2, 1), (3, 2, 4, 2), (5, 3, 4, 3), (8, 8, 4, 4)])
def test_few_rows(a, k, chunks, number):
    """pipelining_backward/K-03, pipelining_backward/K-04: all arguments are split into the same number of chunks."""
    args, kwargs = split_args_kwargs_into_chunks((rows(a),), {"k": rows(k)}, chunks)
    assert len(args) == len(kwargs) == number
    assert mg.cat([x for (x,) in args]).tolist() == rows(a).tolist()


def test_nothing_to_split():
    assert split_args_kwargs_into_chunks((), {}, 2) == ([(), ()], [{}, {}])
    assert split_args_kwargs_into_chunks((3,), None, 2) == ([(3,), (3,)], [{}, {}])


def test_a_leaf_that_requires_grad():
    """pipelining_backward/K-06, pipelining_backward/S-07"""
    x = rows(4).requires_grad_()
    args, _ = split_args_kwargs_into_chunks((x,), {}, 2)
    chunk = args[1][0]
    assert not chunk.is_leaf and chunk.retains_grad and chunk._is_view()
    (chunk * 3).sum().backward()
    assert chunk.grad.tolist() == [[3., 3.]] * 2 and x.grad.tolist() == [[0., 0.]] * 2 + [[3., 3.]] * 2


@pytest.mark.parametrize("call, error, key", [
    (lambda: split_args_kwargs_into_chunks((rows(2),), {}, 0), ValueError, "positive int"),
    (lambda: split_args_kwargs_into_chunks((rows(2),), {}, "2"), ValueError, "positive int"),
    (lambda: split_args_kwargs_into_chunks((rows(0),), {}, 2), RuntimeError, "no rows"),
    (lambda: split_args_kwargs_into_chunks((rows(2)[0, 0],), {}, 2), IndexError, "no dimension 0"),
    (lambda: split_args_kwargs_into_chunks((rows(2),), {}, 2, (TensorChunkSpec(2),)), IndexError, "no dimension 2"),
    (lambda: split_args_kwargs_into_chunks((rows(2),), {}, 2, ()), AssertionError, "structure of its arguments"),
    (lambda: split_args_kwargs_into_chunks((rows(2),), {}, 2, (3,)), AssertionError, "structure of its arguments"),
    (lambda: split_args_kwargs_into_chunks((), {"a": rows(2)}, 2, None, {"b": None}), AssertionError, "structure of its arguments"),
    (lambda: merge_chunks([], None), ValueError, "no chunks"),
    (lambda: merge_chunks(-1, None), TypeError, "chunks"),
    (lambda: merge_chunks([(rows(1), 1), (rows(1), 2)], None), AssertionError, "Expected 1, got 2"),
    (lambda: merge_chunks([(rows(1), 1), (rows(1),)], None), ValueError, "did not match chunk spec"),
    (lambda: merge_chunks([rows(1)], (TensorChunkSpec(0),)), ValueError, "did not match chunk spec"),
])
def test_errors(call, error, key):
    """pipelining_backward/K-07"""
    with pytest.raises(error, match=re.escape(key)) as info:
        call()
    assert "MG-E234" in str(info.value) or error is TypeError


def test_merge():
    """pipelining_backward/K-07"""
    merged = merge_chunks([(rows(2), {"n": 1}), (rows(1), {"n": 1})], None)
    assert merged[0].shape == (3, 2) and merged[1] == {"n": 1}
    assert merge_chunks([rows(2), rows(2)], TensorChunkSpec(1)).shape == (2, 4)


def test_the_mean_over_unequal_chunks():
    """pipelining_backward/K-08: the mean of their means is another number."""
    args, _ = split_args_kwargs_into_chunks((rows(5),), {}, 2)
    assert sum(x.mean() for (x,) in args) / 2 != rows(5).mean()
    assert sum(x.sum() for (x,) in args) == rows(5).sum()
