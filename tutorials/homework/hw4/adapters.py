"""Where the checks find your classes. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def array():
    return student("hw4").Array


def saved():
    return student("hw4").Saved


def half():
    return student("hw4").Half


def train():
    return student("hw4").train
