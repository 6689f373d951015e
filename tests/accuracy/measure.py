"""How far a program is from the truth: values, gradients, tangents and second derivatives of one form on one library.

    quantity                       incoming gradient g
    value
    tangent
    grad wide 0, 1, ...            with respect to each input; g spans six orders of magnitude
    grad falling 0, 1, ...         g falls along the longest axis by as much
    grad infinite 0, 1, ...        one entry of g is infinite
    second 0, 1, ..., g            of Σ v · gradient, with respect to each input and to g

The truth is the same program in float64, on the same rounded numbers. How far from it is *too* far depends on the question: where
numbers cancel no program can be exact. So we ask the truth how much it moves when each input moves by half a unit in its last
place (`Truth.moves`), and that is the unit. An algorithm that is off by many of these units loses digits that the input had.
"""

import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import minigrad as mg

__all__ = ["Truth", "excess", "kind_of", "magnitudes", "measured", "on_minigrad", "on_torch", "probes_for", "truth_of", "unit_of"]

SHAKE = 1e-9        # how far, relatively, inputs are moved to see what moves with them
SHAKES = 4          # how often


def library(m, from_numpy):
    """What is needed of a library: tensors of NumPy arrays, and its own functions."""
    def tensor(array, dtype, by_columns):
        if array.dtype.kind not in "fc":
            return from_numpy(array.copy())
        array = np.asarray(array.astype(dtype))
        if by_columns:
            array = spread_out(array)
        return from_numpy(array).requires_grad_()
    return SimpleNamespace(m=m, tensor=tensor)


def spread_out(array):
    """The same numbers in another order of memory: a matrix by its columns, a vector with gaps."""
    if array.ndim > 1:
        return np.asfortranarray(array)
    if array.ndim == 1:
        room = np.zeros(2 * len(array), array.dtype)
        room[::2] = array
        return room[::2]
    return array


on_minigrad = library(mg, mg.from_numpy)
try:
    import torch
    on_torch = library(torch, torch.from_numpy)
except ImportError:
    on_torch = None


# ---- what is asked ---------------------------------------------------------------------------------------------


