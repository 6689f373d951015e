"""Where the checks find your functions. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def vjp(op):
    """The formula of one of the ops mul, exp, tanh, mm."""
    return getattr(student("hw2"), f"{op}_vjp")


def sum_to_shape():
    return student("hw2").sum_to_shape


def numerical_gradient():
    return student("hw2").numerical_gradient


def agrees():
    return student("hw2").agrees


def train():
    return student("hw2").train
