"""Small programs of fifteen fields return the same numbers on minigrad and on PyTorch.

`tests/parity/fields` holds the programs. Both libraries draw the same random numbers from a seed, so a program that trains on
them is compared number by number.
"""

import importlib
import inspect
import numbers
import random
import warnings

import numpy as np
import pytest
import torch

import minigrad
from tests.parity.fields import FIELDS

# Programs that minigrad does not run as PyTorch does: what is missing. Each must fail until the reason is gone.
MISSING = {
    ("utilities", "names_in_a_profile"): "the events of a profile lack the prefix aten::",
}

# Both libraries sum in other orders, so float32 differs by rounding, which grows over the steps of a training.
RTOL = 1e-4
ATOL = 1e-6


def programs():
    """All programs, as parameters of the test."""
    for field in FIELDS:
        module = importlib.import_module(f"tests.parity.fields.{field}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                reason = MISSING.get((field, name))
                marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
                yield pytest.param(function, id=f"{field}-{name}", marks=marks)


def flat(value):
    """All numbers in `value`, in order, as floats."""
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flat(item)]
    if isinstance(value, (bool, numbers.Number, np.generic)):
        return [float(value)]
    return [float(number) for number in value.detach().double().reshape(-1).tolist()]


def run(program, library):
    """The numbers that `program` returns on `library`, from the same seeds and the default settings."""
    random.seed(0)
    np.random.seed(0)
    library.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return flat(program(library))
    finally:
        library.set_default_dtype(library.float32)


def test_there_are_enough():
    """The programs are at least ninety, and at least eight of each field."""
    names = [parameter.id.split("-")[0] for parameter in programs()]
    assert len(names) >= 90
    assert {field for field in FIELDS if names.count(field) < 8} == set()


@pytest.mark.parametrize("program", list(programs()))
def test_same_numbers(program):
    """The program returns the same numbers on both libraries."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        there = run(program, torch)
    finally:
        torch.set_num_threads(threads)
    here = run(program, minigrad)
    assert there, "the program returns no number"
    assert np.isfinite(there).all(), f"the program returns {there} on PyTorch, so it shows nothing"
    np.testing.assert_allclose(here, there, rtol=RTOL, atol=ATOL)
