"""All cases, and the forms and ways that a survey runs of each."""

import time

from tests.accuracy import by_hand
from tests.accuracy.forms import every_case, forms_of
from tests.accuracy.judge import WAYS, Finding, examine

__all__ = ["CASES", "asked_of", "survey"]

CASES = {case.name: case for case in every_case()}
CASES.update({form.name: form for forms in by_hand.FORMS.values() for form in forms if form.name not in CASES})


def asked_of(name, ways=WAYS, once=True):
    """The (form, dtype, spread) to examine of a case: each way with another one of its sizes made long, or all with all."""
    forms, number = forms_of(CASES[name]), list(CASES).index(name)
    if not once:
        return [(form, *way) for way in ways for form in forms]
    return [(forms[(number + WAYS.index(way)) % len(forms)], *way) for way in ways if forms]


def survey(task):
    """The findings about one case: (name, [Finding], seconds of processor time)."""
    name, once = task
    start, found = time.process_time(), []
    for asked in asked_of(name, once=once):
        try:
            found += examine(*asked)
        except Exception as error:
            found.append(Finding(asked[0].name, *asked[1:], "all", "all", complaint=f"the examination raises {error!r}"))
    return name, found, time.process_time() - start
