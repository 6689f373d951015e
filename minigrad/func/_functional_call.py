"""A module as a function of its parameters: the bridge from `nn` to the transforms.

Mirrors ``torch/_functorch/functional_call.py`` and ``torch/nn/utils/stateless.py``.
"""

import contextlib
from collections import Counter

from minigrad.errors import ArgumentError, TensorTypeError, TensorValueError
from minigrad.tensor import Tensor


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call `module` with other tensors in the place of its parameters and buffers.

    To differentiate by the parameters give it those of the module, detached if nobody wants to differentiate the gradient: it is
    recorded only for tensors that require one.

    Args:
        module (nn.Module): it is as before afterwards, also after an error.
        parameter_and_buffer_dicts (dict, or sequence of dicts): name -> tensor, by the names of ``named_parameters()`` and
            ``named_buffers()``. A parameter that is not there keeps its value. A buffer that the module replaces is put
            into the dict.
        args: what the module is called with: a tuple, or a single argument.
        kwargs (dict, optional): keyword arguments of the call.
        tie_weights (bool): a tensor that the module has under two names is replaced under both.
        strict (bool): the names have to be those of the module, all of them.

    Returns:
        what the module returns.

    Raises:
        ValueError: no dicts; two of them have the same name; tied names are given different tensors.
        TypeError: a value is no tensor, or a name is that of a module.
        AttributeError: a name leads to no module.
        RuntimeError: what `strict` finds.

    Mirrors ``torch.func.functional_call``.

    >>> model = nn.Linear(2, 1)
    >>> params = {"weight": mg.tensor([[1., 2.]]), "bias": mg.tensor([3.])}
    >>> mg.func.functional_call(model, params, mg.tensor([10., 100.]))
    tensor([213.])
    >>> loss = lambda params, x: mg.func.functional_call(model, params, x).sum()
    >>> mg.func.grad(loss)(params, mg.tensor([10., 100.]))
    {'weight': tensor([[ 10., 100.]]), 'bias': tensor([1.])}
    """
    dicts = as_dicts(parameter_and_buffer_dicts)
    given = {name: x for names in dicts for name, x in names.items()}
    new = with_ties(module, given) if tie_weights else given
    if strict:
        check_names(module, given, new)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, new) as places:
        result = module(*args, **(kwargs or {}))
        for names in dicts:
            for name in names:
                table, key = places[name]
                if table.get(key) is not names[name]:       # a buffer that forward has replaced
                    names[name] = table.get(key)
    return result


def as_dicts(given):
    """The argument as a list of dicts without a name in common."""
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
                               fix="give each name once")
    return list(dicts)


def tensors_of(module):
    """name -> parameter or buffer, under all of their names."""
    return {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}


def with_ties(module, given):
    """`given`, with the other names of each tensor that is replaced."""
    groups = {}
    for name, x in tensors_of(module).items():
        groups.setdefault(id(x), []).append(name)
    new = dict(given)
    for names in groups.values():
        named = [name for name in names if name in given]
        if len({id(given[name]) for name in named}) > 1:
            raise TensorValueError("MG-E259", f"functional_call got multiple values for keys {named}, which are tied. Consider "
                                   "using tie_weights=False", fix="give one of them, or the same tensor for all")
        if named:
            new.update(dict.fromkeys(names, given[named[0]]))
    return new


def check_names(module, given, new):
    """Strict: exactly the names of the module."""
    names = tensors_of(module)
    lines = []
    for what, found in (("Unexpected", set(given) - set(names)), ("Missing", set(names) - set(new))):
        if found:
            lines.append(f"\n{what} key(s): " + ", ".join([repr(name) for name in sorted(found)]) + ".")
    if lines:
        raise ArgumentError("MG-E259", f"Error(s) in reparametrizing for {type(module).__name__}:" + "".join(lines),
                            fix="strict=False keeps what is missing as it is")


@contextlib.contextmanager
def replaced(module, new):
    """The module with `new` in it. Yields name -> (table, key): where each of them lies."""
    places = {name: place(module, name, x) for name, x in new.items()}
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


def place(module, name, x):
    """The dict in which the tensor `name` of the module lies, and its key there."""
    path, _, key = name.rpartition(".")
    module = module.get_submodule(path)
    if key in module._modules or not (x is None or isinstance(x, Tensor)):
        wrong = module._modules.get(key, x)
        raise TensorTypeError("MG-E259", f"attribute `{name}`: {wrong!r} is not an instance of minigrad.Tensor",
                              fix="the names are those of module.named_parameters() and named_buffers()")
    for table in (module._parameters, module._buffers):
        if key in table:
            return table, key
    return vars(module), key        # a tensor that is no parameter
