"""The loss of a classifier, and the steps of optimisers."""

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet
from minigrad.kernels.refusals import check_step, no_such_class

__all__ = ["adam_", "class_outside", "nll_loss", "nll_loss_backward", "sgd_"]


def class_weights(x_shape, target, weight, ignore_index, dtype):
    """(the class of each example, its weight); both are 0 where the target is ignored."""
    outside = class_outside(target, x_shape[1], ignore_index)
    if outside is not None:
        raise no_such_class(outside, x_shape[1], ignore_index)
    kept = target != ignore_index
    classes = np.where(kept, target, 0)
    each = np.ones(target.shape, dtype) if weight is None else weight[classes]
    return classes, np.where(kept, each, dtype.type(0))


def class_outside(target, n, ignore_index):
    outside = (target != ignore_index) & ((target < 0) | (target >= n))
    return int(target[outside].flat[0]) if outside.any() else None


@quiet
def nll_loss(x, target, weight, ignore_index, reduction):
    """reduction is "none", "mean" or "sum". The mean divides by the total weight."""
    classes, each = class_weights(x.shape, target, weight, ignore_index, x.dtype)
    loss = np.where(each == 0, x.dtype.type(0), -np.take_along_axis(x, classes[:, None], 1)[:, 0] * each)
    total = np.asarray(each.sum(dtype=x.dtype))
    if reduction == "none":
        return loss, total
    loss = np.asarray(loss.sum(dtype=x.dtype))
    return np.asarray(loss / total) if reduction == "mean" else loss, total


@quiet
def nll_loss_backward(g, x_shape, target, weight, total, ignore_index, reduction):
    classes, each = class_weights(x_shape, target, weight, ignore_index, g.dtype)
    share = -each * g / total if reduction == "mean" else -each * g
    share = np.where(target == ignore_index, g.dtype.type(0), share)       # also if all are ignored, and the total is 0
    out = np.zeros(x_shape, g.dtype)
    np.put_along_axis(out, classes[:, None], np.asarray(share)[:, None], 1)
    return out


@quiet
def sgd_(w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    check_step(w, gradient=g, momentum_buffer=momentum_buffer)
    if maximize:
        g = -g
    if weight_decay:
        g = g + weight_decay * w
    if momentum:
        if first:
            momentum_buffer[...] = g
        else:
            momentum_buffer *= momentum
            momentum_buffer += (1 - dampening) * g
        g = g + momentum * momentum_buffer if nesterov else momentum_buffer
    w -= lr * g


@quiet
def adam_(w, g, m, v, v_max, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize):
    """`v_max` is AMSGrad's running maximum, or None. `decoupled` selects AdamW's weight decay."""
    check_step(w, gradient=g, exp_avg=m, exp_avg_sq=v, max_exp_avg_sq=v_max)
    if maximize:
        g = -g
    if weight_decay and decoupled:
        w *= 1 - lr * weight_decay
    elif weight_decay:
        g = g + weight_decay * w
    m += (g - m) * (1 - beta1)
    v *= beta2
    v += (1 - beta2) * (g * np.conjugate(g)).real
    if v_max is not None:
        np.maximum(v_max, v, out=v_max)
        v = v_max
    denominator = np.sqrt(v) / (1 - beta2 ** step) ** 0.5 + eps
    w -= lr / (1 - beta1 ** step) * m / denominator
