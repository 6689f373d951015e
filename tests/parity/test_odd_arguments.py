"""Random arguments to every function and method that PyTorch has too: minigrad refuses the same calls, and gives the same numbers.

Which calls these are and what may differ, with the reasons, is in odd_arguments.py. MINIGRAD_ODD=1000 asks for more of them.
"""

import os

import pytest

import minigrad as mg
from tests.parity.odd_arguments import calls, difference, excused, subjects, torch

NUMBER = int(os.environ.get("MINIGRAD_ODD", "40"))
SUBJECTS = subjects()


@pytest.mark.parametrize("place, name", SUBJECTS, ids=[f"{place or 'mg'}.{name}" for place, name in SUBJECTS])
def test_as_in_torch(place, name):
    """Of several faults any may be named; without words, or with an error that is not ours, none."""
    wrong = []
    for call in calls(place, name, SUBJECTS[place, name], NUMBER):
        found = difference(call)
        if found and not excused(call, *found, call.run(mg)[1], call.run(torch)[1]):
            wrong.append(f"  {found[0]}: {call}: {found[1]}")
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong[:20])


def test_most_functions_are_there():
    places = [place for place, _ in SUBJECTS]
    assert places.count("") > 200 and places.count("Tensor") > 250 and places.count("F") > 40


def test_the_same_calls_every_time():
    first, second = [[str(call) for call in calls("", "topk", SUBJECTS["", "topk"], 20)] for _ in range(2)]
    assert first == second and len(first) > 10
