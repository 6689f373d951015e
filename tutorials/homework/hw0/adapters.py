"""Where the checks find your functions. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def function(name):
    """One of mode, by_hand, by_small_steps, by_minigrad, fit_line."""
    return getattr(student("hw0"), name)
