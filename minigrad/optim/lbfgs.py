"""L-BFGS: steps that know the curvature, from the last few gradients alone. Mirrors ``torch/optim/lbfgs.py``."""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import AutogradAssertionError
from minigrad.ops import cat, reshape, view_as_real
from minigrad.optim._wolfe import Point, strong_wolfe
from minigrad.optim.optimizer import ContradictingOptions, Optimizer, check, check_option
from minigrad.tensor import Tensor

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS (Liu & Nocedal, "On the limited memory BFGS method for large scale optimization", 1989).

        s, y    what the parameters and the gradient have changed by in an earlier step, kept for the last `history_size` steps
        d       - H g, with the estimate H of the inverse of the second derivatives that these pairs give
        w       ← w + t d, where t is lr, or what the line search finds

    Args:
        params: the parameters, one group of them, see `Optimizer`.
        lr (float): t, or the first t that the line search tries.
        max_iter (int): steps within one call of `step`.
        max_eval (int, optional): calls of the closure within that; max_iter · 5/4.
        tolerance_grad (float): stop if no number of the gradient is larger.
        tolerance_change (float): stop if parameters and loss change by less.
        history_size (int): pairs that are kept: 2 · history_size times the memory of the parameters.
        line_search_fn (str, optional): ``"strong_wolfe"`` or None.

    Many evaluations make one step, so `step` needs a closure that computes the loss again. It suits small problems without noise.
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

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):
        if isinstance(lr, Tensor):
            check(lr.numel() == 1, "Tensor lr must be 1-element")
        check_option(self, "lr", lr)
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        check(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure):    # pyright: ignore[reportIncompatibleMethodOverride]
        """Up to `max_iter` steps.

        Args:
            closure (callable): sets the gradients to zero, computes the loss, calls backward and returns the loss.

        Returns:
            The loss before the first of these steps.

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
        self._opt_called = True
        if len(self.param_groups) != 1:
            raise AutogradAssertionError("MG-E402", f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ContradictingOptions("MG-E402", "only 'strong_wolfe' is supported", found=repr(group["line_search_fn"]))
        with no_grad():
            return self._steps(group, closure)

    def _steps(self, group, closure):
        """What `step` does. All vectors are of the numbers of all parameters, one after the other."""
        def evaluate():
            with enable_grad():
                loss = closure()
            return loss, loss.item() if isinstance(loss, Tensor) else float(loss), self._gradient()

        tiny_gradient, tiny_change = group["tolerance_grad"], group["tolerance_change"]
        lr = float(group["lr"])
        # The state belongs to all parameters together, and is kept at the first.
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
                if n < group["max_iter"]:       # else nobody would look at it: the next call of `step` evaluates again
                    _, loss, g = evaluate()
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if (evaluations >= group["max_eval"] or largest(g) <= tiny_gradient or largest(d) * abs(t) <= tiny_change
                    or abs(loss - before) < tiny_change):
                break
        return first_loss

    def _direction(self, state, g, history_size):
        """- H g, by the two loops of Nocedal, "Updating quasi-Newton matrices with limited storage", 1980."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -g
        ys, ss, rhos = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = dot(y, s)
        if curvature > 1e-10:           # else H would not be positive any more
            if len(ys) == history_size:
                for kept in (ys, ss, rhos):
                    kept.pop(0)
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
        """The point that the line search finds; the parameters are as before then."""
        params = self.param_groups[0]["params"]
        kept = [p.clone() for p in params]

        def point(t):
            self._move(t, d)
            _, loss, g = evaluate()
            for p, value in zip(params, kept):
                p.copy_(value)
            return Point(t, loss, g, dot(g, d))
        return strong_wolfe(point, t, start, largest(d), max_ls=max_ls)

    def _gradient(self):
        """The gradients of all parameters as one vector, 0 where there is none."""
        return cat([flat(p.new_zeros(p.shape) if p.grad is None else p.grad) for p in self.param_groups[0]["params"]])

    def _move(self, t, d):
        """Add t d to the parameters."""
        at = 0
        for p in self.param_groups[0]["params"]:
            numbers = view_as_real(p) if p.is_complex() else p
            numbers.add_(reshape(d[at:at + numbers.numel()], numbers.shape), alpha=t)
            at += numbers.numel()


def flat(x):
    """All numbers as one vector; complex ones as two each."""
    return reshape(view_as_real(x) if x.is_complex() else x, (-1,))


def dot(x, y):
    """x · y as a number of Python."""
    return float(x.dot(y))


def largest(x):
    """The largest absolute value."""
    return float(x.abs().max()) if x.numel() else 0.0
