"""Walks over a tree of modules: the methods of `Module` that iterate over it.

    Net                         root.modules()              Net, Sequential, Linear, ReLU
    ├── scale  (parameter)      root.children()             Sequential
    └── layers: Sequential      root.named_parameters()     scale, layers.0.weight, layers.0.bias
        ├── 0: Linear
        └── 1: ReLU

Every walk starts with the root and follows the order of assignment. A module or tensor that has two places in the tree comes once.
Each function below takes the root as its first argument, and `Module` binds it as a method.

Mirrors ``torch/nn/modules/module.py``. Read next: ``module.py``, which fills the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument, instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from minigrad.nn.modules.module import Module
    from minigrad.nn.parameter import Parameter
    from minigrad.types import Tensor


def named_modules(root: Module, memo: set[Any] | None = None, prefix: str = "",
                  remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
    """Pairs (name, module) of this module and all modules below it.

    Args:
        memo (set, optional): modules to leave out. The walk adds the modules that it visits.
        prefix (str): the name of this module; the names of the others start with it.
        remove_duplicate (bool): yield a module once, even if it has several places in the tree.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> [name for name, _ in m.named_modules()]
    ['', '0', '1']
    """
    memo = set() if memo is None else instance(memo, set, "memo", "named_modules")
    instance(prefix, str, "prefix", "named_modules")
    if root in memo:
        return
    if remove_duplicate:
        memo.add(root)
    yield prefix, root
    for name, module in root._modules.items():
        if module is not None:
            yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)


def modules(root: Module, remove_duplicate: bool = True) -> Iterator[Module]:
    """This module and all modules below it.

    >>> [type(m).__name__ for m in nn.Sequential(nn.ReLU(), nn.Tanh()).modules()]
    ['Sequential', 'ReLU', 'Tanh']
    """
    for _, module in root.named_modules(remove_duplicate=remove_duplicate):
        yield module


def named_children(root: Module) -> Iterator[tuple[str, Module]]:
    """Pairs (name, module) of the direct children, each child once.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> [name for name, _ in m.named_children()]
    ['0', '1']
    """
    seen = set()
    for name, module in root._modules.items():
        if module is not None and module not in seen:
            seen.add(module)
            yield name, module


def children(root: Module) -> Iterator[Module]:
    """The direct children, each once.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> list(m.children())
    [Linear(in_features=2, out_features=1, bias=True), ReLU()]
    """
    for _, module in root.named_children():
        yield module


def named_parameters(root: Module, prefix: str = "", recurse: bool = True,
                     remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
    """Pairs (name, parameter), such as ``("layer1.weight", ...)``.

    Args:
        prefix (str): the names start with it and a dot.
        recurse (bool): include the parameters of the modules below.
        remove_duplicate (bool): yield a parameter once, even if several modules share it.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> [name for name, _ in m.named_parameters()]
    ['0.weight', '0.bias']
    """
    return walk_table(root, "_parameters", prefix, recurse, remove_duplicate)


def parameters(root: Module, recurse: bool = True) -> Iterator[Parameter]:
    """The parameters, which an optimizer takes. With `recurse`, include those of the modules below.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> [tuple(p.shape) for p in m.parameters()]
    [(1, 2), (1,)]
    """
    for _, param in root.named_parameters(recurse=recurse):
        yield param


def named_buffers(root: Module, prefix: str = "", recurse: bool = True,
                  remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
    """Pairs (name, buffer). The arguments are as in `named_parameters`.

    >>> m = nn.Module()
    >>> m.register_buffer('mean', mg.zeros(1))
    >>> list(m.named_buffers())
    [('mean', tensor([0.]))]
    """
    return walk_table(root, "_buffers", prefix, recurse, remove_duplicate)


def buffers(root: Module, recurse: bool = True) -> Iterator[Tensor]:
    """The buffers. With `recurse`, include those of the modules below.

    >>> m = nn.Module()
    >>> m.register_buffer('mean', mg.zeros(1))
    >>> list(m.buffers())
    [tensor([0.])]
    """
    for _, buffer in root.named_buffers(recurse=recurse):
        yield buffer


def walk_table(root, table, prefix, recurse, remove_duplicate):
    """Pairs (name, tensor) of `table` ("_parameters" or "_buffers") in each module."""
    return root._named_members(lambda module: getattr(module, table).items(), prefix, recurse, remove_duplicate)


def _named_members(root, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
    """Pairs (name, value) of the pairs that ``get_members_fn(module)`` returns for each module; values of None are left out."""
    instance(prefix, str, "prefix", "a walk over modules")
    seen = set()
    walk = root.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, root)]
    for where, module in walk:
        for name, value in get_members_fn(module):
            if value is not None and id(value) not in seen:
                if remove_duplicate:
                    seen.add(id(value))
                yield where + ("." if where else "") + name, value


def apply(root: Module, fn: Callable[[Module], None]) -> Module:
    """Call ``fn(module)`` on every module, children first. Return this module.

    >>> _ = nn.Sequential(nn.ReLU(), nn.Tanh()).apply(lambda m: print(type(m).__name__))
    ReLU
    Tanh
    Sequential
    """
    callable_argument(fn, "fn", "apply")
    for module in root.children():
        module.apply(fn)
    fn(root)
    return root


# ---- paths, such as "encoder.0.weight" --------------------------------------------------------------------------


def path_of(target, function):
    """Return `target`; raise `TypeError` unless it is a str."""
    return instance(target, str, "target", function)


def get_submodule(root: Module, target: str) -> Module:
    """Return the module below this one at the path `target`, such as ``"encoder.0"``.

    Raises:
        AttributeError: there is no such module.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> m.get_submodule('1')
    ReLU()
    """
    module = root
    for name in path_of(target, "get_submodule").split(".") if target != "" else ():
        if name not in module._modules:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}` that is a module")
        module = module._modules[name]
    return module


def get_parameter(root: Module, target: str) -> Parameter:
    """Return the parameter at the path `target`, such as ``"encoder.0.weight"``.

    Raises:
        AttributeError: there is no such parameter.

    >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    >>> m.get_parameter('0.bias').shape
    minigrad.Size([1])
    """
    path, _, name = path_of(target, "get_parameter").rpartition(".")
    module = root.get_submodule(path)
    if name not in module._parameters:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}` that is a parameter")
    if module._parameters[name] is None:
        raise AttributeError(f"`{name}` is not an nn.Parameter")
    return module._parameters[name]


def get_buffer(root: Module, target: str) -> Tensor:
    """Return the buffer at the path `target`, such as ``"encoder.0.mean"``.

    Raises:
        AttributeError: there is no such buffer.

    >>> m = nn.Module()
    >>> m.register_buffer('mean', mg.zeros(1))
    >>> m.get_buffer('mean')
    tensor([0.])
    """
    path, _, name = path_of(target, "get_buffer").rpartition(".")
    module = root.get_submodule(path)
    if name not in module._buffers:
        raise AttributeError(f"`{name}` is not a buffer of {type(module).__name__}")
    return module._buffers[name]
