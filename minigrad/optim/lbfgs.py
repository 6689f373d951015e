"""L-BFGS, a quasi-Newton method: it estimates the curvature from the last few gradients.

Mirrors ``torch/optim/lbfgs.py``. Read next: ``_wolfe.py``, the line search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import AutogradAssertionError
from minigrad.ops import cat, reshape, view_as_real

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad.ops.base.arguments import integer
from minigrad.optim._wolfe import Point, strong_wolfe
from minigrad.optim.optimizer import ContradictingOptions, Optimizer, check, check_option
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS (Liu & Nocedal, "On the limited memory BFGS method for large scale optimization", 1989).

        s, y    the changes of the parameters and of the gradient in a step, stored for the last `history_size` steps
        d       = - H g, where these pairs give H, an estimate of the inverse Hessian
        w       ← w + t d, where t is lr or the result of the line search

    Args:
        params (iterable): the parameters, in a single group: see `Optimizer`.
        lr (float): t, or the first t that the line search tries.
        max_iter (int): the largest number of steps in a call of `step`.
        max_eval (int, optional): stop after this number of calls of the closure in a call of `step`; max_iter · 5/4 by default.
        tolerance_grad (float): stop when no element of the gradient has a larger absolute value.
        tolerance_change (float): stop when the parameters or the loss change by less.
        history_size (int): the number of stored pairs. They take 2 · history_size times the memory of the parameters.
        line_search_fn (str, optional): ``"strong_wolfe"`` or None.

    `step` evaluates the loss many times, so it needs a closure. The method suits small problems without noise.
    Mirrors ``torch.optim.LBFGS``.

    Raises:
        ValueError: `lr` is negative, or there are several groups.

    >>> w = mg.tensor([3., -2.], requires_grad=True)
    >>> optimizer = mg.optim.LBFGS([w], line_search_fn='strong_wolfe')
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w[0] - 1) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure); w.detach().round(decimals=3)
    tensor([1., 1.])
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1,
                 max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
                 history_size: int = 100, line_search_fn: Literal['strong_wolfe'] | None = None) -> None:
        if isinstance(lr, Tensor):
            check(lr.numel() == 1, "Tensor lr must be 1-element")
        check_option(self, "lr", lr)
        max_iter = integer(max_iter, "max_iter", "LBFGS")
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        check(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self):
        """The parameters, under the name by which subclasses in PyTorch read them."""
        return self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any]) -> Any:      # pyright: ignore[reportIncompatibleMethodOverride]
        """Make up to `max_iter` steps.

        Args:
            closure (callable): resets the gradients, computes the loss, calls backward and returns the loss.

        Returns:
            The loss before the first step.

        Raises:
            RuntimeError: the line search is unknown.

        >>> w = mg.tensor([4.], requires_grad=True)
        >>> optimizer = mg.optim.LBFGS([w], max_iter=4)
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (w * w).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure), w
        (tensor(16., grad_fn=<SumBackward0>), tensor([0.], requires_grad=True))
        """
        callable_argument(closure, "closure", "LBFGS.step")
        self._opt_called = True
        if len(self.param_groups) != 1:
            raise AutogradAssertionError("MG-E402", f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ContradictingOptions("MG-E402", "only 'strong_wolfe' is supported", found=repr(group["line_search_fn"]))
        with no_grad():
            return self._run_steps(group, closure)

    def _run_steps(self, group, closure):
        """Make the steps. A vector holds the elements of all parameters, in order."""
        def evaluate():
            with enable_grad():
                loss = closure()
            return loss, loss.item() if isinstance(loss, Tensor) else float(loss), self._gradient()

        tiny_gradient, tiny_change = group["tolerance_grad"], group["tolerance_change"]
        lr = float(group["lr"])
        # The state belongs to all parameters together. It is stored with the first one.
        state = self.state[group["params"][0]]
        for count in ("func_evals", "n_iter"):
            state.setdefault(count, 0)
        first_loss, loss, g = evaluate()
        evaluations = 1
        state["func_evals"] += 1
        if largest(g) <= tiny_gradient:
            return first_loss
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = state["d"] = self._direction(state, g, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = g, loss
            before, slope = loss, dot(g, d)
            t = state["t"] = min(1.0, 1.0 / float(g.abs().sum())) * lr if state["n_iter"] == 1 else lr
            if slope > -tiny_change:
                break
            if group["line_search_fn"] is not None:
                point, calls = self._search(evaluate, t, d, Point(0.0, loss, g, slope), group["max_eval"] - evaluations)
                t, loss, g, _ = point
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                calls = 0
                if n < group["max_iter"]:       # after the last step it is not needed: the next call of `step` evaluates again
                    _, loss, g = evaluate()
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if (evaluations >= group["max_eval"] or largest(g) <= tiny_gradient or largest(d) * abs(t) <= tiny_change
                    or abs(loss - before) < tiny_change):
                break
        return first_loss

    def _direction(self, state, g, history_size):
        """Return - H g, by the two-loop recursion of Nocedal, "Updating quasi-Newton matrices with limited storage", 1980."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -g
        ys, ss, rhos = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = dot(y, s)
        if curvature > 1e-10:           # otherwise H would not stay positive definite
            if len(ys) == history_size:
                for pairs in (ys, ss, rhos):
                    pairs.pop(0)
            ys.append(y)
            ss.append(s)
            rhos.append(1.0 / curvature)
            state["H_diag"] = curvature / dot(y, y)
        d, alphas = -g, []
        for y, s, rho in zip(reversed(ys), reversed(ss), reversed(rhos)):
            alphas.append(dot(s, d) * rho)
            d.add_(y, alpha=-alphas[-1])
        d.mul_(state["H_diag"])
        for y, s, rho, alpha in zip(ys, ss, rhos, reversed(alphas)):
            d.add_(s, alpha=alpha - dot(y, d) * rho)
        return d

    def _search(self, evaluate, t, d, start, max_ls):
        """Return the result of the line search, (point, number of evaluations). The parameters stay as they are."""
        params = self._params
        saved = [p.clone() for p in params]

        def point(t):
            self._move(t, d)
            _, loss, g = evaluate()
            for p, value in zip(params, saved):
                p.copy_(value)
            return Point(t, loss, g, dot(g, d))
        return strong_wolfe(point, t, start, largest(d), max_ls=max_ls)

    def _gradient(self):
        """Return the gradients of all parameters as a vector. A gradient of None counts as zeros."""
        return cat([flatten(p.new_zeros(p.shape) if p.grad is None else p.grad) for p in self._params])

    def _move(self, t, d):
        """Add t d to the parameters."""
        at = 0
        for p in self._params:
            numbers = view_as_real(p) if p.is_complex() else p
            numbers.add_(reshape(d[at:at + numbers.numel()], numbers.shape), alpha=t)
            at += numbers.numel()


def flatten(x):
    """Return all elements as a vector. A complex element becomes two."""
    return reshape(view_as_real(x) if x.is_complex() else x, (-1,))


def dot(x, y):
    """Return x · y as a Python number."""
    return float(x.dot(y))


def largest(x):
    """Return the largest absolute value, as a Python number."""
    return float(x.abs().max()) if x.numel() else 0.0