def rounded(array, dtype):
    """The numbers as `dtype` holds them, in float64 or complex128."""
    if array.dtype.kind not in "fc":
        return array
    with np.errstate(over="ignore"):
        return array.astype(dtype).astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def incoming(kind, shape, dtype, complex_too, rng):
    """An incoming gradient of one kind."""
    reach = 2 if dtype == "float16" else 3
    signs = rng.choice([-1.0, 1.0], shape)
    if kind == "wide":
        g = signs * 10 ** rng.uniform(-reach, reach, shape)
    elif kind == "falling":
        g = np.full(shape, 1.0)
        if g.ndim and g.size:
            axis = int(np.argmax(shape))
            n = shape[axis]
            line = 10 ** (-2.0 * reach * np.arange(n) / max(n - 1, 1) + reach - 1)
            g = g * line.reshape([n if d == axis else 1 for d in range(g.ndim)])
        g = g * rng.uniform(0.9, 1.0, shape)
    else:
        g = rng.standard_normal(shape)
    if complex_too:
        g = g * np.exp(1j * rng.uniform(0, 6, shape))
    if kind == "infinite" and g.size:
        g = np.array(g)
        g.reshape(-1)[g.size // 2] = np.inf
    return np.asarray(g)


def probes_for(form, xs, shape, dtype, complex_result):
    """Everything that a program is fed besides its inputs."""
    rng = np.random.default_rng([1, *form.name.encode()])
    found = {f"grad {kind}": incoming(kind, shape, dtype, complex_result, rng) for kind in ("wide", "falling", "infinite")}
    found["second"] = incoming("plain", shape, dtype, complex_result, rng)
    for i, x in enumerate(xs):
        if x.dtype.kind in "fc":
            found[f"tangent {i}"] = incoming("wide", x.shape, dtype, x.dtype.kind == "c", rng)
            found[f"v {i}"] = incoming("plain", x.shape, dtype, x.dtype.kind == "c", rng)
    return {name: rounded(a, complex_of(dtype) if a.dtype.kind == "c" else dtype) for name, a in found.items()}


def complex_of(dtype):
    return {"float16": "complex64", "float32": "complex64", "float64": "complex128"}.get(dtype, dtype)


# ---- what is answered ------------------------------------------------------------------------------------------


def measured(lib, form, xs, probes, dtype, by_columns=False, only=None):
    """quantity -> array of float64 or complex128, or the exception that came instead."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return Run(lib, form, xs, probes, dtype, by_columns, only).answers()


class Run:
    """One form on one library."""

    def __init__(self, lib, form, xs, probes, dtype, by_columns, only):
        self.lib, self.form, self.xs, self.probes, self.dtype = lib, form, xs, probes, dtype
        self.by_columns, self.only = by_columns, only

    def tensor(self, array):
        return self.lib.tensor(array, complex_of(self.dtype) if array.dtype.kind == "c" else self.dtype, self.by_columns)

    def answers(self):
        found = {}
        for ask in (self.values_and_gradients, self.second, self.tangent):
            if self.only is not None and ask.__name__ not in self.only:
                continue
            try:
                found.update(ask())
            except Exception as error:
                found["!" + ask.__name__] = error
        return found

    def inputs(self):
        xs = [self.tensor(x) for x in self.xs]
        return xs, [x for x in xs if x.requires_grad]

    def values_and_gradients(self):
        xs, wanted = self.inputs()
        z = self.form.run(self.lib.m, *xs)
        found = {"value": numbers_of(z)}
        kinds = [k for k in ("grad wide", "grad falling", "grad infinite") if k in self.probes and z.requires_grad]
        for kind in kinds:
            g = self.tensor(self.probes[kind]).detach().to(z.dtype)
            grads = self.lib.m.autograd.grad(z, wanted, g, retain_graph=kind is not kinds[-1], allow_unused=True)
            found.update({f"{kind} {i}": numbers_of(d) for i, d in enumerate(grads) if d is not None})
        return found

    def second(self):
        if not self.form.double or "second" not in self.probes:
            return {}
        xs, wanted = self.inputs()
        z = self.form.run(self.lib.m, *xs)
        if not z.requires_grad:
            return {}
        g = self.tensor(self.probes["second"])
        grads = self.lib.m.autograd.grad(z, wanted, g.to(z.dtype), create_graph=True, allow_unused=True)
        vs = [self.tensor(v).detach() for name, v in self.probes.items() if name.startswith("v ")]
        total = [(v.to(d.dtype) * d).sum() for v, d in zip(vs, grads) if d is not None and d.requires_grad]
        if not total:
            return {}
        total = sum(total[1:], total[0])
        total = total.real if total.is_complex() else total
        seconds = self.lib.m.autograd.grad(total, [*wanted, g], allow_unused=True)
        names = [*range(len(wanted)), "g"]
        return {f"second {i}": numbers_of(d) for i, d in zip(names, seconds) if d is not None}

    def tangent(self):
        m = self.lib.m
        ts = [self.tensor(t).detach() for name, t in self.probes.items() if name.startswith("tangent ")]
        if not ts:
            return {}
        xs = [self.tensor(x).detach() for x in self.xs]
        left = list(ts)
        with m.autograd.forward_ad.dual_level():
            duals = [m.autograd.forward_ad.make_dual(x, left.pop(0)) if isfloat(x) else x for x in xs]
            _, tangent = m.autograd.forward_ad.unpack_dual(self.form.run(m, *duals))
        return {} if tangent is None else {"tangent": numbers_of(tangent)}


def isfloat(x):
    return x.is_floating_point() or x.is_complex()


def numbers_of(x):
    x = x.detach().resolve_conj().resolve_neg().numpy() if hasattr(x, "resolve_neg") else x.detach().numpy()
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


# ---- the truth -------------------------------------------------------------------------------------------------


@dataclass
class Truth:
    """What float64 says, and how much of it moves when each input moves by half a unit in its last place."""

    answers: dict
    moves: dict


def truth_of(lib, form, xs, probes, dtype, only=None):
    """The truth about a form, as a library computes it in float64."""
    answers = measured(lib, form, xs, probes, "float64", only=only)
    rng = np.random.default_rng(0)
    unit = np.finfo(dtype).eps / 2
    moves = dict.fromkeys(answers, 0.0)
    probes = {name: p for name, p in probes.items() if name != "grad infinite"}     # of which only the kind matters
    for turn in range(SHAKES):
        moved = measured(lib, form, [shaken(x, turn, i, rng) for i, x in enumerate(xs)],
                         {name: shaken(p, turn, i + len(xs), rng) for i, (name, p) in enumerate(probes.items())}, "float64", only=only)
        for name, value in answers.items():
            other = moved.get(name)
            if isinstance(value, np.ndarray) and isinstance(other, np.ndarray) and other.shape == value.shape:
                with np.errstate(all="ignore"):
                    step = np.abs(other - value) / SHAKE * unit
                moves[name] = np.maximum(moves[name], np.where(np.isfinite(step), step, 0.0))
    return Truth(answers, moves)


def shaken(array, turn, which, rng):
    """Each number moved up or down a little: against its neighbours, against the other inputs, and then at random. What cancels
    must not move together each time."""
    if array.dtype.kind not in "fc":
        return array
    signs = np.where(np.arange(array.size) % 2 == which % 2, 1.0, -1.0) if turn == 0 else 1.0 - 2 * (which % 2)
    signs = rng.choice([-1.0, 1.0], array.shape) if turn > 1 else np.reshape(signs + np.zeros(array.size), array.shape)
    with np.errstate(all="ignore"):
        return array * (1 + SHAKE * signs)


def kind_of(x):
    """0 for a finite number, 1 for nan, 2 and 3 for the infinities; of a complex number, the worst of its parts."""
    if x.dtype.kind == "c":
        return np.maximum(kind_of(x.real), kind_of(x.imag))
    kind = np.zeros(x.shape, np.int8)
    odd = ~np.isfinite(x)
    if odd.any():
        kind[odd] = np.where(np.isnan(x[odd]), 1, np.where(x[odd] > 0, 2, 3))
    return kind


def unit_of(truth, name, dtype, normwise=False):
    """What each number of a quantity may be off without blame: half a last digit of itself, and what the input's last digits are
    worth in it; at least as much as is usual among numbers of its size. `normwise`: as much as any number of its matrix."""
    value = truth.answers[name]
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        size = np.abs(value)
        own = np.asarray(truth.moves[name], float) + np.zeros(value.shape)
        if value.size > 1:
            for at in magnitudes(size):
                own[at] = np.maximum(own[at], np.median(own[at]))
        unit = np.maximum(own + size * (info.eps / 2), float(info.smallest_subnormal if dtype == "float16" else info.smallest_normal))
        if normwise and unit.size:
            unit = np.broadcast_to(np.nanmax(np.where(np.isfinite(unit), unit, 0), tuple(range(unit.ndim))[-2:], keepdims=True), unit.shape)
        return unit


def magnitudes(size):
    """The numbers by their order of magnitude, at least eight of them together if there are as many: where they are, as indices."""
    with np.errstate(all="ignore"):
        decade = np.floor(np.log10(size))
    decade = np.where(np.isfinite(decade), decade, -400).reshape(-1)
    order = np.argsort(decade, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(decade[order])) + 1, len(order))
    start = 0
    for end in ends.tolist():
        if end - start >= 8 or (end == len(order) and end > start):
            yield np.unravel_index(order[start:end], size.shape) if size.ndim else ...
            start = end


def excess(truth, name, found, dtype, unit):
    """Units that each number is off: an array, 0 where it or the truth is not finite or near the end of the dtype's range."""
    value = truth.answers[name]
    with np.errstate(all="ignore"):
        off = np.abs(found - value) / unit
        inside = np.isfinite(found) & np.isfinite(value) & (np.abs(value) < 0.9 * float(np.finfo(dtype).max))
    return np.where(inside, off, 0.0)
