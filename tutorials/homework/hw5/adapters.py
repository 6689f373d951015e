"""Where the checks find your functions. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def hooks():
    return student("hw5").Hooks


def call_hooks():
    return student("hw5").call_hooks


def gradients_at():
    return student("hw5").gradients_at


def limit_gradients():
    return student("hw5").limit_gradients


def train():
    return student("hw5").train
