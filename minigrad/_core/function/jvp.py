"""Forward-mode AD through a custom Function: its `jvp` computes the tangents of its outputs.

    x, tangent dx ──> forward ──> y                 y is not dual yet
              dx  ──> jvp     ──> dy                now it is

`jvp` runs inside apply, after forward, if an argument has a tangent. If forward has written to an input, jvp must write to
that input's tangent. If forward returns a view, jvp must return the same view of the tangent. Then a later write to the
view or its base also writes to the tangent of the other. See Note [Tangents of views] in forward_ad.py.

Mirrors _process_forward_mode_AD of ``torch/csrc/autograd/custom_function.cpp``.
"""

import cython
from cython.cimports.minigrad._core.function.node import is_among, zeros_of
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.forward_ad import store_tangent, tangent_of
from cython.cimports.minigrad._core.record.saved_tensor import describe_meta

from minigrad._core.function.node import PyNode
from minigrad.errors import AutogradError


def push_forward(node, args, raw, outs, dirty, constant, state):
    """Give `outs` their tangents. `raw` are the results of forward; `dirty` and `constant` are the tensors marked on ctx."""
    i: cython.int
    tangents = [tangent_of(x) for x in args]
    versions = [-1 if t is None else cython.cast(TensorBase, t).version() for t in tangents]
    if not any([t is not None for t in tangents]):
        return None
    given_in = list(tangents)
    if not node.undefined_as_none:
        for i in range(len(given_in)):
            if given_in[i] is None and isinstance(args[i], TensorBase):
                meta = cython.cast(TensorBase, args[i])._meta
                given_in[i] = zeros_of(meta) if meta.dtype.differentiable else None
    forward = state.forward_enabled
    state.set_modes(state.grad_enabled, state.inference, False)
    try:
        found = type(node)._forward_cls.jvp(node, *given_in)
    finally:
        state.set_modes(state.grad_enabled, state.inference, forward)
    results: tuple = tuple(found) if isinstance(found, tuple) else (found,)
    for i in range(len(results)):
        if results[i] is not None and not isinstance(results[i], TensorBase):
            raise jvp_error(node, f"expected Variable or None (got {type(results[i]).__name__}) for grad output {i}",
                        "return a tensor, or a tuple of tensors and Nones")
    if len(results) != len(raw):
        raise jvp_error(node, f"Function's jvp returned an invalid number of forward gradients (expected {len(raw)} but got "
                    f"{len(results)})", "jvp returns one value per output of forward")
    for i in range(len(raw)):
        x = raw[i]
        if isinstance(x, TensorBase) and cython.cast(TensorBase, x)._meta.dtype.differentiable and not is_among(x, constant):
            set_output_tangent(node, args, tangents, versions, x, outs[i], results[i], is_among(x, dirty))
        elif isinstance(x, TensorBase) and results[i] is not None:
            raise jvp_error(node, f"Function's jvp returned a gradient at position {i}, but the corresponding forward output is "
                            "not a differentiable Tensor.", "return None at that position")
    return None


@cython.cfunc
def set_output_tangent(node: PyNode, args: tuple, tangents: list, versions: list, raw: TensorBase, out: TensorBase, result,
                modified: cython.bint) -> object:
    """Check `result` and make it the tangent of `out`. None means a tangent of zeros."""
    i: cython.int
    if result is not None and not cython.cast(TensorBase, result)._meta.fits(out._meta):
        raise AutogradError("MG-E148", "Function's jvp returned a forward gradient that is not shaped like its output",
                            node=node.name(), expected=describe_meta(out._meta),
                            found=describe_meta(cython.cast(TensorBase, result)._meta))
    if result is not None and tangent_of(result) is not None:
        raise jvp_error(node, "Setting a forward grad that itself has a forward gradient at the same level is not supported.",
                    "there are no tangents of tangents: return plain tensors from jvp")
    if modified and is_among(raw, args):
        for i in range(len(args)):
            if args[i] is raw and tangents[i] is not None:
                if cython.cast(TensorBase, tangents[i]).version() == versions[i]:
                    raise jvp_error(node, "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
                                "forward is modifying an input inplace, then the jvp function must modify the corresponding "
                                "gradient inplace.", "return t.mul_(2), not t * 2")
                if result is not tangents[i]:
                    raise jvp_error(node, "An inplace custom Function is not returning the forward mode gradients as-is. If the "
                                "forward is modifying an input inplace, then the jvp function must modify the gradient inplace "
                                "and return it as-is.", "return the tangent itself")
    elif out._view_base is not None:
        for i in range(len(args)):
            if tangents[i] is None or storage_owner(args[i]) is not storage_owner(out):
                continue
            tangent: TensorBase = tangents[i]
            if result is None or cython.cast(TensorBase, result)._view_base is None:
                raise jvp_error(node, "A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                            "returning a view.", "return the same view of the tangent; t.view_as(t), if an input is returned as-is")
            if not is_view_of(result, tangent):
                raise jvp_error(node, "A custom Function is returning a view but the jvp is not returning a view of "
                            + ("the given grad input." if tangent._view_base is None else "the same base as the given grad input."),
                            "return the same view of the tangent")
    if result is not None:
        store_tangent(out.extras(), result)
    return None


@cython.cfunc
def jvp_error(node: PyNode, what, fix) -> object:
    return AutogradError("MG-E148", what, node=node.name(), fix=fix)


@cython.cfunc
def storage_owner(x: TensorBase) -> TensorBase:
    """The tensor that owns the memory of `x`."""
    return x._view_base if x._view_base is not None else x


@cython.cfunc
def is_view_of(x: TensorBase, source: TensorBase) -> cython.bint:
    return x._view_base is not None and x._view_base is storage_owner(source)
