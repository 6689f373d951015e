"""`swap_tensors`: exchange what two tensors hold. Mirrors `swap_tensors` of ``torch/utils/__init__.py``."""

import weakref

from minigrad.autograd.graph import get_gradient_edge
from minigrad.errors import AutogradError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.tensor import attributes_of

__all__ = ["swap_tensors"]


def swap_tensors(t1, t2):
    """Exchange the numbers, the gradients, the classes and the attributes of two leaves. Both stay the same Python objects.

    So a module or an optimiser that holds one of them now has the values of the other. A graph that was made before must not run
    afterwards: where it reaches one of the two leaves, backward raises.

    Args:
        t1, t2 (Tensor): two leaves.

    Raises:
        RuntimeError: a tensor is not a leaf, or there is a weak reference to it.

    Mirrors ``torch.utils.swap_tensors``, which raises for every tensor that a graph holds.

    >>> a, b = nn.Parameter(mg.ones(2)), mg.zeros(3, dtype=mg.float64)
    >>> mg.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0., 0., 0.], dtype=minigrad.float64), Parameter containing:
    tensor([1., 1.], requires_grad=True))
    """
    for i, x in enumerate((t1, t2), 1):
        tensor_argument("swap_tensors", x, f"t{i}", i)
        if weakref.getweakrefs(x):
            raise AutogradError("MG-E116", f"Cannot swap t{i} because it has weakref associated with it")
        if not x.is_leaf:
            raise AutogradError("MG-E116", f"Cannot swap t{i} because it is not a leaf", node=x.grad_fn.name(),
                                fix=f"swap_tensors(t{i}.detach(), ...)")
    if t1 is t2:
        return
    contents = [(x.detach(), x.requires_grad, x.grad, attributes_of(x)) for x in (t1, t2)]
    kinds = type(t1), type(t2)
    t1.__class__ = kinds[1]         # raises unless the classes have the same layout
    t2.__class__ = kinds[0]
    for x in (t1, t2):
        if x.requires_grad:
            get_gradient_edge(x).node.register_prehook(refuse)
    for x, (data, requires_grad, grad, attributes) in ((t1, contents[1]), (t2, contents[0])):
        x.grad = None
        x.requires_grad = False
        x.data = data
        x.requires_grad = requires_grad
        x.grad = grad
        for name in attributes_of(x):
            delattr(x, name)
        for name, value in attributes.items():
            setattr(x, name, value)


def refuse(grad_outputs):
    """Raise: the hook of an AccumulateGrad node whose leaf was swapped."""
    raise AutogradError("MG-E116", "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: this can happen when "
                        "you run backward on a graph whose leaf was swapped", fix="swap before the forward, or after the backward")
