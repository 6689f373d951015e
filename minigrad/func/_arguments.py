"""What the transforms of ``func`` are given, checked: argnums, tensors in trees, results with and without aux.

Mirrors the checks of ``torch/_functorch/eager_transforms.py``.
"""

from minigrad.errors import ArgumentError, AutogradError, TensorValueError
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_leaves


def positions(argnums, args):
    """`argnums` as a tuple of numbers from 0 on."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(isinstance(n, int) for n in numbers):
        raise ArgumentError("MG-E256", f"argnums must be int or Tuple[int, ...], got: {type(argnums)}", fix="argnums=0, or (0, 1)")
    if not numbers:
        raise ArgumentError("MG-E256", "argnums must be non-empty", fix="argnums=0, or (0, 1)")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ArgumentError("MG-E256", f"Got argnum={n}, but only {len(args)} positional inputs",
                                fix="what is differentiated is passed by position, not by keyword")
    found = tuple([n % len(args) for n in numbers])
    if len(set(found)) != len(found):
        raise ArgumentError("MG-E256", f"argnums elements must be unique, got {found}")
    return found


def chosen(argnums, args):
    """The arguments that `argnums` selects: one, or a tuple of them."""
    numbers = positions(argnums, args)
    return tuple([args[n] for n in numbers]) if isinstance(argnums, tuple) else args[numbers[0]]


def replaced(argnums, args, new):
    """`args` with `new` in the places that `argnums` selects."""
    args = list(args)
    for n, x in zip(positions(argnums, args), new if isinstance(argnums, tuple) else (new,)):
        args[n] = x
    return args


def flat_tensors(tree):
    """``(leaves, spec)`` of an argument: tensors only."""
    leaves, spec = tree_flatten(tree)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise TensorValueError("MG-E255", f"Thing passed to transform API must be Tensor, got {type(x)}",
                                   fix="mg.tensor(...) of a number; what is no tensor is passed by keyword, or left out of argnums")
    return leaves, spec


def with_aux(result, has_aux, call):
    """``(output, aux)`` of what the function has returned; `call` is how the messages spell it."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise AutogradError("MG-E257", f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True",
                            found=type(result).__name__ + (f" of {len(result)}" if isinstance(result, tuple) else ""))
    for x in tree_leaves(result[1]):
        if not isinstance(x, Tensor):
            raise AutogradError("MG-E257", f"{call}: aux: Expected tensors, got unsupported type {type(x)}",
                                fix="return tensors alone; a list that f appends to takes anything")
    return result


def flat_outputs(output, call):
    """``(leaves, spec)`` of the outputs: at least one, tensors only."""
    leaves, spec = tree_flatten(output)
    if not leaves or leaves == [None]:
        raise AutogradError("MG-E252", f"{call}: Expected f to be a function that has non-empty output (got output = {leaves})",
                            fix="return what is to be differentiated")
    for y in leaves:
        if not isinstance(y, Tensor):
            raise AutogradError("MG-E252", f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(y)}",
                                fix="return other things as aux, with has_aux=True, or not at all")
    return leaves, spec


def check_numbers(leaves, what):
    """A tangent goes with numbers that can move a little."""
    for x in leaves:
        if not (x.is_floating_point() or x.is_complex()):
            raise TensorValueError("MG-E255", f"Expected {what} to be floating point or complex, but got: {x.dtype}",
                                   fix="x.float()")


def drawn(spec):
    """The shape of a tree, as in ``({'a': *}, *)``, for a message."""
    return str(spec).removeprefix("PyTreeSpec(").partition(", NoneIsLeaf")[0]


def check_differentiable(outputs):
    """A backward begins at numbers that have gradients."""
    for y in outputs:
        if not (y.is_floating_point() or y.is_complex()):
            raise AutogradError("MG-E252", "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                                f"with dtype {y.dtype}", fix="return it as aux, with has_aux=True")


def check_real(function, inputs, what):
    """Jacobians are of real numbers."""
    for i, x in enumerate(inputs):
        if x.is_complex():
            raise AutogradError("MG-E252", f"{function}: Expected all {what} to be real but received complex tensor at flattened "
                                f"input idx: {i}", fix="split it into .real and .imag")
