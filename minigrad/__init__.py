"""minigrad: PyTorch's autograd from the inside.

    import minigrad as mg
    x = mg.tensor([1., 2.], requires_grad=True)
    (x ** 2).sum().backward()
    x.grad                                          # tensor([2., 4.])

Names, signatures and module paths are PyTorch's. The engine is in ``minigrad/_core``, whose README gives the
reading order.
"""

from minigrad._build import pure as _pure

_pure.install()

from minigrad._build.pause import Pause as _Pause

_pause = _Pause()

from minigrad import _late
from minigrad import kernels as _kernels
from minigrad._lazy import LateMethod as _LateMethod
from minigrad._lazy import lazy as _lazy
from minigrad._core.graph.metadata import CPU as _CPU

_CPU.backend.use(_kernels.CPU)    # pyright: ignore[reportOptionalMemberAccess]

from math import e, inf, nan, pi

from minigrad import ops as _ops
from minigrad._core.graph.metadata import Device, Size
from minigrad._core.graph.metadata import DType as dtype
from minigrad._core.engine.ownership import measure as _measure
from minigrad._tensor.properties import get_device, is_inference
from minigrad._version import __version__
from minigrad.dtypes import (bool_, can_cast, cdouble, cfloat, complex64, complex128, device, double, finfo, float16, float32,
                             float64, get_default_device, get_default_dtype, half, iinfo, int8, int16, int32, int64, long,
                             promote_types, result_type, set_default_device, set_default_dtype, short, uint8)
from minigrad.errors import OutOfMemoryError
from minigrad.ops import *
from minigrad.ops.shape.formats import (
    channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided,
)
from minigrad.tensor import Tensor
from minigrad.tensor import install_methods as _install_methods

_install_methods(_ops.METHODS)
_install_methods({name: _LateMethod(f"minigrad.{module}", name)
                  for module, names in _late.METHODS.items() for name in names.split()})

from minigrad import autograd
from minigrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from minigrad.autograd.grad_mode import (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
                                         set_grad_enabled)
from minigrad.creation import *
from minigrad.creation import zeros
from minigrad._build.config import (
    are_deterministic_algorithms_enabled,
    get_num_threads,
    set_num_threads,
    show_config,
    use_deterministic_algorithms,
)
from minigrad._warnings import is_warn_always_enabled, set_warn_always
from minigrad._core.graph.upcalls import upcalls as _upcalls

_measure(lambda requires_grad: zeros(3, requires_grad=requires_grad))

float = float32
bool = bool_
int = int32
newaxis = None

# Most programs do without some of these, and a short one without all.
__getattr__, __dir__ = _lazy(__name__, _late.MODULES, {**_late.NAMES, "ops": " ".join(_ops.LATE.values())})
__all__ = [name for name in __dir__() if not name.startswith("_")]

_upcalls.bfloat16 = lambda: __getattr__("bfloat16")
_upcalls.rounding = lambda: _kernels.ROUNDING
_upcalls.page = lambda record: __getattr__("viz").step(record)._repr_html_()

_stale = _pure.stale()
if _stale:
    import warnings
    warnings.warn(f"the sources of {', '.join(_stale)} have been edited since they were compiled, so the edits do not run: rebuild "
                  "(make build), or set MINIGRAD_PURE=1 to run the sources", stacklevel=2)

del _pause
