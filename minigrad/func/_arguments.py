"""Check the arguments and results of the transforms: argnums, trees of tensors, results with and without aux.

Mirrors the checks of ``torch/_functorch/eager_transforms.py``.
"""

from minigrad._arguments import listed
from minigrad.errors import ArgumentError, AutogradError, TensorValueError
from minigrad.ops.base.arguments import wrong_type
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_leaves


def check_module(module, name, function, expected="Module"):
    """Return `module`; raise `TypeError` unless it is one. (The layers below `nn` do not know the class.)"""
    if isinstance(module, type) or not hasattr(module, "named_parameters"):
        raise wrong_type(function, name, expected, module)
    return module


def check_models(models, function):
    """Return the models of an ensemble as a list; raise unless there is one, and all have one class and one mode."""
    models = [check_module(model, "models", function, "list of Modules")
              for model in listed(models, "models", function, "list of Modules")]
    if not models:
        raise ArgumentError("MG-E254", f"{function}: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise ArgumentError("MG-E254", f"{function}: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise ArgumentError("MG-E254", f"{function}: Expected all models to be of the same class.")
    return models


def normalize_argnums(argnums, args):
    """Return `argnums` as a tuple of numbers, counted from 0."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(isinstance(n, int) for n in numbers):
        raise ArgumentError("MG-E256", f"argnums must be int or Tuple[int, ...], got: {type(argnums)}", fix="argnums=0, or (0, 1)")
    if not numbers:
        raise ArgumentError("MG-E256", "argnums must be non-empty", fix="argnums=0, or (0, 1)")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ArgumentError("MG-E256", f"Got argnum={n}, but only {len(args)} positional inputs",
                                fix="pass the arguments to differentiate by position, not by keyword")
    found = tuple([n % len(args) for n in numbers])
    if len(set(found)) != len(found):
        raise ArgumentError("MG-E256", f"argnums elements must be unique, got {found}")
    return found


def select_arguments(argnums, args):
    """Return the arguments that `argnums` selects: one, or a tuple of them."""
    numbers = normalize_argnums(argnums, args)
    return tuple([args[n] for n in numbers]) if isinstance(argnums, tuple) else args[numbers[0]]


def replace_arguments(argnums, args, new):
    """Return a list of `args`, with `new` at the positions that `argnums` selects."""
    args = list(args)
    for n, x in zip(normalize_argnums(argnums, args), new if isinstance(argnums, tuple) else (new,)):
        args[n] = x
    return args


def flatten_tensors(tree):
    """Return ``(leaves, spec)`` of an argument; raise if a leaf is not a tensor."""
    leaves, spec = tree_flatten(tree)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise TensorValueError("MG-E255", f"Thing passed to transform API must be Tensor, got {type(x)}",
                                   fix="convert a number with mg.tensor(...); pass other objects by keyword")
    return leaves, spec


def split_aux(result, has_aux, call):
    """Return ``(output, aux)`` from the result of the function. `call` is the name of the transform in the messages."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise AutogradError("MG-E257", f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True",
                            found=type(result).__name__ + (f" of {len(result)}" if isinstance(result, tuple) else ""))
    for x in tree_leaves(result[1]):
        if not isinstance(x, Tensor):
            raise AutogradError("MG-E257", f"{call}: aux: Expected tensors, got unsupported type {type(x)}",
                                fix="return only tensors; store other objects in a list outside of f")
    return result


def flatten_outputs(output, call):
    """Return ``(leaves, spec)`` of the outputs; raise unless there is at least one, and all are tensors."""
    leaves, spec = tree_flatten(output)
    if not leaves or leaves == [None]:
        raise AutogradError("MG-E252", f"{call}: Expected f to be a function that has non-empty output (got output = {leaves})",
                            fix="return the tensors to differentiate")
    for y in leaves:
        if not isinstance(y, Tensor):
            raise AutogradError("MG-E252", f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(y)}",
                                fix="return only tensors; has_aux=True allows a second result, aux")
    return leaves, spec


def check_numbers(leaves, what):
    """Raise unless the dtypes are floating point or complex: only these have tangents."""
    for x in leaves:
        if not (x.is_floating_point() or x.is_complex()):
            raise TensorValueError("MG-E255", f"Expected {what} to be floating point or complex, but got: {x.dtype}",
                                   fix="x.float()")


def format_spec(spec):
    """The structure of a tree as text, for a message: ``({'a': *}, *)``."""
    return str(spec).removeprefix("PyTreeSpec(").partition(", NoneIsLeaf")[0]


def check_differentiable(outputs):
    """Raise unless the dtypes of the outputs are floating point or complex: a backward begins at them."""
    for y in outputs:
        if not (y.is_floating_point() or y.is_complex()):
            raise AutogradError("MG-E252", "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                                f"with dtype {y.dtype}", fix="return it as aux, with has_aux=True")


def check_real(function, inputs, what):
    """Raise for a complex tensor: a Jacobian consists of real numbers."""
    for i, x in enumerate(inputs):
        if x.is_complex():
            raise AutogradError("MG-E252", f"{function}: Expected all {what} to be real but received complex tensor at flattened "
                                f"input idx: {i}", fix="split it into .real and .imag")
