"""Number -> call. The same seed and number are the same call on every machine, in both modes, and for PyTorch.

The first numbers are systematic: each position of each callable gets a few wrong values, and the other arguments are plausible. The
others are random: any callable, each argument plausible or hostile. One call in five is an attack (attacks.py).
"""

import random
from dataclasses import dataclass
from inspect import Parameter

from tests.hostile.attacks import ATTACKS
from tests.hostile.values import HOSTILE, instances, plausible

WALKED = ("None", "object", "str", "3", "dict", "in itself", "-9223372036854775808", "raises")


@dataclass
class Call:
    """A callable and the labels of its arguments: `positional` and `keywords` are pairs (pool, label)."""

    number: int
    subject: object
    positional: list
    keywords: dict

    def __str__(self):
        given = [label for _, label in self.positional] + [f"{name}={label}" for name, (_, label) in self.keywords.items()]
        return f"{self.subject.path}({', '.join(given)})"

    def arguments(self, m):
        return [pool[label](m) for pool, label in self.positional], {name: pool[label](m) for name, (pool, label) in self.keywords.items()}


@dataclass
class Attack:
    """One of ATTACKS; `rng` decides the details."""

    number: int
    name: str
    seed: str

    def __str__(self):
        return f"attack {self.name} {self.seed}"

    def run(self):
        return ATTACKS[self.name](random.Random(self.seed))


def pool_of(subject, i, parameter):
    """The plausible values of a parameter: of a method's first the objects that have it."""
    if i == 0 and subject.owner is not None:
        return instances(subject.owner)
    return plausible(parameter.name)


class Calls:
    """``calls[number]`` for a seed and a list of subjects."""

    def __init__(self, subjects, seed):
        self.subjects = subjects
        self.seed = seed
        self.walk = [(s, i, label) for s in subjects for i in range(len(s.parameters)) for label in WALKED]

    def __getitem__(self, number):
        """A negative number -1 - k is step k of the walk, which needs no seed."""
        if number < 0:
            subject, place, label = self.walk[-1 - number]
            rng = random.Random(f"walk {subject.path} {place}")
            return self.call(number, subject, rng, lambda i: {label: HOSTILE[label]} if i == place else None)
        rng = random.Random(f"{self.seed}:{number}")
        if rng.random() < 0.2:
            name = rng.choice(sorted(ATTACKS))
            return Attack(number, name, f"{self.seed}:{number}")
        subject = rng.choice(self.subjects)
        share = rng.choice((0.1, 0.3, 0.6))
        return self.call(number, subject, rng, lambda i: HOSTILE if rng.random() < share else None)

    def call(self, number, subject, rng, hostile):
        """A call of `subject`; ``hostile(i)`` is the hostile pool for argument i, or None for a plausible value."""
        positional, keywords = [], {}
        named = False       # once an optional argument is left out, those that follow are named
        for i, p in enumerate(subject.parameters):
            pool = hostile(i)
            if pool is None:
                if (p.default is not Parameter.empty and rng.random() < 0.6) or p.kind is Parameter.VAR_KEYWORD:
                    named = named or p.kind is Parameter.POSITIONAL_OR_KEYWORD
                    continue
                pool = pool_of(subject, i, p)
            label = rng.choice(list(pool))
            if p.kind is Parameter.VAR_KEYWORD:
                keywords["unknown"] = pool, label
            elif p.kind is Parameter.KEYWORD_ONLY or (named and p.kind is Parameter.POSITIONAL_OR_KEYWORD):
                keywords[p.name] = pool, label
            elif p.kind is Parameter.VAR_POSITIONAL:
                if not named:
                    positional += [(pool, label)] * rng.choice((1, 1, 2))
            elif not named:
                positional.append((pool, label))
        return Call(number, subject, positional, keywords)
