"""Random small programs of views, writes in place, hooks and changes of mode, run on PyTorch and on minigrad, line by line.

After each line the two must agree on every tensor: its numbers, gradient, tangent, version, flags and history; on what the hooks
were given, in order; or on the class of the error that the line, or looking at the tensor, raises. A failure prints the
shortest program that shows it. What is drawn stands in `grammar.py`, what is compared in `programs.py`.

In half of the programs tensors are dual, and forward-mode AD runs along. The tests run the same 300 programs, and as many of dual
tensors, every time. For more, with a progress bar:

    make fuzz                                                               20,000 programs compiled, 3,000 interpreted
    make fuzz MINIGRAD_PROGRAMS=1000 MINIGRAD_FIRST_PROGRAM=20000           1,000 others compiled, 150 interpreted
    MINIGRAD_PROGRAMS=1000 python -m tests.parity.test_random_programs      in one mode, that of the environment

MINIGRAD_PROGRAMS says how many programs are tried; MINIGRAD_FIRST_PROGRAM is the number of the first. A program depends on
its number alone, so a failure is seen again with that number and MINIGRAD_PROGRAMS=1.
"""

import os
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")

from tests.parity.grammar import made  # noqa: E402
from tests.parity.programs import difference, report  # noqa: E402

PROGRAMS = int(os.environ.get("MINIGRAD_PROGRAMS", "100"))
FIRST = int(os.environ.get("MINIGRAD_FIRST_PROGRAM", "0"))
CHUNKS = 20         # tests that these are spread over


def failure(seed, forward=False):
    """The report of program `seed`, None if there is no difference. `forward`: with dual tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = made(seed, torch, forward)
        return None if difference(lines) is None else report(seed, lines)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs(chunk):
    for seed in range(FIRST + chunk, FIRST + PROGRAMS, CHUNKS):
        found = failure(seed)
        if found is not None:
            pytest.fail(found, pytrace=False)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs_of_dual_tensors(chunk):
    """tensor_surface/Z-06, tensor_surface/W-07."""
    for seed in range(FIRST + chunk, FIRST + PROGRAMS, CHUNKS):
        found = failure(seed, forward=True)
        if found is not None:
            pytest.fail(found, pytrace=False)


def main():
    """Try all of them, of both kinds, print every difference. Returns how many there are."""
    from tqdm import tqdm
    differences = 0
    torch.set_num_threads(1)
    with tqdm(range(FIRST, FIRST + PROGRAMS), unit="program", dynamic_ncols=True, mininterval=5) as seeds:
        for seed in seeds:
            for forward in (False, True):
                found = failure(seed, forward)
                if found is not None:
                    differences += 1
                    seeds.write(found + "\n")
                    seeds.set_postfix(differences=differences)
    return differences


if __name__ == "__main__":
    sys.exit(main() > 0)
