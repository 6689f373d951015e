"""Watch a program from outside: its backwards and its optimisers. For ``--record``, ``--why`` and ``--compare``.

    loss.backward()             -> Watcher.backward(tensor, run)       before and after each backward of the program
    optimizer.step()            -> Watcher.step(optimizer, run)
    optimizer.zero_grad()       -> Watcher.zero_grad(optimizer, run)

A watcher replaces these methods of a library (minigrad, or PyTorch for ``--compare``) by ones that tell it. What the program
computes stays the same.
"""

import contextlib
import functools
import math
from typing import Any

__all__ = ["Losses", "Recorder", "Watcher", "Why"]


class Watcher:
    """Base of the watchers: it runs everything, and notes nothing."""

    def backward(self, tensors, run):
        return run()

    def step(self, optimizer, run):
        return run()

    def zero_grad(self, optimizer, run):
        return run()

    def watch_step(self, original):
        """A method that does the same as the `step` of an optimiser and tells the watcher."""
        @functools.wraps(original)
        def step(optimizer, *args, **kwargs):
            return self.step(optimizer, lambda: original(optimizer, *args, **kwargs))
        return step

    @contextlib.contextmanager
    def watching(self, library):
        """Watch all backwards and optimisers of `library` inside a with block."""
        Tensor, autograd, Optimizer = library.Tensor, library.autograd, library.optim.Optimizer
        before = [(Tensor, "backward", Tensor.backward), (autograd, "backward", autograd.backward),
                  (Optimizer, "zero_grad", Optimizer.zero_grad)]
        running = []        # Tensor.backward may call autograd.backward: one backward is told once

        def watched(original):
            @functools.wraps(original)
            def backward(tensors, *args, **kwargs):
                if running:
                    return original(tensors, *args, **kwargs)
                running.append(True)
                try:
                    return self.backward(tensors, lambda: original(tensors, *args, **kwargs))
                finally:
                    running.pop()
            return backward

        Tensor.backward, autograd.backward = watched(Tensor.backward), watched(autograd.backward)
        zero_grad = Optimizer.zero_grad
        Optimizer.zero_grad = functools.wraps(zero_grad)(
            lambda optimizer, *args, **kwargs: self.zero_grad(optimizer, lambda: zero_grad(optimizer, *args, **kwargs)))
        steps = [(cls, cls.__dict__["step"]) for cls in [Optimizer, *subclasses(Optimizer)] if "step" in cls.__dict__]
        for cls, step in steps:
            cls.step = self.watch_step(step)
        try:
            yield self
        finally:
            for cls, step in steps:
                cls.step = step
            for owner, name, original in before:
                setattr(owner, name, original)


def subclasses(cls):
    """The subclasses of a class, and theirs."""
    found = list(cls.__subclasses__())
    return found + [below for one in found for below in subclasses(one)]


def value_of(tensors):
    """The number whose gradient is asked for; None if there are several."""
    tensor: Any = tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors
    return tensor.item() if hasattr(tensor, "numel") and tensor.numel() == 1 else None


class Losses(Watcher):
    """Note the loss of each backward: ``values``."""

    def __init__(self):
        self.values = []

    def backward(self, tensors, run):
        self.values.append(value_of(tensors))
        return run()


class Recorder(Watcher):
    """Save a page to step through the backward number `which`, the first being 1."""

    def __init__(self, which, path):
        self.which, self.path, self.count, self.saved = which, path, 0, False

    def backward(self, tensors, run):
        import minigrad as mg
        self.count += 1
        if self.count != self.which:
            return run()
        with mg.debug.record() as record:
            result = run()
        mg.viz.step(record).save(self.path)
        self.saved = True
        return result


