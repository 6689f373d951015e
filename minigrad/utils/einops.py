"""einops on minigrad's tensors. Import this module once; einops then knows `Tensor`.

    import minigrad.utils.einops
    from einops import rearrange, reduce, repeat

    rearrange(x, "b c h w -> b (h w) c")        a view if possible, with a history like that of any op
    reduce(x, "b c h w -> b c", "mean")

einops looks for a tensor's library among the subclasses of its `AbstractBackend`, and this module defines one. It also has the
layers `Rearrange` and `Reduce`, as ``einops.layers.torch`` has them for PyTorch. It needs ``pip install einops``.

Mirrors ``TorchBackend`` of ``einops/_backends.py``, and ``einops/layers/torch.py``.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# (einops need not be installed)

import minigrad as mg
from minigrad import nn

try:
    from einops._backends import AbstractBackend
    from einops.layers import RearrangeMixin, ReduceMixin
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("minigrad.utils.einops needs einops: pip install einops", name="einops") from error

__all__ = ["Rearrange", "Reduce"]


class MinigradBackend(AbstractBackend):
    """What einops does with a tensor."""

    framework_name = "minigrad"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, mg.Tensor)

    def from_numpy(self, x):
        tensor = mg.from_numpy(x)
        return tensor.requires_grad_() if self.is_float_type(tensor) else tensor

    def to_numpy(self, x):
        return x.detach().cpu().numpy()

    def arange(self, start, stop):
        return mg.arange(start, stop)

    def reduce(self, x, operation, axes):
        if operation in ("min", "max"):
            operation = "a" + operation
        if operation in ("any", "all", "prod"):     # they reduce one dimension
            for axis in sorted(axes, reverse=True):
                x = getattr(x, operation)(axis)
            return x
        return getattr(x, operation)(tuple(axes))

    def transpose(self, x, axes):
        return x.permute(*axes)

    def stack_on_zeroth_dimension(self, tensors):
        return mg.stack(tensors)

    def add_axes(self, x, n_axes, pos2len):
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x, sizes[position] = x.unsqueeze(position), length
        return x.expand(sizes)

    def add_axis(self, x, new_position):
        return x.unsqueeze(new_position)

    def tile(self, x, repeats):
        return x.repeat(*repeats)

    def concat(self, tensors, axis):
        return mg.cat(tensors, axis)

    def is_float_type(self, x):
        return x.is_floating_point()

    def einsum(self, pattern, *x):
        return mg.einsum(pattern, *x)


class Rearrange(RearrangeMixin, nn.Module):
    """``einops.rearrange`` as a layer. Mirrors ``einops.layers.torch.Rearrange``."""

    def forward(self, input):
        return self._apply_recipe(input)


class Reduce(ReduceMixin, nn.Module):
    """``einops.reduce`` as a layer. Mirrors ``einops.layers.torch.Reduce``."""

    def forward(self, input):
        return self._apply_recipe(input)
