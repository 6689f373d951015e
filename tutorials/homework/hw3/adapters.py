"""Where the checks find your functions. Change it only if you have given them other names."""

from minigrad.grading.checks import student


def count_dependencies():
    return student("hw3").count_dependencies


def ready_queue():
    return student("hw3").ReadyQueue


def receive():
    return student("hw3").receive


def run_backward():
    return student("hw3").run_backward
