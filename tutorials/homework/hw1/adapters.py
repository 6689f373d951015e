"""Where the checks find your functions. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def number():
    return student("hw1").Number


def function(name):
    """One of the functions add, mul, sin, exp, tanh."""
    return getattr(student("hw1"), name)


def backward_order():
    return student("hw1").backward_order


def backward():
    return student("hw1").backward


def train():
    return student("hw1").train