class Why(Watcher):
    """Collect what tells why a program does not train; `findings` says it."""

    def __init__(self):
        self.losses, self.optimizers, self.parameters = [], {}, {}
        self.backwards_since_zero, self.most_backwards = 0, 0

    def backward(self, tensors, run):
        self.losses.append(value_of(tensors))
        result = run()
        self.backwards_since_zero += 1
        self.most_backwards = max(self.most_backwards, self.backwards_since_zero)
        return result

    def zero_grad(self, optimizer, run):
        self.backwards_since_zero = 0
        self.known(optimizer)["zero_grad"] += 1
        return run()

    def step(self, optimizer, run):
        known = self.known(optimizer)
        known["step"] += 1
        before = [(p, p.detach().clone()) for group in optimizer.param_groups for p in group["params"]]
        result = run()
        for i, (p, old) in enumerate(before):
            seen = known["parameters"].setdefault(i, {"grad": False, "nonzero": False, "moved": False, "shape": tuple(p.shape)})
            seen["grad"] |= p.grad is not None
            seen["nonzero"] |= p.grad is not None and bool((p.grad != 0).any())
            seen["moved"] |= bool((p.detach() != old).any())
        return result

    def known(self, optimizer) -> dict[str, Any]:
        """What has been seen of an optimiser."""
        return self.optimizers.setdefault(id(optimizer), {
            "name": type(optimizer).__name__, "optimizer": optimizer, "step": 0, "zero_grad": 0, "parameters": {}})

    def findings(self):
        """Sentences that say what is wrong, the likeliest first; empty if nothing looks wrong."""
        found = []
        if not self.losses:
            return ["No backward ran. Without loss.backward() there are no gradients."]
        numbers = [x for x in self.losses if x is not None]
        wrong = next((i for i, x in enumerate(numbers) if not math.isfinite(x)), None)
        if wrong is not None:
            found.append(f"The loss became {numbers[wrong]} at backward {wrong + 1}. Look for a learning rate that is too large, "
                         "for log(0) or a division by 0; autograd.detect_anomaly() names the op whose derivative is nan first.")
        if not any(known["step"] for known in self.optimizers.values()):
            found.append("No optimiser made a step. Call optimizer.step() after loss.backward().")
        for known in self.optimizers.values():
            found += self.of_optimizer(known)
        if len(numbers) > 1 and len(set(numbers)) == 1 and not found:
            found.append(f"All {len(numbers)} losses are {numbers[0]}. The loss does not depend on the parameters that move.")
        return found

    def of_optimizer(self, known):
        """What is wrong with one optimiser."""
        name, seen = known["name"], known["parameters"].values()
        of_all = f"of {len(seen)} parameters of {name}"
        if not known["step"]:
            return []
        found = []
        without = [str(p["shape"]) for p in seen if not p["grad"]]
        zeros = [str(p["shape"]) for p in seen if p["grad"] and not p["nonzero"]]
        rates = sorted({float(group["lr"]) for group in known["optimizer"].param_groups if "lr" in group})
        if without:
            found.append(f"{len(without)} {of_all} never got a gradient: shapes {', '.join(without[:5])}. They are not in the "
                         "graph of the loss: look for detach(), .data, .item(), numpy(), no_grad(), argmax, for a layer that "
                         "forward() does not use, or for an optimiser that holds parameters of another model.")
        if zeros:
            found.append(f"The gradients of {len(zeros)} {of_all} were always 0: shapes {', '.join(zeros[:5])}. Look for "
                         "dead ReLUs, a saturated sigmoid or softmax, rounding, or a loss of a constant.")
        if rates and rates[-1] == 0:
            found.append(f"The learning rate of {name} is 0.")
        elif not any(p["moved"] for p in seen) and any(p["nonzero"] for p in seen):
            found.append(f"No parameter of {name} moved although there are gradients: the learning rate {rates} is too small for "
                         "the dtype.")
        if not known["zero_grad"] and known["step"] > 1 and self.most_backwards > 1:
            found.append(f"zero_grad() of {name} was never called, so the gradients of {self.most_backwards} backwards were added "
                         "up. Call optimizer.zero_grad() before each backward.")
        return found
