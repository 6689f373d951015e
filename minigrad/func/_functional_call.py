"""A module as a function of its parameters: the bridge from `nn` to the transforms.

Mirrors ``torch/_functorch/functional_call.py`` and ``torch/nn/utils/stateless.py``.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

from minigrad.errors import ArgumentError, TensorTypeError, TensorValueError
from minigrad.func._arguments import check_module
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minigrad.nn.modules.module import Module


def functional_call(module: Module, parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]], args: Any = None,
                    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Call `module` with other tensors instead of its parameters and buffers.

    To differentiate with respect to the parameters, pass the parameters of the module. Detach them, unless you need the gradient to
    have a history: with detached parameters, the transforms do not record the backward.

    Args:
        module (nn.Module): the module. After the call, and after an error, it has its own parameters again.
        parameter_and_buffer_dicts (dict, or sequence of dicts): name -> tensor, with the names of ``named_parameters()`` and
            ``named_buffers()``. A parameter without an entry keeps its value. If the module replaces a buffer, the new buffer
            is written to the dict.
        args (tuple or any): the arguments of the module: a tuple, or a single argument.
        kwargs (dict, optional): the keyword arguments of the module.
        tie_weights (bool): if the module has a tensor under two names, replace it under both.
        strict (bool): require that the names are exactly the names of the module.

    Returns:
        The output of the module.

    Raises:
        ValueError: the argument is not a dict or a sequence of dicts; two dicts have the same name; tied names have different
            tensors.
        TypeError: a value is not a tensor, or a name belongs to a module.
        AttributeError: a part of a name is not a submodule.
        RuntimeError: with `strict`, a name is missing or unknown.

    Mirrors ``torch.func.functional_call``.

    >>> model = nn.Linear(2, 1)
    >>> params = {"weight": mg.tensor([[1., 2.]]), "bias": mg.tensor([3.])}
    >>> mg.func.functional_call(model, params, mg.tensor([10., 100.]))
    tensor([213.])
    >>> loss = lambda params, x: mg.func.functional_call(model, params, x).sum()
    >>> mg.func.grad(loss)(params, mg.tensor([10., 100.]))
    {'weight': tensor([[ 10., 100.]]), 'bias': tensor([1.])}
    """
    check_module(module, "module", "functional_call")
    dicts = check_dicts(parameter_and_buffer_dicts)
    given = {name: x for names in dicts for name, x in names.items()}
    own = collect_places(module)
    new = add_tied_names(own, given) if tie_weights else given
    if strict:
        check_names(module, own, given, new)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replace_tensors(module, own, new) as places:
        result = module(*args, **(kwargs or {}))
        for names in dicts:
            for name in names:
                table, key = places[name]
                if table.get(key) is not names[name]:       # forward has replaced this buffer
                    names[name] = table.get(key)  # pyright: ignore[reportIndexIssue]
    return result


def check_dicts(given):
    """Return the argument as a list of dicts; raise if two of them have the same name."""
    dicts = [given] if isinstance(given, dict) else given
    if not isinstance(dicts, (list, tuple)):
        raise TensorValueError("MG-E259", "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                               f"{type(given)}", fix="dict(model.named_parameters())")
    if not all([isinstance(d, dict) for d in dicts]):
        raise TensorValueError("MG-E259", "Expected all elements of parameter_and_buffer_dicts to be dictionaries",
                               found=", ".join([type(d).__name__ for d in dicts]))
    counts = Counter([name for d in dicts for name in d])
    twice = [name for name, n in counts.items() if n > 1]
    if twice:
        raise TensorValueError("MG-E259", f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous",
                               fix="pass each name only once")
    return list(dicts)


def collect_places(module):
    """Return the dict name -> (table, key): where each parameter and buffer is stored. A tied one has an entry for each name."""
    return {f"{path}.{key}" if path else key: (table, key)
            for path, part in module.named_modules(remove_duplicate=False)
            for table in (part._parameters, part._buffers)
            for key, x in table.items() if x is not None}


def add_tied_names(own, given):
    """Return `given`, with entries for the other names of each tensor in it. `own` are the places of the module's tensors."""
    groups = {}
    for name, (table, key) in own.items():
        groups.setdefault(id(table[key]), []).append(name)
    new = dict(given)
    for names in groups.values():
        if len(names) > 1:
            named = [name for name in names if name in given]
            if len({id(given[name]) for name in named}) > 1:
                raise TensorValueError("MG-E259", f"functional_call got multiple values for keys {named}, which are tied. Consider "
                                       "using tie_weights=False", fix="pass one of them, or the same tensor for all")
            if named:
                new.update(dict.fromkeys(names, given[named[0]]))
    return new


def check_names(module, own, given, new):
    """Raise unless the names are exactly the names of the module."""
    lines = []
    for what, found in (("Unexpected", set(given) - set(own)), ("Missing", set(own) - set(new))):
        if found:
            lines.append(f"\n{what} key(s): " + ", ".join([repr(name) for name in sorted(found)]) + ".")
    if lines:
        raise ArgumentError("MG-E259", f"Error(s) in reparametrizing for {type(module).__name__}:" + "".join(lines),
                            fix="with strict=False, missing parameters keep their values")


@contextlib.contextmanager
def replace_tensors(module, own, new):
    """Replace tensors of the module during the context. Yield the dict name -> (table, key): where each new one is stored."""
    places = {name: own[name] if name in own and (x is None or isinstance(x, Tensor)) else find_place(module, name, x)
              for name, x in new.items()}
    nothing = object()
    before = [(table, key, table.get(key, nothing)) for table, key in places.values()]
    try:
        for name, x in new.items():
            table, key = places[name]
            table[key] = x
        yield places
    finally:
        for table, key, x in before:
            if x is nothing:
                table.pop(key, None)
            else:
                table[key] = x


def find_place(module, name, x):
    """Return the dict that stores the tensor `name` of the module, and the key in it."""
    path, _, key = name.rpartition(".")
    module = module.get_submodule(path)
    if key in module._modules or not (x is None or isinstance(x, Tensor)):
        wrong = module._modules.get(key, x)
        raise TensorTypeError("MG-E259", f"attribute `{name}`: {wrong!r} is not an instance of minigrad.Tensor",
                              fix="use the names of module.named_parameters() and named_buffers()")
    for table in (module._parameters, module._buffers):
        if key in table:
            return table, key
    return vars(module), key        # a tensor that is not registered as a parameter or buffer
