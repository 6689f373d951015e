"""Where the checks find your functions. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def cube():
    return student("hw6").Cube.apply


def scale():
    return student("hw6").Scale.apply


def log_sum_exp():
    return student("hw6").LogSumExp.apply


def hessian_vector():
    return student("hw6").hessian_vector


def directional():
    return student("hw6").directional


def newton():
    return student("hw6").newton
